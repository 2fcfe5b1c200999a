"""Tables of edges between nodes of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.graph.algorithms.network import Network

if TYPE_CHECKING:
    import polars as pl


def edge_table(network: Network, head: Any, tail: Any, value: Any = None, **before: Any) -> pl.DataFrame:
    """Return head, head_key, head_type, head_name, the same of tail, and value.

    ``head`` and ``tail`` are positions; the columns ``before`` come first.
    """
    import polars as pl

    ends = []
    for side, positions in (("head", head), ("tail", tail)):
        named = network.stores.nodes.rows_of(network.nodes[np.asarray(positions, np.int64)])
        ends.append(named.rename({"id": side, **{name: f"{side}_{name}" for name in ("key", "type", "name")}}))
    frame = pl.concat(ends, how="horizontal")
    if value is not None:
        frame = frame.with_columns(pl.Series("value", value, pl.Float64))
    return frame.select(*(pl.Series(name, values, pl.Int64) for name, values in before.items()), pl.all())
