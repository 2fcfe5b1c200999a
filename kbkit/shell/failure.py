"""Says what is wrong with a statement: the line with a caret under the place, then one line of words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kbkit.display.render import clean
from kbkit.errors import KbError, sentence
from kbkit.shell.spelling import SPELLER

_PLACE = re.compile(r"^line \d+, column \d+: ")
_LEAST, _BEFORE, _CUT = 20, 0.6, "..."
_LONGEST = 2_000
"""Letters of a message: one may quote what was typed."""


@dataclass(frozen=True)
class Where:
    """A file (or ``stdin``), and the line that a statement starts on."""

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: "


def lines(error: KbError, ran: str, width: int = 80, where: Where | None = None) -> list[str]:
    """What a person is told: where the place in ``ran`` is known, its line and a caret; then the file and the message.

    A long line is cut around the place, so that all fits in ``width`` columns.
    """
    line, column = place(error, ran)
    file = "" if where is None else Where(where.source, where.line + max(line, 1) - 1)
    text = " ".join(sentence(part) for part in (_message(error), error.hint_for(SPELLER)) if part)
    said = clean(f"{file}{text}").replace("\n", " ")
    said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}{_CUT}"
    text = ran.split("\n")[line - 1].rstrip("\r") if 0 < line <= ran.count("\n") + 1 else ""
    if not text.strip() or column < 1:
        return [said]
    shown, at = _window(clean(text.replace("\t", " ")), min(column - 1, len(text)), max(width - 2, _LEAST))
    return [f"  {shown}", f"  {' ' * at}^", said]


def place(error: KbError, ran: str) -> tuple[int, int]:
    """Line and column, from 1, that an error speaks of; (0, 0) where it names none."""
    at = getattr(error, "at", None)
    if isinstance(at, int):  # an answer expression's
        before = ran[:at]
        return before.count("\n") + 1, at - before.rfind("\n")
    return getattr(error, "line", 0), getattr(error, "column", 0)


def _message(error: KbError) -> str:
    """The message; an expression's without its place, which the caret shows."""
    problem = getattr(error, "problem", None)
    return " ".join(problem.split()) if isinstance(problem, str) else _PLACE.sub("", error.message)


def _window(text: str, at: int, width: int) -> tuple[str, int]:
    """The part of a line around a place that fits in ``width`` columns, and the column of the place in it."""
    from rich.cells import cell_len  # letters may take two columns, and none

    if len(text) <= width and cell_len(text) <= width:
        return text, cell_len(text[:at])
    room = max(int(_BEFORE * width), width - cell_len(text[at : at + width])) - len(_CUT)
    start = at
    while start and cell_len(text[start - 1 : at]) <= room:
        start -= 1
    before = _CUT * (start > 0) + text[start:at]
    room, end = width - cell_len(before), at
    if cell_len(text[at : at + width]) > room or at + width < len(text):
        room -= len(_CUT)
    while end < len(text) and cell_len(text[at : end + 1]) <= room:
        end += 1
    return before + text[at:end] + _CUT * (end < len(text)), cell_len(before)
