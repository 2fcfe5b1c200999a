"""Shortest paths between two nodes: bidirectional breadth-first search, then the best paths through the layers.

A path is a sequence of nodes; several relations between two consecutive nodes are one step. Paths are sorted by weight,
ascending: the sum of the binary logarithms of the degrees of the inner nodes. A random walk from the second node on
follows the path with the probability 2 to the power of -weight, so that paths through hubs, which join most nodes by
chance, come last. Equal ones are sorted by ids.
"""

from __future__ import annotations

import heapq
import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from kbkit.assets.arguments import check_range
from kbkit.display.render import clean
from kbkit.errors import BadInputError, KbError, plural
from kbkit.graph.drawn import Drawable
from kbkit.graph.nodes import degrees_of_all, hub_degree
from kbkit.graph.steps import CLOSED, Graph, Marks, RelationMove, Rows, closed, spread, work
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl

    from kbkit.display.drawing.model import Drawing


MAX_STEPS = 100
_UNITS = 1000
"""Weights are compared in thousandths of a bit, as integers."""
_ROUNDS = 3
"""Searches for longer paths, each without the hubs of the one before."""

Weighted = tuple[int, tuple[int, ...]]
"""A path with its weight."""


class Place(NamedTuple):
    """A node of a path."""

    id: int
    key: str
    type: str
    name: str

    @property
    def reference(self) -> str:
        """``type#key``, which identifies the node in every command."""
        return f"{self.type}#{self.key}"

    def __str__(self) -> str:
        return _line(f"{self.name}  ({self.reference})")


def _line(text: str) -> str:
    return clean(text).replace("\n", " ").replace("\t", " ")


@dataclass(frozen=True)
class PathStep:
    """A step to ``node`` by all ``relations`` that lead there."""

    relations: tuple[RelationMove, ...]
    node: Place

    @property
    def label(self) -> str:
        """The relations in expression notation: ``-> [a|^b] ->``, with ``^`` for those followed backward; ``<- [b] <-``
        if all are.
        """
        onward = any(move.forward for move in self.relations)
        names = [("" if move.forward or not onward else "^") + move.shown for move in self.relations]
        arrow = "->" if onward else "<-"
        return _line(f"{arrow} [{'|'.join(names)}] {arrow}")


@dataclass(frozen=True, repr=False)
class GraphPath:
    """A path from ``start``, with one step per edge, and its ``weight`` in bits (least: most informative)."""

    start: Place
    steps: tuple[PathStep, ...]
    weight: float = 0.0

    @property
    def nodes(self) -> tuple[Place, ...]:
        """All nodes, including both ends."""
        return (self.start, *(step.node for step in self.steps))

    def lines(self, width: int = 0) -> list[str]:
        """Return the path as text, one line per node, wrapped to ``width`` columns (0: no wrapping)."""
        lines = [str(self.start), *(f"  {step.label} {step.node}" for step in self.steps)]
        if not width:
            return lines
        return [part for line in lines for part in textwrap.wrap(line, max(width, 20), subsequent_indent=6 * " ")]

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__  # readable at a Python prompt


