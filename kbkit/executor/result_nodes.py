"""The nodes that the rows of a result stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbkit.errors import KbError
from kbkit.schema import Schema

if TYPE_CHECKING:
    import polars as pl

    from kbkit.stores.node_directory import Ids
    from kbkit.stores.nodes import Nodes


def by_id(frame: pl.DataFrame, schema: Schema) -> list[int]:
    """Return the node id of each row; nothing if the rows are not nodes."""
    if "id" not in frame.columns or not frame["id"].dtype.is_integer() or frame["id"].null_count():
        return []
    ids = frame["id"].to_list()
    return ids if all(0 <= node < schema.nodes for node in ids) else []


def by_iri(frame: pl.DataFrame, nodes: Nodes) -> Ids:
    """Return the sorted ids of the first column of node IRIs. Raises :class:`KbError` if there is none."""
    import polars as pl  # would delay the first prompt

    for column in frame.select(pl.col(pl.String)).iter_columns():
        found, missing = nodes.by_iri(column.drop_nulls().unique().to_list())
        if len(found) and not missing:
            return found
    raise KbError(
        "The rows of the last result are not nodes", "Select a column id (SQL) or a variable of nodes (SPARQL)"
    )
