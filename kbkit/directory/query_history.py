"""The queries that a person ran in the browser, in a file of a KB's workspace."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path
from typing import NamedTuple

from kbkit.directory.damage import check_plain
from kbkit.directory.files import write_files
from kbkit.errors import KbError

FILE = "query_history.json"
MOST = 100
"""Maximum number of queries that are kept."""
_LONGEST = 20_000
"""Maximum number of characters of a query that is kept."""


class PastQuery(NamedTuple):
    """A query that ran: its language, its text, and how its result was shown last, as parameters of an address."""

    language: str
    statement: str
    view: str = ""


class QueryHistory:
    """The last queries, newest first. Where the workspace cannot be written, they last as long as the process."""

    def __init__(self, folder: Path) -> None:
        self._path, self._lock = folder / FILE, threading.Lock()
        self._known: list[PastQuery] | None = None

    def all(self) -> list[PastQuery]:
        """Return the queries, newest first."""
        with self._lock:
            return list(self._read())

    def add(self, language: str, statement: str, view: str = "") -> None:
        """Add a query, or move it to the front; ``view`` is how its result is shown."""
        if len(statement) > _LONGEST or len(view) > _LONGEST:
            return
        with self._lock:
            entry = PastQuery(language, statement, view)
            known = [entry, *(other for other in self._read() if other[:2] != entry[:2])][:MOST]
            if known == self._known:
                return
            self._known = known
            with contextlib.suppress(KbError, OSError, UnicodeEncodeError):
                write_files({self._path: json.dumps(known, ensure_ascii=False, indent=0) + "\n"})

    def clear(self) -> None:
        """Delete all queries."""
        with self._lock:
            self._known = []
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()

    def _read(self) -> list[PastQuery]:
        if self._known is None:
            self._known = []
            with contextlib.suppress(KbError, OSError, ValueError, TypeError, RecursionError):
                check_plain(self._path)
                found = json.loads(self._path.read_text(encoding="utf-8"))
                self._known = [PastQuery(*map(str, entry[:3])) for entry in found][:MOST]
        return self._known