@dataclass(frozen=True, repr=False)
class Paths(Sequence[GraphPath], Drawable):
    """The shortest paths between two nodes, and longer ones if asked for, in order; empty if all are too long.

    ``total`` is the number of all shortest paths (exact up to 2**53). ``separate`` is true if no path of any length
    exists. ``stores`` are those of the KB, for the drawing.
    """

    start: Place
    end: Place
    listed: tuple[GraphPath, ...] = ()
    total: int = 0
    separate: bool = False
    stores: Stores | None = field(default=None, compare=False)

    @property
    def steps(self) -> int:
        """The length of the paths in edges."""
        return min(map(len, self.listed), default=0)

    @overload
    def __getitem__(self, index: int) -> GraphPath: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[GraphPath, ...]: ...
    def __getitem__(self, index: int | slice) -> GraphPath | tuple[GraphPath, ...]:
        return self.listed[index]

    def __len__(self) -> int:
        return len(self.listed)

    def __iter__(self) -> Iterator[GraphPath]:
        return iter(self.listed)

    @property
    def summary(self) -> str:
        """The number of paths and their length, as text."""
        if not self.listed:
            return "no path"
        told = f"{plural(self.total, 'shortest path')} of {plural(self.steps, 'step')}"
        longer = sum(len(path) > self.steps for path in self.listed)
        if longer:
            listed = len(self.listed) - longer
            shortest = f"the {told}" if listed == self.total else f"{listed:,} of the {told}"
            return f"{plural(len(self.listed), 'path')}: {shortest}, and {longer:,} longer through less linked nodes"
        return told if self.total == len(self.listed) else f"{told}; the first {len(self.listed):,} are shown"

    def lines(self, width: int = 0) -> list[str]:
        """Return all paths, each followed by an empty line, and the summary; ``width`` wraps lines (0: no)."""
        return [*(line for path in self.listed for line in (*path.lines(width), "")), self.summary]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__  # readable at a Python prompt

    def frame(self) -> pl.DataFrame:
        """Return path, step (0: the start), relation, direction (out: from head to tail; in), and id, key, type, name
        of the node that the step leads to; one row for each relation of a step.
        """
        import polars as pl

        rows: list[tuple[object, ...]] = []
        for number, path in enumerate(self.listed, 1):
            rows.append((number, 0, None, None, *path.start))
            for position, step in enumerate(path.steps, 1):
                rows += [(number, position, r, "out" if out else "in", *step.node) for r, out, _ in step.relations]
        kinds = {"path": pl.Int64, "step": pl.Int64, "relation": pl.String, "direction": pl.String, "id": pl.Int32}
        return pl.DataFrame(rows, {**kinds, **dict.fromkeys(("key", "type", "name"), pl.String)}, orient="row")

    def drawing(self) -> Drawing:
        """Return the graph of the listed paths. Raises :class:`KbError` if there is none."""
        if not self.listed or self.stores is None:
            raise KbError(f"No path from {self.start} to {self.end} to draw", "Allow longer paths or more relations")
        from kbkit.graph.path_drawing import paths_drawing

        return paths_drawing(
            self.stores,
            f"{self.start.name} to {self.end.name}: {self.summary}",
            [[node.id for node in path.nodes] for path in self.listed],
            [[step.relations for step in path.steps] for path in self.listed],
        )

    def _repr_html_(self) -> str:
        from kbkit.display import html

        return html.drawn(self.summary, self._drawn() if self.listed else "", html.lines(str(self)))


def paths(
    stores: Stores,
    start: str | int,
    end: str | int,
    max_steps: int = 4,
    limit: int = 10,
    relations: Iterable[str] | None = None,
    types: Iterable[str] | None = None,
    *,
    longer: bool = False,
    max_degree: int | None = None,
) -> Paths:
    """Return the first ``limit`` shortest paths between two nodes; see :meth:`kbkit.kb.KnowledgeBase.paths`."""
    tables, schema, ends = stores.tables, stores.schema, (stores.nodes.find(start), stores.nodes.find(end))
    if ends[0] == ends[1]:
        same = _named(stores, ends[:1])[ends[0]]
        raise BadInputError(f"Both ends are the same node: {same.name} ({same.reference})", "Use another node")
    _check(max_steps, limit)
    graph = Graph(schema, stores.adjacency, relations)
    marks = closed(schema, tables, types)
    if max_degree is not None:
        marks[stores.shared(degrees_of_all) > max_degree] = CLOSED
    layers, separate = _meet(graph, ends, max_steps, marks)
    sequences, count = ([], 0) if layers is None else _best(graph, layers, limit)
    if longer and sequences:
        sequences = _with_longer(stores, graph, ends, sequences, max_steps, limit, marks)
    names = _named(stores, sorted({*ends, *(node for _, sequence in sequences for node in sequence)}))
    joins = graph.joining(pair for _, sequence in sequences for pair in itertools.pairwise(sequence))
    listed = tuple(
        GraphPath(
            names[nodes[0]],
            tuple(PathStep(joins[pair], names[pair[1]]) for pair in itertools.pairwise(nodes)),
            weight / _UNITS,
        )
        for weight, nodes in sequences
    )
    return Paths(names[ends[0]], names[ends[1]], listed, count, separate, stores)


