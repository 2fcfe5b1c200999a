"""Engines outside the KB: Spark on its Parquet export, and SPARQL endpoints with its triples.

An engine runs the compiled query of an answer set and returns ids of the open KB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.session import Session
    from kbkit.stores.adjacency import Ids


class Engine(Protocol):
    """An engine for ``kb.answers(..., engine=...)``."""

    name: str

    def ids(self, answers: AnswerSet, session: Session, timeout: float | None = None) -> Ids:
        """Return the ids of the members: int32, sorted, distinct. ``timeout`` is in seconds (None: no limit)."""
        ...
