"""SELECT as SQL: groups and aggregates, computed columns, DISTINCT, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kbkit.sparql.columns.aggregates import POSITION, GroupColumns, aggregate
from kbkit.sparql.columns.algebra import (
    Expression,
    QueryVariable,
    SelectPattern,
    aggregate_calls,
    variables,
)
from kbkit.sparql.columns.compiling import PatternCompiling
from kbkit.sparql.columns.counting import reduced
from kbkit.sparql.columns.expressions import ExpressionScope
from kbkit.sparql.columns.labels import best_label
from kbkit.sparql.columns.parts import parts_of
from kbkit.sparql.columns.rows import SqlRows, used_names
from kbkit.sparql.columns.terms import NUMBERS, XSD, SqlValue, UnsupportedQueryError, beyond, iri, term_rank
from kbkit.stores.sparql_process import ResultColumn


@dataclass
class OrderedRows:
    """A relation with the keys that order it: (expression over its columns, descending)."""

    rows: SqlRows
    columns: list[str]
    keys: list[tuple[str, bool]] = field(default_factory=list)

    def clauses(self, limit: int | None = None, offset: int = 0) -> str:
        """Return ORDER BY, LIMIT and OFFSET."""
        listed = ", ".join(f"{key} {'DESC NULLS LAST' if down else 'ASC NULLS FIRST'}" for key, down in self.keys)
        text = f" ORDER BY {listed}" if self.keys else ""
        text += f" LIMIT {limit}" if limit is not None else ""
        return text + (f" OFFSET {offset}" if offset else "")


def compile_select(compiler: PatternCompiling, select: SelectPattern) -> SqlRows:
    """Return the solutions of a subquery."""
    ordered = ordered_select(compiler, select)
    rows, columns = ordered.rows, list(ordered.columns)
    if ordered.keys:  # for GROUP_CONCAT, which people expect to keep the order
        name = POSITION + compiler.names.new()
        rows.variables[name] = SqlValue(rows.compute(f"row_number() OVER ({ordered.clauses()})"), "integer")
        columns.append(name)
    if select.limit is None and not select.offset:
        return rows.closed(columns)
    return rows.closed(columns, clauses=ordered.clauses(select.limit, select.offset))


def ordered_select(compiler: PatternCompiling, select: SelectPattern) -> OrderedRows:
    """Return the rows of a SELECT before LIMIT, with its columns and keys."""
    rows = reduced(compiler, select) or compiler.pattern(select.pattern)
    scope = ExpressionScope(rows, compiler.exists)
    if select.group is not None:
        scope = _grouped(compiler, select, rows)
        rows = scope.rows
        for condition in select.having:
            rows.where(scope.condition(condition))
    columns = []
    for variable, expression in select.columns:
        if expression is not None:
            if variable.name in rows.variables:
                raise UnsupportedQueryError(f"?{variable.name} twice")
            rows.variables[variable.name] = rows.plain(scope.value(expression))
        if variable.name in rows.variables:
            columns.append(variable.name)
    if select.distinct:
        rows = rows.closed(columns, distinct=True)
        scope = ExpressionScope(rows, compiler.exists)
        outside = {name for key, _ in select.order for name in variables(key)} - set(columns)
        if outside:
            raise UnsupportedQueryError("ORDER BY a variable that DISTINCT drops")
    keys = [key for expression, down in select.order for key in _keys(scope, expression, down)]
    return OrderedRows(rows, columns, keys)


def _keys(scope: ExpressionScope, expression: Expression, descending: bool) -> Iterator[tuple[str, bool]]:
    """Yield the SQL keys of one key: unbound, blank nodes, IRIs, then literals by value."""
    value = scope.plain(expression)
    if not list(used_names(value.sql)):  # a constant, which would mean the number of a column
        return
    if value.kind in (*NUMBERS, "boolean", "date", "dateTime", "string", "iri"):
        yield scope.rows.plain(value).sql, descending
        return
    parts = parts_of(scope.rows, value)
    yield scope.rows.compute(term_rank(value)), descending
    unread = f"{parts.tag} IN ('^{XSD}integer', '^{XSD}decimal') AND {parts.code} IS NULL"
    large = f"{unread} AND regexp_full_match({parts.text}, '-?[0-9]+([.][0-9]+)?')"
    double = f"if({large}, {beyond('ORDER BY numbers of so many digits', 'DOUBLE')}, {parts.double})"
    yield scope.rows.compute(double), descending
    yield parts.epoch, descending
    yield scope.rows.compute(f"coalesce({parts.text}, {value.sql})"), descending


# -- groups -----------------------------------------------------------------------------------------------------------


def _grouped(compiler: PatternCompiling, select: SelectPattern, rows: SqlRows) -> ExpressionScope:
    """Return the groups as rows, with the values of all aggregates."""
    scope = ExpressionScope(rows, compiler.exists)
    keys: dict[str, SqlValue] = {}
    assert select.group is not None
    for variable, expression in select.group:
        value = rows.plain(scope.value(expression))
        name = variable.name if variable is not None else f"\0{len(keys)}"
        keys[name] = value
        if variable is not None and not isinstance(expression, QueryVariable):
            rows.variables[name] = value
    needed = dict.fromkeys(aggregate_calls(*select.expressions))
    aggregated = GroupColumns(compiler.names)
    values = {call: aggregate(scope, call, aggregated) for call in needed}
    names = {name: compiler.names.new() for name in keys}
    columns = {names[name]: value.sql for name, value in keys.items()}
    columns |= aggregated.columns or {compiler.names.new(): "count(*)"}
    by = f" GROUP BY {', '.join(value.sql for value in keys.values())}" if keys else ""
    text = rows.select(columns, by)
    groups = SqlRows(compiler.names, compiler.triples, [f"({text}) {compiler.names.new('q')}"])
    for name, value in keys.items():
        if not name.startswith("\0"):
            groups.variables[name] = SqlValue(names[name], value.kind, value.nullable)
    grouped = set(groups.variables)
    for expression in [*select.expressions, *(variable for variable, e in select.columns if e is None)]:
        new = {variable.name for variable, e in select.columns if e is not None}
        if not variables(expression) <= grouped | new:
            raise UnsupportedQueryError("a variable that is neither grouped nor aggregated")
    return ExpressionScope(groups, compiler.exists, {call: groups.plain(value) for call, value in values.items()})


# -- the whole query --------------------------------------------------------------------------------------------------


def final_text(
    compiler: PatternCompiling, select: SelectPattern, shown: Sequence[ResultColumn] = ()
) -> tuple[str, list[tuple[str, SqlValue]]]:
    """Return the statement of a query, with columns c0, c1, ..., and for each its variable and its value.

    ``shown`` are the columns if there are labels among them. Ids become terms, and get labels, after LIMIT, so that
    only the rows of the result are looked up.
    """
    ordered = ordered_select(compiler, select)
    late = select.limit is not None or bool(select.offset)
    rows, keys = ordered.rows, ordered.keys
    if late:
        chosen = dict.fromkeys(ordered.columns)
        for number, (key, _) in enumerate(keys):
            rows.variables[f"\0{number}"] = SqlValue(key, "key")
        rows = rows.closed(
            [*chosen, *(f"\0{n}" for n in range(len(keys)))], clauses=ordered.clauses(select.limit, select.offset)
        )
        keys = [(rows.variables[f"\0{number}"].sql, down) for number, (_, down) in enumerate(keys)]
    ordered = OrderedRows(rows, ordered.columns, keys)
    columns_shown = shown or [ResultColumn(variable.name, variable.name) for variable, _ in select.columns]
    unbound = SqlValue("NULL::VARCHAR", "term")
    for column in columns_shown:  # before the labels, so that DuckDB knows how few ids there are
        rows.decoded(rows.variables.get(column.variable, unbound))
    results = []
    for column in columns_shown:
        value = rows.variables.get(column.variable, unbound)
        if column.property:
            value = rows.plain(best_label(rows, value, iri(column.property), column.languages))
        results.append((column.name, rows.decoded(value)))
    columns = {f"c{number}": value.sql for number, (_, value) in enumerate(results)} or {"c0": "1"}
    return rows.select(columns, ordered.clauses()), results
