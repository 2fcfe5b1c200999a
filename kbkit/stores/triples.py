"""The RDF store: Oxigraph, bulk-loaded, and queried through worker processes.

Oxigraph cannot cancel a query, so SPARQL runs in separate processes (``sparql_process.py``).
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kbkit.directory.damage import damaged
from kbkit.schema import Schema
from kbkit.stores import ntriples
from kbkit.stores.sparql_formats import PLAIN, Formats
from kbkit.stores.sparql_process import Graphs, Pool, ProcessResults, ResultColumn, Results, request
from kbkit.stores.sparql_text import bind, refuse_service

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

FOLDER = "triples"
QUADS = "source/quads.nq.gz"
"""The quads of an RDF source in a generation, from which the store is built and rebuilt."""


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    quads: Path | None,
    progress: Callable[[int, int], None],
    total: int,
) -> dict[str, int]:
    """Bulk-load the tables (``batches`` runs SQL over them) and, for an RDF source, its ``quads``.

    ``total`` is an estimate for ``progress``. Returns ``{"triples": ..., "written": ...}``: the statements in the store
    and the statements sent to it, which are equal because they are distinct by construction, unless an RDF source has
    literals that Oxigraph stores in one form.
    """
    import pyoxigraph as ox

    from kbkit.stores.label_index import LabelIndexWriter  # NumPy, which a query does not need

    store = ox.Store(str(folder))
    counted = [0]

    def advance(lines: int) -> None:
        counted[0] += lines
        progress(counted[0], max(total, counted[0]))

    default: ox.DefaultGraph | ox.NamedNode = ox.DefaultGraph()
    parts = [(query, default) for query in ntriples.queries(schema)]
    if schema.rdf_source:
        parts += [(query, ox.NamedNode(ntriples.TABLES_GRAPH)) for query in ntriples.table_queries(schema)]
    for graph, group in itertools.groupby(parts, key=lambda part: part[1]):  # fewer loads are faster
        chunks = (_column_bytes(batch.column(0)) for query, _ in group for batch in batches(query))
        store.bulk_load(input=_Stream.buffered(chunks, advance), format=ox.RdfFormat.N_TRIPLES, to_graph=graph)
    if quads is not None:
        read = ntriples.read_quads(quads)
        kept = LabelIndexWriter(folder).passing(read) if schema.dialect == "wikidata" else read
        chunks = (memoryview(chunk) for chunk in kept)
        store.bulk_load(input=_Stream.buffered(chunks, advance), format=ox.RdfFormat.N_QUADS)
    store.flush()
    store.optimize()
    return {"triples": len(store), "written": counted[0]}


class _Stream(io.RawIOBase):
    """Chunks of lines as a stream of bytes; ``advance`` is called with the number of lines of each chunk."""

    def __init__(self, chunks: Iterator[memoryview], advance: Callable[[int], None]) -> None:
        self._chunks, self._advance = chunks, advance
        self._rest = memoryview(b"")

    @classmethod
    def buffered(cls, chunks: Iterator[memoryview], advance: Callable[[int], None]) -> IO[bytes]:
        """Return a buffered stream."""
        return io.BufferedReader(cls(chunks, advance), 1 << 20)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
            self._advance(bytes(chunk).count(b"\n"))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _column_bytes(column: pa.Array) -> memoryview:
    """Return the concatenated strings of a column, without copying them."""
    import pyarrow as pa

    width = 8 if pa.types.is_large_string(column.type) else 4
    _, offsets, data = column.buffers()
    if data is None:
        return memoryview(b"")
    ends = memoryview(offsets).cast("B").cast("q" if width == 8 else "i")
    return memoryview(data).cast("B")[ends[column.offset] : ends[column.offset + len(column)]]


class TripleStore:
    """A generation's RDF store, queried in SPARQL 1.1."""

    def __init__(self, folder: Path, prefixes: Mapping[str, str]) -> None:
        if not folder.is_dir():
            raise damaged(folder, "it does not exist", FOLDER)
        self._prefixes = dict(prefixes)
        self.pool = Pool(folder, FOLDER)

    def close(self) -> None:
        """Stop the worker processes."""
        self.pool.close()

    def leave(self) -> None:
        """Close a forked child's ends of the pipes, so that the worker ends with the parent, to which it belongs."""
        self.pool.leave()

    def frame(self, text: str, terms: Mapping[str, str] | None = None, timeout: float | None = 60.0) -> pl.DataFrame:
        """Run a query; ``terms`` are the RDF terms of the parameters ``$name``, ``timeout`` is in seconds.

        SELECT returns a column per variable, with numbers or booleans if all its values are, else with strings (IRIs
        without brackets, literals without tags). ASK returns a boolean column ``ask``; CONSTRUCT and DESCRIBE return
        ``subject``, ``predicate`` and ``object``. Raises :class:`QueryError` and :class:`QueryTimeoutError`.
        """
        from kbkit.stores import sparql_results

        with self.results(bind(text, terms or {}), PLAIN, timeout) as found:
            return sparql_results.values(found.kind, found.read())

    def results(
        self,
        text: str,
        formats: Formats,
        timeout: float | None = 60.0,
        graphs: Graphs = (None, None),
        rejected: Callable[[str], None] = lambda _: None,
        columns: Sequence[ResultColumn] = (),
        spent: float = 0.0,
    ) -> Results:
        """Return the serialized result of a query, which runs when the result is started (``with``).

        ``rejected`` is called with the engine's message when it rejects the query, to raise a better error. ``columns``
        are those of a result in TSV (default: the query's). Of the ``timeout``, ``spent`` seconds have passed.
        """
        sent = request(refuse_service(text), self._prefixes, graphs, columns)
        return ProcessResults(self.pool, sent, formats, timeout, rejected, spent)
