"""Read the tables of SQLite and DuckDB files as Arrow batches, with their declared keys.

The files are untrusted. They are opened read-only, and only base tables are read: views and virtual tables would run
SQL of the file's author. A DuckDB file is opened in a database of its own that reaches no other file.
"""

from __future__ import annotations

import contextlib
import sqlite3
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kbkit.errors import BadInputError, UnknownNameError
from kbkit.readers.columns import EXACT, array
from kbkit.readers.stored import ForeignKey, Keys
from kbkit.schema import literal, quote

if TYPE_CHECKING:
    import duckdb

_ROWS = 10_000
_COLUMNS_AT_ONCE = 200  # SQLite returns at most 2,000 values
_MAX_VALUE = 100_000_000
_MEMORY = "2GB"
_REMEDY = "Check the file with the program that made it"


def is_database(path: Path) -> bool:
    """Return whether a file is a SQLite or DuckDB database, judged by its first bytes."""
    return _kind(path) != ""


def tables(path: Path) -> list[str]:
    """Return the names of the base tables of a database, in the order of their creation.

    A table of DuckDB outside the schema ``main`` is called ``schema.table``. Raises :class:`BadInputError` for a file
    that is not a database, or damaged.
    """
    if _checked_kind(path) == "sqlite":
        with _sqlite(path) as con:
            return _sqlite_tables(con)
    with _duckdb(path) as con:
        return list(_duckdb_tables(con))


def keys(path: Path) -> dict[str, Keys]:
    """Return the declared keys of each table; see :func:`tables`. Foreign keys to tables that do not exist are left
    out.
    """
    if _checked_kind(path) == "sqlite":
        with _sqlite(path) as con:
            return _sqlite_keys(con)
    with _duckdb(path) as con:
        return _duckdb_keys(con)


def read(path: Path, table: str = "") -> pa.RecordBatchReader:
    """Stream a table of a database, by default its only one.

    A column of SQLite has the type of its values: integers, numbers, booleans (declared so), or text if they have
    several types; BLOBs are text in Base64. Types of DuckDB are kept, except that BLOBs are Base64, and numbers wider
    than 64 bits and types without an equivalent in Arrow are text.
    """
    if _checked_kind(path) == "sqlite":
        return _read_sqlite(path, table)
    return _read_duckdb(path, table)


def chosen(names: list[str], table: str, what: str, path: Path) -> str:
    """Return the name in ``names`` that equals ``table`` ignoring case, or the only one if ``table`` is empty."""
    if table:
        found = next((name for name in names if name.casefold() == table.casefold()), None)
        if found is None:
            raise UnknownNameError(what, table, names, str(path))
        return found
    if len(names) != 1:
        listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        if not names:
            raise BadInputError(f"{path} has no {what}")
        message = f"{path} has {len(names)} {what}s: {listed}"
        raise BadInputError(message, "Choose one with the key 'table' of the file in a recipe")
    return names[0]


