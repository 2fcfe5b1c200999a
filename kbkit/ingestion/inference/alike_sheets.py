"""Sheets of one workbook with the same columns, such as those of months: one table, with a column of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.ingestion import source_files
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.profile import ProfiledTable, profile
from kbkit.readers.columns import unique
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_FEWEST, _FEWEST_COLUMNS = 2, 3
_SHEET = "sheet"


def join(con: Connection, tables: Sequence[ProfiledTable]) -> list[ProfiledTable]:
    """Return the tables with one for the sheets of a workbook that have the same columns and rows of one kind."""
    result = list(tables)
    for same in _groups(con, tables):
        others = [table for table in result if table not in same]
        result[result.index(same[0])] = _joined(con, same, others)
        result = [table for table in result if table not in same]
    return result


def notes(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on each table of several sheets."""
    for table in (table for table in tables if table.parts):
        sheets = ", ".join(part.table for part in table.parts)
        yield f"Read {len(table.parts)} sheets as one table, {table.name}: {sheets}"


def _groups(con: Connection, tables: Sequence[ProfiledTable]) -> list[list[ProfiledTable]]:
    by_shape: dict[tuple[str, ...], list[ProfiledTable]] = {}
    for table in tables:
        is_sheet = table.spec.table and source_files.suffix(Path(table.spec.match[0])) in (".xlsx", ".xlsm")
        columns = sorted(name.casefold() for name in table.columns)
        if is_sheet and table.rows and len(columns) >= _FEWEST_COLUMNS:
            by_shape.setdefault((*table.spec.match, *columns), []).append(table)
    return [same for same in by_shape.values() if len(same) >= _FEWEST and not _share_identifiers(con, same)]


def _share_identifiers(con: Connection, same: Sequence[ProfiledTable]) -> bool:
    """Return whether rows of two sheets have the same identifier, which is one of the rows in each: they say different
    things of the same.
    """
    first, second = same[:2]
    for column in first.columns.values():
        other = second.columns.get(column.name)
        ids = other is not None and names.is_id(column.name) and column.distinct >= first.rows
        if ids and other is not None and other.distinct >= second.rows:
            query = f"SELECT 2 * count(*) >= least({first.rows}, {second.rows}) FROM {identifier(first.name)}"
            query += f" WHERE {column.value} IN (SELECT {other.value} FROM {identifier(second.name)})"
            if con.execute(query).fetchall() == [(True,)]:
                return True
    return False


def _joined(con: Connection, same: Sequence[ProfiledTable], others: Sequence[ProfiledTable]) -> ProfiledTable:
    """Return the table of the rows of sheets, called as the workbook unless another table is."""
    first = same[0]
    stem = Path(source_files.plain_name(Path(first.spec.match[0]))).stem
    name = unique([*(table.name for table in (*others, *same)), names.identifier(stem)])[-1]
    kind = unique([*(table.type for table in others), names.types([names.words(stem) or ("row",)])[0]])[-1]
    column = unique([*first.columns, _SHEET])[-1]
    parts = [replace(table.spec, name=table.name) for table in same]
    queries = {
        True: [(f"({table.folded})" if table.folded else identifier(table.name), table) for table in same],
        False: [(identifier(table.name), table) for table in same],  # whose rows are left out already
    }
    raw = ", ".join(identifier(row[0]) for row in con.execute(f"DESCRIBE {identifier(first.name)}").fetchall())
    script, loaded = (
        "\nUNION ALL BY NAME ".join(
            f"SELECT {raw}, {literal(table.spec.table)} AS {identifier(column)} FROM {source}" for source, table in some
        )
        for some in queries.values()
    )
    spec = replace(first.spec, name=name, file=column)
    table = ProfiledTable(name, spec, type=kind, words=names.words(stem), folded=script)
    table.parts, table.date_order = parts, first.date_order
    table.blank, table.totals = sum(one.blank for one in same), sum(one.totals for one in same)
    con.execute(f"CREATE TABLE {identifier(name)} AS {loaded}")
    profile(con, table)
    return table
