"""What the graphs that can be drawn share: the description of their nodes, drawings in files and in notebooks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kbkit.display import drawing, html
from kbkit.display.drawing.model import BOTH, IN, OUT, Drawing
from kbkit.errors import plural
from kbkit.graph.steps import Graph
from kbkit.graph.titles import titles
from kbkit.schema import Schema
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl

_FIRST_LINES = """
SELECT id, first(trim(split_part(trim(text, E' \\n\\r\\t'), chr(10), 1)[:240]) ORDER BY field, position) AS line
FROM texts WHERE id IN (SELECT unnest($ids)) GROUP BY id"""


class Drawable:
    """A result with a drawing."""

    def drawing(self) -> Drawing:
        """Return the graph to draw."""
        raise NotImplementedError

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a drawing (.html; with the extra ``plot`` .svg and .png) or the graph (.graphml, .dot) to a file.

        Output is deterministic, except .png. Raises :class:`KbError` for another suffix, a missing extra, a drawing
        with too many nodes, and write errors.
        """
        drawing.write(self.drawing(), Path(path))

    def _drawn(self) -> str:
        """Return the drawing as a part of a notebook's output; empty if the graph is too large."""
        graph = self.drawing()
        return html.frame(drawing.html(graph)) if graph.nodes.height <= drawing.MAX_NODES else ""


def described(stores: Stores, hops: Sequence[Ids]) -> pl.DataFrame:
    """Return id, key, type, name, hop, line (first line of text) of the nodes at each distance."""
    import polars as pl

    ids = np.concatenate(hops)
    numbers = np.repeat(np.arange(len(hops)), [len(front) for front in hops])
    wanted = {"ids": ids.tolist()}
    frame = pl.DataFrame({"id": ids, "hop": numbers}).join(stores.nodes.frame(ids), on="id", how="left")
    frame = frame.with_columns(name=_titled(stores, frame))
    frame = frame.join(stores.tables.lookup(_FIRST_LINES, wanted), on="id", how="left", maintain_order="left")
    return frame.select("id", "key", "type", "name", "hop", "line").sort("hop", "id")


def _titled(stores: Stores, frame: pl.DataFrame) -> pl.Series:
    """Return the titles of nodes that have one, or else their names."""
    import polars as pl

    found = titles(stores, frame["id"].to_list())
    pairs = zip(frame["id"].to_list(), frame["name"].to_list(), strict=True)
    return pl.Series("name", [found.get(node, name) for node, name in pairs], pl.String)


def totals(graph: Graph, nodes: Ids) -> pl.DataFrame:
    """Return the number of neighbours of sorted nodes: id, relation, direction, neighbours."""
    import polars as pl

    symmetric = symmetric_of(graph.schema)
    parts = [
        pl.DataFrame({"id": rows.nodes, "neighbours": rows.counts}).select(
            "id",
            relation=pl.lit(rows.move.relation),
            direction=pl.lit(BOTH if rows.move.relation in symmetric else OUT if rows.move.forward else IN, pl.Int8),
            neighbours="neighbours",
        )
        for rows in graph.rows(nodes)
    ]
    kinds = {"id": pl.Int32, "relation": pl.String, "direction": pl.Int8, "neighbours": pl.Int64}
    return pl.concat([pl.DataFrame(schema=kinds), *parts])


def counted(nodes: pl.DataFrame, edges: pl.DataFrame, symmetric: frozenset[str]) -> str:
    """Return the numbers of nodes and edges as text; an edge that is stored in both directions counts once."""
    import polars as pl

    twice = edges.filter(pl.col("relation").is_in(list(symmetric)) & (pl.col("head") > pl.col("tail")))
    return f"{plural(nodes.height, 'node')}, {plural(edges.height - twice.height, 'edge')}"


def symmetric_of(schema: Schema) -> frozenset[str]:
    """Return the names of the relations stored in both directions."""
    return frozenset(r.name for r in schema.relations if r.symmetric)


def labels_of(schema: Schema) -> dict[str, str]:
    """Return the readable labels of relations whose names are codes."""
    return {r.name: r.shown_label for r in schema.relations if r.shown_label}
