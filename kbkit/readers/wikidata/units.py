"""Normalize quantities to base units, as Wikibase does (``psn:``, ``wikibase:quantityNormalized``).

Wikibase multiplies in decimal arithmetic by the factor of its table, exact or not, and rounds a quantity with bounds to
the order of its uncertainty. Its table has 1,700 units; this one has the most common ones, with factors from their
definitions. A quantity in another unit has no normalized value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

BASE = frozenset(
    [
        "Q11573", "Q11570", "Q11574", "Q25272", "Q11579", "Q41509", "Q83216",  # m, kg, s, A, K, mol, cd
        "Q25343", "Q25517", "Q182429", "Q844211", "Q1051665", "Q794261",  # m2, m3, m/s, kg/m3, m/s2, m3/s
        "Q12438", "Q44395", "Q25269", "Q25236", "Q25250", "Q39369", "Q25406", "Q47083", "Q33680",  # N, Pa, J, W, V, Hz,
        "Q102573", "Q131255", "Q163343", "Q163354", "Q169893", "Q170804", "Q177612", "Q179836",  # C, ohm, rad, Bq, F,
        "Q484092", "Q103246", "Q190095", "Q28924753", "Q6137407", "Q199",  # T, H, S, Wb, sr, lx, lm, Sv, Gy, kg/mol,
    ]  # 1/s, 1
)  # fmt: skip
"""Units that are already normalized."""

_PI = "3.14159265358979323846264338327950288419716939937510582097494459"
_DIVISION = Context(prec=40)

_MULTIPLES = {
    "Q11573": {  # metre
        "Q828224": "1000", "Q200323": "0.1", "Q174728": "0.01", "Q174789": "0.001",  # km, dm, cm, mm
        "Q175821": "1E-6", "Q178674": "1E-9", "Q192274": "1E-12", "Q81454": "1E-10",  # micrometre, nm, pm, angstrom
        "Q218593": "0.0254", "Q3710": "0.3048006", "Q482798": "0.9144", "Q253276": "1609.344",  # inch, foot, yard, mile
        "Q93318": "1852", "Q6502423": "1.8288", "Q494083": "201.168",  # nautical mile, fathom, furlong
        "Q1811": "149597870700", "Q531": "9460800000000000",  # astronomical unit, light-year
    },
    "Q11570": {  # kilogram
        "Q41803": "0.001", "Q3241121": "1E-6", "Q1645498": "1E-9", "Q191118": "1000",  # g, mg, microgram, tonne
        "Q48013": "0.028349523125", "Q100995": "0.45359237", "Q1131660": "6.35029318",  # ounce, pound, stone
        "Q261247": "0.0002",  # carat
    },
    "Q11574": {  # second
        "Q7727": "60", "Q25235": "3600", "Q573": "86400", "Q23387": "604800",  # minute, hour, day, week
        "Q577": "31536000", "Q217208": "31557600",  # year, Julian year
        "Q723733": "0.001", "Q842015": "1E-6", "Q838801": "1E-9",  # ms, microsecond, ns
    },
    "Q25343": {  # square metre
        "Q712226": "1000000", "Q35852": "10000", "Q185078": "100", "Q2489298": "0.0001",  # km2, hectare, are, cm2
        "Q2737347": "1E-6", "Q81292": "4046.8564224", "Q857027": "0.09290304",  # mm2, acre, square foot
        "Q232291": "2589988.110336",  # square mile
    },
    "Q25517": {  # cubic metre
        "Q11582": "0.001", "Q2332346": "1E-6", "Q2029519": "0.1", "Q1022113": "1E-6",  # l, ml, hl, cm3
        "Q4243638": "1000000000",  # km3
    },
    "Q182429": {  # metre per second
        "Q180154": "1/3.6", "Q3674704": "1000", "Q748716": "0.3048", "Q211256": "0.44704",  # km/h, km/s, ft/s, mph
        "Q128822": "1852/3600",  # knot
    },
    "Q844211": {"Q13147228": "1000", "Q834105": "1"},  # kilogram per cubic metre: g/cm3, g/l
    "Q28924753": {"Q28924752": "0.001"},  # kilogram per mole: g/mol
    "Q12438": {"Q56402798": "1000"},  # newton: kN
    "Q44395": {  # pascal
        "Q5139563": "100", "Q21064807": "1000", "Q103510": "100000", "Q3495543": "100",  # hPa, kPa, bar, millibar
        "Q177974": "101325",  # standard atmosphere
    },
    "Q25269": {  # joule
        "Q4989854": "1000", "Q14786969": "1000000", "Q26708069": "4184",  # kJ, MJ, kilocalorie
        "Q182098": "3600000", "Q6009164": "3600000000", "Q2051195": "3600000000000",  # kWh, MWh, GWh
    },
    "Q25236": {  # watt
        "Q3207456": "0.001", "Q3320608": "1000", "Q6982035": "1000000", "Q5879479": "1000000000",  # mW, kW, MW, GW
        "Q160857": "735.49875",  # metric horsepower
    },
    "Q25250": {"Q2554092": "1000"},  # volt: kV
    "Q25272": {"Q2490574": "0.001"},  # ampere: mA
    "Q39369": {"Q2143992": "1000", "Q732707": "1000000", "Q3276763": "1000000000"},  # hertz: kHz, MHz, GHz
    "Q33680": {  # radian
        "Q28390": f"{_PI}/180", "Q209426": f"{_PI}/10800", "Q829073": f"{_PI}/648000",  # degree, minute, second of arc
    },
    "Q199": {"Q11229": "0.01", "Q181011": "0.001", "Q605704": "12"},  # one: per cent, per mille, dozen
}  # fmt: skip


def _quotient(factor: str) -> Decimal:
    above, _, below = factor.partition("/")
    return _DIVISION.divide(Decimal(above), Decimal(below or 1))


FACTORS = {unit: (_quotient(factor), base) for base, units in _MULTIPLES.items() for unit, factor in units.items()}
"""Unit -> (factor, base unit).

