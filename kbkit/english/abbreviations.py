"""Expand the abbreviations in names of tables and columns."""

from __future__ import annotations

from collections.abc import Sequence

ABBREVIATIONS = {
    "acct": "account", "addr": "address", "amt": "amount", "avg": "average", "bal": "balance", "bdate": "birth date",
    "birthdate": "birth date", "catg": "category", "cnt": "count", "ctry": "country", "cust": "customer",
    "dept": "department", "desc": "description", "dest": "destination", "dlv": "delivery", "dob": "date of birth",
    "emp": "employee", "firstname": "first name", "fname": "first name", "grp": "group",
    "lang": "language", "lastname": "last name", "lname": "last name", "loc": "location", "lvl": "level",
    "meth": "method", "mfr": "manufacturer", "mgr": "manager", "minit": "middle initial", "nbr": "number",
    "num": "number", "ord": "order", "org": "organization", "pct": "percent", "pmt": "payment", "prc": "price",
    "prod": "product", "qty": "quantity", "sal": "salary", "subj": "subject",
    "surname": "last name", "tel": "telephone", "tot": "total", "txn": "transaction", "typ": "type", "veh": "vehicle",
    "vend": "vendor", "whse": "warehouse", "wk": "week", "yr": "year",
}  # fmt: skip
"""The words that questions use for abbreviated words of a name."""
_LAST = {"cd": "code", "dt": "date", "ln": "line", "nm": "name", "no": "number", "nr": "number"}
"""Abbreviations that are expanded only as the last of several words: ``order_no``."""


_NANOMETRES = frozenset(
    "absorption bandwidth diameter emission excitation fwhm peak thickness wave wavelength wavelengths".split()  # noqa: SIM905
)
"""Words after which ``nm`` is a unit: ``wavelength_nm``, but ``cust_nm``."""


def in_nanometres(words: Sequence[str]) -> bool:
    """Return whether the last of the lower-case words of a name is ``nm`` for nanometres rather than *name*."""
    return words[-1:] == ["nm"] and words[-2:-1] != [] and words[-2] in _NANOMETRES


def expanded(words: Sequence[str]) -> list[str]:
    """Return the words of a lower-case name with abbreviations expanded: ``cust nm`` gives *customer name*."""
    last = len(words) - 1 - in_nanometres(list(words))
    known = (
        _LAST.get(word, word) if 0 < at == last else ABBREVIATIONS.get(word, word) for at, word in enumerate(words)
    )
    return [word for text in known for word in ABBREVIATIONS.get(text, text).split()]
