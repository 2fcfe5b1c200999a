"""Errors a user sees: one line that says what is wrong and what would be right.

Every error that a user can cause is a :class:`KbError`; the command line prints its message and hint
and exits with its code. Any other exception is a defect of kbkit.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KbError(Exception):
    """Something the user can mend.

    ``message`` says what is wrong and where; ``hint`` (may be empty) says what would be right;
    ``exit_code`` is what the command line exits with.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UnknownNameError(KbError):
    """A name that does not exist, with the closest ones that do."""

    def __init__(self, kind: str, name: str, choices: Iterable[str], where: str = "", hint: str = "") -> None:
        known = list(choices)
        super().__init__(f"unknown {kind} {name!r}{' in ' + where if where else ''}", hint or suggest(name, known))
        self.kind, self.name, self.choices = kind, name, known


class BadInputError(KbError):
    """A source file, recipe or value that cannot be used as it is."""


class NotAKbError(KbError):
    """A path that is no KB, or one that this version cannot read."""


class LockedError(KbError):
    """Another process holds the lock; the message names it."""


class QueryError(KbError):
    """A query that the engine refused; ``line`` and ``column``, from 1, say where (0: not known)."""

    def __init__(self, message: str, hint: str = "", *, line: int = 0, column: int = 0) -> None:
        super().__init__(message, hint)
        self.line, self.column = line, column


class QuerySyntaxError(QueryError):
    """A query that cannot be read."""


class QueryTimeoutError(KbError):
    """A query that was stopped at its time limit."""

    exit_code = 124  # as timeout(1)


class InterruptedBuildError(KbError):
    """A build that the user stopped; the generation that was live still is."""

    exit_code = 130  # as a shell reports SIGINT


def suggest(name: str, choices: Iterable[str], most: int = 5) -> str:
    """Say which of ``choices`` come closest to ``name``; all of them when they are few."""
    known = sorted(set(choices))
    if not known:
        return "there are none"
    folded: dict[str, str] = {}
    for choice in known:
        folded.setdefault(choice.casefold(), choice)
    close = [folded[match] for match in difflib.get_close_matches(name.casefold(), list(folded), most, 0.6)]
    if close:
        return "did you mean " + " or ".join(map(repr, close)) + "?"
    if len(known) <= 12:
        return "there are " + ", ".join(known)
    return f"there are {len(known)}, among them " + ", ".join(known[:most])
