"""Words for a measure that the schema calls otherwise: what a bike *costs* on average, of a price.

Only where a question asks for a number that no label names, and only among the numbers of the types that it names: so
few are left there that a faint likeness tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbkit.english.question_words import EXTREMES, FUNCTION_WORDS, PLAIN_WORDS, SUPERLATIVES, TAKING, TOTALS
from kbkit.english.words import lemmas_of
from kbkit.questions.element_lists import VALUE, numeric
from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.units import is_other_unit

_ASKING = frozenset([*TOTALS, *EXTREMES, *(word for word, adjective in SUPERLATIVES.items() if not adjective.dates)])
"""Words after which a number is compared or added up."""
_NEAR, _APART = 0.44, 0.12
"""Least similarity of a word and the measure, and how much less similar the other measures are."""


@dataclass(frozen=True)
class MeasureNouns:
    """Finds the word of a question that stands for a measure of one KB."""

    elements: Elements

    def linked(self, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
        """Return the links with one for the word that means a measure, if a measure is missing."""
        found = list(links)
        words = [token.word for token in question.tokens]
        is_named = any(one.is_number for link in found for one in link.attributes()[:1])
        if _ASKING.isdisjoint(words) or "many" in words or is_named:
            return found
        options = self._measures(found)
        linked = {at for link in found for at in range(link.first, link.last)}
        free = [at for at in range(len(words)) if at not in linked | question.operators and self._may_mean(words[at])]
        meant = [(at, option) for at in free if (option := self._meant(words[at], options)) is not None]
        if len(meant) != 1:
            return found
        [(at, option)] = meant
        token = question.tokens[at]
        text = question.text[token.start : token.end]
        return sorted([*found, QuestionLink(at, at + 1, text, (option,))], key=lambda link: link.first)

    def _measures(self, links: Sequence[QuestionLink]) -> list[tuple[int, LabelOption]]:
        """Return the numbers of the types that a question names, with their labels: no dates, years or flags."""
        elements, of = self.elements, self.elements.type_number
        kinds = {option.type for link in links for option in link.types()[:1]}
        kinds |= {value.type for link in links for value in link.values[:1]}
        kinds |= {of(node) for link in links for node in link.nodes[:1]}
        near = kinds | {int(elements.target[hop]) for kind in kinds for hop in elements.from_type(kind).tolist()}
        numbers = {(n, a.name) for n in near for a in elements.types[n].attributes if numeric(a.type)}
        return [
            (one.label, LabelOption(one.source, one.name, 1.0, True))
            for one in elements.all
            if one.kind == VALUE
            and (one.source, one.name) in numbers
            and not elements.is_yearly(one.source, one.name)
            and not elements.has_flags(one.source, one.name)
        ]

    def _meant(self, word: str, options: Sequence[tuple[int, LabelOption]]) -> LabelOption | None:
        options = [one for one in options if not is_other_unit(word, label_words(one[1].attribute))]
        similar = self.elements.labels.similarity(word)
        ranked = sorted(((float(similar[label]), label, option) for label, option in options), key=lambda x: -x[0])
        if not ranked or ranked[0][0] < _NEAR:
            return None
        best, label, option = ranked[0]
        rest = max((score for score, other, _ in ranked if other != label), default=0.0)
        return None if best - rest < _APART else LabelOption(option.type, option.attribute, best, True)

    @staticmethod
    def _may_mean(word: str) -> bool:
        return word not in FUNCTION_WORDS | PLAIN_WORDS | _ASKING | TAKING and bool(
            {"NOUN", "VERB"} & {*lemmas_of(word)}
        )
