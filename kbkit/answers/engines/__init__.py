"""Answers on engines outside the KB: Spark over its Parquet export, and SPARQL endpoints that hold its triples.

An engine runs what an answer set compiles to and returns ids of the open KB, so that nothing after it knows where the
answers were found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.session import Session
    from kbkit.stores.adjacency import Ids


class Engine(Protocol):
    """What ``kb.answers(..., engine=...)`` takes beside the names of the engines of its own."""

    name: str

    def ids(self, answers: AnswerSet, session: Session, timeout: float | None = None) -> Ids:
        """The members' ids: int32, sorted, distinct. ``timeout`` is in seconds; None waits for ever."""
        ...
