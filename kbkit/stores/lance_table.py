"""A LanceDB table of vectors, whose data files are also read as memory-mapped arrays.

Lance writes a column of fixed-size lists, with the encoding ``fullzip`` and without compression, as the plain values of
its rows at the start of a data file. So these files can be mapped as arrays of float32: a search needs no second copy
of the vectors, and no import of LanceDB, which takes longer than most searches. :func:`create` verifies the layout of
each file that it writes, and records the files in ``layout.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.directory.files import parse_json
from kbkit.errors import Command, KbError

if TYPE_CHECKING:
    import pyarrow as pa

LAYOUT, TABLE = "layout.json", "nodes"
_FOLDER = "lance"
_FILE_ROWS = 1_000_000
"""Rows per data file; Lance starts another file after 2**20 rows."""
_BATCH_ROWS = 16_384
"""Rows per batch: a multiple of 16, so that Lance pads no batch to 64 bytes."""
_ENCODING = {"lance-encoding:structural-encoding": "fullzip", "lance-encoding:compression": "none"}
_STORAGE = {"new_table_data_storage_version": "2.1"}

Matrix = NDArray[np.float32]


class VectorRows:
    """Rows of float32 that are mapped from one or several files; at least one array, all of the same width."""

    def __init__(self, arrays: Sequence[Matrix]) -> None:
        self._arrays = tuple(arrays)
        self._ends = np.cumsum([len(array) for array in self._arrays])

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and their length."""
        return len(self), self._arrays[0].shape[1]

    def between(self, start: int, stop: int) -> VectorRows:
        """Return the rows from ``start`` to ``stop``, exclusive, without copying them."""
        firsts = self._ends - [len(array) for array in self._arrays]
        return VectorRows(
            [
                array[max(0, start - first) : max(0, stop - first)]
                for array, first in zip(self._arrays, firsts.tolist(), strict=True)
            ]
        )

    def take(self, positions: NDArray[np.int64]) -> Matrix:
        """Return a copy of the rows at some positions."""
        if len(self._arrays) == 1:
            return self._arrays[0][positions]
        numbers = np.searchsorted(self._ends, positions, side="right")
        rows = np.empty((len(positions), self.shape[1]), np.float32)
        for number, array in enumerate(self._arrays):
            here = numbers == number
            rows[here] = array[positions[here] - (int(self._ends[number]) - len(array))]
        return rows

    def products(self, vectors: Matrix) -> Matrix:
        """Return the inner product of each vector with each row: (vectors, rows)."""
        if len(vectors) == 1:  # row by row in this thread: threads of BLAS keep a core busy long after a product
            parts = [np.vecdot(array, vectors[0])[None] for array in self._arrays if len(array)]
        else:
            parts = [vectors @ array.T for array in self._arrays if len(array)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((len(vectors), 0), np.float32), *parts], 1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the rows as one array: a view where they are in one file and ``copy`` is not True."""
        if len(self._arrays) == 1:
            return np.array(self._arrays[0], dtype, copy=copy)
        if copy is False:
            raise ValueError("Rows of several files cannot be one array without a copy")
        return np.concatenate(self._arrays).astype(dtype or np.float32, copy=False)


def create(folder: Path, rows: Matrix, *, index: bool) -> VectorRows:
    """Write the rows as a LanceDB table in ``folder``, and return them as mapped from its data files.

    ``index`` adds an IVF_RQ index for cosines. Raises :class:`KbError` if LanceDB wrote them in another layout.
    """
    import lancedb
    from lancedb.index import IvfRq

    connection = lancedb.connect(str(folder / _FOLDER), storage_options=_STORAGE)
    table: Any = None
    files: dict[str, int] = {}
    for start in range(0, max(1, len(rows)), _FILE_ROWS):
        stop = min(start + _FILE_ROWS, len(rows))
        reader = _reader(rows, start, stop)
        if table is None:
            table = connection.create_table(TABLE, reader)
        else:
            table.add(reader)
        files |= {path.name: stop - start for path in _data(folder).glob("*.lance") if path.name not in files}
    layout = {"dimension": rows.shape[1], "files": files}
    (folder / LAYOUT).write_text(json.dumps(layout) + "\n", encoding="utf-8", newline="\n")
    if index:
        table.create_index("vector", config=IvfRq(distance_type="cosine"))
    try:
        written = mapped_rows(folder)
    except ValueError:  # a data file is shorter than its rows
        written = VectorRows([rows[:0]])
    if table.count_rows() != len(rows) or not _equal(written, rows):
        raise KbError("LanceDB wrote the vectors in an unexpected layout", "Please report this bug")
    return written


def mapped_rows(folder: Path) -> VectorRows:
    """Map the rows of the table in ``folder``.

    Raises :class:`KbError` for a store of an earlier version, and any exception for a damaged one.
    """
    path = folder / LAYOUT
    if not path.exists():
        raise KbError(
            f"{folder} was written by an earlier version of kbkit",
            *("Run ", Command("build KB vectors"), " to rebuild the vectors"),
        )
    layout = parse_json(path.read_bytes())
    for name in layout["files"]:
        if Path(name).name != name:  # a path in a stranger's KB may lead elsewhere
            raise ValueError(f"{LAYOUT} names the file {name}")
    arrays = [_mapped(_data(folder) / name, rows, layout["dimension"]) for name, rows in layout["files"].items()]
    return VectorRows(arrays or [np.empty((0, layout["dimension"]), np.float32)])


def open_table(folder: Path) -> Any:
    """Open the table with LanceDB."""
    import lancedb

    return lancedb.connect(str(folder / _FOLDER)).open_table(TABLE)


def _data(folder: Path) -> Path:
    return folder / _FOLDER / f"{TABLE}.lance" / "data"


def _mapped(path: Path, rows: int, dimension: int) -> Matrix:
    return np.asarray(np.memmap(path, np.float32, "r", shape=(rows, dimension)))


def _reader(rows: Matrix, first: int, last: int) -> pa.RecordBatchReader:
    """Return a reader of the table's rows from ``first`` to ``last``, exclusive, with their ids."""
    import pyarrow as pa

    dimension = rows.shape[1]
    vector = pa.field("vector", pa.list_(pa.float32(), dimension), metadata=_ENCODING)
    schema = pa.schema([vector, ("id", pa.int32())])  # pages of the first column come first

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(first, last, _BATCH_ROWS):
            stop = min(start + _BATCH_ROWS, last)
            values = pa.array(np.array(rows[start:stop]).reshape(-1))  # a copy, so that LanceDB holds no file open
            vectors = pa.FixedSizeListArray.from_arrays(values, dimension)
            yield pa.record_batch([vectors, pa.array(np.arange(start, stop, dtype=np.int32))], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _equal(written: VectorRows, rows: Matrix) -> bool:
    """Return whether the mapped rows have the bytes of ``rows``."""
    starts = range(0, len(rows), _BATCH_ROWS)
    return len(written) == len(rows) and all(
        np.asarray(written.between(start, start + _BATCH_ROWS)).tobytes() == rows[start : start + _BATCH_ROWS].tobytes()
        for start in starts
    )
