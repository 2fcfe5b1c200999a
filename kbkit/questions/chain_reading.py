"""A reading of a question along chains of relations: a candidate with what explains each word."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import Expression
from kbkit.english.question_words import ADJECTIVES
from kbkit.english.words import PREPOSITIONS, may_be_person, may_be_verb, singular
from kbkit.questions.candidates import CandidateFrame, Topic
from kbkit.questions.clause_reading import WordMatch
from kbkit.questions.elements import (
    COMPARED,
    COMPARED_NEIGHBOURS,
    HOP,
    MOST,
    MOST_NEIGHBOURS,
    VALUE,
    Element,
    Elements,
    numeric,
)
from kbkit.questions.expressions import expression, type_of_value
from kbkit.questions.lexicon import LITERAL, Floats, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.question import Question
from kbkit.questions.scoring import WEIGHTS, ScoredFrame

EXPLAINED = 0.4
"""Least similarity with which a word counts as explained."""
TELLING = 0.7
"""Least similarity of a word and the attribute that a reading ends with."""
ASKED = 0.4
"""Least fit of an attribute and what the question asks for."""
EXPRESSED = 0.8
"""Least similarity with which a word is surely not the name that is written like it."""
MAX_UNEXPLAINED = 0
"""Content words other than verbs that a trusted reading may leave unexplained."""
_COMPARISONS = (COMPARED, COMPARED_NEIGHBOURS)


class ChainReading:
    """An expression that a question may mean, with its ``score`` and ``probability`` among all candidates."""

    def __init__(self, elements: Elements, question: Question, scored: ScoredFrame, row: int, score: float) -> None:
        self._elements, self._question, self._scored, self._row = elements, question, scored, row
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
        row, known = frame.elements[self._row], self._elements.all
        return [[known[at] for at in row[arm].tolist() if at >= 0] for arm in frame.arms]

    @cached_property
    def tree(self) -> Expression:
        """The expression."""
        frame = self._scored.frame
        return expression(self._elements, self._question, frame.topics, self.arms, frame.combine)

    @property
    def expression(self) -> str:
        """The text of the expression."""
        return str(self.tree)

    @cached_property
    def answers(self) -> AnswerSet:
        """The answers, evaluated lazily."""
        return AnswerSet(self._elements.session, self.tree)

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
        """The content words that nothing in the expression explains."""
        explained = self._scored.explained[self._row]
        return [
            self._question.tokens[at].word
            for at, value in zip(self._scored.words, explained.tolist(), strict=True)
            if value < EXPLAINED
        ]

    @property
    def expressed(self) -> set[int]:
        """The positions of words of a label that the expression has as the word of a relation, type or attribute."""
        pairs = zip(self._scored.words, self._scored.explained[self._row].tolist(), strict=True)
        return {at for at, value in pairs if value >= EXPRESSED and self._is_label(self._question.tokens[at].word)}

    def _is_label(self, word: str) -> bool:
        """Return whether a word is one of a label or derived from it, rather than similar, as Europe to country."""
        similar = self._elements.labels.similarity(word), self._elements.type_labels.similarity(word)
        return any(bool((one >= LITERAL).any()) for one in similar)

    @property
    def other_labels(self) -> list[str]:
        """The words of a relation that the expression only has something similar for: *directed*, beside written by."""
        labels = self._elements.label[: self._elements.hops]
        explained = self._scored.explained[self._row].tolist()
        words = (self._question.tokens[at].word for at in self._scored.words)
        pairs = [(word, value) for word, value in zip(words, explained, strict=True) if value < TELLING]
        similar = self._elements.labels.similarity
        return [f"'{word}'" for word, _ in pairs if similar(word)[labels].max(initial=0.0) >= LITERAL]

    @property
    def other_types(self) -> list[str]:
        """The words that name a type which the expression has nothing to do with."""
        if not self._elements.typed:
            return []
        touched = {topic.type for topic in self.topics}
        touched |= {number for arm in self.arms for one in arm for number in (one.source, one.target)}
        touched |= {self._elements.all[one.hop].target for arm in self.arms for one in arm if one.hop >= 0}
        named = {at for topic in self.topics for at in topic.words}
        found = []
        for at in self._question.content(named):
            word = self._question.tokens[at].word
            exact = self._elements.types_called(stem(word))
            found += [f"'{word}'"] * bool(exact and not touched & exact)
        return found

    @property
    def starts_unnamed(self) -> bool:
        """Whether it comes from a type that no word names to one that a word names: *services*, of any events."""
        if not self._elements.typed or self.selects:
            return False
        stems = [stem(self._question.tokens[at].word) for at in self._question.content(set())]
        called = set().union(*(self._elements.types_called(one) for one in stems))
        firsts = [(topic, arm[0]) for topic, arm in zip(self.topics, self.arms, strict=True) if arm and not topic.words]
        return any(one.kind == HOP and one.target in called and one.source not in called for _, one in firsts)

    @property
    def ends_with_attribute(self) -> bool:
        """Whether it gives values of an attribute."""
        return any(arm and arm[-1].kind == VALUE for arm in self.arms)

    @property
    def is_off_topic(self) -> bool:
        """Whether it ends with an attribute that is hardly what the question asks for: a code, where actors are."""
        values = [arm[-1] for arm in self.arms if arm and arm[-1].kind == VALUE]
        asks_who = any(token.word in ("who", "whom") for token in self._question.tokens[:1])
        if asks_who and any(numeric(type_of_value(self._elements, value)) for value in values):
            return True  # no person is a number
        if asks_who and values and min(map(self._said, values)) >= LITERAL:
            return False  # who directed it, where films have a director
        if values and self._question.asked is None and max(map(self._said, values)) < TELLING:
            return True  # scores, where there are grades
        return self.ends_with_attribute and float(self.features[list(WEIGHTS).index("answer")]) < ASKED

    def _said(self, value: Element) -> float:
        """Return how similar the best word of the question is to the label of an attribute."""
        question = self._question
        named = {at for topic in self.topics if topic.mention is not None for at in topic.mention.tokens}
        words = [token.word for at, token in enumerate(question.tokens) if at not in named]
        similar = (self._elements.labels.similarity(word)[value.label] for word in words)
        return max(map(float, similar), default=0.0)

    @property
    def ends_with_things(self) -> bool:
        """Whether it answers with nodes that are no people, though the KB has types of people."""
        elements = self._elements
        if not elements.typed or self.ends_with_attribute:
            return False
        ends = [arm[-1].target if arm else topic.type for topic, arm in zip(self.topics, self.arms, strict=True)]
        return bool(elements.people) and not elements.people & {*ends}

    @property
    def is_shared(self) -> bool:
        """Whether it follows a relation forward and back: countries with the same currency."""
        return bool(self.features[list(WEIGHTS).index("shared")])

    @property
    def vague(self) -> list[str]:
        """The plural nouns that are only similar to what the KB has, as rodents are to mammals."""
        elements, named = self._elements, {at for topic in self.topics if topic.mention for at in topic.mention.tokens}
        found = []
        for at in self._question.content(named) if elements.typed else ():
            word = self._question.tokens[at].word
            if word.endswith("s") and not word.endswith("ss") and not may_be_verb(word):
                similar = (elements.labels.similarity(word), elements.type_labels.similarity(word))
                best = max(float(one.max(initial=0.0)) for one in similar)
                found += [f"'{word}'"] * (best < TELLING)
        return found

    @property
    def modifiers(self) -> list[str]:
        """The words before types that it has nothing for: *tall* mountains; and if it names no node, those that are
        only similar to its labels: *landlocked* countries.
        """
        elements, question = self._elements, self._question
        named = {at for topic in self.topics if topic.mention is not None for at in topic.mention.tokens}
        found = []
        for at in question.content(named) if elements.typed else ():
            before, word, after = ([token.word for token in question.tokens[n : n + 1]] for n in (at - 1, at, at + 1))
            is_vague = word[0] in ADJECTIVES or not (named or self._is_label(word[0]))
            is_vague |= (
                word[0] in self.unexplained and is_participle(word[0]) and before != ["who"] and at - 1 not in named
            )
            if is_vague and before != ["how"] and after and elements.types_called(stem(after[0])):
                found.append(f"'{word[0]}'")
        return found

    @property
    def is_other_kind(self) -> bool:
        """Whether it answers with nodes of another type than the noun that says what is asked for: *which movies*."""
        elements, question = self._elements, self._question
        if self.ends_with_attribute:
            return False
        if not elements.typed:
            kind = question.asked_kind
            ends = self.frame.last_class(elements)[self._row]
            return bool(kind) and not may_be_person(singular(kind)) and not elements.unnamed[ends]
        named = {at for topic in self.topics if topic.mention is not None for at in topic.words}
        where, content = question.interrogative(named), question.content(named)
        is_asking = where >= 0 and question.tokens[where].word in ("which", "what")
        if not is_asking and where in (0, len(question.tokens) - 1):  # who, or written by who
            return False
        head = next((at for at in content if at > where or not is_asking), None)
        if head is None or (is_asking and head != where + 1):
            return False
        word = question.tokens[head].word
        kinds = elements.types_called(stem(word)) or elements.people_called(word)
        return bool(kinds) and not kinds & self._ends

    @property
    def _ends(self) -> set[int]:
        """The types of the answers."""
        arms = [
            [topic.type, *(one.target for one in arm if one.kind == HOP)]
            for topic, arm in zip(self.topics, self.arms, strict=True)
        ]
        return {arm[-1] for arm in arms}

    @property
    def is_undated(self) -> bool:
        """Whether it answers *when* with nodes that are no dates or years."""
        if self.ends_with_attribute or not any(arm for arm in self.arms):
            return False
        elements = self._elements
        lasts = [hops[-1] for arm in self.arms if (hops := [one for one in arm if one.kind == HOP])]
        dates, kinds = elements.labels.similarity("when"), elements.type_labels.similarity("when")
        return all(max(dates[one.label], kinds[one.target] * elements.typed) < TELLING for one in lasts)

    @property
    def counts_others(self) -> bool:
        """Whether a superlative counts nodes of another type than the noun after it: *the most movies*."""
        found, elements = self._question.superlative, self._elements
        after = self._question.tokens[found.last + 1 : found.last + 2] if found else ()
        kinds = elements.types_called(stem(after[0].word)) if after and elements.typed else set()
        counted = {int(elements.described[at]) for at in self._counted}
        return bool(kinds and counted) and not kinds & counted

    @property
    def _counted(self) -> list[int]:
        """The positions of the elements whose neighbours a superlative counts."""
        row = self._scored.frame.elements[self._row]
        return [at for at in row.tolist() if at >= 0 and self._elements.all[at].kind == MOST_NEIGHBOURS]

    @property
    def ends_with_rows(self) -> bool:
        """Whether it answers with numbered rows of a type that no word names: prize winners, of rows that join both."""
        elements = self._elements
        if not elements.typed or self.ends_with_attribute or not len(self.answers):
            return False
        row = elements.session.stores.nodes.row(int(self.answers.ids[0]))
        similar = elements.type_labels.similarity
        kind = elements.type_number(row.id)
        said = max((float(similar(token.word)[kind]) for token in self._question.tokens), default=0.0)
        ends = [elements.all[hop] for hop in elements.from_type(kind).tolist()]
        joins = len({hop.target for hop in ends if hop.forward}) > 1
        return joins and row.name == row.key and row.key.isdigit() and said < LITERAL

    @property
    def has_unknown_name(self) -> bool:
        """Whether a word that nothing explains begins with a capital, as the name of a node that the KB lacks."""
        question, explained = self._question, self._scored.explained[self._row].tolist()
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
        is_complete = len(set(self.unexplained) - verbs) <= MAX_UNEXPLAINED and len(verbs) < 2 and not self.ignored
        return is_clear and is_complete and self.unexpressed < 0.9

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
        words = [token.word for token in self._question.tokens]
        return {after for word, after in pairwise(words) if word in PREPOSITIONS or word in ("the", "a", "an")}

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
    def keeps_all(self) -> bool:
        """Whether it compares with a number, and all nodes meet the comparison."""
        if not any(element.kind in _COMPARISONS for arm in self.arms for element in arm):
            return False
        bare = [[element for element in arm if element.kind not in _COMPARISONS] for arm in self.arms]
        frame = self._scored.frame
        tree = expression(self._elements, self._question, frame.topics, bare, frame.combine)
        everything = AnswerSet(self._elements.session, tree).ids
        return len(everything) > 1 and len(self.answers.ids) == len(everything)

    @property
    def is_plain(self) -> bool:
        """Whether it is beyond doubt what is asked, so that no answers mean that the KB has none."""
        sure = len(self.topics) < 3 and all(
            topic.mention is not None and topic.mention.is_sure for topic in self.topics
        )
        return sure and self.is_trusted and not self.unexplained and self.unexpressed < 0.35

    def matches(self) -> list[WordMatch]:
        """Return what each word of the question was matched to, names first."""
        elements, frame = self._elements, self._scored.frame
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
            found.append(WordMatch(self._question.tokens[at].word, meaning if value >= EXPLAINED else "", value))
        return found + self._operators()

    def _operators(self) -> list[WordMatch]:
        """Return what the operators of the question were matched to."""
        question, elements = self._question, [element for arm in self.arms for element in arm]
        found = []
        for part, kinds in ((question.superlative, (MOST, MOST_NEIGHBOURS)), (question.comparison, _COMPARISONS)):
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
