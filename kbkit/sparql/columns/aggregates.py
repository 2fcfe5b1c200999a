"""The aggregates of SPARQL 1.1 in SQL. An error in one row makes the aggregate an error, but COUNT and SAMPLE."""

from __future__ import annotations

from kbkit.schema import literal as sql_string
from kbkit.sparql.columns.algebra import Aggregate
from kbkit.sparql.columns.counting import WEIGHT
from kbkit.sparql.columns.expressions import Scope
from kbkit.sparql.columns.parts import number_of, parts_of
from kbkit.sparql.columns.terms import (
    NUMBERS,
    SqlValue,
    UnsupportedQueryError,
    beyond,
    decimal_text,
    double_text,
    typed,
)


def aggregate(scope: Scope, call: Aggregate) -> SqlValue:
    """Return the SQL aggregate of the rows of a group."""
    distinct = "DISTINCT " if call.distinct else ""
    weight = scope.rows.variables.get(WEIGHT)
    if weight is not None:  # which only counts have
        return SqlValue(f"TRY_CAST(coalesce(sum({weight.sql}), 0) AS BIGINT)", "integer", nullable=False)
    if call.argument is None:
        if not call.distinct:
            return SqlValue("count(*)", "integer", nullable=False)
        columns = ", ".join(value.sql for value in scope.rows.variables.values())
        return SqlValue(f"count(DISTINCT ({columns}))", "integer", nullable=False)
    value = scope.rows.plain(scope.value(call.argument))
    if call.name == "COUNT":
        return SqlValue(f"count({distinct}{value.sql})", "integer", nullable=False)
    if call.name == "SAMPLE":
        return SqlValue(f"any_value({value.sql})", value.kind)
    value = scope.rows.plain(scope.rows.decoded(value))
    if call.name == "GROUP_CONCAT":
        return _concatenated(scope, call, value, distinct)
    if call.name in ("MIN", "MAX"):
        return _extreme(scope, call.name.lower(), value)
    return _total(scope, call.name, value, distinct)


def _total(scope: Scope, name: str, value: SqlValue, distinct: str) -> SqlValue:
    if value.kind not in (*NUMBERS, "term"):
        raise UnsupportedQueryError(f"{name} of values that are not numbers")
    if value.kind == "term":
        return _mixed_total(scope, name, value, distinct)
    x = value.sql
    failed = f"count(*) > count({x})"
    total = f"sum({distinct}{x})"
    if value.kind == "double":
        found = f"avg({distinct}{x})" if name == "AVG" else f"coalesce({total}, 0)"
        if name == "AVG":  # Oxigraph divides the sum
            found = f"({total} / count({distinct}{x}))"
        kind = "double"
    elif name == "SUM":
        sql_type = "BIGINT" if value.kind == "integer" else "DECIMAL(38,18)"
        found, kind = f"TRY_CAST(coalesce({total}, 0) AS {sql_type})", value.kind
    else:
        found, kind = _mean(total, f"count({distinct}{x})", whole=value.kind == "integer"), "decimal"
    empty = "count(*) = 0"
    if name == "AVG" and kind == "double":
        raise_empty = f"CASE WHEN {empty} THEN {beyond('an average of nothing', 'DOUBLE')} WHEN {failed} THEN NULL ELSE {found} END"
        return SqlValue(raise_empty, kind)
    if name == "AVG":
        return SqlValue(f"CASE WHEN {empty} THEN 0 WHEN {failed} THEN NULL ELSE {found} END", kind)
    if kind != "integer":
        return SqlValue(
            f"CASE WHEN {empty} THEN {beyond('a sum of nothing')}::{'DOUBLE' if kind == 'double' else 'DECIMAL(38,18)'} WHEN {failed} THEN NULL ELSE {found} END",
            kind,
        )
    return SqlValue(f"CASE WHEN {failed} THEN NULL ELSE {found} END", kind)


def _mean(total: str, count: str, *, whole: bool) -> str:
    scale = "1000000000000000000::HUGEINT"
    if whole:
        return f"(({total}::HUGEINT * {scale}) // nullif({count}, 0))::DECIMAL(38,0) * 0.000000000000000001::DECIMAL(18,18)"
    return (
        f"if({total} = trunc({total}), (({total}::HUGEINT * {scale}) // nullif({count}, 0))::DECIMAL(38,0)"
        f" * 0.000000000000000001::DECIMAL(18,18), {beyond('averages of decimals', 'DECIMAL(38,18)')})"
    )


