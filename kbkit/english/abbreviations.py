"""Expand the abbreviations in names of tables and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.words import PREPOSITIONS, lemmas_of

ABBREVIATIONS = {
    "acct": "account", "addr": "address", "amt": "amount", "avg": "average", "bal": "balance", "bdate": "birth date",
    "birthdate": "birth date", "catg": "category", "cnt": "count", "ctry": "country", "cust": "customer",
    "dept": "department", "desc": "description", "dest": "destination", "dlv": "delivery", "dob": "date of birth",
    "emp": "employee", "firstname": "first name", "fname": "first name", "grp": "group", "hq": "headquarters",
    "lang": "language", "lastname": "last name", "lic": "license", "lname": "last name", "loc": "location",
    "lvl": "level",
    "meth": "method", "mfr": "manufacturer", "mgr": "manager", "minit": "middle initial", "nbr": "number",
    "num": "number", "ord": "order", "org": "organization", "pax": "passengers", "pct": "percent", "pmt": "payment",
    "prc": "price", "prod": "product", "qty": "quantity", "sal": "salary", "stat": "status", "subj": "subject",
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


_LEAST_SHORT, _LONGER, _SHARE = 3, 2, 0.6
"""Letters of an abbreviation, how many more a word that begins so must have, and the share of consonants that stay."""
_UNLISTED = FUNCTION_WORDS | PREPOSITIONS | {"avg", "max", "min", "non", "nor", "per", "pre"}
"""Words that the dictionary lacks."""
_DOUBLE = re.compile(r"(?<=.)(.)\1+")


def stands_for(short: str, word: str) -> bool:
    """Return whether a word of a name may be short for an English word: its start, or most of its consonants.

    ``cond`` for *condition*, ``strt`` for *start*, ``ctr`` for *centre*.
    """
    if len(short) < _LEAST_SHORT or short[0] != word[:1] or not short.isalpha() or len(word) <= len(short):
        return False
    if word.startswith(short):
        return len(word) >= len(short) + _LONGER and _is_no_word(short)
    plain, consonants = _DOUBLE.sub(r"\1", short), _consonants(word)
    letters = iter(word)
    if not all(letter in letters for letter in plain):
        return False
    is_most = len(plain) >= _SHARE * len(consonants)
    return (is_most or consonants.startswith(plain)) and _is_no_word(short)


def _is_no_word(text: str) -> bool:
    return text not in _UNLISTED and not lemmas_of(text)


def shortened(word: str, known: Iterable[str]) -> str:
    """Return the one of some words of names that is short for a word of a question; empty if none is, or several."""
    found = {short for short in known if stands_for(short, word)}
    longest = [short for short in found if all(short.startswith(other) for other in found)]
    return longest[0] if longest else ""


def _consonants(word: str) -> str:
    """Return the first letter of a word and the consonants after it, without the *s* of plurals and without doubles."""
    return word[0] + re.sub("[aeiouy]", "", _DOUBLE.sub(r"\1", word.removesuffix("s"))[1:])
