"""Measures of nodes, compared with constants, each other and values of other nodes, row by row: SQL over frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    AttributeMeasure,
    Extreme,
    Measure,
    MeasureFilter,
    PathMeasure,
    ReachedAttribute,
    ValueOf,
)
from kbkit.answers.counting import Counts
from kbkit.answers.edge_values import value_attribute
from kbkit.answers.pairs import Pairs, ids_of
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import attribute_values, item_sql, known_sql, measure_sql, path_values, sql_sign
from kbkit.schema import literal
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import Mask

if TYPE_CHECKING:
    import polars as pl


Constants: TypeAlias = str | NDArray[np.object_]
"""The text of a constant, or of one for each node."""


def as_numbers(constants: Constants) -> Any:
    """Return constants that are integers as numbers."""
    return int(constants) if isinstance(constants, str) else constants.astype(np.int64)


class MeasuredNodes(NamedTuple):
    """Nodes of rows with what a measure has for them along its path: a number of nodes, or the nodes reached.

    ``reached`` are pairs (position of a node, id); for a measure of edges (position, number of an edge), and
    ``edge_values`` has the values of the edges: id, value.
    """

    rows: NDArray[np.int64]
    ids: Ids
    counts: Counts | None = None
    reached: Pairs | None = None
    edge_values: pl.DataFrame | None = None

    def frames(self, name: str) -> dict[str, pl.DataFrame]:
        """Return the nodes with their position as a frame of this name, and the nodes reached as another."""
        import polars as pl

        columns = {"kb position": np.arange(len(self.ids)), "kb row": self.rows, "kb id": self.ids}
        frames = {name: pl.DataFrame(columns | ({} if self.counts is None else {"kb count": self.counts}))}
        if self.reached is not None:
            frames[f"{name}_reached"] = pl.DataFrame({"start": self.reached >> 32, "id": ids_of(self.reached)})
        if self.edge_values is not None:
            frames[f"{name}_edges"] = self.edge_values
        return frames


def values_of(session: Session, node_type: str | None, measure: Measure, nodes: MeasuredNodes) -> pl.DataFrame:
    """Return the values of nodes of a type, sorted by position: position, row, value, text (the value as text).

    For a function of values along a path also nodes, the number of nodes that they are of.
    """
    values = _values(session, node_type, measure, "kbkit_left", nodes="nodes")
    sql = f"SELECT *, value::VARCHAR AS text FROM ({values}) ORDER BY position"
    return session.stores.tables.lookup(sql, frames=nodes.frames("kbkit_left"))


def compares_with_value(
    session: Session, operator: MeasureFilter, value: ValueOf, left: MeasuredNodes, right: MeasuredNodes
) -> Mask:
    """Return a mask of the nodes of ``left`` whose measure compares with the value of the nodes of ``right``."""
    op, total = operator.op, value.total
    mine = _values(session, operator.type, operator.measure, "kbkit_left")
    if not total.measures:
        others = 'SELECT "kb row" AS row, count(*) AS value FROM kbkit_right GROUP BY "kb row"'
    else:
        each = _values(session, value.root.type, total.measures[0], "kbkit_right")
        argument = "DISTINCT value" if total.op == "count" else "value"
        others = f"SELECT row, {total.op}({argument}) AS value FROM ({each}) GROUP BY row"
        if total.op == "values":  # to differ from any is to differ from the least or the greatest
            others = f"SELECT DISTINCT row, value FROM ({each})"
            if op == "!=":
                others = f"SELECT row, unnest([min(value), max(value)]) AS value FROM ({each}) GROUP BY row"
    other = "coalesce(o.value, 0)" if total.op in ("count", "sum") else "o.value"
    sql = (
        f"SELECT DISTINCT position FROM ({mine}) m LEFT JOIN ({others}) o ON o.row = m.row"
        f" WHERE m.value {sql_sign(op)} {other}"
    )
    frames = left.frames("kbkit_left") | right.frames("kbkit_right")
    return _mask(session.stores.tables.lookup(sql, frames=frames), len(left.ids))


def compares_with_measure(
    session: Session, operator: MeasureFilter, other: Measure, left: MeasuredNodes, right: MeasuredNodes
) -> Mask:
    """Return a mask of the nodes whose measure compares with another measure of theirs, which ``right`` is for."""
    mine = _values(session, operator.type, operator.measure, "kbkit_left")
    theirs = _values(session, operator.type, other, "kbkit_right")
    sql = (
        f"SELECT DISTINCT m.position FROM ({mine}) m JOIN ({theirs}) o ON o.position = m.position"
        f" WHERE m.value {sql_sign(operator.op)} o.value"
    )
    frames = left.frames("kbkit_left") | right.frames("kbkit_right")
    return _mask(session.stores.tables.lookup(sql, frames=frames), len(left.ids))


def compares_with_constant(
    session: Session, operator: MeasureFilter, nodes: MeasuredNodes, constant: Constants
) -> Mask:
    """Return a mask of the nodes whose measure compares with a constant, of all or of each."""
    import polars as pl

    frames, other = nodes.frames("kbkit_left"), 'p."kb constant"'
    if isinstance(constant, str):
        other = literal(constant)
    else:
        each = pl.Series("kb constant", constant.tolist(), pl.String)
        frames["kbkit_left"] = frames["kbkit_left"].with_columns(each)
    mine = _values(session, operator.type, operator.measure, "kbkit_left")
    sql = (
        f'SELECT DISTINCT m.position FROM ({mine}) m JOIN kbkit_left p ON p."kb position" = m.position'
        f" WHERE m.value {sql_sign(operator.op)} {other}::{operator.measure.sql_type.removesuffix('[]')}"
    )
    return _mask(session.stores.tables.lookup(sql, frames=frames), len(nodes.ids))


def best_of_groups(
    session: Session, operator: Extreme, nodes: MeasuredNodes, reached: Pairs | None, number: Any
) -> Mask:
    """Return a mask of the nodes whose measure fewer than ``number`` others of a group in their row surpass.

    ``reached`` are the pairs (position of a node, id) of the path by which they are grouped. Without groups, all nodes
    of a row are one.
    """
    import polars as pl

    per, frames = operator.per, nodes.frames("kbkit_left")
    numbers = pl.Series("kb number", np.broadcast_to(number, len(nodes.ids)))
    frames["kbkit_left"] = frames["kbkit_left"].with_columns(numbers)
    best = "max" if operator.greatest else "min"
    values = _values(session, operator.type, operator.measure, "kbkit_left", best)
    if per is None:
        groups = 'SELECT "kb position" AS position, 0 AS value FROM kbkit_left'
    elif isinstance(per, AttributeMeasure):
        own = attribute_values(session.table(operator.type), per)
        groups = f'SELECT "kb position" AS position, value FROM kbkit_left JOIN {own} ON id = "kb id"'
    else:
        assert reached is not None
        frames["kbkit_groups"] = pl.DataFrame({"position": reached >> 32, "value": ids_of(reached)})
        groups = "SELECT position, value FROM kbkit_groups"
        if isinstance(per, ReachedAttribute):
            ends = attribute_values(session.table(per.type), per.attribute)
            groups = f"SELECT DISTINCT position, e.value FROM kbkit_groups r JOIN {ends} e ON e.id = r.value"
    sql = (
        f'SELECT v.position, p."kb number" AS number, rank() OVER'
        f" (PARTITION BY v.row, g.value ORDER BY v.value {'DESC' if operator.greatest else 'ASC'}) AS place"
        f' FROM ({values}) v JOIN kbkit_left p ON p."kb position" = v.position'
        f" JOIN ({groups}) g ON g.position = v.position"
    )
    found = session.stores.tables.lookup(f"SELECT DISTINCT position FROM ({sql}) WHERE place <= number", frames=frames)
    return _mask(found, len(nodes.ids))


def _mask(found: pl.DataFrame, size: int) -> Mask:
    mask = np.zeros(size, bool)
    mask[found["position"].to_numpy()] = True
    return mask


def _values(
    session: Session, node_type: str | None, measure: Measure, frame: str, best: str = "", nodes: str = ""
) -> str:
    """Return SQL for the values of the nodes of a frame: position, row, value; a row for each element of a list.

    With ``best`` (max or min), one element of a list. ``nodes`` names a further column of functions along a path.
    """
    if isinstance(measure, PathMeasure):
        if measure.attribute is None:
            return f'SELECT "kb position" AS position, "kb row" AS row, "kb count" AS value FROM {frame}'
        if measure.of_edges:
            ends = attribute_values(f"{frame}_edges", value_attribute(measure))
        else:
            ends = attribute_values(session.table(measure.end), measure.attribute)
        starts = f'(SELECT "kb position" AS id FROM {frame})'
        values = path_values(measure, starts, f"{frame}_reached", ends, nodes)
        return (
            f'SELECT p."kb position" AS position, p."kb row" AS row, v.* EXCLUDE (id)'
            f' FROM {frame} p JOIN ({values}) v ON v.id = p."kb position"'
        )
    value = measure_sql(measure, best)[0] if best else item_sql(measure)
    known = known_sql("value", measure.sql_type.removesuffix("[]"))
    values = (
        f'SELECT p."kb position" AS position, p."kb row" AS row, {value} AS value'
        f' FROM {frame} p JOIN {session.table(node_type)} ON id = p."kb id"'
    )
    return f"SELECT * FROM ({values}) WHERE {known}"
