"""The command docs: the guides that ship with kbkit."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Annotated

import typer

from kbkit.assets import guidebook
from kbkit.cli.commands import add
from kbkit.cli.options import Rendering, argument, option

_NO_PAGER = ("", "cat")
"""Values of $PAGER that turn paging off."""


def register(app: typer.Typer) -> None:
    """Add the command of this file to the program."""
    add(app, docs)


def docs(
    guide: Annotated[
        str | None,
        argument("GUIDE", "Guide, or section of one: answers#saved-sets (default: list the guides)."),
    ] = None,
    find: Annotated[str, option("--find WORDS", "List the sections that contain these words.")] = "",
    pager: Annotated[bool, option("--pager/--no-pager", "Page output longer than the screen.")] = True,
    *,
    rendering: Rendering,
) -> None:
    """Read the guides that ship with kbkit.

    Guides are rendered on a terminal, and printed as Markdown otherwise. $PAGER sets the pager.
    """
    if find:
        import polars as pl

        rows = [(section.address, line) for section, line in guidebook.find(find, guide or "")]
        rendering.write(pl.DataFrame(rows, schema={"section": pl.String, "line": pl.String}, orient="row"))
    elif guide is not None:
        _show(guidebook.load(guide), pager)
    elif sys.stdout.isatty():
        typer.echo(guidebook.contents(), nl=False)
    else:
        for known in guidebook.guides():
            typer.echo(f"{known.name:<16} {known.title}")


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
