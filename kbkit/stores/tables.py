"""The relational store: one DuckDB file, the store of record.

Physical tables: ``nodes(id, type, key, name, aliases)`` sorted by id, ``edges(head, relation, tail, ...)`` sorted by
relation, head and tail, ``texts(id, field, position, text)`` sorted by id, ``node_types(id, type)`` for secondary
types, and one table for each node type with attributes, or ``node_attributes`` for all types if there are many.
The other types and all relations are views: with twenty relations each scans only its own row groups, because
``edges`` is sorted, and a KB with five thousand still opens at once.
``types`` and ``relations`` describe the schema.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from kbkit.directory import forks, temporary
from kbkit.directory.damage import STORE_OF_RECORD, damaged
from kbkit.errors import Option, QueryError, QueryTimeoutError, shortage, suggest
from kbkit.schema import literal
from kbkit.stores import columns as column_store
from kbkit.stores import data_tables, sql_macros
from kbkit.stores.alias_errors import unknown_column
from kbkit.stores.sql_results import ResultBounds, Values, given, read_result, to_frame
from kbkit.stores.table_schema import TABLES, selected
from kbkit.stores.threads import Expired, run, stopped_by_ctrl_c

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

FILE = "tables.duckdb"

Error = duckdb.Error
"""DuckDB's base error, for callers that do not import DuckDB."""

RaisedError = duckdb.InvalidInputException
"""The error that SQL's function ``error`` raises."""

_NOT_DAMAGED = (duckdb.InterruptException, duckdb.OutOfMemoryException, RaisedError)

_CLOSING = 10
"""Seconds that the beginnings of queries may take while a database is closed."""

_SPILL = "SELECT current_setting('temp_directory')"
NO_EXTENSIONS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


