"""The graph among some nodes: those of a result, with the edges between them or those of proofs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from kbkit.display.drawing.model import Drawing
from kbkit.errors import plural
from kbkit.graph.drawn import Drawable, counted, described, labels_of, symmetric_of
from kbkit.graph.steps import Graph
from kbkit.stores import Stores
from kbkit.stores.arrays import distinct

_EDGES = {"head": pl.Int32, "relation": pl.String, "tail": pl.Int32}


@dataclass(frozen=True)
class SubgraphDrawing(Drawable):
    """Nodes with edges between them.

    ``omitted`` is the number of nodes of the result that are not drawn; ``marked`` are those of the result among the
    nodes of their proofs.
    """

    graph: Drawing
    omitted: int = 0
    marked: frozenset[int] = frozenset()

    def drawing(self) -> Drawing:
        """Return the graph to draw."""
        return self.graph


def subgraph(
    stores: Stores,
    nodes: Sequence[int],
    title: str,
    proofs: Iterable[tuple[int, str, int]] | None = None,
    omitted: int = 0,
) -> SubgraphDrawing:
    """Return the graph of some nodes, in any order.

    Without ``proofs``, its edges are all those between the nodes. With them, the other ends of these triples are drawn,
    too, and all edges of their relations between the nodes, so that a line that is not drawn is not in the KB.
    """
    schema = stores.schema
    ids = distinct(np.array(nodes, np.int32))
    known = pl.DataFrame(list(proofs or ()), _EDGES, orient="row")
    ends = np.union1d(known["head"].to_numpy(), known["tail"].to_numpy()).astype(np.int32)
    others = np.setdiff1d(ends, ids)
    drawn = np.union1d(others, ids)
    relations = None if proofs is None else set(known["relation"])
    parts = [
        pl.DataFrame({"head": heads, "tail": tails}).select("head", relation=pl.lit(relation), tail="tail")
        for relation, heads, tails in Graph(schema, stores.adjacency).edges(drawn)
        if relations is None or relation in relations
    ]
    edges = pl.concat([pl.DataFrame(schema=_EDGES), *parts])
    shown = described(stores, [others[:0], drawn])
    notes = [f"{plural(omitted, 'more node')} omitted"] if omitted else []
    notes += ["one proof of each answer"] if len(others) else []
    summary = "; ".join([counted(shown, edges, symmetric_of(schema)), *notes])
    return SubgraphDrawing(
        Drawing(
            title,
            summary,
            int(shown["id"][0]) if shown.height else 0,
            shown,
            edges,
            tuple(t.name for t in schema.node_types),
            symmetric_of(schema),
            labels_of(schema),
        ),
        omitted,
        frozenset(ids.tolist() if len(others) else ()),
    )
