"""The relational store: DuckDB, one file, the store of record.

Physical tables: ``nodes(id, type, key, name, aliases)`` sorted by id, ``edges(head, relation, tail, ...)`` sorted by
relation, head, tail, ``texts(id, field, position, text)`` sorted by id, ``node_types(id, type)`` for types besides the
primary one, and one table for each node type that has attributes; where many have, one table for all of them,
``node_attributes``. Types without a table and all relations are views: twenty relations scan only their own row groups
(the sort keeps zone maps tight), and five thousand open at once.
``types`` and ``relations`` describe the schema to SQL.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from kbkit.errors import KbError, QueryError, QueryTimeoutError
from kbkit.stores.deadline import Expired, run
from kbkit.stores.sql_errors import first_line, placed, refusal

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

FILE = "tables.duckdb"
TABLES = (
    "nodes",
    "edges",
    "texts",
    "node_types",
    "node_attributes",
    "types",
    "relations",
    "answer_sets",
    "answer_members",
)
"""Names that no type or relation may take."""

Error = duckdb.Error
"""What DuckDB raises, for callers that do not import it."""

RaisedError = duckdb.InvalidInputException
"""What SQL's ``error('...')`` raises."""

_STAGING_MEMORY = "4GB"  # a larger source spills to disk

_SAFE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def quote(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string literal, for the few places where DuckDB takes no parameter."""
    return "'" + text.replace("'", "''") + "'"


def connect_staging(path: Path) -> duckdb.DuckDBPyConnection:
    """A database to load sources into; spills beside itself, and installs no extension."""
    spill = {"temp_directory": str(path) + ".spill", "memory_limit": _STAGING_MEMORY}
    return duckdb.connect(str(path), config={**_SAFE, **spill})


def allow_only(
    con: duckdb.DuckDBPyConnection, folders: Sequence[Path], paths: Sequence[Path], whole: Sequence[Path] = ()
) -> None:
    """Let this connection open no files but ``paths``, the tables in ``folders`` and all in ``whole``, for good."""
    endings = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
    own = [folder / (FILE + ending) for folder in folders for ending in endings]
    listed = ", ".join(literal(str(path)) for path in (*own, *paths))
    con.execute(f"SET allowed_paths = [{listed}]")
    con.execute(f"SET allowed_directories = [{', '.join(literal(str(folder) + '/') for folder in whole)}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")


def write_lines(con: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write a query's one text column to a gzipped file, a line each, without quoting."""
    con.execute(
        f"COPY ({query}) TO {literal(str(path))} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '',"
        " DELIMITER '\x01', COMPRESSION gzip)"
    )


def table_names(
    con: duckdb.DuckDBPyConnection, names: Sequence[str], taken: Sequence[str], prefix: str, extra: Sequence[str] = ()
) -> list[str]:
    """SQL names for types or relations: their own; with ``prefix`` (and a number) where that is taken or reserved, as
    the names of ``extra`` tables are.
    """
    reserved = {*(name.casefold() for name in extra)} | {
        word
        for (word,) in con.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        ).fetchall()
    }
    used = {name.casefold() for name in (*taken, *TABLES)} | reserved
    result = []
    for name in names:
        table, number = name, 1
        while table.casefold() in used:
            table = f"{prefix}{name}" if number == 1 else f"{prefix}{name}_{number}"
            number += 1
        used.add(table.casefold())
        result.append(table)
    return result


# -- read -------------------------------------------------------------------------------------------------------------


