"""The aggregates of SPARQL 1.1 in SQL. An error in one row makes the aggregate an error, but COUNT and SAMPLE."""

from __future__ import annotations

from dataclasses import replace

from kbkit.schema import literal as sql_string
from kbkit.sparql.columns.algebra import AggregateCall, Expression, FunctionCall, QueryVariable, walk_algebra
from kbkit.sparql.columns.counting import WEIGHT
from kbkit.sparql.columns.expressions import ExpressionScope
from kbkit.sparql.columns.parts import number_of, parts_of, quotient
from kbkit.sparql.columns.rows import ColumnNames
from kbkit.sparql.columns.terms import (
    NUMBERS,
    SQL_TYPES,
    SqlValue,
    UnsupportedQueryError,
    beyond,
    decimal_text,
    double_text,
    literal,
    typed,
)
from kbkit.sparql.standard import NONE

POSITION = "\0position"
"""How the hidden variables start that number the rows of ordered subqueries."""


class GroupColumns:
    """The SQL aggregates of a query by name: what is computed from them refers to the names, each computed once."""

    def __init__(self, names: ColumnNames) -> None:
        self._names = names
        self.columns: dict[str, str] = {}

    def __call__(self, sql: str) -> str:
        """Return the name of an SQL aggregate."""
        known = {text: name for name, text in self.columns.items()}
        name = known.get(sql) or self._names.new("a")
        self.columns[name] = sql
        return name


def aggregate(scope: ExpressionScope, call: AggregateCall, column: GroupColumns) -> SqlValue:
    """Return the aggregate of the rows of a group, in terms of the columns of groups."""
    weight = scope.rows.variables.get(WEIGHT)
    if weight is not None:  # which only counts have
        return SqlValue(f"TRY_CAST(coalesce({column(f'sum({weight.sql})')}, 0) AS BIGINT)", "integer", nullable=False)
    if call.argument is None:
        listed = ", ".join(v.sql for name, v in scope.rows.variables.items() if not name.startswith(POSITION))
        counted = (
            f"count(DISTINCT row({listed}))" if call.distinct else "count(*)"
        )  # a row is not NULL, its cells may be
        return SqlValue(column(counted), "integer", nullable=False)
    present = _present(call)
    value = scope.rows.plain(scope.value(call.argument if present is None else present))
    if call.name == "COUNT":
        counted = column(f"count({_distinct(call)}{value.sql})")
        if isinstance(call.argument, QueryVariable):
            return SqlValue(counted, "integer", nullable=False)
        chooses = any(isinstance(part, FunctionCall) and part.name == "IF" for part in walk_algebra(call.argument))
        failed = beyond("COUNT of IF with errors", "BIGINT") if chooses else "NULL"  # which Oxigraph counts as nothing
        return SqlValue(f"if({column('count(*)')} = {column(f'count({value.sql})')}, {counted}, {failed})", "integer")
    if call.name == "SAMPLE":
        return SqlValue(column(f"any_value({value.sql})"), value.kind)
    value = scope.rows.plain(scope.rows.decoded(value))
    if present is not None:
        value = replace(value, nullable=False)
    aggregates = {"GROUP_CONCAT": _concatenated, "MIN": _extreme, "MAX": _extreme, "SUM": _total, "AVG": _total}
    return aggregates[call.name](scope, call, value, column)


def _present(call: AggregateCall) -> Expression | None:
    """Return what MIN and MAX are taken of if their argument stands for missing values, which they skip."""
    whole = call.argument
    if call.name not in ("MIN", "MAX") or not isinstance(whole, FunctionCall) or whole.name != "COALESCE":
        return None
    lowest, highest = FunctionCall("BNODE", ()), literal("\U0010ffff", datatype=NONE)
    first, *others = whole.arguments
    return first if others == [lowest if call.name == "MAX" else highest] else None


def _distinct(call: AggregateCall) -> str:
    return "DISTINCT " if call.distinct else ""


def _total(scope: ExpressionScope, call: AggregateCall, value: SqlValue, column: GroupColumns) -> SqlValue:
    """Return the sum or the mean."""
    if value.kind == "term":
        return _mixed_total(scope, call, value, column)
    if value.kind in ("date", "dateTime"):
        raise UnsupportedQueryError(f"{call.name} of times")
    rows = column("count(*)")
    if value.kind not in NUMBERS:  # an error, but for no values at all
        return SqlValue(f"if({rows} = 0, 0::BIGINT, NULL)", "integer")
    x, kind = value.sql, value.kind
    total = column(f"sum({_distinct(call)}{x})")
    if call.name == "SUM":
        computed = total if kind == "double" else f"TRY_CAST({total} AS {SQL_TYPES[kind]})"
    elif kind == "double":
        computed = f"({total} / {column(f'count({_distinct(call)}{x})')})"  # DuckDB's avg rounds in another way
    else:
        exact = column(f"sum({_distinct(call)}{x})::DECIMAL(38,18)")
        computed, kind = quotient(exact, column(f"count({_distinct(call)}{x})")), "decimal"
    zero = "0" if (call.name, kind) == ("SUM", "integer") else beyond("a sum of nothing", SQL_TYPES[kind])
    complete = f"{rows} = {column(f'count({x})')}"
    return SqlValue(f"CASE WHEN {rows} = 0 THEN {zero} WHEN {complete} THEN {computed} END", kind)


