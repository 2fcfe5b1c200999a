"""Execute queries on a KB, with results in the form of the row measures."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from kbkit.benchmarks.spinach.files import QuestionFile, SparqlQuestion
from kbkit.errors import KbError, QueryError, QuerySyntaxError, QueryTimeoutError
from kbkit.measures.rows import Result
from kbkit.sparql.parse import parse
from kbkit.sparql.run import query

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

TIMEOUT = 60.0
"""Seconds per query, as in the paper (section 4.1)."""
MAX_ROWS = 10_000
"""Maximum number of rows of a result."""
_REFUSED = re.compile(r"error at \d+:\d+|SERVICE is refused")
"""Messages for queries that are rejected before they run, by Oxigraph's parser or by kbkit."""


@dataclass(frozen=True)
class Executed:
    """The outcome of a query: its ``result``, or None and an ``error``.

    ``stage`` is the last stage reached: ``syntax`` (invalid SPARQL), ``rewrite`` (unsupported), ``engine`` (rejected by
    the engine's parser), ``time`` (timeout), ``run`` (another error while it ran), ``rows`` (no rows) or ``done``.
    ``cut``: there were more rows than the maximum.
    """

    result: Result
    stage: str
    error: str = ""
    cut: bool = False
    notes: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it was rewritten, and accepted by the engine's parser."""
        return self.stage not in ("syntax", "rewrite", "engine")

    @property
    def ran(self) -> bool:
        """Whether it finished before the timeout."""
        return self.stage in ("rows", "done")

    @property
    def rows(self) -> int:
        """Number of rows; a boolean is one."""
        return len(self.result) if isinstance(self.result, list) else int(self.result is not None)


def execute(kb: KnowledgeBase, text: str, timeout: float | None = TIMEOUT, max_rows: int = MAX_ROWS) -> Executed:
    """Run a query on a KB, rewritten for the KB's dialect. Errors of the query are returned, not raised.

    ``timeout`` is in seconds (None: no limit).
    """
    try:
        notes = tuple(kb.rewrite(text).notes)
    except KbError as error:
        return Executed(None, "rewrite" if _is_valid(text) else "syntax", _line(error))
    try:
        frame, terms = query(kb.stores, text, timeout, limit=max_rows + 1).values_and_terms()
    except QueryTimeoutError as error:
        return Executed(None, "time", _line(error), notes=notes)
    except QuerySyntaxError as error:  # by the engine, reported by kbkit's parser
        return Executed(None, "engine" if _is_valid(text) else "syntax", _line(error), notes=notes)
    except QueryError as error:
        return Executed(None, "engine" if _REFUSED.match(error.message) else "run", _line(error), notes=notes)
    rows = rows_of(frame.head(max_rows), terms.head(max_rows))
    return Executed(rows, "rows" if rows == [] else "done", cut=frame.height > max_rows, notes=notes)


def _is_valid(text: str) -> bool:
    """Return whether a query is valid SPARQL, supported or not."""
    try:
        parse(text)
    except QuerySyntaxError:
        return False
    return True


def _line(error: KbError) -> str:
    return " ".join(error.message.split())


def rows_of(frame: pl.DataFrame, terms: pl.DataFrame | None = None) -> Result:
    """Return a frame of :meth:`KnowledgeBase.sparql` as rows of cells, or the boolean of an ASK query.

    ``terms`` is the same result as RDF terms: cells then have the kinds of the terms, ``uri``, ``bnode`` or
    ``literal``; otherwise all are literals. Their texts are those of values, without datatype and language, so results
    are comparable only within one KB.
    """
    if frame.columns == ["ask"] and frame.schema["ask"] == pl.Boolean:
        return bool(frame.item())
    kinds = [{}] * frame.height if terms is None else terms.select(_kinds(terms)).iter_rows(named=True)
    return [
        {
            name: {"type": kind.get(name) or "literal", "value": _text(value)}
            for name, value in row.items()
            if value is not None
        }
        for row, kind in zip(frame.iter_rows(named=True), kinds, strict=True)
    ]


def _kinds(terms: pl.DataFrame) -> list[pl.Expr]:
    """Return the kinds of the terms of each column, such as uri."""
    return [pl.col(name).struct.field("type").alias(name) for name in terms.columns]


def gold_problem(gold: Executed) -> str:
    """Return why the result of a gold query cannot be scored, or ""."""
    return "the result is cut at the maximum number of rows" if gold.cut else gold.error


def plain(result: Result) -> Result:
    """Return a result with cells as in :func:`rows_of`: texts without type, datatype and language."""
    if not isinstance(result, list):
        return result
    return [{name: {"type": "literal", "value": cell["value"]} for name, cell in row.items()} for row in result]


def _text(value: Any) -> str:
    """Return a cell as text; 3.0 is written as 3, like an integer."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# -- checking the queries of a file -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checked:
    """A question, the outcome of its query, and the seconds that it took."""

    question: SparqlQuestion
    executed: Executed
    seconds: float


def check_queries(
    kb: KnowledgeBase, dataset: QuestionFile, timeout: float | None, max_rows: int, progress: Callable[[int, int], None]
) -> Iterator[Checked]:
    """Run the queries of a dataset on a KB, one after another."""
    for position, question in enumerate(dataset.questions):
        progress(position, len(dataset.questions))
        started = time.perf_counter()
        executed = execute(kb, question.sparql, timeout, max_rows)
        yield Checked(question, executed, time.perf_counter() - started)
    progress(len(dataset.questions), len(dataset.questions))


def counts(checked: list[Checked]) -> pl.DataFrame:
    """Return one row: total, accepted (rewritten and parsed), ran (before the timeout), nonempty."""
    outcomes = [checked_question.executed for checked_question in checked]
    return pl.DataFrame(
        {
            "total": [len(outcomes)],
            "accepted": [sum(executed.accepted for executed in outcomes)],
            "ran": [sum(executed.ran for executed in outcomes)],
            "nonempty": [sum(executed.rows > 0 for executed in outcomes)],
        }
    )


def details(checked: list[Checked]) -> pl.DataFrame:
    """Return a row per query, about its question, its outcome and the time.

    The columns are id, accepted, ran, rows (null if it did not run), stage (as in :class:`Executed`), reason, seconds,
    notes (on the rewriting), question.
    """
    rows = [
        (
            checked_question.question.id,
            checked_question.executed.accepted,
            checked_question.executed.ran,
            checked_question.executed.rows if checked_question.executed.ran else None,
            checked_question.executed.stage,
            reason(checked_question.executed),
            round(checked_question.seconds, 3),
            "; ".join(checked_question.executed.notes) or None,
            checked_question.question.text or None,
        )
        for checked_question in checked
    ]
    schema = {
        "id": pl.String,
        "accepted": pl.Boolean,
        "ran": pl.Boolean,
        "rows": pl.Int64,
        "stage": pl.String,
        "reason": pl.String,
        "seconds": pl.Float64,
        "notes": pl.String,
        "question": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def reason(executed: Executed) -> str | None:
    """Return why a query returned no rows, or None."""
    return "no rows" if executed.stage == "rows" else executed.error or None


def lines(checked: list[Checked]) -> list[str]:
    """Return a line for each query that was rejected, failed, or returned no rows: id, stage, reason."""
    return [
        f"{checked_question.question.id}: {checked_question.executed.stage}: {reason(checked_question.executed)}"
        for checked_question in checked
        if reason(checked_question.executed)
    ]
