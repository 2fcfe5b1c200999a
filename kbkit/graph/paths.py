"""Paths between two nodes: the shortest ones, and longer ones if asked for.

A path is a sequence of nodes; several relations between two consecutive nodes are one step. Paths are sorted by weight,
ascending: the sum of the binary logarithms of the degrees of the inner nodes. A random walk from the second node on
follows the path with the probability 2 to the power of -weight, so that paths through hubs, which join most nodes by
chance, come last. Equal ones are sorted by ids.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, overload

from kbkit.assets.arguments import check_range
from kbkit.display.render import clean
from kbkit.errors import BadInputError, KbError, plural
from kbkit.graph.drawn import Drawable
from kbkit.graph.nodes import degrees_of_all
from kbkit.graph.path_search import UNITS, best_paths, meet, with_longer
from kbkit.graph.steps import CLOSED, Graph, RelationMove, closed
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

    from kbkit.display.drawing.model import Drawing


MAX_STEPS = 100


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
    exists. Fewer paths than asked for are listed if those of ``unsearched`` steps and more were not searched (0: all
    were). ``stores`` are those of the KB, for the drawing.
    """

    start: Place
    end: Place
    listed: tuple[GraphPath, ...] = ()
    total: int = 0
    separate: bool = False
    unsearched: int = 0
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
        unsearched = f"; paths of {self.unsearched} or more steps were not searched" if self.unsearched else ""
        return self._count() + unsearched

    def _count(self) -> str:
        if not self.listed:
            return "no path"
        told = f"{plural(self.total, 'shortest path')} of {plural(self.steps, 'step')}"
        longer = sum(len(path) > self.steps for path in self.listed)
        if longer:
            listed = len(self.listed) - longer
            shortest = f"the {told}" if listed == self.total else f"{listed:,} of the {told}"
            told = f"{plural(len(self.listed), 'path')}: {shortest}, and {longer:,} longer without hubs"
        elif self.total > len(self.listed):
            told += f"; the first {len(self.listed):,} are shown"
        return told

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
            f"{self.start.name} to {self.end.name}: {self._count()}",
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
    layers, separate = meet(graph, ends, max_steps, marks.copy())
    sequences, count = ([], 0) if layers is None else best_paths(graph, layers, limit)
    unsearched = len(layers or ()) + 1 if sequences and len(sequences) < limit else 0
    if longer and sequences:
        sequences, unsearched = with_longer(stores, graph, ends, sequences, max_steps, limit, marks)
    names = _named(stores, sorted({*ends, *(node for _, sequence in sequences for node in sequence)}))
    joins = graph.joining(pair for _, sequence in sequences for pair in itertools.pairwise(sequence))
    listed = tuple(
        GraphPath(
            names[nodes[0]],
            tuple(PathStep(joins[pair], names[pair[1]]) for pair in itertools.pairwise(nodes)),
            weight / UNITS,
        )
        for weight, nodes in sequences
    )
    return Paths(
        names[ends[0]], names[ends[1]], listed, count, separate, unsearched if unsearched <= max_steps else 0, stores
    )


def _check(max_steps: int, limit: int) -> None:
    check_range("maximum path length", max_steps, 1, MAX_STEPS)
    check_range("limit", limit)


def _named(stores: Stores, ids: Sequence[int]) -> dict[int, Place]:
    return {i: Place(i, row.key, row.type, row.name) for i, row in stores.nodes.rows(ids).items()}
