"""Dumps as files: which form they have, and their content in pieces of about the same size.

Where a piece ends depends on the content alone, so that a conversion that was stopped finds the same pieces again.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from kbkit.errors import BadInputError

MAX_LINE = 64 << 20
"""Bytes of a line; entities of Wikidata have at most some five million."""
_MOST_WHOLE = 128 << 20
"""Bytes of a file that must be read as a whole, because its entities do not stand on lines of their own."""
_BLOCK = 1 << 20

AGAIN = "is the download whole? Fetch it again"
_FORMS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".nt": "nt", ".ttl": "ttl"}
_ANSWER = re.compile(rb'\s*\{\s*"(entities|success|error)"')


@dataclass(frozen=True)
class Piece:
    """A stretch of a file: whole lines from ``line`` on (from 1). ``unit`` is what is counted, ``line`` or ``entity``.

    ``done`` is how many bytes of the file, as it lies on the disk, are read with it; ``last`` says that it is the last.
    """

    path: Path
    line: int
    data: bytes
    done: int
    last: bool = False
    unit: str = "line"


def form(paths: Sequence[Path]) -> str:
    """``json``, ``nt`` or ``ttl``, by the files' names; raises :class:`BadInputError` where they differ."""
    forms = {}
    for path in paths:
        endings = [ending.lower() for ending in path.suffixes if ending.lower() not in (".gz", ".bz2")]
        forms[path] = _FORMS.get(endings[-1] if endings else "", "")
        if not forms[path]:
            raise BadInputError(f"{path} has no ending of a dump", "such as .json.gz, .jsonl, .nt.bz2 or .ttl.gz")
    if len(set(forms.values())) > 1:
        raise BadInputError(f"{paths[0]} and {paths[1]} are dumps of different kinds", "ingest one of them")
    return forms[paths[0]]


class Reader:
    """A file as it is read: unpacked, with the bytes read so far and one-line errors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1
        try:
            self._raw: IO[bytes] = path.open("rb")
        except OSError as error:
            raise BadInputError(f"{path} cannot be read: {error.strerror or error}") from None
        start = self._raw.read(3)
        self._raw.seek(0)
        self.packed = {b"\x1f\x8b\x08": "gzip", b"BZh": "bzip2"}.get(start, "")
        self._file: Any = self._raw
        if self.packed == "gzip":
            self._file = gzip.GzipFile(fileobj=self._raw, mode="rb")
        elif self.packed == "bzip2":
            self._file = bz2.BZ2File(self._raw, "rb")

    @property
    def done(self) -> int:
        """Bytes of the file on the disk that are read."""
        return self._raw.tell()

    def read(self, size: int = _BLOCK) -> bytes:
        """The next bytes, unpacked; none at the end."""
        try:
            data: bytes = self._file.read(size)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise BadInputError(f"{self.path}, after line {self.line:,}: {str(reason).rstrip('.')}", AGAIN) from None
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()


class Boundary(Protocol):
    """Finds where a piece may end: a match begins with the line break that ends it."""

    def search(self, data: bytearray, start: int, /) -> re.Match[bytes] | None:
        """The first from ``start`` on."""


def pieces(path: Path, size: int, boundary: Boundary | None = None) -> Iterator[Piece]:
    """The file's lines in pieces of ``size`` bytes and what is left of the last line.

    With ``boundary``, a piece ends before its next match in place of the next line.
    """
    reader = Reader(path)
    try:
        rest, unpacked = bytearray(), 0
        while block := reader.read():
            rest += block
            unpacked += len(block)
            while len(rest) >= size and (end := _end(rest, size, boundary)):
                done = round(reader.done * (1 - (len(rest) - end) / unpacked))  # what lies ready does not count
                yield Piece(path, reader.line, bytes(rest[:end]), done)
                reader.line += rest.count(b"\n", 0, end)
                del rest[:end]
            if len(rest) > size + MAX_LINE:
                raise BadInputError(
                    f"{path}, line {reader.line:,}: more than {MAX_LINE >> 20} MB without an end",
                    "a dump has an entity on each line" if boundary is None else "is it a dump of Wikidata?",
                )
        yield Piece(path, reader.line, bytes(rest), reader.done, last=True)
    finally:
        reader.close()


def _end(data: bytearray, size: int, boundary: Boundary | None) -> int:
    """Where a piece ends; 0 where it does not end yet."""
    if boundary is None:
        return data.find(b"\n", size - 1) + 1
    found = boundary.search(data, size - 1)
    return found.start() + 1 if found else 0


def json_pieces(path: Path, size: int) -> Iterator[Piece]:
    """A JSON dump in pieces of one entity a line; what is no dump but an answer of the API, or spread over lines, is
    read as a whole and brought into that form.
    """
    if _on_lines(path):
        yield from _closed(path, pieces(path, size))
        return
    number, lines, length = 1, [], 0
    done = path.stat().st_size
    for count, entity in enumerate(_whole(path), 1):
        lines.append(json.dumps(entity).encode())
        length += len(lines[-1])
        if length >= size:
            yield Piece(path, number, b"\n".join(lines), done * count // (count + 1), unit="entity")
            number, lines, length = count + 1, [], 0
    yield Piece(path, number, b"\n".join(lines), done, last=True, unit="entity")


def _closed(path: Path, found: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces; raises :class:`BadInputError` when they begin an array and do not end it."""
    opened, tail, line = False, b"", 1
    for piece in found:
        if piece.line == 1:
            opened = piece.data.lstrip(b"\xef\xbb\xbf\r\n\t ").startswith(b"[")
        yield piece
        tail = piece.data[-64:].rstrip() or tail
        line = piece.line + piece.data.rstrip().count(b"\n")
    if opened and not tail.endswith(b"]"):
        own = "; or end a part that you cut out yourself with a line that says ]"
        at_line = tail.endswith((b"}", b"},"))
        raise BadInputError(
            f"{path}, line {line:,}: the file ends before the array does", AGAIN + (own if at_line else "")
        )


