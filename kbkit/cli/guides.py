"""The command docs: the guides that ship with kbkit."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kbkit import assets
from kbkit.errors import UnknownNameError


def register(app: typer.Typer) -> None:
    """Add this file's command to the program."""
    app.command()(docs)


def docs(
    guide: Annotated[str | None, typer.Argument(help="A guide; without one, the list of them.")] = None,
) -> None:
    """Read the guides that ship with kbkit."""
    known = {path.stem: path for path in sorted(assets.guides().glob("*.md"))}
    if guide is None:
        for name, path in known.items():
            title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
            typer.echo(f"{name:<10} {title}")
        return
    if guide not in known:
        raise UnknownNameError("guide", guide, known)
    text = known[guide].read_text(encoding="utf-8")
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
