"""Answers as SQL: values of a kind as structs of text, aliases, node and value, with whether each has a name."""

from __future__ import annotations

from kbkit.schema import literal

UNITS = {
    "kilometre": "km", "square kilometre": "km²", "metre": "m", "kilogram": "kg", "minute": "minutes",
    "second": "seconds", "hour": "hours", "year": "years", "degree Celsius": "°C", "United States dollar": "US dollars",
    "1": "",
}  # fmt: skip
"""Names of Wikidata's units, and how they are written after a number."""
NODE = "LEFT JOIN nodes n ON n.id = v.node"
"""The join that :func:`columns` needs after ``FROM ... v``."""
_UNNAMED = "regexp_full_match({}, '[QPLE][0-9]+(-[FS][0-9]+)?')"
_EMPTY = "[]::VARCHAR[]"


def is_unnamed(column: str) -> str:
    """Return SQL for whether a name is only an id of Wikidata."""
    return _UNNAMED.format(column)


def columns(kind: str) -> str:
    """Return SQL for the columns ``answer`` and ``named`` of rows ``v`` (see ``values.COLUMNS``)."""
    text, aliases, node, value, named = {
        "entity": _entity, "date": _date, "number": _number, "text": _text,
    }[kind]()  # fmt: skip
    answer = f"{{'text': {text}, 'aliases': {aliases}, 'node': {node}, 'value': {value}}}"
    return f"{answer} AS answer, coalesce({named}, false) AS named"


Parts = tuple[str, str, str, str, str]
"""SQL for text, aliases, node, value, and whether the text is a name."""


def _entity() -> Parts:
    return (
        "coalesce(n.name, v.value)",
        f"coalesce(n.aliases, {_EMPTY})",
        "CASE WHEN n.id IS NULL THEN '' ELSE concat(n.type::VARCHAR, '#', n.key) END",
        "''",
        f"coalesce(n.name <> '' AND NOT {is_unnamed('n.name')}, v.value <> '')",
    )


def _date() -> Parts:
    """Return years as they are, other dates by their precision: 9 a year, 10 a month, 11 a day."""
    precision, date = "coalesce(v.precision, 11)", "TRY_CAST(v.value AS DATE)"
    year = "regexp_full_match(v.value, '-?[0-9]{1,4}')"
    before_christ = "concat(ltrim(split_part(v.value[2:], '-', 1), '0')::BIGINT + 1, ' BC')"
    text = (
        f"CASE WHEN {year} THEN v.value WHEN v.value[1] = '-' THEN {before_christ}"
        f" WHEN {precision} >= 11 THEN strftime({date}, '%-d %B %Y')"
        f" WHEN {precision} = 10 THEN strftime({date}, '%B %Y') ELSE ltrim(strftime({date}, '%Y'), '0') END"
    )
    iso = (
        f"CASE WHEN {year} OR v.value[1] = '-' OR {precision} >= 11 THEN v.value"
        f" WHEN {precision} = 10 THEN left(v.value, 7) ELSE left(v.value, 4) END"
    )
    return text, f"CASE WHEN {year} THEN {_EMPTY} ELSE [{iso}] END", "''", iso, f"{text} <> ''"


def _number() -> Parts:
    """Return numbers with separators of thousands and their unit."""
    number = "TRY_CAST(v.value AS DOUBLE)"
    whole = f"{number} = round({number}) AND abs({number}) < 1e15"
    decimal = "regexp_full_match(v.value, '-?[0-9]{4,15}\\.[0-9]+')"
    split = "concat(format('{:,}', split_part(v.value, '.', 1)::BIGINT), '.', split_part(v.value, '.', 2))"
    shown = f"CASE WHEN {whole} THEN format('{{:,}}', {number}::BIGINT) WHEN {decimal} THEN {split} ELSE v.value END"
    cases = "".join(f" WHEN {literal(long)} THEN {literal(short)}" for long, short in UNITS.items())
    unit = f"CASE coalesce(v.unit, ''){cases} ELSE coalesce(v.unit, '') END"
    text = f"trim(concat({shown}, ' ', {unit}))"
    return text, f"list_distinct([{shown}, v.value])", "''", "v.value", "v.value <> ''"


def _text() -> Parts:
    return "coalesce(v.value, n.name)", f"coalesce(n.aliases, {_EMPTY})", "''", "''", "coalesce(v.value, n.name) <> ''"
