"""Read RDF in every syntax that Oxigraph parses, gzipped or not, as batches of quads.

Oxigraph parses in chunks, and Arrow's regular expressions split the lines into terms: no row is handled in Python and
memory stays flat.
"""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from kbkit.errors import BadInputError, reason
from kbkit.readers.nesting import LIMIT, MOST_PREFIXES, Shallow, TooDeepError
from kbkit.schema import is_prefix

SCHEMA = pa.schema([("file", pa.int32()), *((name, pa.string()) for name in ("s", "p", "o", "g"))])
"""``s``, ``p``, ``o``, ``g`` are terms in N-Quads syntax (``<iri>``, ``_:label``, ``"text"@en``), ``g`` empty for the
default graph; ``file`` numbers the files from 0, because blank node labels are local to a file. A row without ``p`` is
a prefix that the file declares: ``s`` is its name, ``o`` its IRI.
"""

BASE = "http://example.org/"
"""Base of relative IRIs; not the file's path, so that the same file gives the same KB everywhere."""

_CHUNK = 100_000
_FORMATS = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".ttl": ox.RdfFormat.TURTLE,
    ".trig": ox.RdfFormat.TRIG,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".json": ox.RdfFormat.JSON_LD,
    ".n3": ox.RdfFormat.N3,
}
_TERM = r"<[^>]*>|_:[^ ]+"
_LITERAL = r'"(?:[^"\\]|\\.)*"(?:@[^ ]+|\^\^<[^>]*>)?'
_QUAD = rf"^(?P<s>{_TERM}) (?P<p><[^>]*>) (?P<o>{_TERM}|{_LITERAL})(?: (?P<g>{_TERM}))? \.$"


def read(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """Stream the quads of ``paths`` in order; raise :class:`BadInputError` with file and line."""
    for path in paths:
        _format(path)
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(paths))


def text(term: str) -> tuple[str, str]:
    """Return the text and the language of a literal in N-Quads syntax; other terms have the text "" and no language."""
    [quad] = ox.parse(f"<urn:s> <urn:p> {term} .", format=ox.RdfFormat.N_QUADS)
    value = quad.object
    return (value.value, value.language or "") if isinstance(value, ox.Literal) else ("", "")


def _batches(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    for number, path in enumerate(paths):
        with _open(path) as handle:
            try:
                shallow = Shallow(handle, _format(path))
                quads = ox.parse(input=cast("IO[bytes]", shallow), format=_format(path), base_iri=BASE)
                while chunk := ox.serialize(itertools.islice(quads, _CHUNK), format=ox.RdfFormat.N_QUADS):
                    yield _split(chunk, number, path)
                yield _prefixes({**shallow.prefixes, **quads.prefixes}, number)
            except TooDeepError:
                raise BadInputError(
                    f"{path} is nested deeper than {LIMIT} levels", "Convert it to N-Triples, which is not nested"
                ) from None
            except SyntaxError as error:
                where = f"{path}, line {error.lineno}" if error.lineno else str(path)
                raise BadInputError(f"{where}: {' '.join(error.msg.split())}", "Fix or remove that line") from None
            except MemoryError:  # of the parser, whose buffer has a limit
                raise BadInputError(f"A term is too long in {path}", "The limit is 16 MiB") from None
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise BadInputError(f"Cannot read {path}: {reason(error)}") from None


def _prefixes(declared: Mapping[str, str], number: int) -> pa.RecordBatch:
    """Return rows of the prefixes that SPARQL accepts, and of the one without a name."""
    valid = [
        pair for pair in itertools.islice(declared.items(), MOST_PREFIXES) if is_prefix(pair[0] or "empty", pair[1])
    ]
    names, iris = [name for name, _ in valid], [iri for _, iri in valid]
    count = len(valid)
    columns = [
        pa.array([number] * count, pa.int32()),
        names,
        pa.nulls(count, pa.string()),
        iris,
        pa.nulls(count, pa.string()),
    ]
    return pa.record_batch(columns, schema=SCHEMA)


def _split(chunk: bytes, number: int, path: Path) -> pa.RecordBatch:
    lines = pa.array(chunk.decode("utf-8").rstrip("\n").split("\n"))
    parts = pc.extract_regex(lines, _QUAD)
    if parts.null_count:
        raise BadInputError(
            f"Unsupported statement in {path}: {lines.filter(parts.is_null())[0]}",
            "Quoted triples (RDF-star) are not supported",
        )
    columns = [pc.struct_field(parts, name) for name in ("s", "p", "o", "g")]
    return pa.record_batch([pa.array([number] * len(lines), pa.int32()), *columns], schema=SCHEMA)


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _format(path: Path) -> ox.RdfFormat:
    suffixes = [s.lower() for s in path.suffixes if s.lower() != ".gz"]
    known = _FORMATS.get(suffixes[-1] if suffixes else "")
    if known is None:
        raise BadInputError(f"Unsupported file type: {path}", "Use one of " + ", ".join(sorted(_FORMATS)))
    return known
