"""Units that Wikidata converts to those of the International System, which ``psn:`` and its kin lead to.

Wikidata's own table has some thousands; here stand the units that are exact multiples and in common use. A quantity in
another unit has no normalized value.
"""

from __future__ import annotations

from decimal import Decimal

BASE = frozenset(
    [
        "Q11573", "Q11570", "Q11574", "Q25272", "Q11579", "Q41509", "Q83216",  # m, kg, s, A, K, mol, cd
        "Q25343", "Q25517", "Q182429", "Q844211",  # m2, m3, m/s, kg/m3
        "Q12438", "Q44395", "Q25269", "Q25236", "Q25250", "Q39369", "Q25406", "Q47083", "Q33680",  # N, Pa, J, W, V, Hz,
    ]  # C, ohm, rad
)  # fmt: skip
"""Units that are their own normal form."""

FACTORS = {
    unit: (Decimal(factor), base)
    for unit, factor, base in (
        ("Q828224", "1000", "Q11573"),  # kilometre
        ("Q174728", "0.01", "Q11573"),  # centimetre
        ("Q174789", "0.001", "Q11573"),  # millimetre
        ("Q218593", "0.0254", "Q11573"),  # inch
        ("Q3710", "0.3048", "Q11573"),  # foot
        ("Q482798", "0.9144", "Q11573"),  # yard
        ("Q253276", "1609.344", "Q11573"),  # mile
        ("Q93318", "1852", "Q11573"),  # nautical mile
        ("Q1811", "149597870700", "Q11573"),  # astronomical unit
        ("Q531", "9460730472580800", "Q11573"),  # light-year
        ("Q41803", "0.001", "Q11570"),  # gram
        ("Q191118", "1000", "Q11570"),  # tonne
        ("Q100995", "0.45359237", "Q11570"),  # pound
        ("Q7727", "60", "Q11574"),  # minute
        ("Q25235", "3600", "Q11574"),  # hour
        ("Q573", "86400", "Q11574"),  # day
        ("Q23387", "604800", "Q11574"),  # week
        ("Q712226", "1000000", "Q25343"),  # square kilometre
        ("Q35852", "10000", "Q25343"),  # hectare
        ("Q11582", "0.001", "Q25517"),  # litre
    )
}
"""Unit -> (factor, base unit)."""


def normalized(amount: str, unit: str) -> tuple[str, str] | None:
    """An amount (``+1.5``) and its unit in the base unit; None for a unit that is not in the table."""
    if unit in BASE:
        return amount, unit
    if unit not in FACTORS:
        return None
    factor, base = FACTORS[unit]
    return _times(amount, factor), base


def _times(amount: str, factor: Decimal) -> str:
    sign, digits, exponent = Decimal(amount).as_tuple()
    _, by, scale = factor.as_tuple()
    assert isinstance(exponent, int)
    assert isinstance(scale, int)
    number = int("".join(map(str, digits))) * int("".join(map(str, by)))
    text = format(Decimal((sign, tuple(map(int, str(number))), exponent + scale)), "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if text.startswith("-") else "+" + text
