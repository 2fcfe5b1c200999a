"""Read dump files: determine the format, decompress, and cut the content into pieces of about the same size.

Where a piece ends depends on the content alone, so that a resumed conversion finds the same pieces. A JSON dump has an
entity per line. In an RDF dump the triples of an entity are contiguous and begin with the page that contains it, a
``schema:Dataset``: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import array
import bz2
import dataclasses
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError

MAX_LINE = 64 << 20
"""Maximum bytes of a line; entities of Wikidata have up to about 5 MB."""
_MAX_WHOLE_FILE = 128 << 20
"""Maximum bytes of a file that must be read at once, because its entities are not on lines of their own."""
_BLOCK = 1 << 20
_LINES_AFTER = 20
"""Number of lines after a malformed first line that may show that each has an entity."""

INCOMPLETE = "The download may be incomplete: fetch it again"
NO_DUMP = "Check that it is a Wikidata dump"
_FORMATS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".nt": "nt", ".ttl": "ttl"}
_ENTITY = re.compile(r"[A-Z][1-9][0-9]*")
_API_RESPONSE = re.compile(rb'\s*\{\s*"(entities|success|error)"')


@dataclass(frozen=True)
class Piece:
    """Whole lines of a file, from number ``line`` (from 1). ``unit`` names the number: ``line`` or ``entity``.

    ``done`` is the number of bytes of the file on disk that were read up to here. After filtering, ``numbers`` are the
    line numbers if they are not consecutive, and ``selected`` is the file of ids that the reader of the piece must
    select.
    """

    path: Path
    line: int
    data: bytes
    done: int = 0
    last: bool = False
    unit: str = "line"
    numbers: bytes = b""
    selected: Path | None = None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the nonempty lines of a JSON dump with their numbers, without the array's punctuation."""
        numbers = array.array("q", self.numbers)
        for position, line in enumerate(self.data.split(b"\n")):
            if stripped := strip_line(line):
                yield (numbers[position] if numbers else self.line + position), stripped

    def place(self, number: int) -> str:
        """Return the place of a line, for errors."""
        return f"{self.path}, {self.unit} {number:,}"


def strip_line(line: bytes) -> bytes:
    """Return the JSON on a line of a dump without the punctuation of the array around it."""
    return line.lstrip(b" \t\r,[\xef\xbb\xbf").rstrip(b" \t\r,]")


def joined(pieces: Sequence[Piece]) -> Piece:
    """Join filtered pieces of one file."""
    first = pieces[0]
    if len(pieces) == 1:
        return first
    data = b"\n".join(piece.data for piece in pieces)
    return dataclasses.replace(first, data=data, numbers=b"".join(piece.numbers for piece in pieces))


def dump_format(paths: Sequence[Path]) -> str:
    """Return ``json``, ``nt`` or ``ttl`` by the files' names; raise :class:`BadInputError` if they differ."""
    formats = {}
    for path in paths:
        endings = [ending.lower() for ending in path.suffixes if ending.lower() not in (".gz", ".bz2")]
        formats[path] = _FORMATS.get(endings[-1] if endings else "", "")
        if not formats[path]:
            raise BadInputError(
                f"Unsupported file type: {path}", "Use a dump: .json, .jsonl, .nt or .ttl, or one with .gz or .bz2"
            )
    if len(set(formats.values())) > 1:
        raise BadInputError(f"Dumps of different formats: {paths[0]} and {paths[1]}", "Ingest one of them")
    return formats[paths[0]]


