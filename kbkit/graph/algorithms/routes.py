"""Shortest paths by weight: between two nodes, the shortest ones after it, and distances to all nodes."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import BadInputError
from kbkit.graph.algorithms.edge_table import edge_table
from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import Distances, ShortestPaths

if TYPE_CHECKING:
    import polars as pl

_KEPT = 2
"""Graphs whose weights stay in memory for the next search."""


class Route(NamedTuple):
    """A path: its total weight, and its nodes as positions."""

    weight: float
    nodes: tuple[int, ...]


def shortest_paths(network: Network, settings: ShortestPaths) -> pl.DataFrame:
    """Return the paths of the least weight between two nodes as a table of edges: path, step, ..., weight, value.

    The first by Dijkstra's algorithm from both ends, the next ones by Yen's (1971). No path visits a node twice. Of
    parallel edges, the lightest is taken. ``value`` is the weight of the edge, ``weight`` that of the path. Without
    weights, every edge has weight 1.
    """
    import polars as pl

    start, end = network.find(settings.start), network.find(settings.end)
    if start == end:
        raise BadInputError("Both ends are the same node", "Use another node")
    graph = _graph(network)
    found = []
    for route in _yen(graph, start, end):
        found.append(route)
        if len(found) == settings.paths:
            break
    steps = [
        (number, step, head, tail, route.weight)
        for number, route in enumerate(found, 1)
        for step, (head, tail) in enumerate(itertools.pairwise(route.nodes), 1)
    ]
    values = [graph.weight(head, tail) for _, _, head, tail, _ in steps]
    path, step, head, tail, weight = ([one[i] for one in steps] for i in range(5))
    frame = edge_table(network, head, tail, values, path=path, step=step)
    return frame.with_columns(pl.Series("weight", weight, pl.Float64))


def distances(network: Network, settings: Distances) -> NDArray[np.float64]:
    """Return the weight of the lightest path from a node to each node, by Dijkstra's algorithm; NaN if there is none.

    Without weights, it is the number of edges.
    """
    from scipy.sparse.csgraph import dijkstra

    network.check_positive("A shortest path")
    matrix = network.matrix("least")
    found = dijkstra(matrix, indices=network.find(settings.start), unweighted=network.weight is None)
    return np.where(np.isinf(found), np.nan, found)


def _graph(network: Network) -> _RouteGraph:
    """Return the weights of a network; those of the last whole graphs stay in memory until the KB is closed."""
    kept: dict[Any, _RouteGraph] = network.stores.shared(_kept)
    key = (tuple(r.name for r in network.relations), network.direction, network.weight)
    if key in kept and kept[key].is_of(network):
        return kept[key]
    network.check_positive("A shortest path")
    graph = _RouteGraph(network)
    while len(kept) >= _KEPT:
        del kept[next(iter(kept))]
    kept[key] = graph
    return graph


def _kept(_: object) -> dict[Any, Any]:
    return {}


class _RouteGraph:
    """The edges from and to each node with their weights, and room for two searches."""

    def __init__(self, network: Network) -> None:
        self._nodes = network.nodes
        matrix = network.matrix("least", loops=False)
        turned = matrix if network.direction == "both" else matrix.T.tocsr()
        self.arrays = [(m.indptr.astype(np.int64), m.indices, m.data) for m in (matrix, turned)]
        self.labels = [np.full(matrix.shape[0], np.inf) for _ in range(2)]
        self.before = [np.empty(matrix.shape[0], np.int32) for _ in range(2)]
        self.banned = np.zeros(matrix.shape[0], bool)

    def is_of(self, network: Network) -> bool:
        return np.array_equal(self._nodes, network.nodes)

    def weight(self, head: int, tail: int) -> float:
        """Return the weight of an edge."""
        offsets, targets, weights = self.arrays[0]
        row = slice(int(offsets[head]), int(offsets[head + 1]))
        return float(weights[row][targets[row] == tail][0])


class _SearchSide:
    """Dijkstra's search from one end.

    A node's neighbours enter the queue as one run, sorted by distance, so that a hub does not cost a step each.
    """

    def __init__(self, graph: _RouteGraph, number: int, node: int) -> None:
        self._graph, self._number = graph, number
        self.label, self._arrays = graph.labels[number], graph.arrays[number]
        self._before = graph.before[number]
        self._before[node] = -1
        self.touched: list[NDArray[np.int32]] = [np.array([node], np.int32)]
        self._runs: list[tuple[NDArray[np.float64], NDArray[np.int32]]] = []
        self._queue: list[tuple[float, int, int]] = []
        self.label[node] = 0
        self._done: set[int] = set()
        self._push(np.zeros(1), self.touched[0])

    def _push(self, distances: NDArray[np.float64], nodes: NDArray[np.int32]) -> None:
        if len(nodes):
            self._runs.append((distances, nodes))
            heapq.heappush(self._queue, (float(distances[0]), len(self._runs) - 1, 0))

    @property
    def least(self) -> float:
        """The distance of the next node, infinite at the end."""
        return self._queue[0][0] if self._queue else np.inf

    def step(self, other: _SearchSide, best: float, skip: tuple[int, NDArray[np.int64]]) -> tuple[float, int]:
        """Settle the next node; return the least weight of a path through one of its edges, and where sides meet.

        ``skip`` are edges that must not be used, from one node to some.
        """
        distance, number, place = heapq.heappop(self._queue)
        distances, nodes = self._runs[number]
        node = int(nodes[place])
        if place + 1 < len(nodes):
            heapq.heappush(self._queue, (float(distances[place + 1]), number, place + 1))
        if node in self._done or distance > self.label[node]:
            return np.inf, -1
        self._done.add(node)
        targets, reached = self._near(node, distance, best, skip)
        if not len(targets):
            return np.inf, -1
        self.label[targets], self._before[targets] = reached, node
        self.touched.append(targets)
        whole = reached + other.label[targets]
        at = int(np.argmin(whole))
        keep = reached + other.least < best
        order = np.argsort(reached[keep], kind="stable")
        self._push(reached[keep][order], targets[keep][order])
        return float(whole[at]), int(targets[at])

    def _near(
        self, node: int, distance: float, best: float, skip: tuple[int, NDArray[np.int64]]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the neighbours that are nearer than known, and their distances."""
        offsets, targets, weights = self._arrays
        row = slice(int(offsets[node]), int(offsets[node + 1]))
        near, reached = targets[row], distance + weights[row]
        keep = (reached < self.label[near]) & (reached < best) & ~self._graph.banned[near]
        if len(skip[1]):
            if self._number == 0 and node == skip[0]:
                keep &= ~np.isin(near, skip[1])
            elif self._number == 1 and node in skip[1]:
                keep &= near != skip[0]
        return near[keep], reached[keep]

    def way(self, node: int) -> list[int]:
        """Return the nodes from a node back to the end of this side."""
        found = [node]
        while (before := int(self._before[found[-1]])) >= 0:
            found.append(before)
        return found

    def clear(self) -> None:
        """Make the room ready for the next search."""
        for nodes in self.touched:
            self.label[nodes] = np.inf


