"""The vector store: a memory-mapped float32 matrix of embeddings, and the same vectors in LanceDB.

* ``matrix.npy``       float32 (nodes, dimension): row ``i`` is node ``i``, of unit length, so that products are cosines
* ``chunks.npy``       float32 (chunks, dimension): the overlapping chunks of documents longer than one chunk
* ``chunk_nodes.npy``  int32 (chunks,): the node of each chunk, ascending
* ``hashes.npy``       uint64 (nodes, 2): a hash of each document, so that a rebuild embeds only changed documents
* ``coarse.npy``       float32 (nodes, dimension / 3): the rows projected onto the principal components of the matrix
* ``directions.npy``   float32 (dimension, dimension / 3): these components
* ``lance/``           the rows of the matrix as a LanceDB table

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
from kbkit.stores.arrays import Within, expand_ranges, mapped

FOLDER = "vectors"
EXACT_LIMIT, COARSE_LIMIT = 100_000, 1_000_000
_COARSE_DEPTH, _COARSE_TIMES = 2_000, 20
"""The best coarse rows to compare exactly: at least this many, or this many times k."""
_ROUNDING, _CROWD = 1e-5, 20_000
"""Rounding error of products of unit vectors, and the maximum number of near ties that are scored again."""
TABLE = "nodes"
_NPROBES, _REFINE = 50, 10
_MAX_SCORES = 32_000_000
"""Maximum number of cosines (nodes times queries) in memory at once."""

Matrix = NDArray[np.float32]
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
            self.matrix, self.chunks, self._coarse, self._directions = (
                mapped(folder / f"{name}.npy", np.float32, 2) for name in ("matrix", "chunks", "coarse", "directions")
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
            return int(self._lance().count_rows())

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
            for scores in queries[start : start + step] @ rows.T:
                yield scores[within] if compare_all else scores

    def _best(self, query: Matrix, scores: Matrix, k: int, within: Within, average: int = 0) -> Best:
        """Return the best candidates, given approximate ``scores``.

        The rounding of a row in a matrix product depends on its position in a block, so copies of a document might not
        tie. Possible results are therefore scored again, one by one. ``average`` is that of :meth:`search_chunks`.
        """
        positions = _nearly_top(scores, k)
        ids = within[positions] if isinstance(within, np.ndarray) else positions + (within.start if within else 0)
        again = _cosines(self.matrix[ids], query)
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

    def _rows_of(self, within: Within) -> Matrix:
        if within is None:
            return self.matrix
        return self.matrix[within.start : within.stop] if isinstance(within, range) else self.matrix[within]

    def _from_coarse(self, vector: Matrix, k: int, depth: int) -> Best:
        """Return the best of the ``depth`` nodes whose coarse rows are closest."""
        near = np.sort(top(self._coarse @ (vector @ self._directions), depth))
        return self._best(vector, self.matrix[near] @ vector, k, near)

    def _indexed(self, vector: Matrix, k: int) -> Best:
        """Search LanceDB's index."""
        with reading(FOLDER, self._folder):
            query = self._lance().search(vector).distance_type("cosine").nprobes(_NPROBES).refine_factor(_REFINE)
            found = query.select(["id", "_distance"]).limit(k).to_arrow()
        ids, scores = found.column("id").to_numpy().astype(np.int64), 1.0 - found.column("_distance").to_numpy()
        order = np.lexsort((ids, -scores))
        return ids[order], scores[order].astype(np.float64)

    def _lance(self) -> Any:
        if self._table is None:
            import lancedb

            self._table = lancedb.connect(str(self._folder / "lance")).open_table(TABLE)
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
