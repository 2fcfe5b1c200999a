"""The look of a column by the checks that its values pass, and the SQL that cleans them.

To read another kind of values, add a function to :data:`_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kbkit.ingestion.inference import dates, names
from kbkit.ingestion.inference.looks import (
    ABSENT,
    COMMA,
    DASHES,
    FLAGGED,
    GROUPED,
    LONG,
    MISSING_TEXTS,
    NO_DAY,
    QUOTED,
    SEPARATORS,
    SIGNS,
    VERSIONS,
    ZEROS,
    ProfiledColumn,
    TableField,
    named_prose,
    present,
)
from kbkit.schema import literal

_PHONES = frozenset(("cell", "fax", "mobile", "phone", "tel", "telephone"))
_SIGNED = 8
"""Mean number of characters from which numbers with + may be those of telephones."""
_WORD = 2.5
"""Mean number of characters from which the texts of a column are words rather than signs."""
_AMOUNT = "[^0-9]{0,5}[0-9][0-9,. '']*[^0-9]{0,5}"
"""A number with a unit before or after it: short, as people read it in the recipe."""
_OFFSET = " ?([+-][0-9]{2}):?([0-9]{2})$"
_PAIR = 2
_FEWEST_NAMES = 5


@dataclass
class _Values:
    """The values of a column: how many pass each check (``look``) and the expression of clean ones (``value``).

    ``rows`` is the number of rows of the table; ``known`` are fields of the profile.
    """

    one: TableField
    counts: tuple[int, int]
    look: Mapping[str, float]
    reading: dates.DateReading
    rows: int
    value: str = ""
    known: dict[str, Any] = field(default_factory=dict)

    def all_are(self, *checks: str) -> bool:
        """Return whether all values that are not missing pass one of the checks."""
        known = present(self.look)
        return known > 0 and any(self.look[check] >= known for check in checks)

    def column(self, look: str, value: str = "", **more: Any) -> ProfiledColumn:
        """Return the profile of the column."""
        fields = self.known | more
        return ProfiledColumn(self.one.name, self.one.kind, *self.counts, look, value=value or self.value, **fields)


def column_of(
    one: TableField,
    counts: tuple[int, int],
    look: Mapping[str, float] | None,
    reading: dates.DateReading,
    *,
    na: bool = False,
    rows: int = 0,
) -> ProfiledColumn:
    """Return the profile of a column, with the expression that cleans its values; ``na``: the text NA is missing.

    ``rows`` is the number of rows of the table.
    """
    if look is None:
        return ProfiledColumn(one.name, one.kind, *counts, _typed_look(one.kind), value=one.value)
    values = _Values(one, counts, look, reading, rows)
    values.value, missing = _cleaned(values, na=na)
    signs = "".join(sign for sign in SIGNS if look[f"sign {sign}"])
    values.known = {"length": look["length"], "missing": missing, "raw": one.value, "signs": signs}
    return next(column for rule in _RULES if (column := rule(values)) is not None)


def _box(values: _Values) -> ProfiledColumn | None:
    """Boxes, as Airtable writes them."""
    if not values.look["checked"] or values.look["checked"] != values.look["values"]:
        return None
    return values.column("boolean", f"CASE WHEN {values.value} IS NULL THEN 'false' ELSE 'true' END")


def _day(values: _Values) -> ProfiledColumn | None:
    return values.column("date", values.reading.expression(values.value)) if values.reading.forms else None


def _number(values: _Values) -> ProfiledColumn | None:
    """Numbers as programs write them, and codes that would lose digits as such."""
    look, own = values.look, values.one.name
    if not values.all_are("numbers"):
        return None
    if look["signed"] >= present(look):  # +47: where some have a minus, the rest is positive
        return values.column("text", is_code=True)
    is_phone = bool(set(names.words(own)) & _PHONES)
    if look["signed"] and look["length"] < _SIGNED and not is_phone:  # DuckDB reads no +
        values.value = f"ltrim({values.value}, '+')"
    if values.all_are("integers"):
        return values.column("integer")
    numbered = look["kept zeros"] and look["short minors"] and values.all_are("minors")  # 1.10 follows 1.9
    version = numbered or (look["fractions"] and set(names.words(own)[-1:]) & VERSIONS)
    if version or look["beyond doubles"] or (look["kept zeros"] and names.is_id(own)):
        return values.column("text", is_code=True)
    if values.all_are("floats"):  # integers of a column with missing ones, or of type REAL
        return values.column("integer", f"regexp_replace({values.value}, '\\.0$', '')", floats=True)
    return values.column("number")


def _iso_day(values: _Values) -> ProfiledColumn | None:
    if values.all_are("dates"):
        return values.column("date")
    if not values.all_are("zoned"):
        return None
    plain = rf"regexp_replace({values.value}, '{_OFFSET}', '\1:\2')"
    time = f"(TRY_CAST({plain} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')::VARCHAR"
    return values.column("date", f"coalesce({time}, {values.value})")


def _amount(values: _Values) -> ProfiledColumn | None:
    """Numbers as people write them: in groups of digits, with a currency or percent, with a decimal comma."""
    value = values.value
    if values.all_are("grouped"):
        return values.column("number", _where(value, GROUPED, f"replace({value}, ',', '')"))
    for check, point in (("comma money", ","), ("money", ".")):
        if values.all_are(check) and values.look["units"] == 1:
            digits = f"replace(regexp_replace(replace({value}, '(', '-'), '[^0-9{point}-]', '', 'g'), ',', '.')"
            return values.column("number", _where(value, _AMOUNT, digits), has_unit=True)
    if values.all_are("decimal_commas"):
        return values.column("number", _where(value, COMMA, f"replace(replace({value}, '.', ''), ',', '.')"))
    return None


def _where(value: str, pattern: str, result: str) -> str:
    return f"CASE WHEN regexp_full_match({value}, '{pattern}') THEN {result} ELSE {value} END"


def _letter(values: _Values) -> ProfiledColumn | None:
    """Booleans as PostgreSQL writes them."""
    if not values.all_are("letters") or values.counts[1] != _PAIR:
        return None
    value = f"CASE {values.value} WHEN 't' THEN 'true' WHEN 'f' THEN 'false' ELSE {values.value} END"
    return values.column("boolean", value)


def _flagged(values: _Values) -> ProfiledColumn | None:
    """Numbers with letters behind some of them."""
    look = values.look
    if not (0 < present(look) <= look["flagged"] + look["colons"] and look["flagged"] > 2 * look["flags"]):
        return None
    missing = values.known["missing"] + int(look["colons"])
    number = f"nullif(regexp_extract({values.value}, '{FLAGGED}', 1), '')"
    kind = "number" if look["fractions"] else "integer"
    return values.column(kind, number, flags=int(look["flags"]), missing=missing)


def _boolean(values: _Values) -> ProfiledColumn | None:
    return values.column("boolean") if values.all_are("booleans") else None


def _list(values: _Values) -> ProfiledColumn | None:
    sign = next((sign for sign in SEPARATORS if sign in values.look), "")
    if not sign:
        return None
    in_quotes = sign == "," and values.look["quotes"]
    return values.column("list", values.one.value if in_quotes else "", separator=QUOTED if in_quotes else sign)


def _text(values: _Values) -> ProfiledColumn:
    if values.all_are("addresses"):
        return values.column("address")
    if values.all_are("objects", "braced", "paths"):  # such as the shape of an area
        return values.column("text")
    constant = values.counts[1] == 1 and values.counts[0] >= _FEWEST_NAMES
    # The same long text in all rows says nothing to search.
    prose = _is_prose(values.one.name, values.look) and not constant
    kind, problem = "prose" if prose else "text", values.reading.problem
    return values.column(kind, codes=values.all_are("codes"), problem=problem, are_uuids=values.all_are("uuids"))


_RULES: tuple[Callable[[_Values], ProfiledColumn | None], ...] = (
    _box, _day, _number, _iso_day, _amount, _letter, _flagged, _boolean, _list, _text,
)  # fmt: skip
"""Kinds of values: functions of the values, the first profile counts."""


def _cleaned(values: _Values, *, na: bool) -> tuple[str, int]:
    """Return the expression of trimmed values without texts such as ``N/A``, and the number of such texts."""
    missing, value, look = 0, values.one.value, values.look
    measures = ("numbers", "grouped", "money", "comma money", "decimal_commas", "dates", "zoned")
    is_measure = bool(values.reading.forms) or values.all_are(*measures)
    is_day = bool(values.reading.forms) or (values.all_are("dates", "zoned") and look["no days"] < present(look))
    is_wordy = look["length"] > _WORD
    if look["empty"]:  # in JSON
        value = f"nullif({value}, '')"
    if look["untrimmed"]:
        value = f"trim({value})"
    if look["missing"] and is_measure:
        value = f"CASE WHEN {value} NOT IN ({', '.join(map(literal, MISSING_TEXTS))}) THEN {value} END"
        missing = int(look["missing"])
    elif look["absent"] or (look["dashes"] and is_wordy) or (na and look["na"]):
        absent = (*ABSENT, *(DASHES if is_wordy else ()), *(("NA",) if na else ()))
        value = f"CASE WHEN {value} NOT IN ({', '.join(map(literal, absent))}) THEN {value} END"
        missing = int(look["absent"] + (look["dashes"] if is_wordy else 0) + (look["na"] if na else 0))
    for check, pattern in (("zeros", ZEROS), *([("no days", NO_DAY)] if is_day else [])):
        if look[check]:
            value = f"CASE WHEN NOT regexp_full_match({value}, '{pattern}') THEN {value} END"
            missing += int(look[check])
    if look["quoted"]:  # as Airtable writes names with a comma
        value = f"CASE WHEN regexp_full_match({value}, '\"[^\"]*\"') THEN trim({value}, '\"') ELSE {value} END"
    return value, missing


def _is_prose(name: str, look: Mapping[str, float]) -> bool:
    """Return whether a column holds texts to search: long ones, or short ones in a column that is named so."""
    if look["words"] < 3:
        return False
    return look["length"] >= (15 if named_prose(name) else LONG)


def _typed_look(kind: str) -> str:
    if kind.endswith("[]"):
        return "list"
    if "INT" in kind:
        return "integer"
    if kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
        return "number"
    return {"BOOLEAN": "boolean"}.get(kind, "date" if kind.startswith(("DATE", "TIME")) else "text")
