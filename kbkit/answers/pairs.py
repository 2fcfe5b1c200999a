"""Sets of many rows at once: pairs (row, id), each in one int64, ``row << 32 | id``.

They are distinct and stand row by row; within a row the ids are in any order.
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
"""Ids in a row from which marking them one row at a time beats sorting all rows together."""


def pack(rows: NDArray[np.signedinteger], ids: Ids) -> Pairs:
    """(row, id) in one int64 each."""
    return (rows.astype(np.int64) << 32) | ids


def ids_of(pairs: Pairs) -> Ids:
    """The ids of packed pairs."""
    return (pairs & _LOW).astype(np.int32)


def rows_only(pairs: Pairs) -> Pairs:
    """The pairs with their ids taken out."""
    return pairs & ~_LOW


def neighbors(csr: Csr, pairs: Pairs) -> Pairs:
    """The neighbours of every pair's node, in the pair's row, with repeats."""
    start, count = csr.ranges(ids_of(pairs))
    found = np.repeat(rows_only(pairs), count)
    found |= csr.expand(start, count)
    return found


def unique(pairs: Pairs) -> Pairs:
    """Distinct pairs, by row: by sorting where rows are short, else by marking, which leaves ids in any order."""
    if len(pairs) < 2:
        return pairs
    rows = pairs >> 32
    if len(pairs) < _LONG * (int(rows[-1]) - int(rows[0]) + 1) or (rows[1:] < rows[:-1]).any():
        return distinct(pairs)
    ids = pairs & _LOW  # as numpy indexes, so that it need not convert them
    ids -= ids.min()
    latest = np.empty(int(ids.max()) + 1, np.int32)
    first = np.empty(len(pairs), bool)
    for start, end in runs(rows):
        part = ids[start:end]
        number = np.arange(end - start, dtype=np.int32)
        latest[part] = number  # of equal ids the last stays
        np.equal(latest[part], number, out=first[start:end])
    return pairs[first]


def are_in(pairs: Pairs, among: Pairs) -> Mask:
    """A mask of the pairs that are in ``among``; rows ascend in both, ids are in any order and may repeat."""
    if not len(among) or not len(pairs):
        return np.zeros(len(pairs), bool)
    found = np.zeros(len(pairs), bool)
    if len(among) < _LONG * (int(among[-1] >> 32) - int(among[0] >> 32) + 1):
        among = np.sort(among)
        place = np.searchsorted(among, pairs)
        place[place == len(among)] = 0
        return np.equal(among[place], pairs, out=found)
    ids, members = pairs & _LOW, among & _LOW
    mark = np.zeros(max(int(ids.max()), int(members.max())) + 1, bool)
    rows, starts = pairs >> 32, among >> 32
    where = {int(starts[start]): (start, end) for start, end in runs(starts)}
    for start, end in runs(rows):
        first, last = where.get(int(rows[start]), (0, 0))
        mark[members[first:last]] = True
        found[start:end] = mark[ids[start:end]]
        mark[members[first:last]] = False
    return found


def runs(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """(start, end) of each run of equal rows."""
    if not len(rows):
        return []
    starts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True))
