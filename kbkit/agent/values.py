"""Values of Wikidata statements as text: times by their precision, quantities with units, entities with ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kbkit.agent.names import line, titled

_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(?:T.*)?", re.DOTALL)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
_EARTH = "Q2"
_DAY, _YEAR, _DECADE = 11, 9, 8
_SPANS = {7: (100, "century"), 6: (1000, "millennium")}
_NONE = {"novalue": "no value", "somevalue": "unknown value"}


def entities(row: Mapping[str, Any]) -> list[str]:
    """Return the ids in a statement or qualifier for which :func:`written` needs labels."""
    named = (row["property"], row["target"], row["unit"], row["globe"])
    return [name for name in named if name and name != "1"]


def written(row: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return the value of a statement or qualifier (a row of these tables) as text."""

    def named(key: str) -> str:
        return titled(labels.get(key, ""), key)

    if row["snak"] in _NONE:
        return _NONE[row["snak"]]
    if row["target"]:
        return named(row["target"])
    value, kind = line(row["value"] or ""), row["datatype"]
    if kind == "time":
        return time(value, row["precision"])
    if kind == "quantity" and row["unit"] not in (None, "", "1"):
        return f"{value} {named(row['unit'])}"
    if kind == "globe-coordinate" and row["globe"] not in (None, _EARTH):
        return f"{value} on {named(row['globe'])}"
    return f"{value} ({row['language']})" if kind == "monolingualtext" and row["language"] else value


def time(value: str, precision: int | None) -> str:
    """Return a time as text: ``4 February 2023``, ``1950s``, ``5th century BCE``; other values unchanged.

    ``precision`` is Wikibase's: 11 day, 10 month, 9 year, 8 decade, 7 century, 6 millennium, below that ten thousand
    years and more. Years BCE count as in XSD 1.1 (0000 is 1 BCE) if they are exact to the year, otherwise as written.
    """
    match = _TIME.fullmatch(value)
    if not match or (match[1] == "+" and not int(match[2])):
        return value
    year, month, day = int(match[2]), int(match[3]), int(match[4])
    exact = _DAY if precision is None else precision
    early = match[1] == "-" or (not year and exact >= _YEAR)
    return _in_words(year + (early and exact >= _YEAR), month, day, exact) + (" BCE" if early else "")


def _in_words(year: int, month: int, day: int, exact: int) -> str:
    dated = exact > _YEAR and 1 <= month <= 12
    if dated:
        return f"{f'{day} ' if exact >= _DAY and day else ''}{_MONTHS[month - 1]} {year}"
    if exact >= _YEAR:
        return str(year)
    if exact == _DECADE:
        return f"{year // 10 * 10}s"
    if exact in _SPANS:
        span, word = _SPANS[exact]
        return f"{_ordinal(-(-year // span) or 1)} {word}"
    return f"about the year {year:,}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
