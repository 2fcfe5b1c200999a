"""Engines outside the KB: Spark on its Parquet export, and SPARQL endpoints with its triples.

An engine runs the compiled query of an answer set and returns ids of the open KB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kbkit.answers.algebra import Plan
    from kbkit.answers.session import Session
    from kbkit.stores.adjacency import Ids


class CompiledSet(Protocol):
    """What an engine needs of an answer set: its plan, and the queries that it compiles to."""

    @property
    def plan(self) -> Plan:
        """The plan with its parameters."""
        ...

    @property
    def sql(self) -> str:
        """See :attr:`kbkit.answers.answer_set.AnswerSet.sql`."""
        ...

    @property
    def sparql(self) -> str:
        """See :attr:`kbkit.answers.answer_set.AnswerSet.sparql`."""
        ...


class Engine(Protocol):
    """An engine for ``kb.answers(..., engine=...)``."""

    name: str

    def ids(self, answers: CompiledSet, session: Session, timeout: float | None = None) -> Ids:
        """Return the ids of the members: int32, sorted, distinct. ``timeout`` is in seconds (None: no limit)."""
        ...
