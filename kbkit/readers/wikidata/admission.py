"""Which lines of a dump are converted: each entity once, only chosen ones, no more than asked for.

This is seen from the beginning of each line, in the order of the dump, before the lines go to other processes.
"""

from __future__ import annotations

import array
import json
import re
from collections.abc import Container
from pathlib import Path

from kbkit.readers.wikidata.dump import Piece
from kbkit.readers.wikidata.worker import Request

Name = tuple[str, int]
"""The letter and the number of an id."""

_START = 400  # bytes of a line in which its id usually stands
_ID = re.compile(rb'"type":\s?"[a-z]+",\s?"id":\s?"([A-Z])([1-9][0-9]{0,17})"')
_NAME = re.compile(r"([A-Z])([1-9][0-9]{0,17})")
_PAGE = re.compile(  # the first statement of an entity, in N-Triples or Turtle
    rb"^(?:<https?://www\.wikidata\.org/wiki/Special:EntityData/([A-Z])[0-9]+> "
    rb"<http://www\.w3\.org/1999/02/22-rdf-syntax-ns#type> <http://schema\.org/Dataset>)"
    rb"|^wdata:(?=([A-Z]))",
    re.MULTILINE,
)
_MOST_BITS = 1 << 32


class IdSet:
    """Ids, a bit for each number up to the largest."""

    def __init__(self) -> None:
        self._bits: dict[str, bytearray] = {}
        self._far: set[Name] = set()

    def add(self, name: Name) -> None:
        """Take in an id."""
        letter, number = name
        if number >= _MOST_BITS:
            self._far.add(name)
            return
        bits = self._bits.setdefault(letter, bytearray())
        if number >> 3 >= len(bits):
            bits.extend(bytes(max(number // 8 + 1, 2 * len(bits)) - len(bits)))
        bits[number >> 3] |= 1 << (number & 7)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, tuple):
            return False
        letter, number = name
        bits = self._bits.get(letter, b"")
        return bool(number >> 3 < len(bits) and bits[number >> 3] >> (number & 7) & 1) or name in self._far


def name_of(line: bytes) -> Name | None:
    """The id of the entity on a line; None where there is none to be seen."""
    found = _ID.search(line, 0, _START)
    if found is not None:
        return found[1].decode(), int(found[2])
    try:
        entity = json.loads(line.lstrip(b" \t\r,[\xef\xbb\xbf").rstrip(b" \t\r,]"))
        known = _NAME.fullmatch(str(entity.get("id") or entity.get("entity")))
        return (known[1], int(known[2])) if known else None
    except (ValueError, AttributeError, RecursionError):
        return None


def count_lines(piece: Piece) -> int:
    """How many entities a piece of JSON has."""
    return sum(len(line) > 2 for line in piece.data.split(b"\n"))


def count_pages(piece: Piece) -> int:
    """How many entities a piece of RDF has."""
    return sum(1 for _ in _PAGE.finditer(piece.data))


class JsonAdmission:
    """Remembers what has been let through. ``chosen`` None lets all through; ``limit`` 0 any number.

    Properties do not count towards the limit.
    """

    def __init__(self, chosen: Container[Name] | None = None, limit: int = 0) -> None:
        self.duplicates = 0
        self.full = False
        self._chosen = chosen
        self._left = limit
        self._limited = limit > 0
        self._seen = IdSet()

    def admit(self, piece: Piece) -> Request | None:
        """What is left of a piece, without a folder yet; None where that is nothing."""
        kept: list[bytes] = []
        numbers = array.array("q")
        dropped = False
        for place, line in enumerate(piece.data.split(b"\n")):
            if len(line) > 2 and not self._lets(line):
                dropped = True
            else:
                kept.append(line)
                numbers.append(piece.line + place)
        if not any(len(line) > 2 for line in kept):
            return None
        if not dropped:
            return Request("", str(piece.path), piece.line, piece.unit, piece.data)
        return Request("", str(piece.path), piece.line, piece.unit, b"\n".join(kept), numbers.tobytes())

    def _lets(self, line: bytes) -> bool:
        name = name_of(line)
        if name is None:  # broken: who reads it says so
            return not self.full
        if self._chosen is not None and name not in self._chosen:
            return False
        if name in self._seen:
            self.duplicates += 1
            return False
        if self.full:
            return False
        self._seen.add(name)
        if self._limited and name[0] != "P":
            self._left -= 1
            self.full = self._left == 0
        return True


class RdfAdmission:
    """For RDF dumps, in which all that is said of an entity stands together and once. ``chosen`` is a file: who reads
    the piece looks there.
    """

    def __init__(self, chosen: Path | None = None, limit: int = 0) -> None:
        self.duplicates = 0
        self.full = False
        self._chosen = str(chosen or "")
        self._left = limit
        self._limited = limit > 0

    def admit(self, piece: Piece) -> Request | None:
        """The piece, or its beginning where it reaches the limit."""
        data = piece.data
        if self._limited:
            for found in _PAGE.finditer(data):
                if b"P" in (found[1], found[2]):
                    continue
                if self._left == 0:
                    data, self.full = data[: found.start()], True
                    break
                self._left -= 1
        return Request("", str(piece.path), piece.line, piece.unit, data, chosen=self._chosen) if data.strip() else None
