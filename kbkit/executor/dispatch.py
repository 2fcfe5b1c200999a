"""Runs any input of a prompt, dot-command or statement: the one function that front ends call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kbkit.errors import KbError
from kbkit.executor import languages
from kbkit.executor.executor import Executor
from kbkit.executor.outcomes import StatementOutcome

_PSQL = {
    **{"d": "schema", "d+": "schema", "dt": "tables", "dv": "tables", "q": "quit", "?": "help", "h": "help"},
    **{"i": "read", "o": "output", "e": "edit", "s": "history", "c": "open", "timing": "timing", "!": "system"},
}
"""Backslash commands of psql and the dot-commands that do the same."""
_BACKSLASH = re.compile(r"\\(!|\?|[A-Za-z]+\+?)\s*(.*)", re.S)


def run(executor: Executor, text: str, values: Mapping[str, Any] | None = None, language: str = "") -> StatementOutcome:
    """Run a dot-command or a statement, by default in the language that its syntax suggests.

    ``values`` are those of the ``$names`` or ``<slots>`` of a statement. Raises :class:`KbError`, and :class:`Quit`.
    """
    text = text.strip()
    executor.ran = text
    if text.isdecimal() and executor.links:
        return executor.timed(lambda: executor.follow(int(text)))
    if text.isdecimal() and executor.readings:
        return executor.timed(lambda: executor.choose(int(text)))
    language = language or executor.language(text)
    if language == languages.COMMAND:
        return executor.timed(lambda: _command(executor, text))
    return executor.timed(lambda: executor.run(text, language, values))


def parse(text: str) -> tuple[str, str]:
    r"""Return the name and the argument of a command: ``.show France``, ``\d city``, ``!ls`` or ``exit``."""
    text = text.strip()
    if text.startswith("!"):
        return "system", text[1:].strip()
    if text.startswith("\\"):
        found = _BACKSLASH.match(text)
        name = found[1] if found is not None else ""
        if found is None or name not in _PSQL:
            raise KbError(f"Unknown command '\\{name}'", "Enter .help for a list of commands")
        return _PSQL[name], found[2].strip()
    name, _, argument = text.removeprefix(".").partition(" ")
    return (name if text.startswith(".") else name.rstrip(";")), argument.strip(" ;" if text[0] != "." else None)


def _command(executor: Executor, text: str) -> StatementOutcome:
    from kbkit.executor.commands import find  # imports the engines, which would delay the first prompt

    name, argument = parse(text)
    command = find(name)
    if argument and not command.usage:
        raise KbError(f".{command.name} takes no argument", f"Enter .help {command.name} for help")
    return command.function(executor, argument)
