"""Commands about recorded calls of language models: llm export, import, calls, prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add, group
from kbkit.cli.options import Kb, Rendering, argument, note, option
from kbkit.errors import Command, KbError, UnknownNameError, plural

if TYPE_CHECKING:
    from kbkit.llm.cache import Cache


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    llm = group("Manage recorded language model calls and prompts.")
    add(llm, export)
    add(llm, import_, "import")
    add(llm, calls)
    add(llm, prompts)
    app.add_typer(llm, name="llm")


def export(
    context: typer.Context,
    kb: Kb,
    file: Annotated[Path, argument("FILE", "Output file (JSON lines), for --llm replay:FILE.")],
    model: Annotated[str | None, option("--model NAME", "Model whose calls to export (default: all).")] = None,
) -> None:
    """Export recorded calls for replay without network.

    The file contains the prompts and the replies.
    """
    from kbkit.llm import recording

    cache = _cache(kb)
    known = [name for name, *_ in cache.summary()]
    if model is not None and model not in known:
        raise UnknownNameError("model", model, known)
    note(context, [f"{file}: {plural(recording.write(cache.rows(model), file), 'call')}"])


def import_(
    context: typer.Context,
    kb: Kb,
    file: Annotated[Path, argument("FILE", "Recording written by llm export.")],
) -> None:
    """Import recorded calls into a KB.

    Existing calls are not overwritten.
    """
    from kbkit.kb import KnowledgeBase
    from kbkit.llm import recording
    from kbkit.llm.cache import FILE, Cache

    found = list(recording.read(file))  # the whole file is checked before anything is stored
    with KnowledgeBase(kb) as opened:
        new, known = Cache(opened.workspace.folder / FILE).add(found)
    note(context, [f"{file}: {plural(new, 'new call')}, {known:,} known"])


def calls(kb: Kb, rendering: Rendering) -> None:
    """Count the recorded calls and tokens per model.

    Columns: model, calls, tokens read (input) and written (output).
    """
    import polars as pl

    columns = {"model": pl.String, "calls": pl.Int64, "input": pl.Int64, "output": pl.Int64}
    rendering.write(pl.DataFrame(_cache(kb).summary(), schema=columns, orient="row"))


def prompts(
    name: Annotated[str | None, argument("NAME", "Prompt to print (default: list all prompts).")] = None,
) -> None:
    """List the prompts, or print one.

    To use a changed copy: --prompt NAME=FILE.
    """
    from kbkit.llm import prompts as files

    if name is not None:
        typer.echo(files.path(name).read_text(encoding="utf-8"), nl=False)
        return
    for prompt in files.shipped():
        typer.echo(f"{prompt.name:<24} {prompt.purpose}")


def _cache(kb: Path) -> Cache:
    """Open the cache of a KB, or of a folder of a dataset; raise :class:`KbError` if it has none."""
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.cache import FILE, Cache

    if (kb / FILE).is_file():
        return Cache(kb / FILE)
    with KnowledgeBase(kb) as opened:
        file = opened.workspace.folder / FILE
    if not file.is_file():
        raise KbError(f"No recorded calls in {kb}", "To import a recording: ", Command("llm import KB FILE"))
    return Cache(file)
