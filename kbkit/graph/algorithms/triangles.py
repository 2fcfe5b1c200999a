"""Triangles and clustering; directions, parallel edges and loops are ignored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import Subgraph

_WORK = 20_000_000
"""Products of a batch, which take 16 bytes each."""


def triangles(network: Network, settings: Subgraph) -> NDArray[np.int64]:
    """Return the number of triangles that each node is a corner of."""
    del settings
    return _counted(network.matrix(loops=False))


def clustering(network: Network, settings: Subgraph) -> NDArray[np.float64]:
    """Return the fraction of pairs of neighbours that are joined (Watts and Strogatz, 1998); 0 with one neighbour."""
    del settings
    matrix = network.matrix(loops=False)
    degrees = np.diff(matrix.indptr).astype(np.float64)
    pairs = degrees * (degrees - 1)
    found: NDArray[np.float64] = np.divide(2 * _counted(matrix), pairs, out=np.zeros(len(degrees)), where=pairs > 0)
    return found


def _counted(matrix: Any) -> NDArray[np.int64]:
    """Return the triangles at each node of a symmetric matrix.

    Each edge leads from the node of lower degree, so that no row is longer than the root of twice the edges; then each
    triangle is found once, from its first node and from its middle one.
    """
    from scipy.sparse import csr_array

    n, degrees = matrix.shape[0], np.diff(matrix.indptr)
    rank = np.empty(n, np.int64)
    rank[np.lexsort((np.arange(n), degrees))] = np.arange(n)
    rows = np.repeat(np.arange(n), degrees)
    keep = rank[rows] < rank[matrix.indices]
    ends = matrix.indices[keep]
    upward = csr_array((np.ones(len(ends)), (rows[keep], ends)), shape=(n, n))
    turned = upward.T.tocsr()
    found = np.zeros(n)
    work = np.cumsum(upward @ (np.diff(upward.indptr) + np.diff(turned.indptr)))
    start = 0
    while start < n:
        before = work[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(work, before + _WORK, "right")))
        part = upward[start:end]
        first = (part @ upward).multiply(part).tocsr()  # (first, last): number of middle nodes
        middle = (part @ turned).multiply(part).tocsr()  # (first, middle): number of last nodes
        found[start:end] += first.sum(axis=1)
        found += first.sum(axis=0) + middle.sum(axis=0)
        start = end
    return np.rint(found).astype(np.int64)
