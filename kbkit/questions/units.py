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


_OF_LABELS = (
    *("usd", "kusd", "musd", "eur", "keur", "meur", "gbp", "kgbp", "mgbp", "chf", "jpy", "cad", "aud", "sek", "nok"),
    *("dkk", "inr", "cny", "kt", "mt", "degc", "degf", "bpm", "mph", "kmh", "mmhg"),
)
"""Units that only names of columns have, which are not converted."""
UNITS = {
    **_units(
        "time",
        ms_msec_millisecond="1",
        sec_second="1000",
        min_minute="60000",
        hour_hr_hrs="3600000",
        day="86400000",
        week="604800000",
    ),
    **_units("length", nm_nanometer_nanometre="0.000001", um_micrometer_micrometre_micron="0.001"),
    **_units("length", mm_millimeter_millimetre="1", cm_centimeter_centimetre="10", meter_metre_m="1000"),
    **_units(
        "length",
        km_kms_kilometer_kilometre="1000000",
        mile="1609344",
        nmi="1852000",
        foot_feet_ft="304.8",
        inch_inche="25.4",
    ),
    **_units(
        "area", m2="1", ha_hectare="10000", km2="1000000", ft2="0.09290304", acre="4046.8564224", mi2="2589988.110336"
    ),
    **_units("volume", litre_liter="1", m3="1000", ft3="28.316846592", km3="1000000000000"),
    **_units("data", byte="1", kb_kilobyte="1000", mb_megabyte="1000000", gb_gigabyte="1000000000"),
    **_units("data", tb_terabyte="1000000000000"),
    **_units("frequency", hz_hertz="1", khz_kilohertz="1000", mhz_megahertz="1000000", ghz_gigahertz="1000000000"),
    **_units("power", kw_kilowatt="1000", mw_megawatt="1000000", gw_gigawatt="1000000000"),
    **_units("energy", kwh="1000", mwh="1000000", gwh="1000000000", twh="1000000000000"),
    **{form: MeasuringUnit(form, Decimal(1)) for form in _OF_LABELS},
    **_units("mass", mg_milligram="1", g_gram="1000", kg_kgs_kilogram_kilo="1000000", lb_lbs_pound="453592.37"),
}
"""Words for units, also the short ones that names of columns have: ``length_km``."""


_LENGTHS = {"k": "km", "m": "m", "mi": "mi", "f": "ft"}
_LENGTH = r"(?:kilomet(?:re|er)s?|km|met(?:re|er)s?|m|miles?|mi|feet|foot|ft)"
POWER = rf"nautical miles?\b|(?:square|sq\.?|cubic|cu\.?) {_LENGTH}\b|\b(?:km|mi|m|ft)[²³]"
"""A pattern of units of two words, as those of area and volume, or with an exponent."""


def short_power(written: str) -> str:
    """Return the short word for a unit that :data:`POWER` matches: ``km2`` for *square kilometres*."""
    first, _, last = written.lower().rpartition(" ")
    if first == "nautical":
        return "nmi"
    start = next(start for start in ("mi", "k", "m", "f") if last.startswith(start))
    return _LENGTHS[start] + ("2" if first.startswith("sq") or last.endswith("²") else "3")


def unit_of(words: list[str]) -> str:
    """Return the word for a unit that a label has as its only or its last word; empty if none."""
    return words[-1] if words and words[-1] in UNITS else ""


def converted(number: str, unit: str, other: str) -> str | None:
    """Return a number of one unit as a number of another; None if they measure other things."""
    source, target = UNITS[unit], UNITS[other]
    if source.measures != target.measures:
        return None
    return f"{(Decimal(number) * source.factor / target.factor).normalize():f}"


def is_other_unit(word: str, name: list[str]) -> bool:
    """Return whether a word is a unit, and an attribute whose name has these words is in another one."""
    if word not in UNITS:
        return False
    own = [UNITS[one] for one in name if one in UNITS and UNITS[one].measures == UNITS[word].measures]
    return bool(own) and UNITS[word] not in own
