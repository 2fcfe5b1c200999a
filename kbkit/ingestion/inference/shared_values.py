"""Values that columns of two tables share, which tell whether one refers to the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbkit.ingestion.inference.chance import NumberSpread
from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.looks import MISSING_TEXTS, ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

PREVIEW = 2000
"""Rows whose values are looked up before all are."""
ABSENT_NUMBERS = ("0", "-1", "00", "000", "0000", "00000")
"""Numbers in the place of an identifier in rows that refer to none."""
ABSENT_TEXTS = sorted({*(text.lower() for text in MISSING_TEXTS), *ABSENT_NUMBERS, "nil", "unassigned", "--"})
_COPIED = 0.9
"""Fraction of equal values from which a column copies another one."""


class SharedValues:
    """Counts the values that columns of tables in a database share; values of small tables are cached."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._known: dict[str, frozenset[str]] = {}

    def missing(
        self,
        table: ProfiledTable,
        columns: Sequence[str],
        other: ProfiledTable,
        by: Sequence[str],
        limit: int | None = None,
        joint: str = "/",
    ) -> tuple[int, int]:
        """Return how many different values of the columns the other table lacks, and how many there are."""
        own, known = self._values(table, columns), self._values(other, by, joint)
        if own is not None and known is not None:
            return len(own - known), len(own)
        source = identifier(table.name) if limit is None else f"(FROM {identifier(table.name)} LIMIT {limit})"
        [(missing, distinct)] = self._con.execute(f"""
            SELECT count(*) FILTER (k IS NULL), count(*)
            FROM (SELECT DISTINCT {reference(table, columns)} AS v FROM {source}) a
            LEFT JOIN (SELECT DISTINCT {reference(other, by, joint)} AS k FROM {identifier(other.name)}) b ON v = k
            WHERE v IS NOT NULL""").fetchall()
        return missing, distinct

    def _values(self, table: ProfiledTable, columns: Sequence[str], joint: str = "/") -> frozenset[str] | None:
        """Return the different values of the columns of a small table, each pair of which would be a query else."""
        if table.rows > PREVIEW:
            return None
        query = f"SELECT DISTINCT {reference(table, columns, joint)} FROM {identifier(table.name)}"
        if query not in self._known:
            rows = self._con.execute(query).fetchall()
            self._known[query] = frozenset(value for (value,) in rows if value is not None)
        return self._known[query]

    def are_repeated(self, table: ProfiledTable, column: ProfiledColumn) -> bool:
        """Return whether a column of lists has fewer different elements than lists, or each in two on average."""
        query = f"SELECT {reference(table, [column.name])} AS v FROM {identifier(table.name)}"
        [(distinct, every)] = self._con.execute(f"SELECT count(DISTINCT v), count(v) FROM ({query})").fetchall()
        return bool(distinct < column.count or 2 * distinct <= every)

    def are_equal(self, table: ProfiledTable, column: ProfiledColumn, by: str) -> bool:
        """Return whether nearly each row has the same value in two columns, as far as it has both.

        One copies the other then, and a code that was changed later refers to no other row.
        """
        if column.look == "list":
            return False
        a, b = reference(table, [column.name]), reference(table, [by])
        query = (
            f"SELECT count_if({a} = {b}) >= {_COPIED} * count_if({a} = {b} OR {a} <> {b}) FROM {identifier(table.name)}"
        )
        return self._con.execute(query).fetchall() == [(True,)]

    def have_equal(self, table: ProfiledTable, column: ProfiledColumn, by: str) -> bool:
        """Return whether some row has the same value in two columns."""
        query = (
            f"SELECT 1 FROM {identifier(table.name)} WHERE {reference(table, [column.name])} = {reference(table, [by])}"
        )
        return bool(self._con.execute(f"{query} LIMIT 1").fetchall())

    def numbers(self, table: ProfiledTable, column: ProfiledColumn, without: Sequence[str]) -> NumberSpread:
        """Return what the whole numbers in a column, or in its lists, are, without some of them."""
        kept = f"WHERE n NOT IN ({', '.join(without)})" if without else "WHERE n IS NOT NULL"
        counted = f"SELECT n, count(*) AS c FROM ({_numbers(table, column.name)}) {kept} GROUP BY n"
        query = f"SELECT coalesce(sum(c), 0), count(*), coalesce(min(n), 0), coalesce(max(n), 0) FROM ({counted})"
        [(rows, distinct, low, high)] = self._con.execute(query).fetchall()
        some = distinct <= PREVIEW
        found = self._con.execute(f"SELECT c FROM ({counted}) ORDER BY n").fetchall() if some else []
        return NumberSpread(rows, distinct, low, high, [count for (count,) in found])

    def absent(self, table: ProfiledTable, column: ProfiledColumn) -> dict[str, int]:
        """Return the values of a column that may stand for no reference, with the numbers of their rows."""
        if column.look not in ("integer", "text"):
            return {}
        value = reference(table, [column.name])
        accepted = ABSENT_NUMBERS if column.look == "integer" else ABSENT_TEXTS
        listed = ", ".join(map(literal, accepted))
        query = f"SELECT v, count(*) FROM (SELECT {value} AS v FROM {identifier(table.name)})"
        return dict(self._con.execute(f"{query} WHERE lower(v) IN ({listed}) GROUP BY v ORDER BY v").fetchall())

    def has_any(self, table: ProfiledTable, by: str, values: Sequence[str]) -> bool:
        """Return whether a column has one of some values."""
        listed = ", ".join(map(literal, values))
        query = f"SELECT 1 FROM {identifier(table.name)} WHERE {reference(table, [by])} IN ({listed}) LIMIT 1"
        return bool(self._con.execute(query).fetchall())

    def range_of(self, table: ProfiledTable, column: str) -> tuple[int, int]:
        """Return the lowest and the highest number in a column."""
        [(low, high)] = self._con.execute(f"SELECT min(n), max(n) FROM ({_numbers(table, column)})").fetchall()
        return low or 0, high or 0

    def are_consecutive(self, table: ProfiledTable, column: ProfiledColumn) -> bool:
        """Return whether the values of a column are all numbers from 0 or 1 to the highest."""
        query = f"SELECT min(n), max(n), count(DISTINCT n) FROM ({_numbers(table, column.name)})"
        [(low, high, distinct)] = self._con.execute(query).fetchall()
        return low in (0, 1) and high - low + 1 == distinct

    def are_dense(self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str) -> bool:
        """Return whether the ids of another table are so dense that other numbers would also be among them.

        They are if most values of the column plus 1 are among them.
        """
        [(dense,)] = self._con.execute(f"""
            SELECT 2 * count(ids.n) > count(v.n)
            FROM (SELECT DISTINCT n FROM ({_numbers(table, column.name)})) AS v
            LEFT JOIN (SELECT DISTINCT n FROM ({_numbers(other, by)})) AS ids ON ids.n = v.n + 1""").fetchall()
        return bool(dense)


def _numbers(table: ProfiledTable, column: str) -> str:
    """Return the query for the values of a column, or the elements of its lists, as numbers (``n``)."""
    values = f"SELECT {reference(table, [column])} AS v FROM {identifier(table.name)}"
    return f"SELECT TRY_CAST(v AS BIGINT) AS n FROM ({values})"