def _kind(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            start = handle.read(16)
    except OSError:
        return ""
    return "sqlite" if start == b"SQLite format 3\0" else "duckdb" if start[8:12] == b"DUCK" else ""


def _checked_kind(path: Path) -> str:
    kind = _kind(path)
    if not kind:
        raise BadInputError(f"{path} is not a SQLite or DuckDB database", _REMEDY)
    return kind


# -- SQLite -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    for ending in ("-wal", "-journal"):
        log = path.with_name(path.name + ending)
        if log.exists() and log.stat().st_size:
            raise BadInputError(f"{path} has changes in {log.name}", "Close the program that uses the database")
    with _sqlite_errors(path):
        # Immutable: SQLite would otherwise write files beside a database with a write-ahead log.
        uri = f"file:{urllib.parse.quote(path.resolve().as_posix())}?mode=ro&immutable=1"
        con = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
            con.execute("PRAGMA trusted_schema = OFF")
            con.execute("PRAGMA cell_size_check = ON")
            yield con
        finally:
            con.close()


@contextlib.contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        text = " ".join(str(error).split())
        if "decode to UTF-8" in text:
            message = f"Text that is not UTF-8 in {path}: {text[:200]}"
            raise BadInputError(message, "Convert the text to UTF-8") from None
        raise BadInputError(f"Cannot read {path}: {text[:200]}", _REMEDY) from None
    except UnicodeDecodeError:  # of a name
        raise BadInputError(f"Cannot read {path}: a name is not UTF-8", _REMEDY) from None


def _sqlite_tables(con: sqlite3.Connection) -> list[str]:
    """Return the tables with rows of their own: virtual tables have no root page, and keep theirs in shadow tables."""
    rows = con.execute(
        "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " ORDER BY rowid"
    ).fetchall()
    virtual = tuple(f"{name}_" for name, page in rows if not page)
    return [name for name, page in rows if page and not (virtual and name.startswith(virtual))]


def _sqlite_keys(con: sqlite3.Connection) -> dict[str, Keys]:
    names = _sqlite_tables(con)
    folded = {name.casefold(): name for name in names}
    columns = {name: con.execute(f"PRAGMA table_info({quote(name)})").fetchall() for name in names}
    primary = {
        name: tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]) for name, rows in columns.items()
    }

    def own(table: str, column: str) -> str:
        return next((row[1] for row in columns[table] if row[1].casefold() == column.casefold()), column)

    def foreign(name: str) -> Iterator[ForeignKey]:
        grouped: dict[int, list[Any]] = {}
        for row in con.execute(f"PRAGMA foreign_key_list({quote(name)})").fetchall():
            grouped.setdefault(row[0], []).append(row)
        for _, rows in sorted(grouped.items(), reverse=True):  # SQLite lists the last one first
            other = folded.get(rows[0][2].casefold())
            if other is not None:
                here = tuple(own(name, row[3]) for row in rows)
                there = tuple(own(other, row[4]) for row in rows if row[4] is not None) or primary[other]
                if len(here) == len(there):
                    yield ForeignKey(here, other, there)

    return {name: Keys(primary[name], tuple(foreign(name))) for name in names}


def _read_sqlite(path: Path, table: str) -> pa.RecordBatchReader:
    with _sqlite(path) as con:
        name = chosen(_sqlite_tables(con), table, "table", path)
        schema = _sqlite_schema(con, name)
    return pa.RecordBatchReader.from_batches(schema, _sqlite_batches(path, name, schema))


