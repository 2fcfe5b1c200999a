"""Commands about language models: llm export, import, calls, prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Kb, Output
from kbkit.errors import KbError, UnknownNameError, plural

if TYPE_CHECKING:
    from kbkit.llm.cache import Cache

llm_app = typer.Typer(
    help="Calls of language models that a KB keeps: list, export, import; and the prompts.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    llm_app.command("export")(export)
    llm_app.command("import")(import_)
    llm_app.command()(calls)
    llm_app.command()(prompts)
    app.add_typer(llm_app, name="llm")


def export(
    context: typer.Context,
    kb: Kb,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, for --llm replay:FILE.")],
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only this model's calls.")] = None,
) -> None:
    """Write the calls that a KB keeps, prompts and replies, to a file that replays them with no network."""
    from kbkit.llm import recording

    cache = _kept(kb)
    known = [name for name, *_ in cache.summary()]
    if model is not None and model not in known:
        raise UnknownNameError("model", model, known)
    _say(context, f"{file}: {plural(recording.write(cache.rows(model), file), 'call')}")


def import_(
    context: typer.Context,
    kb: Kb,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording that llm export wrote.")],
) -> None:
    """Take the calls of a recording into a KB; what it knows already stays as it is."""
    from kbkit.kb import KnowledgeBase
    from kbkit.llm import recording
    from kbkit.llm.cache import FILE, Cache

    found = list(recording.read(file))  # the whole file is looked at before anything is kept
    with KnowledgeBase(kb) as opened:
        new, known = Cache(opened.workspace.folder / FILE).add(found)
    _say(context, f"{file}: {plural(new, 'call')} new, {known:,} known")


def calls(kb: Kb, format: Format = None, output: Output = None) -> None:
    """The calls that a KB keeps: model, calls, tokens read (input) and written (output)."""
    import polars as pl

    from kbkit.display.render import write

    columns = {"model": pl.String, "calls": pl.Int64, "input": pl.Int64, "output": pl.Int64}
    write(pl.DataFrame(_kept(kb).summary(), schema=columns, orient="row"), format, output)


def prompts(
    name: Annotated[str | None, typer.Argument(help="A prompt; without one, the list of them.")] = None,
) -> None:
    """The prompts that ship with kbkit, or one in full: to change it, and to give it back with --prompt NAME=FILE."""
    from kbkit.llm import prompts as files

    if name is not None:
        typer.echo(files.path(name).read_text(encoding="utf-8"), nl=False)
        return
    for prompt in files.shipped():
        typer.echo(f"{prompt.name:<24} {prompt.purpose}")


def _kept(kb: Path) -> Cache:
    """The cache of a KB that has one."""
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.cache import FILE, Cache

    with KnowledgeBase(kb) as opened:
        file = opened.workspace.folder / FILE
    if not file.is_file():
        raise KbError(f"{kb} keeps no calls of language models", "kbkit llm import DIR FILE takes in a recording")
    return Cache(file)


def _say(context: typer.Context, line: str) -> None:
    from kbkit.display.render import clean

    if not context.obj.quiet:
        typer.echo(clean(line), err=True)
