"""The best assignment of predicted rows to gold rows, as row-major F1 needs it; pure functions over sparse arrays."""

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
"""A sparse array of rows by cells: 1 where the row has the cell."""

MOST_OVERLAPS = 32_000_000
"""Pairs of rows with cells in common, beyond which a question is refused: some 50 bytes each."""
_EXACT = 2**53
"""Whole numbers below this are exact in SciPy's solver, which computes in floating point."""


@dataclass(frozen=True)
class Assignment:
    """``recall`` is the sum of recalls over the ``pairs`` matched rows, none of which has recall 0."""

    recall: Fraction
    pairs: int


def assign(gold: Incidence, predicted: Incidence, widths: Ints) -> Assignment:
    """Match rows one to one so that the sum of recalls is greatest (SPINACH, section 5.1).

    ``gold`` (n rows) and ``predicted`` (m rows) are incidence arrays over the same cells, ``widths`` (n) says how many
    cells each gold row has, also beside those of ``gold``; the recall of a pair is its common cells over that width.
    Of several best assignments the paper does not choose; here it is the one of most pairs, hence of the highest F1.
    Raises :class:`KbError` when so many pairs of rows overlap that memory would not do.
    """
    common = np.flatnonzero((gold.sum(axis=0) > 0) & (predicted.sum(axis=0) > 0))
    gold, predicted = gold[:, common].tocsr(), predicted[:, common].tocsr()
    cells = np.zeros(len(widths), np.int64)  # matched cells, credited to a gold row of the right width
    settled = np.zeros(len(widths), np.bool_)  # gold rows whose pairs are counted
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
    """The sum of cells over widths, exactly."""
    distinct, inverse = np.unique(widths, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, inverse, cells)
    return sum((Fraction(int(c), int(w)) for c, w in zip(sums, distinct, strict=True) if c), Fraction(0))


@dataclass(frozen=True)
class _Gain:
    """Per gold row: cells matched, whether it is among the matched, whether its component's pairs are counted now."""

    cells: Ints
    matched: NDArray[np.bool_]
    settled: NDArray[np.bool_]


def _shared(gold: Incidence, predicted: Incidence, widths: Ints) -> tuple[NDArray[np.bool_], _Gain]:
    """The cells that every row of their connected component has, and what they are worth: an exact reduction.

    Such cells let any two rows of the component match, so a best assignment matches as many as there are, and gains the
    shared cells at each pair whichever rows meet. That holds where all gold rows are matched, or all are equally wide.
    What remains falls into smaller components; a result of one column dissolves in a single step.
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
    worth = np.bincount(of_cell[shared], minlength=count)[of_gold]
    order = np.argsort(of_gold, kind="stable")
    place = np.empty(len(order), np.int64)  # of a gold row within its component
    place[order] = np.arange(len(order)) - (np.cumsum(n) - n)[of_gold[order]]
    matched = (worth > 0) & (place < m[of_gold])
    return shared, _Gain(np.where(matched, worth, 0), matched, worth > 0)


def _solve(gold: Incidence, predicted: Incidence, widths: Ints, settled: NDArray[np.bool_]) -> tuple[Ints, int]:
    """Matched cells per gold row, and the number of pairs among rows that are not ``settled``, by linear assignment."""
    cells = np.zeros(len(widths), np.int64)
    overlaps = int((gold.sum(axis=0).astype(np.int64) * predicted.sum(axis=0)).sum())
    if overlaps > MOST_OVERLAPS:
        raise KbError(
            f"rows cannot be matched: {gold.shape[0]:,} gold and {predicted.shape[0]:,} predicted rows have cells in"
            f" common in {overlaps:,} ways, and {MOST_OVERLAPS:,} is the most",
            "leave out columns that hold few distinct values",
        )
    left = np.flatnonzero(gold.sum(axis=1) > 0)
    if not len(left):
        return cells, 0
    scale = _scale(widths[left], min(len(left), predicted.shape[0]))
    # A column of its own lets each gold row stay alone; that it costs half a unit prefers more pairs where sums tie.
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
    """What a common cell weighs in rows of these widths, when ``limit`` pairs are possible: recall, in whole units that
    outweigh all pairs. Where the widths have no small common multiple the units are rounded, so that of assignments
    nearly as good any may be found; its recall is exact all the same.
    """
    unit = lcm(*map(int, np.unique(widths)))
    finest = _EXACT // (limit + 1) ** 2
    return np.maximum(np.rint(min(unit, finest) / widths), 1.0) * (limit + 1)
