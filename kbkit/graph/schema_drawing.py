"""The schema of a KB as a graph to draw: its types, joined by its relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kbkit.display.drawing.model import Drawing
from kbkit.errors import plural
from kbkit.graph.drawn import labels_of, symmetric_of

if TYPE_CHECKING:
    from kbkit.schema import Schema

MOST_TYPES = 60
"""Types that are drawn: those with the most nodes."""
_LARGE = 0.2
"""Types with at least this fraction of the largest type's nodes are drawn large."""


def schema_drawing(schema: Schema) -> Drawing:
    """Return the graph of the types with the most nodes. Its nodes have the names of types as keys, and their number of
    nodes in the name.
    """
    filled = sorted((t for t in schema.node_types if t.members), key=lambda t: -t.members)
    shown = filled[:MOST_TYPES]
    order = {t.name: number for number, t in enumerate(shown)}
    most = shown[0].members if shown else 0
    nodes = pl.DataFrame(
        [
            (number, t.name, t.name, f"{t.name} {t.members:,}", 1 if t.members >= _LARGE * most else 2, t.description)
            for number, t in enumerate(shown)
        ],
        {"id": pl.Int64, "key": pl.String, "type": pl.String, "name": pl.String, "hop": pl.Int64, "line": pl.String},
        orient="row",
    )
    edges = pl.DataFrame(
        [
            (order[s.head], r.name, order[s.tail])
            for r in schema.relations
            for s in sorted(r.signatures, key=lambda s: -s.edges)
            if s.head in order and s.tail in order and s.edges
        ],
        {"head": pl.Int64, "relation": pl.String, "tail": pl.Int64},
        orient="row",
    )
    more = f"; {plural(len(filled) - len(shown), 'more type')} in the table" if len(filled) > len(shown) else ""
    return Drawing(
        schema.name,
        f"{plural(len(shown), 'type')}, {plural(edges['relation'].n_unique(), 'relation')}{more}",
        0,
        nodes,
        edges,
        tuple(t.name for t in schema.node_types),
        symmetric_of(schema),
        labels_of(schema),
    )
