"""Readings that are made of readings of parts of a question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kbkit.answers.syntax import Expression
from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.clause_reading import ClauseReading, WordMatch

_CERTAINTY = 0.95
"""How much less certain a reading is than the one of its parts that is least so."""


class FoundParts(NamedTuple):
    """An expression that is made of parts of a question, their readings, and the least of their confidences."""

    tree: Expression
    parts: tuple[ClauseReading | ChainReading, ...]
    certainty: float


@dataclass(frozen=True)
class ComposedReading(ClauseReading):
    """A reading made of those of parts; ``certainty`` is the least of theirs, and ``said`` what more words mean."""

    parts: tuple[ClauseReading | ChainReading, ...] = ()
    said: tuple[WordMatch, ...] = ()
    certainty: float = 0.0

    @cached_property
    def confidence(self) -> float:
        """The probability that the answers are exactly right, from 0 to 1."""
        return _CERTAINTY * self.certainty

    @property
    def unexplained(self) -> list[str]:
        """The content words that nothing explains."""
        return [word for part in self.parts for word in part.unexplained]

    @property
    def is_trusted(self) -> bool:
        """Whether it explains every content word and has answers."""
        return all(part.is_trusted for part in self.parts) and self.has_answers

    @property
    def is_beyond_chains(self) -> bool:
        """Whether no chain expresses it."""
        return True

    def matches(self) -> list[WordMatch]:
        """Return what each linked span of the question was matched to."""
        return list(dict.fromkeys([*(match for part in self.parts for match in part.matches()), *self.said]))
