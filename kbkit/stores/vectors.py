"""The vector store: a LanceDB table of embeddings, whose data files are memory-mapped for exact search.

* ``lance/``           the table ``nodes``: ``vector``, float32 of unit length so that products are cosines, and ``id``
* ``layout.json``      the table's data files in order, each with its number of rows; see :mod:`lance_table`
* ``chunks.npy``       float32 (chunks, dimension): the overlapping chunks of documents longer than one chunk
* ``chunk_nodes.npy``  int32 (chunks,): the node of each chunk, ascending
* ``hashes.npy``       uint64 (nodes, 2): a hash of each document, so that a rebuild embeds only changed documents
* ``coarse.npy``       float32 (nodes, dimension / 3): the vectors projected onto their principal components
* ``directions.npy``   float32 (dimension, dimension / 3): these components

Search is exact for any set of candidates, for batches of queries, and up to ``EXACT_LIMIT`` nodes. Above that, a single
query without candidates is compared with the coarse rows first, and exactly with the best of these; above
``COARSE_LIMIT``, where there are no coarse rows, LanceDB's IVF_RQ index answers it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.directory.damage import reading
from kbkit.stores import lance_table
from kbkit.stores.arrays import Within, expand_ranges, mapped
from kbkit.stores.lance_table import Matrix, VectorRows

FOLDER = "vectors"
EXACT_LIMIT, COARSE_LIMIT = 100_000, 1_000_000
_COARSE_DEPTH, _COARSE_TIMES = 2_000, 20
"""The best coarse rows to compare exactly: at least this many, or this many times k."""
_ROUNDING, _CROWD = 1e-5, 20_000
"""Rounding error of products of unit vectors, and the maximum number of near ties that are scored again."""
_NPROBES, _REFINE = 50, 10
_MAX_SCORES = 32_000_000
"""Maximum number of cosines (nodes times queries) in memory at once."""

Best = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Ids and cosines, best first."""


class _Segments(NamedTuple):
    """Chunks of some candidates: their rows, the first row of each node, and the nodes' positions as candidates."""

    rows: Matrix
    starts: NDArray[np.int64]
    positions: NDArray[np.int64]


