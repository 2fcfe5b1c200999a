"""Possible requirements of a question: phrases and conditions, each with the candidates that meet it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.requirements.condition_words import WordedCondition
from kbkit.benchmarks.requirements.phrases import (
    Phrase,
    is_mention,
)
from kbkit.benchmarks.requirements.textual import TextProperty

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RequirementOption:
    """A possible requirement: the rows of the candidates that meet it, and what it shares with others (``words``)."""

    requirement: Phrase | WordedCondition
    mask: Mask
    words: frozenset[str]

    @property
    def is_phrase(self) -> bool:
        """Whether the texts must mention a phrase."""
        return isinstance(self.requirement, Phrase)

    @property
    def is_bound(self) -> bool:
        """Whether it compares a number."""
        return isinstance(self.requirement, WordedCondition) and self.requirement.is_bound

    @property
    def is_amount(self) -> bool:
        """Whether it compares a number that is no year."""
        return isinstance(self.requirement, WordedCondition) and self.is_bound and not self.requirement.is_date

    @property
    def is_clause(self) -> bool:
        """Whether it says what a node is, not that its text mentions something."""
        return isinstance(self.requirement, Phrase) and self.requirement.predicates is not None

    @property
    def is_mention(self) -> bool:
        """Whether it only says that a description mentions something."""
        return isinstance(self.requirement, Phrase) and is_mention(self.requirement)

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of a term; of a condition none."""
        return self.requirement.forms if isinstance(self.requirement, Phrase) else ()

    @property
    def score(self) -> float:
        """The rarity of a phrase; 0 of a condition."""
        return self.requirement.score if isinstance(self.requirement, Phrase) else 0.0

    def property(self, rng: np.random.Generator) -> TextProperty:
        """Return the requirement, a condition in one of its wordings."""
        requirement = self.requirement
        if isinstance(requirement, Phrase):
            span = requirement.span
            said = {"said": requirement.said}
            if requirement.predicates:
                said |= dict(zip(("one", "several", "reduced"), requirement.predicates, strict=True))
            if requirement.is_kind:
                said["noun"] = requirement.said
            return TextProperty(
                span.text, span.field, span.start, span.end, requirement.sentence, "", said, requirement.repeats
            )
        words = requirement.wordings[int(rng.integers(len(requirement.wordings)))]
        forms = {"one": words.one, "whose": words.whose, "modifier": words.modifier, "noun": words.noun}
        forms |= {"before": words.before} if words.before else {}
        return TextProperty(words.several, requirement.attribute, 0, 0, "", requirement.test, forms)
