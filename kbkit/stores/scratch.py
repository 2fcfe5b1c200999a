"""A DuckDB database in memory for queries over frames.

Queries may come from files of others: they can neither change the database nor open files, read variables of the
program, use more than a fixed memory, run longer than a time limit, or return more than a million rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import duckdb

from kbkit.errors import QueryError, clipped
from kbkit.stores.tables import NO_EXTENSIONS, first_line
from kbkit.stores.threads import Expired, run

if TYPE_CHECKING:
    import polars as pl

_SETTINGS: dict[str, Any] = {
    **NO_EXTENSIONS,
    "memory_limit": "1GB",
    "temp_directory": "",
    "threads": "1",
    "python_enable_replacements": "false",
}
_MAX_ROWS = 1_000_000
_SHOWN = 200
"""Characters of a query in errors."""
SECONDS = 10.0
"""Time limit of a query."""


class Scratch:
    """An empty database in memory; ``with`` closes it. Opening one takes about 10 ms, a query over frames 1 to 2 ms."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._con = duckdb.connect(config=_SETTINGS)
        self._con.execute("SET enable_external_access = false; SET lock_configuration = true")

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._con.close()

    def rows(self, text: str, frames: Mapping[str, pl.DataFrame]) -> list[tuple[Any, ...]]:
        """Return the rows of one SELECT over ``frames``, of which it sees those that it names.

        Raises :class:`QueryError` for any other statement, an invalid query, and one that exceeds a limit.
        """
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise QueryError(f"Invalid query {_shown(text)}: unpaired surrogate (invalid Unicode)")
        folded = text.casefold()
        used = [name for name in frames if name.casefold() in folded]  # to register one takes as long as a query
        for name in used:
            self._con.register(name, frames[name].to_arrow())
        try:
            return run(lambda: self._rows(text), self._con.interrupt, self._seconds)
        except Expired:
            raise QueryError(f"Query cancelled after {self._seconds:g} s: {_shown(text)}") from None
        except (duckdb.Error, RuntimeError) as error:
            raise QueryError(f"Invalid query {_shown(text)}: {first_line(error)}") from None
        finally:
            for name in used:
                self._con.unregister(name)

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        statements = self._con.extract_statements(text)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryError(f"Not a single SELECT: {_shown(text)}")
        rows = self._con.execute(statements[0]).fetchmany(_MAX_ROWS + 1)
        if len(rows) > _MAX_ROWS:
            while self._con.fetchmany(_MAX_ROWS):  # an unfinished result blocks the connection
                pass
            raise QueryError(f"Query with more than {_MAX_ROWS:,} rows: {_shown(text)}")
        return rows


def _shown(text: str) -> str:
    return repr(clipped(text, _SHOWN))
