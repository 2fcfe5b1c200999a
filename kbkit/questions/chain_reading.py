"""A reading of a question along chains of relations: a candidate with what explains each word."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import Expression
from kbkit.english.question_words import FOREMOST
from kbkit.english.words import PREPOSITIONS, may_be_verb
from kbkit.questions.candidates import CandidateFrame, Topic
from kbkit.questions.clause_reading import WordMatch
from kbkit.questions.element_lists import COMPARED, COMPARED_NEIGHBOURS, MOST, MOST_NEIGHBOURS, VALUE, Element
from kbkit.questions.elements import Elements
from kbkit.questions.expressions import expression
from kbkit.questions.lexicon import LITERAL, Floats
from kbkit.questions.question import Question
from kbkit.questions.scoring import WEIGHTS, ScoredFrame
from kbkit.questions.verb_fit import is_fitting

EXPLAINED = 0.4
"""Least similarity with which a word counts as explained."""
EXPRESSED = 0.8
"""Least similarity with which a word is surely not the name that is written like it."""
MAX_UNEXPLAINED = 0
"""Content words other than verbs that a trusted reading may leave unexplained."""
COMPARISONS = (COMPARED, COMPARED_NEIGHBOURS)


class ChainReading:
    """An expression that a question may mean, with its ``score`` and ``probability`` among all candidates."""

    def __init__(self, elements: Elements, question: Question, scored: ScoredFrame, row: int, score: float) -> None:
        self.elements, self.question, self._scored, self._row = elements, question, scored, row
        self.score, self.probability = score, 0.0

    @property
    def features(self) -> Floats:
        """The features, in the order of ``WEIGHTS``."""
        found: Floats = self._scored.features[self._row]
        return found

    @property
    def row(self) -> int:
        """The row of the candidate in its frame."""
        return self._row

    @property
    def scored(self) -> ScoredFrame:
        """The frame with its features."""
        return self._scored

    @property
    def frame(self) -> CandidateFrame:
        """The frame of the candidate."""
        return self._scored.frame

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Where the reading starts."""
        return self._scored.frame.topics

    @cached_property
    def arms(self) -> list[list[Element]]:
        """The elements of each arm."""
        frame = self._scored.frame
        row, known = frame.elements[self._row], self.elements.all
        return [[known[at] for at in row[arm].tolist() if at >= 0] for arm in frame.arms]

    @cached_property
    def tree(self) -> Expression:
        """The expression."""
        frame = self._scored.frame
        return expression(self.elements, self.question, frame.topics, self.arms, frame.combine)

    @property
    def expression(self) -> str:
        """The text of the expression."""
        return str(self.tree)

    @cached_property
    def answers(self) -> AnswerSet:
        """The answers, evaluated lazily."""
        return AnswerSet(self.elements.session, self.tree)

    @property
    def has_answers(self) -> bool:
        """Whether there are answers, and if an attribute is asked for, values."""
        if not len(self.answers):
            return False
        return not any(arm and arm[-1].kind == VALUE for arm in self.arms) or bool(self.answers.value)

    def agrees_with(self, other: ChainReading) -> bool:
        """Return whether another reading has the same answers, and the same values."""
        mine, others = self.answers, other.answers
        return mine.value == others.value and np.array_equal(mine.ids, others.ids)

    @property
    def unexplained(self) -> list[str]:
        """The content words that nothing in the expression explains.

        The only answer is the main one: *the main language of X*.
        """
        explained = self._scored.explained[self._row]
        words = [
            self.question.tokens[at].word
            for at, value in zip(self._scored.words, explained.tolist(), strict=True)
            if value < EXPLAINED
        ]
        is_only = not FOREMOST.isdisjoint(words) and not self.has_attribute and len(self.answers.ids) == 1
        return [word for word in words if word not in FOREMOST] if is_only else words

    @property
    def expressed(self) -> set[int]:
        """The positions of words of a label that the expression has as the word of a relation, type or attribute."""
        pairs = zip(self._scored.words, self._scored.explained[self._row].tolist(), strict=True)
        return {at for at, value in pairs if value >= EXPRESSED and self.is_label(self.question.tokens[at].word)}

    def is_label(self, word: str) -> bool:
        """Return whether a word is one of a label or derived from it, rather than similar, as Europe to country."""
        similar = self.elements.labels.similarity(word), self.elements.type_labels.similarity(word)
        return any(bool((one >= LITERAL).any()) for one in similar)

    @property
    def ends_with_attribute(self) -> bool:
        """Whether it gives values of an attribute."""
        return any(arm and arm[-1].kind == VALUE for arm in self.arms)

    @property
    def is_shared(self) -> bool:
        """Whether it follows a relation from a name and back: countries with the same currency as Peru."""
        is_same = any(len(arm) > 1 and arm[0].name == arm[1].name for arm in self.arms)
        return is_same and bool(self.features[list(WEIGHTS).index("shared")])

    @property
    def has_unknown_name(self) -> bool:
        """Whether a word that nothing explains begins with a capital, as the name of a node that the KB lacks."""
        question, explained = self.question, self._scored.explained[self._row].tolist()
        if question.text.isupper():
            return False
        tokens = (
            question.tokens[at] for at, value in zip(self._scored.words, explained, strict=True) if value < EXPLAINED
        )
        return any(token.start > 0 and question.text[token.start].isupper() for token in tokens)

    @property
    def unexpressed(self) -> float:
        """How far the least expressed element lacks a word, 0 to 1."""
        return float(self.features[list(WEIGHTS).index("weakest")])

    @property
    def ignored(self) -> int:
        """Number of operators of the question that the expression ignores."""
        return int(self.features[list(WEIGHTS).index("ignored")])

    @property
    def is_trusted(self) -> bool:
        """Whether it explains all content words but one verb, ignores no operator, and follows something asked for."""
        is_clear = not self.has_unknown_name and not any(t.mention and t.mention.is_ambiguous for t in self.topics)
        verbs = {word for word in self.unexplained if may_be_verb(word)} - self._nouns
        verbs = {verb for verb in verbs if is_fitting(self.elements, verb, *self._said)}
        is_complete = len(set(self.unexplained) - verbs) <= MAX_UNEXPLAINED and len(verbs) < 2 and not self.ignored
        return is_clear and is_complete and self.unexpressed < 0.9

    @property
    def _said(self) -> tuple[set[int], set[int]]:
        """The labels and the types of its elements."""
        steps = [one for arm in self.arms for one in arm]
        types = {topic.type for topic in self.topics} | {kind for one in steps for kind in (one.source, one.target)}
        return {one.label for one in steps}, types

    @property
    def selects(self) -> bool:
        """Whether it starts at names."""
        return any(topic.mention is not None for topic in self.topics)

    @property
    def has_sure_name(self) -> bool:
        """Whether a name is hardly a common word."""
        return any(topic.mention is not None and topic.mention.is_sure for topic in self.topics)

    @property
    def _nouns(self) -> set[str]:
        """The words that follow an article or a preposition, so that they are hardly verbs."""
        words = [token.word for token in self.question.tokens]
        return {after for word, after in pairwise(words) if word in PREPOSITIONS or word in ("the", "a", "an", "s")}

    @property
    def is_bare(self) -> bool:
        """Whether it names no node and has no operator, so that only its types and relations select the answers."""
        if self.frame.combine or any(topic.mention is not None for topic in self.topics):
            return False
        return not any(element.kind >= MOST for arm in self.arms for element in arm)

    @property
    def has_attribute_superlative(self) -> bool:
        """Whether it keeps the nodes with the greatest or least of an attribute."""
        return any(element.kind == MOST for arm in self.arms for element in arm)

    @property
    def has_attribute(self) -> bool:
        """Whether it asks for or compares attributes."""
        return any(element.kind in (VALUE, MOST, COMPARED) for arm in self.arms for element in arm)

    @property
    def is_plain(self) -> bool:
        """Whether it is beyond doubt what is asked, so that no answers mean that the KB has none."""
        sure = len(self.topics) < 3 and all(
            topic.mention is not None and topic.mention.is_sure for topic in self.topics
        )
        return sure and self.is_trusted and not self.unexplained and self.unexpressed < 0.35

    def matches(self) -> list[WordMatch]:
        """Return what each word of the question was matched to, names first."""
        elements, frame = self.elements, self._scored.frame
        nodes = elements.session.stores.nodes
        found = []
        for topic in frame.topics:
            if topic.mention is not None:
                rows = [nodes.row(node) for node in topic.nodes]
                found.append(WordMatch(topic.mention.text, ", ".join(f"{row.type}#{row.key}" for row in rows), 1.0))
        row = frame.elements[self._row]
        columns = len(row)
        for number, at in enumerate(self._scored.words):
            slots = np.flatnonzero(self._scored.slots[self._row] == number).tolist()
            meaning = ""
            for slot in slots:
                if slot < columns:
                    meaning = elements.all[row[slot]].name
                elif slot < 2 * columns:
                    meaning = (
                        elements.types[elements.described[row[slot - columns]]].name
                        if elements.typed
                        else elements.all[row[slot - columns]].name
                    )
                else:
                    meaning = elements.types[frame.topics[slot - 2 * columns].type].name
            value = float(self._scored.explained[self._row, number])
            found.append(WordMatch(self.question.tokens[at].word, meaning if value >= EXPLAINED else "", value))
        return found + self._operators()

    def _operators(self) -> list[WordMatch]:
        """Return what the operators of the question were matched to."""
        question, elements = self.question, [element for arm in self.arms for element in arm]
        found = []
        for part, kinds in ((question.superlative, (MOST, MOST_NEIGHBOURS)), (question.comparison, COMPARISONS)):
            if part is not None:
                words = " ".join(token.word for token in question.tokens[part.first : part.last + 1])
                applied = [element.name for element in elements if element.kind in kinds]
                found.append(WordMatch(words, ", ".join(applied), float(bool(applied))))
        if question.negation is not None:
            is_used = self.frame.combine in ("-", "complement")
            found.append(WordMatch(question.tokens[question.negation].word, "-" * is_used, float(is_used)))
        if question.is_count and self.answers.value is not None:
            found.append(WordMatch("how many", str(self.tree).split("(")[0], 1.0))
        return found