def _with_longer(
    stores: Stores,
    graph: Graph,
    ends: tuple[int, int],
    shortest: list[Weighted],
    max_steps: int,
    limit: int,
    marks: Marks,
) -> list[Weighted]:
    """Return the best of the shortest paths and of longer ones through nodes with fewer neighbours, by weight.

    Each search leaves out the nodes with as many neighbours as the hub of the best path so far, the first one all hubs
    (:func:`kbkit.graph.nodes.hub_degree`). Paths without hubs are preferred; the first of the shortest paths is always
    listed.
    """
    degrees, hubs = stores.shared(degrees_of_all), hub_degree(stores)

    def largest(path: Weighted) -> int:
        return int(degrees[list(path[1][1:-1])].max(initial=0))

    found = dict.fromkeys(shortest)
    for number in range(_ROUNDS + 1):
        best = min(found)[1]
        if len(best) < 3:  # the ends are neighbours
            break
        hub = min(largest(path) for path in found)
        if number == 0:
            if hub <= hubs:
                continue
            hub = hubs + 1
        closed_marks = marks.copy()
        closed_marks[degrees >= hub] = CLOSED
        layers, _ = _meet(graph, ends, max_steps, closed_marks)
        if layers is None and number == 0:
            continue
        if layers is None:
            break
        found |= dict.fromkeys(_best(graph, layers, limit)[0])
    ranked = sorted(found, key=lambda path: (largest(path) > hubs, path))[:limit]
    return sorted(ranked if shortest[0] in ranked else [*ranked[:-1], shortest[0]])


def _check(max_steps: int, limit: int) -> None:
    check_range("maximum path length", max_steps, 1, MAX_STEPS)
    check_range("limit", limit)


def _named(stores: Stores, ids: Sequence[int]) -> dict[int, Place]:
    return {i: Place(i, row.key, row.type, row.name) for i, row in stores.nodes.rows(ids).items()}


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


def _meet(graph: Graph, ends: tuple[int, int], max_steps: int, marks: Marks) -> tuple[Layers | None, bool]:
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
            return _layers(graph, sides[0].fronts[:-1], met) + [
                _turned(pair) for pair in reversed(_layers(graph, sides[1].fronts[:-1], met))
            ], False
    return None, False


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


def _best(graph: Graph, layers: Layers, limit: int) -> tuple[list[Weighted], int]:
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
    weights: NDArray[np.int64] = np.rint(_UNITS * np.log2(degrees)).astype(np.int64)
    return weights


def _enumerate(layers: Layers, levels: Sequence[_Layer], limit: int) -> list[Weighted]:
    """Enumerate paths best first, with exact remaining costs: at most ``limit`` times the length are expanded."""
    found: list[Weighted] = []
    queue: list[Weighted] = [(int(levels[0].cost[0]), (int(levels[0].nodes[0]),))]
    while queue and len(found) < limit:
        total, path = heapq.heappop(queue)
        position = len(path) - 1
        if position == len(layers):
            found.append((total, path))
            continue
        here, then = levels[position], levels[position + 1]
        row = int(np.searchsorted(here.nodes, path[-1]))
        last = int(here.first[row + 1]) if row + 1 < len(here.first) else len(layers[position][1])
        after = layers[position][1][here.first[row] : last]
        cost = then.cost[np.searchsorted(then.nodes, after)]
        extra = total - int(cost.min())  # cost of the nodes so far
        for number in _least(cost, limit).tolist():  # `after` is sorted, so ties are ordered by id
            heapq.heappush(queue, (extra + int(cost[number]), (*path, int(after[number]))))
    return found


def _least(cost: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the positions of the ``limit`` smallest values in order, the first of equals."""
    near = np.arange(len(cost))
    if len(cost) > limit:
        near = np.flatnonzero(cost <= np.partition(cost, limit - 1)[limit - 1])
    return near[np.argsort(cost[near], kind="stable")][:limit]
