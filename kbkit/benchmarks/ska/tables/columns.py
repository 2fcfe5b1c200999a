"""Columns of tables of text: their kinds, decided over all values, and their headers in spoken words.

Kinds: ``key`` (names one row), ``name`` (names of things), ``category`` (values that repeat), ``number`` (with
separators, a unit or a percent sign), ``year``, ``date``, ``code`` (identifiers, scores, times), ``text`` (long texts
and lists), ``constant`` (one value or none).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from kbkit import english
from kbkit.benchmarks.fit_nodes import are_lists
from kbkit.benchmarks.predicates import CONSTANT as NEARLY_ALL
from kbkit.english.attributes import EXPANDED, UNITS
from kbkit.english.words import YEARS
from kbkit.schema import quote

KEY, NAME, CATEGORY, NUMBER, YEAR, DATE, CODE, TEXT, CONSTANT = (
    "key", "name", "category", "number", "year", "date", "code", "text", "constant",
)  # fmt: skip
_NUMBER = re.compile(
    r"(?P<before>[$€£¥]|US\$)?\s?(?P<sign>[+\-−–])?\s?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"\s?(?P<unit>%|[A-Za-z°²³]{1,7})?"
)
_DATE = re.compile(
    r"(?:(?:\d{1,2}(?:st|nd|rd|th)? )?(?:of )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
    r"(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?|\d{1,4} BC|\d{3,4}|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    r"|\d{1,2}-[A-Za-z]{3}-\d{2,4})",
)
_IDENTIFIER = re.compile(
    r"(?:.*[ _])?(?:ids?|idx|index|key|codes?|no\.?|nos\.?|number|nr|rank|ranking|iri|uri|url|isbn|issn|doi|zip"
    r"|latitude|longitude|lat|lon|lane|heat|bib|pick|round|week|game|grid|seed|pos\.?|position|place|ref|reference"
    r"|image|picture|map|race|post|class|stage|edition|reign|final|finish|finished|overall|group|seat|district|inns\.?|#)",
)
_YEAR_WORDS = frozenset(
    ("year", "years", "season", "built", "est", "debut", "since", "until", "date", "first", "last", "start", "end")
)
_DECIMALS = re.compile(r"\.(\d+)")
_WORDED = re.compile(r"[^\W\d]{2}|[^\W\d]\.")
_UNITS = {name: unit.words for name, unit in UNITS.items() if name != "c"} | {
    "in": "inches", "km²": "square kilometres", "sq mi": "square miles", "mi²": "square miles", "m²": "square metres",
    "lbs": "pounds", "min": "minutes", "mins": "minutes",
    "us$": "US dollars", "$": "dollars", "€": "euros", "£": "pounds", "%": "percent", "km/h": "kilometres per hour",
    "mph": "miles per hour", "hp": "horsepower", "million": "millions", "millions": "millions",
    "thousands": "thousands",
}  # fmt: skip
"""Units in words, by how headers have them."""
_WORDS = {
    "w": "wins", "l": "losses", "d": "draws", "pts": "points", "pts.": "points", "won": "wins", "wins": "wins",
    "lost": "losses", "drawn": "draws", "draw": "draws", "tied": "ties", "played": "games played", "gf": "goals scored",
    "ga": "goals conceded", "goals for": "goals scored", "goals against": "goals conceded", "apps": "appearances",
    "apps.": "appearances", "pop": "population", "pop.": "population", "att.": "attendance", **EXPANDED,
    "avg.": "average", "gross": "gross revenue", "est.": "estimated", "inception": "date of foundation",
    "goal difference": "goal difference", "r": "", "h": "", "date of birth": "date of birth",
}  # fmt: skip
_AMOUNTS = frozenset(
    (
        "area", "population", "budget", "revenue", "attendance", "capacity", "cost", "prize", "length", "duration",
        "distance", "production", "output", "sales", "passengers", "enrollment", "enrolment", "membership", "income",
        "expenditure", "circulation", "earnings",
    )
)  # fmt: skip
"""Amounts that add up. Others (scores, heights, percentages) are compared, but not added."""
_LARGE = _AMOUNTS - {"length", "duration", "distance"} | {"size", "weight", "magnitude"}
_GREAT = frozenset(("height", "elevation", "altitude", "depth", "width", "diameter", "thickness"))
_LONG = frozenset(("length", "duration", "distance", "time"))
_ACRONYMS = frozenset(("GDP", "HDI", "MPG", "RPM", "ERA", "TV", "USA", "CEO"))
_MEDALS = {"gold": "gold medals", "silver": "silver medals", "bronze": "bronze medals", "total": "medals"}
_REMARKS = frozenset(("note", "notes", "remark", "remarks", "comment", "comments", "report", "references", "source"))
_NOT_NAMED = frozenset(
    (
        "opponent", "opposing team", "venue", "site", "city", "location", "room", "notes", "result", "results", "score",
        "date", "coordinates", "address", "comments", "description", "route", "hometown", "residence",
    )
)  # fmt: skip
"""Columns whose values a row has, but that do not name what it is about, even if they differ in all rows."""
_MAX_TEXT = 60
"""Characters of a value that may be a name."""
_LONG_NAMES = 0.01
"""Fraction of the names of rows that may be longer."""
_MEAN_WORDS = 7
_REPEATED = 0.7
"""Distinct values of a category, relative to all that are not empty."""


@dataclass(frozen=True)
class WebColumn:
    """A column: its ``position``, header, kind, and values.

    ``noun`` is the header in spoken words, a plural only if the header is one ("" if it cannot be worded), and
    ``unit`` what numbers are measured in. ``by`` is the participle of a header such as *Directed by*.
    """

    position: int
    name: str
    kind: str
    cells: tuple[str, ...]
    noun: str = ""
    unit: str = ""
    by: str = ""

    @property
    def sql(self) -> str:
        """The column in SQL."""
        return quote(self.name)

    @property
    def number_sql(self) -> str:
        """The number in a cell in SQL, NULL if there is none."""
        return f"TRY_CAST(regexp_replace(translate({self.sql}, '−–', '--'), '[^0-9.-]', '', 'g') AS DOUBLE)"

    def formatted_sql(self, rows: Sequence[int], sql: str) -> str:
        """Return SQL that formats a number with the decimals of the cells of ``rows``, and with separators if used."""
        decimals = max(len("".join(_DECIMALS.findall(self.cells[row]))) for row in rows)
        separator = "," if any("," in cell for cell in self.counts) else ""
        return f"format('{{:{separator}.{decimals}f}}', {sql})"

    @property
    def is_numeric(self) -> bool:
        """Whether cells are numbers or years."""
        return self.kind in (NUMBER, YEAR)

    @cached_property
    def numbers(self) -> tuple[float | None, ...]:
        """The numbers in the cells."""
        return tuple(number_in(cell) for cell in self.cells)

    @cached_property
    def array(self) -> NDArray[np.object_]:
        """The cells as an array."""
        return np.array(self.cells, object)

    @cached_property
    def amounts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The numbers in the cells, NaN where there is none, and the distinct ones in order."""
        numbers = np.array([np.nan if v is None else v for v in self.numbers])
        return numbers, np.unique(numbers[np.isfinite(numbers)])

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each value occurs, without empty cells."""
        return Counter(cell for cell in self.cells if cell)

    @cached_property
    def guessable(self) -> frozenset[str]:
        """The values that most rows have; all values where nearly all rows have one, as the others are often errors."""
        rows = self.counts.total()
        is_nearly_constant = max(self.counts.values(), default=0) > NEARLY_ALL * rows
        return frozenset(cell for cell, count in self.counts.items() if is_nearly_constant or 2 * count > rows)

    @cached_property
    def is_list(self) -> bool:
        """Whether some cells list several of the values of other cells: *Latin, Arabic*."""
        return are_lists(list(self.counts))

    def holds(self, value: str) -> NDArray[np.bool_]:
        """Return which cells have a value, alone or in a list."""
        listed = self.is_list and {cell for cell in self.counts if value in cell.split(", ")}
        return np.isin(self.array, list(listed)) if listed else self.array == value

    @property
    def is_of_another(self) -> bool:
        """Whether the noun names an attribute of another thing than the row: *currency of the country*."""
        return " of the " in self.noun

    @cached_property
    def filled(self) -> float:
        """The fraction of the cells that are not empty."""
        return self.counts.total() / max(1, len(self.cells))

    @cached_property
    def decimals(self) -> int:
        """The largest number of decimals of a cell."""
        return max((len(part) for cell in self.counts for part in _DECIMALS.findall(cell)), default=0)

    @property
    def is_plural(self) -> bool:
        """Whether the noun is a plural: *votes*, *guests of honor*."""
        return english.is_plural(re.split(r" (?:of|in|per) ", self.noun)[0]) and not self.noun.endswith("series")

    @property
    def is_count(self) -> bool:
        """Whether cells count things: *How many votes*."""
        return self.kind == NUMBER and self.is_plural and not self.unit

    @property
    def adds_up(self) -> bool:
        """Whether sums of the column have a meaning."""
        if self.kind != NUMBER or self.unit == "percent" or any("%" in cell for cell in self.counts):
            return False
        words = self.noun.casefold().split()
        is_mean = bool({"average", "mean", "rate", "ratio", "median", "per", "difference", "maximum"} & set(words))
        return not is_mean and (self.is_count or bool(words and words[-1] in _AMOUNTS))

    @property
    def extremes(self) -> tuple[str, str]:
        """The superlatives of the noun, for the largest value and the smallest."""
        last = self.noun.rpartition(" ")[2]
        if self.kind == YEAR:
            return "latest", "earliest"
        if self.is_count:
            return "most", "fewest"
        if last in _LONG:
            return "longest", "shortest"
        if last in _GREAT:
            return "greatest", "smallest"
        return ("largest", "smallest") if last in _LARGE else ("highest", "lowest")


def columns_of(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[WebColumn]:
    """Return the columns of a table with their kinds; at most one is the ``key``: the first that names every row."""
    columns: list[WebColumn] = []
    has_key = False
    has_medals = {"gold", "silver", "bronze"} <= {name.casefold() for name in header}
    for position, name in enumerate(header):
        cells = tuple(row[position] for row in rows)
        kind = kind_of(name, cells)
        if kind == KEY and (has_key or _plain(name).rstrip("#") in _NOT_NAMED):
            kind = NAME
        has_key = has_key or kind == KEY
        noun, unit = spoken(name)
        if has_medals and noun in _MEDALS:
            noun = _MEDALS[noun]
        by = re.fullmatch(r"(\w+) by", noun)
        is_by = bool(by) and english.is_participle(by[1] if by else "")
        columns.append(WebColumn(position, name, kind, cells, noun if is_by or is_speakable(noun) else "", unit,
                            by[1] if by and is_by else ""))  # fmt: skip
    return columns


def kind_of(name: str, cells: Sequence[str]) -> str:
    """Return the kind of a column."""
    known = [cell for cell in cells if cell.strip()]
    distinct = set(known)
    if len(distinct) < 2:
        return CONSTANT
    is_identifier = bool(_IDENTIFIER.fullmatch(_plain(name)))
    if all(_NUMBER.fullmatch(cell) for cell in known):
        units = {_unit(cell) for cell in known}
        return YEAR if _are_years(name, known) else CODE if is_identifier or len(units) > 1 else NUMBER
    if sum(bool(_DATE.fullmatch(cell)) for cell in known) >= 0.9 * len(known):
        return DATE
    return TEXT if _are_long(known) else _kind_of_names(cells, known, is_identifier=is_identifier)


def _are_long(known: Sequence[str]) -> bool:
    words = sum(len(cell.split()) for cell in known) / len(known)
    is_list = words > 3 and sum(", " in cell or ";" in cell for cell in known) > 0.5 * len(known)
    is_long = words > _MEAN_WORDS or max(map(len, known)) > 4 * _MAX_TEXT
    return is_list or is_long or any("\n" in cell for cell in known)


def _kind_of_names(cells: Sequence[str], known: Sequence[str], *, is_identifier: bool) -> str:
    """Return the kind of a column of short texts."""
    distinct = len(set(known))
    worded = sum(bool(_WORDED.match(cell.lstrip("\"'“‘(@ "))) for cell in known)
    if is_identifier or worded < 0.8 * len(known):
        return CATEGORY if distinct <= 0.3 * len(known) and not is_identifier else CODE
    if distinct == len(cells) and sum(len(cell) > _MAX_TEXT for cell in known) <= _LONG_NAMES * len(known):
        return KEY
    return CATEGORY if distinct <= _REPEATED * len(known) else NAME


def number_in(cell: str) -> float | None:
    """Return the number in a cell, as ``Column.number_sql`` reads it."""
    text = re.sub(r"[^0-9.-]", "", cell.replace("−", "-").replace("–", "-"))
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _unit(cell: str) -> tuple[str, str]:
    match = _NUMBER.fullmatch(cell)
    return ((match["before"] or ""), (match["unit"] or "")) if match else ("", "")


def _are_years(name: str, known: Sequence[str]) -> bool:
    if not all(re.fullmatch(r"\d{4}", cell) and YEARS[0] <= int(cell) <= YEARS[1] for cell in known):
        return False
    words = _plain(name).split()
    is_named = bool(_YEAR_WORDS & set(words)) or any(english.is_participle(word) for word in words)
    return is_named or (len(known) > 5 and all(1800 <= int(cell) <= 2030 for cell in known))


def _plain(name: str) -> str:
    return " ".join(re.sub(r"\([^)]*\)", " ", name.replace("_", " ")).casefold().split())


@lru_cache(5_000)
def spoken(name: str) -> tuple[str, str]:
    """Return a header in spoken words, and its unit: ``area_km2`` is (area, km²), ``Winning team score`` has none."""
    unit = ""
    text = " ".join(re.sub(r"\s?\((?:s|es)\)", "", name.replace("_", " ")).split()).rstrip(":*†‡ ")
    in_brackets = re.fullmatch(r"(.+?)\s*[(\[]([^)\]]+)[)\]]", text)
    if in_brackets:
        inside = in_brackets[2].strip().removeprefix("in ")
        unit = _UNITS.get(inside.casefold(), "")
        if inside == "%":
            text, unit = f"{in_brackets[1]} percentage", ""
        elif unit:
            text = in_brackets[1]
        elif re.fullmatch(r"\d{4}", inside):
            text = f"{in_brackets[1]} in {inside}"
    words = text.split()
    if len(words) > 1 and words[-1] == "%":
        words[-1] = "percentage"
    if not unit and len(words) > 1 and words[-1].casefold() in _UNITS and words[-1] not in ("in", "s", "t", "g", "min"):
        unit, words = _UNITS[words[-1].casefold()], words[:-1]
    if len(words) > 1 and words[0].casefold() in ("num", "count", "number", "no.", "n", "#"):
        words = words[2:] if words[1].casefold() == "of" else words[1:]
    text = " ".join(words)
    whole = _WORDS.get(text.casefold(), "")
    text = whole or " ".join(_word(word) for word in text.split())
    return re.sub(r"(?<=\w)\s?/\s?(?=\w)", " or ", text), unit


def _word(word: str) -> str:
    """Return a word of a header as it is written within a sentence."""
    if word.casefold() in _WORDS and word.casefold() not in ("draw", "won", "lost", "played", "d", "w", "l"):
        return _WORDS[word.casefold()] or word
    if word.isupper() and len(word) > 1:
        return word
    folded = word.lower()
    is_known = english.is_common(folded.removesuffix("'s")) or folded in english.PREPOSITIONS
    return folded if is_known or "." in word else word


def is_speakable(noun: str) -> bool:
    """Return whether a header in words is a noun phrase that questions can use."""
    if noun.casefold() in _REMARKS:
        return False
    if not noun or not re.fullmatch(r"[^\W\d][\w'’ -]*(?: in \d{4})?", noun) or len(noun) > 40:
        return False
    words = re.sub(r" in \d{4}$", "", noun).split()
    is_short = any(len(word) < 3 and not word.isupper() and word not in english.PREPOSITIONS for word in words)
    if is_short or any(len(word) == 1 for word in words) or words[0] in english.PREPOSITIONS:
        return False
    last = words[-1]
    if english.is_participle(last):
        return True  # for years and dates; others cannot use it
    is_known = english.is_common(last) or last in _ACRONYMS
    return is_known and last not in english.PREPOSITIONS and english.is_nominal(last) and not english.is_verbal(last)
