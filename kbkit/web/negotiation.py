"""Choose the format of an answer from ``Accept``, and from the parameters that common endpoints accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kbkit.stores.sparql_formats import ALL, DEFAULT, GRAPH, SOLUTIONS, Format, Formats, called

T = TypeVar("T")

_RANGE = re.compile(r"[ \t]*([\w!#$&^.+-]+|\*)/([\w!#$&^.+-]+|\*)[ \t]*((?:;[^,]*)?)")
_QUALITY = re.compile(r";[ \t]*q[ \t]*=[ \t]*([01](?:\.[0-9]{0,3})?)[ \t]*(?:;|$)", re.IGNORECASE)
_LONGEST = 4_000


class Range(NamedTuple):
    """A media range of ``Accept``, such as ``text/*``, with its quality from 0 to 1."""

    kind: str
    subtype: str
    quality: float

    def rank(self, media_type: str) -> int:
        """Return how specifically the range matches a media type (0: not)."""
        kind, _, subtype = media_type.partition("/")
        if (self.kind, self.subtype) == (kind, subtype):
            return 3
        return 2 if (self.kind, self.subtype) == (kind, "*") else int(self.kind == "*")


def ranges(accept: str | None) -> list[Range]:
    """Parse ``Accept``; invalid parts are ignored, and no valid part means that everything is accepted."""
    found = []
    for part in (accept or "")[:_LONGEST].split(","):
        match = _RANGE.fullmatch(part)
        if match is not None:
            quality = _QUALITY.search(match[3])
            number = min(1.0, float(quality[1])) if quality else 1.0
            found.append(Range(match[1].lower(), match[2].lower(), number))
    return found or [Range("*", "*", 1.0)]


def best(accepted: Sequence[Range], offers: Iterable[tuple[T, Sequence[str]]]) -> tuple[T, str, float] | None:
    """Return the offer with the highest quality, its media type and the quality; the first of equal ones wins.

    An offer is a value and its media types. None: none is accepted.
    """
    chosen: tuple[T, str, float] | None = None
    for value, media_types in offers:
        for media_type in media_types:
            match = max(accepted, key=lambda known: (known.rank(media_type), known.quality))
            quality = match.quality if match.rank(media_type) else 0.0
            if quality > (chosen[2] if chosen else 0.0):
                chosen = (value, media_type, quality)
    return chosen


class Choice(NamedTuple):
    """The formats of an answer, and the media types to send them as."""

    formats: Formats
    media_types: Mapping[str, str]

    def media_type(self, chosen: Format) -> str:
        """Return the media type with its character set."""
        name = self.media_types[chosen.holds]
        return f"{name}; charset=utf-8" if name.startswith("text/") else name


def choose(accept: str | None, name: str | None) -> Choice | None:
    """Return the formats for ``Accept`` and for the format that a parameter names, which wins; None: unknown name.

    A format that ``name`` does not give for a kind of result (Turtle for SELECT) is left to ``Accept``.
    """
    wanted = called(name) if name is not None else Formats()
    if wanted is None:
        return None
    accepted = ranges(accept)
    chosen: dict[str, Format] = {}
    media_types: dict[str, str] = {}
    for holds, fixed, default in (
        (SOLUTIONS, wanted.solutions, DEFAULT.solutions),
        (GRAPH, wanted.graph, DEFAULT.graph),
    ):
        hit = best(accepted, ((known, known.media_types) for known in ALL if known.holds == holds))
        known = fixed or (hit[0] if hit else None) or (default if name is not None else None)
        if known is not None:
            chosen[holds] = known
            media_types[holds] = hit[1] if hit and fixed is None else known.media_types[0]
    return Choice(Formats(chosen.get(SOLUTIONS), chosen.get(GRAPH)), media_types)
