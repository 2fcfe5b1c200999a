"""Retrievers for batches of queries: full text (BM25) and embeddings (dense, multivector)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kbkit.directory import systems
from kbkit.llm.threads import each
from kbkit.search.ranking import EMPTY, Ranking
from kbkit.search.settings import SearchSettings
from kbkit.stores import Stores, embedders
from kbkit.stores.arrays import Within
from kbkit.stores.lance_table import Matrix
from kbkit.stores.text import Text
from kbkit.stores.text_query import TextQuery
from kbkit.stores.vectors import Best, Vectors

MAX_CHUNKS = 1 << 30
MAX_CORRECTED = 16
"""Limit on the words of a query that are spell-checked."""

Retriever = Callable[[int], list[Ranking]]
"""Returns the best nodes of each query of a batch, up to a number."""


@dataclass(frozen=True)
class QueryBatch:
    """Queries with their embeddings: a row of ``vectors`` per query (no columns: not needed)."""

    queries: tuple[TextQuery, ...]
    vectors: Matrix

    @staticmethod
    def of(stores: Stores, queries: Sequence[TextQuery], settings: SearchSettings) -> QueryBatch:
        """Embed the queries, in one call for all retrievers."""
        if not (settings.uses("dense") or settings.uses("multivector")):
            return QueryBatch(tuple(queries), np.empty((len(queries), 0), np.float32))
        # A corrected query is embedded with its corrections: the words may be right, and unknown to the KB only.
        texts = [" ".join((query.text, *query.words)) for query in queries]
        return QueryBatch(tuple(queries), embedders.queries(stores.embedder, texts))

    def split(self) -> list[QueryBatch]:
        """Return a batch per query."""
        return [self.one(position) for position in range(len(self.queries))]

    def one(self, position: int) -> QueryBatch:
        """Return the batch of one query."""
        return QueryBatch(self.queries[position : position + 1], self.vectors[position : position + 1])


def build(stores: Stores, batch: QueryBatch, settings: SearchSettings) -> dict[str, Retriever]:
    """Return the retrievers of the mode by name."""
    within = settings.within
    known: dict[str, Retriever] = {
        "bm25": lambda k: bm25(stores.text, batch.queries, k, within, settings.fields, settings.mode != "bm25"),
        "dense": lambda k: dense(stores.vectors, batch.vectors, k, within),
        "multivector": lambda k: multivector(
            stores.vectors, batch.vectors, k, within, settings.average, settings.chunk_depth
        ),
    }
    return {name: known[name] for name in settings.retrievers}


def bm25(
    text: Text,
    queries: Sequence[TextQuery],
    k: int,
    within: Within,
    fields: Mapping[str, float] | None = None,
    superlatives: bool = False,
) -> list[Ranking]:
    """Return for each query the ``k`` nodes with the highest BM25 score of name and texts."""
    return each(lambda query: Ranking(*text.search(query, k, within, fields, superlatives)), queries, systems.cores())


def corrected(stores: Stores, query: TextQuery, fields: Mapping[str, float] | None = None) -> TextQuery:
    """Correct the spelling of a query if none of its words is in the index.

    A correction is an index word at Damerau-Levenshtein distance 1, or 2 for words of six letters or more.
    """
    words = stores.text.words(query.text)
    if query.required or not words or any(stores.text.frequency(word, fields) for word in words):
        return query
    closest = (_closest(stores, word, fields) for word in words[:MAX_CORRECTED] if len(word) >= 3)
    return dataclasses.replace(query, words=tuple(word for word in closest if word))


def _closest(stores: Stores, word: str, fields: Mapping[str, float] | None) -> str:
    """Return the closest index word; ties are broken by frequency (empty: none)."""
    limit, best = 2 if len(word) >= 6 else 1, ""
    for prefix in (word[:1], ""):  # the first letter is rarely misspelled
        distance, nearest = _nearest(stores, word, stores.text.vocabulary(prefix, fields), limit)
        if distance <= 1:
            return nearest
        if distance < limit or not best:
            limit, best = min(limit, distance), nearest
    return best


def _nearest(stores: Stores, word: str, known: Sequence[tuple[str, int]], limit: int) -> tuple[int, str]:
    """Return the distance and the word of the nearest of ``known`` (words with frequencies); limit + 1 if none."""
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
    """Return for each query (a row) the ``k`` nodes with the highest cosine similarity."""
    return _rankings(queries, vectors.search(_nonzero(queries), k, within))


def multivector(
    vectors: Vectors, queries: Matrix, k: int, within: Within, average: int = 3, depth: int = 0
) -> list[Ranking]:
    """Return the same as :func:`dense`, by the mean cosine of the ``average`` best chunks (STaRK, section 3.1; 0: all).

    With ``depth``, only that many best nodes of :func:`dense` are ranked, as in STaRK's code (50).
    """
    average = average or MAX_CHUNKS
    if not depth:
        return _rankings(queries, vectors.search_chunks(_nonzero(queries), k, within, average))
    asked = _nonzero(queries)
    near = (np.sort(ids) for ids, _ in vectors.search(asked, depth, within))
    hits = (next(vectors.search_chunks(row[None], k, ids, average)) for row, ids in zip(asked, near, strict=True))
    return _rankings(queries, hits)


def _nonzero(queries: Matrix) -> Matrix:
    """Return the nonzero rows: a query without words known to the model matches nothing."""
    return queries[np.any(queries != 0, axis=1)]


def _rankings(queries: Matrix, hits: Iterator[Best]) -> list[Ranking]:
    return [Ranking(*next(hits)) if is_nonzero else EMPTY for is_nonzero in np.any(queries != 0, axis=1)]
