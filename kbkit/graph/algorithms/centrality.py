"""Betweenness and closeness: breadth-first searches from all nodes, or from a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.settings import Sampled
from kbkit.stores.arrays import distinct, expand_ranges

Values = NDArray[np.float64]
Places = NDArray[np.int64]


class _Level(NamedTuple):
    """The edges of shortest paths from one level of a search to the next, and the nodes first reached by them."""

    start: Places
    end: Places
    new: Places


class _Arrays:
    """The rows of a network's matrix, without weights and loops."""

    def __init__(self, network: Network, *, turned: bool = False) -> None:
        matrix = network.matrix(loops=False)
        if turned:
            matrix = matrix.T.tocsr()
        self.count = matrix.shape[0]
        self._offsets, self._targets = matrix.indptr.astype(np.int64), matrix.indices

    def levels(self, source: int) -> Iterator[_Level]:
        """Yield the levels of a breadth-first search."""
        reached = np.full(self.count, -1, np.int32)
        reached[source] = 0
        front = np.array([source], np.int64)
        level = 0
        while len(front):
            level += 1
            counts = self._offsets[front + 1] - self._offsets[front]
            ends = self._targets[expand_ranges(self._offsets[front], counts)].astype(np.int64)
            starts = np.repeat(front, counts)
            keep = reached[ends] < 0
            starts, ends = starts[keep], ends[keep]
            front = distinct(ends)
            reached[front] = level
            yield _Level(starts, ends, front)


def _sources(n: int, settings: Sampled) -> Places:
    if settings.samples is None or settings.samples >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(settings.seed).choice(n, settings.samples, replace=False))


def betweenness(network: Network, settings: Sampled) -> Values:
    """Return the fraction of shortest paths between two other nodes that lead through each node.

    Brandes, 2001; from a sample of k of n nodes, the sums are multiplied by n / k (Brandes and Pich, 2007). Divided by
    (n - 1)(n - 2), the number of pairs of other nodes. Parallel edges count once.
    """
    graph = _Arrays(network)
    n, found = graph.count, np.zeros(graph.count)
    if n < 3:
        return found
    sources = _sources(n, settings)
    for source in sources.tolist():
        found += _dependencies(graph, source)
    return np.asarray(found * (n / len(sources)) / ((n - 1) * (n - 2)))


def _dependencies(graph: _Arrays, source: int) -> Values:
    """Return for each node the sum, over all ends, of the fraction of shortest paths from ``source`` through it."""
    ways, passed = np.zeros(graph.count), np.zeros(graph.count)
    ways[source] = 1
    levels = []
    for level in graph.levels(source):
        np.add.at(ways, level.end, ways[level.start])
        levels.append(level)
    for start, end, _ in reversed(levels):
        np.add.at(passed, start, ways[start] / ways[end] * (1 + passed[end]))
    passed[source] = 0
    return passed


def closeness(network: Network, settings: Sampled) -> Values:
    """Return how near the other nodes are: the fraction that a node reaches, divided by their mean distance.

    Wasserman and Faust, 1994. Distances are numbers of edges, from each node in the direction of the subgraph to
    the others, or to a sample of them (Eppstein and Wang, 2004).
    """
    graph = _Arrays(network, turned=True)
    n = graph.count
    reached, distance = np.zeros(n), np.zeros(n)
    targets = _sources(n, settings)
    for target in targets.tolist():
        for number, level in enumerate(graph.levels(target), 1):
            reached[level.new] += 1
            distance[level.new] += number
    others = np.full(n, len(targets), np.float64)
    others[targets] -= 1
    usable = (distance > 0) & (others > 0)
    return np.asarray(np.divide(reached * reached, distance * others, out=np.zeros(n), where=usable))
