"""Related nodes: those with the most similar graph embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.assets.arguments import check_range
from kbkit.graph.charts import degrees
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl


def popular(stores: Stores, node_type: str | None = None, min_degree: int = 0) -> NDArray[np.int64]:
    """Return the sorted ids of the nodes of a type (None: all) with at least ``min_degree`` neighbours.

    Neighbours are counted over all relations in both directions; those by a symmetric relation once.
    """
    if node_type is not None:
        node_type = stores.schema.type(node_type).name
    members = np.asarray(stores.nodes.members(node_type), np.int64)
    if min_degree <= 0:
        return members
    return members[stores.shared(degrees)[members] >= min_degree]


def most_related(
    stores: Stores, nodes: NDArray[Any], candidates: NDArray[np.int64], k: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ``k`` most related of the sorted ``candidates`` for each node: ids and inner products, best first.

    A row per node; where there are fewer related candidates, ids are -1. See
    :meth:`kbkit.stores.embeddings.Embeddings.nearest`.
    """
    return stores.embeddings.nearest(nodes, k, candidates)


def related(
    stores: Stores, reference: str | int, k: int = 10, node_type: str | None = None, min_degree: int = 0
) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.related`."""
    import polars as pl

    check_range("number of results", k)
    node = stores.nodes.find(reference)
    if node_type is None:
        node_type = stores.nodes.row(node).type
    candidates = popular(stores, node_type, min_degree)
    found, products = most_related(stores, np.array([node]), candidates, k)
    there = found[0] >= 0
    ids = found[0][there].astype(np.int32)
    return stores.nodes.rows_of(ids).select(
        pl.int_range(1, len(ids) + 1, dtype=pl.Int64).alias("rank"),
        pl.all(),
        pl.Series("degree", stores.shared(degrees)[ids], pl.Int64),
        pl.Series("score", products[0][there], pl.Float64),
    )