def _on_lines(path: Path) -> bool:
    """Whether the first entity stands on a line of its own."""
    reader = Reader(path)
    try:
        head = b""
        while (block := reader.read()) and b"\n" not in head.lstrip(b"\xef\xbb\xbf\r\n\t ["):
            head += block
            if len(head) > MAX_LINE:
                return True  # and an error soon
        head += block
    finally:
        reader.close()
    if _ANSWER.match(head):
        return False
    first = head.lstrip(b"\xef\xbb\xbf\r\n\t [").partition(b"\n")[0]
    try:
        json.loads(first.strip().removesuffix(b"]").rstrip(b", \t") or b"0")
    except (ValueError, RecursionError):
        # A line that ends as an entity does is a broken line, not a part of one.
        return first.startswith(b'{"') and first.rstrip(b",\r ").endswith(b"}") and b"\n" in head
    return True


def _whole(path: Path) -> Iterator[Any]:
    reader = Reader(path)
    try:
        data = reader.read(_MOST_WHOLE + 1)
    finally:
        reader.close()
    if len(data) > _MOST_WHOLE:
        raise BadInputError(
            f"{path} has no entity a line, and more than {_MOST_WHOLE >> 20} MB", "a dump has an entity on each line"
        )
    try:
        content = json.load(io.BytesIO(data))
    except json.JSONDecodeError as error:
        raise BadInputError(f"{path}, line {error.lineno:,}: no JSON: {error.msg}", AGAIN) from None
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{path} is no JSON: {error}", AGAIN) from None
    if isinstance(content, dict) and "error" in content and "entities" not in content:
        raise BadInputError(f"{path} is an error message of the API", "fetch the entities again")
    if isinstance(content, dict):
        content = content.get("entities", [content])
    yield from content.values() if isinstance(content, dict) else content if isinstance(content, list) else [content]
