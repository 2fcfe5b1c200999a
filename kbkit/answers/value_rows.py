"""Compare a measure of nodes with a value of other nodes, or of their groups, row by row, in SQL over frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import AttributeMeasure, Extreme, Measure, ReachedAttribute, ValueFilter
from kbkit.answers.counting import Counts
from kbkit.answers.pairs import Pairs, ids_of
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import attribute_values, item_sql, known_sql, measure_sql
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import Mask

if TYPE_CHECKING:
    import polars as pl


class ValueRows(NamedTuple):
    """Nodes of rows, with their counts if the measure is a count."""

    rows: NDArray[np.int64]
    ids: Ids
    counts: Counts | None

    def frame(self) -> pl.DataFrame:
        """Return the nodes as a frame with their position."""
        import polars as pl

        columns = {"kb position": np.arange(len(self.ids)), "kb row": self.rows, "kb id": self.ids}
        return pl.DataFrame(columns | ({} if self.counts is None else {"kb count": self.counts}))


def compared(session: Session, operator: ValueFilter, left: ValueRows, right: ValueRows) -> Mask:
    """Return a mask of the nodes of ``left`` whose measure compares with the value of the nodes of ``right``."""
    value, op = operator.value, operator.op
    total = value.total
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
        f" WHERE m.value {'<>' if op == '!=' else op} {other}"
    )
    frames = {"kbkit_left": left.frame(), "kbkit_right": right.frame()}
    return _mask(session.stores.tables.lookup(sql, frames=frames), len(left.ids))


def best_of_groups(session: Session, operator: Extreme, nodes: ValueRows, reached: Pairs | None, number: Any) -> Mask:
    """Return a mask of the nodes whose measure fewer than ``number`` others of a group in their row surpass.

    ``reached`` are the pairs (position of a node, id) of the path by which they are grouped.
    """
    import polars as pl

    per, table = operator.per, session.table(operator.type)
    assert per is not None
    frames = {"kbkit_left": nodes.frame().with_columns(pl.Series("kb number", np.broadcast_to(number, len(nodes.ids))))}
    value, known = '"kb count"', "true"
    if isinstance(operator.measure, AttributeMeasure):
        value, known = measure_sql(operator.measure, "max" if operator.greatest else "min")
    if isinstance(per, AttributeMeasure):
        own = attribute_values(table, per)
        groups = f'SELECT "kb position" AS position, value FROM kbkit_left JOIN {own} ON id = "kb id"'
    else:
        assert reached is not None
        frames["kbkit_reached"] = pl.DataFrame({"position": reached >> 32, "value": ids_of(reached)})
        groups = "SELECT position, value FROM kbkit_reached"
        if isinstance(per, ReachedAttribute):
            ends = attribute_values(session.table(per.type), per.attribute)
            groups = f"SELECT DISTINCT position, e.value FROM kbkit_reached r JOIN {ends} e ON e.id = r.value"
    sql = (
        f'SELECT p."kb position" AS position, p."kb number" AS number, rank() OVER'
        f' (PARTITION BY p."kb row", g.value ORDER BY {value} {"DESC" if operator.greatest else "ASC"}) AS place'
        f' FROM kbkit_left p JOIN {table} t ON t.id = p."kb id" JOIN ({groups}) g ON g.position = p."kb position"'
        f" WHERE {known}"
    )
    found = session.stores.tables.lookup(f"SELECT DISTINCT position FROM ({sql}) WHERE place <= number", frames=frames)
    return _mask(found, len(nodes.ids))


def _mask(found: pl.DataFrame, size: int) -> Mask:
    mask = np.zeros(size, bool)
    mask[found["position"].to_numpy()] = True
    return mask


def _values(session: Session, node_type: str | None, measure: Measure, frame: str) -> str:
    """Return SQL for the values of the nodes of a frame: position, row, value; a row for each element of a list."""
    if not isinstance(measure, AttributeMeasure):
        return f'SELECT "kb position" AS position, "kb row" AS row, "kb count" AS value FROM {frame}'
    item = item_sql(measure)
    values = (
        f'SELECT p."kb position" AS position, p."kb row" AS row, {item} AS value'
        f' FROM {frame} p JOIN {session.table(node_type)} ON id = p."kb id"'
    )
    return f"SELECT * FROM ({values}) WHERE {known_sql('value', measure.sql_type.removesuffix('[]'))}"
