"""Components and cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import Subgraph
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import expand_ranges

Labels = NDArray[np.int64]


def components(network: Network, settings: Subgraph) -> Labels:
    """Return the number of the connected component of each node: 0 for the largest, ties by the smallest id.

    As Sutton, Ben-Nun and Barak, 2018 (Afforest): the first neighbour of each node in each relation connects most nodes
    already. The other edges of the nodes in the largest component need not be read, because each edge that joins it to
    another node is also an edge of that node.
    """
    del settings
    blocks = network.blocks()
    n = network.schema.nodes
    labels = _joined(n, [_first_neighbours(csr, network) for csr in blocks])
    largest = np.bincount(labels[network.nodes], minlength=1).argmax() if len(network) else 0
    rest = network.nodes[labels[network.nodes] != largest]
    pairs = [_edges(csr, rest, network) for csr in blocks]
    found = _joined(int(labels.max(initial=0)) + 1, [(labels[a], labels[b]) for a, b in pairs])
    return by_size(found[labels[network.nodes]])


def _joined(n: int, pairs: list[tuple[NDArray[np.int32], NDArray[np.int32]]]) -> NDArray[np.int32]:
    """Return the component of each of ``n`` nodes that the pairs connect."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = (np.concatenate([np.empty(0, np.int32), *(p[i] for p in pairs)]) for i in (0, 1))
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return labels


def _first_neighbours(csr: Csr, network: Network) -> tuple[Ids, Ids]:
    """Return the nodes of a block with their first neighbours, inside the network."""
    rows = np.flatnonzero(csr.degrees()).astype(np.int32)
    nodes = rows + np.int32(csr.first) if csr.heads is None else csr.heads[rows]
    starts, _ = csr.spans(rows)
    first = csr.expand(starts, np.ones(len(starts), np.int64))
    keep = network.inside[nodes] & network.inside[first]
    return nodes[keep], first[keep]


def _edges(csr: Csr, nodes: Ids, network: Network) -> tuple[Ids, Ids]:
    """Return all edges of the nodes in a block, inside the network."""
    starts, counts = csr.ranges(nodes)
    targets = csr.expand(starts, counts)
    keep = network.inside[targets]
    return np.repeat(nodes, counts)[keep], targets[keep]


def strong_components(network: Network, settings: Subgraph) -> Labels:
    """Return the number of the strongly connected component of each node: 0 for the largest, ties by smallest id."""
    from scipy.sparse.csgraph import connected_components

    del settings
    return by_size(connected_components(network.matrix(), connection="strong")[1])


def by_size(labels: NDArray[Any]) -> Labels:
    """Return labels numbered from 0 by the size of their groups, the largest first, then by their first position."""
    names, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -counts))
    numbers = np.empty(len(names), np.int64)
    numbers[order] = np.arange(len(names))
    return numbers[inverse]


def cores(network: Network, settings: Subgraph) -> Labels:
    """Return the core number of each node: the largest k such that the node is in a subgraph of minimum degree k.

    Nodes are removed in rounds, all of the smallest degree at once (Batagelj and Zaversnik, 2003, in batches).
    Directions, parallel edges and loops are ignored.
    """
    del settings
    matrix = network.matrix(loops=False)
    offsets, targets = matrix.indptr.astype(np.int64), matrix.indices
    degrees = np.diff(offsets)
    found = np.zeros(len(degrees), np.int64)
    left = np.ones(len(degrees), bool)
    while True:
        nodes = np.flatnonzero(left)
        if not len(nodes):
            return found
        k = int(degrees[nodes].min())
        front = nodes[degrees[nodes] <= k]
        while len(front):
            found[front], left[front] = k, False
            near = targets[expand_ranges(offsets[front], offsets[front + 1] - offsets[front])]
            near = near[left[near]]
            np.subtract.at(degrees, near, 1)
            front = np.unique(near[degrees[near] <= k])
        # The degrees of removed nodes are not used again; those left exceed k.
