"""How much the name of a column says that it refers to rows: what :mod:`chance` adds to the score of its values."""

from __future__ import annotations

import functools

from kbkit.english.dictionary import dictionary
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.chance import NEVER
from kbkit.ingestion.inference.looks import ProfiledColumn

_RELATIONAL = 2.5
_NEUTRAL = -1.0
_SHORTEST_STEM = 4
_PREPOSITIONS = frozenset(["at", "by", "for", "from", "in", "into", "of", "on", "to", "under", "via", "with"])
_PLACES = frozenset(["base", "destination", "home", "host", "location", "origin", "place", "seat", "site", "venue"])
_ROLES = frozenset(["assistant", "backup", "contact", "guide", "principal", "referee", "responsible"])
"""Adjectives and nouns for persons beside :data:`names.ROLES`."""
_SUPERIORS = frozenset(["boss", "buddy", "chief", "manager", "mentor", "partner", "referrer", "supervisor"])
_QUANTITIES = frozenset(
    ["age", "altitude", "amount", "area", "attendance", "balance", "bonus", "capacity", "cost", "count", "degree",
     "depth", "discount", "distance", "dose", "duration", "elevation", "fee", "floor", "fraction", "grade", "gain",
     "height", "hour", "index", "latitude", "length", "level", "limit", "longitude", "lot", "margin", "mileage",
     "minute", "number", "offset", "order", "percent", "percentage", "phase", "population", "position", "power",
     "price", "priority", "profit", "quantity", "qty", "quarter", "rate", "rating", "ratio", "revenue", "risk",
     "round", "salary", "score", "second", "severity", "share", "speed", "stage", "step", "stock", "sum",
     "temperature", "term", "tier", "total", "turnover", "value", "version", "volume", "wage", "weight", "width"]
)  # fmt: skip
"""Nouns for what numbers measure, count or rank."""


@functools.cache
def is_relational(column: str) -> bool:
    """Return whether a column is named as what relates its row to another one: a role (``captain``, ``keeper``), a
    verb (``follows``), or words that end in a preposition (``approved_by``, ``located_at``).
    """
    parts = names.words(column)
    if not parts or is_quantity(column):
        return False
    return is_verbal(column) or is_person(column) or not {*names.subject(column)[-1:]}.isdisjoint(_PLACES)


@functools.cache
def is_verbal(column: str) -> bool:
    """Return whether a column is named after a verb, or with words that end in a preposition."""
    parts = names.words(column)
    return bool(parts) and (parts[-1] in _PREPOSITIONS or _is_verb(parts[0]))


@functools.cache
def is_person(column: str) -> bool:
    """Return whether a column is named as a role of persons, or after who does something."""
    return _is_role(column) or any(map(_is_doer, names.subject(column)[-1:]))


def _is_role(column: str) -> bool:
    """Return whether a column is named as a known role of persons."""
    subject = names.subject(column)
    return not {" ".join(subject), *subject[-1:]}.isdisjoint(_ROLES | names.ROLES)


def is_superior(column: str) -> bool:
    """Return whether a column is named as a role that one person has for another, such as *manager*."""
    return " ".join(names.subject(column)) in _SUPERIORS


@functools.cache
def is_quantity(column: str) -> bool:
    """Return whether a column is named as one of amounts, counts, times or ranks."""
    parts = names.words(column)
    last = [names.singular(word) for word in parts[-1:]]
    return names.is_count(column) or any(word in _QUANTITIES or names.is_measure(word) for word in last)


def prior(column: ProfiledColumn) -> float:
    """Return what the name of a column adds to the score of its values."""
    counts = names.is_plural(column.name) and not is_verbal(column.name)
    if column.look == "integer" and (is_quantity(column.name) or counts):
        return NEVER
    # The table of a supplier_id may be none of these.
    of_kind = names.is_id(column.name) and is_person(column.name) and not _is_role(column.name)
    if (is_relational(column.name) and not of_kind) or (column.look != "integer" and _is_participle(column.name)):
        return _RELATIONAL
    return _NEUTRAL


def _is_verb(word: str) -> bool:
    """Return whether a word is a verb in the third person, and no noun."""
    lemmas = dictionary().getLemma
    return word.endswith("s") and bool(lemmas(word, "VERB", lemmatize_oov=False)) and not names.is_noun(word)


@functools.cache
def _is_participle(column: str) -> bool:
    """Return whether a column is named as what was done to the things in it: ``related``, ``people_involved``."""
    last = next(iter(names.words(column)[-1:]), "")
    return last.endswith("ed") and bool(dictionary().getLemma(last, "VERB", lemmatize_oov=False))


def _is_doer(word: str) -> bool:
    """Return whether a word is a noun for who does what a verb says: *keeper*, *organiser*."""
    if not word.endswith(("er", "or")) or not names.is_noun(word):
        return False
    stems = (stem for stem in (word[:-2], f"{word[:-2]}e") if len(stem) >= _SHORTEST_STEM)
    return any(dictionary().getLemma(stem, "VERB", lemmatize_oov=False) for stem in stems)
