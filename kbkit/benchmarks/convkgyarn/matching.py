"""Does an answer match one of the correct ones? Normalized names, numbers with units, and dates.

The paper has a model judge this (:mod:`kbkit.benchmarks.convkgyarn.judge`); here the rules are exact:

* Names and texts are equal to a name or alias after folding case, accents and punctuation, and without an article and
  without a part in parentheses.
* Numbers differ by at most 1 percent, after units of length and area are converted. Whole numbers below 100, and whole
  numbers from 1000 to 2100 without a unit (which may be years), must be equal.
* Dates have the same day, month and year as far as the correct date gives them, or are one day apart. A year alone does
  not match a full date.

One matching item of a list is enough, as in the paper. An item that does not match as a whole is also split at commas,
semicolons, bars and "and".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from kbkit.benchmarks.convkgyarn.conversations import Turn, TurnAnswer
from kbkit.stores.folding import words

TOLERANCE = 0.01
"""Relative difference of numbers that match."""
_SMALL, _YEARS = 100, range(1000, 2101)
_ARTICLE = re.compile(r"^(?:the|an?) (?=.)")
_PARENTHESES = re.compile(r"\s*\([^()]*\)")
_SPLIT = re.compile(r"\s*(?:,|;|\||\band\b|&)\s*", re.IGNORECASE)
_GROUPING = ",\u00a0\u2009\u202f "
"""Characters that separate groups of three digits."""
_NUMBER = re.compile(
    rf"(?<![\w.])([-+]?\d{{1,3}}(?:[{_GROUPING}]\d{{3}})+(?:\.\d+)?|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)", re.IGNORECASE
)
_SCALES = {"hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9,
           "trillion": 1e12}  # fmt: skip
_LENGTH = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "metre": 1.0, "meter": 1.0, "km": 1e3, "kilometre": 1e3, "kilometer": 1e3,
           "mi": 1609.344, "mile": 1609.344, "ft": 0.3048, "foot": 0.3048, "feet": 0.3048, "in": 0.0254,
           "inch": 0.0254, "yd": 0.9144, "yard": 0.9144}  # fmt: skip
_AREA = {"m2": 1.0, "km2": 1e6, "ha": 1e4, "hectare": 1e4, "mi2": 2589988.110336, "acre": 4046.8564224}
_SQUARES = ("sq", "square")
_MONTHS = {name: number for number, name in enumerate(
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)}  # fmt: skip
_ISO = re.compile(r"^([-+]?\d{1,6})(?:-(\d{2}))?(?:-(\d{2}))?(?:T.*)?( \(BC\))?$")
"""A date of ISO 8601, or DuckDB's text of one before Christ."""


def matches(candidates: Sequence[str], turn: Turn) -> bool:
    """Return whether one of the candidates matches one of the turn's correct answers."""
    return any(
        matches_one(part, answer, turn.kind, turn.unit)
        for candidate in candidates
        for part in _parts(candidate, turn.kind)
        for answer in turn.answers
    )


def matches_one(candidate: str, answer: TurnAnswer, kind: str, unit: str = "") -> bool:
    """Return whether a candidate matches a correct answer of a ``kind`` (see ``KINDS``)."""
    if folded(candidate) and folded(candidate) in _names(answer):
        return True
    if kind == "number":
        return _same_number(candidate, answer.value or answer.text, unit)
    if kind == "date":
        return _same_date(candidate, answer.value or answer.text)
    return False


@lru_cache(maxsize=100_000)
def folded(text: str) -> str:
    """Return the form in which equal answers are equal: words without accents, articles and parentheses."""
    plain = _PARENTHESES.sub("", text).strip() or text
    return _ARTICLE.sub("", words(plain)) if plain.strip() else ""


def _names(answer: TurnAnswer) -> set[str]:
    return {folded(name) for name in (answer.text, *answer.aliases)} - {""}


def _parts(candidate: str, kind: str) -> Iterable[str]:
    """Yield a candidate, and its parts if it lists several names."""
    yield candidate
    if kind in ("entity", "text"):
        parts = [part for part in _SPLIT.split(candidate) if part]
        if len(parts) > 1:
            yield from parts


# -- numbers ----------------------------------------------------------------------------------------------------------


class Quantity(NamedTuple):
    """A number, in metres or square metres if ``dimension`` is length or area, else as written."""

    value: float
    dimension: str = ""


