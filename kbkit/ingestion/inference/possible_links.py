"""Columns that may refer to rows of another table, but lack too much to be linked without being asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kbkit.ingestion.inference import header_prior, names
from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import NodeTable, TablePlan
from kbkit.ingestion.inference.shared_values import PREVIEW, SharedValues
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_LOOKS = ("text", "integer", "list", "address")
_FEWEST, _MANY = 3, 8
"""Values that a column named as an identifier or a role must have in the other table, and those of another name."""
_HALF, _MOST = 0.5, 0.8
"""The same as fractions of its different values."""
_WORD = 4
"""Mean number of characters of codes and names, from which those of another name are compared."""
_SHOWN = 3


class PossibleLink(NamedTuple):
    """A column that may refer to a table, by which column of it, and why this is not sure."""

    table: str
    column: str
    target: str
    by: str
    reason: str


def find(con: Connection, plan: TablePlan) -> Iterator[PossibleLink]:
    """Yield the columns without a link most of whose values are keys or names of the rows of one table."""
    shared = SharedValues(con)
    for nodes in plan.nodes:
        for column in (nodes.table.columns[name] for name in nodes.values):
            if (
                column.name in nodes.named
                or column.look not in _LOOKS
                or f"{nodes.table.name}.{column.name}" in plan.unclear
            ):
                continue
            found = [one for other in plan.nodes for one in _compared(con, shared, nodes, column, other)]
            best = max((share for share, _ in found), default=0.0)
            targets = [one for share, one in found if share == best]
            if len({one.target for one in targets}) == 1:
                yield targets[0]


def _compared(
    con: Connection, shared: SharedValues, nodes: NodeTable, column: ProfiledColumn, other: NodeTable
) -> Iterator[tuple[float, PossibleLink]]:
    """Yield the possible link of a column to each identifying column of some rows, with the fraction of its values."""
    table, target = nodes.table, other.table
    if column.look == "integer" and header_prior.is_quantity(column.name):
        return
    said = names.is_id(column.name) or header_prior.is_relational(column.name)
    if target.beyond or (not said and column.look == "integer"):
        return
    for by in _identifying(other):
        own = target.columns[by]
        numeric = own.look == "integer"
        if not said and (numeric or own.length < _WORD):
            continue
        if (target is table and (by == column.name or column.look != "list")) or _differ(column, numeric=numeric):
            continue
        fewest, least = (_FEWEST, _HALF) if said else (_MANY, _MOST)
        some = shared.missing(table, [column.name], target, [by], PREVIEW)
        if 2 * some[0] > some[1]:
            continue
        missing, distinct = shared.missing(table, [column.name], target, [by])
        known = distinct - missing
        if known < fewest or known < least * distinct:
            continue
        if numeric and shared.are_dense(table, column, target, by):
            continue  # any numbers would be among them
        several = repeated(con, table, column.name, target, by)
        if reason := _reason(con, table, column, target, by, missing, distinct, several):
            yield known / distinct, PossibleLink(table.name, column.name, target.name, by, reason)


def _differ(column: ProfiledColumn, *, numeric: bool) -> bool:
    return column.look != "list" and numeric != (column.look == "integer")


def _identifying(nodes: NodeTable) -> Sequence[str]:
    """Return the key of some rows if it is one column, and the column of their names."""
    found = [*(nodes.key if len(nodes.key) == 1 else ()), *(nodes.named if len(nodes.named) == 1 else ())]
    return [name for name in dict.fromkeys(found) if nodes.table.columns[name].look in ("text", "integer", "address")]


def repeated(con: Connection, table: ProfiledTable, column: str, target: ProfiledTable, by: str) -> list[str]:
    """Return some of the values of a column that several rows of the other table have."""
    keys = f"SELECT {reference(target, [by])} AS k FROM {identifier(target.name)}"
    own = f"SELECT {reference(table, [column])} FROM {identifier(table.name)}"
    query = f"SELECT k FROM ({keys}) WHERE k IN ({own}) GROUP BY k HAVING count(*) > 1 ORDER BY k LIMIT {_SHOWN}"
    return [str(value) for (value,) in con.execute(query).fetchall()]


def _reason(
    con: Connection, table: ProfiledTable, column: ProfiledColumn, target: ProfiledTable, by: str,
    missing: int, distinct: int, repeated: Sequence[str],
) -> str:  # fmt: skip
    """Return what keeps a column from being linked: values without a row, or of several rows; empty if nothing does."""
    if repeated:
        return f"several rows have {', '.join(map(repr, repeated))}"
    if not missing:
        return ""
    keys = f"SELECT {reference(target, [by])} AS k FROM {identifier(target.name)}"
    own = f"SELECT DISTINCT {reference(table, [column.name])} AS v FROM {identifier(table.name)}"
    query = f"SELECT v FROM ({own}) WHERE v IS NOT NULL AND v NOT IN (SELECT k FROM ({keys}) WHERE k IS NOT NULL)"
    rows = con.execute(f"{query} ORDER BY v LIMIT {_SHOWN}").fetchall()
    more = ", ..." if missing > len(rows) else ""
    return f"{missing:,} of {distinct:,} values are not there: {', '.join(str(value) for (value,) in rows)}{more}"
