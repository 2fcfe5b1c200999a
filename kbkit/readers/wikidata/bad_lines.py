"""Lines and entities of a dump that cannot be read: they end the conversion, or are skipped and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError, Option, Part
from kbkit.readers.wikidata.dumps import Piece

SKIP: tuple[Part, ...] = (", or use ", Option("skip_bad_lines"), " to skip such lines")
"""The end of a hint for a line that can be skipped."""

FIX_LINE = "Fix or remove that line, fetch the dump again"


class BadLines:
    """The bad lines of a piece: the first one is raised, or all are noted if ``skip``."""

    def __init__(self, piece: Piece, *, skip: bool) -> None:
        self.skip = skip
        self._piece = piece
        self._messages: dict[tuple[int, str], str] = {}

    def add(self, number: int, message: str, hint: str, name: str = "") -> None:
        """Note a line, or the entity ``name`` from that line on; raise :class:`BadInputError` unless it is skipped."""
        if not self.skip:
            raise BadInputError(message, hint, *SKIP)
        self._messages[number, name] = message

    @property
    def numbers(self) -> set[int]:
        """The numbers of the lines."""
        return {number for number, _ in self._messages}

    def info(self) -> dict[str, Any]:
        """Return the lines for the info of a part: file, (number, entity) pairs, and the message of the first."""
        if not self._messages:
            return {}
        places, path = sorted(self._messages), self._piece.path
        first = path.name.join(self._messages[places[0]].split(str(path)))
        return {"bad": {"file": str(path), "places": places, "first": first}}


@dataclass
class SkippedLines:
    """The bad lines of a pass, in the order of the dump. Two passes may find the same line."""

    files: Sequence[Path] = ()
    places: set[tuple[int, int, str]] = field(default_factory=set)
    messages: dict[tuple[int, int, str], str] = field(default_factory=dict)

    def add(self, info: Mapping[str, Any]) -> None:
        """Add those of a part."""
        if "bad" in info:
            file = Path(info["bad"]["file"])
            position = self.files.index(file) if file in self.files else len(self.files)
            places = [(position, number, name) for number, name in info["bad"]["places"]]
            self.places.update(places)
            self.messages[places[0]] = info["bad"]["first"]

    def merge(self, other: SkippedLines) -> None:
        """Add those of another pass."""
        self.places |= other.places
        self.messages = other.messages | self.messages

    @property
    def first(self) -> str:
        """File, line and reason of the first one, empty without any."""
        return self.messages[min(self.messages)] if self.messages else ""
