"""Names that start with what is typed so far, from the terms of an index of whole names.

Walking all terms of a prefix takes 50 ms for one letter among two million names; a query of it that stops after 50
terms takes 0.1 ms (``PhrasePrefixQuery`` expands no more). So a short prefix is looked for as itself and with each
letter that may follow: not all names that start so, but of every kind, and always the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import tantivy
from numpy.typing import NDArray

from kbkit.stores.ids import Within, distinct, is_within

Ids = NDArray[np.int64]

_EXPANSIONS = 50
"""Terms that Tantivy tries in the place of a prefix."""
_FEW_DOCUMENTS = 100_000
_LONGEST = 60
"""Letters of a prefix that a regular expression is made of; it grows with them."""
_ENOUGH = {1: 10, 2: 50, 3: 200}
"""Nodes to choose from, by the letters of the prefix; with fewer all are looked for, which takes longest for one."""
_STEM_ENDINGS = 4
_NEXT = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Look:
    """An index to look into: ``hits(query, most)`` gives ids, ``only(within)`` is a query for these nodes."""

    schema: tantivy.Schema
    hits: Callable[[tantivy.Query, int], Ids]
    only: Callable[[NDArray[np.int64] | range], tantivy.Query]
    documents: int

    def all(self, query: tantivy.Query, within: Within, limit: int) -> Ids:
        """Sorted ids of up to ``limit`` nodes ``within``."""
        query = tantivy.Query.const_score_query(query, 0.0)
        if within is not None:
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, q) for q in (query, self.only(within))])
        return np.sort(self.hits(query, limit))


def starting(look: Look, field: str, phrase: str, typed: str, within: Within, limit: int) -> Ids:
    """Sorted ids of nodes with a term in ``field`` that starts with ``phrase``: the words of what was ``typed``."""
    if not phrase or limit < 1 or (within is not None and not len(within)):
        return np.empty(0, np.int64)
    if typed[-1].isalnum():
        return _starting(look, field, phrase, within, limit)
    whole = look.all(tantivy.Query.term_query(look.schema, field, phrase, "basic"), within, limit)
    return distinct(np.concatenate([whole, _starting(look, field, phrase + " ", within, limit)]))[:limit]


def _starting(look: Look, field: str, phrase: str, within: Within, limit: int) -> Ids:
    def some(prefix: str) -> Ids:
        return look.hits(tantivy.Query.phrase_prefix_query(look.schema, field, [prefix]), 20 * _EXPANSIONS)

    if len(phrase) > _LONGEST:
        found = some(phrase)
        return distinct(found[is_within(found, within)])[:limit]
    if look.documents > _FEW_DOCUMENTS:
        found = some(phrase)
        if len(found) >= _EXPANSIONS or len(phrase) < 3:
            found = distinct(np.concatenate([found, *(some(phrase + letter) for letter in following(phrase))]))
            kept = found[is_within(found, within)]
            # Few of a longer prefix share their next letter too: then all of them are not many.
            if len(kept) >= _ENOUGH[min(len(phrase), 3)] or (within is None and len(phrase) < 3):
                return kept[:limit]
    return distinct(look.all(tantivy.Query.regex_query(look.schema, field, phrase + ".*"), within, limit))


def following(phrase: str) -> str:
    """Letters that may follow in a name without accents: beside the Latin ones those near the last in Unicode."""
    last = ord(phrase[-1])
    near = range(last & ~63, (last & ~63) + 64) if last >= 128 else ()
    return " " * (not phrase.endswith(" ")) + _NEXT + "".join(c for c in map(chr, near) if c.isalnum())


def holding(look: Look, field: str, words: Sequence[str], written: Sequence[str], within: Within, limit: int) -> Ids:
    """Sorted ids of nodes that hold ``words`` (as the index has them) one after another, the last one or more of it.

    ``written`` are the words as typed. Stems may be shorter than what is typed (``universi`` is part of none), so the
    last word is tried shorter too.
    """
    if not words or limit < 1 or (within is not None and not len(within)):
        return np.empty(0, np.int64)
    before, last = list(words[:-1]), written[-1]
    shorter = [last[:end] for end in range(len(last), max(3, len(last) - _STEM_ENDINGS), -1)]
    whole = [_phrase(look.schema, field, [*before, word]) for word in dict.fromkeys([words[-1], *shorter])]
    parts = [tantivy.Query.phrase_prefix_query(look.schema, field, [*before, last]), *whole]
    return look.all(tantivy.Query.boolean_query([(tantivy.Occur.Should, q) for q in parts]), within, limit)


def _phrase(schema: tantivy.Schema, field: str, words: Sequence[str]) -> tantivy.Query:
    if len(words) == 1:
        return tantivy.Query.term_query(schema, field, words[0], "basic")
    return tantivy.Query.phrase_query(schema, field, list(words))
