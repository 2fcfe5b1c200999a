"""Writes the command reference from the commands themselves: ``python -m kbkit.cli.reference``.

The result is ``kbkit/guides/commands.md``; a test fails when it is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from kbkit.cli.app import app

_WIDTH = 100


def render() -> str:
    """The reference, in Markdown."""
    parts = [
        "# Commands",
        "Made by `python -m kbkit.cli.reference > kbkit/guides/commands.md`; do not edit.",
        *(f"## {title}\n\n```text\n{text}\n```" for title, text in _pages()),
    ]
    return "\n\n".join(parts) + "\n"


def _pages() -> Iterator[tuple[str, str]]:
    program: Any = typer.main.get_command(app)
    context = program.make_context("kbkit", ["--help"], resilient_parsing=True)
    yield "kbkit", _help(program, "kbkit")
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        yield f"kbkit {name}", _help(command, f"kbkit {name}")
        for child in getattr(command, "commands", {}):
            yield f"kbkit {name} {child}", _help(command.commands[child], f"kbkit {name} {child}")


def _help(command: Any, name: str) -> str:
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=_WIDTH, max_content_width=_WIDTH)
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


if __name__ == "__main__":
    sys.stdout.write(render())
