"""Sets of a batch as packed pairs of row and id, ``row << 32 | id`` in an int64.

Pairs are distinct and ordered by row; within a row the ids are in any order.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask, distinct

Pairs: TypeAlias = NDArray[np.int64]

_LOW = np.int64(0xFFFFFFFF)
_LONG = 256
"""Ids per row from which marking row by row is faster than sorting all rows together."""


def pack(rows: NDArray[np.signedinteger], ids: Ids) -> Pairs:
    """Pack rows and ids into pairs."""
    return (rows.astype(np.int64) << 32) | ids


def ids_of(pairs: Pairs) -> Ids:
    """Return the ids of pairs."""
    return (pairs & _LOW).astype(np.int32)


def rows_only(pairs: Pairs) -> Pairs:
    """Return the pairs with all ids set to 0."""
    return pairs & ~_LOW


def neighbors(csr: Csr, pairs: Pairs) -> Pairs:
    """Return the neighbours of every pair's node, in the pair's row, possibly repeated."""
    start, count = csr.ranges(ids_of(pairs))
    reached = np.repeat(rows_only(pairs), count)
    reached |= csr.expand(start, count)
    return reached


def closure(csr: Csr, source: Pairs, zero: bool) -> Pairs:
    """Return the pairs that a relation reaches in one or more steps, and the source if ``zero``."""
    reached = source if zero else source[:0]
    frontier = source
    while len(frontier):
        frontier = unique(neighbors(csr, frontier))
        frontier = frontier[~are_in(frontier, reached)]
        reached = np.sort(np.concatenate((reached, frontier)))  # by row again
    return reached


def unique(pairs: Pairs) -> Pairs:
    """Return the distinct pairs, by row: sorted if rows are short, else marked, with ids in any order."""
    if len(pairs) < 2:
        return pairs
    rows = pairs >> 32
    if len(pairs) < _LONG * (int(rows[-1]) - int(rows[0]) + 1) or (rows[1:] < rows[:-1]).any():
        return distinct(pairs)
    ids = pairs & _LOW  # int64, so that NumPy need not convert the index
    ids -= ids.min()
    latest = np.empty(int(ids.max()) + 1, np.int32)
    first = np.empty(len(pairs), bool)
    for start, end in runs(rows):
        part = ids[start:end]
        number = np.arange(end - start, dtype=np.int32)
        latest[part] = number  # the last of equal ids wins
        np.equal(latest[part], number, out=first[start:end])
    return pairs[first]


def are_in(pairs: Pairs, other: Pairs) -> Mask:
    """Return a mask of the pairs in ``other``; both are ordered by row, with ids in any order, possibly repeated."""
    if not len(other) or not len(pairs):
        return np.zeros(len(pairs), bool)
    inside = np.zeros(len(pairs), bool)
    if len(other) < _LONG * (int(other[-1] >> 32) - int(other[0] >> 32) + 1):
        other = np.sort(other)
        position = np.searchsorted(other, pairs)
        position[position == len(other)] = 0
        return np.equal(other[position], pairs, out=inside)
    ids, members = pairs & _LOW, other & _LOW
    mark = np.zeros(max(int(ids.max()), int(members.max())) + 1, bool)
    rows, starts = pairs >> 32, other >> 32
    where = {int(starts[start]): (start, end) for start, end in runs(starts)}
    for start, end in runs(rows):
        first, last = where.get(int(rows[start]), (0, 0))
        mark[members[first:last]] = True
        inside[start:end] = mark[ids[start:end]]
        mark[members[first:last]] = False
    return inside


def runs(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return (start, end) of each run of equal rows."""
    if not len(rows):
        return []
    starts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True))
