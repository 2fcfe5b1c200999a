"""Filter the pieces of a dump in the main process: each entity once, only selected ones, up to the limit.

The start of each line is enough for that, so the rest is parsed by the workers.
"""

from __future__ import annotations

import array
import dataclasses
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kbkit.directory.files import parse_json
from kbkit.readers.wikidata import dumps, selection
from kbkit.readers.wikidata.dumps import Piece
from kbkit.readers.wikidata.selection import Name

_START = 400  # bytes of a line that usually contain the id
_ID = re.compile(rb'"type":\s?"[a-z]+",\s?"id":\s?"([A-Z])([1-9][0-9]{0,17})"')
_NAME = re.compile(r"([A-Z])([1-9][0-9]{0,17})")
_PAGE = re.compile(  # the first triple of an entity, in N-Triples or Turtle
    rb"^(?:<https?://www\.wikidata\.org/wiki/Special:EntityData/([A-Z])[0-9]+> "
    rb"<http://www\.w3\.org/1999/02/22-rdf-syntax-ns#type> <http://schema\.org/Dataset>)"
    rb"|^wdata:(?=([A-Z]))",
    re.MULTILINE,
)


class Admission(Protocol):
    """A filter of pieces. ``full`` when the limit is reached; ``duplicates`` counts skipped repetitions."""

    full: bool
    duplicates: int

    def admit(self, piece: Piece) -> Piece | None:
        """Return the filtered piece, or None if nothing is left."""


@dataclass(frozen=True)
class DumpFormat:
    """How to read a format: ``split`` cuts a file, ``count`` counts the entities of a piece.

    ``admission`` makes a filter of (file of selected ids, limit); ``scan`` and ``convert`` are functions of ``tasks``.
    """

    name: str
    split: Callable[[Path, int], Iterator[Piece]]
    count: Callable[[Piece], int]
    admission: Callable[[Path | None, int], Admission]
    scan: str
    convert: str


def format_of(paths: Sequence[Path]) -> DumpFormat:
    """Return the format of the files; raise :class:`kbkit.errors.BadInputError` for unsupported ones."""
    return _FORMATS[dumps.dump_format(paths)]


def id_of(line: bytes) -> Name | None:
    """Return the id of the entity on a line, or None if it has none."""
    match = _ID.search(line, 0, _START)
    if match is not None:
        return match[1].decode(), int(match[2])
    try:
        entity = parse_json(dumps.strip_line(line))
        known = _NAME.fullmatch(str(entity.get("id") or entity.get("entity")))
        return (known[1], int(known[2])) if known else None
    except (ValueError, AttributeError, RecursionError):
        return None


class JsonAdmission:
    """Admits each entity once. ``selected`` None admits all, ``limit`` 0 any number.

    Properties do not count towards the limit.
    """

    def __init__(self, selected: Container[Name] | None = None, limit: int = 0) -> None:
        self.duplicates = 0
        self.full = False
        self._selected = selected
        self._left = limit
        self._limited = limit > 0
        self._seen = selection.IdSet()

    def admit(self, piece: Piece) -> Piece | None:
        """Return the piece with the admitted lines, or None without any."""
        admitted: list[bytes] = []
        numbers = array.array("q")
        dropped = False
        for position, line in enumerate(piece.data.split(b"\n")):
            if len(line) > 2 and not self._admits(line):
                dropped = True
            else:
                admitted.append(line)
                numbers.append(piece.line + position)
        if not any(len(line) > 2 for line in admitted):
            return None
        if not dropped:
            return piece
        return dataclasses.replace(piece, data=b"\n".join(admitted), numbers=numbers.tobytes())

    def _admits(self, line: bytes) -> bool:
        name = id_of(line)
        if name is None:  # malformed: the reader of the first pass deals with it
            return not self.full and self._selected is None
        if self._selected is not None and name not in self._selected:
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
    """Applies the limit to RDF dumps, which have each entity once. The reader of a piece filters by ``selected``."""

    def __init__(self, selected: Path | None = None, limit: int = 0) -> None:
        self.duplicates = 0
        self.full = False
        self._selected = selected
        self._left = limit
        self._limited = limit > 0

    def admit(self, piece: Piece) -> Piece | None:
        """Return the piece, cut where it reaches the limit."""
        data = piece.data
        if self._limited:
            for match in _PAGE.finditer(data):
                if b"P" in (match[1], match[2]):
                    continue
                if self._left == 0:
                    data, self.full = data[: match.start()], True
                    break
                self._left -= 1
        return dataclasses.replace(piece, data=data, selected=self._selected) if data.strip() else None


def _json_admission(selected: Path | None, limit: int) -> JsonAdmission:
    return JsonAdmission(None if selected is None else selection.read_ids(selected), limit)


def _count_lines(piece: Piece) -> int:
    return sum(len(line) > 2 for line in piece.data.split(b"\n"))


def _count_pages(piece: Piece) -> int:
    return sum(1 for _ in _PAGE.finditer(piece.data))


_FORMATS = {
    "json": DumpFormat("json", dumps.json_pieces, _count_lines, _json_admission, "scan_json", "convert_json"),
    "nt": DumpFormat("nt", dumps.ntriples_pieces, _count_pages, RdfAdmission, "scan_rdf", "convert_rdf"),
    "ttl": DumpFormat("ttl", dumps.turtle_pieces, _count_pages, RdfAdmission, "scan_rdf", "convert_rdf"),
}
