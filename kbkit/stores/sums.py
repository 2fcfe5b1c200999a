"""Sums over the neighbours of each node: products of the adjacency arrays with a vector.

SciPy's matrices share the memory-mapped targets; their offsets are copied in pieces, and all pieces share one array of
ones. So a product of a graph of 40 million edges takes 40 MB, where one matrix would take 480 MB. Ctrl-C is noticed
between pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kbkit.directory.damage import damaged
from kbkit.stores.adjacency import FOLDER, Csr

Vector: TypeAlias = NDArray[Any]

_PIECE = 4_000_000
"""Edges of a piece."""


class BlockSums:
    """The sums over one block of adjacency arrays: ``add(x, into)`` adds to each row the values of its neighbours.

    ``turned`` are the same edges in the other direction. ``kind`` is the type of the values: float64, or int64 for
    exact counts, which are modulo 2**64.
    """

    def __init__(self, csr: Csr, turned: Csr, kind: type[np.generic] = np.float64) -> None:
        self.csr, self._turned = csr, turned
        self._ones = np.ones(min(len(csr.targets), max(_PIECE, _longest(csr))), kind)

    @property
    def rows(self) -> slice | NDArray[np.int32]:
        """The ids of the rows."""
        return _rows(self.csr)

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of neighbours of each row."""
        return self.csr.degrees()

    def reads(self, among: NDArray[np.bool_]) -> bool:
        """Return whether a neighbour of any row is ``among`` some nodes, by id."""
        return bool((among[_rows(self._turned)] & (self._turned.degrees() > 0)).any())

    def add(self, x: Vector, into: Vector) -> None:
        """Add to each row's value in ``into`` the sum of ``x`` over the row's neighbours; both are indexed by id."""
        for rows, matrix in self._pieces(len(x)):
            into[rows] += matrix @ x

    def _pieces(self, nodes: int) -> Iterator[tuple[Any, Any]]:
        csr = self.csr
        count, start = len(csr.offsets) - 1, 0
        while start < count:
            before = int(csr.offsets[start])
            end = max(start + 1, int(np.searchsorted(csr.offsets, before + _PIECE, "right")) - 1)
            yield (
                slice(csr.first + start, csr.first + end) if csr.heads is None else csr.heads[start:end],
                self._matrix(start, end, nodes),
            )
            start = end

    def _matrix(self, start: int, end: int, nodes: int) -> Any:
        csr = self.csr
        first, counts = csr.spans(np.arange(start, end))
        offsets = np.zeros(end - start + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        targets = csr.targets[int(first[0]) : int(first[0]) + int(offsets[-1])]
        if len(targets) and targets.view(np.uint32).max() >= nodes:
            raise damaged(csr.folder, "a neighbour does not exist", FOLDER)
        return csr_array((self._ones[: len(targets)], targets, offsets), shape=(end - start, nodes), copy=False)


def _rows(csr: Csr) -> slice | NDArray[np.int32]:
    return slice(csr.first, csr.first + len(csr.offsets) - 1) if csr.heads is None else csr.heads


def _longest(csr: Csr) -> int:
    return int(csr.degrees().max()) if len(csr.offsets) > 1 else 0


class MatrixSums:
    """The sums over a matrix in memory, whose rows and columns are ids."""

    rows = slice(None)

    def __init__(self, matrix: Any, turned: Any) -> None:
        self._matrix, self._turned = matrix, turned

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of neighbours of each row."""
        return np.asarray(np.diff(self._matrix.indptr))

    def reads(self, among: NDArray[np.bool_]) -> bool:
        """Return whether a neighbour of any row is ``among`` some nodes, by id."""
        return bool((among & (np.diff(self._turned.indptr) > 0)).any())

    def add(self, x: Vector, into: Vector) -> None:
        """Add to each row's value in ``into`` the weighted sum of ``x`` over the row's neighbours."""
        into += self._matrix @ x


Sums: TypeAlias = BlockSums | MatrixSums


def total(parts: Iterable[Sums], x: Vector) -> Vector:
    """Return for each node the sum of ``x`` over its neighbours in all parts."""
    found = np.zeros(len(x), x.dtype)
    for part in parts:
        part.add(x, found)
    return found
