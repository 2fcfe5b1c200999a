"""The aggregates of SPARQL 1.1 in SQL. An error in one row makes the aggregate an error, but COUNT and SAMPLE."""

from __future__ import annotations

from kbkit.schema import literal as sql_string
from kbkit.sparql.columns.algebra import AggregateCall, QueryVariable
from kbkit.sparql.columns.counting import WEIGHT
from kbkit.sparql.columns.expressions import ExpressionScope
from kbkit.sparql.columns.parts import number_of, parts_of, quotient
from kbkit.sparql.columns.terms import (
    NUMBERS,
    SQL_TYPES,
    SqlValue,
    UnsupportedQueryError,
    beyond,
    decimal_text,
    double_text,
    typed,
)


def aggregate(scope: ExpressionScope, call: AggregateCall) -> SqlValue:
    """Return the SQL aggregate of the rows of a group."""
    weight = scope.rows.variables.get(WEIGHT)
    if weight is not None:  # which only counts have
        return SqlValue(f"TRY_CAST(coalesce(sum({weight.sql}), 0) AS BIGINT)", "integer", nullable=False)
    if call.argument is None:
        return _count_of_rows(scope, call)
    value = scope.rows.plain(scope.value(call.argument))
    if call.name == "COUNT":
        counted = f"count({_distinct(call)}{value.sql})"
        if isinstance(call.argument, QueryVariable):
            return SqlValue(counted, "integer", nullable=False)
        return SqlValue(f"if(count(*) = count({value.sql}), {counted}, NULL)", "integer")
    if call.name == "SAMPLE":
        return SqlValue(f"any_value({value.sql})", value.kind)
    value = scope.rows.plain(scope.rows.decoded(value))
    aggregates = {"GROUP_CONCAT": _concatenated, "MIN": _extreme, "MAX": _extreme, "SUM": _total, "AVG": _total}
    return aggregates[call.name](scope, call, value)


def _distinct(call: AggregateCall) -> str:
    return "DISTINCT " if call.distinct else ""


def _count_of_rows(scope: ExpressionScope, call: AggregateCall) -> SqlValue:
    columns = ", ".join(value.sql for value in scope.rows.variables.values())
    counted = f"DISTINCT ({columns})" if call.distinct else "*"
    return SqlValue(f"count({counted})", "integer", nullable=False)


def _total(scope: ExpressionScope, call: AggregateCall, value: SqlValue) -> SqlValue:
    """Return the sum or the mean."""
    if value.kind == "term":
        return _mixed_total(scope, call, value)
    if value.kind in ("date", "dateTime"):
        raise UnsupportedQueryError(f"{call.name} of times")
    if value.kind not in NUMBERS:  # an error, but for no values at all
        return SqlValue("if(count(*) = 0, 0::BIGINT, NULL)", "integer")
    x, kind = value.sql, value.kind
    total, count = f"sum({_distinct(call)}{x})", f"count({_distinct(call)}{x})"
    if call.name == "SUM":
        found = total if kind == "double" else f"TRY_CAST({total} AS {SQL_TYPES[kind]})"
    elif kind == "double":
        found = f"({total} / {count})"  # DuckDB's avg rounds in another way
    else:
        found, kind = quotient(f"({total})::DECIMAL(38,18)", count), "decimal"
    zero = "0" if (call.name, kind) == ("SUM", "integer") else beyond("a sum of nothing", SQL_TYPES[kind])
    return SqlValue(f"CASE WHEN count(*) = 0 THEN {zero} WHEN count(*) = count({x}) THEN {found} END", kind)


def _mixed_total(scope: ExpressionScope, call: AggregateCall, value: SqlValue) -> SqlValue:
    """Return the sum or mean of numbers of several kinds, as internal text."""
    number, distinct = number_of(scope.rows, value), _distinct(call)
    code, exact, double = f"max({number.code})", f"sum({distinct}{number.exact})", f"sum({distinct}{number.double})"
    if call.name == "SUM":
        whole, fixed = f"TRY_CAST({exact} AS BIGINT)::VARCHAR", f"({exact})"
    else:
        count = f"count({distinct}{number.double})"
        whole, fixed, double = "", f"({quotient(exact, count)})", f"({double} / {count})"
    failed = f"if(bool_or({number.is_time}), {beyond('sums of times', 'VARCHAR')}, NULL)"
    mixed = f"WHEN min({number.code}) < {code} THEN {beyond('distinct numbers of several kinds', 'VARCHAR')}"
    cases = [
        f"WHEN count(*) > count({number.code}) THEN {failed}",
        "WHEN count(*) = 0 THEN " + typed("'0'", "integer"),
        *([mixed] if call.distinct else []),
        *([f"WHEN {code} = 1 THEN {typed(whole, 'integer')}"] if whole else []),
        f"WHEN {code} <= 2 THEN {typed(decimal_text(fixed), 'decimal')}",
        f"WHEN bool_or({number.code} = 3) THEN {beyond('sums of floats', 'VARCHAR')}",
        f"ELSE {typed(double_text(double), 'double')}",
    ]
    return SqlValue(f"CASE {' '.join(cases)} END", "term")


def _extreme(scope: ExpressionScope, call: AggregateCall, value: SqlValue) -> SqlValue:
    """Return the least or greatest value, by the order of numbers, times, texts or IRIs."""
    name = call.name.lower()
    if value.kind != "term":
        return SqlValue(f"{name}({value.sql})", value.kind)
    parts, t = parts_of(scope.rows, value), value.sql
    alike = f"min({parts.tag}) = max({parts.tag}) AND count({parts.tag}) = count({t})"
    zones = f"min({parts.zoned}::INTEGER) = max({parts.zoned}::INTEGER)"
    cases = [
        f"WHEN count({t}) = 0 THEN NULL",
        f"WHEN count({parts.double}) = count({t}) AND NOT bool_or(isnan({parts.double}))",
        f"THEN arg_{name}({t}, {parts.double})",
        f"WHEN {alike} AND count({parts.epoch}) = count({t}) AND {zones} THEN arg_{name}({t}, {parts.epoch})",
        f"WHEN {alike} AND (min({parts.tag}) = '' OR starts_with(min({parts.tag}), '@'))",
        f"THEN arg_{name}({t}, {parts.text})",
        f"WHEN min({t}[1]) = '<' AND max({t}[1]) = '<' THEN {name}({t})",
        f"ELSE {beyond('extremes of several kinds', 'VARCHAR')}",
    ]
    return SqlValue(f"CASE {' '.join(cases)} END", "term")


def _concatenated(scope: ExpressionScope, call: AggregateCall, value: SqlValue) -> SqlValue:
    """Return the texts joined; they keep their language if all have the same."""
    is_term = value.kind == "term"
    text = value.sql if value.kind == "string" else parts_of(scope.rows, value).string if is_term else "NULL::VARCHAR"
    joined = f"coalesce(string_agg({_distinct(call)}{text}, {sql_string(call.separator)}), '')"
    complete = f"count(*) = count({text})"
    if not is_term:
        return SqlValue(f"CASE WHEN {complete} THEN {joined} END", "string")
    tag = parts_of(scope.rows, value).tag
    whole = f"'\"' || if(min({tag}) = max({tag}), min({tag}), '') || '\"' || ({joined})"
    return SqlValue(f"CASE WHEN {complete} THEN {whole} END", "term")
