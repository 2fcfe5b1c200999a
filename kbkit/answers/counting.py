"""Count, for each of many nodes, the distinct nodes that the steps of a count reach; on the adjacency arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import MeasureStep, Move, Operator, PathMeasure
from kbkit.answers.pairs import Pairs, closure, neighbors, pack, unique
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask

Counts: TypeAlias = NDArray[np.int64]
Arrays: TypeAlias = Callable[[Move], Csr]
"""Returns the adjacency arrays of a move."""
IsWithin: TypeAlias = Callable[[Operator, Pairs], Mask]
"""Return a mask of the pairs (position of a start node, id) whose id is in an operator's set."""

COMPARE = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

_EDGES, _CLOSURE_NODES = 1_000_000, 1024
"""Edges of the first step, and start nodes of a count with closures, that are followed at once."""


def count_reached(arrays: Arrays, count: PathMeasure, ids: Ids, is_within: IsWithin) -> Counts:
    """Return the number of distinct nodes that a count reaches from each of ``ids``."""
    first, *rest = count.steps
    if not rest and first.within is None and len(first.moves) == 1 and not first.moves[0].closure:
        degrees: Counts = arrays(first.moves[0]).ranges(ids)[1]
        return degrees
    counts = np.zeros(len(ids), np.int64)
    for start, end, pairs in _reached(arrays, count, ids, is_within):
        counts[start:end] = np.bincount((pairs >> 32) - start, minlength=end - start)
    return counts


def reached_pairs(arrays: Arrays, count: PathMeasure, ids: Ids, is_within: IsWithin) -> Pairs:
    """Return the distinct pairs (position in ``ids``, id) of the nodes that a count reaches from each of ``ids``."""
    parts = [pairs for _, _, pairs in _reached(arrays, count, ids, is_within)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _reached(arrays: Arrays, count: PathMeasure, ids: Ids, is_within: IsWithin) -> Iterator[tuple[int, int, Pairs]]:
    """Yield the first and last position of each block of ``ids``, and the pairs reached from it."""
    closes = any(move.closure for step in count.steps for move in step.moves)
    degrees = np.zeros(len(ids), np.int64)
    for move in count.steps[0].moves:
        degrees = degrees + arrays(move).ranges(ids)[1]
    for start, end in _spans(len(ids)) if closes else _blocks(degrees):
        pairs = pack(np.arange(start, end), ids[start:end])
        for number, step in enumerate(count.steps):
            pairs = _follow(arrays, step, pairs, is_first=number == 0)
            if step.within is not None and len(pairs):
                pairs = pairs[is_within(step.within, pairs)]
        yield start, end, pairs


def _spans(nodes: int) -> Iterator[tuple[int, int]]:
    for start in range(0, nodes, _CLOSURE_NODES):
        yield start, min(nodes, start + _CLOSURE_NODES)


def _blocks(degrees: Counts) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of consecutive nodes with about ``_EDGES`` edges."""
    total = np.cumsum(degrees)
    start = 0
    while start < len(degrees):
        before = int(total[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(total, before + _EDGES, side="right")))
        yield start, end
        start = end


def _follow(arrays: Arrays, step: MeasureStep, pairs: Pairs, *, is_first: bool) -> Pairs:
    parts = []
    for move in step.moves:
        csr = arrays(move)
        parts.append(closure(csr, pairs, move.closure == "*") if move.closure else neighbors(csr, pairs))
    if is_first and len(parts) == 1:  # the neighbours of one node are distinct
        return parts[0]
    return unique(parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts)))


def best_of_rows(rows: NDArray[np.int64], values: Counts, greatest: bool) -> Mask:
    """Return a mask of the greatest (or least) values of each row; ``rows`` are in order."""
    if not len(rows):
        return np.zeros(0, bool)
    starts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    best = (np.maximum if greatest else np.minimum).reduceat(values, starts)
    lengths = np.diff(np.append(starts, len(rows)))
    mask: Mask = values == np.repeat(best, lengths)
    return mask


def top_of_rows(rows: NDArray[np.int64], values: Counts, greatest: bool, number: Counts) -> Mask:
    """Return a mask of the values that fewer than ``number`` others of their row surpass."""
    signed = -values if greatest else values
    order = np.lexsort((signed, rows))
    rows_in_order, in_order = rows[order], signed[order]
    new_row = np.concatenate(([True], rows_in_order[1:] != rows_in_order[:-1]))[: len(rows)]
    new_value = new_row | np.concatenate(([True], in_order[1:] != in_order[:-1]))[: len(rows)]
    position = np.arange(len(rows))
    first_of_value = np.maximum.accumulate(np.where(new_value, position, 0)) if len(rows) else position
    first_of_row = np.maximum.accumulate(np.where(new_row, position, 0)) if len(rows) else position
    mask = np.zeros(len(rows), bool)
    mask[order] = first_of_value - first_of_row < np.broadcast_to(number, rows.shape)[order]
    return mask
