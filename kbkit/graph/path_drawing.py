"""The drawing of paths between two nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kbkit.display.drawing.model import Drawing
from kbkit.graph.drawn import counted, described, labels_of, symmetric_of, totals
from kbkit.graph.steps import Graph

if TYPE_CHECKING:
    from kbkit.graph.steps import RelationMove
    from kbkit.stores import Stores


def paths_drawing(
    stores: Stores,
    title: str,
    sequences: Sequence[Sequence[int]],
    steps: Sequence[Sequence[Sequence[RelationMove]]],
) -> Drawing:
    """Return the nodes and edges of paths as a drawing with one column for each step.

    ``sequences`` are the ids on each path, ``steps`` the relations of each of its steps. A node is in the
    column of the first listed path that it is on; the end is in the last column.
    """
    import polars as pl

    schema, symmetric = stores.schema, symmetric_of(stores.schema)
    hops: dict[int, int] = {sequence[-1]: max(map(len, sequences)) - 1 for sequence in sequences}
    for sequence in sequences:
        for hop, node in enumerate(sequence):
            hops.setdefault(node, hop)
    columns = [
        np.array(sorted(n for n, h in hops.items() if h == hop), np.int32) for hop in range(max(hops.values()) + 1)
    ]
    order = {node: i for i, node in enumerate(dict.fromkeys(node for sequence in sequences for node in sequence))}
    nodes = described(stores, columns).sort("hop", pl.col("id").replace_strict(order))  # the first path on top
    edges: dict[tuple[int, str, int], None] = {}
    for path, ids in zip(steps, sequences, strict=True):
        for moves, before, after in zip(path, ids[:-1], ids[1:], strict=True):
            for move in moves:
                forward, backward = (before, move.relation, after), (after, move.relation, before)
                if move.forward:
                    edges[forward] = None
                if not move.forward or move.relation in symmetric:
                    edges[backward] = None
    kinds = {"head": pl.Int32, "relation": pl.String, "tail": pl.Int32}
    joined = pl.DataFrame(list(edges), kinds, orient="row")
    return Drawing(
        title,
        counted(nodes, joined, symmetric),
        sequences[0][0],
        nodes,
        joined,
        tuple(t.name for t in schema.node_types),
        symmetric,
        labels_of(schema),
        totals(Graph(schema, stores.adjacency), np.sort(np.concatenate(columns))),
        stores.directory.path.name,
        layered=True,
    )
