"""The vector store: LanceDB, and the same vectors as one memory-mapped float32 matrix.

* ``matrix.npy``       float32 (nodes, dimension): row ``i`` is node ``i``, of unit length, so a product is the cosine
* ``chunks.npy``       float32 (chunks, dimension): the overlapping chunks of documents that are longer than one
* ``chunk_nodes.npy``  int32 (chunks,): the node of each chunk, ascending
* ``hashes.npy``       uint64 (nodes, 2): of each document, so that a later build embeds only those that changed
* ``coarse.npy``       float32 (nodes, a third of dimension): the rows along the matrix's own main directions
* ``directions.npy``   float32 (dimension, a third of dimension): these directions
* ``lance/``           the rows of the matrix as a LanceDB table

Search is exact, over the matrix, for every set of candidates, for many queries at once, and up to ``EXACT_LIMIT``
nodes. Above it a single query is first compared with the coarse rows, and exactly with the best of these; above
``COARSE_LIMIT`` (there are no coarse rows then) LanceDB's IVF_RQ index answers it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError
from kbkit.schema import Schema
from kbkit.stores import documents
from kbkit.stores.arrays import GrowingArray
from kbkit.stores.document_vectors import Embed, Known, Matrix, Settings, embedded
from kbkit.stores.ids import Within

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "vectors"
EXACT_LIMIT, COARSE_LIMIT = 100_000, 1_000_000
_COARSE_DEPTH, _COARSE_TIMES = 2_000, 20
"""So many of the coarse rows' best are compared exactly, or so many times k."""
_ROUNDING, _CROWD = 1e-5, 20_000
"""How far products of unit vectors may be off, and how many more than k are scored again for that."""
_TABLE = "nodes"
_NPROBES, _REFINE = 50, 10
_ROWS = 100_000
_SCORES = 32_000_000
"""Cosines held in memory at once: so many nodes times queries."""

Best = tuple[NDArray[np.int64], NDArray[np.float64]]


