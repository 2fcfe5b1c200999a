"""Errors as the shell shows them: the line with a caret under the position, then a message and a hint."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kbkit.display.render import clean
from kbkit.errors import Command, KbError, Option, sentence

_OPTIONS = {
    **{"timeout": ".timeout", "params": ".set", "param": ".set", "slots": ".set", "limit": ".rows", "k": ".search -k"},
    **{"within": ".search --within", "type": ".search --type", "mode": ".search --mode", "format": ".format"},
    **{"output": ".output", "language": ".mode"},
}
"""Options and the dot-commands that set them in the shell; other options belong to the command line."""
_COMMANDS = {
    **{name: name for name in ("search", "schema", "sets", "templates", "queries", "info", "show", "path", "around")},
    "docs": "help",
}
"""Commands and the dot-commands that do the same."""
_POSITION = re.compile(r"^(?:line \d+, )?column \d+: ", re.I)
_NARROWEST, _BEFORE, _ELLIPSIS = 20, 0.6, "..."
_LONGEST = 2_000
"""Characters of a message, which may quote the user's input."""


class ShellSpeller:
    """Spells options and commands of hints as dot-commands where there is one, else as on the command line."""

    def option(self, option: Option) -> str:
        """Spell ``.timeout``, or ``.timeout 5``."""
        name = _OPTIONS.get(option.name, f"--{option.name.replace('_', '-')}")
        return f"{name} {option.value}" if option.value else name

    def command(self, command: Command) -> str:
        """Spell ``.search``, or ``kbkit build KB text``."""
        name, *arguments = command.words.split()
        if name not in _COMMANDS:
            return f"kbkit {command.words}"
        return " ".join([f".{_COMMANDS[name]}", *(word for word in arguments if word != "KB")])


SPELLER = ShellSpeller()


@dataclass(frozen=True)
class Where:
    """A file (or ``stdin``), and the line on which a statement starts."""

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: "


def error_lines(error: KbError, ran: str, width: int = 80, where: Where | None = None) -> list[str]:
    """Return the lines that report an error in the text ``ran``.

    If the position is known: its line, cut to ``width`` columns, and a caret. Then the file, the message and the hint.
    """
    line, column = position(error, ran)
    file = "" if where is None else Where(where.source, where.line + max(line, 1) - 1)
    sentences = " ".join(sentence(part) for part in (_message(error), error.hint_for(SPELLER)) if part)
    report = clean(f"{file}{sentences}").replace("\n", " ")
    report = report if len(report) <= _LONGEST else f"{report[:_LONGEST]}{_ELLIPSIS}"
    text = ran.split("\n")[line - 1].rstrip("\r") if 0 < line <= ran.count("\n") + 1 else ""
    if not text.strip() or column < 1:
        return [report]
    cut, offset = _window(clean(text.replace("\t", " ")), min(column - 1, len(text)), max(width - 2, _NARROWEST))
    return [f"  {cut}", f"  {' ' * offset}^", report]


def position(error: KbError, ran: str) -> tuple[int, int]:
    """Return line and column of an error, from 1; (0, 0) if unknown."""
    at = getattr(error, "at", None)
    if isinstance(at, int):  # of an answer expression
        before = ran[:at]
        return before.count("\n") + 1, at - before.rfind("\n")
    return getattr(error, "line", 0), getattr(error, "column", 0)


def _message(error: KbError) -> str:
    """Return the message without its position, which the caret shows."""
    problem = getattr(error, "problem", None)  # of an answer expression
    return " ".join(problem.split()) if isinstance(problem, str) else _POSITION.sub("", error.message)


def _window(text: str, at: int, width: int) -> tuple[str, int]:
    """Return the part of a line around a position that fits in ``width`` columns, and the position's column in it."""
    from rich.cells import cell_len  # characters may take two columns, or none

    if len(text) <= width and cell_len(text) <= width:
        return text, cell_len(text[:at])
    room = max(int(_BEFORE * width), width - cell_len(text[at : at + width])) - len(_ELLIPSIS)
    start = at
    while start and cell_len(text[start - 1 : at]) <= room:
        start -= 1
    before = _ELLIPSIS * (start > 0) + text[start:at]
    room, end = width - cell_len(before), at
    if cell_len(text[at : at + width]) > room or at + width < len(text):
        room -= len(_ELLIPSIS)
    while end < len(text) and cell_len(text[at : end + 1]) <= room:
        end += 1
    return before + text[at:end] + _ELLIPSIS * (end < len(text)), cell_len(before)
