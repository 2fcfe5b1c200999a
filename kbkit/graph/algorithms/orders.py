"""Orders of directed graphs: topological order and cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import Command, KbError
from kbkit.graph.algorithms.edge_table import edge_table
from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import Cycles, Subgraph
from kbkit.stores.arrays import distinct, expand_ranges

if TYPE_CHECKING:
    import polars as pl


def topological_order(network: Network, settings: Subgraph) -> NDArray[np.int64]:
    """Return the level of each node: 0 without incoming edges, else one more than the highest node before it.

    Kahn, 1962, a level at a time. Raises :class:`KbError` with a cycle, if there is one.
    """
    del settings
    matrix = network.matrix()
    offsets, targets = matrix.indptr.astype(np.int64), matrix.indices
    missing = np.bincount(targets, minlength=len(network))
    levels = np.zeros(len(network), np.int64)
    front = np.flatnonzero(missing == 0)
    done = 0
    level = 0
    while len(front):
        levels[front] = level
        done += len(front)
        near = targets[expand_ranges(offsets[front], offsets[front + 1] - offsets[front])]
        np.subtract.at(missing, near, 1)
        front = distinct(near[missing[near] == 0])
        level += 1
    if done < len(network):
        [cycle] = _cycles(matrix, 1)
        rows = network.stores.nodes.rows(network.nodes[cycle].tolist())
        names = [f"{rows[int(i)].type}#{rows[int(i)].key}" for i in network.nodes[cycle]]
        shown = " -> ".join([*names[:6], *(["..."] if len(names) > 6 else []), names[0]])
        raise KbError(f"The graph has a cycle: {shown}", *("List cycles with ", Command("graph cycles KB")))
    return levels


def cycles(network: Network, settings: Cycles) -> pl.DataFrame:
    """Return cycles as a table of edges, with ``cycle`` and ``step`` from 1, the shortest first.

    For each node of a strongly connected component, a shortest cycle through it is found, until there are enough
    different ones: every node that lies on a cycle is on one of them, if the maximum allows. A loop is a cycle.
    """
    found = _cycles(network.matrix(), settings.cycles)
    edges = [
        (number, step, head, tail)
        for number, nodes in enumerate(found, 1)
        for step, (head, tail) in enumerate(zip(nodes, [*nodes[1:], nodes[0]], strict=True), 1)
    ]
    columns = [list(column) for column in zip(*edges, strict=True)] or [[], [], [], []]
    return edge_table(network, columns[2], columns[3], cycle=columns[0], step=columns[1])


def _cycles(matrix: Any, limit: int) -> list[list[int]]:
    """Return up to ``limit`` different cycles as positions, each from its smallest one."""
    from scipy.sparse.csgraph import connected_components

    offsets, targets = matrix.indptr.astype(np.int64), matrix.indices
    found: dict[tuple[int, ...], None] = {}
    loops = np.flatnonzero(matrix.diagonal())
    found |= {(int(node),): None for node in loops[:limit]}
    labels = connected_components(matrix, connection="strong")[1]
    sizes = np.bincount(labels, minlength=1)
    inner = np.flatnonzero(sizes[labels] > 1)
    for node in inner[np.argsort(sizes[labels[inner]], kind="stable")].tolist():
        if len(found) >= limit:
            break
        nodes = _cycle_through(offsets, targets, node)
        first = nodes.index(min(nodes))
        found[tuple(nodes[first:] + nodes[:first])] = None
    return [list(one) for one in sorted(found, key=lambda nodes: (len(nodes), nodes))]


def _cycle_through(offsets: NDArray[np.int64], targets: NDArray[np.int32], node: int) -> list[int]:
    """Return a shortest cycle of at least two nodes through a node that has one, by breadth-first search."""
    before = np.full(len(offsets) - 1, -1, np.int64)
    front = np.array([node])
    while True:
        counts = offsets[front + 1] - offsets[front]
        ends = targets[expand_ranges(offsets[front], counts)].astype(np.int64)
        starts = np.repeat(front, counts)
        closing = np.flatnonzero((ends == node) & (starts != node))
        if len(closing):
            path = [int(starts[closing[0]])]
            while path[-1] != node:
                path.append(int(before[path[-1]]))
            return path[::-1]
        new = np.flatnonzero((before[ends] < 0) & (ends != node))
        ends, place = np.unique(ends[new], return_index=True)
        before[ends] = starts[new][place]
        front = ends
