"""The choice between the engines of SPARQL, and the results of the columns.

*Columns* compiles a query to SQL on the KB's DuckDB (:mod:`kbkit.sparql.columns`); *Oxigraph* answers everything else.
A query runs on one of them as a whole: what columns cannot answer, which may show only when it runs, goes to Oxigraph
before the first byte of a result is given out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast, get_args

from kbkit.errors import Command, Option, QueryError, QueryTimeoutError, UnknownNameError, sentence
from kbkit.stores.sparql_process import Results, expired, format_of
from kbkit.stores.threads import Cancelled, cancellable

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from kbkit.errors import Part
    from kbkit.sparql.columns import Compiled
    from kbkit.stores import Stores
    from kbkit.stores.sparql_formats import Formats
    from kbkit.stores.sparql_process import Graphs, ResultColumn
    from kbkit.stores.sql_results import ResultBounds

SparqlEngine = Literal["auto", "columns", "oxigraph"]
"""``auto`` chooses by the query."""
ENGINES: tuple[str, ...] = get_args(SparqlEngine)
AUTO, COLUMNS, OXIGRAPH = ENGINES
_MOST_ROWS = 1_000_000
"""Rows of a streamed result above which Oxigraph streams it: the columns hold a result in memory."""

_FEW_QUADS = 100_000
"""Quads up to which Oxigraph has answered a query with labels before columns have compiled it."""


@dataclass(frozen=True)
class EngineChoice:
    """The engine that answers a query: the columns, with the ``compiled`` query, or Oxigraph, for a ``reason``."""

    compiled: Compiled | None
    reason: str = ""


def checked(name: str) -> SparqlEngine:
    """Return an engine by its name. Raises :class:`UnknownNameError`."""
    if name not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    return cast("SparqlEngine", name)


def choose(stores: Stores, engine: str, text: str, graphs: Graphs, shown: Sequence[ResultColumn] = ()) -> EngineChoice:
    """Choose the engine for a rewritten query.

    In ``auto``, Oxigraph answers what :mod:`kbkit.sparql.columns.quick` finds quick, queries that the columns do not
    support, and those with labels in a small KB. With ``columns``, raises :class:`kbkit.errors.QueryError` for what
    they do not support, and :class:`kbkit.errors.QuerySyntaxError`. ``shown`` are the columns of the result if labels
    are added to it.
    """
    is_missing = stores.schema.rdf_source and not stores.has(COLUMNS)
    if checked(engine) == COLUMNS:
        if is_missing:
            stores.manifest.store(COLUMNS)  # raises the error
        return EngineChoice(_compiled(stores, text, graphs, shown, "Use ", Option("engine"), f" {OXIGRAPH}"))
    if engine == OXIGRAPH:
        return EngineChoice(None, "It was chosen")
    if is_missing:
        return EngineChoice(None, f"This KB has no store {COLUMNS!r}")
    if not stores.has("triples"):
        hint = ("Run ", Command("build KB triples"), " to add it")
        return EngineChoice(_compiled(stores, text, graphs, shown, *hint, more=", and this KB has no store 'triples'"))
    return _best(stores, text, graphs, shown)


def _best(stores: Stores, text: str, graphs: Graphs, shown: Sequence[ResultColumn]) -> EngineChoice:
    """Choose the engine by what the query asks for."""
    has_labels = shown or "inLanguage(" in text
    if has_labels and stores.schema.rdf_source and stores.manifest.store(COLUMNS).counts["quads"] < _FEW_QUADS:
        return EngineChoice(None, "It has labels, and the KB is small")
    try:
        compiled = _compiled(stores, text, graphs, shown, skip_quick=True)
    except QueryError as error:  # Oxigraph knows more syntax, and reports the errors of the rest
        return EngineChoice(None, error.message)
    return EngineChoice(None, compiled.quick) if compiled.quick else EngineChoice(compiled)


def _compiled(
    stores: Stores,
    text: str,
    graphs: Graphs,
    shown: Sequence[ResultColumn],
    *hint: Part,
    more: str = "",
    skip_quick: bool = False,
) -> Compiled:
    from kbkit.sparql.columns import UnsupportedQueryError, compile_query  # loads the grammar

    try:
        return compile_query(stores, text, graphs, shown, skip_quick=skip_quick)
    except UnsupportedQueryError as error:
        raise QueryError(error.message + more, *hint) from None


@dataclass(frozen=True)
class CompiledRows:
    """The result of a compiled query."""

    compiled: Compiled
    table: pa.Table

    @property
    def kind(self) -> str:
        """Whether it is the result of ``select``, ``ask`` or ``triples``."""
        return self.compiled.kind

    def values(self) -> pl.DataFrame:
        """Return the result as Python values."""
        from kbkit.sparql.columns import results

        return results.values(self.kind, self.compiled.columns, self.table)

    def terms(self) -> pl.DataFrame:
        """Return the result as RDF terms."""
        from kbkit.sparql.columns import results

        return results.terms(self.kind, self.compiled.columns, self.table)


@dataclass(frozen=True)
class Serialized:
    """The result of Oxigraph: its kind, and TSV or N-Triples."""

    kind: str
    body: bytes

    def values(self) -> pl.DataFrame:
        """Return the result as Python values."""
        from kbkit.stores import sparql_results

        return sparql_results.values(self.kind, self.body)

    def terms(self) -> pl.DataFrame:
        """Return the result as RDF terms."""
        from kbkit.stores import sparql_results

        return sparql_results.terms(self.kind, self.body)


def rows(stores: Stores, compiled: Compiled, timeout: float | None, bounds: ResultBounds | None = None) -> CompiledRows:
    """Run a compiled query; see :meth:`kbkit.stores.tables.Tables.arrow` for ``bounds`` and errors."""
    from kbkit.sparql.columns import BEYOND, UnsupportedQueryError, run

    first = compiled
    if bounds is not None:  # so that DuckDB does not sort all rows to find the first ones
        first = replace(compiled, sql=f"SELECT * FROM ({compiled.sql}) LIMIT {bounds.rows}")
    try:
        return CompiledRows(compiled, run(stores, first, timeout, bounds))
    except QueryTimeoutError:
        raise expired(timeout) from None
    except QueryError as error:
        _, is_beyond, feature = error.message.partition(f"{BEYOND} ")
        raise UnsupportedQueryError(feature) if is_beyond else error from None


class ColumnResults(Results):
    """The serialized result of a compiled query, which is computed when it is started.

    If ``other`` is given and the columns fail, or have more rows than memory should hold, it returns the result of
    Oxigraph instead, for the number of seconds that have passed.
    """

    def __init__(
        self,
        stores: Stores,
        compiled: Compiled,
        formats: Formats,
        timeout: float | None,
        other: Callable[[float], Results] | None,
    ) -> None:
        self._stores, self._compiled, self._formats, self._timeout = stores, compiled, formats, timeout
        self._other = other
        self._cancel = threading.Event()
        self._guard = threading.Lock()
        self._instead: Results | None = None
        self._chunks: Iterator[bytes] = iter(())

    def start(self) -> None:
        """Compute the result; see :meth:`Results.start`."""
        self._refuse_closed()
        self.kind, self.format = self._compiled.kind, format_of(self._compiled.kind, self._formats)
        started = time.monotonic()
        try:
            with cancellable(self._cancel):
                computed = self._rows()
        except Cancelled:
            self._refuse_closed()
            raise  # another one cancels
        except QueryError:
            if self._other is None:
                raise
            computed = None
        if computed is not None:
            self._chunks = self._written(computed)
            return
        assert self._other is not None
        instead = self._other(time.monotonic() - started)
        with self._guard:
            self._refuse_closed()
            self._instead = instead
        instead.start()
        self.kind, self.format = instead.kind, instead.format

    def _rows(self) -> CompiledRows | None:
        """Return the result; None if it is too large for this process and Oxigraph can stream it."""
        if self._other is None or self.kind == "ask":
            return rows(self._stores, self._compiled, self._timeout)
        most = _MOST_ROWS + 1
        limited = rows(
            self._stores,
            replace(self._compiled, sql=f"SELECT * FROM ({self._compiled.sql}) LIMIT {most}"),
            self._timeout,
        )
        return None if limited.table.num_rows == most else limited

    def _written(self, computed: CompiledRows) -> Iterator[bytes]:
        from kbkit.sparql.columns.writing import chunks

        prefixes = self._stores.schema.prefixes()
        return chunks(computed.kind, computed.compiled.columns, computed.table, self.format, prefixes)

    def _refuse_closed(self) -> None:
        if self._cancel.is_set():
            raise QueryError("The query was cancelled")

    def chunk(self) -> bytes:
        """Return the next bytes; none at the end."""
        if self._instead is not None:
            return self._instead.chunk()
        self._refuse_closed()
        return next(self._chunks, b"")

    def close(self) -> None:
        """Cancel the query if it still runs. Another thread may call this."""
        with self._guard:
            self._cancel.set()
            instead = self._instead
        if instead is not None:
            instead.close()


def explained(stores: Stores, choice: EngineChoice, timeout: float | None) -> str:
    """Return how a query is run: the plan of DuckDB with the rows of each step, for which the query is run; or why
    Oxigraph answers it, which has no plan to show.
    """
    if choice.compiled is None:
        return f"Oxigraph answers this query. {sentence(choice.reason)}"
    plan = rows(stores, replace(choice.compiled, sql=f"EXPLAIN ANALYZE {choice.compiled.sql}"), timeout)
    return str(plan.table.column("explain_value")[0].as_py()).rstrip("\n")
