"""The kinds of dumps, and what reads each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kbkit.readers.wikidata import admission, dump, rdf_pieces, selection
from kbkit.readers.wikidata.admission import JsonAdmission, RdfAdmission
from kbkit.readers.wikidata.dump import Piece
from kbkit.readers.wikidata.worker import Request


class Admission(Protocol):
    """Decides what of each piece is converted; ``full`` when no more is wanted, ``duplicates`` counts repetitions."""

    full: bool
    duplicates: int

    def admit(self, piece: Piece) -> Request | None:
        """What is left of a piece, None where that is nothing."""


@dataclass(frozen=True)
class Format:
    """``pieces`` cuts a file; ``count`` says how many entities a piece has; ``scan`` and
    ``convert`` are tasks of a worker (see ``worker``).
    """

    name: str
    admit: Callable[[Path | None, int], Admission]
    pieces: Callable[[Path, int], Iterator[Piece]]
    count: Callable[[Piece], int]
    scan: str
    convert: str


def _of_json(chosen: Path | None, limit: int) -> JsonAdmission:
    return JsonAdmission(None if chosen is None else selection.chosen(chosen), limit)


_JSON = Format("json", _of_json, dump.json_pieces, admission.count_lines, "scan_json", "convert_json")
_NT = Format("nt", RdfAdmission, rdf_pieces.ntriples, admission.count_pages, "scan_rdf", "convert_rdf")
_TTL = Format("ttl", RdfAdmission, rdf_pieces.turtle, admission.count_pages, "scan_rdf", "convert_rdf")


def of(paths: Sequence[Path]) -> Format:
    """The format of these files; raises :class:`kbkit.errors.BadInputError` for others."""
    return {"json": _JSON, "nt": _NT, "ttl": _TTL}[dump.form(paths)]
