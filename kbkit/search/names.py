"""Nodes that a query names in full rank first, whatever the mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kbkit.search.ranking import QueryResult, Ranking
from kbkit.stores import Stores
from kbkit.stores.arrays import Within, is_within
from kbkit.stores.text_query import TextQuery

MAX_WORDS, MIN_LETTERS, LONG = 8, 5, 9
"""Misspelled names have up to eight words and five letters or more; with nine letters, two of them may be wrong."""
MAX_NODES = 50
"""Limit on the nodes of a misspelled name; more nodes of almost the same name are not what was meant."""

_LEAST = 1e-3
"""Least score of a named node above the best other hit, so that equal scores do not hide the order."""


def named(stores: Stores, query: TextQuery) -> NDArray[np.int64]:
    """Return the sorted ids of the nodes whose name, alias or key is the query.

    If there are none and a word of the query does not occur in the KB, return the nodes whose name is one or two
    letters away, or is the corrected query.
    """
    if not stores.has("nodes"):
        return np.empty(0, np.int64)
    found = stores.nodes.called(query.text)
    if not len(found) and stores.has("text"):
        found = _misspelled(stores, query)
    return found.astype(np.int64)


def _misspelled(stores: Stores, query: TextQuery) -> NDArray[np.int64]:
    words = stores.text.tokens(query.text) if len(query.text) <= 20 * MAX_WORDS else []
    letters = sum(len(word.plain) for word in words)
    if letters < MIN_LETTERS or len(words) > MAX_WORDS or all(stores.text.frequency(word.stem) for word in words):
        return np.empty(0, np.int64)
    near = stores.text.named_like([word.plain for word in words], 2 if letters >= LONG else 1, MAX_NODES + 1)
    if not len(near) and len(query.words) == len(words):
        near = np.union1d(
            stores.text.named(query.words, MAX_NODES + 1), stores.nodes.called(" ".join(query.words))
        ).astype(np.int64)
    return near if len(near) <= MAX_NODES else near[:0]


def names_first(
    result: QueryResult, found: NDArray[np.int64], within: Within, k: int, rank: Callable[[Within], QueryResult]
) -> QueryResult:
    """Put the nodes ``found`` first, by their scores, each increased by the score of the best other hit.

    Only candidates of ``within`` count. ``rank`` is called to rank nodes that are not among the hits.
    """
    found = found[is_within(found, within)]
    if not len(found):
        return result
    ranking = result.ranking
    same = np.isin(ranking.ids, found)
    if same.sum() == len(found) and same[: len(found)].all():  # they are first already
        return result._replace(named=found)
    own = (ranking if same.sum() == len(found) else rank(found).ranking).score_of(found)
    rest = Ranking(ranking.ids[~same], ranking.scores[~same])
    best = max(0.0, float(rest.scores[0])) if len(rest.scores) else 0.0
    first = Ranking.of(found, best + np.maximum(np.nan_to_num(own), _LEAST))
    both = (np.concatenate(parts) for parts in zip(first, rest, strict=True))
    return result._replace(ranking=Ranking(*both).cut(k), named=found)
