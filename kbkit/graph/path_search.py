"""The search of paths: bidirectional breadth-first search, then the best paths through the layers.

Weights are compared in thousandths of a bit, as integers.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.graph.nodes import degrees_of_all, hub_degree
from kbkit.graph.steps import CLOSED, Graph, Marks, Rows, spread, work
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids

UNITS = 1000
"""Weights are compared in thousandths of a bit, as integers."""
_ROUNDS = 3
"""Searches for longer paths, each without the hubs of the one before."""
_MOST_NEIGHBOURS = 4_000_000
"""Neighbours that are looked at to fill up with longer paths."""
_MOST_EXPANDED = 5_000
"""Ways that pass nodes twice and are expanded at most."""

Weighted = tuple[int, tuple[int, ...]]
"""A path with its weight."""


class _Side:
    """The search from one end: ``fronts[i]`` are the sorted nodes reached after ``i`` steps."""

    def __init__(self, graph: Graph, node: int, marks: Marks) -> None:
        self._graph, self.marks = graph, marks
        self.fronts: list[Ids] = [np.array([node], np.int32)]
        self._rows: list[Rows] | None = None
        marks[node] = 1

    def rows(self) -> list[Rows]:
        """Return the adjacency rows of the last front."""
        if self._rows is None:
            self._rows = self._graph.rows(self.fronts[-1])
        return self._rows

    def advance(self) -> Ids:
        self.fronts.append(spread(self.rows(), self.marks, len(self.fronts)))
        self._rows = None
        return self.fronts[-1]


Layers = list[tuple[Ids, Ids]]
"""For each step of the shortest paths, the distinct pairs (node before, node after), sorted."""


def meet(graph: Graph, ends: tuple[int, int], max_steps: int, marks: Marks) -> tuple[Layers | None, bool]:
    """Return the layers of all shortest paths, or None if there are none within ``max_steps``; and whether there are
    none of any length. The side with less work is expanded.
    """
    for node in ends:  # The ends need not have one of the types.
        marks[node] = 0
    sides = [_Side(graph, node, marks.copy()) for node in ends]
    for _ in range(max_steps):
        less, more = sorted(sides, key=lambda side: work(side.rows()))
        reached = less.advance()
        if not len(reached):
            return None, True
        seen = more.marks[reached]
        met = reached[(seen > 0) & (seen != CLOSED)]
        if len(met):
            return _joined(graph, sides[0].fronts, sides[1].fronts, met), False
    return None, False


def _joined(graph: Graph, fronts: Sequence[Ids], others: Sequence[Ids], met: Ids) -> Layers:
    """Return the layers from one end to the other, whose last fronts have the nodes ``met`` in common."""
    back = reversed(_layers(graph, others[:-1], met))
    return [*_layers(graph, fronts[:-1], met), *map(_turned, back)]


def _layers(graph: Graph, fronts: Sequence[Ids], met: Ids) -> Layers:
    """Return the layers from the first front to the meeting nodes, without dead ends."""
    layers: Layers = []
    for front in reversed(fronts):
        pair = graph.pairs(front, met)
        layers.append(pair)
        met = np.unique(pair[0])
    return layers[::-1]


def _turned(pair: tuple[Ids, Ids]) -> tuple[Ids, Ids]:
    order = np.lexsort((pair[0], pair[1]))
    return pair[1][order], pair[0][order]


class _Layer(NamedTuple):
    """The nodes before a step, sorted, and the offset of each one's edges; the minimum cost from each node on
    (including its own) and the number of paths.
    """

    nodes: Ids
    first: NDArray[np.int64]
    cost: NDArray[np.int64]
    ways: NDArray[np.float64]


def best_paths(graph: Graph, layers: Layers, limit: int) -> tuple[list[Weighted], int]:
    """Return the best ``limit`` paths as ids, with their weights, and the number of paths."""
    levels = [_Layer(layers[-1][1][:1], np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1))]
    for position in range(len(layers) - 1, -1, -1):
        before, after = layers[position]
        first = np.flatnonzero(np.diff(before, prepend=-1))
        nodes = before[first]
        place = np.searchsorted(levels[0].nodes, after)
        own = _weights(graph.degrees(nodes)) if position else np.zeros(1, np.int64)
        cost = own + np.minimum.reduceat(levels[0].cost[place], first)
        levels.insert(0, _Layer(nodes, first, cost, np.add.reduceat(levels[0].ways[place], first)))
    return _enumerate(layers, levels, limit), int(levels[0].ways[0])


def _weights(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weights of nodes by their degrees, in thousandths of a bit."""
    weights: NDArray[np.int64] = np.rint(UNITS * np.log2(degrees)).astype(np.int64)
    return weights


_Way = tuple[int, tuple[int, ...], NDArray[np.int64], Ids]
"""The weight of the best path that begins so, its nodes, and the weights and last nodes of those that are next best."""


