"""Commands about sources: fetch, and recipe list, show, new."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.build import Source, show_inferred
from kbkit.cli.commands import add, group
from kbkit.cli.options import Format, Rendering, argument, note, option
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion.request import Corrections

if TYPE_CHECKING:
    from kbkit.ingestion.recipe import Download


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, fetch)
    recipe = group("List, show and create recipes.")
    add(recipe, list_recipes, "list")
    add(recipe, show_recipe, "show")
    add(recipe, new_recipe, "new")
    app.add_typer(recipe, name="recipe")


def list_recipes(rendering: Rendering) -> None:
    """List the sources that kbkit can ingest."""
    import polars as pl

    from kbkit.ingestion import recipe

    known = [recipe.load(name) for name in recipe.names()]
    columns = {
        "recipe": [r.name for r in known],
        "title": [r.title for r in known],
        "licence": [r.licence for r in known],
    }
    rendering.write(pl.DataFrame(columns))


def show_recipe(recipe: Source, rendering: Rendering) -> None:
    """Show the files and options of a recipe.

    Also shows its description, its licence and the origin of the files.
    """
    import polars as pl

    from kbkit.ingestion import recipe as recipes

    chosen = recipes.load(recipe)
    rows = [
        ("title", chosen.title),
        ("description", " ".join(chosen.description.split())),
        ("licence", chosen.licence),
        ("get", chosen.get),
    ]
    rows += [
        (f"file {f.name}{' (optional)' if f.optional else ''}", f"{' or '.join(f.match)}: {f.help}".rstrip(": "))
        for f in chosen.files
    ]
    rows += [(f"--set {k}={o.default}", o.help) for k, o in chosen.options.items()]
    name = "" if chosen.name == "recipe" else chosen.name  # names of columns differ
    rendering.write(pl.DataFrame(rows, schema=["recipe", name], orient="row"))


def new_recipe(
    context: typer.Context,
    folder: Annotated[Path, argument("FOLDER", "Folder of the new recipe.")],
    files: Annotated[
        list[Path] | None, argument("PATH", "Files to infer the recipe from (default: an example).")
    ] = None,
    corrections: Corrections = Corrections(),  # noqa: B008
) -> None:
    """Create a recipe, inferred from files or commented.

    Prints what was inferred: which files hold nodes and which edges, their keys and links.
    """
    from kbkit.ingestion.inference import infer
    from kbkit.ingestion.recipe import as_source, write_skeleton

    if folder.exists():
        raise BadInputError(f"{folder} already exists", "Choose a new folder")
    if files:
        inferred = infer(files, folder.name, corrections)
        inferred.write(folder)
        show_inferred(context, inferred, folder)
    else:
        if corrections != Corrections():
            raise KbError("No files to infer a recipe from", "Name them after the folder")
        write_skeleton(folder)
        typer.echo(f"Wrote {folder / 'recipe.toml'} and {folder / 'load.sql'}")
    named = " ".join(shlex.quote(str(path)) for path in files or [Path("FILES")])
    note(context, [f"Next: kbkit ingest {as_source(folder)} {named} -o {folder.name}.kb"])


def fetch(
    context: typer.Context,
    source: Source,
    parts: Annotated[list[str] | None, argument("PART", "Parts to download (see --list; default: all).")] = None,
    output: Annotated[Path | None, option("--output -o FOLDER", "Output folder (default: ./SOURCE).")] = None,
    list_: Annotated[bool, option("--list", "List the files and their addresses without downloading.")] = False,
    format: Format = None,
) -> None:
    """Download the published files of a source.

    An interrupted download is resumed. --format applies to --list.
    """
    from kbkit.cli.progress import bars
    from kbkit.ingestion import fetch as files
    from kbkit.ingestion import recipe

    if format and not list_:
        raise KbError("Option --format applies to lists only", "Add --list")
    chosen = recipe.load(source)
    folder = output or _default_folder(source, chosen.folder)
    plan = files.plan(chosen, folder, parts or [])
    if list_:
        _list(plan, format)
        return
    with bars(context.obj.quiet, sizes=True) as listener:
        fetched = files.fetch(source, folder, parts or [], listener, tell=lambda text: note(context, [text]))
    note(context, (f"{f.path}: {f.bytes / 1e6:,.1f} MB{'' if f.new else ', already downloaded'}" for f in fetched))
    note(context, ["Next: " + _next_command(source, folder, [file.path for file in fetched])])


def _default_folder(source: str, recipe: Path) -> Path:
    """Return ``./SOURCE``, or ``./SOURCE.files`` if that is the recipe itself."""
    folder = Path(Path(source).resolve().name or "files")
    return folder.with_name(f"{folder.name}.files") if folder.resolve() == recipe.resolve() else folder


def _list(plan: Sequence[tuple[Download, Path]], format: str | None) -> None:
    import polars as pl

    rows = [(d.part or None, str(path), d.bytes, path.exists(), d.url, d.help or None) for d, path in plan]
    kinds = {"part": pl.String, "file": pl.String, "bytes": pl.Int64, "there": pl.Boolean}
    frame = pl.DataFrame(rows, schema={**kinds, "url": pl.String, "help": pl.String}, orient="row")
    rendering = Rendering(format)
    if rendering.on_screen:  # without empty columns
        frame = frame.drop(name for name in ("part", "bytes", "help") if frame[name].is_null().all())
    rendering.write(frame)


def _next_command(source: str, folder: Path, paths: Sequence[Path]) -> str:
    """Return the command that ingests the files: archives are listed, for a folder is searched for plain files only."""
    archives = [path for path in paths if path.suffix.lower() == ".zip"]
    inputs = archives if len(archives) == len(paths) else [folder, *archives]
    kb = f"{Path(source).resolve().name}.kb"
    return "kbkit ingest " + " ".join(shlex.quote(str(word)) for word in (source, *inputs, "-o", kb))