class Vectors:
    """A generation's vectors."""

    def __init__(self, folder: Path) -> None:
        with reading(FOLDER, folder):
            self.matrix = lance_table.mapped_rows(folder)
            self.chunks, self._coarse, self._directions = (
                mapped(folder / f"{name}.npy", np.float32, 2) for name in ("chunks", "coarse", "directions")
            )
            self.chunk_nodes = mapped(folder / "chunk_nodes.npy", np.int32)
        self._folder = folder
        self._table: Any = None

    def close(self) -> None:
        """Release the arrays and the table."""
        del self.matrix, self.chunks, self.chunk_nodes, self._coarse, self._directions
        self._table = None

    def rows(self) -> int:
        """Return the number of rows in the LanceDB table."""
        with reading(FOLDER, self._folder):
            return int(self._opened().count_rows())

    def is_consistent(self) -> bool:
        """Return whether LanceDB reads the first, the middle and the last vector as they are mapped."""
        last = len(self.matrix) - 1
        if last < 0:
            return True
        ids = sorted({0, last // 2, last})
        with reading(FOLDER, self._folder):
            query = self._opened().search().where(f"id IN ({', '.join(map(str, ids))})")
            read = query.select(["id", "vector"]).to_arrow().sort_by("id")
        vectors = np.array(read.column("vector").to_pylist(), np.float32)
        return read.column("id").to_pylist() == ids and np.array_equal(vectors, self.matrix.take(np.array(ids)))

    def search(self, queries: Matrix, k: int, within: Within = None) -> Iterator[Best]:
        """Yield, for each query (a row of unit length), the ``k`` nodes of highest cosine, ties by id.

        ``within`` filters before the best are chosen.
        """
        depth = max(_COARSE_DEPTH, _COARSE_TIMES * k)
        if within is None and len(queries) == 1 and len(self.matrix) > EXACT_LIMIT and depth < len(self.matrix) // 4:
            yield self._from_coarse(queries[0], k, depth) if len(self._coarse) else self._indexed(queries[0], k)
            return
        for query, scores in zip(queries, self._cosines(queries, within), strict=True):
            yield self._best(query, scores, k, within)

    def search_chunks(self, queries: Matrix, k: int, within: Within = None, average: int = 3) -> Iterator[Best]:
        """Like :meth:`search`, but a node with chunks scores the mean cosine of its ``average`` best chunks."""
        segments = self._segments(within)
        for query, scores in zip(queries, self._cosines(queries, within), strict=True):
            if len(segments.positions):
                scores[segments.positions] = mean_of_top(segments.rows @ query, segments.starts, average)
            yield self._best(query, scores, k, within, average)

    def _cosines(self, queries: Matrix, within: Within) -> Iterator[Matrix]:
        """Yield the cosines of the candidates with each query, computed in batches that fit in memory."""
        # For many scattered candidates, comparing all rows is cheaper than copying the rows of the candidates.
        compare_all = isinstance(within, np.ndarray) and 8 * len(within) > len(self.matrix)
        rows = self._rows_of(None if compare_all else within)
        step = max(1, _MAX_SCORES // max(1, len(rows)))
        for start in range(0, len(queries), step):
            for scores in rows.products(queries[start : start + step]):
                yield scores[within] if compare_all else scores

    def _best(self, query: Matrix, scores: Matrix, k: int, within: Within, average: int = 0) -> Best:
        """Return the best candidates, given approximate ``scores``.

        The rounding of a row in a matrix product depends on its position in a block, so copies of a document might not
        tie. Possible results are therefore scored again, one by one. ``average`` is that of :meth:`search_chunks`.
        """
        positions = _nearly_top(scores, k)
        ids = within[positions] if isinstance(within, np.ndarray) else positions + (within.start if within else 0)
        again = _cosines(self.matrix.take(ids), query)
        if average:
            segments = self._segments(ids)
            if len(segments.positions):
                again[segments.positions] = mean_of_top(_cosines(segments.rows, query), segments.starts, average)
        order = np.lexsort((ids, -again))[:k]
        return ids[order], again[order]

    def _segments(self, within: Within) -> _Segments:
        """Return the chunks of the candidates that have any."""
        if within is None or isinstance(within, range):
            first, stop = (within.start, within.stop) if within is not None else (0, len(self.matrix))
            low, high = np.searchsorted(self.chunk_nodes, [first, max(first, stop)])
            nodes, starts = np.unique(self.chunk_nodes[low:high], return_index=True)
            return _Segments(self.chunks[low:high], starts, nodes.astype(np.int64) - first)
        low, high = (np.searchsorted(self.chunk_nodes, within, side) for side in ("left", "right"))
        counts = high - low
        positions = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[positions]
        return _Segments(self.chunks[expand_ranges(low, counts)], starts, positions)

    def _rows_of(self, within: Within) -> VectorRows:
        if within is None:
            return self.matrix
        if isinstance(within, range):
            return self.matrix.between(within.start, within.stop)
        return VectorRows([self.matrix.take(within)])

    def _from_coarse(self, vector: Matrix, k: int, depth: int) -> Best:
        """Return the best of the ``depth`` nodes whose coarse rows are closest."""
        near = np.sort(top(np.vecdot(self._coarse, vector @ self._directions), depth))
        return self._best(vector, self.matrix.take(near) @ vector, k, near)

    def _indexed(self, vector: Matrix, k: int) -> Best:
        """Search LanceDB's index."""
        with reading(FOLDER, self._folder):
            query = self._opened().search(vector).distance_type("cosine").nprobes(_NPROBES).refine_factor(_REFINE)
            nearest = query.select(["id", "_distance"]).limit(k).to_arrow()
        ids, scores = nearest.column("id").to_numpy().astype(np.int64), 1.0 - nearest.column("_distance").to_numpy()
        order = np.lexsort((ids, -scores))
        return ids[order], scores[order].astype(np.float64)

    def _opened(self) -> Any:
        if self._table is None:
            self._table = lance_table.open_table(self._folder)
        return self._table


def _cosines(rows: Matrix, query: Matrix) -> NDArray[np.float64]:
    """Return the cosine of each row with the query, identical for identical rows."""
    products = rows.astype(np.float64) * query
    cosines: NDArray[np.float64] = np.add.reduce(products, axis=1)
    return cosines


def mean_of_top(scores: NDArray[Any], starts: NDArray[np.int64], limit: int) -> NDArray[Any]:
    """Return the mean of the ``limit`` largest scores of each segment; ``starts`` are the first rows."""
    scores = scores.copy()
    counts = np.diff(starts, append=len(scores))
    if limit >= int(counts.max()):
        means: NDArray[Any] = np.add.reduceat(scores, starts) / counts.astype(scores.dtype)
        return means
    total, taken = np.zeros(len(starts), scores.dtype), np.minimum(counts, limit)
    segment = np.repeat(np.arange(len(starts)), counts)
    for turn in range(min(limit, int(counts.max()))):
        largest = np.maximum.reduceat(scores, starts)
        more = taken > turn
        total[more] += largest[more]
        equal = np.flatnonzero(scores == largest[segment])
        scores[equal[np.unique(segment[equal], return_index=True)[1]]] = -np.inf  # one per segment
    mean: NDArray[Any] = total / taken.astype(scores.dtype)
    return mean


def top(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` largest scores, largest first, ties by position."""
    k = min(k, len(scores))
    if k < 1:
        return np.empty(0, np.int64)
    threshold = _kth_largest(scores, k)
    above, equal = np.flatnonzero(scores > threshold), np.flatnonzero(scores == threshold)
    chosen = np.concatenate((above, equal[: k - len(above)]))
    return chosen[np.lexsort((chosen, -scores[chosen]))].astype(np.int64)


def _nearly_top(scores: Matrix, k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` largest scores and of near ties, unless there are too many of these."""
    if k < 1 or k >= len(scores):
        return np.arange(len(scores) if k > 0 else 0)
    chosen = np.flatnonzero(scores >= _kth_largest(scores, k) - _ROUNDING)
    return chosen if len(chosen) <= k + _CROWD else np.sort(top(scores, k))


def _kth_largest(scores: NDArray[Any], k: int) -> Any:
    """Return the ``k``-th largest score; a sample bounds it first, so that few scores are partitioned."""
    if len(scores) > max(50_000, 64 * k):
        sample = scores[::64]
        rank = k // 32 + 16  # about twice k scores are above it
        few = scores[scores >= np.partition(sample, len(sample) - rank)[len(sample) - rank]]
        if len(few) >= k:
            scores = few
    return np.partition(scores, len(scores) - k)[len(scores) - k]
