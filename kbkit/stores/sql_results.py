"""Results of SQL: DuckDB's relations as Arrow tables and polars frames, whole or up to a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from kbkit.errors import ResultTooLargeError
from kbkit.schema import quote

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Values = Mapping[str, Any] | Sequence[Any]
"""Values of parameters, by name or by position."""
_BATCH = 64
"""Rows of a batch of a bounded result, which is copied at once."""
_NO_ARROW = ("INTERVAL", "UNION", "BIT", "UHUGEINT", "BIGNUM", "TIME WITH TIME ZONE", "GEOMETRY", "VARIANT", "TIME_NS")
_STATUS_COLUMNS = (["Count"], ["Success"])
"""Columns of DuckDB's result for statements that are not queries."""


class ResultBounds(NamedTuple):
    """How much of a result is read: the first ``rows``, which may have at most ``bytes``."""

    rows: int
    bytes: int


def given(params: Values) -> dict[str, Any] | list[Any]:
    """Return the values of parameters as DuckDB takes them."""
    return dict(params) if isinstance(params, Mapping) else list(params)


def read_result(
    cursor: duckdb.DuckDBPyConnection, text: str, params: Values, bounds: ResultBounds | None = None
) -> pa.Table:
    """Run SQL and return the result of the last statement; see :meth:`kbkit.stores.tables.Tables.arrow`."""
    import pyarrow

    relation = cursor.sql(text, params=given(params)) if params else cursor.sql(text)
    if relation is None or (relation.columns in _STATUS_COLUMNS and not _is_query(cursor, text)):
        return pyarrow.table({})
    kinds = [str(kind) for kind in relation.types]
    as_text = {i for i, kind in enumerate(kinds) if any(name in kind for name in _NO_ARROW)}
    as_text |= {i for i, kind in enumerate(kinds) if "BLOB" in kind and kind != "BLOB"}
    table = _read(_as_text(relation, as_text), bounds)
    out_of_range = {i for i, kind in enumerate(kinds) if i not in as_text and _beyond_calendar(table.column(i))}
    return _read(_as_text(relation, as_text | out_of_range), bounds) if out_of_range else table


def _read(relation: duckdb.DuckDBPyRelation, bounds: ResultBounds | None) -> pa.Table:
    """Return the result, or the first rows of it. Raises :class:`ResultTooLargeError`."""
    if bounds is None:
        return relation.to_arrow_table()
    import pyarrow

    batches, rows, size = [], 0, 0
    reader = relation.limit(bounds.rows).to_arrow_reader(_BATCH)  # DuckDB computes 2,048 rows at once without a limit
    while rows < bounds.rows and (batch := next(reader, None)) is not None:
        batches.append(batch.slice(0, bounds.rows - rows))
        rows, size = rows + batches[-1].num_rows, size + batches[-1].nbytes
        if size > bounds.bytes:
            raise ResultTooLargeError(bounds.bytes)
    return pyarrow.Table.from_batches(batches, reader.schema)


def _is_query(cursor: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Return whether the last statement of a text is a query."""
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
    """Return whether a column has dates or times before year 1 or after year 9999, including infinity."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
        return False
    import pyarrow.compute as pc

    width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    per_day = 1 if pa.types.is_date32(kind) else 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    bounds = pc.min_max(pa.chunked_array([chunk.view(width) for chunk in column.chunks], width))
    first, last = bounds["min"].as_py(), bounds["max"].as_py()
    return first is not None and (first < -719_162 * per_day or last >= 2_932_897 * per_day)


def to_frame(table: pa.Table) -> pl.DataFrame:
    """Return an Arrow table as a polars frame, with strings for ENUMs and a number after repeated column names."""
    import polars as pl

    # Column by column: for a table, polars starts its threads, after which the process cannot fork.
    names = unique_names(table.column_names)
    columns = [pl.Series(_ArrowColumn(c)).alias(name) for name, c in zip(names, table.columns, strict=True)]
    return pl.DataFrame([c.cast(pl.String) if isinstance(c.dtype, (pl.Categorical, pl.Enum)) else c for c in columns])


class _ArrowColumn:
    """An Arrow column that polars reads by the Arrow interface, without loading PyArrow's functions."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._column.__arrow_c_stream__(requested_schema)


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names with ``_1``, ``_2`` after repeated ones, as in DuckDB's subqueries."""
    result: list[str] = []
    for name in names:
        unique, number = name, 0
        while unique in result:
            number += 1
            unique = f"{name}_{number}"
        result.append(unique)
    return result
