"""Read a question as ranked answer expressions, without a language model.

The words of a question are linked to nodes and types, candidate expressions are enumerated and scored, and the best are
executed. A reading that leaves words unexplained, or ignores an operator such as ``not``, is not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import Expression
from kbkit.english.words import PREPOSITIONS
from kbkit.errors import KbError
from kbkit.questions.candidates import CandidateFrame, Topic, frames
from kbkit.questions.clause_reading import ClauseReader, ClauseReading, WordMatch, is_verb
from kbkit.questions.elements import COMPARED, COMPARED_NEIGHBOURS, MOST, MOST_NEIGHBOURS, VALUE, Element, Elements
from kbkit.questions.expressions import expression
from kbkit.questions.lexicon import Floats
from kbkit.questions.mentions import Mention, mentions
from kbkit.questions.question import Question
from kbkit.questions.scoring import PLACES, WEIGHTS, ScoredFrame, score
from kbkit.questions.taught import Learned, Taught
from kbkit.stores import Stores

MAX_READINGS = 60
"""Number of best candidates that are kept."""
MAX_EXECUTED = 12
"""Number of best candidates that are executed until one has answers."""
FAR_FETCHED = 1.5
"""How much lower the score of a reading with answers may be than that of a trusted one without."""
EXPLAINED = 0.3
"""Least similarity with which a word counts as explained."""
MAX_UNEXPLAINED = 0
"""Content words other than verbs that a trusted reading may leave unexplained."""
_CONFIDENCE = {
    "": 1.49,
    "probability": 0.44,
    "uncovered": -1.01,
    "unexplained words": -0.4,
    "ignored": -0.63,
    "empty": -1.26,
    "score": 0.16,
}
"""Logistic regression of whether the answers are exactly right, fitted to half of the questions of ten sets, each with
the same weight; ``""`` is the intercept, ``probability`` the log odds of all readings with the same answers.
"""
_COMPARISONS = (COMPARED, COMPARED_NEIGHBOURS)
_MAX_READ = 64
"""Number of questions whose readings are kept."""
MAX_DOUBTFUL = 0.49
"""Limit on the confidence of a reading that is not trusted."""
_BEFORE_CHAIN = 0.8
"""Confidence from which a reading by clauses comes before a chain that ends with an attribute."""
_COMPARED = 6
"""Number of best readings whose answers are compared, to find those that agree with the best."""


class Reading:
    """An expression that a question may mean, with its ``score`` and ``probability`` among all candidates."""

    def __init__(self, reader: QuestionReader, question: Question, scored: ScoredFrame, row: int, score: float) -> None:
        self._reader, self._question, self._scored, self._row = reader, question, scored, row
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
        row, known = frame.elements[self._row], self._reader.elements.all
        return [[known[at] for at in row[arm].tolist() if at >= 0] for arm in frame.arms]

    @cached_property
    def tree(self) -> Expression:
        """The expression."""
        frame = self._scored.frame
        return expression(self._reader.elements, self._question, frame.topics, self.arms, frame.combine)

    @property
    def expression(self) -> str:
        """The text of the expression."""
        return str(self.tree)

    @cached_property
    def answers(self) -> AnswerSet:
        """The answers, evaluated lazily."""
        return AnswerSet(self._reader.elements.session, self.tree)

    @property
    def has_answers(self) -> bool:
        """Whether there are answers, and if an attribute is asked for, values."""
        if not len(self.answers):
            return False
        return not any(arm and arm[-1].kind == VALUE for arm in self.arms) or bool(self.answers.value)

    def agrees_with(self, other: Reading) -> bool:
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
        verbs = {word for word in self.unexplained if is_verb(word)} - self._nouns
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
        tree = expression(self._reader.elements, self._question, frame.topics, bare, frame.combine)
        everything = AnswerSet(self._reader.elements.session, tree).ids
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
        elements, frame = self._reader.elements, self._scored.frame
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


@dataclass(frozen=True)
class Read:
    """A question, the names found in it, and its readings: along chains of relations, best first, and by clauses."""

    question: Question
    mentions: list[Mention]
    readings: list[Reading]
    by_clauses: ClauseReading

    @cached_property
    def best(self) -> Reading | ClauseReading | None:
        """The reading of the greater confidence, if any."""
        if self.by_clauses.tree is None:
            return self.chain
        if self.chain is None or (self.ignored and self._of_clauses > MAX_DOUBTFUL):
            return self.by_clauses
        if self._of_clauses >= _BEFORE_CHAIN and self.chain.has_attribute:
            return self.by_clauses
        return self.by_clauses if self._of_clauses > self._of_chain else self.chain

    @property
    def all(self) -> list[Reading | ClauseReading]:
        """All readings, with the one by clauses first."""
        return [*([] if self.by_clauses.tree is None else [self.by_clauses]), *self.readings]

    @property
    def confidence(self) -> float:
        """The probability that the answers of the best reading are exactly right, from 0 to 1."""
        return self._of_clauses if self.best is self.by_clauses else self._of_chain

    @cached_property
    def ignored(self) -> list[str]:
        """The clauses of the question that the best chain does not express."""
        if self.chain is None:
            return []
        ignored = self.by_clauses.ignored_by(self.chain.tree) + ["a condition that all meet"] * self.chain.keeps_all
        named = {self.question.tokens[at].word for topic in self.chain.topics for at in topic.words}
        clauses = self.by_clauses.clauses
        return ignored + sorted(set(clauses.unexplained) & clauses.capitalized - named)

    @cached_property
    def _of_clauses(self) -> float:
        found = self.by_clauses.confidence
        return found if self.by_clauses.is_trusted else min(found, MAX_DOUBTFUL)

    @cached_property
    def chain(self) -> Reading | None:
        """The best chain, if any: the first one with answers that is not far-fetched."""
        first = self.readings[0] if self.readings else None
        for reading in self.readings[:MAX_EXECUTED]:
            if first is not None and first.is_plain and reading.score < first.score - FAR_FETCHED:
                break
            if reading.has_answers:
                return reading
        return first

    @cached_property
    def _of_chain(self) -> float:
        best = self.chain
        if best is None:
            return 0.0
        same = sum(r.probability for r in self.readings[:_COMPARED] if r is best or r.agrees_with(best))
        same = min(max(same, 1e-4), 1 - 1e-4)
        known = dict(zip(WEIGHTS, best.features.tolist(), strict=True))
        known |= {"": 1.0, "probability": float(np.log(same / (1 - same))), "score": best.score}
        known |= {"ignored": min(known["ignored"], 2.0), "empty": float(not best.has_answers)}
        known["unexplained words"] = float(len(set(best.unexplained)))
        found = float(1 / (1 + np.exp(-sum(weight * known[name] for name, weight in _CONFIDENCE.items()))))
        return found if best.is_trusted and not self.ignored else min(found, MAX_DOUBTFUL)


class QuestionReader:
    """Reads questions about one KB."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.elements = Elements(stores)
        self._by_clauses = ClauseReader(self.elements)
        self.use(Taught.of(stores).learned)

    @staticmethod
    def renew(stores: Stores) -> None:
        """Read questions from now on with what was taught since the KB was opened."""
        stores.renew(QuestionReader)

    def use(self, learned: Learned | None) -> None:
        """Use learned weights from now on, or those that kbkit ships."""
        self.read = lru_cache(_MAX_READ)(self._read)
        own = learned.weights if learned else {}
        self.weights = np.array([own.get(name, weight) for name, weight in WEIGHTS.items()])
        self.learned: Mapping[str, Floats] = word_weights(self.elements, learned.words) if learned else {}

    @staticmethod
    def of(stores: Stores) -> QuestionReader:
        """Return the reader of an open KB, the same one each time."""
        return stores.shared(QuestionReader)

    def _read(self, text: str) -> Read:
        """Return the readings of a question; raise :class:`KbError` if it is empty."""
        question = Question.of(text)
        if not text.strip():
            raise KbError("Empty question", "Enter at least one word")
        found = mentions(self.stores, question)
        names = (mention for mention in found if mention.is_sure or mention.text.isdigit())
        question = Question.of(text, frozenset(at for mention in names for at in mention.tokens))
        readings = self._candidates(question, found)
        if readings:
            scores = np.array([reading.score for reading in readings])
            odds = np.exp(scores - scores.max())
            for reading, share in zip(readings, (odds / odds.sum()).tolist(), strict=True):
                reading.probability = share
        return Read(question, found, readings, self._by_clauses.read(question, found))

    def _candidates(self, question: Question, found: list[Mention]) -> list[Reading]:
        """Return the best candidates of all frames, best first."""
        scored = [
            score(self.elements, question, found, frame, self.learned)
            for frame in frames(self.elements, question, found)
            if len(frame.elements)
        ]
        if not scored:
            return []
        totals = [part.features @ self.weights for part in scored]
        sizes = [len(part) for part in totals]
        owners = np.repeat(np.arange(len(sizes)), sizes)
        rows = np.concatenate([np.arange(size) for size in sizes])
        together = np.concatenate(totals)
        readings = []
        for at in np.argsort(-together, kind="stable").tolist():
            reading = Reading(self, question, scored[owners[at]], int(rows[at]), float(together[at]))
            if not reading.is_bare or not reading.unexplained:
                readings.append(reading)
            if len(readings) == MAX_READINGS:
                break
        return readings


def word_weights(elements: Elements, rows: list[tuple[str, str, int, float]]) -> dict[str, Floats]:
    """Return learned weights of (stem, label, place) as arrays of shape (labels, ``PLACES``) by stem."""
    positions: dict[str, list[int]] = {}
    for element in elements.all:
        positions.setdefault(element.name, [])
        if element.label not in positions[element.name]:
            positions[element.name].append(element.label)
    found: dict[str, Floats] = {}
    for stem, name, place, weight in rows:
        array = found.setdefault(stem, np.zeros((elements.labels.count, PLACES)))
        if not 0 <= place < PLACES:
            continue
        for label in positions.get(name, ()):
            array[label, place] = weight
    return found
