"""Columns that depend on another column of their table: the code and the continent of the country of each city."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_CHANCE = math.log(1e-4)
"""Logarithm of the probability up to which equal values in all rows with the same value are no coincidence."""
_TOGETHER = 20
"""Columns that one query looks at: the memory of a query grows with their number."""


def dependents(
    con: duckdb.DuckDBPyConnection, table: ProfiledTable, column: ProfiledColumn, others: Sequence[ProfiledColumn]
) -> list[ProfiledColumn]:
    """Return those of ``others`` that have one value, or none, in all rows with the same value of a column.

    It must be unlikely that this is by chance: if the column's values repeat ``n`` times, and two rows have the same
    value of the other column with probability ``p``, then ``p ** n`` is small.
    """
    plain = [one for one in others if one is not column and one.look != "list" and one.kind != "JSON"]
    found: list[ProfiledColumn] = []
    for start in range(0, len(plain), _TOGETHER):
        part = plain[start : start + _TOGETHER]
        values = "".join(f", {one.value} AS v{n}" for n, one in enumerate(part))
        rows = f"SELECT {column.value} AS k{values} FROM {identifier(table.name)}"
        one_value = ", ".join(
            f"(count(DISTINCT v{n}) + (count(v{n}) BETWEEN 1 AND count(*) - 1)::INT <= 1 AND (k IS NOT NULL OR"
            f" count(v{n}) = 0)) AS v{n}"
            for n in range(len(part))
        )
        every = ", ".join(f"bool_and(v{n})" for n in range(len(part)))
        groups = f"SELECT k, count(*) AS n, {one_value} FROM ({rows}) GROUP BY k"
        row = con.execute(f"SELECT sum(n - 1) FILTER (k IS NOT NULL), {every} FROM ({groups})").fetchone()
        assert row is not None
        depend = [one for one, depends in zip(part, row[1:], strict=True) if depends and row[0]]
        found += [one for one in depend if float(row[0]) * _equal(con, table, column, one) <= _CHANCE]
    return found


def _equal(
    con: duckdb.DuckDBPyConnection, table: ProfiledTable, column: ProfiledColumn, other: ProfiledColumn
) -> float:
    """Return the logarithm of the probability that two rows have the same value of another column."""
    rows = f"SELECT {other.value} AS v FROM {identifier(table.name)} WHERE {column.value} IS NOT NULL"
    query = f"SELECT sum(n * n)::DOUBLE / (sum(n) * sum(n)) FROM (SELECT count(*) AS n FROM ({rows}) GROUP BY v)"
    [(chance,)] = con.execute(query).fetchall()
    return math.log(chance)
