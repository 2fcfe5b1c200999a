"""Triple patterns as SQL: the rows that each may match, and their union."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kbkit.sparql.columns.algebra import NegatedPredicates, QueryVariable, Term, TriplePattern
from kbkit.sparql.columns.compiling import ActiveGraph, QueryDataset
from kbkit.sparql.columns.pairs import PairCounts
from kbkit.sparql.columns.rows import ColumnNames, SqlRows, common_kind
from kbkit.sparql.columns.sources import DEFAULT, GraphsRead, TripleRows, TripleSource
from kbkit.sparql.columns.terms import SQL_TYPES, ConstantTerm, SqlValue, UnsupportedQueryError

_MAX_ALTERNATIVES = 1_000
"""Limit on the sources of a triple pattern: DuckDB plans unions in time that grows with the square of their number."""


class TriplePatternCompiler:
    """Turns triple patterns into relations. ``uses`` counts the occurrences of each variable in the query."""

    def __init__(self, triples: TripleSource, uses: Counter[str], dataset: QueryDataset) -> None:
        self.names = ColumnNames()
        self.triples = triples
        self.pair_counts: list[PairCounts] = []
        self._dataset = dataset
        self._uses = uses
        self.graph = ActiveGraph()
        self.first_rows: int | None = None
        """How many rows of a leaf are enough, if the query is one triple pattern with LIMIT."""
        self._kinds: dict[str, set[str]] = {}
        self._outside: frozenset[str] = frozenset()
        """The variables of the rows around the EXISTS that is compiled."""

    @property
    def graph_variable(self) -> QueryVariable | None:
        """The variable of the GRAPH that patterns are in."""
        return self.graph.variable

    def rows(self) -> SqlRows:
        """Return one row without bindings."""
        return SqlRows(self.names, self.triples)

    @contextmanager
    def expecting(self, triples: Sequence[TriplePattern]) -> Iterator[None]:
        """Leave out what cannot match, for variables of these triple patterns, which are joined.

        Where a type has nodes and statements of edges, only the nodes have attributes of nodes.
        """
        shared: dict[str, set[str]] = {}
        for triple in triples:
            for name, kinds in self._kinds_of(triple).items():
                shared[name] = shared.get(name, kinds) & kinds
        outer, self._kinds = self._kinds, shared
        try:
            yield
        finally:
            self._kinds = outer

    def _kinds_of(self, triple: TriplePattern) -> dict[str, set[str]]:
        """Return the representations of the variables of a triple pattern, unless internal text is among them."""
        terms, leaves = self._terms_and_leaves(triple)
        kinds: dict[str, set[str]] = {}
        for leaf in leaves:
            for part, term in terms.items():
                if isinstance(term, QueryVariable) and (part in leaf.kinds or part in leaf.fixed):
                    kind = leaf.kinds.get(part) or self._fixed(leaf.fixed[part]).kind
                    kinds.setdefault(term.name, set()).add(kind)
        return {name: own_kinds for name, own_kinds in kinds.items() if "term" not in own_kinds}

    def triple(self, triple: TriplePattern) -> SqlRows:
        """Return the solutions of a triple pattern."""
        terms, leaves = self._terms_and_leaves(triple)
        edges = [leaf for leaf in leaves if leaf.kinds == {"s": "node", "o": "node"}]
        repeated = isinstance(triple.predicate, ConstantTerm) and len(edges) > 1  # several relations may have one IRI
        alternatives = [rows for leaf in leaves if (rows := self._leaf(leaf, terms, every=repeated)) is not None]
        if not alternatives:
            return self._nothing([term for term in terms.values() if isinstance(term, QueryVariable)])
        if len(alternatives) > _MAX_ALTERNATIVES:
            raise UnsupportedQueryError(f"a pattern that reads more than {_MAX_ALTERNATIVES:,} columns or types")
        rows = alternatives[0] if len(alternatives) == 1 else self.union(alternatives)
        if repeated:
            rows = rows.closed(distinct=True)
            rows.variables = {name: v for name, v in rows.variables.items() if self._is_used(QueryVariable(name))}
        return rows

    def _terms_and_leaves(self, triple: TriplePattern) -> tuple[dict[str, Term], list[TripleRows]]:
        """Return the terms of a triple pattern by column, and the rows that it may match."""
        predicates: Sequence[ConstantTerm] | None = None
        excluded: Sequence[ConstantTerm] = ()
        verb = triple.predicate
        if isinstance(verb, ConstantTerm):
            predicates = [verb]
        elif isinstance(verb, NegatedPredicates):
            excluded = verb.predicates
        by_object = isinstance(triple.object, ConstantTerm) and isinstance(triple.subject, QueryVariable)
        leaves = self.triples.leaves(predicates, excluded, self._graphs_read(), by_object=by_object)
        terms: dict[str, Term] = {"s": triple.subject, "o": triple.object}
        if not isinstance(verb, NegatedPredicates):
            terms["p"] = verb
        if self.graph.variable is not None:
            terms["g"] = self.graph.variable
        return terms, leaves

    def _graphs_read(self) -> GraphsRead:
        named = self._dataset.named
        if self.graph.variable is not None:
            return GraphsRead(named, by_name=True)
        if self.graph.name:
            known = named is None or self.graph.name in named
            return GraphsRead((self.graph.name,) if known else ())
        return GraphsRead(self._dataset.default if self._dataset.default is not None else (DEFAULT,))

    def _is_used(self, term: Term) -> bool:
        return isinstance(term, QueryVariable) and self._uses[term.name] != 1

    def _leaf(self, leaf: TripleRows, terms: dict[str, Term], *, every: bool) -> SqlRows | None:
        """Return the rows of a leaf that match terms; None if there are none. ``every`` binds unused variables too."""
        columns = {part: self.names.new() for part in leaf.kinds}
        listed = ", ".join(f"{part} AS {name}" for part, name in columns.items())
        text = f"SELECT {'' if leaf.distinct else 'DISTINCT '}{listed} FROM ({leaf.text})"
        text += "" if self.first_rows is None else f" LIMIT {self.first_rows}"
        rows = SqlRows(self.names, self.triples, [f"({text}) {self.names.new('q')}"])
        for part, term in terms.items():
            if part in columns:
                value = SqlValue(columns[part], leaf.kinds[part], nullable=False)
            elif part in leaf.fixed:
                value = self._fixed(leaf.fixed[part])
            else:
                continue
            if part in leaf.fixed and leaf.fixed[part] == term:
                continue
            if isinstance(term, QueryVariable) and not self._is_expected(term, value.kind):
                return None
            if part in leaf.fixed and isinstance(term, ConstantTerm):
                return None  # another constant
            if isinstance(term, ConstantTerm):
                sql = self.triples.constant(term, value.kind)
                if sql is None:
                    return None
                rows.where(f"{value.sql} = {sql}")
            elif term.name in rows.variables:
                first = rows.variables[term.name]
                kind = common_kind((first.kind, value.kind))
                one, other = (rows.plain(rows.converted(v, kind)) for v in (first, value))
                rows.where(f"{one.sql} = {other.sql}")
            elif every or self._is_used(term):
                rows.variables[term.name] = value
        return rows

    def _is_expected(self, variable: QueryVariable, kind: str) -> bool:
        """Return whether the triple patterns around match a representation; internal text may be anything."""
        return kind == "term" or kind in self._kinds.get(variable.name, (kind,))

    def _fixed(self, constant: ConstantTerm) -> SqlValue:
        kind, [sql] = self.triples.narrowed([constant])
        return SqlValue(f"{sql}::{SQL_TYPES[kind]}" if kind in ("id", "node") else sql, kind, nullable=False)

    def _nothing(self, variables: Sequence[QueryVariable]) -> SqlRows:
        rows = self.rows()
        rows.where("false")
        rows.variables = {v.name: SqlValue("NULL::VARCHAR", "term") for v in variables if self._is_used(v)}
        return rows

    def union(self, branches: Sequence[SqlRows]) -> SqlRows:
        """Return the rows of all branches."""
        names = list(dict.fromkeys(name for rows in branches for name in rows.variables))
        kinds = {
            name: common_kind(rows.variables[name].kind for rows in branches if name in rows.variables)
            for name in names
        }
        columns = {name: self.names.new() for name in names}
        texts = []
        for rows in branches:
            selected = {}
            for name, column in columns.items():
                if name in rows.variables:
                    selected[column] = rows.converted(rows.variables[name], kinds[name]).sql
                else:
                    selected[column] = f"NULL::{SQL_TYPES[kinds[name]]}"
            texts.append(rows.select(selected))
        whole = SqlRows(self.names, self.triples, [f"({' UNION ALL '.join(texts)}) {self.names.new('q')}"])
        for name, column in columns.items():
            nullable = any(name not in rows.variables or rows.variables[name].nullable for rows in branches)
            whole.variables[name] = SqlValue(column, kinds[name], nullable)
        return whole
