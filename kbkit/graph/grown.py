"""A graph that a person grows: a node with its best-known neighbours by each relation, and those of nodes opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.display.drawing import MAX_NODES
from kbkit.display.drawing.model import BOTH, IN, OUT, Drawing
from kbkit.display.render import clean
from kbkit.errors import KbError, Option
from kbkit.graph.drawn import Drawable, counted, described, labels_of, symmetric_of, totals
from kbkit.graph.nodes import degrees_of_all
from kbkit.graph.steps import Graph
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    pass

FIRST = 25
"""Neighbours by each relation and direction that are shown of an opened node."""


class Rest(NamedTuple):
    """Neighbours that are not in a graph: of a node (an id), by a relation and direction, and their number."""

    node: int
    relation: str
    direction: int
    neighbours: int


More = Mapping[tuple[int, str, int], int]
"""Numbers of neighbours to show beyond the first ones, by (id, relation, direction)."""


@dataclass(frozen=True)
class GrownGraph(Drawable):
    """A graph around a node. ``opened`` are the ids of the opened nodes in it, ``rest`` is what they have beyond it."""

    graph: Drawing
    opened: tuple[int, ...]
    rest: tuple[Rest, ...]

    def drawing(self) -> Drawing:
        """Return the graph to draw."""
        return self.graph


def grown(
    stores: Stores,
    center: int,
    opened: Sequence[int] = (),
    limit: int = FIRST,
    more: More | None = None,
) -> GrownGraph:
    """See :meth:`kbkit.kb.KnowledgeBase.grow`."""
    check_range("limit", limit)
    graph = Graph(stores.schema, stores.adjacency)
    popularity = stores.shared(degrees_of_all)
    hops, shown = {center: 0}, []
    chosen = {center, *opened}
    partly = [node for node, _, _ in more or {}]
    waiting = [center, *(node for node in dict.fromkeys([*opened, *partly]) if node != center)]
    while reachable := [node for node in waiting if node in hops]:
        node = min(reachable, key=lambda node: hops[node])
        waiting.remove(node)
        shown.append(node)
        for best in _best(graph, popularity, node, limit if node in chosen else 0, more or {}):
            for neighbour in best:
                hops.setdefault(neighbour, hops[node] + 1)
        if len(hops) > MAX_NODES:
            raise KbError(
                f"The graph would have more than {MAX_NODES:,} nodes", "Close a node, or use ", Option("limit", "10")
            )
    drawing = _drawing(stores, graph, hops)
    whole = [node for node in shown if node in chosen]
    rest = (one for one in _rest(drawing, shown) if one.node in chosen or one[:3] in (more or {}))
    return GrownGraph(drawing, tuple(whole), tuple(rest))


def _best(graph: Graph, popularity: Ids, node: int, limit: int, more: More) -> list[list[int]]:
    """Return the neighbours to show by each relation and direction: those with most neighbours of their own.

    ``limit`` is 0 for a node that is not opened, of which only some relations have ``more``.
    """
    symmetric = symmetric_of(graph.schema)
    result = []
    for rows in graph.rows(np.array([node], np.int32)):
        way = BOTH if rows.move.relation in symmetric else OUT if rows.move.forward else IN
        count = limit + more.get((node, rows.move.relation, way), 0)
        if not count:
            continue
        ids = rows.csr.expand(rows.starts, rows.counts)
        known = popularity[ids]
        if len(ids) > count:  # sort only those that may be among the best
            kept = known >= -np.partition(-known, count - 1)[count - 1]
            ids, known = ids[kept], known[kept]
        result.append(ids[np.lexsort((ids, -known))[:count]].tolist())
    return result


def _drawing(stores: Stores, graph: Graph, hops: Mapping[int, int]) -> Drawing:
    import polars as pl

    schema = stores.schema
    last = max(hops.values())
    fronts = [np.array(sorted(n for n, hop in hops.items() if hop == wanted), np.int32) for wanted in range(last + 1)]
    ids = np.sort(np.concatenate(fronts))
    nodes = described(stores, fronts)
    edges = [
        pl.DataFrame({"head": heads, "tail": tails}).select("head", relation=pl.lit(relation), tail="tail")
        for relation, heads, tails in graph.edges(ids)
    ]
    kinds = {"head": pl.Int32, "relation": pl.String, "tail": pl.Int32}
    joined = pl.concat(edges) if edges else pl.DataFrame(schema=kinds)
    return Drawing(
        clean(nodes["name"][0]),
        counted(nodes, joined, symmetric_of(schema)),
        int(fronts[0][0]),
        nodes,
        joined,
        tuple(t.name for t in schema.node_types),
        symmetric_of(schema),
        labels_of(schema),
        totals(graph, ids),
        stores.directory.path.name,
    )


def _rest(drawing: Drawing, opened: Sequence[int]) -> list[Rest]:
    """Return the neighbours of opened nodes that are not in the drawing."""
    import polars as pl

    assert drawing.totals is not None
    symmetric = pl.col("relation").is_in(list(drawing.symmetric))
    edges = drawing.edges
    ends = pl.concat(
        [
            edges.select(id="head", relation="relation", direction=pl.when(symmetric).then(BOTH).otherwise(OUT)),
            edges.filter(~symmetric).select(id="tail", relation="relation", direction=pl.lit(IN)),
        ]
    ).with_columns(pl.col("direction").cast(pl.Int8))
    shown = ends.group_by("id", "relation", "direction").len("shown")
    rest = (
        drawing.totals.filter(pl.col("id").is_in(list(opened)))
        .join(shown, on=["id", "relation", "direction"], how="left")
        .select("id", "relation", "direction", rest=pl.col("neighbours") - pl.col("shown").fill_null(0).cast(pl.Int64))
        .filter(pl.col("rest") > 0)
    )
    return [Rest(*row) for row in rest.sort("id", "relation", "direction").iter_rows()]
