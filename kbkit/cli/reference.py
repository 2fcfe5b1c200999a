"""Writes the references from what they describe: ``python -m kbkit.cli.reference [commands|schema]``.

``--write`` writes both guides, ``commands.md`` and ``schema.md``; a test fails when one is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from kbkit import assets
from kbkit.cli import schema_reference
from kbkit.cli.app import app
from kbkit.errors import UnknownNameError

_WIDTH = 100


def render() -> str:
    """The reference of commands, in Markdown, and of those that the shell has of its own."""
    parts = [
        "# Commands",
        "Made by `python -m kbkit.cli.reference --write`; do not edit.",
        *(f"## {title}\n\n```text\n{text}\n```" for title, text in _pages()),
        "## In the shell",
        *_shell(),
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


def _shell() -> Iterator[str]:
    """The dot-commands of ``kbkit shell``, in the order of its help."""
    from kbkit.executor.commands import COMMANDS

    yield "What `kbkit shell` knows beside statements."
    for command in COMMANDS.values():
        lines = [f".{command.name} {command.usage}".rstrip(), f"    {command.help}"]
        lines += [f"    {line}".rstrip() for line in command.detail.splitlines()]
        yield "\n".join(["```text", *lines, "```"])


REFERENCES = {"commands": render, "schema": schema_reference.render}
"""By the name of the guide."""


def main(arguments: list[str]) -> None:
    """Print one reference, or write all of them."""
    if arguments == ["--write"]:
        for name, made in REFERENCES.items():
            path = assets.guides() / f"{name}.md"
            path.write_text(made(), encoding="utf-8", newline="\n")
        return
    [name] = arguments or ["commands"]
    if name not in REFERENCES:
        raise UnknownNameError("reference", name, REFERENCES)
    sys.stdout.write(REFERENCES[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
