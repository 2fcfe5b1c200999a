"""Prefix search in names, for completion.

Enumerating all terms with a prefix takes 50 ms for one letter and two million names; ``PhrasePrefixQuery`` stops after
50 terms and takes 0.1 ms. A short prefix is therefore searched alone and followed by each likely letter: the result is
a deterministic sample of the matching names, spread over the alphabet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import tantivy
from numpy.typing import NDArray

from kbkit.stores.arrays import Within, distinct, is_within

Ids = NDArray[np.int64]

_EXPANSIONS = 50
"""Number of terms that Tantivy expands a prefix to."""
_FEW_DOCUMENTS = 100_000
_MAX_REGEX = 60
"""Maximum length of a prefix that is searched as a regular expression, which grows with it."""
_ENOUGH = {1: 10, 2: 50, 3: 200}
"""Sample sizes, by length of the prefix, below which all names are searched; slowest for one letter."""
_STEM_ENDINGS = 4
_NEXT = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Index:
    """Access to an index: ``hits(query, limit)`` returns ids, ``only(within)`` a query that matches these nodes."""

    schema: tantivy.Schema
    hits: Callable[[tantivy.Query, int], Ids]
    only: Callable[[NDArray[np.int64] | range], tantivy.Query]
    documents: int

    def all(self, query: tantivy.Query, within: Within, limit: int) -> Ids:
        """Return the sorted ids of up to ``limit`` matching candidates."""
        query = tantivy.Query.const_score_query(query, 0.0)
        if within is not None:
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, q) for q in (query, self.only(within))])
        return np.sort(self.hits(query, limit))


def starting(index: Index, field: str, phrase: str, typed: str, within: Within, limit: int) -> Ids:
    """Return the sorted ids of nodes with a term in ``field`` that starts with ``phrase``, the words of ``typed``."""
    if not phrase or limit < 1 or (within is not None and not len(within)):
        return np.empty(0, np.int64)
    if typed[-1].isalnum():
        return _starting(index, field, phrase, within, limit)
    whole = index.all(tantivy.Query.term_query(index.schema, field, phrase, "basic"), within, limit)
    return distinct(np.concatenate([whole, _starting(index, field, phrase + " ", within, limit)]))[:limit]


def _starting(index: Index, field: str, phrase: str, within: Within, limit: int) -> Ids:
    def some(prefix: str) -> Ids:
        return index.hits(tantivy.Query.phrase_prefix_query(index.schema, field, [prefix]), 20 * _EXPANSIONS)

    if len(phrase) > _MAX_REGEX:
        found = some(phrase)
        return distinct(found[is_within(found, within)])[:limit]
    if index.documents > _FEW_DOCUMENTS:
        found = some(phrase)
        if len(found) >= _EXPANSIONS or len(phrase) < 3:
            found = distinct(np.concatenate([found, *(some(phrase + letter) for letter in following(phrase))]))
            candidates = found[is_within(found, within)]
            # If a longer prefix has few hits even with each next letter, searching all its names is cheap.
            if len(candidates) >= _ENOUGH[min(len(phrase), 3)] or (within is None and len(phrase) < 3):
                return candidates[:limit]
    return distinct(index.all(tantivy.Query.regex_query(index.schema, field, phrase + ".*"), within, limit))


def following(phrase: str) -> str:
    """Return the likely next letters of a name: space, ASCII, and the Unicode neighbours of the last letter."""
    last = ord(phrase[-1])
    near = range(last & ~63, (last & ~63) + 64) if last >= 128 else ()
    return " " * (not phrase.endswith(" ")) + _NEXT + "".join(c for c in map(chr, near) if c.isalnum())


def holding(index: Index, field: str, words: Sequence[str], written: Sequence[str], within: Within, limit: int) -> Ids:
    """Return the sorted ids of nodes with the consecutive index ``words``, the last one possibly incomplete.

    ``written`` are the words as typed. Stems may be shorter than an incomplete word (no stem starts with ``universi``),
    so the last word is also tried with up to four letters removed.
    """
    if not words or limit < 1 or (within is not None and not len(within)):
        return np.empty(0, np.int64)
    before, last = list(words[:-1]), written[-1]
    shorter = [last[:end] for end in range(len(last), max(3, len(last) - _STEM_ENDINGS), -1)]
    whole = [_phrase(index.schema, field, [*before, word]) for word in dict.fromkeys([words[-1], *shorter])]
    parts = [tantivy.Query.phrase_prefix_query(index.schema, field, [*before, last]), *whole]
    return index.all(tantivy.Query.boolean_query([(tantivy.Occur.Should, q) for q in parts]), within, limit)


def _phrase(schema: tantivy.Schema, field: str, words: Sequence[str]) -> tantivy.Query:
    if len(words) == 1:
        return tantivy.Query.term_query(schema, field, words[0], "basic")
    return tantivy.Query.phrase_query(schema, field, list(words))
