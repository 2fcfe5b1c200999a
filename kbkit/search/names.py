"""Nodes that a query names in full rank first, whatever the mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kbkit.search.ranking import EMPTY, QueryResult, Ranking
from kbkit.stores import Stores
from kbkit.stores.arrays import Within, is_in, is_within
from kbkit.stores.text import Word
from kbkit.stores.text_query import TextQuery

MAX_WORDS, MIN_LETTERS, LONG = 8, 5, 9
"""Misspelled names have up to eight words and five letters or more; with nine letters, two of them may be wrong."""
MAX_NODES = 50
"""Limit on the nodes of a misspelled name; more nodes of almost the same name are not what was meant."""

_LEAST = 1e-3
"""Least score of a named node above the best other hit, so that equal scores do not hide the order."""
_ARTICLE = "the"
_MAX_LETTERS = 1_000
_MIN_STEM = 4
"""Shortest stem that stands for a name: "volcanoes" names "volcano", but "used" does not name "use"."""


def named(stores: Stores, query: TextQuery) -> NDArray[np.int64]:
    """Return the sorted ids of the nodes whose name, alias or key is the query.

    If there are none, try the query with or without the article "the"; then names with the same stems; then, if a word
    of the query does not occur in the KB, names one or two letters away, and the corrected query.
    """
    text = query.text.strip()
    if not stores.has("nodes") or len(text) > _MAX_LETTERS:
        return EMPTY.ids
    exact = stores.nodes.called(text)
    exact = exact if len(exact) else stores.nodes.named(_other_article(text))
    if len(exact) or not stores.has("text"):
        return exact.astype(np.int64)
    words = stores.text.tokens(text)
    if not 0 < len(words) <= MAX_WORDS:
        return EMPTY.ids
    ids = _stemmed(stores, words)
    return ids if len(ids) else _misspelled(stores, query, words)


def _other_article(text: str) -> str:
    first, _, rest = text.partition(" ")
    return rest if rest and first.lower() == _ARTICLE else f"{_ARTICLE} {text}"


def _stemmed(stores: Stores, words: Sequence[Word]) -> NDArray[np.int64]:
    """Return the nodes of a name with the same stems, unless one is short or there are too many nodes."""
    if min(len(word.stem) for word in words) < _MIN_STEM:
        return EMPTY.ids
    return _few(stores.text.named([word.stem for word in words], MAX_NODES + 1))


def _misspelled(stores: Stores, query: TextQuery, words: Sequence[Word]) -> NDArray[np.int64]:
    """Return the nodes of almost the same name, if a word does not occur in the KB."""
    plain = [word.plain for word in words]
    letters = sum(map(len, plain))
    unknown = [word.plain for word in words if not stores.text.frequency(word.stem)]
    # Another number is another name: "Apollo 12" is not a misspelled "Apollo 11".
    if letters < MIN_LETTERS or not unknown or any(letter.isdigit() for word in unknown for letter in word):
        return EMPTY.ids
    for phrase in (plain, [_ARTICLE, *plain]):
        ids = _few(stores.text.named_like(phrase, 2 if letters >= LONG else 1, MAX_NODES + 1))
        if len(ids):
            return ids
    if len(query.words) != len(words):
        return EMPTY.ids
    stemmed = stores.text.named(query.words, MAX_NODES + 1)
    return _few(np.union1d(stemmed, stores.nodes.called(" ".join(query.words))).astype(np.int64))


def _few(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    return ids if len(ids) <= MAX_NODES else EMPTY.ids


def names_first(
    result: QueryResult,
    nodes: NDArray[np.int64],
    within: Within,
    k: int,
    rank: Callable[[Within], QueryResult],
    *,
    apart: bool = False,
) -> QueryResult:
    """Put ``nodes`` first, by their scores, each increased by the score of the best other hit.

    Only candidates of ``within`` count. ``rank`` is called to rank nodes that are not among the hits; with ``apart``,
    for all, so that scaled scores do not depend on the number of hits.
    """
    nodes = nodes[is_within(nodes, within)]
    if not len(nodes):
        return result
    ranking = result.ranking
    same = is_in(ranking.ids, nodes)
    if not apart and same.sum() == len(nodes) and same[: len(nodes)].all():  # they are first already
        return result._replace(named=nodes)
    own = (ranking if same.sum() == len(nodes) and not apart else rank(nodes).ranking).score_of(nodes, 0.0)
    rest = Ranking(ranking.ids[~same], ranking.scores[~same])
    best = max(0.0, float(rest.scores[0])) if len(rest.scores) else 0.0
    first = Ranking.of(nodes, best + np.maximum(own, _LEAST))
    both = (np.concatenate(parts) for parts in zip(first, rest, strict=True))
    return result._replace(ranking=Ranking(*both).cut(k), named=nodes)
