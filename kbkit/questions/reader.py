"""Read a question as ranked answer expressions, without a language model.

The words of a question are linked to nodes and types, candidate expressions are enumerated and scored, and the best are
executed. A reading that leaves words unexplained, or ignores an operator such as ``not``, is not trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import islice

import numpy as np

from kbkit.english.question_words import DWELLING, LIGHT_VERBS
from kbkit.english.words import may_be_verb
from kbkit.errors import KbError
from kbkit.questions.alignment import similarities
from kbkit.questions.answer_kinds import keeps_most, other_kind
from kbkit.questions.candidates import CandidateFrame, frames
from kbkit.questions.chain_doubts import ChainDoubts
from kbkit.questions.chain_reading import EXPLAINED, ChainReading
from kbkit.questions.clause_reading import ClauseReader, ClauseReading
from kbkit.questions.edge_reading import EdgeReading, edge_reading, means_more
from kbkit.questions.edge_words import EdgeAttributes
from kbkit.questions.elements import Elements
from kbkit.questions.kind_nouns import kind_nouns
from kbkit.questions.lexicon import STRONG, Floats
from kbkit.questions.meanings import NO_ATTRIBUTE, SEVERAL_DATES
from kbkit.questions.mentions import Mention, mentions
from kbkit.questions.plain_text import (
    has_decade,
    in_full,
    with_columns,
    with_currency,
    with_decades,
    with_months,
    without_asides,
    without_introduction,
)
from kbkit.questions.question import Question
from kbkit.questions.scoring import PLACES, WEIGHTS, score
from kbkit.questions.spelling import Spelling
from kbkit.questions.taught import Learned, Taught
from kbkit.questions.values import AttributeValues
from kbkit.stores import Stores

MAX_READINGS = 60
"""Number of best candidates that are kept."""
MAX_EXECUTED = 12
"""Number of best candidates that are executed until one has answers."""
FAR_FETCHED = 1.5
"""How much lower the score of a reading with answers may be than that of a trusted one without."""
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
_MAX_SPACES, _MAX_ABOUT_EDGES = 60, 8
"""A question with more spaces, or more words about edges, is not read as one about them: each is a question to read."""

_MAX_READ = 64
"""Number of questions whose readings are kept."""
MAX_DOUBTFUL = 0.25
"""Limit on the confidence of a reading that is not trusted."""
SURE = 0.5
"""Least confidence of answers that can be used as they are."""
_BEFORE_CHAIN = 0.8
"""Confidence from which a reading by clauses comes before a chain that ends with an attribute."""
CHOSEN = 0.3
"""How far an element may lack a word, at most, if a verb that nothing explains could say another one."""
_COMPARED = 6
"""Number of best readings whose answers are compared, to find those that agree with the best."""


@dataclass(frozen=True)
class Read:
    """A question, the names found in it, and its readings: along chains of relations, best first, and by clauses."""

    text: str
    """The question as it was asked, with what announces it."""
    question: Question
    mentions: list[Mention]
    candidates: Callable[[], list[ChainReading]]
    by_clauses: ClauseReading
    may_explain: Callable[[], bool]
    """Whether a chain may explain so much that it is trusted; found out without scoring chains."""

    @property
    def has_names(self) -> bool:
        """Whether a name or value is found, by which a reading may select its answers."""
        return bool(self.mentions) or any(link.is_value for link in self.by_clauses.links)

    @cached_property
    def readings(self) -> list[ChainReading]:
        """The readings along chains, best first; found when they are needed."""
        return self.candidates()

    @cached_property
    def best(self) -> ChainReading | ClauseReading | None:
        """The reading of the greater confidence, if any."""
        if self.by_clauses.tree is None:
            return self.chain
        if self.by_clauses.is_beyond_chains and self._of_clauses > MAX_DOUBTFUL:
            return self.by_clauses
        if self.chain is None or (self.ignored and self._of_clauses > MAX_DOUBTFUL):
            return self.by_clauses
        if self._of_clauses >= _BEFORE_CHAIN and self.chain.has_attribute:
            return self.by_clauses
        return self.chain if self._chain_reaches(self._of_clauses) else self.by_clauses

    @property
    def all(self) -> list[ChainReading | ClauseReading]:
        """All readings, with the one by clauses first."""
        return [*([] if self.by_clauses.tree is None else [self.by_clauses]), *self.readings]

    @property
    def confidence(self) -> float:
        """The probability that the answers of the best reading are exactly right, from 0 to 1."""
        return self._of_clauses if self.best is self.by_clauses else self._of_chain

    @property
    def is_sure(self) -> bool:
        """Whether the answers can be used as they are: the reading is trusted, and more likely right than not."""
        # Most queries of a search are no questions. This tells without scores, or without answers.
        if not self.by_clauses.is_trusted and not (
            self.may_explain() and any(one.is_trusted for one in self.readings[:MAX_EXECUTED])
        ):
            return False
        return self.best is not None and self.best.is_trusted and self.reaches(SURE)

    def reaches(self, least: float) -> bool:
        """Return whether the confidence is at least ``least``; faster than comparing it."""
        return self._of_clauses >= least if self.best is self.by_clauses else self._chain_reaches(least)

    @cached_property
    def ignored(self) -> list[str]:
        """The clauses of the question that the best chain does not express."""
        if self.chain is None:
            return []
        doubts = ChainDoubts(self.chain)
        ignored = self.by_clauses.ignored_by(self.chain.tree) + doubts.not_read
        ignored += ["a superlative that most meet"] * keeps_most(self.by_clauses.elements, self.chain.tree)
        words = [token.word for token in self.question.tokens]
        is_place = words[:1] == ["where"] and not {*self.chain.unexplained} <= {*DWELLING, *LIGHT_VERBS}
        is_deed = _asks_what_is_done(words, self.chain)
        ignored += [f"'{verb}'" for verb in self.chain.unexplained] * (is_place or is_deed)
        is_deed = self.by_clauses.clauses.is_who and doubts.is_other_deed
        ignored += [f"'{verb}'" for verb in self.chain.unexplained] * is_deed  # who won: not who took part
        is_guess = self.chain.unexpressed > CHOSEN and self._certainty < SURE  # appears in: as an actor, or a writer?
        ignored += [f"'{verb}'" for verb in self.chain.unexplained] * is_guess
        is_unfit = self.by_clauses.reason == NO_ATTRIBUTE and self.chain.has_attribute_superlative
        ignored += ["a superlative"] * is_unfit
        is_unfit = self.by_clauses.names_other_kind and self.chain.has_attribute_superlative
        ignored += ["whether a total is meant"] * is_unfit  # which product sold the largest quantity
        dates = (link.number for link in self.by_clauses.links if "-" in link.number)
        ignored += [f"'{date}'" for date in dates if date not in self.chain.expression]  # before 2025-03: not 2025
        is_any = doubts.is_any_date or (self.by_clauses.reason == SEVERAL_DATES and self.chain.has_attribute)
        ignored += [SEVERAL_DATES] * is_any
        is_same = bool(re.search(r"\bsame\b|\bshares?\b.+\bwith\b", self.question.text.casefold()))
        ignored += ["what is shared"] * (is_same and not self.chain.is_shared)
        ignored += ["'how much'"] * (self.by_clauses.clauses.is_how_much and not self.chain.has_attribute)
        ignored += ["'who'"] * (self.by_clauses.clauses.is_who and doubts.ends_with_things)
        is_owned = self.by_clauses.reason == "'whose'" or not doubts.ends_with_people
        ignored += ["'whose'"] * (self.by_clauses.clauses.is_whose and is_owned)
        ignored += ["'when'"] * (self.by_clauses.clauses.asks_for == "when" and doubts.is_undated)
        text = self.question.text.casefold()
        text = text.replace("who", "what", 1) if self.by_clauses.clauses.is_named else text
        asks = other_kind(self.by_clauses.elements, self.chain.tree, text)
        ignored += [f"'{asks}'"] * bool(asks)
        ignored += ["an attribute"] * (self.by_clauses.clauses.asks_attribute and not self.chain.ends_with_attribute)
        if self.chain.expression == self.by_clauses.expression:
            nouns = {*self.by_clauses.unexplained} & self.by_clauses.clauses.nouns - {*self.chain.unexplained}
            labels = self.by_clauses.elements.labels
            ignored += sorted(f"'{noun}'" for noun in nouns if labels.similarity(noun).max(initial=0.0) < STRONG)
        ignored += [f"'{m.text}'" for m in self._labels_taken_for_names(self.chain)]
        used = {at for topic in self.chain.topics for at in topic.words}
        named = {self.question.tokens[at].word for at in used}
        clauses = self.by_clauses.clauses
        ignored += sorted(set(clauses.unexplained) & clauses.capitalized - named)
        used |= self.chain.expressed | self.question.kinds  # actor, which is also the name of a tag
        return ignored + [f"'{m.text}'" for m in self.mentions if m.same_case and not used & {*m.tokens}]

    def _labels_taken_for_names(self, chain: ChainReading) -> list[Mention]:
        """Return the names a chain starts at that are rather a label: without a *director*, which is also a keyword."""
        labels = {at for link in self.by_clauses.links if link.role for at in range(link.first, link.last)}
        names = [topic.mention for topic in chain.topics if topic.mention is not None]
        taken = [name for name in names if not name.is_sure and labels & {*name.tokens}]
        verbs = [name for name in names if not name.same_case and may_be_verb(name.text) and chain.is_label(name.text)]
        return [*taken, *(name for name in verbs if name not in taken)]

    @cached_property
    def _of_clauses(self) -> float:
        found = self.by_clauses.confidence
        return found if self.by_clauses.is_trusted else min(found, MAX_DOUBTFUL)

    @cached_property
    def chain(self) -> ChainReading | None:
        """The best chain, if any: the first one with answers that is not far-fetched."""
        first = self.readings[0] if self.readings else None
        for reading in self.readings[:MAX_EXECUTED]:
            if first is not None and first.is_plain and reading.score < first.score - FAR_FETCHED:
                break
            if reading.has_answers:
                return reading
        return first

    @cached_property
    def _certainty(self) -> float:
        """The probability of the best chain, and of others with the same answers, among all chains."""
        best = self.chain
        if best is None:
            return 0.0
        return sum(r.probability for r in self.readings[:_COMPARED] if r is best or r.agrees_with(best))

    @cached_property
    def _of_chain(self) -> float:
        return self._confidence(self._certainty)

    def _chain_reaches(self, least: float) -> bool:
        """Return whether the confidence of the best chain is at least ``least``.

        Finds out which other readings have the same answers only if it depends on them.
        """
        if self.chain is None or self._confidence(self.chain.probability) >= least:
            return self.chain is not None or least <= 0
        possible = self.chain.probability + sum(one.probability for one in self.readings[:_COMPARED])
        return self._confidence(possible) >= least and self._of_chain >= least

    def _confidence(self, certainty: float) -> float:
        """Return the confidence of the best chain, if it and those with the same answers have this probability."""
        best = self.chain
        if best is None:
            return 0.0
        same = min(max(certainty, 1e-4), 1 - 1e-4)
        known = dict(zip(WEIGHTS, best.features.tolist(), strict=True))
        known |= {"": 1.0, "probability": float(np.log(same / (1 - same))), "score": best.score}
        known |= {"ignored": min(known["ignored"], 2.0), "empty": float(not best.has_answers)}
        known["unexplained words"] = float(len(set(best.unexplained)))
        found = float(1 / (1 + np.exp(-sum(weight * known[name] for name, weight in _CONFIDENCE.items()))))
        return found if best.is_trusted and not self.ignored else min(found, MAX_DOUBTFUL)


def _asks_what_is_done(words: list[str], chain: ChainReading) -> bool:
    """Return whether a verb at the end that nothing explains says what is asked: *what did her boss publish*."""
    is_asking = words[:1] == ["what"] and words[1:2] in (["do"], ["does"], ["did"])
    return is_asking and words[-1:] == chain.unexplained[-1:]


class QuestionReader:
    """Reads questions about one KB."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.elements = Elements(stores)
        self._by_clauses = ClauseReader(self.elements)
        self._spelling = Spelling.of(stores)
        self._edges = EdgeAttributes(stores)
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
        plain = self._plain(text)
        return self._with_edges(plain, self._read_nodes(text, plain))

    def _with_edges(self, text: str, read: Read) -> Read:
        """Return the reading of a question with words about the edges of a step, if there are such, else ``read``."""
        found: dict[str, EdgeReading] = {}
        about_edges = () if text.count(" ") > _MAX_SPACES else list(islice(self._edges.of(text), _MAX_ABOUT_EDGES + 1))
        for said in about_edges if len(about_edges) <= _MAX_ABOUT_EDGES else ():
            if read.is_sure and read.best and not (read.best.tree and means_more(self.elements, read.best.tree, said)):
                continue
            rest = self._read_nodes(said.rest, said.rest) if said.rest.strip() else read
            if rest.best is None or not rest.is_sure:
                continue
            reading = edge_reading(self.elements, rest.best, rest.by_clauses, said, rest.confidence)
            if reading is not None and reading.is_trusted:
                found.setdefault(reading.expression, reading)
        if len(found) != 1:  # of several, none is certain
            return read
        return Read(read.text, read.question, read.mentions, list, next(iter(found.values())), lambda: False)

    def _read_nodes(self, asked: str, text: str) -> Read:
        """Return the readings of the text of a question, about nodes and their attributes only."""
        question = Question.of(text)
        if not text.strip():
            raise KbError("Empty question", "Enter at least one word")
        found = [one for one in mentions(self.stores, question) if not self._spelling.is_label(one)]
        names = [mention for mention in found if mention.is_sure or mention.text.isdigit()]
        spelling = self._spelling.corrected(question, found)
        question = Question.of(text, frozenset(at for mention in names for at in mention.tokens), spelling)
        question = replace(question, kinds=kind_nouns(self.elements, question, found))
        by_clauses = self._by_clauses.read(question, found)
        framed = cache(lambda: [frame for frame in frames(self.elements, question, found) if len(frame.elements)])
        return Read(
            asked,
            question,
            found,
            lambda: self._readings(question, found, framed()),
            by_clauses,
            lambda: self._may_explain(question, framed()),
        )

    def _plain(self, text: str) -> str:
        """Return the text of a question as it is read."""
        text = with_currency(without_asides(without_introduction(in_full(text))))
        if (listed := with_columns(text)) != text and not self._names_a_question(text):
            text = listed
        if self._has_coordinates(text):
            text = re.sub(r"\bcoordinates\b", "latitude and longitude", text)
        if has_decade(text) and self._has_years(text):
            text = with_decades(text)
        months = with_months(text)
        if months == text or self.elements.labels.similarity("quarter").max(initial=0.0) >= 1:
            return text
        return text if AttributeValues.of(self.stores).named(["q1"]) else months  # Q1 may be one of the values

    def _has_coordinates(self, text: str) -> bool:
        """Return whether *coordinates* are a latitude and a longitude: columns are called so, and none coordinates."""
        similar = self.elements.labels.similarity
        pair = all(similar(word).max(initial=0.0) >= 1 for word in ("latitude", "longitude"))
        return "coordinates" in text and pair and similar("coordinates").max(initial=0.0) < 1

    def _has_years(self, text: str) -> bool:
        """Return whether decades of a question are ranges of years: no value is called *1990s*, and there are years."""
        words = [token.word for token in Question.of(text).tokens if token.word.endswith("0s")]
        elements = self.elements
        attributes = ((n, a.name) for n, kind in enumerate(elements.types) for a in kind.attributes)
        return not AttributeValues.of(self.stores).named(words) and any(elements.is_yearly(*one) for one in attributes)

    def _names_a_question(self, text: str) -> bool:
        """Return whether a text has a name with a question mark: *the actors of Quo Vadis, Baby?*."""
        nodes = (node for mention in mentions(self.stores, Question.of(text)) for node in mention.nodes)
        return any("?" in self.stores.nodes.name(node) for node in nodes)

    def _may_explain(self, question: Question, framed: list[CandidateFrame]) -> bool:
        """Return whether a frame may explain all content words but one verb: by names, or by any label or type."""
        words = {at: question.tokens[at].word for at in question.content(set())}
        known = {at: max(part.max(initial=0) for part in similarities(self.elements, words[at])) for at in words}
        hard = [at for at, value in known.items() if value < EXPLAINED]
        rests = ({words[at] for at in hard if at not in frame.used} for frame in framed)
        return any(not rest or (len(rest) == 1 and may_be_verb(*rest)) for rest in rests)

    def _readings(self, question: Question, found: list[Mention], framed: list[CandidateFrame]) -> list[ChainReading]:
        """Return the best candidates with their probabilities."""
        readings = self._candidates(question, found, framed)
        if readings:
            scores = np.array([reading.score for reading in readings])
            odds = np.exp(scores - scores.max())
            for reading, share in zip(readings, (odds / odds.sum()).tolist(), strict=True):
                reading.probability = share
        return readings

    def _candidates(self, question: Question, found: list[Mention], framed: list[CandidateFrame]) -> list[ChainReading]:
        """Return the best candidates of all frames, best first."""
        scored = [score(self.elements, question, found, frame, self.learned) for frame in framed]
        if not scored:
            return []
        totals = [part.features @ self.weights for part in scored]
        sizes = [len(part) for part in totals]
        owners = np.repeat(np.arange(len(sizes)), sizes)
        rows = np.concatenate([np.arange(size) for size in sizes])
        together = np.concatenate(totals)
        readings = []
        for at in np.argsort(-together, kind="stable").tolist():
            reading = ChainReading(self.elements, question, scored[owners[at]], int(rows[at]), float(together[at]))
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
