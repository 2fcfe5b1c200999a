"""The neighbourhood of a node within some steps, ignoring edge direction, limited to a size that can be drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.display.drawing.model import Drawing
from kbkit.display.render import clean
from kbkit.errors import plural
from kbkit.graph.drawn import Drawable, described, labels_of, symmetric_of, totals
from kbkit.graph.steps import Graph, closed, pieces, spread, types_of
from kbkit.schema import Schema
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import is_in

if TYPE_CHECKING:
    import polars as pl


MAX_HOPS = 100


@dataclass(frozen=True, repr=False)
class Neighbourhood(Drawable):
    """A node's neighbourhood.

    ``nodes``: id, key, type, name, hop (distance from ``center``, an id), line (first line of text), nearest first,
    then by id. ``edges``: head, relation, tail, between these nodes. ``found``: hop, type, nodes (number within reach),
    kept (number of them in ``nodes``). ``symmetric`` names relations stored in both directions; ``labels`` maps
    relations whose names are codes to readable labels. ``types`` are all types of the KB in schema order.
    ``totals``: id, relation, direction (1: out, -1: in, 0: symmetric), neighbours (their number in the KB). ``kb`` is
    the name of the KB.
    """

    center: int
    nodes: pl.DataFrame
    edges: pl.DataFrame
    found: pl.DataFrame
    symmetric: frozenset[str]
    labels: Mapping[str, str]
    types: tuple[str, ...]
    totals: pl.DataFrame
    kb: str

    @property
    def omitted(self) -> int:
        """Number of nodes within reach that are not in ``nodes``."""
        return int(self.found["nodes"].sum()) - self.nodes.height

    @property
    def title(self) -> str:
        """The title, in one line."""
        hops = int(self.found["hop"].max())  # type: ignore[arg-type]
        name = clean(self.nodes["name"][0]).replace("\n", " ")
        return f"{name}: neighbourhood within {plural(hops, 'step')}"

    @property
    def summary(self) -> str:
        """The numbers of nodes, edges and omitted nodes, as text."""
        nodes, edges = self.nodes.height, self.edges.height
        shown = f"{plural(nodes, 'node')}, {plural(edges, 'edge')}"
        return shown + (f"; {plural(self.omitted, 'more node')} omitted" if self.omitted else "")

    def lines(self, width: int = 80) -> list[str]:
        """Return the number of nodes by type and distance as text, wrapped to ``width`` columns."""
        lines = [self.title]
        for (hop,), part in self.found.group_by("hop", maintain_order=True):
            if hop:
                counts = [f"{count:,} {clean(name)}" for name, count in part.select("type", "nodes").iter_rows()]
                told = f"{plural(hop, 'step')}: {int(part['nodes'].sum()):,} nodes: {', '.join(counts)}"
                lines += textwrap.wrap(told, max(width, 20), initial_indent="  ", subsequent_indent=6 * " ")
        return [*lines, f"shown: {self.summary}"]

    def __str__(self) -> str:
        return f"{self.title}: {self.summary}"

    def __repr__(self) -> str:
        return f"<Neighbourhood {self}>"

    def drawing(self) -> Drawing:
        """Return the graph to draw."""
        return Drawing(
            self.title,
            self.summary,
            self.center,
            self.nodes,
            self.edges,
            self.types,
            self.symmetric,
            self.labels,
            self.totals,
            self.kb,
        )

    def _repr_html_(self) -> str:
        from kbkit.display import html as html_pages

        counts = html_pages.table(self.found.columns, self.found.rows(), counts=True)
        return html_pages.drawn(str(self), self._drawn(), counts)


def neighbourhood(
    stores: Stores,
    node: str | int,
    hops: int = 1,
    limit: int = 150,
    relations: Iterable[str] | None = None,
    types: Iterable[str] | None = None,
) -> Neighbourhood:
    """Return the neighbourhood of a node; see :meth:`kbkit.kb.KnowledgeBase.around`."""
    import polars as pl

    check_range("number of steps", hops, 1, MAX_HOPS)
    check_range("limit", limit)
    tables, schema, center = stores.tables, stores.schema, stores.nodes.find(node)
    graph = Graph(schema, stores.adjacency, relations)
    marks = closed(schema, tables, types)
    marks[center] = 1
    fronts = [np.array([center], np.int32)]
    while len(fronts) <= hops and len(fronts[-1]):
        fronts.append(spread(graph.rows(fronts[-1]), marks, len(fronts)))
    kept = _chosen(graph, fronts, limit)
    ids = np.sort(np.concatenate(kept))
    edges = [
        pl.DataFrame({"head": heads, "tail": tails}).select("head", relation=pl.lit(relation), tail="tail")
        for relation, heads, tails in graph.edges(ids)
    ]
    kinds = {"head": pl.Int32, "relation": pl.String, "tail": pl.Int32}
    return Neighbourhood(
        center,
        described(stores, kept),
        pl.concat(edges) if edges else pl.DataFrame(schema=kinds),
        _counted(schema, fronts, kept),
        symmetric_of(schema),
        labels_of(schema),
        tuple(t.name for t in schema.node_types),
        totals(graph, ids),
        stores.directory.path.name,
    )


def _chosen(graph: Graph, fronts: Sequence[Ids], limit: int) -> list[Ids]:
    """Return the nodes to include, by hop: all that fit, and a fair sample of the first hop that does not."""
    kept: list[Ids] = []
    room = limit
    for position, front in enumerate(fronts):
        if len(front) > room:
            kept.append(_fair(graph, fronts[position - 1], front, room))
            return [*kept, *(front[:0] for front in fronts[position + 1 :])]
        kept.append(front)
        room -= len(front)
    return kept


def _fair(graph: Graph, before: Ids, front: Ids, room: int) -> Ids:
    """Return ``room`` nodes of ``front``, taken in turn from each preceding node and relation, lowest ids first.

    Neither a relation with a million edges nor a hub crowds out the others.
    """
    ranks, ids = [np.empty(0, np.int64)], [front[:0]]
    for piece in pieces(graph.rows(before)):
        targets = piece.csr.expand(piece.starts, piece.counts)
        hit = is_in(targets, front)
        row = np.repeat(np.arange(len(piece.nodes)), piece.counts)[hit]
        first = np.flatnonzero(np.diff(row, prepend=-1))
        rank = np.arange(len(row)) - np.repeat(first, np.diff(first, append=len(row)))
        ranks.append(rank[rank < room])
        ids.append(targets[hit][rank < room])
    in_turn = np.concatenate(ids)[np.argsort(np.concatenate(ranks), kind="stable")]
    _, first = np.unique(in_turn, return_index=True)
    return np.sort(in_turn[np.sort(first)[:room]])


def _counted(schema: Schema, fronts: Sequence[Ids], kept: Sequence[Ids]) -> pl.DataFrame:
    """Return hop, type, nodes, kept; types in schema order."""
    import polars as pl

    rows = []
    for hop, (front, mine) in enumerate(zip(fronts, kept, strict=True)):
        shown = types_of(schema, mine)
        rows += [(hop, name, count, shown.get(name, 0)) for name, count in types_of(schema, front).items()]
    kinds = {"hop": pl.Int64, "type": pl.String, "nodes": pl.Int64, "kept": pl.Int64}
    return pl.DataFrame(rows, kinds, orient="row")
