"""The functions of numbers and times and the casts of SPARQL 1.1 in SQL, with Oxigraph's choices."""

from __future__ import annotations

from kbkit.sparql.columns.algebra import Expression
from kbkit.sparql.columns.evaluating import UNBOUND, Evaluating, Function, boolean_value, simple_text, string_value
from kbkit.sparql.columns.parts import NumberParts, PartsOfTerm, number_of, parts_of
from kbkit.sparql.columns.terms import (
    NUMBERS,
    SQL_TYPES,
    XSD,
    ConstantTerm,
    SqlValue,
    UnsupportedQueryError,
    beyond,
    cast_constant,
    is_time,
    lexical,
    part_of_moment,
    typed,
    zone_of,
)

# -- numbers and times ------------------------------------------------------------------------------------------------


def _rounding(name: str) -> Function:
    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        value = scope.plain(arguments[0])
        if value.kind == "term":
            number = number_of(scope.rows, value)
            exact = scope.rows.compute(_rounded(name, "decimal", number.exact))
            double = scope.rows.compute(_rounded(name, "double", number.double))
            return NumberParts.of(scope.rows, number.code, exact, double)
        if value.kind not in NUMBERS:
            return UNBOUND
        return SqlValue(_rounded(name, value.kind, value.sql), value.kind)

    return function


def _rounded(name: str, kind: str, x: str) -> str:
    if name == "ABS":
        return f"TRY(abs({x}))"
    if kind == "integer":
        return x
    whole = {"CEIL": f"ceil({x})", "FLOOR": f"floor({x})", "ROUND": f"floor({x} + 0.5)"}[name]
    if kind == "double" and name == "ROUND":
        whole = f"CASE WHEN abs({x}) >= 1e15 OR {x} = 0 THEN {x} WHEN {x} < 0 AND {x} >= -0.5 THEN '-0'::DOUBLE"
        whole += f" ELSE floor({x} + 0.5) END"
    return f"({whole})::DECIMAL(38,18)" if kind == "decimal" else whole


def _other_time(parts: PartsOfTerm, kind: str) -> str:
    """Leave the parts of times that are neither dates nor dateTimes to Oxigraph; NULL for other values."""
    others = f"{is_time(parts.tag)} AND {parts.tag} NOT IN ('^{XSD}date', '^{XSD}dateTime')"
    return f"if({others}, {beyond('parts of times', kind)}, NULL)"


def _moment_part(name: str) -> Function:
    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        value = scope.plain(arguments[0])
        if value.kind in ("date", "dateTime"):
            unit = {"HOURS": "hour", "MINUTES": "minute"}.get(name, name.lower())
            known = value.kind == "dateTime" or unit in ("year", "month", "day")
            return SqlValue(f"{unit}({value.sql})" if known else "NULL::BIGINT", "integer")
        if value.kind != "term":
            return SqlValue("NULL::BIGINT", "integer")
        parts = parts_of(scope.rows, value)
        other = _other_time(parts, "BIGINT")
        return SqlValue(f"if({parts.epoch} IS NOT NULL, {part_of_moment(name, parts.text)}, {other})", "integer")

    return function


