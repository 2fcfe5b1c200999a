"""The values of an attribute of the edges that the last step of a measure follows from each of many nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers.algebra import AttributeMeasure, PathMeasure
from kbkit.answers.bind import Bindings
from kbkit.answers.counting import IsWithin
from kbkit.answers.edge_filters import edge_condition
from kbkit.answers.pairs import Pairs, ids_of, pack
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import column_sql
from kbkit.schema import quote

if TYPE_CHECKING:
    import polars as pl

VALUE = "value"


def edge_values(
    session: Session, bound: Bindings, measure: PathMeasure, before: Pairs, is_within: IsWithin
) -> tuple[Pairs, pl.DataFrame]:
    """Return the distinct pairs (position, number of an edge), and the values of the edges: id (its number), value.

    ``before`` are the pairs (position of a start node, id) that the steps before the last one reach.
    """
    import polars as pl

    assert measure.attribute is not None
    step = measure.steps[-1]
    [move] = step.moves
    near, far = ("head", "tail") if move.forward else ("tail", "head")
    condition = f" AND {edge_condition(move, bound)}" if move.conditions else ""
    sql = (
        f"SELECT {near} AS near, {far} AS far, {column_sql(measure.attribute)} AS {VALUE}"
        f" FROM {quote(session.schema.relation(move.relation).table)}"
        f" WHERE {near} IN (SELECT id FROM kbkit_batch){condition}"
    )
    starts = pl.DataFrame({"position": before >> 32, "near": ids_of(before)})
    batch = starts.select(pl.col("near").alias("id")).unique()
    edges = session.stores.tables.lookup(sql, frames={"kbkit_batch": batch}).with_row_index("edge")
    followed = starts.join(edges.select("near", "far", "edge"), on="near").sort("position", "edge")
    position, ends, edge = (followed[name].to_numpy() for name in ("position", "far", "edge"))
    if step.within is not None and len(position):
        kept = is_within(step.within, pack(position, ends.astype(np.int32)))
        position, edge = position[kept], edge[kept]
    return pack(position, edge.astype(np.int32)), edges.select(pl.col("edge").alias("id"), VALUE)


def value_attribute(measure: PathMeasure) -> AttributeMeasure:
    """Return the attribute of the edges of a measure in the table of :func:`edge_values`."""
    assert measure.attribute is not None
    return AttributeMeasure(VALUE, measure.attribute.sql_type)
