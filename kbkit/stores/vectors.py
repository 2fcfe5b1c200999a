"""The vector store: LanceDB, and the same vectors as one memory-mapped float32 matrix.

Row ``i`` of ``matrix.npy`` is node ``i``, of unit length, so that a product is the cosine. Up to ``EXACT_LIMIT`` nodes,
and for every set of candidates, search is exact, over the matrix; above it LanceDB's IVF_RQ index answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "vectors"
EXACT_LIMIT = 500_000
_TABLE = "nodes"
_NPROBES, _REFINE = 50, 10

Matrix = NDArray[np.float32]


class _Embedder(Protocol):
    dimension: int

    def embed(self, texts: list[str]) -> Matrix: ...


DOCUMENTS_SQL = """
SELECT n.id, n.name || coalesce(': ' || x.text, '') AS document FROM nodes n
LEFT JOIN (SELECT id, string_agg(text, ' ' ORDER BY field, position) AS text FROM texts
           WHERE id BETWEEN {first} AND {last} GROUP BY id) x USING (id)
WHERE id BETWEEN {first} AND {last} ORDER BY n.id"""
"""What is embedded for a node: its name, then its texts."""

_RANGE = 100_000


def build(
    batches: Callable[[str, int], pa.RecordBatchReader],
    folder: Path,
    nodes: int,
    embedder: _Embedder,
    progress: Callable[[int, int], None],
) -> dict[str, int]:
    """Embed every node into ``matrix.npy`` and a LanceDB table. Returns ``{"vectors": ...}``."""
    folder.mkdir()
    path, done = folder / "matrix.npy", 0
    with path.open("wb") as handle:  # written, not mapped: memory stays flat, and a full disk is an error
        header = {"descr": "<f4", "fortran_order": False, "shape": (nodes, embedder.dimension)}
        np.lib.format.write_array_header_1_0(handle, header)
        for first in range(0, nodes, _RANGE):  # the texts of a range are held in memory, not those of the KB
            for batch in batches(DOCUMENTS_SQL.format(first=first, last=first + _RANGE - 1), 10_000):
                rows = embedder.embed(batch.column("document").to_pylist())
                handle.write(np.ascontiguousarray(rows, "<f4").data)
                done += batch.num_rows
                progress(done, nodes)
    rows_in_lance = _write_lance(folder, path, nodes, embedder.dimension)
    if rows_in_lance != nodes:
        raise KbError(f"LanceDB holds {rows_in_lance:,} of {nodes:,} vectors")
    return {"vectors": done}


def _write_lance(folder: Path, matrix: Path, nodes: int, dimension: int) -> int:
    """Write the rows of the matrix as a LanceDB table, in batches; returns how many rows it holds."""
    import lancedb
    import pyarrow as pa
    from lancedb.index import IvfRq

    schema = pa.schema([("id", pa.int32()), ("vector", pa.list_(pa.float32(), dimension))])

    def batches() -> Iterator[pa.RecordBatch]:
        with matrix.open("rb") as handle:
            handle.seek(-4 * nodes * dimension, os.SEEK_END)
            for start in range(0, nodes, _RANGE):
                ids = pa.array(np.arange(start, min(start + _RANGE, nodes), dtype=np.int32))
                values = np.fromfile(handle, "<f4", len(ids) * dimension)
                yield pa.record_batch([ids, pa.FixedSizeListArray.from_arrays(values, dimension)], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    table = lancedb.connect(str(folder / "lance")).create_table(_TABLE, reader)
    if nodes > EXACT_LIMIT:
        table.create_index("vector", config=IvfRq(distance_type="cosine"))
    return int(table.count_rows())


class Vectors:
    """A generation's vectors."""

    def __init__(self, folder: Path) -> None:
        try:
            self.matrix: Matrix = np.load(folder / "matrix.npy", mmap_mode="r")
        except (OSError, ValueError) as error:
            raise KbError(f"{folder} cannot be opened: {error}", "kbkit check says more") from error
        self._folder = folder
        self._table: Any = None

    def close(self) -> None:
        """Let go of the matrix and the table."""
        del self.matrix
        self._table = None

    def rows(self) -> int:
        """Number of rows in the LanceDB table, for ``check``."""
        return int(self._lance().count_rows())

    def search(
        self, vector: Matrix, k: int, within: NDArray[np.int64] | slice | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ``k`` nodes of highest cosine with ``vector`` (shape (dimension,), unit length): ids and cosines.

        ``within`` keeps only these ids (sorted, or a range), before the best are chosen. Ties are by id.
        """
        if within is None and len(self.matrix) > EXACT_LIMIT:
            return self._approximate(vector, k)
        scores = (self.matrix if within is None else self.matrix[within]) @ vector
        best = top(scores, k)
        ids = best if within is None else np.arange(len(self.matrix))[within][best]
        return ids.astype(np.int64), scores[best].astype(np.float64)

    def _approximate(self, vector: Matrix, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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


def top(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Positions of the ``k`` largest scores, largest first, ties by position."""
    k = min(k, len(scores))
    if k < 1:
        return np.empty(0, np.int64)
    # Every score above the k-th, then as many equal to it as are needed, the first ones.
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    chosen = np.concatenate((above, equal[: k - len(above)]))
    return chosen[np.lexsort((chosen, -scores[chosen]))].astype(np.int64)
