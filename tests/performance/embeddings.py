"""Graph embeddings: the time to build them, and how well they predict edges that were held out.

A tenth of the distinct edges is removed, and the embeddings are computed from the rest. For each removed edge and both
of its ends, all nodes of the other end's type are ranked, without those that are known to be joined to this end by the
relation. ``hits@10`` is the share of removed edges whose other end is among the first ten, ties at their mean rank:

* inner product: with the embedding of this end
* votes: the inner products of the twenty most related nodes of the same type that have the edge, summed
* degree: the number of remaining edges of the relation in that direction (the baseline)
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import kbkit
from kbkit.kb import KnowledgeBase
from kbkit.stores.embedding_build import EmbeddingSettings, spectral, unit_rows
from kbkit.stores.embeddings import Embeddings
from tests.performance import data
from tests.performance.report import Figure
from tests.performance.small import SHARED

HELD_OUT, MOST, VOTERS = 10, 2_000, 20
WAYS = ("inner product", "votes", "degree")


def quality(scale: float, engine: str) -> Iterator[Figure]:
    """hits@10 on the sample and on imdb."""
    for name, source in (("world", ()), ("imdb", (SHARED / "imdb",))):
        if source and not source[0].is_dir():
            yield Figure(f"{name}: hits@10", note="no data")
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            kbkit.ingest(name, *source, out=Path(folder) / "k.kb", stores=["adjacency"]) as kb,
        ):
            for way, share in hits(kb).items():
                yield Figure(f"{name}: hits@10, {way}", 100 * share, "%")


def build(scale: float, engine: str) -> Iterator[Figure]:
    """Time to build the store in a KB of MAG's shape; the goal is for 200,000 nodes, scale 0.1."""
    from kbkit.ingestion.build import rebuild

    out = data.graph_kb(scale)
    started = time.perf_counter()
    rebuild(out, "embeddings")
    yield Figure("embeddings", time.perf_counter() - started, "s", goal=120.0 if scale <= 0.1 else None)


def hits(kb: KnowledgeBase, settings: EmbeddingSettings | None = None, seed: int = 0) -> dict[str, float]:
    """Return hits@10 of each of ``WAYS`` on a tenth of the edges, at most ``MOST``."""
    edges = _edges(kb)
    order = np.random.default_rng(seed).permutation(len(edges))
    removed, kept = order[: len(edges) // HELD_OUT], order[len(edges) // HELD_OUT :]
    train, test = edges[np.sort(kept)], edges[removed][:MOST]
    nodes = kb.schema.nodes
    rows = unit_rows(spectral(train[:, 0], train[:, 1], train[:, 2], nodes, settings or EmbeddingSettings()))
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for relation in np.unique(test[:, 1]).tolist():
        known = train[train[:, 1] == relation]
        joined = csr_array((np.ones(len(known)), (known[:, 0], known[:, 2])), shape=(nodes, nodes))
        removed_here = test[test[:, 1] == relation]
        for start, end, near in ((0, 2, joined), (2, 0, joined.T.tocsr())):
            for way, ranks in _ranks(kb, rows, near, removed_here[:, start], removed_here[:, end]).items():
                found[way] += (ranks < 10).tolist()
    return {way: float(np.mean(values)) for way, values in found.items()}


def _edges(kb: KnowledgeBase) -> NDArray[np.int64]:
    """Return the distinct edges as head, relation, tail; symmetric ones once."""
    frame = kb.sql("SELECT DISTINCT head, enum_code(relation)::INTEGER AS r, tail FROM edges ORDER BY ALL")
    edges = frame.to_numpy().astype(np.int64)
    symmetric = np.array([relation.symmetric for relation in kb.schema.relations])
    return edges[~symmetric[edges[:, 1]] | (edges[:, 0] <= edges[:, 2])]


def _ranks(
    kb: KnowledgeBase, rows: NDArray[np.float32], near: Any, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Return the rank of each end, from 0, by each way; ``near`` are the remaining edges from start to end."""
    store = Embeddings.__new__(Embeddings)
    store.matrix = rows
    popularity = np.asarray(near.sum(axis=0)).ravel()
    ranks: dict[str, list[float]] = {way: [] for way in WAYS}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        of_end, of_start = (kb.stores.nodes.members(kb.schema.type_of(node).name) for node in (end, start))
        voters, weights = store.nearest(np.array([start]), VOTERS, of_start)
        there = voters[0] >= 0
        votes = weights[0][there] @ near[voters[0][there]]
        scores = {"inner product": rows[of_end] @ rows[start], "votes": votes[of_end], "degree": popularity[of_end]}
        allowed = ~np.isin(of_end, near.indices[near.indptr[start] : near.indptr[start + 1]])
        for way, values in scores.items():
            own = values[np.searchsorted(of_end, end)]
            better, ties = (values[allowed] > own).sum(), (values[allowed] == own).sum()
            ranks[way].append(better + (ties - 1) / 2)
    return {way: np.array(values) for way, values in ranks.items()}
