"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from kbkit.errors import KbError, UnknownNameError

Kb = Annotated[Path, typer.Argument(metavar="DIR", help="The KB's directory.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help="table, json, ndjson, csv, markdown or parquet; by default a table on a terminal, ndjson in a"
        " pipe, and what the ending of -o says.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")]
Timeout = Annotated[float, typer.Option(help="Seconds after which the query is stopped; 0 for never.")]


def on_screen(format: str | None, output: Path | None) -> bool:
    """Whether a person will read the result as a table or page, and not a file or program."""
    return output is None and (format == "table" or (format is None and sys.stdout.isatty()))


def split_options(
    arguments: Iterable[str], known: Iterable[str], context: typer.Context
) -> tuple[list[str], dict[str, str]]:
    """What was given besides a command's own options: arguments, and ``--name value`` or ``--name=value`` of ``known``.

    After ``--`` all are arguments. Raises :class:`UnknownNameError` for an option that neither ``known`` nor the
    command has.
    """
    options: dict[str, str] = {}
    rest: list[str] = []
    words = iter(arguments)
    choices = [f"--{name.replace('_', '-')}" for name in known]
    for word in words:
        if word == "--":
            return [*rest, *words], options
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        name, sign, value = word.partition("=")
        if name not in choices:
            own = [option for parameter in context.command.params for option in parameter.opts if option[:2] == "--"]
            raise UnknownNameError("option", name, [*choices, *own], context.command_path)
        given = value if sign else next(words, None)
        if given is None:
            raise KbError(f"{name} has no value", f"write {name} VALUE")
        options[name[2:].replace("-", "_")] = given
    return rest, options


def pairs(values: Iterable[str], option: str, example: str = "limit=10") -> dict[str, str]:
    """``name=value`` strings as a mapping."""
    result = {}
    for value in values:
        name, sign, rest = value.partition("=")
        if not sign or not name:
            raise KbError(f"{option} {value!r} is not NAME=VALUE", f"e.g. {option} {example}")
        result[name] = rest
    return result
