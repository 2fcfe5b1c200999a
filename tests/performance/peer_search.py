"""Search by others over the same documents: bm25s, rank_bm25, numpy, and LanceDB's own full text and hybrid."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kbkit
from tests.performance import data
from tests.performance.report import Figure
from tests.performance.search import BUDGET, K, recall, timed
from tests.performance.timing import disk_mb, times

INDEX_FROM = 1_000
"""Rows from which an index of LanceDB can be trained; it pays from then on."""
PROBES = 20
"""Partitions that LanceDB looks at: more neither found more nor took longer, on 50,000 rows."""


def path(scale: float, engine: str) -> Path:
    return data.folder() / f"documents-{scale}.{engine.replace(', ', '-')}"


def build(scale: float, engine: str) -> None:
    """Write an engine's index where it is not there, with the seconds it took beside it."""

    def write(place: Path) -> None:
        place.mkdir()
        seconds = _build_bm25s(scale, place) if engine == "bm25s" else _build_lancedb(scale, place, engine)
        (place / "seconds.json").write_text(json.dumps(seconds))

    if engine != "rank_bm25":  # which keeps nothing on disk
        data.made(path(scale, engine), write)


def _words(scale: float) -> list[list[str]]:
    """Documents as words without stop words: bm25s and rank_bm25 leave that to their users."""
    from kbkit.stores.text_query import STOP_WORDS

    stop = set(STOP_WORDS)
    return [[word for word in text.split() if word not in stop] for text in data.texts(scale)]


def _build_bm25s(scale: float, place: Path) -> float:
    import bm25s

    started = time.perf_counter()
    index = bm25s.BM25(backend="numba", k1=1.2, b=0.75)
    index.index(_words(scale), show_progress=False)
    index.save(str(place / "index"))
    return time.perf_counter() - started


def bm25s(scale: float, engine: str) -> Iterator[Figure]:
    """numba, the index in memory, as its authors advise for speed."""
    import bm25s

    queries, places = data.asked(scale)
    place = path(scale, engine)
    index = bm25s.BM25.load(str(place / "index"), backend="numba")
    depth = min(K, index.scores["num_docs"])

    def search(query: str) -> Any:
        return index.retrieve([query.split()], k=depth, show_progress=False)[0][0]

    yield Figure("building the full-text index", json.loads((place / "seconds.json").read_text()), "s")
    yield timed("BM25, top 100", search, queries, places, disk_mb=disk_mb(place / "index"))


def rank_bm25(scale: float, engine: str) -> Iterator[Figure]:
    """Which scores every document for every query."""
    import rank_bm25

    queries, places = data.asked(scale)
    started = time.perf_counter()
    index = rank_bm25.BM25Okapi(_words(scale), k1=1.2, b=0.75)
    yield Figure("building the full-text index", time.perf_counter() - started, "s", note="loads all into memory")

    def search(query: str) -> Any:
        scores = index.get_scores(query.split())
        best = np.argpartition(-scores, K)[:K]
        return best[np.argsort(-scores[best])]

    yield timed("BM25, top 100", search, queries[:50], places[:50])


def exact(scale: float, engine: str) -> Iterator[Figure]:
    """numpy: the whole matrix times the vector, float32, mapped into memory."""
    queries, places = data.asked(scale)
    with kbkit.open(data.documents_kb(scale)) as kb:
        vectors, matrix = kb.embedder.embed(queries), np.asarray(kb.vectors.matrix)

    def search(vector: Any) -> Any:
        scores = matrix @ vector
        best = np.argpartition(-scores, K)[:K]
        return best[np.argsort(-scores[best])]

    yield timed("dense, top 100", search, list(vectors), places, disk_mb=matrix.nbytes / 1e6, extra={"recall@100": 1.0})


# -- LanceDB -----------------------------------------------------------------------------------------------------------


def _build_lancedb(scale: float, place: Path, engine: str) -> float:
    """One table with the texts and the KB's vectors, a full-text index, and one of vectors.

    IVF_FLAT compares whole vectors, IVF_RQ a few bits of them first, which pays where there are many. IVF_PQ finds less
    and takes a minute to build; without an index a query takes ten times as long.
    """
    import lancedb
    import pyarrow as pa
    from lancedb.index import FTS, IvfFlat, IvfRq

    with kbkit.open(data.documents_kb(scale)) as kb:
        matrix = np.asarray(kb.vectors.matrix)
        started = time.perf_counter()
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])
        rows = {"id": np.arange(len(matrix), dtype=np.int32), "text": data.texts(scale), "vector": vectors}
        table = lancedb.connect(str(place / "lance")).create_table("documents", pa.table(rows))
        table.create_index("text", config=FTS())
        if len(matrix) >= INDEX_FROM:
            index = IvfRq if engine.endswith("IVF_RQ") else IvfFlat
            table.create_index("vector", config=index(distance_type="cosine"))
    return time.perf_counter() - started


def lancedb(scale: float, engine: str) -> Iterator[Figure]:
    """Its full text, and its vectors."""
    queries, places = data.asked(scale)
    place = path(scale, engine)
    yield Figure("building the full-text and vector index", json.loads((place / "seconds.json").read_text()), "s",
                 disk_mb=disk_mb(place / "lance"))  # fmt: skip
    table = _table(place)
    with kbkit.open(data.documents_kb(scale)) as kb:
        vectors, matrix = kb.embedder.embed(queries), np.asarray(kb.vectors.matrix)

        def words(query: str) -> Any:
            found = table.search(query, query_type="fts").select(["id", "_score"]).limit(K).to_arrow()
            return found.column("id").to_numpy()

        def dense(vector: Any) -> Any:
            asked = table.search(vector).distance_type("cosine").nprobes(PROBES).refine_factor(10)
            return asked.select(["id", "_distance"]).limit(K).to_arrow().column("id").to_numpy()

        yield timed("BM25, top 100", words, queries, places)
        share = recall(dense, vectors, matrix)
        yield timed("dense, top 100", dense, list(vectors), places, extra={"recall@100": share})


def lancedb_hybrid(scale: float, engine: str) -> Iterator[Figure]:
    """Both, fused by rank, as its hybrid search does it."""
    from lancedb.rerankers import RRFReranker

    queries, places = data.asked(scale)
    table, reranker = _table(path(scale, engine)), RRFReranker()
    with kbkit.open(data.documents_kb(scale)) as kb:
        embedder = kb.embedder

        def hybrid(query: str) -> Any:
            [vector] = embedder.embed([query])
            asked = table.search(query_type="hybrid").vector(vector).text(query).distance_type("cosine").nprobes(PROBES)
            asked = asked.refine_factor(10).rerank(reranker).select(["id"]).limit(K)
            return asked.to_arrow().column("id").to_numpy()

        yield timed("hybrid, top 100", hybrid, queries, places)
        median, high, _ = times(lambda q: embedder.embed([q]), queries, BUDGET)
        yield Figure("embedding the query (part of hybrid)", median, p95=high)


def _table(place: Path) -> Any:
    import lancedb as lance

    return lance.connect(str(place / "lance")).open_table("documents")
