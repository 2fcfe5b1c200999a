"""Count the distinct pairs of a join, without the joined rows: the entries of a product of sparse matrices.

(a, c) is a pair of the join of (a, b) and (b, c) where the product of the two Boolean matrices is not zero (Gustavson
1978). The product is computed in pieces, of which only the lengths of the rows are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.stores.threads import parallel

Pairs: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
"""Two arrays of ids of one length."""

_MAX_ID = 200_000_000
"""Ids up to this one are rows of a matrix: an offset for each takes 8 bytes, in both matrices."""
_PIECE = 10_000_000
"""Joined rows of a piece; it takes about 100 MB."""


def fits(ids: NDArray[Any]) -> bool:
    """Return whether ids can be rows of a matrix."""
    return len(ids) == 0 or (int(ids.min()) >= 0 and int(ids.max()) <= _MAX_ID)


def count_pairs(left: Pairs, right: Pairs, stopped: threading.Event) -> Pairs:
    """Return each ``a`` with the number of its distinct ``c``, for ``left`` pairs (a, b) and ``right`` pairs (b, c).

    Ends early, with some of the counts, once ``stopped`` is set.
    """
    size = 1 + max(int(part.max(initial=0)) for part in (*left, *right))
    first, second = _matrix(left, size), _matrix(right, size)
    joined = np.zeros(first.nnz + 1, np.int64)
    np.cumsum(np.diff(second.indptr)[first.indices], out=joined[1:])
    counts = np.zeros(size, np.int64)

    def count(rows: slice) -> None:
        if not stopped.is_set():
            counts[rows] = np.diff((first[rows] @ second).indptr)

    for _ in parallel(count, list(_pieces(joined[first.indptr]))):
        pass
    found = np.flatnonzero(counts)
    return found, counts[found]


def _matrix(pairs: Pairs, size: int) -> Any:
    from scipy.sparse import csr_array  # takes as long to import as DuckDB and Arrow together

    return csr_array((np.ones(len(pairs[0]), bool), pairs), shape=(size, size))


def _pieces(joined: NDArray[np.int64]) -> Iterator[slice]:
    """Yield ranges of rows that have joined rows; ``joined`` is the number of those before each row."""
    start, last = 0, len(joined) - 1
    while start < last:
        end = max(start + 1, int(np.searchsorted(joined, joined[start] + _PIECE, "right")) - 1)
        if joined[end] > joined[start]:
            yield slice(start, end)
        start = end
