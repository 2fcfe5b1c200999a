"""RDF dumps of Wikidata in pieces: where one entity ends and the next begins.

In these dumps all that is said of an entity stands together, and begins with the page that holds it, a
``schema:Dataset``: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from kbkit.errors import BadInputError
from kbkit.readers.wikidata import dump
from kbkit.readers.wikidata.dump import Piece, Reader

PAGE = "https?://www\\.wikidata\\.org/wiki/Special:EntityData/"
_DATASET = re.compile(
    f"\n<{PAGE}[^>]+> <http://www\\.w3\\.org/1999/02/22-rdf-syntax-ns#type> <http://schema\\.org/Dataset>".encode()
)
_ENTITY = re.compile(
    rb"\n<http://www\.wikidata\.org/entity/([^>/]+)> [^\n]*\n(?=<http://www\.wikidata\.org/entity/(?!\1>)[^>/]+>)"
)
_TURTLE = re.compile(rb"\n(?=wdata:[A-Z][0-9]+[ \n]\s*a schema:Dataset)")
_HEAD = 1 << 20  # bytes in which a dump shows how its entities begin


def ntriples(path: Path, size: int) -> Iterator[Piece]:
    """The pieces of a dump in N-Triples. One without pages must have an entity's statements together."""
    reader = Reader(path)
    try:
        pages = _DATASET.search(b"\n" + reader.read(_HEAD)) is not None
    finally:
        reader.close()
    yield from dump.pieces(path, size, _DATASET if pages else _LAST_LINE)


def turtle(path: Path, size: int) -> Iterator[Piece]:
    """The pieces of a dump in Turtle, each with the prefixes that the dump begins with."""
    head = b""
    for piece in dump.pieces(path, size, _TURTLE):
        if piece.line == 1:
            head = b"".join(_prefixes(piece.data))
            if not head:
                raise BadInputError(f"{path} declares no prefix", "it is no dump of Wikidata in Turtle")
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


class _LastLine:
    """Finds the line before another entity begins; as a pattern, for :func:`dump.pieces`."""

    @staticmethod
    def search(data: bytearray, start: int) -> re.Match[bytes] | None:
        found = _ENTITY.search(data, start)
        return None if found is None else re.compile(rb"\n").search(data, found.end() - 1)


_LAST_LINE = _LastLine()