A foot, a year and a light-year are those of the query service: the American foot, and 365 days.
"""

_EXACT = Context(prec=600)
_MAX_LENGTH = 126  # of a number in Wikibase, without its sign
_ENGINE_DIGITS = 18  # after the decimal point of a number that Oxigraph computes with
_MIN_DIGITS = 9  # significant ones that remain if a number is shortened to that
_FLOAT_ERROR = 0.0000000005  # that Wikibase allows for when it determines an order of magnitude


def normalized(amounts: Sequence[str | None], unit: str) -> tuple[list[str | None], str] | None:
    """Convert an amount (``+1.5``), its upper and its lower bound to the base unit.

    Returns the numbers and the base unit, or None for a unit that the table does not have.
    """
    if unit in BASE:
        return list(amounts), unit
    if unit not in FACTORS:
        return None
    factor, base = FACTORS[unit]
    numbers = [None if amount is None else _product(amount, factor) for amount in amounts]
    amount, upper, lower = numbers
    if amount is not None and upper is not None and lower is not None:
        exponent = _order_of_uncertainty(amount, upper, lower)
        numbers = [_rounded(number, exponent) for number in (amount, upper, lower)]
    return [None if number is None else _text(number) for number in numbers], base


@lru_cache(1 << 14)
def _product(amount: str, factor: Decimal) -> Decimal:
    """Multiply; zeros at the end count as digits."""
    number = _EXACT.multiply(Decimal(amount), factor)
    whole = len(format(abs(number), "f").partition(".")[0])
    return _rounded(number, -max(0, _MAX_LENGTH - whole - 1))


def _order_of_uncertainty(amount: Decimal, upper: Decimal, lower: Decimal) -> int:
    """Return the exponent of the last significant digit, computed with doubles as in Wikibase."""
    precision = min(float(amount) - float(lower), float(upper) - float(amount))
    if precision <= 0:
        return min(_exponent(amount), 0)
    return math.floor(math.log10(precision + _FLOAT_ERROR))


def _rounded(number: Decimal, exponent: int) -> Decimal:
    """Round half away from zero to a multiple of a power of ten; Wikibase makes 0 of a number with fewer digits."""
    if _exponent(number) >= exponent:
        return number
    if exponent > 0 and exponent >= len(format(abs(number), "f").partition(".")[0]):
        return Decimal(0)
    return number.quantize(Decimal(1).scaleb(exponent), ROUND_HALF_UP, _EXACT)


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # it is finite
    return exponent


def _text(number: Decimal) -> str:
    """Return a number with its sign, shortened to what the engine can compute with if that keeps enough digits."""
    if number and number.adjusted() >= _MIN_DIGITS - _ENGINE_DIGITS - 1:
        number = _rounded(number, -_ENGINE_DIGITS)
    text = format(number, "f")
    return text if text.startswith("-") and number else "+" + text.removeprefix("-")
