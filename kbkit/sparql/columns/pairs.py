"""Counts of distinct pairs that a join has: by SQL, or for many joined rows by a product of sparse matrices."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from kbkit.errors import QueryTimeoutError
from kbkit.stores import threads
from kbkit.stores.pair_counts import count_pairs, fits

if TYPE_CHECKING:
    import pyarrow as pa

    from kbkit.stores import Stores
    from kbkit.stores.sql_results import ResultBounds

MANY = 10_000_000
"""Joined rows from which the product is faster than DISTINCT, which also needs memory for every pair."""


@dataclass(frozen=True)
class PairCounts:
    """A part of a statement that counts distinct pairs: ``text`` has the columns ``value`` and ``pairs``.

    ``left`` and ``right`` select the joined rows: ``value`` and ``shared``, ``shared`` and ``counted``, all ids.
    """

    value: str
    pairs: str
    left: str
    right: str

    @property
    def text(self) -> str:
        """The query for the values with the numbers of their pairs."""
        distinct = f"SELECT DISTINCT value, counted FROM ({self.left}) JOIN ({self.right}) USING (shared)"
        return f"SELECT value AS {self.value}, count(*) AS {self.pairs} FROM ({distinct}) GROUP BY value"

    @property
    def joined_rows(self) -> str:
        """The query for the number of joined rows."""
        left, right = (
            f"(SELECT shared, count(*)::HUGEINT AS n FROM ({part}) GROUP BY shared)" for part in (self.left, self.right)
        )
        return f"SELECT sum(l.n * r.n)::DOUBLE FROM {left} l JOIN {right} r USING (shared)"


def run(
    stores: Stores,
    text: str,
    counted: tuple[PairCounts, ...],
    timeout: float | None,
    bounds: ResultBounds | None = None,
) -> pa.Table:
    """Run a statement, with tables in place of those of its parts whose joins have many rows.

    See :meth:`kbkit.stores.tables.Tables.arrow` for ``bounds`` and errors.
    """
    limit = None if not timeout else time.monotonic() + timeout
    frames = {}
    for number, part in enumerate(counted):
        rows = _arrow(stores, part.joined_rows, limit).column(0)[0].as_py()
        table = _counted(stores, part, limit) if rows is not None and rows >= MANY else None
        if table is not None:
            name = f"kbkit_pairs_{number}"
            text = text.replace(part.text, f"FROM {name}")
            frames[name] = table
    return stores.tables.arrow(text, timeout=_left(limit), frames=frames, bounds=bounds)


def _counted(stores: Stores, part: PairCounts, limit: float | None) -> pl.DataFrame | None:
    """Return the table of a part; None if its ids are too large for a matrix."""
    queries = (f"SELECT value, shared FROM ({part.left})", f"SELECT shared, counted FROM ({part.right})")
    left, right = ([column.to_numpy() for column in _arrow(stores, query, limit).columns] for query in queries)
    if not all(fits(ids) for ids in (*left, *right)):
        return None
    stopped = threading.Event()
    try:
        values, counts = threads.run(
            lambda: count_pairs((left[0], left[1]), (right[0], right[1]), stopped), stopped.set, _left(limit)
        )
    except threads.Expired:
        raise QueryTimeoutError("SPARQL query cancelled") from None
    return pl.DataFrame({part.value: values, part.pairs: counts})


def _arrow(stores: Stores, query: str, limit: float | None) -> pa.Table:
    return stores.tables.arrow(query, timeout=_left(limit))


def _left(limit: float | None) -> float | None:
    """Return the seconds that are left, at least one thousandth."""
    return None if limit is None else max(0.001, limit - time.monotonic())
