"""Which queries of a file a KB accepts and runs, and why not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from kbkit.benchmarks.spinach.execute import Executed, execute
from kbkit.benchmarks.spinach.files import Dataset, Question

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase


@dataclass(frozen=True)
class Checked:
    """A question, what became of its query, and how many seconds that took."""

    question: Question
    found: Executed
    seconds: float


def check(
    kb: KnowledgeBase, dataset: Dataset, timeout: float | None, limit: int, progress: Callable[[int, int], None]
) -> Iterator[Checked]:
    """Run the queries of a dataset on a KB, one after another."""
    for place, question in enumerate(dataset.questions):
        progress(place, len(dataset.questions))
        started = time.perf_counter()
        found = execute(kb, question.sparql, timeout, limit)
        yield Checked(question, found, time.perf_counter() - started)
    progress(len(dataset.questions), len(dataset.questions))


def counts(checked: list[Checked]) -> pl.DataFrame:
    """One row: total, accepted (rewritten, and taken by the engine's parser), ran (within the limit), nonempty."""
    found = [one.found for one in checked]
    return pl.DataFrame(
        {
            "total": [len(found)],
            "accepted": [sum(one.accepted for one in found)],
            "ran": [sum(one.ran for one in found)],
            "nonempty": [sum(one.rows > 0 for one in found)],
        }
    )


def details(checked: list[Checked]) -> pl.DataFrame:
    """A row a query: id, accepted, ran, rows (null where it did not run), stage and reason (as
    :class:`kbkit.benchmarks.spinach.execute.Executed` has them), seconds, notes (what was rewritten), question.
    """
    rows = [
        (
            one.question.id,
            one.found.accepted,
            one.found.ran,
            one.found.rows if one.found.ran else None,
            one.found.stage,
            reason(one.found),
            round(one.seconds, 3),
            "; ".join(one.found.notes) or None,
            one.question.text or None,
        )
        for one in checked
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


def reason(found: Executed) -> str | None:
    """Why a query does not count as one that gives rows; None if it does."""
    return "no rows" if found.stage == "rows" else found.error or None


def lines(checked: list[Checked]) -> list[str]:
    """A line for each query that is not accepted, does not run, or gives no rows: id, stage, reason."""
    return [f"{one.question.id}: {one.found.stage}: {reason(one.found)}" for one in checked if reason(one.found)]
