"""NumPy helpers of the stores: sets of node ids as sorted arrays or ranges, and ``.npy`` files written in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError

Integer = TypeVar("Integer", bound=np.integer[Any])

Mask: TypeAlias = NDArray[np.bool_]

Within: TypeAlias = NDArray[np.int64] | range | None
"""The candidates of a search: sorted distinct ids, a range of ids, or None for all nodes."""

_FEW_COMPARISONS = 20_000_000


def distinct(values: NDArray[Integer]) -> NDArray[Integer]:
    """Return the sorted distinct values; several times faster than ``np.unique``, which hashes integers first."""
    values = np.sort(values)
    keep = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]


def common_members(sets: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
    """Return the pairs of sorted sets that have common members, as two arrays of positions, and the numbers of these.

    A set is a pair with itself. Few sets are compared one by one, without loading SciPy.
    """
    lengths = np.array([len(one) for one in sets], np.int64)
    members = np.concatenate([np.zeros(0, np.int64), *sets])
    if len(sets) * len(members) > _FEW_COMPARISONS:
        from scipy.sparse import csr_array

        owners = np.repeat(np.arange(len(sets)), lengths)
        matrix = csr_array((np.ones(len(members), np.int32), (owners, members - members.min())))
        common = (matrix @ matrix.T).tocoo()
        return common.row.astype(np.int64), common.col.astype(np.int64), common.data.astype(np.int64)
    counts = np.zeros((len(sets), len(sets)), np.int64)
    if len(members):
        members -= members.min()
        size = int(members.max()) + 1
        ends = np.concatenate([[0], np.cumsum(lengths)])
        before = np.zeros(len(members) + 1, np.int64)
        for at, (start, end) in enumerate(pairwise(ends.tolist())):
            mark = np.zeros(size, bool)
            mark[members[start:end]] = True
            np.cumsum(mark[members], out=before[1:])
            counts[at] = np.diff(before[ends])
    rows, columns = counts.nonzero()
    return rows, columns, counts[rows, columns]


def node_ids(values: Iterable[int], name: str, count: int) -> NDArray[np.int64]:
    """Return ids that a user passed as ``name``; raise :class:`KbError` unless all are from 0 to ``count`` - 1."""
    try:
        ids = np.asarray(values if hasattr(values, "__array__") else list(values))
    except (TypeError, ValueError, RecursionError):  # one number, lists of different lengths, or of themselves
        ids = np.empty((0, 0))
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        raise KbError(f"Invalid value of {name}: not a list of ids", "Use integers, or an answer expression")
    for wrong in ids[(ids < 0) | (ids >= count)][:1].tolist():
        raise KbError(f"Unknown node id {wrong} in {name}", f"Ids range from 0 to {count - 1:,}")
    return ids.astype(np.int64)


def compact(ids: NDArray[np.int64]) -> NDArray[np.int64] | range:
    """Return sorted distinct ids as a range if they have no gaps, else unchanged."""
    if len(ids) and int(ids[-1]) - int(ids[0]) + 1 == len(ids):
        return range(int(ids[0]), int(ids[-1]) + 1)
    return ids


def both(a: Within, b: Within) -> Within:
    """Return the intersection of two sets of candidates."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, range) and isinstance(b, range):
        return range(max(a.start, b.start), max(a.start, b.start, min(a.stop, b.stop)))
    few, many = (a, b) if not isinstance(a, range) else (b, a)
    assert not isinstance(few, range)
    return compact(few[is_within(few, many)])


def is_within(ids: NDArray[Any], within: Within) -> Mask:
    """Return a mask of the ``ids`` (in any order) that are in ``within``."""
    if within is None:
        return np.ones(len(ids), bool)
    if isinstance(within, range):
        return (ids >= within.start) & (ids < within.stop)
    return is_in(ids, within)


def is_in(ids: NDArray[Any], among: NDArray[Any]) -> Mask:
    """Return a mask of the ``ids`` (in any order) that are in the sorted ``among``."""
    if not len(among) or not len(ids):
        return np.zeros(len(ids), bool)
    low, high = int(among[0]), int(among[-1])
    if len(among) == high - low + 1:  # no gaps
        return (ids >= low) & (ids <= high)
    if high - low < 64 * len(ids) or len(ids) > 100_000:
        mark = np.zeros(high - low + 1, bool)
        mark[among - low] = True
        inside = (ids >= low) & (ids <= high)
        inside[inside] = mark[ids[inside] - low]
        return inside
    position = np.searchsorted(among, ids)
    position[position == len(among)] = 0
    mask: Mask = among[position] == ids
    return mask


def expand_ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions ``start .. start + count - 1`` of each range, one range after another."""
    ends = np.cumsum(counts)
    positions = np.arange(int(ends[-1]) if len(ends) else 0)
    positions += np.repeat(starts - ends + counts, counts)
    return positions


def mapped(path: Path, kind: Any = None, dimensions: int = 1) -> NDArray[Any]:
    """Map a ``.npy`` file, as a plain array: slices of numpy's memmap class cost ten times as much.

    Raises :class:`ValueError` if it is not an array of type ``kind`` (None: any) with these ``dimensions``.
    """
    array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    if kind is not None and (array.dtype != np.dtype(kind) or array.ndim != dimensions):
        raise ValueError(f"{path.name} has type {array.dtype} and {array.ndim} dimensions")
    return array


class GrowingArray:
    """A ``.npy`` file that grows by rows; the header is written last, into space reserved for it.

    The file is written rather than memory-mapped, so that memory use is constant and a full disk raises an error.
    """

    _HEADER = 128

    def __init__(self, path: Path, dtype: type[np.generic], columns: int | None = None) -> None:
        self._path, self._dtype, self._columns, self._length = path, np.dtype(dtype), columns, 0

    def __enter__(self) -> GrowingArray:
        self._file: IO[bytes] = self._path.open("wb")
        self._file.write(b"\0" * self._HEADER)
        return self

    def append(self, rows: NDArray[Any]) -> int:
        """Append ``rows`` and return the position of the first one."""
        position = self._length
        self._file.write(np.ascontiguousarray(rows, self._dtype).data)
        self._length += len(rows)
        return position

    def __exit__(self, *_: object) -> None:
        shape = (self._length,) if self._columns is None else (self._length, self._columns)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        text = repr(header).encode().ljust(self._HEADER - 11) + b"\n"
        self._file.seek(0)
        self._file.write(np.lib.format.magic(1, 0) + len(text).to_bytes(2, "little") + text)
        self._file.close()


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Scale rows to length 1, as float32; zero rows remain."""
    rows = np.asarray(rows, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled
