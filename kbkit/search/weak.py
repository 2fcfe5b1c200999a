"""Weak hits: no word of the query occurs in them, and their similarity is that of random queries.

The most similar node of a KB has a high cosine with any query, so a cosine is judged by what meaningless queries reach.
These are pairs of words of the KB's own names with their letters shuffled, embedded by the KB's embedder; each has a
best cosine with a sample of the nodes, and the threshold is the 99th percentile of these.
"""

from __future__ import annotations

import random

import numpy as np

from kbkit.search.ranking import QueryResult
from kbkit.stores import Stores, embedders, folding
from kbkit.stores.arrays import Mask, distinct, is_in
from kbkit.stores.text_query import TextQuery

QUERIES, SAMPLE, PERCENTILE = 128, 16_384, 99
"""Random queries, nodes that they are compared with, and the percentile of their best cosines."""

_NAMES, _MIN_LETTERS = 1_000, 4
_BLOCKS = 16
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


class Threshold:
    """The cosine that a hit without a word of the query must exceed."""

    def __init__(self, stores: Stores) -> None:
        self.cosine = _threshold(stores)


def _threshold(stores: Stores) -> float:
    rows = stores.vectors.matrix
    vectors = embedders.queries(stores.embedder, random_queries(stores))
    # Blocks of rows, because scattered rows of a large file are slow to read.
    size = max(1, SAMPLE // _BLOCKS)
    starts = range(0, len(rows), max(size, len(rows) // _BLOCKS + 1))
    best = np.max([rows.between(start, start + size).products(vectors).max(axis=1) for start in starts], axis=0)
    return float(np.percentile(best, PERCENTILE))


def random_queries(stores: Stores) -> list[str]:
    """Return pairs of words of names with their letters shuffled; the same for the same KB."""
    drawn = random.Random(0)  # noqa: S311
    count = stores.schema.nodes
    sample = np.linspace(0, count - 1, min(count, _NAMES)).astype(int)
    names = [stores.nodes.row(node).name for node in sample.tolist()]
    known = sorted({word for name in names for word in folding.words(name).split() if len(word) >= _MIN_LETTERS})
    words = [word for word in known if word.isalpha()] or [_ALPHABET[i : i + 6] for i in range(20)]
    shuffled = ("".join(drawn.sample(word, len(word))) for word in drawn.choices(words, k=2 * QUERIES))
    return [f"{first} {second}" for first, second in zip(shuffled, shuffled, strict=True)]


def weak(stores: Stores, query: TextQuery, result: QueryResult, known: bool) -> Mask:
    """Return a mask of the weak hits of a query; ``known``: a word of the query occurs in the KB.

    The threshold of a model behind an endpoint takes a request, so it is computed for queries without known words only,
    and other queries have no weak hits.
    """
    ids = result.ranking.ids
    similar = [part.score_of(ids, -1.0) for name, part in result.components.items() if name in ("dense", "multivector")]
    if not similar or not len(ids) or (known and embedders.is_remote(stores.embedder)):
        return np.zeros(len(ids), bool)
    trusted = [part for name, part in result.components.items() if name in ("bm25", "relational", "graph")]
    strong = is_in(ids, distinct(np.concatenate([result.named, *(part.ids for part in trusted)])))
    if strong.all():
        return ~strong
    best = np.max(similar, axis=0)
    rest: Mask = ~strong & (best <= stores.shared(Threshold).cosine)
    if rest.any() and stores.has("text"):
        with_word, _ = stores.text.search(TextQuery(query.text, (), query.words), len(ids), np.sort(ids[rest]))
        rest &= ~is_in(ids, np.sort(with_word))
    return rest


def has_known_word(stores: Stores, query: TextQuery) -> bool:
    """Return whether a word of the query, or its correction, occurs in the KB; True without a text index."""
    if query.words or not stores.has("text"):
        return True
    return any(stores.text.frequency(word) for word in stores.text.words(query.text))