def _mixed_total(scope: Scope, name: str, value: SqlValue, distinct: str) -> SqlValue:
    """Return the sum or mean of numbers of several kinds, as internal text."""
    number = number_of(scope.rows, value)
    if distinct:
        raise UnsupportedQueryError(f"{name}(DISTINCT) of values of unknown kind")
    code = f"max({number.code})"
    exact, double, count = f"sum({number.exact})", f"sum({number.double})", "count(*)"
    whole = f"TRY_CAST({exact} AS BIGINT)::VARCHAR"
    cases = [
        f"WHEN count(*) > count({number.code}) THEN if(bool_or({number.is_time}), {beyond('sums of times', 'VARCHAR')}, NULL)"
    ]
    zero = typed("'0'", "integer")
    if name == "SUM":
        cases += [f"WHEN {count} = 0 THEN {zero}", f"WHEN {code} = 1 THEN {typed(whole, 'integer')}"]
        cases.append(f"WHEN {code} = 2 THEN {typed(decimal_text(f'({exact})'), 'decimal')}")
        final = f"({double})"
    else:
        mean = f"({_mean(exact, count, whole=False)})"
        cases += [f"WHEN {count} = 0 THEN {zero}", f"WHEN {code} <= 2 THEN {typed(decimal_text(mean), 'decimal')}"]
        final = f"({double} / {count})"
    cases.append(f"WHEN {code} = 3 OR bool_or({number.code} = 3) THEN {beyond('sums of floats', 'VARCHAR')}")
    cases.append(f"WHEN {code} = 4 THEN {typed(double_text(final), 'double')}")
    return SqlValue(f"CASE {' '.join(cases)} END", "term")


def _extreme(scope: Scope, name: str, value: SqlValue) -> SqlValue:
    if value.kind != "term":
        return SqlValue(f"{name}({value.sql})", value.kind)
    parts = parts_of(scope.rows, value)
    t = value.sql
    numbers = f"arg_{name}({t}, {parts.double}) FILTER (WHERE {parts.double} IS NOT NULL)"
    times = f"arg_{name}({t}, {parts.epoch})"
    texts = f"arg_{name}({t}, {parts.text})"
    same = f"min({parts.tag}) = max({parts.tag}) AND count({parts.tag}) = count({t})"
    return SqlValue(
        f"CASE WHEN count({t}) = 0 THEN NULL WHEN count({parts.double}) = count({t}) AND NOT bool_or(isnan({parts.double}))"
        f" THEN {numbers} WHEN {same} AND count({parts.epoch}) = count({t}) AND min({parts.zoned}::INTEGER) ="
        f" max({parts.zoned}::INTEGER) THEN {times} WHEN {same} AND (min({parts.tag}) = '' OR min({parts.tag}) LIKE '@%')"
        f" THEN {texts} WHEN count({parts.tag}) = 0 AND min({t}[1]) = '<' THEN {name}({t})"
        f" ELSE {beyond('extremes of several kinds', 'VARCHAR')} END",
        "term",
    )


def _concatenated(scope: Scope, call: Aggregate, value: SqlValue, distinct: str) -> SqlValue:
    text = (
        value.sql
        if value.kind == "string"
        else parts_of(scope.rows, value).string
        if value.kind == "term"
        else "NULL::VARCHAR"
    )
    joined = f"coalesce(string_agg({distinct}{text}, {sql_string(call.separator)}), '')"
    failed = f"count(*) > count({text})"
    plain = f"CASE WHEN {failed} THEN NULL ELSE {joined} END"
    if value.kind == "string":
        return SqlValue(plain, "string")
    tag = parts_of(scope.rows, value).tag if value.kind == "term" else "NULL::VARCHAR"
    whole = f"'\"' || if(min({tag}) = max({tag}), min({tag}), '') || '\"' || ({joined})"
    return SqlValue(f"CASE WHEN {failed} THEN NULL ELSE {whole} END", "term")