def _mixed_total(scope: ExpressionScope, call: AggregateCall, value: SqlValue, column: GroupColumns) -> SqlValue:
    """Return the sum or mean of numbers of several kinds, as internal text."""
    number, distinct = number_of(scope.rows, value), _distinct(call)
    rows, code = column("count(*)"), column(f"max({number.code})")
    exact, double = column(f"sum({distinct}{number.exact})"), column(f"sum({distinct}{number.double})")
    whole, fixed = f"TRY_CAST({exact} AS BIGINT)::VARCHAR", exact
    if call.name == "AVG":
        count = column(f"count({distinct}{number.double})")
        whole, fixed, double = "", f"({quotient(exact, count)})", f"({double} / {count})"
    failed = f"if({column(f'bool_or({number.is_time})')}, {beyond('sums of times', 'VARCHAR')}, NULL)"
    mixed = f"WHEN {column(f'min({number.code})')} < {code} THEN"
    cases = [
        f"WHEN {rows} > {column(f'count({number.code})')} THEN {failed}",
        f"WHEN {rows} = 0 THEN " + typed("'0'", "integer"),
        *([f"{mixed} {beyond('distinct numbers of several kinds', 'VARCHAR')}"] if call.distinct else []),
        *([f"WHEN {code} = 1 THEN {typed(whole, 'integer')}"] if whole else []),
        f"WHEN {code} <= 2 THEN {typed(decimal_text(fixed), 'decimal')}",
        f"WHEN {column(f'bool_or({number.code} = 3)')} THEN {beyond('sums of floats', 'VARCHAR')}",
        f"ELSE {typed(double_text(double), 'double')}",
    ]
    return SqlValue(f"CASE {' '.join(cases)} END", "term")


def _extreme(scope: ExpressionScope, call: AggregateCall, value: SqlValue, column: GroupColumns) -> SqlValue:
    """Return the least or greatest value, by the order of numbers, times, texts or IRIs."""
    name = call.name.lower()
    complete = f"{column('count(*)')} = {column(f'count({value.sql})')}" if value.nullable else ""
    if value.kind != "term":
        extreme = column(f"{name}({value.sql})")
        return SqlValue(f"CASE WHEN {complete} THEN {extreme} END" if complete else extreme, value.kind)
    parts, t = parts_of(scope.rows, value), value.sql
    least, count = column(f"min({parts.tag})"), column(f"count({t})")
    alike = f"{least} = {column(f'max({parts.tag})')} AND {column(f'count({parts.tag})')} = {count}"
    zones = f"{column(f'min({parts.zoned}::INTEGER)')} = {column(f'max({parts.zoned}::INTEGER)')}"
    iris = f"{column(f'min({t}[1])')} = '<' AND {column(f'max({t}[1])')} = '<'"
    numbers = f"{column(f'count({parts.double})')} = {count} AND NOT {column(f'bool_or(isnan({parts.double}))')}"
    cases = [
        f"WHEN {count} = 0 THEN NULL",
        *([f"WHEN NOT ({complete}) THEN NULL"] if complete else []),
        f"WHEN {numbers} THEN {column(f'arg_{name}({t}, {parts.double})')}",
        f"WHEN {alike} AND {column(f'count({parts.epoch})')} = {count} AND {zones}",
        f"THEN {column(f'arg_{name}({t}, {parts.epoch})')}",
        f"WHEN {alike} AND ({least} = '' OR starts_with({least}, '@')) THEN {column(f'arg_{name}({t}, {parts.text})')}",
        f"WHEN {iris} THEN {column(f'{name}({t})')}",
        f"ELSE {beyond('extremes of several kinds', 'VARCHAR')}",
    ]
    return SqlValue(f"CASE {' '.join(cases)} END", "term")


def _concatenated(scope: ExpressionScope, call: AggregateCall, value: SqlValue, column: GroupColumns) -> SqlValue:
    """Return the texts joined; they keep their language if all have the same."""
    is_term = value.kind == "term"
    text = value.sql if value.kind == "string" else parts_of(scope.rows, value).string if is_term else "NULL::VARCHAR"
    positions = [v.sql for name, v in scope.rows.variables.items() if name.startswith(POSITION)]
    order = f" ORDER BY {', '.join(positions)}" if positions and not call.distinct else ""
    joined = column(f"coalesce(string_agg({_distinct(call)}{text}, {sql_string(call.separator)}{order}), '')")
    complete = f"{column('count(*)')} = {column(f'count({text})')}"
    if not is_term:
        return SqlValue(f"CASE WHEN {complete} THEN {joined} END", "string")
    tag = parts_of(scope.rows, value).tag
    least, most = column(f"min({tag})"), column(f"max({tag})")
    whole = f"'\"' || if({least} = {most}, {least}, '') || '\"' || {joined}"
    return SqlValue(f"CASE WHEN {complete} THEN {whole} END", "term")