class DumpReader:
    """A dump file while it is read: decompressed, with the number of bytes read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1
        try:
            self._raw: IO[bytes] = path.open("rb")
        except OSError as error:
            raise BadInputError(f"Cannot read {path}: {error.strerror or error}") from None
        magic = self._raw.read(3)
        self._raw.seek(0)
        self._file: Any = self._raw
        if magic == b"\x1f\x8b\x08":
            self._file = gzip.GzipFile(fileobj=self._raw, mode="rb")
        elif magic == b"BZh":
            self._file = bz2.BZ2File(self._raw, "rb")

    @property
    def done(self) -> int:
        """Bytes of the file on disk that were read."""
        return self._raw.tell()

    def read(self, size: int = _BLOCK) -> bytes:
        """Return the next decompressed bytes, empty at the end."""
        try:
            data: bytes = self._file.read(size)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            reason = str(getattr(error, "strerror", None) or error).rstrip(".")
            raise BadInputError(f"Cannot read {self.path} after line {self.line:,}: {reason}", INCOMPLETE) from None
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()


class Boundary(Protocol):
    """Finds where a piece may end: a match begins with the line break that ends it."""

    def search(self, data: bytearray, start: int, /) -> re.Match[bytes] | None:
        """Return the first match from ``start``."""


def split_lines(path: Path, size: int, boundary: Boundary | None = None) -> Iterator[Piece]:
    """Yield pieces of at least ``size`` bytes that end at a line, or before the next match of ``boundary``."""
    reader = DumpReader(path)
    try:
        rest, unpacked = bytearray(), 0
        while block := reader.read():
            rest += block
            unpacked += len(block)
            while len(rest) >= size and (end := _end(rest, size, boundary)):
                done = round(reader.done * (1 - (len(rest) - end) / unpacked))  # without the buffered rest
                yield Piece(path, reader.line, bytes(rest[:end]), done)
                reader.line += rest.count(b"\n", 0, end)
                del rest[:end]
            if len(rest) > size + MAX_LINE:
                raise BadInputError(
                    f"Entity of more than {MAX_LINE >> 20} MB in {path}, line {reader.line:,}",
                    "A dump has one entity per line" if boundary is None else NO_DUMP,
                )
        yield Piece(path, reader.line, bytes(rest), reader.done, last=True)
    finally:
        reader.close()


def _end(data: bytearray, size: int, boundary: Boundary | None) -> int:
    """Return the end of a piece, or 0 if more data is needed."""
    if boundary is None:
        return data.find(b"\n", size - 1) + 1
    match = boundary.search(data, size - 1)
    return match.start() + 1 if match else 0


# -- JSON -------------------------------------------------------------------------------------------------------------


def json_pieces(path: Path, size: int) -> Iterator[Piece]:
    """Yield the pieces of a JSON dump with one entity per line.

    Other JSON (responses of the API, pretty-printed arrays) is read at once and brought into that form.
    """
    if _entity_per_line(path):
        yield from _complete_array(path, split_lines(path, size))
        return
    number, lines, length = 1, [], 0
    done = path.stat().st_size
    for count, entity in enumerate(_entities(path), 1):
        lines.append(json.dumps(entity).encode())
        length += len(lines[-1])
        if length >= size:
            yield Piece(path, number, b"\n".join(lines), done * count // (count + 1), unit="entity")
            number, lines, length = count + 1, [], 0
    yield Piece(path, number, b"\n".join(lines), done, last=True, unit="entity")


def _complete_array(path: Path, pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Yield the pieces; raise :class:`BadInputError` if they start an array and do not end it."""
    opened, tail, line = False, b"", 1
    for piece in pieces:
        if piece.line == 1:
            opened = piece.data.lstrip(b"\xef\xbb\xbf\r\n\t ").startswith(b"[")
        yield piece
        tail = piece.data[-64:].rstrip() or tail
        line = piece.line + piece.data.rstrip().count(b"\n")
    if opened and not tail.endswith(b"]"):
        own = ", or add a final line ']' to a part that you cut out yourself" if tail.endswith((b"}", b"},")) else ""
        raise BadInputError(f"Unexpected end of {path} at line {line:,}: the array is not closed", INCOMPLETE + own)


def _entity_per_line(path: Path) -> bool:
    """Return whether entities are on lines of their own, by the first ones."""
    reader = DumpReader(path)
    try:
        head = b""
        while (block := reader.read()) and b"\n" not in head.lstrip(b"\xef\xbb\xbf\r\n\t ["):
            head += block
            if len(head) > MAX_LINE:
                return True  # split_lines raises the error
        head += block
    finally:
        reader.close()
    if _API_RESPONSE.match(head):
        return False
    first, *others = head.lstrip(b"\xef\xbb\xbf\r\n\t [").split(b"\n")
    try:
        parse_json(first.strip().removesuffix(b"]").rstrip(b", \t") or b"0")
    except (ValueError, RecursionError):
        # A line that ends like an entity, or one before an entity, is malformed, not pretty-printed.
        complete = first.startswith(b'{"') and first.rstrip(b",\r ").endswith(b"}") and b"\n" in head
        return complete or any(map(_is_entity, others[:_LINES_AFTER]))
    return True


