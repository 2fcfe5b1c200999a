"""Pairs of nodes that share neighbours: similarity and link prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError, Option
from kbkit.graph.algorithms.edge_table import edge_table
from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import LinkPrediction, Similarity

if TYPE_CHECKING:
    import polars as pl

_WORK, _MAX_WORK = 20_000_000, 4_000_000_000
"""Pairs of edges with a common end that are processed at once, and at most (minutes)."""


def similarity(network: Network, settings: Similarity) -> pl.DataFrame:
    """Return the pairs of nodes with the most similar neighbours; see :func:`_best`."""
    return _best(network, settings)


def link_prediction(network: Network, settings: LinkPrediction) -> pl.DataFrame:
    """Return the pairs of nodes that no edge joins, with the most similar neighbours (Liben-Nowell and Kleinberg)."""
    return _best(network, settings, unlinked=True)


def _best(network: Network, settings: Similarity, unlinked: bool = False) -> pl.DataFrame:
    """Return the pairs that share neighbours, best first, then by ids, as a table of edges.

    ``jaccard`` is the shared neighbours divided by all neighbours of both; ``adamic-adar`` adds 1 / log(degree) of the
    shared ones (Adamic and Adar, 2003); ``common`` is their number. Loops and parallel edges are ignored.
    """
    matrix = network.matrix(loops=False)
    turned = matrix.T.tocsr()
    degrees = np.diff(matrix.indptr).astype(np.float64)
    reach = np.diff(turned.indptr).astype(np.float64)
    work = np.cumsum(matrix @ reach)
    rows = np.arange(len(network)) if settings.of is None else np.array([network.find(settings.of)])
    if settings.of is None and len(work) and work[-1] > _MAX_WORK:
        raise KbError(
            f"Too many pairs of nodes share neighbours (about {work[-1] / 2:.2g})",
            *("Use ", Option("of", "NODE"), ", ", Option("within"), " or other relations"),
        )
    if settings.score == "adamic-adar":
        joint = degrees if settings.direction == "both" else reach
        value = np.divide(1, np.log(joint, where=joint > 1, out=np.ones(len(joint))), where=joint > 1,
                          out=np.zeros(len(joint)))  # fmt: skip
        turned = matrix.T.tocsr()
        turned.data = np.repeat(value, np.diff(turned.indptr))
    found = _Best(settings.pairs)
    start = 0
    while start < len(rows):
        end = len(rows)
        if settings.of is None:
            before = work[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(work, before + _WORK, "right")))
        found.add(*_scored(matrix, turned, degrees, rows[start:end], settings, unlinked))
        start = end
    head, tail, value = found.sorted()
    return edge_table(network, head, tail, value)


def _scored(
    matrix: Any,
    turned: Any,
    degrees: NDArray[np.float64],
    rows: NDArray[np.int64],
    settings: Similarity,
    unlinked: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of some rows with their scores."""
    shared = (matrix[rows] @ turned).tocoo()
    head, tail, value = rows[shared.row], shared.col.astype(np.int64), shared.data
    keep = (head < tail if settings.of is None else head != tail) & (value > 0)
    if unlinked:
        keep &= ~_linked(matrix, head, tail) & ~_linked(matrix, tail, head)
    head, tail, value = head[keep], tail[keep], value[keep]
    if settings.score == "jaccard":
        value = value / (degrees[head] + degrees[tail] - value)
    return head, tail, value


def _linked(matrix: Any, head: NDArray[np.int64], tail: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the pairs that an edge joins."""
    n = matrix.shape[0]
    packed = np.repeat(np.arange(n, dtype=np.int64), np.diff(matrix.indptr)) * n + matrix.indices
    return np.isin(head * n + tail, packed)


class _Best:
    """The best pairs so far."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[tuple[Any, Any, Any]] = []

    def add(self, head: NDArray[np.int64], tail: NDArray[np.int64], value: NDArray[np.float64]) -> None:
        if len(value) > self._limit:
            least = np.partition(value, len(value) - self._limit)[len(value) - self._limit]
            keep = value >= least
            head, tail, value = head[keep], tail[keep], value[keep]
            order = np.lexsort((tail, head, -value))[: self._limit]
            head, tail, value = head[order], tail[order], value[order]
        self._parts.append((head, tail, value))

    def sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        head, tail, value = (np.concatenate([empty[i], *(p[i] for p in self._parts)]) for i in range(3))
        order = np.lexsort((tail, head, -value))[: self._limit]
        return head[order], tail[order], value[order]
