"""Which verbs that no link explains a reading by clauses may leave out, and which say something that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kbkit.answers.syntax import Expression
from kbkit.english.question_words import DWELLING, LIGHT_VERBS, OUTCOMES, TRADING
from kbkit.english.types import type_noun
from kbkit.english.words import may_be_person, may_be_verb
from kbkit.questions.clauses import Clauses, is_type
from kbkit.questions.element_lists import VALUE
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import LITERAL, cosine
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.verb_fit import is_fitting, is_winning, said_by

_AKIN = 0.4
"""Least similarity of a verb for an outcome and what it is about: *won* a prize."""
_DWELLING = frozenset(DWELLING) - {"living"}  # living writers
_SAME = 0.75
"""Least similarity of a verb and a relation that it means."""


@dataclass(frozen=True)
class ClauseVerbs:
    """The verbs of a question whose clauses an expression was made of; ``followed`` are the labels of its relations."""

    elements: Elements
    clauses: Clauses
    links: Sequence[QuestionLink]
    followed: set[int]
    tree: Expression | None

    @cached_property
    def plain(self) -> list[str]:
        """The unexplained verbs that may mean no more than that things are related."""
        words = self.clauses.unexplained
        verbs = [w for w in words if (may_be_verb(w) or w in _DWELLING or self._is_said(w)) and self._is_followed(w)]
        return [verb for verb in verbs if self.tree is None or is_fitting(self.elements, verb, *self._said)]

    @property
    def labels(self) -> set[int]:
        """The labels of the expression."""
        return self._said[0]

    @property
    def misread(self) -> list[str]:
        """The verbs that say how what is counted or lacking is related, and words of other relations."""
        if self.tree is None:
            return []
        verbs = (verb for verb in self.clauses.verbs if verb not in TRADING)  # who never inherited anything
        return [verb for verb in verbs if not is_fitting(self.elements, verb, *self._said)] + self._elsewhere

    @cached_property
    def _said(self) -> tuple[set[int], set[int]]:
        """The labels and the types of the expression."""
        return (set(), set()) if self.tree is None else said_by(self.elements, self.tree)

    @property
    def _elsewhere(self) -> list[str]:
        """The words linked to an attribute that they are only similar to, though another relation has them."""
        elements, followed = self.elements, [*self._said[0]]
        found = []
        for link in self.links:
            word, best = link.text.casefold(), next(iter(link.labels), None)
            if best is None or is_type(link) or not is_participle(word) or best.score >= LITERAL:
                continue
            similar = elements.labels.similarity(word)
            relations = similar[elements.label[: elements.hops]]
            if relations.max(initial=0.0) >= LITERAL > similar[followed].max(initial=0.0):
                found.append(word)  # most climbed, where climbers climb routes: not the highest
        return found

    def _is_said(self, word: str) -> bool:
        """Return whether a relation that is followed is called so: *direct*, which is also an adjective."""
        similar = self.elements.labels.similarity(word)
        return any(self.elements.is_verbal[label] and similar[label] >= LITERAL for label in self.followed)

    def _is_followed(self, verb: str) -> bool:
        """Return whether the expression follows a relation that a verb is a word of, if there is one."""
        if verb in self.clauses.capitalized | self.clauses.nouns:
            return False
        similar = self.elements.labels.similarity(verb)
        relations = {element.label for element in self.elements.all[: self.elements.hops]}
        if self.clauses.is_who:  # who directed it: the director, not an actor
            values = (element for element in self.elements.all if element.kind == VALUE)
            relations |= {element.label for element in values if may_be_person(type_noun(element.name))}
        meant = {label for label in relations if similar[label] >= _SAME}
        if verb in LIGHT_VERBS:  # the most films that a director made, where films are made in countries
            meant = {label for label in meant if not self.elements.ends_in_preposition[label]}
        followed = self.followed
        if is_winning(self.elements, verb, self._said[1]):
            return True
        if verb in OUTCOMES and not any(similar[label] >= _SAME for label in followed):
            # won the cup: not who took part
            named = [link.text.casefold().rpartition(" ")[2] for link in self.links if link.labels]
            return any(cosine(verb, word) >= _AKIN for word in named)
        asks = self.clauses.is_who or (self.clauses.is_where and verb not in (*_DWELLING, *LIGHT_VERBS))
        if asks and not meant and any(self.elements.is_verbal[label] or self._is_choice(label) for label in followed):
            return False  # who hated the film: not who directed it
        return not meant or any(label in meant or similar[label] >= _SAME for label in followed)

    def _is_choice(self, label: int) -> bool:
        """Return whether another relation joins people to what a relation joins them to: a director, or the cast."""
        elements = self.elements
        hops = [hop for hop in range(elements.hops) if elements.label[hop] == label]
        ends = ({elements.all[hop].source, elements.all[hop].target} for hop in hops)
        return any(pair & elements.people for pair in ends) and any(map(elements.has_other_ways, hops))
