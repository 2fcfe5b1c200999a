"""A file of vectors that an endpoint has returned, by model and text: SQLite, safe for concurrent processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import KbError

_WAIT = 60.0
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"


class VectorCache:
    """Vectors of texts as float32, as the endpoint sent them. Raises :class:`KbError` for a damaged file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def find(self, model: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of texts that are known."""
        keys = {_key(model, text): text for text in texts}
        with self._use() as connection:
            sql = "SELECT key, vector FROM vectors WHERE key IN (SELECT value FROM json_each(?))"
            rows = connection.execute(sql, (json.dumps(list(keys)),)).fetchall()
        return {keys[key]: np.frombuffer(vector, "<f4") for key, vector in rows}

    def add(self, model: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Store vectors; known ones are not replaced."""
        rows = [(_key(model, text), row.astype("<f4").tobytes()) for text, row in zip(texts, vectors, strict=True)]
        with self._use() as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    @contextlib.contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            try:
                if self._connection is None:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    self._connection = sqlite3.connect(self.path, timeout=_WAIT, check_same_thread=False)
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._connection.execute(_TABLE)
                yield self._connection
            except (sqlite3.Error, OSError, ValueError) as error:
                hint = "Name another file, or none"
                raise KbError(f"Cannot use {self.path} as a cache of vectors: {error}", hint) from None


def _key(model: str, text: str) -> str:
    content = f"{model}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=20).hexdigest()
