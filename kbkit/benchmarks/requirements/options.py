"""Possible requirements of a question: phrases and conditions, each with the candidates that meet it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.requirements.condition_words import WordedCondition
from kbkit.benchmarks.requirements.phrases import (
    Phrase,
    is_item,
)
from kbkit.benchmarks.requirements.textual import TextProperty

Mask = NDArray[np.bool_]
_KNOWN = ("famous", "known", "noted", "renowned")
"""What things are for something."""


@dataclass(frozen=True)
class RequirementOption:
    """A possible requirement: the rows of the candidates that meet it, and what it shares with others (``words``).

    ``is_lone``: it says too little without another one of its kind: a tag of one film is there by chance, and a country
    is not alone in being known for rice. ``is_common``: others are known for such things, so that another requirement
    must be rarer.
    """

    requirement: Phrase | WordedCondition
    mask: Mask
    words: frozenset[str]
    is_lone: bool = False
    is_common: bool = False

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
        """Whether it says what a node is or whom its story is about, not that its text mentions something."""
        return isinstance(self.requirement, Phrase) and bool(self.requirement.predicates or self.requirement.head)

    @property
    def kind(self) -> str:
        """What can be asked for together: items of a list, what things are known for, other phrases, or conditions."""
        if not isinstance(self.requirement, Phrase):
            return "condition"
        return "item" if is_item(self.requirement) else "reputation" if self.requirement.is_reputation else "phrase"

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
            if requirement.is_reputation:  # in other words than the text
                known = _KNOWN[int(rng.integers(len(_KNOWN)))]
                text = f"{known} for {requirement.said}"
                said |= {"known": known, "one": f"is {text}", "several": f"are {text}", "reduced": text}
            elif requirement.head:
                said["lead"] = requirement.said
            elif requirement.predicates:
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
