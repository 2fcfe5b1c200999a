"""Tables of Wikimedia: its sites (``enwiki``: address, language, group), and units with their factors to SI units."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from kbkit.readers.wikidata.literals import language_tag, wiki_url


class Site(NamedTuple):
    """``address`` ends in ``/``, ``language`` is a language tag, ``group`` the value of ``wikibase:wikiGroup``."""

    address: str
    language: str
    group: str


_ALONE = {
    "commonswiki": ("commons.wikimedia.org", "commons"),
    "foundationwiki": ("foundation.wikimedia.org", "foundation"),
    "incubatorwiki": ("incubator.wikimedia.org", "incubator"),
    "mediawikiwiki": ("www.mediawiki.org", "mediawiki"),
    "metawiki": ("meta.wikimedia.org", "meta"),
    "outreachwiki": ("outreach.wikimedia.org", "outreach"),
    "sourceswiki": ("wikisource.org", "sources"),
    "specieswiki": ("species.wikimedia.org", "species"),
    "wikidatawiki": ("www.wikidata.org", "wikidata"),
    "wikifunctionswiki": ("www.wikifunctions.org", "wikifunctions"),
    "wikimaniawiki": ("wikimania.wikimedia.org", "wikimania"),
}
_GROUPS = ("wiktionary", "wikibooks", "wikinews", "wikiquote", "wikisource", "wikiversity", "wikivoyage", "wiki")
_CODE = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_MOVED = {"be-x-old": "be-tarask"}


@lru_cache(4096)
def site(name: str) -> Site | None:
    """Return the site with this id, or None if it is unknown."""
    if name in _ALONE:
        domain, group = _ALONE[name]
        return Site(f"https://{domain}/", "en", group)
    group = next((group for group in _GROUPS if name.endswith(group)), "")
    code = name.removesuffix(group).replace("_", "-")
    if not group or not _CODE.fullmatch(code):
        return None
    family = "wikipedia" if group == "wiki" else group
    tag = language_tag(code)
    return Site(f"https://{_MOVED.get(code, code)}.{family}.org/", tag, family)


def page(of: Site, title: str) -> str:
    """Return the address of a page."""
    return f"{of.address}wiki/{wiki_url(title.replace(' ', '_'))}"


# -- units ------------------------------------------------------------------------------------------------------------

BASE = frozenset(
    [
        "Q11573", "Q11570", "Q11574", "Q25272", "Q11579", "Q41509", "Q83216",  # m, kg, s, A, K, mol, cd
        "Q25343", "Q25517", "Q182429", "Q844211",  # m2, m3, m/s, kg/m3
        "Q12438", "Q44395", "Q25269", "Q25236", "Q25250", "Q39369", "Q25406", "Q47083", "Q33680",  # N, Pa, J, W, V, Hz,
    ]  # C, ohm, rad
)  # fmt: skip
"""Units that are already normalized."""

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
"""Unit -> (factor, base unit).

Wikidata's own table has thousands of units. This one has the common ones that are exact multiples; a quantity in
another unit has no normalized value.
"""


def normalized(amount: str, unit: str) -> tuple[str, str] | None:
    """Convert an amount (``+1.5``) to its base unit; return amount and unit, or None for a unit not in the table."""
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
