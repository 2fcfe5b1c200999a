"""A DuckDB database in memory for queries over frames. Queries can neither change it nor open files."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import duckdb

from kbkit.errors import QueryError
from kbkit.stores.tables import NO_EXTENSIONS, first_line

if TYPE_CHECKING:
    import polars as pl

_MEMORY = "1GB"


class Scratch:
    """An empty database in memory; ``with`` closes it. Opening one takes about 10 ms, a query over frames 1 ms."""

    def __init__(self) -> None:
        self._con = duckdb.connect(config={**NO_EXTENSIONS, "memory_limit": _MEMORY, "threads": "1"})
        self._con.execute("SET enable_external_access = false; SET lock_configuration = true")

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._con.close()

    def rows(self, text: str, frames: Mapping[str, pl.DataFrame]) -> list[tuple[Any, ...]]:
        """Return the rows of one SELECT over ``frames``. Raises :class:`QueryError` for any other statement."""
        for name, frame in frames.items():
            self._con.register(name, frame.to_arrow())
        try:
            statements = self._con.extract_statements(text)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError(f"Not a single SELECT: {text!r}")
            return self._con.execute(statements[0]).fetchall()
        except duckdb.Error as error:
            raise QueryError(f"Invalid query {text!r}: {first_line(error)}") from None
        finally:
            for name in frames:
                self._con.unregister(name)
