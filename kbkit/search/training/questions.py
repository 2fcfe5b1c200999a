"""The questions that a system is trained on and validated with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kbkit.errors import KbError, plural
from kbkit.search.ranking import Ranking
from kbkit.stores import Stores
from kbkit.stores.arrays import Within


class TrainingQuestion(NamedTuple):
    """A question and the ids of its answers, sorted."""

    id: str
    text: str
    answers: tuple[int, ...]


Score = Callable[[Sequence[TrainingQuestion], Sequence[Ranking]], Mapping[str, float]]
"""Returns measures from 0 to 1 of the rankings of questions; the first one says which model is best."""


@dataclass(frozen=True)
class QuestionSplits:
    """Questions over the texts of a KB, ``within`` the nodes that are searched (None: all).

    ``score`` measures rankings. ``unknown`` is the number of answers that are no such nodes, and ``dropped`` the number
    of questions without any.
    """

    stores: Stores
    train: Sequence[TrainingQuestion]
    validation: Sequence[TrainingQuestion]
    within: Within
    score: Score
    unknown: int = 0
    dropped: int = 0

    def check(self) -> None:
        """Raise :class:`KbError` without questions to train on or to validate with."""
        for name, questions in (("training", self.train), ("validation", self.validation)):
            if not questions:
                raise KbError(f"No {name} question has an answer in the KB", "Use the KB that the dataset belongs to")

    def remarks(self) -> list[str]:
        """Return remarks on the questions."""
        lost = f"Answers that are not in the KB: {self.unknown:,}; questions without any: {self.dropped:,}, left out"
        return [
            f"{plural(len(self.train), 'training question')}, {plural(len(self.validation), 'validation question')}",
            *([lost] if self.unknown else []),
        ]