def _sqlite_batches(path: Path, table: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    names = ", ".join(quote(name) for name in schema.names)
    with _sqlite(path) as con:
        cursor = con.execute(f"SELECT {names} FROM {quote(table)} NOT INDEXED")
        while rows := cursor.fetchmany(_ROWS):
            columns = [array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
            yield pa.record_batch(columns, schema=schema)


def _sqlite_schema(con: sqlite3.Connection, table: str) -> pa.Schema:
    """Return the columns of a table, with types that fit all values."""
    # Hidden columns (1) are those of virtual tables; 2 and 3 are computed ones.
    declared = {row[1]: row[2] for row in con.execute(f"PRAGMA table_xinfo({quote(table)})") if row[6] != 1}
    names = list(declared)
    fields: list[tuple[str, pa.DataType]] = []
    for start in range(0, len(names), _COLUMNS_AT_ONCE):
        batch = names[start : start + _COLUMNS_AT_ONCE]
        values = ", ".join(
            f"max(typeof({c}) = 'integer'), max(typeof({c}) = 'real'), max(typeof({c}) IN ('text', 'blob')),"
            f" min(CASE WHEN typeof({c}) = 'integer' THEN {c} END),"
            f" max(CASE WHEN typeof({c}) = 'integer' THEN {c} END)"
            for c in map(quote, batch)
        )
        row = con.execute(f"SELECT {values} FROM {quote(table)} NOT INDEXED").fetchone()
        for number, name in enumerate(batch):
            fields.append((name, _sqlite_type(declared[name], *row[5 * number : 5 * number + 5])))
    return pa.schema(fields)


def _sqlite_type(
    declared: str, integer: int | None, real: int | None, text: int | None, low: int | None, high: int | None
) -> pa.DataType:
    if text:
        return pa.string()
    if real:
        exact = low is None or (high is not None and low >= -EXACT and high <= EXACT)
        return pa.float64() if exact else pa.string()
    kind = declared.upper()
    if integer:
        return pa.bool_() if "BOOL" in kind and low in (0, 1) and high in (0, 1) else pa.int64()
    if "INT" in kind:
        return pa.int64()
    return pa.float64() if any(word in kind for word in ("REAL", "FLOA", "DOUB")) else pa.string()


# -- DuckDB -----------------------------------------------------------------------------------------------------------

_KEPT = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT",
    "DOUBLE", "VARCHAR", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE",
)  # fmt: skip
"""Types that Arrow keeps; nested and decimal ones are kept too."""
_NESTED = ("STRUCT(", "MAP(", "DECIMAL(")


@contextlib.contextmanager
def _duckdb(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    with _duckdb_errors(path):
        config: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": _MEMORY,
            "temp_directory": "",
        }
        con = duckdb.connect(config=config)
        try:
            con.execute(f"ATTACH {literal(str(path.resolve()))} AS source (READ_ONLY, TYPE duckdb)")
            con.execute("SET enable_external_access = false")
            con.execute("SET lock_configuration = true")
            yield con
        finally:
            con.close()


@contextlib.contextmanager
def _duckdb_errors(path: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, UnicodeDecodeError) as error:
        text = next(iter(str(error).splitlines()), "").replace(str(path.resolve()), path.name)
        raise BadInputError(f"Cannot read {path}: {text[:300]}", _REMEDY) from None


def _duckdb_tables(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    """Return schema and name of each base table by the name that we give it."""
    rows = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' AND NOT internal"
        " ORDER BY table_oid"
    ).fetchall()
    return {table if schema == "main" else f"{schema}.{table}": (schema, table) for schema, table in rows}


def _duckdb_keys(con: duckdb.DuckDBPyConnection) -> dict[str, Keys]:
    known = _duckdb_tables(con)
    rows = con.execute(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table,"
        " referenced_column_names FROM duckdb_constraints() WHERE database_name = 'source'"
        " AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') ORDER BY table_oid, constraint_index"
    ).fetchall()
    names = {place: name for name, place in known.items()}
    keys = {name: Keys((), ()) for name in known}
    for schema, table, kind, columns, other, others in rows:
        name = names.get((schema, table))
        target = names.get((schema, other))
        if name is None:
            continue
        if kind == "PRIMARY KEY":
            keys[name] = keys[name]._replace(primary=tuple(columns))
        elif target is not None:
            foreign = ForeignKey(tuple(columns), target, tuple(others))
            keys[name] = keys[name]._replace(foreign=(*keys[name].foreign, foreign))
    return keys


def _read_duckdb(path: Path, table: str) -> pa.RecordBatchReader:
    with _duckdb(path) as con:
        known = _duckdb_tables(con)
        schema, name = known[chosen(list(known), table, "table", path)]
        query = _duckdb_query(con, f"source.{quote(schema)}.{quote(name)}")
        arrow = con.sql(f"{query} LIMIT 0").to_arrow_table().schema
    return pa.RecordBatchReader.from_batches(arrow, _duckdb_batches(path, query))


def _duckdb_batches(path: Path, query: str) -> Iterator[pa.RecordBatch]:
    with _duckdb(path) as con:
        try:
            yield from con.sql(query).to_arrow_reader(_ROWS)
        except (OSError, pa.ArrowException) as error:  # of a damaged block
            text = " ".join(str(error).split())
            raise BadInputError(f"Cannot read {path}: {text[:300]}", _REMEDY) from None


def _duckdb_query(con: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return ``SELECT`` of a table with columns that Arrow keeps."""
    parts = []
    for name, kind in ((row[0], row[1]) for row in con.execute(f"DESCRIBE {table}").fetchall()):
        value = quote(name)
        inner = kind.rstrip("[]")
        if kind == "BLOB":
            value = f"to_base64({value})"
        elif kind == "VARCHAR":  # SQLite has such a limit itself
            problem = literal(f"a text is longer than {_MAX_VALUE:,} bytes")
            value = f"CASE WHEN strlen({value}) > {_MAX_VALUE} THEN error({problem}) ELSE {value} END"
        elif inner not in _KEPT and not inner.startswith(_NESTED):
            value = f"{value}::VARCHAR{'[]' if kind.endswith('[]') else ''}"
        parts.append(f"{value} AS {quote(name)}")
    return f"SELECT {', '.join(parts)} FROM {table}"