class Tables:
    """A generation's DuckDB file, read-only. Every call has a connection of its own, so that none sees what another
    left behind (a transaction, a temporary table), and threads may share one object.

    ``files`` lets SQL read and write files; otherwise DuckDB opens nothing but the KB. Spills go to a temporary folder;
    ``memory`` (``1GB``) is what it may hold before, by default most of the machine's.
    ``sets`` gives the saved sets (name, expression, type, generation, saved, count, members), which SQL sees as
    ``answer_sets`` and ``answer_members``.
    """

    def __init__(
        self, path: Path, *, files: bool = False, sets: Callable[[], pl.DataFrame] | None = None, memory: str = ""
    ) -> None:
        self._files, self._sets = files, sets
        self._guard = threading.Lock()
        self._spill = tempfile.TemporaryDirectory(prefix="kbkit-")
        # The file is attached to a database in memory, because DuckDB shares one instance, and its settings, among all
        # connections of a process to one file.
        limit = {"memory_limit": memory} if memory else {}
        self._con = duckdb.connect(config={**_SAFE, **limit, "temp_directory": self._spill.name})
        try:
            self._con.execute(f"ATTACH {literal(str(path))} AS kb (READ_ONLY)")
        except duckdb.Error as error:
            self.close()
            raise KbError(f"{path} cannot be opened: {first_line(error)}", "kbkit check says more") from error
        if not files:
            self._con.execute("SET enable_external_access = false")
        self._con.execute("SET GLOBAL errors_as_json = true")  # which say where
        self._con.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Close the database."""
        self._con.close()
        self._spill.cleanup()

    def arrow(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        on: duckdb.DuckDBPyConnection | None = None,
    ) -> pa.Table:
        """Run a user's SQL and return its last result, no column where it is no query; ``params`` are named
        (``$name``), ``timeout`` is in seconds.

        ``frames`` are tables that the text may name; they hide those of the KB that are called the same. ``on`` is a
        connection of :meth:`connect`. Types that Arrow or polars lack come as text. Raises :class:`QueryError` with
        DuckDB's first line and the place, :class:`QueryTimeoutError` at the limit.
        """
        cursor = self._cursor() if on is None else on
        try:
            _register(cursor, frames or {})
            if not self._files:
                _refuse_writes(cursor, text)
            if "answer_" in text.lower():
                self._define_sets(cursor)
            return run(lambda: _result(cursor, text, params or {}), cursor.interrupt, timeout)
        except Expired:
            raise QueryTimeoutError(f"SQL stopped after {timeout:g} s", "--timeout sets the limit") from None
        except duckdb.PermissionException as error:
            raise QueryError(first_line(error), "--allow-files lets SQL read and write files") from None
        except (duckdb.Error, RuntimeError, UnicodeEncodeError) as error:
            raise refusal(placed(cursor, text, params or {}, error), text) from error
        finally:
            if on is None:
                cursor.close()
            else:
                for name in frames or ():
                    on.unregister(name)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection on which what is temporary (tables, variables, settings) outlives a statement."""
        return self._cursor()

    def frame(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        on: duckdb.DuckDBPyConnection | None = None,
    ) -> pl.DataFrame:
        """:meth:`arrow` as a polars frame, with plain strings for ENUMs."""
        return to_frame(self.arrow(text, params, timeout, frames, on))

    def lookup(
        self, text: str, params: Mapping[str, Any] | None = None, frames: Mapping[str, pl.DataFrame] | None = None
    ) -> pl.DataFrame:
        """A frame for kbkit's own look-ups: no limit, no thread. ``frames`` are tables that the text may name:
        ``kbkit_...``, because they hide tables of the KB that are called the same.
        """
        cursor = self._cursor()
        try:
            _register(cursor, frames or {})
            return to_frame(cursor.sql(text, params=dict(params or {})).to_arrow_table())
        finally:
            cursor.close()

    def rows(self, text: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Few rows, for kbkit's own look-ups."""
        cursor = self._cursor()
        try:
            return cursor.execute(text, dict(params or {})).fetchall()
        finally:
            cursor.close()

    def batches(self, text: str, rows: int = 50_000) -> pa.RecordBatchReader:
        """Stream a result, ``rows`` a batch."""
        return self._cursor().sql(text).to_arrow_reader(rows)

    def _define_sets(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Define the views of saved sets, for this call: they come and go."""
        if self._sets is None:
            return
        cursor.register("kbkit_sets", self._sets().to_arrow())
        cursor.execute(
            "CREATE OR REPLACE TEMP VIEW answer_sets AS"
            " SELECT name, expression, type, generation, saved, count FROM kbkit_sets"
        )
        cursor.execute(
            "CREATE OR REPLACE TEMP VIEW answer_members AS SELECT m.answer_set, n.id, m.type, m.key FROM"
            " (SELECT answer_set, member.type, member.key FROM (SELECT name AS answer_set, unnest(members) AS member"
            " FROM kbkit_sets)) m LEFT JOIN nodes n ON n.type = m.type AND n.key = m.key"
        )

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._guard:
            cursor = self._con.cursor()
        cursor.execute("USE kb")
        return cursor


def _register(cursor: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame]) -> None:
    """Let SQL see frames as tables."""
    for name, frame in frames.items():
        cursor.register(name, frame.to_arrow())


_READING = {
    duckdb.StatementType.__members__[name]
    for name in ("SELECT", "CREATE", "INSERT", "UPDATE", "DELETE", "DROP", "ALTER", "SET", "PRAGMA", "MULTI", "ANALYZE")
}
"""Statements that cannot write a file; what they change is temporary, because the KB is attached read-only."""


def _refuse_writes(con: duckdb.DuckDBPyConnection, text: str) -> None:
    """Refuse statements that may write files: DuckDB's own guard exempts the files that are attached."""
    for statement in con.extract_statements(text):
        kind = statement.type
        if kind == duckdb.StatementType.EXPLAIN:  # EXPLAIN ANALYZE runs what it explains
            _refuse_writes(con, _EXPLAIN.sub("", statement.query))
        elif kind not in _READING or (kind == duckdb.StatementType.MULTI and "copy" in statement.query.lower()):
            raise QueryError(
                f"{kind.name.replace('_', ' ')} is refused: SQL reads the KB and writes nothing",
                "--allow-files lets SQL read and write files",
            )


_EXPLAIN = re.compile(r"(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN(?:\s*\([^)]*\)|\s+ANALYZE\b|\s+VERBOSE\b)*")
_NO_ARROW = ("INTERVAL", "UNION", "BIT", "UHUGEINT", "BIGNUM", "TIME WITH TIME ZONE", "GEOMETRY", "VARIANT", "TIME_NS")


def _result(cursor: duckdb.DuckDBPyConnection, text: str, params: Mapping[str, Any]) -> pa.Table:
    import pyarrow

    relation = cursor.sql(text, params=dict(params)) if params else cursor.sql(text)
    if relation is None or (relation.columns in _DONE and not _is_query(cursor, text)):
        return pyarrow.table({})
    kinds = [str(kind) for kind in relation.types]
    as_text = {i for i, kind in enumerate(kinds) if any(name in kind for name in _NO_ARROW)}
    as_text |= {i for i, kind in enumerate(kinds) if "BLOB" in kind and kind != "BLOB"}
    table = _as_text(relation, as_text).to_arrow_table()
    unspeakable = {i for i, kind in enumerate(kinds) if i not in as_text and _beyond_calendar(table.column(i))}
    return _as_text(relation, as_text | unspeakable).to_arrow_table() if unspeakable else table


_DONE = (["Count"], ["Success"])
"""Columns of what DuckDB says of a statement that is no query."""


def _is_query(cursor: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether the last statement of a text has rows that it was asked for."""
    statements = cursor.extract_statements(text)
    return not statements or statements[-1].expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT]


def _as_text(relation: duckdb.DuckDBPyRelation, columns: set[int]) -> duckdb.DuckDBPyRelation:
    if not columns:
        return relation
    parts = [
        f"#{i + 1}::VARCHAR AS {quote(n)}" if i in columns else f"#{i + 1}" for i, n in enumerate(relation.columns)
    ]
    return relation.project(", ".join(parts))


def _beyond_calendar(column: pa.ChunkedArray) -> bool:
    """Whether a column holds dates or times before year 1 or after year 9999, infinity among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
        return False
    width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    per_day = 1 if pa.types.is_date32(kind) else 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    bounds = pc.min_max(pa.chunked_array([chunk.view(width) for chunk in column.chunks], width))
    first, last = bounds["min"].as_py(), bounds["max"].as_py()
    return first is not None and (first < -719_162 * per_day or last >= 2_932_897 * per_day)


def to_frame(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a polars frame: ENUMs become strings, repeated column names get ``_1``, ``_2``."""
    import polars as pl

    frame = pl.DataFrame(pl.from_arrow(table.rename_columns(unique_names(table.column_names))))
    enums = [name for name, kind in frame.schema.items() if isinstance(kind, (pl.Categorical, pl.Enum))]
    return frame.with_columns(pl.col(enums).cast(pl.String)) if enums else frame


def unique_names(names: Sequence[str]) -> list[str]:
    """Column names made distinct, as DuckDB itself does in sub-queries."""
    result: list[str] = []
    for name in names:
        unique, number = name, 0
        while unique in result:
            number += 1
            unique = f"{name}_{number}"
        result.append(unique)
    return result
