"""Spanning trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kbkit.graph.algorithms.edge_table import edge_table
from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import SpanningTree

if TYPE_CHECKING:
    import polars as pl


def spanning_tree(network: Network, settings: SpanningTree) -> pl.DataFrame:
    """Return the edges of a minimum spanning tree of each component, lightest first, by Kruskal's algorithm.

    Directions are ignored. Weights may be negative. Without weights, it is any spanning tree.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    # Of parallel edges the best counts: the least weight, or the greatest, which is the least of the negated ones.
    matrix = network.matrix("greatest" if settings.heaviest else "least", loops=False)
    if not matrix.nnz:
        return edge_table(network, [], [], [])
    weights = -matrix.data if settings.heaviest else matrix.data
    # SciPy takes a weight of 0 for a missing edge, so all are made positive by their rank.
    order, ranks = np.unique(weights, return_inverse=True)
    ranked = csr_array((ranks + 1.0, matrix.indices, matrix.indptr), shape=matrix.shape)
    tree = minimum_spanning_tree(ranked).tocoo()
    found = order[np.rint(tree.data).astype(np.int64) - 1]
    head, tail = np.minimum(tree.row, tree.col), np.maximum(tree.row, tree.col)
    placed = np.lexsort((tail, head, found))
    value = -found if settings.heaviest else found
    return edge_table(network, head[placed], tail[placed], value[placed])
