"""The graph among some nodes: those of a result, with the edges between them or those of proofs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from kbkit.display.drawing.model import Drawing
from kbkit.errors import plural
from kbkit.graph.drawn import Drawable, described, labels_of, symmetric_of
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

    Without ``proofs``, its edges are all those between the nodes. With them, its edges are these triples, whose other
    ends are drawn, too.
    """
    schema = stores.schema
    ids = distinct(np.array(nodes, np.int32))
    if proofs is None:
        parts = [
            pl.DataFrame({"head": heads, "tail": tails}).select("head", relation=pl.lit(relation), tail="tail")
            for relation, heads, tails in Graph(schema, stores.adjacency).edges(ids)
        ]
        edges = pl.concat(parts) if parts else pl.DataFrame(schema=_EDGES)
    else:
        edges = pl.DataFrame(list(dict.fromkeys(proofs)), _EDGES, orient="row")
    ends = np.concatenate([edges["head"].to_numpy(), edges["tail"].to_numpy()]).astype(np.int32)
    others = np.setdiff1d(ends, ids)
    shown = described(stores, [others[:0], np.union1d(others, ids)])
    more = f"; {plural(omitted, 'more node')} omitted" if omitted else ""
    summary = f"{plural(shown.height, 'node')}, {plural(edges.height, 'edge')}{more}"
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
