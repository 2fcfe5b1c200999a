"""N-Triples and N-Quads, and writing queries whose rows are lines of text."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kbkit.schema import Schema, literal
from kbkit.stores import ntriples
from kbkit.stores.tables import Tables
from kbkit.stores.triples import QUADS

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_LINE = 100_000_000
_ROWS = 10_000  # rows per batch: texts are long
_COMPRESSION = 3  # level 6 takes three times as long and saves a tenth


def queries(schema: Schema, generation: Path) -> Iterator[str]:
    """Return queries whose concatenated rows are the KB's statements: the contents of the triplestore as N-Triples, or
    for KBs from RDF the source's statements as N-Quads.
    """
    if schema.rdf_source:
        yield _quads(generation / QUADS)
    else:
        yield from ntriples.queries(schema)


def _quads(path: Path) -> str:
    """Return the source's statements with their graphs. A generation also keeps statements of named graphs in the
    default graph, where the source may not have them.
    """
    spo = r'^(<[^>]*> <[^>]*> (?:<[^>]*>|"(?:[^"\\]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^>]*>)?)) '
    return f"""
        WITH quads AS (
          SELECT line, regexp_extract(line, {literal(spo)}, 1) AS statement,
                 length(line) > length(statement) + 2 AS named
          FROM read_csv({literal(str(path))}, columns = {{'line': 'VARCHAR'}}, auto_detect = false, header = false,
                        delim = '\x01', quote = '', escape = '', max_line_size = {_MAX_LINE}))
        SELECT line || chr(10) AS lines FROM quads
        WHERE named OR statement NOT IN (SELECT statement FROM quads WHERE named)"""


@contextlib.contextmanager
def opened(path: Path, *, compress: bool) -> Iterator[IO[bytes]]:
    """Open a file for writing, compressed if its suffix says so; the same content gives the same bytes."""
    with path.open("wb") as raw:
        if not compress:
            yield raw
            return
        with gzip.GzipFile("", "wb", _COMPRESSION, raw, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def write(tables: Tables, texts: Sequence[str], handle: IO[bytes], progress: Callable[[int, int], None]) -> None:
    """Write the rows of single-column queries; ``progress`` is called with (done, total)."""
    for number, text in enumerate(texts):
        progress(number, len(texts))
        for batch in tables.batches(text, _ROWS):
            handle.write(_joined(batch.column(0)))
    progress(len(texts), len(texts))


def _joined(column: pa.Array) -> pa.Buffer:
    """Return a column's strings concatenated, without creating a Python string for each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column)
    return pc.binary_join(whole, "")[0].as_buffer()
