"""Cache of model calls: an SQLite file in a KB's workspace, safe for concurrent processes."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kbkit.errors import KbError
from kbkit.llm.client import Message, ModelRequest, Reply, Usage
from kbkit.llm.recording import Recorded

FILE = "llm.sqlite"
"""File name in the folder of a workspace."""

_WAIT = 60.0
_FORMAT = 1
_TABLE = (
    "CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, model TEXT NOT NULL,"
    " request TEXT NOT NULL, text TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cut INTEGER NOT NULL)"
)
_INSERT = (
    "INSERT INTO calls (key, model, request, text, input, output, cut) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO NOTHING"
)


class Cache:
    """Replies by key, safe for threads; in memory if ``path`` is None.

    Raises :class:`KbError` for a file that is damaged or cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._open: sqlite3.Connection | None = None
        with self._use() as connection:
            if path is not None:
                self._let_readers_pass(connection)
            self._check_format(connection)

    def _let_readers_pass(self, connection: sqlite3.Connection) -> None:
        """Set the mode in which readers do not wait for a writer.

        It is kept in the file. SQLite does not wait for another process that sets it at the same moment.
        """
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY":
                raise

    def _check_format(self, connection: sqlite3.Connection) -> None:
        """Create the table in one transaction: two processes may open a new file at once."""
        connection.execute("BEGIN IMMEDIATE")
        [known] = connection.execute("PRAGMA user_version").fetchone()
        if known not in (0, _FORMAT):
            raise KbError(f"{self.path} was written by a newer kbkit (format {known})", "Upgrade kbkit")
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.execute("COMMIT")

    def get(self, key: str) -> Reply | None:
        """Return the reply to a call, if cached."""
        return self.find([key]).get(key)

    def find(self, keys: Sequence[str]) -> dict[str, Reply]:
        """Return the cached replies of ``keys``, in one query."""
        sql = "SELECT key, text, input, output, cut FROM calls WHERE key IN (SELECT value FROM json_each(?))"
        with self._use() as connection:
            rows = connection.execute(sql, (json.dumps(list(keys)),)).fetchall()
            return {key: _reply(*rest) for key, *rest in rows}

    def put(self, key: str, model: str, request: ModelRequest, reply: Reply) -> None:
        """Store a reply durably; an existing one is not replaced."""
        self.add([Recorded(key, model, request, reply)])

    def add(self, calls: Iterable[Recorded]) -> tuple[int, int]:
        """Store calls, all or none; return the numbers of new and of known ones."""
        rows = [_row(call) for call in calls]
        with self._use() as connection:
            before = connection.total_changes
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_INSERT, rows)
            connection.execute("COMMIT")
            new = connection.total_changes - before
        return new, len(rows) - new

    def rows(self, model: str | None = None) -> Iterator[Recorded]:
        """Yield all calls (of one model), in insertion order."""
        sql = "SELECT key, model, request, text, input, output, cut FROM calls WHERE id > ? ORDER BY id LIMIT 1000"
        last = 0
        while True:
            with self._use() as connection:
                rows = connection.execute(sql.replace("key,", "id, key,", 1), (last,)).fetchall()
            for _, key, name, request, *reply in rows:
                if model in (None, name):
                    yield Recorded(key, name, self._request(request), _reply(*reply))
            if not rows:
                return
            last = rows[-1][0]

    def summary(self) -> list[tuple[str, int, int, int]]:
        """Return model, calls, input tokens and output tokens, in order of first use."""
        sql = "SELECT model, count(*), sum(input), sum(output) FROM calls GROUP BY model ORDER BY min(id)"
        with self._use() as connection:
            return connection.execute(sql).fetchall()

    def close(self) -> None:
        """Close the file; it is reopened on use."""
        with self._guard:
            if self._open is not None:
                self._open.close()
                self._open = None

    def __del__(self) -> None:
        if getattr(self, "_open", None) is not None:
            self.close()

    def _request(self, text: str) -> ModelRequest:
        try:
            fields = json.loads(text)
            return ModelRequest(**{**fields, "messages": tuple(Message(*message) for message in fields["messages"])})
        except (ValueError, TypeError, KeyError, RecursionError):
            raise KbError(f"{self.path} is damaged: invalid call", _MOVE) from None

    @contextlib.contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection to one thread at a time; translate its errors."""
        with self._guard:
            try:
                if self._open is None:
                    self._open = self._connect()
                yield self._open
            except BaseException as error:
                with contextlib.suppress(sqlite3.Error):  # no transaction stays open, even after Ctrl-C
                    if self._open is not None and self._open.in_transaction:
                        self._open.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error | OSError | UnicodeEncodeError | OverflowError):
                    raise self._error(error) from None
                raise

    def _connect(self) -> sqlite3.Connection:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        database: Any = ":memory:" if self.path is None else self.path
        return sqlite3.connect(database, timeout=_WAIT, isolation_level=None, check_same_thread=False)

    def _error(self, error: Exception) -> KbError:
        if isinstance(error, OSError):
            return KbError(f"Cannot write {self.path}: {error.strerror or error}", _DISK)
        if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
            return KbError(f"Cannot use {self.path}: {error}", _DISK)
        return KbError(f"{self.path} is damaged: {error}", _MOVE)


_MOVE = "Move the file away; its calls are then made, and paid, again"
_DISK = "The cache of model calls needs a writable disk"


def _row(call: Recorded) -> tuple[Any, ...]:
    request = json.dumps(call.request.content(), ensure_ascii=False)
    reply = call.reply
    return call.key, call.model, request, reply.text, reply.usage.input, reply.usage.output, int(reply.cut)


def _reply(text: str, tokens_in: int, tokens_out: int, cut: int) -> Reply:
    return Reply(text, Usage(tokens_in, tokens_out), bool(cut))
