"""The RDF store: Oxigraph, bulk-loaded, and queried through a worker process.

Oxigraph cannot cancel a query, so SPARQL runs in a separate process (``sparql_worker.py``), which is spawned, reused
between queries, and killed at the time limit or on Ctrl-C.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kbkit.directory.damage import damaged
from kbkit.errors import Command, Option, QueryError, QueryTimeoutError
from kbkit.schema import Schema
from kbkit.stores import ntriples
from kbkit.stores.sparql_text import bind, is_update, refuse_service
from kbkit.stores.threads import Expired, run

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
    and the statements sent to it, which are equal because they are distinct by construction.
    """
    import pyoxigraph as ox

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
        with gzip.open(quads, "rb") as handle:
            chunks = (memoryview(chunk) for chunk in iter(lambda: handle.read(1 << 20), b""))
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


class Triples:
    """A generation's RDF store, queried in SPARQL 1.1."""

    def __init__(self, folder: Path, prefixes: Mapping[str, str]) -> None:
        if not folder.is_dir():
            raise damaged(folder, "it does not exist", FOLDER)
        self._folder, self._prefixes = folder, dict(prefixes)
        self._worker: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()

    def close(self) -> None:
        """Stop the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()

    def leave(self) -> None:
        """Close a forked child's ends of the pipes, so that the worker ends with the parent, to which it belongs."""
        for pipe in (self._worker.stdin, self._worker.stdout) if self._worker else ():
            if pipe is not None and not pipe.closed:
                os.close(pipe.fileno())

    def frame(self, text: str, terms: Mapping[str, str] | None = None, timeout: float | None = 60.0) -> pl.DataFrame:
        """Run a query; ``terms`` are the RDF terms of the parameters ``$name``, ``timeout`` is in seconds.

        SELECT returns a column per variable, with numbers or booleans if all its values are, else with strings (IRIs
        without brackets, literals without tags). ASK returns a boolean column ``ask``; CONSTRUCT and DESCRIBE return
        ``subject``, ``predicate`` and ``object``. Raises :class:`QueryError` and :class:`QueryTimeoutError`.
        """
        from kbkit.stores.sparql_results import parse_ask, parse_select, parse_triples

        kind, body = self._query(text, terms or {}, timeout)
        return {"select": parse_select, "ask": parse_ask, "triples": parse_triples}[kind](body)

    def _query(self, text: str, terms: Mapping[str, str], timeout: float | None) -> tuple[str, bytes]:
        text = bind(text, terms)
        request = json.dumps({"query": refuse_service(text), "prefixes": self._prefixes}).encode()
        with self._guard:
            worker = self._start()
            try:
                status, body = run(lambda: _exchange(worker, request), worker.kill, timeout)
            except BaseException as error:  # Ctrl-C too leaves the worker in an unknown state
                self.close()
                if isinstance(error, Expired):
                    raise QueryTimeoutError(
                        f"SPARQL query cancelled after {timeout:g} s", "Use ", Option("timeout"), " to raise the limit"
                    ) from None
                if isinstance(error, (EOFError, OSError)):
                    hint = ("It may be out of memory, the query too deep, or a file damaged: run ", Command("check KB"))
                    raise QueryError("The SPARQL process ended unexpectedly", *hint) from error
                raise
        if status == "damaged":
            raise damaged(self._folder, body.decode(), FOLDER)
        if status == "error":
            if is_update(text):
                raise QueryError("Updates are not allowed: a KB is read-only", "Change the source and ingest it again")
            raise QueryError(" ".join(body.decode().split()))
        return status, body

    def _start(self) -> subprocess.Popen[bytes]:
        if self._worker is None or self._worker.poll() is not None:
            # By path and with -P, so that the current folder is not searched for modules.
            script = Path(__file__).with_name("sparql_worker.py")
            command = [sys.executable, "-P", str(script), str(self._folder)]
            self._worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._worker


def _exchange(worker: subprocess.Popen[bytes], request: bytes) -> tuple[str, bytes]:
    """Send a request and return the status and the result."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(len(request).to_bytes(8, "little") + request)
    worker.stdin.flush()
    head = worker.stdout.read(16)
    if len(head) < 16:
        raise EOFError
    length = int.from_bytes(head[:8], "little")
    body = worker.stdout.read(length)
    if len(body) < length:
        raise EOFError
    return head[8:].decode().strip(), body
