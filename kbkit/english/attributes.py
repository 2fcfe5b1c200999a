"""Attributes in words: a noun, the unit of its numbers, and whether it counts things."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from kbkit.english.abbreviations import expanded, in_nanometres
from kbkit.english.words import is_common, spoken
from kbkit.schema import Attribute


class Unit(NamedTuple):
    """A unit of measurement: as written after a number (``km²``), and in words (``square kilometres``)."""

    symbol: str
    words: str


UNITS = {
    "km": Unit("km", "kilometres"), "m": Unit("m", "metres"), "cm": Unit("cm", "centimetres"),
    "mm": Unit("mm", "millimetres"), "mi": Unit("mi", "miles"), "ft": Unit("ft", "feet"),
    "km2": Unit("km²", "square kilometres"), "km3": Unit("km³", "cubic kilometres"),
    "m2": Unit("m²", "square metres"), "m3": Unit("m³", "cubic metres"), "mi2": Unit("mi²", "square miles"),
    "ha": Unit("ha", "hectares"), "kg": Unit("kg", "kilograms"), "g": Unit("g", "grams"), "t": Unit("t", "tonnes"),
    "mg": Unit("mg", "milligrams"), "kb": Unit("kB", "kilobytes"), "mb": Unit("MB", "megabytes"),
    "gb": Unit("GB", "gigabytes"), "lb": Unit("lb", "pounds"), "s": Unit("s", "seconds"),
    "c": Unit("°C", "degrees Celsius"),
    "feet": Unit("feet", "feet"), "miles": Unit("miles", "miles"), "inches": Unit("inches", "inches"),
    "metres": Unit("m", "metres"), "meters": Unit("m", "metres"), "kilometres": Unit("km", "kilometres"),
    "kilometers": Unit("km", "kilometres"),
    "mw": Unit("MW", "megawatts"), "kw": Unit("kW", "kilowatts"), "kmh": Unit("km/h", "kilometres per hour"),
    "seconds": Unit("seconds", "seconds"), "minutes": Unit("minutes", "minutes"), "hours": Unit("hours", "hours"),
    "days": Unit("days", "days"), "years": Unit("years", "years"), "usd": Unit("US dollars", "US dollars"),
    "eur": Unit("euros", "euros"), "gbp": Unit("pounds", "pounds"), "percent": Unit("percent", "percent"),
}  # fmt: skip
"""Units by the last word of an attribute's name."""
_NANOMETRES, _MINUTES = Unit("nm", "nanometres"), Unit("minutes", "minutes")
_TIMES = frozenset(("duration", "length", "runtime", "time"))
"""Words after which ``min`` is a unit: ``duration_min``."""
EXPANDED = {"max": "maximum", "min": "minimum", "avg": "average"}
"""Abbreviations in names of attributes."""
_LOCATED = {"base": "is", "headquarters": "are", "home": "is", "main office": "is", "office": "is", "seat": "is"}
"""Attributes whose values are places where a thing has it, and their verb."""
_WHOLE = {"gross": "gross revenue"}
ACRONYMS = frozenset(("doi", "eu", "gdp", "id", "imdb", "isbn", "uk", "un", "url", "us"))
"""Words of names in lower case that are abbreviations."""
_INTEGERS = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"))
_NUMBER_OF = frozenset(("num", "number", "count", "n"))


_POPULARITY = frozenset(
    (
        "downloads", "followers", "likes", "listeners", "listens", "plays", "ratings", "reviews", "subscribers",
        "views", "visits", "votes",
    )
)  # fmt: skip


class AttributeWords(NamedTuple):
    """An attribute in words: ``noun``, ``unit`` (None: none), and what it ``counts`` (``votes``; "" if nothing)."""

    noun: str
    unit: Unit | None = None
    counts: str = ""


def attribute_words(attribute: Attribute) -> AttributeWords:
    """Return an attribute in words: ``max_depth_m`` is the maximum depth in metres, ``num_votes`` counts votes."""
    return words_of_name(attribute.label or attribute.name)


def is_flag(attribute: Attribute) -> bool:
    """Return whether an attribute says by its name whether something holds: *is_radioactive*, true or false, 1 or 0."""
    first, _, rest = words_of_name(attribute.label or attribute.name).noun.partition(" ")
    return bool(rest) and first in ("is", "was", "has") and (attribute.type in ("BOOLEAN", *_INTEGERS))


def is_popularity(noun: str) -> bool:
    """Return whether a noun counts the people who noticed a thing: *votes*, *page views*.

    A condition on them is a lower bound; they are not added up.
    """
    return noun.rpartition(" ")[2].casefold() in _POPULARITY


def located(noun: str) -> str:
    """Return *are* or *is* for what a thing has in a place: *whose headquarters are in Bonn*; "" for others."""
    return _LOCATED.get(noun.casefold(), "")


@lru_cache(10_000)
def words_of_name(name: str) -> AttributeWords:
    """Return the name or label of an attribute in words."""
    words = spoken(name).split(" ")
    if len(words) > 1 and words[0].casefold() in _NUMBER_OF:
        counts = _expanded(words[2:] if words[1] == "of" and len(words) > 2 else words[1:])
        return AttributeWords(f"number of {counts}", None, counts)
    is_letter = len(words[-1]) == 1 and "_" not in name  # vitamin C
    unit = UNITS.get(words[-1].casefold()) if len(words) > 1 and not is_letter else None
    unit = (
        _MINUTES
        if len(words) > 1 and [*map(str.casefold, words[-2:])][-1] == "min" and words[-2].casefold() in _TIMES
        else unit
    )
    unit = _NANOMETRES if in_nanometres([word.casefold() for word in words]) else unit
    return AttributeWords(_expanded(words[:-1] if unit else words), unit)


def _expanded(words: Sequence[str]) -> str:
    if len(words) == 1 and words[0].istitle() and is_common(words[0].lower()):
        words = [words[0].lower()]
    if all(word.islower() for word in words):
        words = expanded(words)
    text = " ".join(word.upper() if word in ACRONYMS else EXPANDED.get(word.casefold(), word) for word in words)
    return _WHOLE.get(text, text)
