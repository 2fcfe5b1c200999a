"""What the parts of the compiler need of each other: the relations of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from kbkit.sparql.columns.algebra import ExistsCall, Expression, PathClosure, Pattern, QueryVariable, TriplePattern
from kbkit.sparql.columns.pairs import PairCounts
from kbkit.sparql.columns.rows import ColumnNames, SqlRows
from kbkit.sparql.columns.sources import TripleSource
from kbkit.sparql.columns.terms import SqlValue


@dataclass(frozen=True)
class QueryDataset:
    """The IRIs of the graphs that a query reads: as its default graph, and by name (None: those of the KB)."""

    default: tuple[str, ...] | None = None
    named: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ActiveGraph:
    """The graph that patterns match: the default graph, one with an IRI (``name``), or each (``variable``)."""

    name: str = ""
    variable: QueryVariable | None = None


class PatternCompiling(Protocol):
    """The compiler of patterns, :class:`kbkit.sparql.columns.patterns.PatternCompiler`."""

    names: ColumnNames
    triples: TripleSource
    pair_counts: list[PairCounts]

    @property
    def graph_variable(self) -> QueryVariable | None:
        """The variable of the GRAPH that patterns are in."""

    def pattern(self, pattern: Pattern) -> SqlRows:
        """Return the solutions of a pattern."""

    def expecting(self, triples: Sequence[TriplePattern]) -> AbstractContextManager[None]:
        """Leave out what cannot match, for variables of these triple patterns, which are joined."""

    def triple(self, triple: TriplePattern) -> SqlRows:
        """Return the solutions of a triple pattern."""

    def step(self, path: PathClosure) -> tuple[SqlRows, SqlValue, SqlValue]:
        """Return the edges of a path with their two ends, of one representation."""

    def union(self, branches: list[SqlRows]) -> SqlRows:
        """Return the rows of all branches."""

    def filter(self, rows: SqlRows, condition: Expression) -> None:
        """Keep the rows for which an expression is true."""

    def exists(self, outer: SqlRows, exists: ExistsCall) -> str:
        """Return the condition of EXISTS for the rows of a relation."""