def build(
    batches: Callable[[str, int], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    embed: Embed,
    dimension: int,
    settings: Settings,
    progress: Callable[[int, int], None],
    known: Path | None = None,
) -> dict[str, int]:
    """Embed every node, and its chunks where it has several; take over what the folder ``known`` has of the same
    documents. Returns ``{"vectors": ..., "chunks": ..., "taken_over": ...}``, the last in nodes.
    """
    folder.mkdir()
    done = chunks = taken = 0
    old = Known.of(known) if known is not None else Known.nothing(dimension)
    with (
        GrowingArray(folder / "matrix.npy", np.float32, dimension) as matrix,
        GrowingArray(folder / "chunks.npy", np.float32, dimension) as chunk_rows,
        GrowingArray(folder / "chunk_nodes.npy", np.int32) as chunk_nodes,
        GrowingArray(folder / "hashes.npy", np.uint64, 2) as hashes,
    ):
        step = documents.step(schema)
        for first in range(0, schema.nodes, step):
            sql = documents.whole_sql(schema, first, first + step - 1, relations=settings.relations)
            for batch in batches(sql, 10_000):
                part = embedded(batch.column("document").to_pylist(), settings, embed, old)
                matrix.append(part.rows)
                hashes.append(part.hashes)
                chunk_rows.append(part.chunks)
                chunk_nodes.append(part.chunk_nodes + done)
                chunks, taken = chunks + len(part.chunks), taken + part.taken
                done += batch.num_rows
                progress(done, schema.nodes)
    _write_coarse(folder, schema.nodes, dimension)
    rows_in_lance = _write_lance(folder, folder / "matrix.npy", schema.nodes, dimension)
    if rows_in_lance != schema.nodes:
        raise KbError(f"LanceDB holds {rows_in_lance:,} of {schema.nodes:,} vectors")
    return {"vectors": done, "chunks": chunks, "taken_over": taken}


def _write_coarse(folder: Path, nodes: int, dimension: int) -> None:
    """Turn the rows into the directions in which they differ most, and keep a third of these.

    The directions are the eigenvectors of the second moments of up to 100,000 rows (principal components).
    """
    columns = max(1, dimension // 3) if EXACT_LIMIT < nodes <= COARSE_LIMIT else 0
    matrix = np.load(folder / "matrix.npy", mmap_mode="r")
    sample = np.asarray(matrix[:: nodes // _ROWS + 1], np.float64) if columns else np.empty((0, dimension))
    _, vectors = np.linalg.eigh(sample.T @ sample)
    directions = np.ascontiguousarray(vectors[:, ::-1][:, :columns], np.float32)
    np.save(folder / "directions.npy", directions)
    with GrowingArray(folder / "coarse.npy", np.float32, columns) as coarse:
        for start in range(0, nodes if columns else 0, _ROWS):
            coarse.append(matrix[start : start + _ROWS] @ directions)


def _write_lance(folder: Path, matrix: Path, nodes: int, dimension: int) -> int:
    """Write the rows of the matrix as a LanceDB table, in batches; returns how many rows it holds."""
    import lancedb
    import pyarrow as pa
    from lancedb.index import IvfRq

    schema = pa.schema([("id", pa.int32()), ("vector", pa.list_(pa.float32(), dimension))])

    def batches() -> Iterator[pa.RecordBatch]:
        with matrix.open("rb") as handle:
            handle.seek(-4 * nodes * dimension, os.SEEK_END)
            for start in range(0, nodes, _ROWS):
                ids = pa.array(np.arange(start, min(start + _ROWS, nodes), dtype=np.int32))
                values = np.fromfile(handle, "<f4", len(ids) * dimension)
                yield pa.record_batch([ids, pa.FixedSizeListArray.from_arrays(values, dimension)], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    table = lancedb.connect(str(folder / "lance")).create_table(_TABLE, reader)
    if nodes > COARSE_LIMIT:
        table.create_index("vector", config=IvfRq(distance_type="cosine"))
    return int(table.count_rows())


class _Segments(NamedTuple):
    """Chunks of some nodes: their rows, where each node's start, and these nodes' places among the candidates."""

    rows: Matrix
    starts: NDArray[np.int64]
    places: NDArray[np.int64]


class Vectors:
    """A generation's vectors."""

    def __init__(self, folder: Path) -> None:
        try:
            # As plain arrays over the mapped files, which are faster to slice than numpy's own memmap class.
            self.matrix, self.chunks, self.chunk_nodes, self._coarse, self._directions = (
                np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
                for name in ("matrix", "chunks", "chunk_nodes", "coarse", "directions")
            )
        except (OSError, ValueError, EOFError) as error:
            raise KbError(f"{folder} cannot be opened: {error}", "kbkit check says more") from error
        self._folder = folder
        self._table: Any = None

    def close(self) -> None:
        """Let go of the arrays and the table."""
        del self.matrix, self.chunks, self.chunk_nodes, self._coarse, self._directions
        self._table = None

    def rows(self) -> int:
        """Number of rows in the LanceDB table, for ``check``."""
        return int(self._lance().count_rows())

    def search(self, queries: Matrix, k: int, within: Within = None) -> Iterator[Best]:
        """For each query (a row of unit length) the ``k`` nodes of highest cosine: ids and cosines, ties by id.

        ``within`` (sorted ids, or a range) keeps only these nodes, before the best are chosen.
        """
        depth = max(_COARSE_DEPTH, _COARSE_TIMES * k)
        if within is None and len(queries) == 1 and len(self.matrix) > EXACT_LIMIT and depth < len(self.matrix) // 4:
            yield self._from_coarse(queries[0], k, depth) if len(self._coarse) else self._indexed(queries[0], k)
            return
        for query, scores in zip(queries, self._cosines(queries, within), strict=True):
            yield self._best(query, scores, k, within)

    def search_chunks(self, queries: Matrix, k: int, within: Within = None, average: int = 3) -> Iterator[Best]:
        """The same, where a node in chunks scores the mean of the cosines of its ``average`` best chunks."""
        segments = self._segments(within)
        for query, scores in zip(queries, self._cosines(queries, within), strict=True):
            if len(segments.places):
                scores[segments.places] = mean_of_top(segments.rows @ query, segments.starts, average)
            yield self._best(query, scores, k, within, average)

    def _cosines(self, queries: Matrix, within: Within) -> Iterator[Matrix]:
        """The cosines of the candidates with each query in turn, as many queries at a time as memory allows."""
        # Where most rows are wanted, scattered, it costs less to compare all than to bring them together.
        limit = isinstance(within, np.ndarray) and 8 * len(within) > len(self.matrix)
        rows = self._of(self.matrix, None if limit else within)
        step = max(1, _SCORES // max(1, len(rows)))
        for start in range(0, len(queries), step):
            for scores in queries[start : start + step] @ rows.T:
                yield scores[within] if limit else scores

    def _best(self, query: Matrix, scores: Matrix, k: int, within: Within, average: int = 0) -> Best:
        """The best of the candidates by their ``scores``, which are right but for the last bits.

        A product of matrices rounds a row by its place in a block, so that copies of a document would not tie: those
        that may be among the best are scored again, each in the same way. ``average`` is that of :meth:`search_chunks`.
        """
        places = _nearly_top(scores, k)
        ids = within[places] if isinstance(within, np.ndarray) else places + (within.start if within else 0)
        again = _cosines(self.matrix[ids], query)
        if average:
            segments = self._segments(ids)
            if len(segments.places):
                again[segments.places] = mean_of_top(_cosines(segments.rows, query), segments.starts, average)
        order = np.lexsort((ids, -again))[:k]
        return ids[order], again[order]

    def _segments(self, within: Within) -> _Segments:
        """The chunks of the candidates that have several."""
        if within is None or isinstance(within, range):
            first, stop = (within.start, within.stop) if within is not None else (0, len(self.matrix))
            low, high = np.searchsorted(self.chunk_nodes, [first, max(first, stop)])
            nodes, starts = np.unique(self.chunk_nodes[low:high], return_index=True)
            return _Segments(self.chunks[low:high], starts, nodes.astype(np.int64) - first)
        low, high = (np.searchsorted(self.chunk_nodes, within, side) for side in ("left", "right"))
        counts = high - low
        ends = np.cumsum(counts)
        index = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(low - ends + counts, counts)
        places = np.flatnonzero(counts)
        return _Segments(self.chunks[index], (ends - counts)[places], places)

    @staticmethod
    def _of(matrix: Matrix, within: Within) -> Matrix:
        if within is None:
            return matrix
        return matrix[within.start : within.stop] if isinstance(within, range) else matrix[within]

    def _from_coarse(self, vector: Matrix, k: int, depth: int) -> Best:
        """The best of the ``depth`` rows that come closest along the main directions."""
        near = np.sort(top(self._coarse @ (vector @ self._directions), depth))
        return self._best(vector, self.matrix[near] @ vector, k, near)

    def _indexed(self, vector: Matrix, k: int) -> Best:
        """By LanceDB's index."""
        query = self._lance().search(vector).distance_type("cosine").nprobes(_NPROBES).refine_factor(_REFINE)
        found = query.select(["id", "_distance"]).limit(k).to_arrow()
        ids, scores = found.column("id").to_numpy().astype(np.int64), 1.0 - found.column("_distance").to_numpy()
        order = np.lexsort((ids, -scores))
        return ids[order], scores[order].astype(np.float64)

    def _lance(self) -> Any:
        if self._table is None:
            import lancedb

            self._table = lancedb.connect(str(self._folder / "lance")).open_table(_TABLE)
        return self._table


def _cosines(rows: Matrix, query: Matrix) -> NDArray[np.float64]:
    """The cosine of each row with the query, the same for the same row."""
    products = rows.astype(np.float64) * query
    cosines: NDArray[np.float64] = np.add.reduce(products, axis=1)
    return cosines


def mean_of_top(scores: NDArray[Any], starts: NDArray[np.int64], limit: int) -> NDArray[Any]:
    """Return the mean of the ``limit`` largest scores of each segment; ``starts`` are the segments' offsets."""
    scores = scores.copy()
    counts = np.diff(starts, append=len(scores))
    total, taken = np.zeros(len(starts), scores.dtype), np.minimum(counts, limit)
    segment = np.repeat(np.arange(len(starts)), counts)
    for turn in range(min(limit, int(counts.max()))):
        largest = np.maximum.reduceat(scores, starts)
        more = taken > turn
        total[more] += largest[more]
        places = np.flatnonzero(scores == largest[segment])
        scores[places[np.unique(segment[places], return_index=True)[1]]] = -np.inf  # one of each segment
    mean: NDArray[Any] = total / taken.astype(scores.dtype)
    return mean


def top(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Positions of the ``k`` largest scores, largest first, ties by position."""
    k = min(k, len(scores))
    if k < 1:
        return np.empty(0, np.int64)
    # Every score above the k-th, then as many equal to it as are needed, the first ones.
    least = _kth_largest(scores, k)
    above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    chosen = np.concatenate((above, equal[: k - len(above)]))
    return chosen[np.lexsort((chosen, -scores[chosen]))].astype(np.int64)


def _nearly_top(scores: Matrix, k: int) -> NDArray[np.int64]:
    """Positions of the ``k`` largest scores, and of those that rounding may have put below; not of crowds of them."""
    if k < 1 or k >= len(scores):
        return np.arange(len(scores) if k > 0 else 0)
    chosen = np.flatnonzero(scores >= _kth_largest(scores, k) - _ROUNDING)
    return chosen if len(chosen) <= k + _CROWD else np.sort(top(scores, k))


def _kth_largest(scores: NDArray[Any], k: int) -> Any:
    """A sample says where the best begin, so that few of many scores are sorted."""
    if len(scores) > max(50_000, 64 * k):
        sample = scores[::64]
        rank = k // 32 + 16  # twice as many as are needed, and some
        few = scores[scores >= np.partition(sample, len(sample) - rank)[len(sample) - rank]]
        if len(few) >= k:
            scores = few
    return np.partition(scores, len(scores) - k)[len(scores) - k]