class Tables:
    """A generation's DuckDB file, opened read-only.

    Each call uses its own connection, so that no call sees the transactions or temporary tables of another, and threads
    can share the object. With ``files``, SQL may read and write files, or those in some folders; otherwise DuckDB opens
    only the KB. Queries that exceed ``memory`` (such as ``1GB``; default: most of the machine's memory) spill to a
    temporary folder. ``sets`` returns the saved sets, which SQL sees as ``answer_sets`` and ``answer_members``.
    ``extra_tables`` are those of the schema, which tell whether there are tables of data: asking DuckDB takes longer
    than opening the file. ``columns`` is the file of the columns, which SQL sees as ``columns.NAME``. ``database`` is a
    connection with the file attached as ``kb``, which is taken over.
    """

    def __init__(
        self,
        path: Path,
        *,
        files: bool | Sequence[Path] = False,
        sets: Callable[[], pl.DataFrame] | None = None,
        memory: str = "",
        extra_tables: Sequence[str] = (),
        columns: Path | None = None,
        database: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self._path, self._files, self._sets, self._columns = path, files, sets, columns
        self.columns_error = "" if columns else "it is not attached"
        """Why SQL does not see the columns, which the tables do not need."""
        self._has_data = "table_columns" in extra_tables
        self._guard = threading.Lock()
        # DuckDB creates the folder when a query spills, and deletes it when the database is closed.
        self._settings: dict[str, Any] = {**NO_EXTENSIONS, "temp_directory": str(temporary.unused_folder())}
        self._settings |= {"memory_limit": memory} if memory else {}
        forks.check()
        if database is None:
            self._con = self._database()
        else:
            self._con = database
            [(self._settings["temp_directory"],)] = database.execute(_SPILL).fetchall()

    def _database(self) -> duckdb.DuckDBPyConnection:
        """Open a database in memory with the KB attached; what is created in it lasts as long as its connection.

        The file is attached because all connections of a process to one file share their settings.
        """
        con = duckdb.connect(config=self._settings)
        try:
            con.execute(f"ATTACH {literal(str(self._path))} AS kb (READ_ONLY)")
            if self._has_data:
                data_tables.attach(con)
        except duckdb.Error as error:
            con.close()
            raise damaged(self._path, first_line(error), STORE_OF_RECORD) from error
        if self._columns is not None:
            try:
                column_store.attach(con, self._columns)
            except duckdb.Error as error:
                self.columns_error = first_line(error)
        if self._files is not True:
            folders = ", ".join(literal(f"{folder}/") for folder in self._files or ())
            con.execute(f"SET allowed_directories = [{folders}]; SET enable_external_access = false")
        con.execute("SET GLOBAL errors_as_json = true")  # with positions
        con.execute("SET lock_configuration = true")
        return con

    def close(self) -> None:
        """Close the database. What other threads run then ends first, or fails."""
        deadline = time.monotonic() + _CLOSING
        while True:
            try:
                with self._guard:
                    self._con.close()
                return
            except duckdb.ResourceInUseException:  # DuckDB refuses while another thread begins a query
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.001)

    def arrow(
        self,
        text: str,
        params: Values | None = None,
        timeout: float | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        on: duckdb.DuckDBPyConnection | None = None,
        bounds: ResultBounds | None = None,
    ) -> pa.Table:
        """Run a user's SQL and return the result of the last statement, without columns if it is not a query.

        ``params`` are the values of ``$name``, or a list of those of ``?``. ``timeout`` is in seconds, ``on`` is a
        connection of :meth:`connect`. ``frames`` are additional tables, which hide the KB's tables of the same name.
        Values of types that Arrow or polars lack become text. ``bounds`` limit what is read of the result. Raises
        :class:`QueryError` with DuckDB's message and the position, :class:`QueryTimeoutError`, and
        :class:`ResultTooLargeError`.
        """
        statements = self._statements(text)
        # Others than queries could leave tables and schemas that later calls see.
        only_reads = all(statement_type(one) in _QUERIES for one in statements or ())
        cursor = on or (self._cursor() if only_reads else self.connect())
        try:
            _register(cursor, frames or {})
            if not self._files:
                _refuse_writes(cursor, cursor.extract_statements(text) if statements is None else statements)
            if "answer_" in text.lower():
                self._define_sets(cursor)
            sql_macros.define(cursor, text)
            if self._has_data:
                data_tables.define_views(cursor, text)
            return run(lambda: read_result(cursor, text, params or {}, bounds), cursor.interrupt, timeout)
        except Expired:
            raise QueryTimeoutError(
                f"SQL query cancelled after {timeout:g} s", "Use ", Option("timeout"), " to raise the limit"
            ) from None
        except duckdb.PermissionException as error:
            raise QueryError(first_line(error), *_ALLOW_FILES) from None
        except (duckdb.Error, RuntimeError, UnicodeEncodeError) as error:
            if isinstance(error, RuntimeError) and (short := shortage(error)):
                raise short from error
            known = _query_error(_with_position(cursor, text, params or {}, error), text, self._hint_of_table)
            raise unknown_column(cursor, known, text) or known from error
        finally:
            if on is None:
                cursor.close()
            else:
                for name in frames or ():
                    on.unregister(name)

    def _hint_of_table(self, name: str, hint: str) -> str:
        """Return a hint with the tables that an unknown one may mean; ``hint`` is that of DuckDB.

        They are those of the type and the relation with this name (``type_order`` of ``order``), or the closest ones.
        """
        query = " UNION ALL ".join(
            f"SELECT lower({table}), sql_name, {table == 'type'} FROM kb.{table}s" for table in ("type", "relation")
        )
        known = self.rows(query)
        if called := sorted({table for given, table, _ in known if given == name.lower() != table.lower()}):
            return f"Did you mean {' or '.join(map(repr, called))}?"
        return hint or (suggest(name, [table for _, table, is_type in known if is_type], noun="types") if known else "")

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a connection that keeps tables, variables and settings between statements, and that only it sees."""
        con = self._database()
        con.execute("USE kb")
        return con

    def check_one_query(self, text: str) -> None:
        """Raise :class:`QueryError` unless a text is one query."""
        try:
            with self._guard:
                statements = self._con.extract_statements(text)
        except (duckdb.Error, RuntimeError, UnicodeEncodeError) as error:
            raise _query_error(error, text) from error
        if [statement_type(one) for one in statements] != [duckdb.StatementType.SELECT]:
            raise QueryError("Expected one SELECT statement", "Run statements one by one")

    def _statements(self, text: str) -> list[duckdb.Statement] | None:
        """Return the statements of a text; None for a syntax error, which is reported where the text is run."""
        try:
            with self._guard:
                return self._con.extract_statements(text)
        except (duckdb.Error, RuntimeError, UnicodeEncodeError):
            return None

    def frame(
        self,
        text: str,
        params: Values | None = None,
        timeout: float | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        on: duckdb.DuckDBPyConnection | None = None,
        bounds: ResultBounds | None = None,
    ) -> pl.DataFrame:
        """Run :meth:`arrow` and return a polars frame, with strings for ENUMs."""
        return to_frame(self.arrow(text, params, timeout, frames, on, bounds))

    def lookup(
        self, text: str, params: Mapping[str, Any] | None = None, frames: Mapping[str, pl.DataFrame] | None = None
    ) -> pl.DataFrame:
        """Run one of kbkit's own queries, without time limit or thread, and return a frame.

        Names of ``frames`` start with ``kbkit_``, because they hide tables of the same name.
        """
        cursor = self._cursor()
        try:
            _register(cursor, frames or {})
            with self._reading(cursor):
                return to_frame(cursor.sql(text, params=dict(params or {})).to_arrow_table())
        finally:
            cursor.close()

    def rows(self, text: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run one of kbkit's own queries and return its rows as tuples."""
        cursor = self._cursor()
        try:
            with self._reading(cursor):
                return cursor.execute(text, dict(params or {})).fetchall()
        finally:
            cursor.close()

    def batches(self, text: str, rows: int = 50_000) -> pa.RecordBatchReader:
        """Stream the result of a query in batches of ``rows``."""
        cursor = self._cursor()
        with self._reading(cursor):
            return cursor.sql(text).to_arrow_reader(rows)

    def _define_sets(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Define the views of the saved sets as they are now."""
        if self._sets is None:
            return
        cursor.register("kbkit_sets", self._sets().to_arrow())
        cursor.execute(
            f"CREATE OR REPLACE TEMP VIEW answer_sets AS SELECT {selected(TABLES['answer_sets'])} FROM kbkit_sets"
        )
        cursor.execute(
            "CREATE OR REPLACE TEMP VIEW answer_members AS SELECT m.answer_set, n.id, m.type, m.key FROM"
            " (SELECT answer_set, member.type, member.key FROM (SELECT name AS answer_set, unnest(members) AS member"
            " FROM kbkit_sets)) m LEFT JOIN nodes n ON n.type = m.type AND n.key = m.key"
        )

    @contextmanager
    def _reading(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Raise :class:`DamagedError` if one of kbkit's own queries fails, and ``KeyboardInterrupt`` on Ctrl-C."""
        try:
            with stopped_by_ctrl_c(cursor.interrupt):
                yield
        except RuntimeError as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise shortage(error) or error from None
        except _NOT_DAMAGED:
            raise
        except duckdb.Error as error:
            if "No space left" in str(error) or Path(self._settings["temp_directory"]).name in str(error):
                raise
            raise damaged(self._path, first_line(error), STORE_OF_RECORD) from error

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._guard:
            cursor = self._con.cursor()
        cursor.execute("USE kb")
        return cursor


def is_interrupt(error: Exception) -> bool:
    """Return whether DuckDB raised an error in the main thread because of Ctrl-C."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def _register(cursor: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame]) -> None:
    """Make frames available to SQL as tables."""
    for name, frame in frames.items():
        cursor.register(name, frame.to_arrow())


_READING = {
    duckdb.StatementType.__members__[name]
    for name in ("SELECT", "CREATE", "INSERT", "UPDATE", "DELETE", "DROP", "ALTER", "SET", "PRAGMA", "MULTI", "ANALYZE")
}
"""Statements that write no files; their changes are temporary, because the KB is attached read-only."""

_QUERIES = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)

_ALLOW_FILES = ("Use ", Option("allow_files"), " to let SQL read and write files")


def statement_type(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """Return the type of a statement; None if DuckDB's own module does not know it (``UPDATE EXTENSIONS``)."""
    try:
        return statement.type
    except ValueError:
        return None


def _refuse_writes(con: duckdb.DuckDBPyConnection, statements: Iterable[duckdb.Statement]) -> None:
    """Refuse statements that may write files: DuckDB's own protection exempts attached files."""
    for statement in statements:
        kind = statement_type(statement)
        if kind is None:
            name = " ".join(statement.query.split()[:2]).upper()
            raise QueryError(f"{name} is not allowed: SQL can only read the KB", *_ALLOW_FILES)
        if kind == duckdb.StatementType.EXPLAIN:  # EXPLAIN ANALYZE runs the statement
            _refuse_writes(con, con.extract_statements(_EXPLAIN.sub("", statement.query)))
        elif kind not in _READING or (kind == duckdb.StatementType.MULTI and "copy" in statement.query.lower()):
            raise QueryError(f"{kind.name.replace('_', ' ')} is not allowed: SQL can only read the KB", *_ALLOW_FILES)


_EXPLAIN = re.compile(r"(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN(?:\s*\([^)]*\)|\s+ANALYZE\b|\s+VERBOSE\b)*")


# -- errors ----------------------------------------------------------------------------------------------------------


def first_line(error: Exception) -> str:
    """Return DuckDB's message on one line, without its lists of candidates and settings."""
    text = str(error)
    if details := _details(text):
        text = f"{details['exception_type']} Error: {details['exception_message']}"
    text = re.split(r"\n\s*\n|\nPossible|\nLINE |\nCandidate|\nDid you mean|\n\tCandidate", text, maxsplit=1)[0]
    return " ".join(text.split())


def _details(message: str) -> dict[str, str]:
    """Return the fields of an error raised under ``errors_as_json``; empty for other errors."""
    try:
        details = json.loads(message.partition(" Error: ")[2])
    except ValueError:
        return {}
    return details if isinstance(details, dict) and "exception_message" in details else {}


def _with_position(cursor: duckdb.DuckDBPyConnection, text: str, params: Values, error: Exception) -> Exception:
    """Return the error with the position of an unknown name, which relations omit and EXPLAIN reports."""
    if not isinstance(error, (duckdb.BinderException, duckdb.CatalogException)) or "position" in _details(str(error)):
        return error
    try:
        cursor.execute("EXPLAIN " + text, given(params))
    except duckdb.Error as again:
        details = _details(str(again))
        if first_line(again) == first_line(error) and details.get("position", "").isdecimal():
            details["position"] = str(int(details["position"]) - len("EXPLAIN "))
            return type(error)(f"{details['exception_type']} Error: {json.dumps(details)}")
    return error


def _query_error(error: Exception, text: str, table: Callable[[str, str], str] = lambda _, hint: hint) -> QueryError:
    """Return DuckDB's error as a :class:`QueryError`, with its line and column and the closest names.

    ``table`` returns the hint for an unknown table, given that of DuckDB.
    """
    details = _details(str(error))
    known = [name for name in details.get("candidates", "").split(",") if name]
    hint = suggest(details["name"], known) if known and "name" in details else ""
    hint = hint if hint.startswith("Did you mean") else ""  # the candidates are guesses, not all names
    if details.get("type") == "Table" and details.get("name"):
        hint = table(details["name"], hint)
    if not details.get("position", "").isdecimal():
        return QueryError(first_line(error), hint)
    before = text.encode()[: int(details["position"])].decode(errors="ignore")  # DuckDB counts bytes
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return QueryError(first_line(error), hint, line=line, column=column)
