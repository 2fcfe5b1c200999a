"""Units of measure: numbers of a question in the unit of the attribute that they compare with."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple


class MeasuringUnit(NamedTuple):
    """A unit: what it measures, and how many of the smallest unit it is."""

    measures: str
    factor: Decimal


def _units(measures: str, **factors: str) -> dict[str, MeasuringUnit]:
    return {
        form: MeasuringUnit(measures, Decimal(factor))
        for words, factor in factors.items()
        for word in words.split("_")
        for form in (word, f"{word}s" if len(word) > 2 else word)
    }


UNITS = {
    **_units("time", ms_msec_millisecond="1", sec_second="1000", min_minute="60000", hour_hr="3600000", day="86400000"),
    **_units("length", mm_millimeter_millimetre="1", cm_centimeter_centimetre="10", meter_metre_m="1000"),
    **_units("length", km_kilometer_kilometre="1000000", mile="1609344", foot_feet_ft="304.8", inch_inche="25.4"),
    **_units("mass", mg_milligram="1", g_gram="1000", kg_kilogram_kilo="1000000", lb_pound="453592.37"),
}
"""Words for units, also the short ones that names of columns have: ``length_km``."""


def unit_of(words: list[str]) -> str:
    """Return the word for a unit that a label has as its only or its last word; empty if none."""
    return words[-1] if words and words[-1] in UNITS else ""


def converted(number: str, unit: str, other: str) -> str | None:
    """Return a number of one unit as a number of another; None if they measure other things."""
    source, target = UNITS[unit], UNITS[other]
    if source.measures != target.measures:
        return None
    return f"{(Decimal(number) * source.factor / target.factor).normalize():f}"
