"""What a statement returns: its value, its rows and remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from kbkit.executor import languages

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.answer_set import AnswerSet


@dataclass(frozen=True)
class StatementOutcome:
    """The result of a statement.

    ``value`` is a polars frame, an :class:`AnswerSet`, a :class:`Page`, text, a :class:`Printout`, a tuple of (title,
    value), bytes (a SPARQL result in a published format), or None. ``frame`` holds its rows, if it has any, and
    ``preview`` the columns that a person sees of them, with IRIs as names with these ``prefixes``.
    ``note`` is a remark. ``script`` holds statements to run next, from the file ``source``; ``edit`` is text for the
    user to edit at the next prompt. If the rows are a part of a result, ``start`` is the number of those before them
    and ``total`` that of the result.
    """

    language: str
    value: Any = None
    frame: pl.DataFrame | None = None
    preview: pl.DataFrame | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    seconds: float = 0.0
    script: Iterable[languages.Statement] = ()
    source: str = ""
    edit: str | None = None
    start: int = 0
    total: int | None = None


@dataclass(frozen=True)
class Last:
    """The last result: its statement, its rows, and its answer set if it is one."""

    language: str
    statement: str
    frame: pl.DataFrame
    answers: AnswerSet | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Printout:
    """A value that prints itself to a stream, in a given width; ``of`` is the object that it shows, for front ends that
    display objects in their own way.
    """

    print: Callable[[IO[str], int], None]
    of: Any = None


class Quit(Exception):  # noqa: N818 - no error
    """The user wants to leave."""