def quantity(text: str, unit: str = "") -> Quantity | None:
    """Return the first number of a text with its unit (default: ``unit``); None if there is none.

    >>> quantity("about 1,230 km"), quantity("2.5 million")
    (Quantity(value=1230000.0, dimension='length'), Quantity(value=2500000.0, dimension=''))
    """
    match = _NUMBER.search(text.replace("−", "-"))
    if match is None:
        return None
    value = float(re.sub(f"[{_GROUPING}]", "", match[1]))
    following = text[match.end() :].replace("²", "2").casefold()
    rest = [word.rstrip("s") if len(word) > 2 else word for word in re.findall(r"[^\W\d_]+2?", following)]
    known = _LENGTH if unit.casefold() in _LENGTH else {}
    if rest and rest[0] in _SCALES and not (rest[0] == "m" and known):
        value *= _SCALES[rest.pop(0)]
    own = f"{rest[1]}2" if len(rest) > 1 and rest[0] in _SQUARES else rest[0] if rest else ""
    own = {"mile2": "mi2", "kilometre2": "km2", "kilometer2": "km2", "metre2": "m2", "meter2": "m2"}.get(own, own)
    named = own if own in _LENGTH or own in _AREA else unit.casefold().replace("²", "2")
    for dimension, units in (("length", _LENGTH), ("area", _AREA)):
        if named in units:
            return Quantity(value * units[named], dimension)
    return Quantity(value)


def _same_number(candidate: str, correct: str, unit: str) -> bool:
    ours, gold = quantity(candidate, unit), quantity(correct, unit)
    if ours is None or gold is None or ours.dimension != gold.dimension:
        return False
    whole = gold.value.is_integer() and not gold.dimension
    if whole and (abs(gold.value) < _SMALL or (not unit and int(gold.value) in _YEARS)):
        return ours.value == gold.value
    return abs(ours.value - gold.value) <= TOLERANCE * abs(gold.value)


# -- dates ------------------------------------------------------------------------------------------------------------


class Day(NamedTuple):
    """A date; ``month`` and ``day`` are None if they are not given. Years before Christ are negative."""

    year: int
    month: int | None = None
    day: int | None = None


def parse_date(text: str) -> Day | None:
    """Return the date of a text in English or ISO 8601; None if there is none.

    >>> parse_date("12 May 1820"), parse_date("1820-05"), parse_date("44 BC")
    (Day(year=1820, month=5, day=12), Day(year=1820, month=5, day=None), Day(year=-44, month=None, day=None))
    """
    text = text.strip()
    iso = _ISO.match(text)
    if iso:
        month, day = (int(part) if part and int(part) else None for part in (iso[2], iso[3]))
        year = -int(iso[1]) if iso[4] else int(iso[1]) - (int(iso[1]) < 1)  # in ISO 8601, 1 BC is the year 0
        return Day(year, month, day if month else None)
    before = bool(re.search(r"\bb\.?\s?c", text, re.IGNORECASE))
    tokens = [word.casefold() for word in re.findall(r"[^\W\d_]+|\d+", re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", text))]
    month = next((_MONTHS[word[:3]] for word in tokens if _is_month(word)), None)
    numbers = [int(word) for word in tokens if word.isdecimal() and len(word) < 7]
    days = [number for number in numbers if number <= 31] if month else []
    day = days[0] if days and len(numbers) > 1 else None
    years = [number for position, number in enumerate(numbers) if day is None or position != numbers.index(day)]
    if not years or (month is None and len(numbers) > 1):
        return None
    return Day(-years[-1] if before else years[-1], month, day)


def _is_month(word: str) -> bool:
    full = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december")  # fmt: skip
    return word[:3] in _MONTHS and (word in full or len(word) == 3 or word == "sept")


def _same_date(candidate: str, correct: str) -> bool:
    ours, gold = parse_date(candidate), parse_date(correct)
    if ours is None or gold is None:
        return False
    if gold.day is not None and ours.day is not None:
        first, second = _ordinal(ours), _ordinal(gold)
        return first is not None and second is not None and abs(first - second) <= 1
    return all(theirs is None or own == theirs for own, theirs in zip(ours, gold, strict=True))


def _ordinal(day: Day) -> int | None:
    """Return the number of the day; None for an invalid date. Years before 1 are shifted by whole cycles of 400."""
    try:
        return date(day.year % 400 + 400, day.month or 1, day.day or 1).toordinal() + (day.year // 400) * 146_097
    except ValueError:
        return None
