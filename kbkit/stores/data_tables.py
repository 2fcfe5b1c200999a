"""Tables of data in a KB: published tables with headers of their own, as rows of cells, and a typed view of each.

The columns are declared here; recipes with ``tables = true`` fill them (:mod:`kbkit.ingestion.data_tables`). The view
of a table is called ``data."KEY"``. It is made when a query first names it: thirteen thousand views in the file of a KB
would take 0.65 s at every opening, and 16 s of each build.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kbkit.schema import literal, quote
from kbkit.stores.table_schema import Column

if TYPE_CHECKING:
    import duckdb

SCHEMA = "data"
"""The SQL name before the key of a table."""

DATA_TABLES: Mapping[str, tuple[Column, ...]] = {
    "tables": (
        Column("table_id", "VARCHAR", "id of the table, the key of its node"),
        Column("title", "VARCHAR"),
        Column("header", "VARCHAR[]", "names of the columns, unique regardless of case"),
    ),
    "table_columns": (
        Column("table_id", "VARCHAR"),
        Column("column_number", "BIGINT", "from 0"),
        Column("name", "VARCHAR"),
        Column("type", "VARCHAR", "the narrowest type that fits all cells that are not empty"),
    ),
    "table_rows": (
        Column("table_id", "VARCHAR"),
        Column("position", "BIGINT", "from 0"),
        Column("cells", "VARCHAR[]", "as many as the header; '' if empty"),
    ),
    "passages": (
        Column("table_id", "VARCHAR"),
        Column("position", "BIGINT", "row of the linked cell"),
        Column("column_number", "BIGINT", "column of the linked cell"),
        Column("node", "VARCHAR", "the linked node, as type#key"),
        Column("field", "VARCHAR", "text field"),
        Column("title", "VARCHAR", "name of the node"),
        Column("text", "VARCHAR"),
    ),
}

_NAMED = re.compile(r'\bdata\s*\.\s*(?:"((?:[^"]|"")+)"|(\w+))', re.IGNORECASE)


def attach(con: duckdb.DuckDBPyConnection) -> None:
    """Attach a database in memory for the views."""
    con.execute(f"ATTACH ':memory:' AS {SCHEMA}")


def define_views(cursor: duckdb.DuckDBPyConnection, text: str) -> None:
    """Create the views that an SQL text names and that do not exist yet; other names are ignored."""
    named = {quoted.replace('""', '"') or plain for quoted, plain in _NAMED.findall(text)}
    for name in sorted(named):
        columns = cursor.execute(
            "SELECT t.table_id, c.name, c.type FROM kb.tables t JOIN kb.table_columns c USING (table_id)"
            " WHERE lower(t.table_id) = lower($name) ORDER BY t.table_id <> $name, t.table_id, c.column_number",
            {"name": name},
        ).fetchall()
        if columns:
            table = columns[0][0]
            view = _view(name, table, [(column, kind) for key, column, kind in columns if key == table])
            with _guard:  # two threads cannot create one view at a time
                cursor.execute(view)


_guard = threading.Lock()


def _view(name: str, table: str, columns: Sequence[tuple[str, str]]) -> str:
    cells = ", ".join(
        f"nullif(cells[{number}], ''){'' if kind == 'VARCHAR' else f'::{kind}'} AS {quote(column)}"
        for number, (column, kind) in enumerate(columns, 1)
    )
    source = f"kb.table_rows WHERE table_id = {literal(table)} ORDER BY position"
    return f"CREATE VIEW IF NOT EXISTS {SCHEMA}.{quote(name)} AS SELECT {cells} FROM {source}"
