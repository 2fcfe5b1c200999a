"""Complete the tables of a recipe with ``tables = true``, and derive its nodes, edges and texts from them.

``load.sql`` creates ``source_tables(table_id, title, header)``, ``source_rows(table_id, position, cells)``, and
optionally ``source_links(table_id, position, column_number, key, name, text)``: cells that link to a page, whose text
may be NULL. Names in headers may be empty or repeated, cells may be NULL, and rows are numbered again by position.

Every table becomes a node of type ``table``, every row one of type ``row`` with its cells as text and the relation
``in_table``, every linked page one of type ``page`` with its text; ``links_to`` has the name of the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError
from kbkit.errors import Option as OptionHint
from kbkit.ingestion.staging import conditions
from kbkit.stores.data_tables import DATA_TABLES
from kbkit.stores.table_build import staged_tables

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

NAMES = tuple(DATA_TABLES)
TABLE, ROW, PAGE = "table", "row", "page"
"""The node types."""
_MAX_COLUMNS = 10_000


def prepare(con: Connection, options: Mapping[str, str]) -> None:
    """Create the tables of data, and ``nodes``, ``edges`` and ``texts`` unless ``load.sql`` made them.

    With the option ``ragged`` at ``pad``, short rows get empty cells, and long ones lose cells that are empty. Raises
    :class:`BadInputError` that names the table and the row.
    """
    present = staged_tables(con)
    for name in ("source_tables", "source_rows"):
        if name not in present:
            raise BadInputError(f"Missing table {name!r}", "load.sql of a recipe with tables = true must create it")
    _tables(con)
    _rows(con, pad=options.get("ragged") == "pad")
    _columns(con)
    con.execute(_LINKS.format(source="source_links" if "source_links" in present else _NO_LINKS))
    if "nodes" not in present:
        con.execute(_GRAPH)


def unique_names(header: Sequence[str | None]) -> list[str]:
    """Return the names of columns: empty ones as ``Column 3``, repeated ones (in any case) as ``Name 2``."""
    names = [" ".join((name or "").split()) or f"Column {number}" for number, name in enumerate(header, 1)]
    reserved = {name.casefold() for name in names}
    result: list[str] = []
    taken: set[str] = set()
    for name in names:
        unique, number = name, 1
        while unique.casefold() in taken or (number > 1 and unique.casefold() in reserved):
            number += 1
            unique = f"{name} {number}"
        taken.add(unique.casefold())
        result.append(unique)
    return result


def _tables(con: Connection) -> None:
    """Create ``tables`` with valid ids, titles and headers."""
    import pyarrow as pa

    source = "SELECT table_id::VARCHAR, title::VARCHAR, header::VARCHAR[] FROM source_tables"
    rows = con.execute(source).fetchall()
    if not rows:
        raise BadInputError("No tables in the source", "See what the recipe reads")
    seen: set[str] = set()
    for name, _, header in rows:
        if not name:
            raise BadInputError("Table without an id", "Every table needs one")
        if name in seen:
            raise BadInputError(f"Duplicate table {name!r}", "Tables need distinct names")
        if not any((cell or "").strip() for cell in header or ()):
            raise BadInputError(f"Missing header of table {name!r}", "The first row must name the columns")
        if len(header) > _MAX_COLUMNS:
            raise BadInputError(f"Table {name!r} has {len(header):,} columns", f"The maximum is {_MAX_COLUMNS:,}")
        seen.add(name)
    names, titles, headers = zip(*rows, strict=True)
    frame = pa.table({
        "table_id": pa.array(names, pa.string()),
        "title": pa.array([(t or "").strip() or name for name, t in zip(names, titles, strict=True)], pa.string()),
        "header": pa.array([unique_names(header) for header in headers], pa.list_(pa.string())),
    })  # fmt: skip
    con.register("kbkit_tables", frame)
    con.execute("CREATE TABLE tables AS FROM kbkit_tables")
    con.unregister("kbkit_tables")


def _rows(con: Connection, *, pad: bool) -> None:
    """Create ``table_rows`` with as many cells in each row as the header has."""
    con.execute("""
        CREATE TEMP TABLE numbered_rows AS
        SELECT table_id::VARCHAR AS table_id,
               row_number() OVER (PARTITION BY table_id ORDER BY position) - 1 AS position,
               list_transform(coalesce(cells::VARCHAR[], []), lambda cell: coalesce(cell, '')) AS cells,
               len(header) AS width
        FROM source_rows LEFT JOIN tables USING (table_id)""")
    unknown = con.execute("SELECT table_id FROM numbered_rows WHERE width IS NULL LIMIT 1").fetchone()
    if unknown:
        raise BadInputError(f"Rows of the unknown table {unknown[0]!r}", "Rows and tables must have the same ids")
    fits = "list_has_any([''], cells[width + 1:]) AND len(list_distinct(cells[width + 1:])) = 1 OR len(cells) < width"
    invalid = f"len(cells) <> width AND NOT ({fits})" if pad else "len(cells) <> width"
    ragged = con.execute(f"""
        SELECT table_id, position + 1, len(cells), width FROM numbered_rows
        WHERE {invalid} ORDER BY table_id, position LIMIT 1""").fetchone()
    if ragged:
        name, number, count, width = ragged
        hint = ("Use ", OptionHint("options", "ragged=pad"), " to add empty cells to short rows")
        more = hint if count < width else ("Quote cells that contain the delimiter",)
        cells = "1 cell" if count == 1 else f"{count:,} cells"
        raise BadInputError(f"{cells} instead of {width:,} in row {number:,} of table {name!r}", *more)
    con.execute("""
        CREATE TABLE table_rows AS
        SELECT table_id, position, list_resize(cells, width, '') AS cells FROM numbered_rows
        ORDER BY table_id, position""")
    con.execute("DROP TABLE numbered_rows")


def _columns(con: Connection) -> None:
    """Create ``table_columns`` with the narrowest type of each column, as for attributes with ``infer = true``."""
    tests = conditions("value")
    passes = ", ".join(f"bool_and({test}) AS {kind}" for kind, test in tests.items())
    narrowest = " ".join(f"WHEN {kind} THEN '{kind}'" for kind in tests)
    con.execute(f"""
        CREATE TABLE table_columns AS
        SELECT c.table_id, c.column_number, c.name, CASE {narrowest} ELSE 'VARCHAR' END AS type
        FROM (SELECT table_id, unnest(range(len(header))) AS column_number, unnest(header) AS name FROM tables) c
        LEFT JOIN (SELECT table_id, column_number, {passes}
                   FROM (SELECT table_id, unnest(range(len(cells))) AS column_number, unnest(cells) AS value
                         FROM table_rows) WHERE value <> '' GROUP BY ALL) USING (table_id, column_number)
        ORDER BY c.table_id, c.column_number""")


# -- nodes, edges, texts ----------------------------------------------------------------------------------------------

_NO_LINKS = """(SELECT NULL AS table_id, NULL AS position, NULL AS column_number, NULL AS key, NULL AS name,
                       NULL AS text WHERE false)"""

_LINKS = f"""
CREATE TEMP TABLE linked AS
SELECT DISTINCT table_id::VARCHAR AS table_id, position::BIGINT AS position, column_number::BIGINT AS column_number,
       key::VARCHAR AS key, name::VARCHAR AS name, text::VARCHAR AS text FROM {{source}} WHERE key <> '';