def _seconds(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    if value.kind == "dateTime":
        return SqlValue(f"(microsecond({value.sql})::DECIMAL(38,6) / 1000000)::DECIMAL(38,18)", "decimal")
    if value.kind != "term":
        return SqlValue("NULL::DECIMAL(38,18)", "decimal")
    parts = parts_of(scope.rows, value)
    seconds = f"regexp_extract({parts.text}, ':([0-9]{{2}}([.][0-9]+)?)(Z|[-+][0-9:]+)?$', 1)"
    other = _other_time(parts, "VARCHAR")
    return SqlValue(f"TRY_CAST(if({parts.epoch} IS NOT NULL, {seconds}, {other}) AS DECIMAL(38,18))", "decimal")


def _tz(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    if value.kind in ("date", "dateTime"):
        return string_value(f"if({value.sql} IS NULL, NULL, '')")
    if value.kind != "term":
        return string_value("NULL::VARCHAR")
    parts = parts_of(scope.rows, value)
    other = _other_time(parts, "VARCHAR")
    zone = zone_of(parts.text)
    return string_value(f"if({parts.epoch} IS NOT NULL, {zone}, {other})")


def _timezone(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    if value.kind != "term":
        return UNBOUND
    parts = parts_of(scope.rows, value)
    zone = scope.rows.compute(zone_of(parts.text))
    hours, minutes = (f"substr({zone}, {at}, 2)::INTEGER" for at in (2, 5))
    written = (
        f"if(starts_with({zone}, '-'), '-', '') || 'PT' || if({hours} > 0, {hours} || 'H', '')"
        f" || if({minutes} > 0, {minutes} || 'M', '')"
    )
    duration = f"CASE {zone} WHEN 'Z' THEN 'PT0S' WHEN '' THEN NULL ELSE {written} END"
    offset = f"if({parts.epoch} IS NOT NULL, {duration}, {_other_time(parts, 'VARCHAR')})"
    return SqlValue(typed(offset, "dayTimeDuration"), "term")


def _float(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    """Cast to xsd:float, which has no representation of its own."""
    value = scope.plain(arguments[0])
    double = scope.rows.plain(_cast("double")(scope, arguments)).sql
    number, text = number_of(scope.rows, value), simple_text(scope.rows, value)
    single = f"TRY_CAST(replace(ltrim({text}, '+'), 'INF', 'Infinity') AS FLOAT)"
    x = scope.rows.compute(
        f"if({number.code} IS NULL AND {double} IS NOT NULL AND {text} IS NOT NULL, {single},"
        f" TRY_CAST({double} AS FLOAT))::DOUBLE"
    )
    return NumberParts.of(scope.rows, f"if({x} IS NULL, NULL, 3)", "NULL::DECIMAL(38,18)", x)


# -- casts ------------------------------------------------------------------------------------------------------------

_FORMS = {
    "integer": "[-+]?[0-9]+",
    "decimal": r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)",
    "double": r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?|NaN|[-+]?INF",
    "boolean": "true|false|1|0",
}


def _cast(kind: str) -> Function:
    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        if len(arguments) != 1:
            raise UnsupportedQueryError("a cast of several values")
        value = scope.plain(arguments[0])
        rows = scope.rows
        if kind == "string":
            return string_value(lexical(value))
        if value.kind == kind:
            return value
        if value.kind in ("iri", "date", "dateTime"):
            return UNBOUND
        number = number_of(rows, value)
        text = simple_text(rows, value)
        if value.kind == "term":
            boolean = parts_of(rows, value).boolean
        else:
            boolean = value.sql if value.kind == "boolean" else "NULL::BOOLEAN"
        is_number = f"{number.code} IS NOT NULL"
        matching = f"regexp_full_match({text}, '{_FORMS[kind]}')"
        if kind == "boolean":
            return boolean_value(
                f"CASE WHEN {is_number} THEN {number.double} <> 0 AND NOT isnan({number.double}) WHEN {matching}"
                f" THEN {text} IN ('true', '1') ELSE {boolean} END"
            )
        sql = SQL_TYPES[kind]
        read = f"TRY_CAST(replace(ltrim({text}, '+'), 'INF', 'Infinity') AS {sql})"
        if kind == "decimal":
            read = f"if(length({text}) > 18, {beyond('long decimals', sql)}, {read})"
        from_number = _cast_number(kind, number)
        return SqlValue(
            f"CASE WHEN {is_number} THEN {from_number} WHEN {boolean} IS NOT NULL THEN {boolean}::INTEGER::{sql}"
            f" WHEN {matching} THEN {read} END",
            kind,
        )

    return function


_DAY, _HOURS, _ZONE = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "([01][0-9]|2[0-3])", "(Z|[-+](0[1-9]|1[0-3]):[0-5][0-9])?"
_CANONICAL = {
    "date": f"{_DAY}{_ZONE}",
    "dateTime": f"{_DAY}T{_HOURS}:[0-5][0-9]:[0-5][0-9]([.][0-9]{{0,5}}[1-9])?{_ZONE}",
}
"""Texts of times that stay as they are when they become literals."""
_VALID = {
    "date": "-?[0-9]{4,}-[0-9]{2}-[0-9]{2}(Z|[-+][0-9:]+)?",
    "dateTime": "-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[-+][0-9:]+)?",
}
"""Texts that may be times: all that are, and some that are not."""


def _cast_moment(kind: str) -> Function:
    """Cast to xsd:date or xsd:dateTime. Texts that Oxigraph would rewrite are left to it."""

    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        if len(arguments) != 1:
            raise UnsupportedQueryError("a cast of several values")
        [argument] = arguments
        if isinstance(argument, ConstantTerm):
            cast = cast_constant(argument.text, kind)
            return UNBOUND if cast is None else cast.value
        value = scope.plain(argument)
        if value.kind in ("date", "dateTime"):
            return value if value.kind == kind else SqlValue(f"({value.sql})::{SQL_TYPES[kind]}", kind)
        if value.kind not in ("string", "term"):
            return UNBOUND
        text = simple_text(scope.rows, value)
        form = f"regexp_full_match({text}, '{_CANONICAL[kind]}')"
        local = f"TRY_CAST(regexp_replace({text}, '(Z|[-+][0-9]{{2}}:[0-9]{{2}})$', '') AS {SQL_TYPES[kind]})"
        unusual = f"if(regexp_full_match({text}, '{_VALID[kind]}'), {beyond('casts of such times', 'VARCHAR')}, NULL)"
        moment = (
            f"CASE WHEN {text} IS NULL THEN NULL WHEN {form} AND {local} IS NOT NULL THEN {text} ELSE {unusual} END"
        )
        if value.kind == "term":
            parts = parts_of(scope.rows, value)
            day, zone = f"regexp_extract({parts.text}, '^[^T]*[0-9]{{2}}-[0-9]{{2}}')", zone_of(parts.text)
            other = f"{day} || {zone}" if kind == "date" else f"{day} || 'T00:00:00' || {zone}"
            same = f"{parts.tag} = '^{XSD}{kind}'"
            moment = f"CASE WHEN {parts.epoch} IS NOT NULL THEN if({same}, {parts.text}, {other}) ELSE {moment} END"
        return SqlValue(typed(moment, kind), "term")

    return function


def _cast_number(kind: str, number: NumberParts) -> str:
    """Return a valid number cast to an integer, decimal or double."""
    x = number.double
    if kind == "double":
        return x
    exact = f"TRY_CAST(trunc({number.exact}) AS BIGINT)" if kind == "integer" else number.exact
    whole = f"{x} = trunc({x})" if kind == "decimal" else "true"
    return (
        f"CASE WHEN {number.code} <= 2 THEN {exact} WHEN isnan({x}) OR isinf({x}) THEN NULL"
        f" WHEN {whole} AND abs({x}) < 1e15 THEN TRY_CAST(trunc({x}) AS {SQL_TYPES[kind]})"
        f" ELSE {beyond('casts of doubles', SQL_TYPES[kind])} END"
    )


FUNCTIONS: dict[str, Function] = {
    **{name: _rounding(name) for name in ("ABS", "CEIL", "FLOOR", "ROUND")},
    **{name: _moment_part(name) for name in ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES")},
    "SECONDS": _seconds,
    "TZ": _tz,
    "TIMEZONE": _timezone,
    f"<{XSD}float>": _float,
    **{f"<{XSD}{kind}>": _cast(kind) for kind in ("string", "integer", "decimal", "double", "boolean")},
    **{f"<{XSD}{kind}>": _cast_moment(kind) for kind in ("date", "dateTime")},
}
