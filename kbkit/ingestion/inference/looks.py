"""What the values of columns look like: how many pass the checks of numbers, dates, money and lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kbkit.ingestion.inference import dates, names
from kbkit.schema import literal

if TYPE_CHECKING:
    import duckdb

LONG = 60
"""Mean number of characters from which a text is prose."""

NUMBER = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
GROUPED = r"[-+]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?|" + NUMBER
COMMA = r"[-+]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?|[-+]?[0-9]+(,[0-9]+)?"
_UNIT = (
    r"([$€£¥₹₽₩₺₴%]|zł|kr|(A|C|HK|NZ|R|S|US)\$|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|KRW|MXN|NOK|NZD"
    r"|PLN|RON|RUB|SEK|SGD|THB|TRY|UAH|USD|ZAR)"
)
"""A currency, or percent: what may be before or after all numbers of a column."""
_MONEY, _COMMA_MONEY = (
    rf"\(?[-+]?({_UNIT}\s?[-+]?{one}|{one}\s?{_UNIT})\)?"
    for one in (r"[0-9]{1,3}([,'' ]?[0-9]{3})*(\.[0-9]+)?", r"[0-9]{1,3}([.'' ]?[0-9]{3})*(,[0-9]{1,2})?")
)
FLAGGED = rf"\s*({NUMBER})(\s+[A-Za-z]{{1,2}})?\s*"
"""A number with letters behind it that say how sure it is, as offices for statistics write them; ``:`` is missing."""
VERSIONS = frozenset(("version", "release", "build"))
_NUMBERED = frozenset((*VERSIONS, "section", "chapter", "paragraph"))
ADDRESS = r" \(https?://[^ )]+\)"
_ADDRESSED_FILE = rf".*\.\w{{2,4}}{ADDRESS}"
"""The address of a page after its name, as Notion writes links."""
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+Z?)?"
_ZONED = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+(Z|[+-][0-9]{2}| ?[+-][0-9]{2}:?[0-9]{2})"
"""A time with its distance from UTC, which is read as the time of UTC."""
ZEROS = "0[0-]{13,}(AAA)?"
"""An identifier of nothing."""
NO_DAY = "0{8}|0{1,4}[-/.]0{1,2}[-/.]0{1,4}([ T][0:.]+Z?)?"
"""A day or a time of zeros: there is none."""
ABSENT = ("NULL", "N/A", "#N/A", "NaN", r"\N")
DASHES = ("-", "--", "–", "—")
"""Missing, too, in a column of words."""
_MARK = r"[^\p{L}\p{N}\s]{1,3}"
"""Signs alone in the place of a number: ``.``, ``...``, ``/``, ``:``."""
_MOST_MARKS, _FEWEST_VALUES = 4, 4
"""Different marks of missing values in a column, at most, and values beside them, at least."""
_LONGEST_VALUE = 1_000_000
"""Characters of a value that are looked at."""
QUOTED = ',"'
"""The separator of lists between commas in which names with a comma are in quotes."""
FRAMED = "<>"
"""The separator of lists such as ``<red><blue>`` and ``|red|blue|``."""
BRACKETED = "[id]"
"""The separator of lists such as ``nucleus [GO:5634]; cytosol [GO:5829]``, whose elements are the texts in brackets."""
SIGNS = (";", "|", ",", "\n", "/")
"""Signs that may be between the elements of lists."""
SEPARATORS = ("[", "[]", FRAMED, ";", "|", ",")
MISSING_TEXTS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "-", "?", r"\N", "#N/A", "unknown")
MISSING = ", ".join(map(literal, ("", *MISSING_TEXTS)))
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
    "decimal_commas": f"regexp_full_match({{v}}, '{COMMA}')",
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
    "minors": r"regexp_full_match({v}, '[0-9]{1,3}\.([0-9]|[1-3][0-9])')",
    "short minors": r"regexp_full_match({v}, '[0-9]+\.[1-9]')",
    "beyond doubles": r"regexp_full_match({v}, '[0-9]{9,}\.[0-9]+') AND length({v}) > 16"
    " AND TRY_CAST({v} AS DOUBLE)::VARCHAR <> {v}",
    "flagged": f"regexp_full_match({{v}}, '{FLAGGED}')",
    "flags": f"regexp_full_match({{v}}, '{FLAGGED}') AND regexp_matches({{v}}, '[A-Za-z]\\s*$')",
    "colons": r"regexp_full_match({v}, '\s*:(\s+[A-Za-z]{1,2})?\s*')",
    "fractions": r"regexp_matches({v}, '[.eE]')",
    "comma numbers": f"contains({{v}}, ',') AND regexp_full_match({{v}}, '{COMMA}|{GROUPED}')",
    "marks": f"regexp_full_match(trim({{v}}), {literal(_MARK)})",
    "letter marks": r"regexp_full_match(trim({v}), '\p{L}')",
    "uuids": "regexp_full_match({v}, '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}')",
    "copy nulls": r"{v} = '\N'",
    "copy escapes": r"regexp_matches({v}, '\\[\\tnr]')",
    "missing": f"{{v}} IN ({', '.join(map(literal, MISSING_TEXTS))})",
    "absent": f"{{v}} IN ({', '.join(map(literal, ABSENT))})",
    "dashes": f"{{v}} IN ({', '.join(map(literal, DASHES))})",
    "zeros": f"regexp_full_match({{v}}, '{ZEROS}')",
    "no days": f"regexp_full_match({{v}}, '{NO_DAY}')",
    "untrimmed": "{v} <> trim({v})",
    "addresses": "regexp_matches({v}, '^(https?|ftp|mailto|urn):')",
    "arrays": "starts_with({v}, '[') AND coalesce(json_type(TRY_CAST({v} AS JSON)) = 'ARRAY', false)",
    "objects": "starts_with({v}, '{') AND coalesce(json_type(TRY_CAST({v} AS JSON)) = 'OBJECT', false)",
    "braced": r"regexp_full_match({v}, '(?s)\s*(\{.*\}|\[\s*\{.*\}\s*\])\s*')",
    "paths": r"regexp_full_match({v}, '([A-Za-z]:\\|~?/|\.\.?/)[^ ].*\.\w{1,5}')",
    "printed": r"regexp_full_match({v}, '\[\s*([''\"].*[''\"]\s*)?\]') AND TRY_CAST({v} AS VARCHAR[]) IS NOT NULL",
    **{f"sign {sign}": f"contains({{v}}, {literal(sign)})" for sign in SIGNS},
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
    those of :data:`SIGNS` that texts have. ``is_code``: the texts look like numbers, but would lose digits as such.
    ``problem`` is the reason why a column that looks like one of dates stays text, ``lost`` says how many values of a
    column are no dates or years, which the user made of them. ``flags`` is the number of numbers with letters behind
    them, which are left out; ``has_unit``: a currency or percent is. ``whole`` are elements with the separator in them,
    ``element_form`` is the SQL expression of an element (``{v}``) as another table writes it.
    ``are_uuids``: all texts are identifiers that programs make.
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
    lost: str = ""
    flags: int = 0
    has_unit: bool = False
    are_uuids: bool = False
    whole: tuple[str, ...] = ()
    element_form: str = ""

    @property
    def elements(self) -> str:
        """The SQL expression of the values as a list of texts."""
        if self.element_form:
            return f"list_transform({self._elements}, lambda x: {self.element_form.format(v='x')})"
        return self._elements

    @property
    def _elements(self) -> str:
        if not self.separator:
            return f"{self.value}::VARCHAR[]" if self.kind != "VARCHAR[]" else self.value
        if self.separator in _ELEMENTS:
            return _ELEMENTS[self.separator].format(v=self.value)
        if self.separator == QUOTED:
            parts = f"""regexp_extract_all({self.value}, '"[^"]*"|[^,]+')"""
            trimmed = f"""list_transform({parts}, lambda x: trim(x, ' "'))"""
            return f"list_filter({trimmed}, lambda x: x <> '')"
        spaced = rf"\s*{re.escape(self.separator)}\s*"
        if not self.whole:
            return f"list_filter(string_split_regex({self.value}, {literal(spaced)}), lambda x: x <> '')"
        kept = ", ".join(map(literal, self.whole))
        hidden = f"lambda v, x: replace(v, x, replace(x, {literal(self.separator)}, chr(31)))"
        split = f"string_split_regex(list_reduce([{kept}], {hidden}, {self.value}), {literal(spaced)})"
        shown = f"list_transform({split}, lambda x: replace(x, chr(31), {literal(self.separator)}))"
        return f"list_filter({shown}, lambda x: x <> '')"


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


def unmarked(
    con: duckdb.DuckDBPyConnection, source: str, one: TableField, look: Mapping[str, float]
) -> tuple[TableField, int]:
    """Return a column of numbers or dates without the marks that stand for missing ones, and the number of marks.

    Marks are a few different signs (``.``, ``/``); beside numbers with fractions also single letters (``x``), which
    among whole numbers may be codes.
    """
    letters = look["decimal_commas"] > look["integers"] or 2 * look["fractions"] > look["numbers"]
    marks = look["marks"] + (look["letter marks"] if letters else 0)
    if not marks:
        return one, 0
    form = literal(rf"{_MARK}|\p{{L}}" if letters else _MARK)
    is_mark = f"regexp_full_match(trim({one.value}), {form})"
    others = f"{one.value} IS NOT NULL AND {one.value} <> '' AND NOT {is_mark} AND {one.value} NOT IN ({MISSING})"
    tests = ", ".join(f"bool_and({_CHECKS[check].replace('{v}', one.value)}) FILTER ({others})" for check in _MEASURES)
    query = f"SELECT count(DISTINCT {one.value}) FILTER ({is_mark}), count(*) FILTER ({others}), {tests} FROM {source}"
    row = con.execute(query).fetchone() or (0, 0)
    if row[0] > _MOST_MARKS or row[1] < _FEWEST_VALUES or True not in row[2:]:
        return one, 0
    return one._replace(value=f"CASE WHEN NOT {is_mark} THEN {one.value} END"), int(marks)


_MEASURES = ("numbers", "grouped", "decimal_commas", "comma money", "money", "dates", "dated")
"""Checks of values that are all measures, in whose columns marks stand for missing ones."""


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
        if look and dates.looks_dated(look, present(look) - look["no days"]):
            no_day = f" AND NOT regexp_full_match(trim({one.value}), '{NO_DAY}')" if look["no days"] else ""
            found[one.name] = f"CASE WHEN trim({one.value}) NOT IN ({MISSING}){no_day} THEN trim({one.value}) END"
    return found, [name for name in found if names.is_id(name) or set(names.words(name)[-1:]) & _NUMBERED]


def named_prose(name: str) -> bool:
    """Return whether a column is named as one of texts to search."""
    return bool(set(names.words(name)[-1:]) & names.PROSE)
