"""The command fetch: the files of a source, from where they are published."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kbkit.ingestion.recipe import Download


def register(app: typer.Typer) -> None:
    """Add this file's command to the program."""
    app.command()(fetch)


def fetch(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="A recipe (see kbkit recipes), or a recipe's folder.")],
    parts: Annotated[
        list[str] | None, typer.Argument(metavar="[PART]...", help="Only these parts of it; --list names them.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="FOLDER", help="Where to; by default ./SOURCE.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only show what would be fetched, and from where.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Of the list: table, json, ndjson, csv or markdown.")
    ] = None,
) -> None:
    """Download the files of a source from where they are published; goes on where it was stopped."""
    from kbkit.cli.progress import bars
    from kbkit.errors import KbError
    from kbkit.ingestion import fetch as files
    from kbkit.ingestion import recipe

    if format and not list_:
        raise KbError("--format is about a list", "add --list")
    chosen = recipe.load(source)
    folder = to or _default_folder(source, chosen.folder)
    plan = files.plan(chosen, folder, parts or [])
    if list_:
        _list(plan, format)
        return
    with bars(context.obj.quiet, sizes=True) as listener:
        fetched = files.fetch(source, folder, parts or [], listener)
    if context.obj.quiet:
        return
    for file in fetched:
        typer.echo(f"{file.path}: {file.bytes / 1e6:,.1f} MB{'' if file.new else ', was there'}", err=True)
    typer.echo("next: " + _next_command(source, folder, [file.path for file in fetched]), err=True)


def _default_folder(source: str, recipe: Path) -> Path:
    """``./SOURCE``, or beside it where that is the recipe itself: data do not belong among its files."""
    folder = Path(Path(source).resolve().name or "files")
    return folder.with_name(f"{folder.name}.files") if folder.resolve() == recipe.resolve() else folder


def _list(plan: Sequence[tuple[Download, Path]], format: str | None) -> None:
    import polars as pl

    from kbkit.display.render import write

    rows = [(d.part or None, str(path), d.bytes, path.exists(), d.url, d.help or None) for d, path in plan]
    kinds = {"part": pl.String, "file": pl.String, "bytes": pl.Int64, "there": pl.Boolean}
    frame = pl.DataFrame(rows, schema={**kinds, "url": pl.String, "help": pl.String}, orient="row")
    if format in (None, "table") and sys.stdout.isatty():  # for the eye, without columns that say nothing
        frame = frame.drop(name for name in ("part", "bytes", "help") if frame[name].is_null().all())
    write(frame, format)


def _next_command(source: str, folder: Path, paths: Sequence[Path]) -> str:
    """What ingests the files; ``kbkit ingest`` looks into a folder, but only into those archives that it is given."""
    archives = [path for path in paths if path.suffix.lower() == ".zip"]
    given = archives if len(archives) == len(paths) else [folder, *archives]
    out = f"{Path(source).resolve().name}.kb"
    return "kbkit ingest " + " ".join(shlex.quote(str(word)) for word in (source, *given, "--out", out))