CREATE TABLE passages AS
SELECT table_id, position, column_number, '{PAGE}#' || key AS node, 'text' AS field, name AS title, text
FROM linked WHERE trim(text) <> '' ORDER BY table_id, position, column_number, key;
"""

_GRAPH = f"""
CREATE TABLE nodes AS
SELECT '{TABLE}' AS type, table_id AS key, title AS name, n.rows, len(header) AS columns
FROM tables LEFT JOIN (SELECT table_id, count(*) AS rows FROM table_rows GROUP BY table_id) n USING (table_id)
UNION ALL BY NAME
(SELECT '{ROW}' AS type, table_id || '#' || position AS key, title || ', row ' || (position + 1) AS name
 FROM table_rows JOIN tables USING (table_id) ORDER BY table_id, position)
UNION ALL BY NAME
(SELECT '{PAGE}' AS type, key, min(name) AS name FROM linked GROUP BY key ORDER BY key);

CREATE TABLE edges AS
SELECT '{ROW}' AS head_type, table_id || '#' || position AS head, 'in_table' AS relation, '{TABLE}' AS tail_type,
       table_id AS tail FROM table_rows
UNION ALL BY NAME
SELECT DISTINCT '{ROW}' AS head_type, table_id || '#' || position AS head, 'links_to' AS relation,
       '{PAGE}' AS tail_type, key AS tail, header[column_number + 1] AS "column"
FROM linked JOIN tables USING (table_id);

CREATE TABLE texts AS
SELECT '{TABLE}' AS type, table_id AS key, 'columns' AS field, array_to_string(header, ', ') AS text FROM tables
UNION ALL BY NAME
SELECT '{ROW}' AS type, table_id || '#' || position AS key, 'cells' AS field,
       array_to_string(list_filter(list_transform(cells, lambda cell, i: nullif(header[i] || ': ' || cell,
                                                                                header[i] || ': ')),
                                   lambda shown: shown IS NOT NULL), '; ') AS text
FROM table_rows JOIN tables USING (table_id)
UNION ALL BY NAME
SELECT '{PAGE}' AS type, key, 'text' AS field, arg_max(text, (len(text), text)) AS text
FROM linked WHERE trim(text) <> '' GROUP BY key;
"""
