"""Headings of attributes and relations in words, and their values as a page shows them."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

from kbkit.english.attributes import words_of_name
from kbkit.english.relations import Link
from kbkit.english.types import type_plural
from kbkit.english.verbs import verb_phrase
from kbkit.english.words import PREPOSITIONS, spoken
from kbkit.schema import Relation, Schema

LARGE = 10_000
"""Numbers from here on have separators; smaller ones may be years."""
_EARLIEST, _LATEST = 1_000, 2_200
_CODES = frozenset(("code", "id", "isbn", "key", "number", "phone", "postcode", "zip"))
"""Last words of the names of attributes whose numbers are not quantities."""


def attribute_heading(name: str) -> str:
    """Return the name or label of an attribute in words, with the unit in parentheses: *maximum depth (m)*."""
    words = words_of_name(name)
    return f"{words.noun} ({words.unit.symbol})" if words.unit else words.noun


def figure(name: str, value: Any, least: int = LARGE) -> Any:
    """Return the value of an attribute as a page shows it: numbers from ``least`` with separators; others as they are.

    Numbers that are not quantities (``zip_code``) are left as they are.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_quantity(name):
        return value
    if abs(value) < least or not math.isfinite(value):
        return value
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}".rstrip("0")


def is_quantity(name: str) -> bool:
    """Return whether the numbers of an attribute are quantities or years, not codes (``zip_code``)."""
    return re.split(r"[\W_]+", name.lower())[-1] not in _CODES


def least_separated(name: str, least: float, most: float) -> int:
    """Return the number from which those of a column, which are from ``least`` to ``most``, have separators.

    A column of numbers that may all be years has none.
    """
    may_be_years = least >= _EARLIEST and most <= _LATEST
    return LARGE if may_be_years or "year" in re.split(r"[\W_]+", name.lower()) else 1_000


@lru_cache(10_000)
def relation_words(relation: Relation) -> str:
    """Return a relation's label, or its name, in words: *acted in*."""
    return spoken(relation.label or relation.name)


def relation_label(schema: Schema, name: str) -> str:
    """Return a relation as a verb (*is tagged with the keyword*) if all its pairs of types have one, else in words."""
    relation = schema.relation(name)
    verbs = {_verb(relation, pair.head, pair.tail, True) for pair in relation.signatures}
    return (verbs.pop() if len(verbs) == 1 else "") or relation_words(relation)


def relation_heading(schema: Schema, name: str, subject: str, other: str, *, of_head: bool) -> str:
    """Return a heading for the neighbours of type ``other`` that a node of type ``subject`` has by a relation.

    ``of_head``: the node is the head. *was directed by*, *countries that have a coast on it*.
    """
    return _heading(schema.relation(name), subject, other, of_head)


def relation_verb(schema: Schema, name: str, subject: str, other: str, *, of_head: bool) -> str:
    """Return what a node of type ``subject`` does to one of type ``other`` by a relation (*was directed by*), or ""."""
    return _verb(schema.relation(name), subject, other, of_head)


@lru_cache(10_000)
def _verb(relation: Relation, subject: str, other: str, of_head: bool) -> str:
    link = Link(relation, subject, other, of_head=of_head)
    verb = link.verb
    if link.is_record:  # the name of the relation says more than *is listed for*
        named = verb_phrase(link.label)
        verb = named if of_head or named is None else named.inverse()
    return verb.singular if verb is not None and "{}" not in verb.singular else ""


@lru_cache(10_000)
def _heading(relation: Relation, subject: str, other: str, of_head: bool) -> str:
    if verb := _verb(relation, subject, other, of_head):
        return verb
    words = relation_words(relation)
    if of_head or relation.symmetric:
        return words
    phrase = relation.phrase(other, of_head=True)
    is_record = Link(relation, subject, other, of_head=False).is_record
    active = None if is_record else verb_phrase(phrase or words)
    if active is None or "{}" in active.singular:
        return f"{type_plural(other)}: {words}"
    ends_open = active.singular.rpartition(" ")[2] in PREPOSITIONS
    return f"{type_plural(other)} that {active.plural}{' it' if ends_open else ''}"