def _lightest(graph: _RouteGraph, start: int, end: int, skip: tuple[int, NDArray[np.int64]]) -> Route | None:
    """Return a path of the least weight, by Dijkstra's algorithm from both ends; None if there is none."""
    sides = [_SearchSide(graph, 0, start), _SearchSide(graph, 1, end)]
    best, ways = np.inf, ([0], [0])
    try:
        while sides[0].least + sides[1].least < best:
            side, other = sides if sides[0].least <= sides[1].least else sides[::-1]
            weight, met = side.step(other, best, skip)
            if weight < best:
                best, ways = weight, (sides[0].way(met), sides[1].way(met))
    finally:
        for side in sides:
            side.clear()
    return None if np.isinf(best) else Route(float(best), (*reversed(ways[0]), *ways[1][1:]))


def _yen(graph: _RouteGraph, start: int, end: int) -> Iterator[Route]:
    """Yield paths without repeated nodes by weight, the least first."""
    first = _lightest(graph, start, end, (-1, np.empty(0, np.int64)))
    waiting = [] if first is None else [first]
    known: list[Route] = []
    seen = {route.nodes for route in waiting}
    while waiting:
        route = heapq.heappop(waiting)
        yield route
        known.append(route)
        for place in range(len(route.nodes) - 1):
            root = route.nodes[: place + 1]
            used = {other.nodes[place + 1] for other in known if other.nodes[: place + 1] == root}
            graph.banned[[*root]] = True
            graph.banned[root[-1]] = False
            try:
                rest = _lightest(graph, root[-1], end, (root[-1], np.array(sorted(used))))
            finally:
                graph.banned[[*root]] = False
            if rest is None:
                continue
            before = sum(graph.weight(a, b) for a, b in itertools.pairwise(root))
            longer = Route(before + rest.weight, (*root[:-1], *rest.nodes))
            if longer.nodes not in seen:
                seen.add(longer.nodes)
                heapq.heappush(waiting, longer)
