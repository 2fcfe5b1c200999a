"""kbkit's search over invented documents: BM25, dense, hybrid; whole calls; within candidates; many at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import kbkit
from kbkit.kb import KnowledgeBase
from kbkit.search.hybrid import Search
from kbkit.search.learn import RankedPair, learn
from kbkit.search.learned import SessionRanking
from kbkit.search.settings import LEARNED, SearchSettings
from kbkit.stores.text_query import TextQuery
from tests.performance import data
from tests.performance.report import Figure
from tests.performance.timing import disk_mb, times

K = 100
BUDGET = 20.0
GOALS = {"hybrid": 12.0}
"""Milliseconds of a whole call with 500,000 documents."""
Ids = Callable[[Any], Sequence[int]]
"""From a query to the ids of what was found, best first."""


def timed(what: str, search: Ids, queries: Sequence[Any], places: Sequence[int], **more: Any) -> Figure:
    """One figure; ``found`` is the share of queries whose document is among the first 20."""
    found = [list(search(query)[:20]) for query in queries]
    share = np.mean([place in ids for place, ids in zip(places, found, strict=True)])
    median, high, _ = times(search, queries, BUDGET)
    extra = {"found": float(share)} | more.pop("extra", {})
    return Figure(what, median, p95=high, extra=extra, **more)


def exact(matrix: Any, vectors: Any) -> list[Any]:
    """The 100 best rows for each vector, by exact cosine."""
    return [np.argpartition(-(matrix @ vector), K)[:K] for vector in vectors]


def recall(search: Ids, vectors: Any, matrix: Any) -> float:
    """The share of the truly best 100 that a search finds, over the first 50 vectors."""
    wanted = exact(matrix, vectors[:50])
    right = [len(np.intersect1d(search(v), best)) for v, best in zip(vectors[:50], wanted, strict=True)]
    return float(np.mean(right)) / K


def bm25(scale: float, engine: str) -> Iterator[Figure]:
    queries, places = data.asked(scale)
    with kbkit.open(data.documents_kb(scale)) as kb:
        size, taken = disk_mb(kb.folder / "text"), kb.manifest.stores["text"].seconds
        yield Figure("building the full-text index", taken, "s", note="while other stores were built")
        yield timed("BM25, top 100", lambda q: kb.text.search(TextQuery(q), K)[0], queries, places,
                    goal=5.0, disk_mb=size)  # fmt: skip


def dense(scale: float, engine: str) -> Iterator[Figure]:
    """From a vector to ids, as the peers do it."""
    queries, places = data.asked(scale)
    with kbkit.open(data.documents_kb(scale)) as kb:
        vectors = kb.embedder.embed(queries)

        def search(vector: Any) -> Any:
            return next(iter(kb.vectors.search(vector[None, :], K)))[0]

        share = recall(search, vectors, np.asarray(kb.vectors.matrix))
        size = disk_mb(kb.folder / "vectors")
        yield timed("dense, top 100", search, list(vectors), places, disk_mb=size, extra={"recall@100": share})


def hybrid(scale: float, engine: str) -> Iterator[Figure]:
    """From words to ids, the embedding of the query included."""
    queries, places = data.asked(scale)
    with kbkit.open(data.documents_kb(scale)) as kb:
        settings = SearchSettings("hybrid", K)

        def search(query: str) -> Any:
            return Search(kb.session, settings, None).retrieve([TextQuery(query)])[0].ranking.ids

        yield timed("hybrid, top 100", search, queries, places, goal=15.0)


def stores(scale: float, engine: str) -> Iterator[Figure]:
    """Seconds and size of each store of the documents."""
    with kbkit.open(data.documents_kb(scale)) as kb:
        for name, store in kb.manifest.stores.items():
            yield Figure(f"building {name}", store.seconds, "s", disk_mb=disk_mb(*kb.folder.glob(f"{name}*")))


def whole(scale: float, engine: str) -> Iterator[Figure]:
    """Whole calls of ``kb.search`` in one mode, the last word of ``engine``, in a process that does nothing else.

    The ranking of mode ``learned`` is fitted to the first half of the queries, the second half is timed. ``CPU ms`` is
    the mean of a query in all threads.
    """
    queries, places = data.asked(scale)
    mode, half = engine.rsplit(maxsplit=1)[-1], len(queries) // 2
    with kbkit.open(data.documents_kb(scale)) as kb:
        if mode == LEARNED:
            pairs = [RankedPair(text, frozenset((place,))) for text, place in zip(queries, places, strict=True)]
            kb.stores.shared(SessionRanking).ranking = learn(kb.stores, pairs[:half], keep=False)
        for text in queries[:3]:
            kb.search(text, mode=mode)
        used = time.process_time()
        median, high, runs = times(lambda text: kb.search(text, mode=mode), queries[half:], BUDGET)
        extra = {"CPU ms": 1000 * (time.process_time() - used) / (runs + 1)}
        yield Figure("kb.search, 20 hits with snippets", median, p95=high, goal=GOALS.get(mode), extra=extra)


def more(scale: float, engine: str) -> Iterator[Figure]:
    """What has no peer: searches within candidates, many at once."""
    queries, _ = data.asked(scale)
    with kbkit.open(data.documents_kb(scale)) as kb:
        yield from within(kb, queries[:50])
        yield from many(kb, queries)


def within(kb: KnowledgeBase, queries: list[str]) -> Iterator[Figure]:
    drawn = np.random.default_rng(7)
    for count, goal in ((10, 2.0), (1_000, None), (100_000, 60.0)):
        if count > kb.schema.nodes:
            continue
        ids = np.sort(drawn.choice(kb.schema.nodes, count, replace=False))
        for leg, action in (
            ("BM25", lambda q, ids=ids: kb.text.search(TextQuery(q), K, ids)),
            ("dense", lambda q, ids=ids: list(kb.vectors.search(kb.embedder.embed([q]), K, ids))),
        ):
            median, high, _ = times(action, queries, BUDGET)
            yield Figure(f"{leg} within {count:,} scattered ids, top 100", median, p95=high, goal=goal)
        median, high, _ = times(lambda q, ids=ids: kb.search(q, k=20, within=ids), queries, BUDGET)
        yield Figure(f"kb.search hybrid within {count:,}, 20 hits", median, p95=high)


def many(kb: KnowledgeBase, queries: list[str]) -> Iterator[Figure]:
    for mode in ("bm25", "dense", "hybrid"):
        started = time.perf_counter()
        kb.search_many(queries, k=K, mode=mode)
        each = 1000 * (time.perf_counter() - started) / len(queries)
        yield Figure(f"kb.search_many {mode}, top 100, each of {len(queries)}", each)
