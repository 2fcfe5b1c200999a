"""Find the optimal assignment of predicted rows to gold rows for row-major F1. Pure functions over sparse arrays."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

from kbkit.errors import KbError

Ints: TypeAlias = NDArray[np.int64]
Incidence: TypeAlias = Any
"""A sparse array of rows by cells; 1 if the row has the cell."""

MAX_OVERLAPS = 32_000_000
"""Limit on pairs of rows with common cells in a query; each takes about 50 bytes."""
_EXACT = 2**53
"""Integers below this are exact in SciPy's solver, which uses floating point."""


@dataclass(frozen=True)
class Assignment:
    """``recall`` is the sum of recalls over the ``pairs`` of matched rows, all with recall above 0."""

    recall: Fraction
    pairs: int


def assign(gold: Incidence, predicted: Incidence, widths: Ints) -> Assignment:
    """Match rows one to one to maximize the sum of recalls (SPINACH, section 5.1).

    ``gold`` (n rows) and ``predicted`` (m rows) are incidence arrays over the same cells. ``widths`` (n) is the number
    of cells of each gold row, including cells not in ``gold``; the recall of a pair is its common cells over the width.
    If several assignments are optimal, the paper does not say which to use; this function returns one with the most
    pairs, hence the highest F1. Raises :class:`KbError` if more pairs of rows overlap than fit in memory.
    """
    common = np.flatnonzero((gold.sum(axis=0) > 0) & (predicted.sum(axis=0) > 0))
    gold, predicted = gold[:, common].tocsr(), predicted[:, common].tocsr()
    cells = np.zeros(len(widths), np.int64)  # matched cells, credited to a gold row of the right width
    settled = np.zeros(len(widths), np.bool_)  # gold rows whose pairs are already counted
    pairs = 0
    while gold.shape[1]:
        shared, gained = _shared(gold, predicted, widths)
        if not shared.any():
            break
        cells += gained.cells
        pairs += int((gained.matched & ~settled).sum())
        settled |= gained.settled
        gold, predicted = gold[:, ~shared], predicted[:, ~shared]
    more_cells, more_pairs = _solve(gold, predicted, widths, settled)
    return Assignment(_total(cells + more_cells, widths), pairs + more_pairs)


def _total(cells: Ints, widths: Ints) -> Fraction:
    """Return the exact sum of cells over widths."""
    distinct, inverse = np.unique(widths, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, inverse, cells)
    return sum((Fraction(int(c), int(w)) for c, w in zip(sums, distinct, strict=True) if c), Fraction(0))


@dataclass(frozen=True)
class _Gain:
    """Per gold row: matched cells, whether it is matched, whether its component's pairs are now counted."""

    cells: Ints
    matched: NDArray[np.bool_]
    settled: NDArray[np.bool_]


def _shared(gold: Incidence, predicted: Incidence, widths: Ints) -> tuple[NDArray[np.bool_], _Gain]:
    """Return the cells common to all rows of their connected component, and their contribution: an exact reduction.

    Such cells let any two rows of the component match. An optimal assignment then matches as many rows as possible, and
    gains the common cells with every pair. This holds if all gold rows are matched, or all are equally wide. The rest
    splits into smaller components; a result of one column is solved in one step.
    """
    rows = sparse.vstack([gold, predicted])
    graph = sparse.block_array([[None, rows], [rows.T, None]], format="csr")
    count, labels = connected_components(graph, directed=False)
    of_gold, of_predicted, of_cell = np.split(labels, [gold.shape[0], rows.shape[0]])
    n, m = np.bincount(of_gold, minlength=count), np.bincount(of_predicted, minlength=count)
    low, high = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(low, of_gold, widths)
    np.maximum.at(high, of_gold, widths)
    exact = (n <= m) | (low == high)
    in_all = (gold.sum(axis=0) == n[of_cell]) & (predicted.sum(axis=0) == m[of_cell])
    shared = in_all & exact[of_cell]
    gain = np.bincount(of_cell[shared], minlength=count)[of_gold]
    order = np.argsort(of_gold, kind="stable")
    position = np.empty(len(order), np.int64)  # of a gold row within its component
    position[order] = np.arange(len(order)) - (np.cumsum(n) - n)[of_gold[order]]
    matched = (gain > 0) & (position < m[of_gold])
    return shared, _Gain(np.where(matched, gain, 0), matched, gain > 0)


def _solve(gold: Incidence, predicted: Incidence, widths: Ints, settled: NDArray[np.bool_]) -> tuple[Ints, int]:
    """Return matched cells per gold row, and the number of pairs of rows not ``settled``, by linear assignment."""
    cells = np.zeros(len(widths), np.int64)
    overlaps = int((gold.sum(axis=0).astype(np.int64) * predicted.sum(axis=0)).sum())
    if overlaps > MAX_OVERLAPS:
        raise KbError(
            f"Too many overlaps to match {gold.shape[0]:,} gold and {predicted.shape[0]:,} predicted rows:"
            f" {overlaps:,} pairs have common cells, the limit is {MAX_OVERLAPS:,}",
            "Drop columns with few distinct values",
        )
    left = np.flatnonzero(gold.sum(axis=1) > 0)
    if not len(left):
        return cells, 0
    scale = _scale(widths[left], min(len(left), predicted.shape[0]))
    # An extra column lets a gold row stay unmatched; its cost of half a unit prefers more pairs if sums tie.
    alone = sparse.diags_array(np.full(len(left), -0.5))
    ours = sparse.hstack([sparse.diags_array(scale) @ gold[left], alone], format="csr")
    theirs = sparse.block_diag([predicted, sparse.eye_array(len(left))], format="csr")
    weights = (ours @ theirs.T).tocsr()
    first, second = min_weight_full_bipartite_matching(weights, maximize=True)
    met = second < predicted.shape[0]
    first, second = first[met], second[met]
    cells[left[first]] = np.rint(weights[first, second] / scale[first]).astype(np.int64)
    return cells, int((~settled[left[first]]).sum())


def _scale(widths: Ints, limit: int) -> NDArray[np.float64]:
    """Return the weight of a common cell in rows of these widths, with at most ``limit`` pairs.

    Weights are recall in integer units that outweigh all pairs. If the widths have no small common multiple, units are
    rounded: a slightly worse assignment may be found, but its recall is exact.
    """
    unit = lcm(*map(int, np.unique(widths)))
    finest = _EXACT // (limit + 1) ** 2
    return np.maximum(np.rint(min(unit, finest) / widths), 1.0) * (limit + 1)
