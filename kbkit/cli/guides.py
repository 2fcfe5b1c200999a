"""The command docs: the guides that ship with kbkit."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from kbkit.assets import guidebook
from kbkit.cli.options import Format, Output

_NO_PAGER = ("", "cat")
"""What PAGER is where somebody wants none."""


def register(app: typer.Typer) -> None:
    """Add this file's command to the program."""
    app.command()(docs)


def docs(
    guide: Annotated[
        str | None, typer.Argument(help="A guide, or one section of it: answers#saved-sets; without one, the list.")
    ] = None,
    find: Annotated[
        str, typer.Option(metavar="WORD", help="List the sections that hold it, or all of the words.")
    ] = "",
    pager: Annotated[bool, typer.Option("--pager/--no-pager", help="Page what is longer than the screen.")] = True,
    format: Format = None,
    output: Output = None,
) -> None:
    """Read the guides that ship with kbkit; rendered on a terminal, as Markdown in a pipe.

    Long ones go through $PAGER.
    """
    if find:
        _find(find, guide or "", format, output)
    elif guide is None:
        _list()
    else:
        _show(guidebook.load(guide), pager)


def _list() -> None:
    if sys.stdout.isatty():
        typer.echo(guidebook.contents(), nl=False)
        return
    for guide in guidebook.guides():
        typer.echo(f"{guide.name:<16} {guide.title}")


def _find(words: str, guide: str, format: str | None, output: Path | None) -> None:
    import polars as pl

    from kbkit.display import render

    rows = [(section.address, line) for section, line in guidebook.find(words, guide)]
    render.write(pl.DataFrame(rows, schema={"section": pl.String, "line": pl.String}, orient="row"), format, output)


def _show(text: str, pager: bool) -> None:
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from kbkit.display.pager import paged
    from kbkit.display.render import has_styles

    size = shutil.get_terminal_size()
    page = guidebook.render(text, size.columns, colour=has_styles(sys.stdout))
    wanted = pager and sys.stdin.isatty() and os.environ.get("PAGER") not in _NO_PAGER
    if not (wanted and page.count("\n") >= size.lines and paged(page)):
        typer.echo(page, nl=False)
