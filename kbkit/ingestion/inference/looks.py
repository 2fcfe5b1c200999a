"""What the values of columns look like: numbers, dates, money, lists, prose; and the SQL that cleans them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.ingestion.inference import dates, names
from kbkit.schema import literal

if TYPE_CHECKING:
    import duckdb

LONG = 60
"""Mean number of characters from which a text is prose."""
_PHONES = frozenset(("cell", "fax", "mobile", "phone", "tel", "telephone"))
_SIGNED = 8
"""Mean number of characters from which numbers with + may be those of telephones."""
_WORD = 2.5
"""Mean number of characters from which the texts of a column are words rather than signs."""

NUMBER = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
GROUPED = r"[-+]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?|" + NUMBER
_AMOUNT = "[^0-9]{0,5}[0-9][0-9,. '']*[^0-9]{0,5}"
"""A number with a unit before or after it: short, as people read it in the recipe."""
_COMMA = r"[-+]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?|[-+]?[0-9]+(,[0-9]+)?"
_UNIT = (
    r"([$€£¥₹₽₩₺₴%]|zł|kr|(A|C|HK|NZ|R|S|US)\$|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|KRW|MXN|NOK|NZD"
    r"|PLN|RON|RUB|SEK|SGD|THB|TRY|UAH|USD|ZAR)"
)
"""A currency, or percent: what may be before or after all numbers of a column."""
_MONEY, _COMMA_MONEY = (
    rf"\(?[-+]?({_UNIT}\s?[-+]?{one}|{one}\s?{_UNIT})\)?"
    for one in (r"[0-9]{1,3}([,'' ]?[0-9]{3})*(\.[0-9]+)?", r"[0-9]{1,3}([.'' ]?[0-9]{3})*(,[0-9]{1,2})?")
)
_FLAGGED = rf"\s*({NUMBER})(\s+[A-Za-z]{{1,2}})?\s*"
"""A number with letters behind it that say how sure it is, as offices for statistics write them; ``:`` is missing."""
_VERSIONS = frozenset(("version", "release", "build"))
_NUMBERED = frozenset((*_VERSIONS, "section", "chapter", "paragraph"))
ADDRESS = r" \(https?://[^ )]+\)"
_ADDRESSED_FILE = rf".*\.\w{{2,4}}{ADDRESS}"
"""The address of a page after its name, as Notion writes links."""
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+Z?)?"
_OFFSET = " ?([+-][0-9]{2}):?([0-9]{2})$"
_ZONED = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+(Z|[+-][0-9]{2}| ?[+-][0-9]{2}:?[0-9]{2})"
"""A time with its distance from UTC, which is read as the time of UTC."""
_ZEROS = "0[0-]{13,}(AAA)?"
"""An identifier of nothing."""
_ABSENT = ("NULL", "N/A", "#N/A", "NaN", r"\N")
_DASHES = ("-", "--", "–", "—")
"""Missing, too, in a column of words."""
_LONGEST_VALUE = 1_000_000
"""Characters of a value that are looked at."""
_PAIR = 2
_FEWEST_NAMES = 5
QUOTED = ',"'
"""The separator of lists between commas in which names with a comma are in quotes."""
FRAMED = "<>"
"""The separator of lists such as ``<red><blue>`` and ``|red|blue|``."""
BRACKETED = "[id]"
"""The separator of lists such as ``nucleus [GO:5634]; cytosol [GO:5829]``, whose elements are the texts in brackets."""
SEPARATORS = ("[", "[]", FRAMED, ";", "|", ",")
_MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "-", "?", r"\N", "#N/A", "unknown")
MISSING = ", ".join(map(literal, ("", *_MISSING)))
"""Texts of missing values in SQL."""
_ANSWERS = (("yes", "no"), ("y", "n"), ("ja", "nein"), ("ja", "nee"), ("oui", "non"), ("si", "no"), ("sí", "no"),
            ("sim", "não"))  # fmt: skip
_CHECKS = {
    "integers": "regexp_full_match({v}, '[-+]?[0-9]+')",
    "signed": "starts_with({v}, '+')",
    "floats": r"regexp_full_match({v}, '[-+]?[0-9]+\.0')",
    "numbers": f"regexp_full_match({{v}}, '{NUMBER}')",
    "grouped": f"regexp_full_match({{v}}, '{GROUPED}')",
    "money": f"regexp_full_match({{v}}, '{_MONEY}')",
    "comma money": f"regexp_full_match({{v}}, '{_COMMA_MONEY}')",
    "addressed": f"regexp_matches({{v}}, '{ADDRESS}') AND NOT regexp_full_match({{v}}, '{_ADDRESSED_FILE}')",
    "decimal_commas": f"regexp_full_match({{v}}, '{_COMMA}')",
    "zero commas": "starts_with(ltrim({v}, '+-'), '0,')",
    "dotted": r"regexp_full_match({v}, '[-+]?[0-9]{1,3}(\.[0-9]{3})+')",
    "dates": f"regexp_full_match({{v}}, '{_ISO}')",
    "zoned": f"regexp_full_match({{v}}, '{_ZONED}')",
    "dated": f"regexp_full_match({{v}}, {literal(dates.LOOSE)})",
    "codes": "regexp_full_match({v}, '[A-Z0-9]{2,5}')",
    "empty": "{v} = ''",
    "formulas": 'regexp_full_match({v}, \'="[^"]*"\')',
    "quoted digits": r"regexp_full_match({v}, '''[0-9][0-9.,-]*')",
    "closed": r"regexp_full_match({v}, '[^;]+(;[^;]+)*;')",
    "na": "{v} = 'NA'",
    "quoted": 'regexp_full_match({v}, \'"[^"]*,[^"]*"\')',
    "framed": r"regexp_full_match({v}, '(<[^<>]+>)+|\|([^|]+\|)+')",
    "quotes": "contains({v}, '\"')",
    "checked": "{v} = 'checked'",
    "booleans": "lower({v}) IN ('true', 'false', 'yes', 'no', 't', 'f', 'y', 'n')",
    "worded": r"regexp_full_match({v}, '[^0-9]{2,15}')",
    "letters": "{v} IN ('t', 'f')",
    "answers": f"lower({{v}}) IN ({', '.join(map(literal, dict.fromkeys(itertools.chain(*_ANSWERS))))})",
    "kept zeros": r"regexp_full_match({v}, '[0-9]+\.[0-9]*[1-9]0+|[0-9]+\.0{2,}')",
    "beyond doubles": r"regexp_full_match({v}, '[0-9]{9,}\.[0-9]+') AND length({v}) > 16"
    " AND TRY_CAST({v} AS DOUBLE)::VARCHAR <> {v}",
    "flagged": f"regexp_full_match({{v}}, '{_FLAGGED}')",
    "flags": f"regexp_full_match({{v}}, '{_FLAGGED}') AND regexp_matches({{v}}, '[A-Za-z]\\s*$')",
    "colons": r"regexp_full_match({v}, '\s*:(\s+[A-Za-z]{1,2})?\s*')",
    "fractions": r"regexp_matches({v}, '[.eE]')",
    "missing": f"{{v}} IN ({', '.join(map(literal, _MISSING))})",
    "absent": f"{{v}} IN ({', '.join(map(literal, _ABSENT))})",
    "dashes": f"{{v}} IN ({', '.join(map(literal, _DASHES))})",
    "zeros": f"regexp_full_match({{v}}, '{_ZEROS}')",
    "untrimmed": "{v} <> trim({v})",
    "addresses": "regexp_matches({v}, '^(https?|ftp|mailto|urn):')",
    "arrays": "starts_with({v}, '[') AND coalesce(json_type(TRY_CAST({v} AS JSON)) = 'ARRAY', false)",
    "objects": "starts_with({v}, '{') AND coalesce(json_type(TRY_CAST({v} AS JSON)) = 'OBJECT', false)",
    "printed": r"regexp_full_match({v}, '\[\s*([''\"].*[''\"]\s*)?\]') AND TRY_CAST({v} AS VARCHAR[]) IS NOT NULL",
    **{f"sign {sign}": f"contains({{v}}, {literal(sign)})" for sign in (";", "|", ",")},
}


class TableField(NamedTuple):
    """A column of a file, or a field of a column of objects: its name, type and SQL expression."""

    name: str
    kind: str
    value: str


@dataclass(frozen=True)
class ProfiledColumn:
    """A column: its type in the file, the numbers of its values and of different ones (about), and their look.

    ``look`` is ``integer``, ``number``, ``date``, ``boolean``, ``prose``, ``list``, ``address`` or ``text``.
    ``separator`` splits lists (``[``: a JSON array, ``[]``: a list as Python prints it, :data:`QUOTED`,
    :data:`FRAMED`, empty: a list of the file's own). ``value`` is the SQL expression of its clean value. ``codes``: all
    texts are like ``FRA``. ``length`` is the mean number of characters of texts, ``missing`` the number of texts such
    as ``N/A`` (in a sample of large tables). ``raw`` is the SQL expression of the value as it is in the file, ``signs``
    those of ``;|,`` that texts have. ``is_code``: the texts look like numbers, but would lose digits as such.
    ``problem`` is the reason why a column that looks like one of dates stays text. ``flags`` is the number of numbers
    with letters behind them, which are left out.
    """

    name: str
    kind: str
    count: int
    distinct: int
    look: str
    separator: str = ""
    value: str = ""
    floats: bool = False
    codes: bool = False
    length: float = 0.0
    missing: int = 0
    raw: str = ""
    signs: str = ""
    is_code: bool = False
    problem: str = ""
    flags: int = 0

    @property
    def elements(self) -> str:
        """The SQL expression of the values as a list of texts."""
        if not self.separator:
            return f"{self.value}::VARCHAR[]" if self.kind != "VARCHAR[]" else self.value
        if self.separator in _ELEMENTS:
            return _ELEMENTS[self.separator].format(v=self.value)
        if self.separator == QUOTED:
            parts = f"""regexp_extract_all({self.value}, '"[^"]*"|[^,]+')"""
            trimmed = f"""list_transform({parts}, lambda x: trim(x, ' "'))"""
            return f"list_filter({trimmed}, lambda x: x <> '')"
        spaced = rf"\s*{re.escape(self.separator)}\s*"
        split = f"string_split_regex({self.value}, {literal(spaced)})"
        return f"list_filter({split}, lambda x: x <> '')"


_ELEMENTS = {
    "[": "TRY_CAST({v} AS JSON)::VARCHAR[]",
    "[]": "TRY_CAST({v} AS VARCHAR[])",
    FRAMED: "regexp_extract_all({v}, '[^<>|]+')",
    BRACKETED: r"regexp_extract_all({v}, '\[([^\[\]]+)\]', 1)",
}
WITHOUT_ADDRESS = f", '{ADDRESS}', '', 'g')"


def unwrapped(one: TableField, look: Mapping[str, float] | None) -> TableField:
    """Return a column without what programs write around all of its values: the addresses of the pages after names, a
    semicolon at the end, and what keeps a spreadsheet from reading ``="0123"`` and ``'0123`` as numbers.
    """
    if look is None or not look["values"]:
        return one
    if look["addressed"] == look["values"]:
        return one._replace(value=f"regexp_replace({one.value}{WITHOUT_ADDRESS}")
    if look["closed"] == look["values"]:  # a sign after each element of a list, also after the last one
        return one._replace(value=f"rtrim({one.value}, ';')")
    if look["quoted digits"] == look["values"]:
        return one._replace(value=f"ltrim({one.value}, '''')")
    if look["formulas"] == look["values"]:
        return one._replace(value=f"""nullif(regexp_extract({one.value}, '="([^"]*)"', 1), '')""")
    return one


def answered(con: duckdb.DuckDBPyConnection, source: str, one: TableField, look: Mapping[str, float]) -> TableField:
    """Return a column of *yes* and *no*, in one of several languages, as one of booleans; others as they are."""
    if not 0 < look["values"] == look["answers"]:
        return one
    rows = con.execute(f"SELECT DISTINCT lower({one.value}) FROM {source} WHERE {one.value} IS NOT NULL").fetchall()
    pair = next((pair for pair in _ANSWERS if {*pair} == {value for (value,) in rows}), None)
    cases = f"lower({one.value}) WHEN '{pair[0]}' THEN 'true' WHEN '{pair[1]}' THEN 'false'" if pair else ""
    return one._replace(value=f"CASE {cases} ELSE {one.value} END") if pair else one


def present(look: Mapping[str, float]) -> float:
    """Return how many values of a column are neither empty nor texts such as ``N/A``."""
    return look["values"] - look["missing"] - look["empty"]


def looks_of(con: duckdb.DuckDBPyConnection, source: str, fields: Sequence[TableField]) -> dict[str, dict[str, float]]:
    """Return for each column of texts how many values pass each check, and means."""
    if not fields:
        return {}

    # The columns one below the other: each check is planned and its pattern compiled once, not for each column.
    values = ", ".join(f"left({one.value}, {_LONGEST_VALUE})" for one in fields)
    tests = ", ".join(f"count(*) FILTER ({test.replace('{v}', 'v')})" for test in _CHECKS.values())
    rows = con.execute(f"""
        SELECT c, count(v), coalesce(avg(length(v)), 0),
               coalesce(avg(length(v) - length(replace(v, ' ', '')) + 1), 0),
               count(DISTINCT nullif(regexp_extract(v, '{_UNIT}'), '')), {tests}
        FROM (SELECT unnest(range({len(fields)})) AS c, unnest([{values}]) AS v FROM {source}) GROUP BY c""").fetchall()
    keys = ("values", "length", "words", "units", *_CHECKS)
    found = {number: dict(zip(keys, counts, strict=True)) for number, *counts in rows}
    return {one.name: found.get(number, dict.fromkeys(keys, 0)) for number, one in enumerate(fields)}


def column_of(  # noqa: PLR0911, PLR0912 (one line for each look)
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
    known_values = present(look)

    def all_are(*checks: str) -> bool:
        return known_values > 0 and any(look[check] >= known_values for check in checks)

    measures = ("numbers", "grouped", "money", "comma money", "decimal_commas", "dates", "zoned")
    is_measure = bool(reading.forms) or all_are(*measures)
    value, missing = _cleaned(one.value, look, is_measure=is_measure, na=na)
    signs = "".join(sign for sign in ";|," if look[f"sign {sign}"])
    known: dict[str, Any] = {"length": look["length"], "missing": missing, "raw": one.value, "signs": signs}

    def column(kind: str, value: str, **more: Any) -> ProfiledColumn:
        more |= known
        return ProfiledColumn(one.name, one.kind, *counts, kind, value=value, **more)

    if look["checked"] and look["checked"] == look["values"]:  # boxes, as Airtable writes them
        return column("boolean", f"CASE WHEN {value} IS NULL THEN 'false' ELSE 'true' END")
    if reading.forms:
        return column("date", reading.expression(value))
    is_phone = bool(set(names.words(one.name)) & _PHONES)
    if look["signed"] >= known_values > 0 and all_are("numbers"):  # +47: where some have a minus, the rest is positive
        return column("text", value, is_code=True)
    if look["signed"] and all_are("numbers") and look["length"] < _SIGNED and not is_phone:  # DuckDB reads no +
        value = f"ltrim({value}, '+')"
    if all_are("integers"):
        return column("integer", value)
    version = look["fractions"] and set(names.words(one.name)[-1:]) & _VERSIONS  # 1.10 follows 1.9
    if all_are("numbers") and (version or look["beyond doubles"] or (look["kept zeros"] and names.is_id(one.name))):
        return column("text", value, is_code=True)
    if all_are("floats") and (counts[0] < rows or look["missing"] or "year" in names.words(one.name)):
        # Integers with missing ones, which pandas writes with a point.
        return column("integer", f"regexp_replace({value}, '\\.0$', '')")
    if all_are("numbers"):
        return column("number", value, floats=all_are("floats"))
    if all_are("dates"):
        return column("date", value)
    if all_are("zoned"):
        plain = rf"regexp_replace({value}, '{_OFFSET}', '\1:\2')"
        return column("date", f"coalesce((TRY_CAST({plain} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')::VARCHAR, {value})")
    if all_are("grouped"):
        return column(
            "number",
            f"CASE WHEN regexp_full_match({value}, '{GROUPED}') THEN replace({value}, ',', '') ELSE {value} END",
        )
    for check, point in (("comma money", ","), ("money", ".")):
        if all_are(check) and look["units"] == 1:
            digits = f"replace(regexp_replace(replace({value}, '(', '-'), '[^0-9{point}-]', '', 'g'), ',', '.')"
            return column("number", f"CASE WHEN regexp_full_match({value}, '{_AMOUNT}') THEN {digits} ELSE {value} END")
    if all_are("decimal_commas"):
        plain = f"replace(replace({value}, '.', ''), ',', '.')"
        return column("number", f"CASE WHEN regexp_full_match({value}, '{_COMMA}') THEN {plain} ELSE {value} END")
    if all_are("letters") and counts[1] == _PAIR:  # as PostgreSQL writes them
        return column("boolean", f"CASE {value} WHEN 't' THEN 'true' WHEN 'f' THEN 'false' ELSE {value} END")
    if 0 < known_values <= look["flagged"] + look["colons"] and look["flagged"] > 2 * look["flags"]:
        known["missing"] += int(look["colons"])
        number = f"nullif(regexp_extract({value}, '{_FLAGGED}', 1), '')"
        return column("number" if look["fractions"] else "integer", number, flags=int(look["flags"]))
    if all_are("booleans"):
        return column("boolean", value)
    if sign := next((sign for sign in SEPARATORS if sign in look), ""):
        in_quotes = sign == "," and look["quotes"]
        return column("list", one.value if in_quotes else value, separator=QUOTED if in_quotes else sign)
    if all_are("addresses"):
        return column("address", value)
    if all_are("objects"):  # such as the shape of an area
        return column("text", value)
    known["problem"] = reading.problem
    constant = counts[1] == 1 and counts[0] >= _FEWEST_NAMES  # the same long text in all rows says nothing to search
    prose = _is_prose(one.name, look) and not constant
    return column("prose" if prose else "text", value, codes=all_are("codes"))


def _cleaned(value: str, look: Mapping[str, float], *, is_measure: bool, na: bool) -> tuple[str, int]:
    """Return the expression of trimmed values without texts such as ``N/A``, and the number of such texts.

    ``is_measure``: the other values are numbers or dates; ``na``: the text NA is missing.
    """
    missing = 0
    is_wordy = look["length"] > _WORD
    if look["empty"]:  # in JSON
        value = f"nullif({value}, '')"
    if look["untrimmed"]:
        value = f"trim({value})"
    if look["missing"] and is_measure:
        value = f"CASE WHEN {value} NOT IN ({', '.join(map(literal, _MISSING))}) THEN {value} END"
        missing = int(look["missing"])
    elif look["absent"] or (look["dashes"] and is_wordy) or (na and look["na"]):
        absent = (*_ABSENT, *(_DASHES if is_wordy else ()), *(("NA",) if na else ()))
        value = f"CASE WHEN {value} NOT IN ({', '.join(map(literal, absent))}) THEN {value} END"
        missing = int(look["absent"] + (look["dashes"] if is_wordy else 0) + (look["na"] if na else 0))
    if look["zeros"]:
        value = f"CASE WHEN NOT regexp_full_match({value}, '{_ZEROS}') THEN {value} END"
        missing += int(look["zeros"])
    if look["quoted"]:  # as Airtable writes names with a comma
        value = f"CASE WHEN regexp_full_match({value}, '\"[^\"]*\"') THEN trim({value}, '\"') ELSE {value} END"
    return value, missing


def has_na(look: Mapping[str, float]) -> bool:
    """Return whether NA is among the numbers of a column, so that it is a missing value in the whole table."""
    return look["na"] > 0 and 0 < look["numbers"] >= present(look)


def dated(fields: Sequence[TableField], looks: Mapping[str, Mapping[str, float]]) -> tuple[dict[str, str], list[str]]:
    """Return the expressions of the values of columns that look like dates, missing ones NULL; and the names of those
    of identifiers and numbers of versions.
    """
    found = {}
    for one in fields:
        look = looks.get(one.name)
        if look and dates.looks_dated(look, present(look)):
            found[one.name] = f"CASE WHEN trim({one.value}) NOT IN ({MISSING}) THEN trim({one.value}) END"
    return found, [name for name in found if names.is_id(name) or set(names.words(name)[-1:]) & _NUMBERED]


def _is_prose(name: str, look: Mapping[str, float]) -> bool:
    """Return whether a column holds texts to search: long ones, or short ones in a column that is named so."""
    if look["words"] < 3:
        return False
    return look["length"] >= (15 if named_prose(name) else LONG)


def named_prose(name: str) -> bool:
    """Return whether a column is named as one of texts to search."""
    return bool(set(names.words(name)[-1:]) & names.PROSE)


def _typed_look(kind: str) -> str:
    if kind.endswith("[]"):
        return "list"
    if "INT" in kind:
        return "integer"
    if kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
        return "number"
    return {"BOOLEAN": "boolean"}.get(kind, "date" if kind.startswith(("DATE", "TIME")) else "text")