def _enumerate(layers: Layers, levels: Sequence[_Layer], limit: int) -> list[Weighted]:
    """Enumerate paths best first, with exact remaining costs. Ways that pass a node twice are no paths.

    The shortest ways are all paths: about ``limit`` times the length are expanded, and never more than
    ``_MOST_EXPANDED``.
    """
    found: list[Weighted] = []
    none = np.empty(0, np.int64)
    queue: list[_Way] = [(int(levels[0].cost[0]), (int(levels[0].nodes[0]),), none, none.astype(np.int32))]
    expanded = 0
    while queue and len(found) < limit and expanded < limit * len(layers) + _MOST_EXPANDED:
        total, path, costs, siblings = heapq.heappop(queue)
        if len(siblings):  # the next best way from the node before
            heapq.heappush(queue, (int(costs[0]), (*path[:-1], int(siblings[0])), costs[1:], siblings[1:]))
        position = len(path) - 1
        if path[-1] in path[:-1]:
            continue
        if position == len(layers):
            found.append((total, path))
            continue
        expanded += 1
        here, then = levels[position], levels[position + 1]
        row = int(np.searchsorted(here.nodes, path[-1]))
        last = int(here.first[row + 1]) if row + 1 < len(here.first) else len(layers[position][1])
        after = layers[position][1][here.first[row] : last]
        cost = then.cost[np.searchsorted(then.nodes, after)]
        order = np.argsort(cost, kind="stable")  # `after` is sorted, so ties are ordered by id
        costs, siblings = (total - int(cost.min())) + cost[order], after[order]
        heapq.heappush(queue, (int(costs[0]), (*path, int(siblings[0])), costs[1:], siblings[1:]))
    return found


def with_longer(
    stores: Stores,
    graph: Graph,
    ends: tuple[int, int],
    shortest: list[Weighted],
    max_steps: int,
    limit: int,
    marks: Marks,
) -> tuple[list[Weighted], int]:
    """Return the best of the shortest paths and of longer ones without hubs, by weight; and the number of steps from
    which paths were not searched, because there are too many (0: all were).

    First those that are the shortest without the hubs of others (:func:`kbkit.graph.nodes.hub_degree`), which are
    preferred to paths through hubs; where they are too few, longer ones, step by step, fill up. The first of the
    shortest paths is always listed.
    """
    degrees, hubs = stores.shared(degrees_of_all), hub_degree(stores)

    def largest(path: Weighted) -> int:
        return int(degrees[list(path[1][1:-1])].max(initial=0))

    found, unsearched = _around_hubs(graph, ends, shortest, max_steps, limit, marks, degrees, hubs), 0
    if len(found) < limit:
        barred = marks.copy()
        barred[(degrees > hubs) | (degrees < 2)] = CLOSED  # no path leads through a node with one neighbour
        more, unsearched = _filled(graph, ends, len(shortest[0][1]), max_steps, limit, barred)
        found |= dict.fromkeys(more)
    ranked = sorted(found, key=lambda path: (largest(path) > hubs, path))[:limit]
    return sorted(ranked if shortest[0] in ranked else [*ranked[:-1], shortest[0]]), unsearched


def _around_hubs(
    graph: Graph,
    ends: tuple[int, int],
    shortest: list[Weighted],
    max_steps: int,
    limit: int,
    marks: Marks,
    degrees: NDArray[np.integer],
    hubs: int,
) -> dict[Weighted, None]:
    """Return the shortest paths, and those that are the shortest without the nodes with as many neighbours as the hub
    of the best path so far; the first search leaves out all hubs.
    """
    found = dict.fromkeys(shortest)
    for number in range(_ROUNDS + 1):
        best = min(found)[1]
        if len(best) < 3:  # the ends are neighbours
            break
        hub = min(int(degrees[list(path[1:-1])].max(initial=0)) for _, path in found)
        if number == 0:
            if hub <= hubs:
                continue
            hub = hubs + 1
        closed_marks = marks.copy()
        closed_marks[degrees >= hub] = CLOSED
        layers, _ = meet(graph, ends, max_steps, closed_marks)
        if layers is None and number == 0:
            continue
        if layers is None:
            break
        found |= dict.fromkeys(best_paths(graph, layers, limit)[0])
    return found


def _filled(
    graph: Graph, ends: tuple[int, int], steps: int, max_steps: int, wanted: int, marks: Marks
) -> tuple[list[Weighted], int]:
    """Return the best paths of each number of steps from ``steps`` on until there are enough, and the number from which
    they were not searched (0: all were).
    """
    marks[list(ends)] = CLOSED
    fronts: list[list[Ids]] = [[np.array([end], np.int32)] for end in ends]
    done, found = 0, list[Weighted]()
    for length in range(1, max_steps + 1):
        # The nodes at the ends of all walks: a longer walk may come back to a node, which a search from it would not.
        side = 0 if length % 2 else 1
        rows = graph.rows(fronts[side][-1])
        done += work(rows)
        if done > _MOST_NEIGHBOURS:
            return found, max(length, steps)
        fronts[side].append(spread(rows, marks.copy(), len(fronts[side])))
        met = np.intersect1d(fronts[0][-1], fronts[1][-1], assume_unique=True)
        if length < steps or not len(met):
            continue
        layers = _joined(graph, fronts[0], fronts[1], met)
        found += best_paths(graph, layers, wanted)[0]
        if len(found) >= wanted:
            break
    return found, 0
