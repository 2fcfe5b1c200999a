"""The retrievers: full text (BM25) and embeddings (dense, multivector), each for a batch of queries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kbkit.search.ranking import EMPTY, Ranking
from kbkit.search.settings import Settings
from kbkit.stores import Stores, embedders
from kbkit.stores.arrays import Within
from kbkit.stores.text import Text
from kbkit.stores.text_query import TextQuery
from kbkit.stores.threads import parallel
from kbkit.stores.vectors import Best, Matrix, Vectors

MOST_GUESSES = 16
"""Words of a query that are corrected."""

Leg = Callable[[int], list[Ranking]]
"""From a depth to a ranking for each query."""


@dataclass(frozen=True)
class Asked:
    """``vectors`` has a row for each of the ``queries``, and no column where no leg needs them."""

    queries: tuple[TextQuery, ...]
    vectors: Matrix

    @staticmethod
    def of(stores: Stores, queries: Sequence[TextQuery], settings: Settings) -> Asked:
        """Embed the queries, all at once and once for all legs."""
        if not (settings.uses("dense") or settings.uses("multivector")):
            return Asked(tuple(queries), np.empty((len(queries), 0), np.float32))
        return Asked(tuple(queries), embedders.queries(stores.embedder, [query.text for query in queries]))

    def one_by_one(self) -> list[Asked]:
        """Each query by itself."""
        return [Asked((query,), self.vectors[i : i + 1]) for i, query in enumerate(self.queries)]


def legs(stores: Stores, asked: Asked, settings: Settings) -> dict[str, Leg]:
    """The retrievers that the mode runs, each from a depth to a ranking for each query."""
    within = settings.within
    known: dict[str, Leg] = {
        "bm25": lambda depth: bm25(stores.text, asked.queries, depth, within, settings.fields),
        "dense": lambda depth: dense(stores.vectors, asked.vectors, depth, within),
        "multivector": lambda depth: multivector(stores.vectors, asked.vectors, depth, within, settings.average),
    }
    return {name: known[name] for name in settings.legs}


def bm25(
    text: Text, queries: Sequence[TextQuery], k: int, within: Within, fields: Mapping[str, float] | None = None
) -> list[Ranking]:
    """For each query the ``k`` nodes whose name and texts match its words best, by BM25."""
    return list(parallel(lambda query: Ranking(*text.search(query, k, within, fields)), queries))


def corrected(stores: Stores, query: TextQuery, fields: Mapping[str, float] | None = None) -> TextQuery:
    """The query itself where any of its words is in the index; otherwise with the closest words that are.

    Close is one letter away (added, left out, changed, or swapped with the next), or two for words of six or more.
    """
    words = stores.text.words(query.text)
    if query.required or not words or any(stores.text.frequency(word, fields) for word in words):
        return query
    found = (_closest(stores, word, fields) for word in words[:MOST_GUESSES] if len(word) >= 3)
    return dataclasses.replace(query, words=tuple(word for word in found if word))


def _closest(stores: Stores, word: str, fields: Mapping[str, float] | None) -> str:
    """The index word closest to ``word``, the most frequent of several; empty where none is close."""
    limit, best = 2 if len(word) >= 6 else 1, ""
    for prefix in (word[:1], ""):  # few misspell the first letter
        distance, found = _nearest(stores, word, stores.text.vocabulary(prefix, fields), limit)
        if distance <= 1:
            return found
        if distance < limit or not best:
            limit, best = min(limit, distance), found
    return best


def _nearest(stores: Stores, word: str, known: Sequence[tuple[str, int]], limit: int) -> tuple[int, str]:
    """The distance of the nearest of the ``known`` words (with their frequencies), and the word; most + 1 without."""
    import polars as pl

    schema = {"word": pl.String, "documents": pl.Int64}
    rows = stores.tables.lookup(
        "SELECT distance, word FROM (SELECT word, documents, damerau_levenshtein(word, $word) AS distance"
        " FROM kbkit_words WHERE abs(length(word) - length($word)) <= $limit) WHERE distance <= $limit"
        " ORDER BY distance, documents DESC, word LIMIT 1",
        {"word": word, "limit": limit},
        {"kbkit_words": pl.DataFrame(known, schema=schema, orient="row")},
    )
    return (int(rows["distance"][0]), str(rows["word"][0])) if rows.height else (limit + 1, "")


def dense(vectors: Vectors, queries: Matrix, k: int, within: Within) -> list[Ranking]:
    """For each query (a row) the ``k`` nodes whose vector has the highest cosine with it."""
    return _rankings(queries, vectors.search(_known(queries), k, within))


def multivector(vectors: Vectors, queries: Matrix, k: int, within: Within, average: int = 3) -> list[Ranking]:
    """The same, a long document scored by the mean cosine of its ``average`` best chunks (STaRK, section 3.1)."""
    return _rankings(queries, vectors.search_chunks(_known(queries), k, within, average))


def _known(queries: Matrix) -> Matrix:
    """The rows that are not 0: a query without a word that the model knows is like nothing."""
    return queries[np.any(queries != 0, axis=1)]


def _rankings(queries: Matrix, found: Iterator[Best]) -> list[Ranking]:
    return [Ranking(*next(found)) if one else EMPTY for one in np.any(queries != 0, axis=1)]