def _is_entity(line: bytes) -> bool:
    try:
        content = json.loads(strip_line(line))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and _ENTITY.fullmatch(str(content.get("id"))) is not None


def _entities(path: Path) -> Iterator[Any]:
    """Yield the entities of a JSON file that is not one entity per line."""
    reader = DumpReader(path)
    try:
        data = reader.read(_MAX_WHOLE_FILE + 1)
    finally:
        reader.close()
    if len(data) > _MAX_WHOLE_FILE:
        raise BadInputError(
            f"JSON file of more than {_MAX_WHOLE_FILE >> 20} MB without one entity per line: {path}",
            "A dump has one entity per line",
        )
    try:
        content = json.load(io.BytesIO(data))
    except json.JSONDecodeError as error:
        raise BadInputError(f"Invalid JSON in {path}, line {error.lineno:,}: {error.msg}", INCOMPLETE) from None
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"Invalid JSON in {path}: {error}", INCOMPLETE) from None
    if isinstance(content, dict) and "error" in content and "entities" not in content:
        raise BadInputError(f"{path} is an error message of the Wikidata API", "Fetch the entities again")
    if isinstance(content, dict):
        content = content.get("entities", [content])
    yield from content.values() if isinstance(content, dict) else content if isinstance(content, list) else [content]


# -- RDF --------------------------------------------------------------------------------------------------------------

_PAGE = "https?://www\\.wikidata\\.org/wiki/Special:EntityData/"
_DATASET = re.compile(
    f"\n<{_PAGE}[^>]+> <http://www\\.w3\\.org/1999/02/22-rdf-syntax-ns#type> <http://schema\\.org/Dataset>".encode()
)
_OTHER_ENTITY = re.compile(
    rb"\n<http://www\.wikidata\.org/entity/([^>/]+)> [^\n]*\n(?=<http://www\.wikidata\.org/entity/(?!\1>)[^>/]+>)"
)
_TURTLE = re.compile(rb"\n(?=wdata:[A-Z][0-9]+[ \n]\s*a schema:Dataset)")
_HEAD = 1 << 20  # bytes at the start that show how entities begin


def ntriples_pieces(path: Path, size: int) -> Iterator[Piece]:
    """Yield the pieces of a dump in N-Triples; without pages, the triples of each entity must be contiguous."""
    reader = DumpReader(path)
    try:
        has_pages = _DATASET.search(b"\n" + reader.read(_HEAD)) is not None
    finally:
        reader.close()
    yield from split_lines(path, size, _DATASET if has_pages else _BEFORE_OTHER_ENTITY)


def turtle_pieces(path: Path, size: int) -> Iterator[Piece]:
    """Yield the pieces of a dump in Turtle, each with the prefixes that the dump declares."""
    head = b""
    for piece in split_lines(path, size, _TURTLE):
        if piece.line == 1:
            head = b"".join(_prefixes(piece.data))
            if not head:
                raise BadInputError(f"No prefix declared in {path}", NO_DUMP)
            yield piece
        else:
            yield dataclasses.replace(piece, data=head + piece.data, line=piece.line - head.count(b"\n"))


def _prefixes(data: bytes) -> Iterator[bytes]:
    for line in data.splitlines(keepends=True):
        words = line.split(None, 1)
        if words and words[0].lower() in (b"@prefix", b"prefix", b"@base", b"base"):
            yield line
        elif words and not words[0].startswith(b"#"):
            return


class _BeforeOtherEntity:
    """A :class:`Boundary` at the last line before another entity begins."""

    @staticmethod
    def search(data: bytearray, start: int) -> re.Match[bytes] | None:
        match = _OTHER_ENTITY.search(data, start)
        return None if match is None else re.compile(rb"\n").search(data, match.end() - 1)


_BEFORE_OTHER_ENTITY = _BeforeOtherEntity()
