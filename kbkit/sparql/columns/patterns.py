"""Graph patterns as SQL: each pattern of the algebra becomes a relation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from kbkit.sparql.columns.algebra import (
    BasicPattern,
    BindPattern,
    ExistsCall,
    Expression,
    FilterPattern,
    FunctionCall,
    GraphPattern,
    JoinPattern,
    MinusPattern,
    OptionalPattern,
    PathClosure,
    PathPattern,
    Pattern,
    QueryVariable,
    SelectPattern,
    TriplePattern,
    UnionPattern,
    ValuesPattern,
    all_variables,
    conjuncts,
    filters_around,
    variables,
    walk_algebra,
)
from kbkit.sparql.columns.compiling import ActiveGraph
from kbkit.sparql.columns.expressions import ExpressionScope
from kbkit.sparql.columns.paths import closure, is_anchored
from kbkit.sparql.columns.rows import SqlRows, agrees, common_kind, comparable, join, merged
from kbkit.sparql.columns.selects import compile_select
from kbkit.sparql.columns.terms import SQL_TYPES, ConstantTerm, SqlValue, UnsupportedQueryError
from kbkit.sparql.columns.triple_patterns import TriplePatternCompiler


class PatternCompiler(TriplePatternCompiler):
    """Turns patterns into relations."""

    def pattern(self, pattern: Pattern) -> SqlRows:
        """Return the solutions of a pattern."""
        compilers: dict[type[Any], Callable[[Any], SqlRows]] = {
            BasicPattern: self._basic,
            JoinPattern: lambda p: join(self.pattern(p.left), self.pattern(p.right)),
            OptionalPattern: self._left_join,
            UnionPattern: lambda p: self.union([self.pattern(branch) for branch in p.branches]),
            MinusPattern: lambda p: self._minus(self.pattern(p.left), self.pattern(p.right)),
            FilterPattern: self._filtered,
            BindPattern: self._extend,
            ValuesPattern: self._values,
            GraphPattern: self._graph,
            SelectPattern: self._subquery,
        }
        return compilers[type(pattern)](pattern)

    def _filtered(self, pattern: FilterPattern) -> SqlRows:
        rows = self.pattern(pattern.pattern)
        self.filter(rows, pattern.condition)
        return rows

    def _subquery(self, select: SelectPattern) -> SqlRows:
        variable = self.graph.variable
        if variable is not None:  # the rows keep their graph
            if select.group is not None or select.limit is not None or select.offset:
                raise UnsupportedQueryError("groups and limits in GRAPH with a variable")
            if variable.name in all_variables(select):
                raise UnsupportedQueryError("a subquery that uses the variable of its GRAPH")
            select = replace(select, columns=(*select.columns, (variable, None)))
        return compile_select(self, select)

    # -- triples ------------------------------------------------------------------------------------------------------

    def _basic(self, basic: BasicPattern) -> SqlRows:
        rows = self.rows()
        if not basic.parts and self.graph != ActiveGraph():
            return self._graphs()
        paths = [part for part in basic.parts if isinstance(part, PathPattern)]
        triples = [part for part in basic.parts if isinstance(part, TriplePattern)]
        with self.expecting(triples):
            for triple in triples:
                rows = join(rows, self.triple(triple))
        for part in basic.parts:
            if isinstance(part, SelectPattern):  # the alternatives of a path
                rows = join(rows, self.pattern(part))
        nodes = {term.name for t in triples for term in (t.subject, t.object) if isinstance(term, QueryVariable)}
        while paths:  # those that start from few nodes first
            path = next((path for path in paths if is_anchored(path, rows)), paths[0])
            paths.remove(path)
            rows = closure(self, path, rows, nodes)
            nodes |= {term.name for term in (path.subject, path.object) if isinstance(term, QueryVariable)}
        return rows

    def _graphs(self) -> SqlRows:
        """Return the named graphs, for ``GRAPH ?g {}``."""
        if self.graph.variable is None:
            raise UnsupportedQueryError("an empty pattern in GRAPH")
        triples = self.triple(TriplePattern(QueryVariable("_:gs"), QueryVariable("_:gp"), QueryVariable("_:go")))
        return triples.closed([self.graph.variable.name], distinct=True)

    # -- paths --------------------------------------------------------------------------------------------------------

    def step(self, path: PathClosure) -> tuple[SqlRows, SqlValue, SqlValue]:
        """Return the edges of a path with their two ends, of one representation."""
        rows = self.pattern(path.step)
        start, end = (rows.variables[variable.name] for variable in (path.start, path.end))
        kind = common_kind((start.kind, end.kind))
        one, other = (rows.plain(rows.converted(value, kind)) for value in (start, end))
        return rows, one, other

    # -- groups -------------------------------------------------------------------------------------------------------

    def filter(self, rows: SqlRows, condition: Expression) -> None:
        """Keep the rows for which an expression is true."""
        _check_bound(condition, rows, self._outside)
        if isinstance(condition, FunctionCall) and condition.name == "&&":
            for part in condition.arguments:
                self.filter(rows, part)
            return
        negated = isinstance(condition, FunctionCall) and condition.name == "!"
        inner = condition.arguments[0] if negated and isinstance(condition, FunctionCall) else condition
        if isinstance(inner, ExistsCall):
            exists = replace(inner, negated=inner.negated != negated)
            if self._filter_exists(rows, exists):
                return
        rows.where(ExpressionScope(rows, self.exists).condition(condition))

    def _left_join(self, pattern: OptionalPattern) -> SqlRows:
        left, right = self.pattern(pattern.left), self.pattern(pattern.right)
        conditions = conjuncts(pattern.condition)
        own = [c for c in conditions if variables(c) <= right.variables.keys() - left.variables.keys()]
        for condition in own:
            self.filter(right, condition)
        others = [c for c in conditions if c not in own]
        pairs = comparable(left, right)
        left, right = left.closed(), right.closed()
        if others:
            return self._conditional(left, right, others)
        return self._outer(left, right, [agrees(*_values(left, right, name)) for name in pairs])

    def _outer(self, left: SqlRows, right: SqlRows, on: Sequence[str]) -> SqlRows:
        rows = SqlRows(self.names, self.triples)
        rows.items = [f"{left.items[0]} LEFT JOIN {right.items[0]} ON {' AND '.join(on) or 'true'}"]
        optional = {name: replace(value, nullable=True) for name, value in right.variables.items()}
        rows.variables = {**optional, **left.variables}
        for name in left.variables.keys() & right.variables.keys():
            one, other = left.variables[name], optional[name]
            if one.nullable and one.kind == other.kind:
                rows.variables[name] = merged(rows, one, other, one)
        return rows

    def _conditional(self, left: SqlRows, right: SqlRows, conditions: Sequence[Expression]) -> SqlRows:
        """Join with conditions on both sides: the rows that match are found first, by the number of the left row."""
        number = self.names.new("n")
        table = self.names.new("w")
        numbered = f"SELECT *, row_number() OVER () AS {number} FROM {left.items[0]}"
        base = SqlRows(self.names, self.triples, [f"(FROM {table}) {self.names.new('q')}"], [], dict(left.variables))
        matched = join(base, right)
        for condition in conditions:
            self.filter(matched, condition)
        matched.variables["\0number"] = SqlValue(number, "integer", nullable=False)
        matches = matched.closed()
        key = matches.variables.pop("\0number").sql
        whole = SqlRows(self.names, self.triples)
        text = (
            f"(WITH {table} AS MATERIALIZED ({numbered}) SELECT * FROM {table} LEFT JOIN {matches.items[0]}"
            f" ON {number} = {key}) {self.names.new('q')}"
        )
        whole.items = [text]
        whole.variables = {name: replace(value, nullable=True) for name, value in matches.variables.items()}
        for name, value in left.variables.items():
            if name in right.variables and value.nullable and whole.variables[name].kind == value.kind:
                whole.variables[name] = merged(whole, value, whole.variables[name], value)
            else:
                whole.variables[name] = value
        return whole

    def _minus(self, left: SqlRows, right: SqlRows) -> SqlRows:
        pairs = comparable(left, right)
        if not pairs:
            return left
        left, right = left.closed(), right.closed(pairs)
        values = [_values(left, right, name) for name in pairs]
        conditions = [agrees(one, other) for one, other in values]
        if all(one.nullable or other.nullable for one, other in values):  # they must share a binding
            both = [f"({one.sql} IS NOT NULL AND {other.sql} IS NOT NULL)" for one, other in values]
            conditions.append(f"({' OR '.join(both)})")
        return self._reduced(left, right, "ANTI", conditions)

    def _reduced(self, left: SqlRows, right: SqlRows, kind: str, conditions: Sequence[str]) -> SqlRows:
        """Return the rows of a closed relation that have (SEMI) or lack (ANTI) a match in another one."""
        item = f"{left.items[0]} {kind} JOIN {right.items[0]} ON {' AND '.join(conditions) or 'true'}"
        return replace(left, items=[item])

    def _filter_exists(self, rows: SqlRows, exists: ExistsCall) -> bool:
        """Keep the rows for which EXISTS is true by a join, which DuckDB plans better than a correlated subquery.

        Returns False, without a change, if it uses variables of the rows that its pattern does not bind.
        """
        inner, conditions = self._inside(rows, exists.pattern)
        outside = rows.variables.keys() - inner.variables.keys()
        if any(all_variables(condition) & outside for condition in conditions):
            return False
        for condition in conditions:
            self.filter(inner, condition)
        pairs = comparable(rows, inner)
        rows.nest()
        right = inner.closed(pairs)
        on = [agrees(*_values(rows, right, name)) for name in pairs]
        rows.items = self._reduced(rows, right, "ANTI" if exists.negated else "SEMI", on).items
        return True

    def exists(self, outer: SqlRows, exists: ExistsCall) -> str:
        """Return the condition of EXISTS for the rows of a relation, whose variables its filters may use."""
        inner, conditions = self._inside(outer, exists.pattern)
        pairs = comparable(outer, inner)
        outer.materialize()  # planning a subquery that is correlated with computed columns takes exponential memory
        for one, other in [_values(outer, inner, name) for name in pairs]:
            inner.where(agrees(outer.plain(one), inner.plain(other)))
        inner.variables = {**outer.variables, **inner.variables}
        for condition in conditions:
            self.filter(inner, condition)
        return f"{'NOT ' if exists.negated else ''}EXISTS ({inner.select({})})"

    def _inside(self, outer: SqlRows, pattern: Pattern) -> tuple[SqlRows, list[Expression]]:
        """Return the solutions of the pattern of an EXISTS without the filters around it, and these.

        SPARQL puts the values of the rows outside into the pattern. A join does the same unless an expression, OPTIONAL
        or MINUS reads a variable of theirs that the pattern does not bind.
        """
        conditions = filters_around(pattern)
        while isinstance(pattern, FilterPattern):
            pattern = pattern.pattern
        before, self._outside = self._outside, self._outside | outer.variables.keys()
        try:
            inner = self.pattern(pattern)
        finally:
            self._outside = before
        if all_variables(pattern) & outer.variables.keys() - inner.variables.keys():
            raise UnsupportedQueryError("variables from outside EXISTS deep inside it")
        _check_optional(pattern, outer, inner)
        for condition in conditions:
            _check_bound(condition, inner, outer.variables.keys() & inner.variables.keys())
        return inner, conditions

    def _extend(self, extend: BindPattern) -> SqlRows:
        rows = self.pattern(extend.pattern)
        _check_bound(extend.value, rows, self._outside)
        if extend.variable.name in rows.variables:
            raise UnsupportedQueryError(f"BIND to ?{extend.variable.name}, which is bound already")
        rows.variables[extend.variable.name] = rows.plain(ExpressionScope(rows, self.exists).value(extend.value))
        return rows

    def _values(self, values: ValuesPattern) -> SqlRows:
        rows = self.rows()
        if not values.rows:
            return self._nothing(values.variables)
        if not values.variables:
            rows.items = [
                f"(SELECT unnest([{', '.join('0' for _ in values.rows)}]) AS {self.names.new()}) {self.names.new('q')}"
            ]
            return rows
        cells = [self.triples.narrowed([row[at] for row in values.rows]) for at in range(len(values.variables))]
        columns = [self.names.new() for _ in cells]
        listed = ", ".join(f"({', '.join(row)})" for row in zip(*(texts for _, texts in cells), strict=True))
        typed = ", ".join(f"{c}::{SQL_TYPES[kind]} AS {c}" for c, (kind, _) in zip(columns, cells, strict=True))
        source = f"(VALUES {listed}) {self.names.new('v')}({', '.join(columns)})"
        rows.items = [f"(SELECT {typed} FROM {source}) {self.names.new('q')}"]
        for at, variable in enumerate(values.variables):
            nullable = any(row[at] is None for row in values.rows)
            rows.variables[variable.name] = SqlValue(columns[at], cells[at][0], nullable)
        return rows

    def _graph(self, pattern: GraphPattern) -> SqlRows:
        outer = self.graph
        if isinstance(pattern.graph, ConstantTerm):
            self.graph = ActiveGraph(pattern.graph.text[1:])
        else:
            self.graph = ActiveGraph(variable=pattern.graph)
        try:
            return self.pattern(pattern.pattern)
        finally:
            self.graph = outer


def _check_bound(expression: Expression, rows: SqlRows, outside: Collection[str]) -> None:
    """Refuse an expression inside EXISTS with a variable from outside that not all rows bind."""
    for name in all_variables(expression) & set(outside):
        if name not in rows.variables or rows.variables[name].nullable:
            raise UnsupportedQueryError("variables from outside EXISTS deep inside it")


def _check_optional(pattern: Pattern, outer: SqlRows, inner: SqlRows) -> None:
    """Refuse EXISTS whose OPTIONAL may or may not bind a variable from outside, for which SPARQL puts its value."""
    shared = outer.variables.keys() & inner.variables.keys()
    is_optional = any(isinstance(part, OptionalPattern) for part in walk_algebra(pattern))
    if is_optional and any(inner.variables[name].nullable for name in shared):
        raise UnsupportedQueryError("OPTIONAL inside EXISTS, with a variable from outside")


def _values(left: SqlRows, right: SqlRows, name: str) -> tuple[SqlValue, SqlValue]:
    return left.variables[name], right.variables[name]
