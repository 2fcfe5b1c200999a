"""Read a question as ranked answer expressions, without a language model.

The words of a question are linked to nodes and types, candidate expressions are enumerated and scored, and the best are
executed. A reading that leaves words unexplained, or ignores an operator such as ``not``, is not trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice

import numpy as np

from kbkit.english.alike_verbs import with_known_verbs
from kbkit.english.question_words import FOREMOST, SUPERLATIVES, TAKINGS
from kbkit.english.words import may_be_verb
from kbkit.errors import KbError
from kbkit.questions.alignment import similarities
from kbkit.questions.candidates import CandidateFrame, frames
from kbkit.questions.chain_reading import EXPLAINED, ChainReading
from kbkit.questions.clause_reading import ClauseReader, WordMatch
from kbkit.questions.composed_reading import ComposedReading, FoundParts
from kbkit.questions.dropped_parts import dropped_part
from kbkit.questions.edge_ends import EdgeEnds
from kbkit.questions.edge_reading import edge_reading, means_more
from kbkit.questions.edge_words import EdgeAttributes
from kbkit.questions.element_lists import relations_to_bosses
from kbkit.questions.elements import Elements
from kbkit.questions.everyday_text import in_plain_words, with_bosses, with_takings
from kbkit.questions.kind_nouns import kind_nouns
from kbkit.questions.lexicon import Floats, label_words, stem
from kbkit.questions.mentions import Mention, mentions
from kbkit.questions.nested_reading import NestedReading
from kbkit.questions.number_labels import takings
from kbkit.questions.place_words import place_column, with_places
from kbkit.questions.plain_text import (
    has_decade,
    in_full,
    with_columns,
    with_currency,
    with_decades,
    with_months,
    with_value,
    without_asides,
    without_introduction,
)
from kbkit.questions.question import Question
from kbkit.questions.read import Read
from kbkit.questions.scoring import PLACES, WEIGHTS, score
from kbkit.questions.second_reading import SecondReading
from kbkit.questions.share_reading import ShareReading
from kbkit.questions.share_words import AskedShare, as_noun, asked_shares
from kbkit.questions.sketches.reading import SketchReader
from kbkit.questions.spelling import Spelling
from kbkit.questions.taught import Learned, Taught
from kbkit.questions.values import AttributeValues
from kbkit.stores import Stores

MAX_READINGS = 60
"""Number of best candidates that are kept."""
_MAX_SPACES, _MAX_ABOUT_EDGES = 60, 8
"""A question with more spaces, or more words about edges, is not read as one about them: each is a question to read."""

_OUTCOME = re.compile(r"\b(?:won|wins?|came|come|finish(?:ed)?|placed?|ranked|ended up)\b", re.I)
"""Verbs of who won, or came second."""
_LYING = (
    "(?:(?:(?:that|which) (?:is|are|lies?|exists?|pass(?:es)?|runs?|flows?) )?(?:in|of|within|throughout|through)"
    "|(?:that|which) traverses?)"
)
"""What stands before a place that all nodes are in."""
_MAX_READ = 64
"""Number of questions whose readings are kept."""


class QuestionReader:
    """Reads questions about one KB."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.elements = Elements(stores)
        self._by_clauses = ClauseReader(self.elements)
        self._spelling = Spelling.of(stores)
        self._edges = EdgeAttributes(stores)
        self._ends = EdgeEnds(self.elements)
        self._sketches = SketchReader(self.elements)
        names = {one.name for one in self.elements.all[: self.elements.hops]}
        said = (words for words in map(label_words, names) if len(words) > 1)
        self._said = [frozenset(map(stem, label_words(name))) for name in names]
        """The stems of the words of each relation."""
        self._superlative = [words for words in said if not SUPERLATIVES.keys().isdisjoint(words)]
        """The words of relations that have a superlative among them: *first climbed*."""
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
        shares = [] if text.count(" ") > _MAX_SPACES else list(asked_shares(plain))
        read = self._read_whole(text, plain)
        if not read.is_sure and (rest := self._without_only(plain, read)) != plain:
            whole = self._read_whole(text, rest)
            read, plain = (whole, rest) if whole.is_sure else (read, plain)
        if shares and read.is_sure and (plainer := as_noun(plain)) != plain:
            read = self._read_whole(text, plainer)
        nested = NestedReading(self.elements, self._part)
        found = nested.read(plain, is_read=True) if read.is_sure else self._of_parts(plain, shares)
        if found is None:
            return read
        parts = (self.elements, read.by_clauses.links, read.by_clauses.clauses, read.by_clauses.planner)
        reading = ComposedReading(*parts, found.tree, parts=found.parts, certainty=found.certainty)
        return self._composed(read, {reading.expression: reading})

    def _without_only(self, text: str, read: Read) -> str:
        """Return a text without a place that selects nothing, since the KB has one node of its type: *in the world*."""
        only = {*self.elements.of_one_node} if self.elements.typed else set()
        for mention in read.mentions if only else ():
            if only.issuperset(map(self.elements.type_number, mention.nodes)):
                text = re.sub(rf"\s+{_LYING}\s+(?:the\s+)?{re.escape(mention.text)}\b", "", text)
        return text

    def _read_whole(self, asked: str, text: str) -> Read:
        """Return the readings of the text of a question, about edges too."""
        return self._with_ends(self._with_edges(text, self._read_nodes(asked, text)))

    def _of_parts(self, text: str, shares: Sequence[AskedShare]) -> FoundParts | None:
        """Return the reading of a question that asks for a share, or of one with a second one, by its parts."""
        reading, second = ShareReading(self.elements, self._part), SecondReading(self.elements, self._part)
        found = next(filter(None, map(reading.read, shares)), None) or second.read(text)
        found = found or NestedReading(self.elements, self._part).read(text)
        if found is not None:
            self.elements.session.resolved(found.tree)
        return found

    def _part(self, text: str) -> Read:
        """Return the reading of a part of a question, also with words about edges."""
        return self._with_edges(text, self._read_nodes(text, text))

    def _with_ends(self, read: Read) -> Read:
        """Return the reading of a question that names the ends of an edge and asks for its attributes, or ``read``."""
        found: dict[str, ComposedReading] = {}
        parts = (self.elements, read.by_clauses.links, read.by_clauses.clauses, read.by_clauses.planner)
        for answer in self._ends.read(read.question, read.mentions):
            if read.is_sure and not answer.is_surely_meant:
                continue
            said = (WordMatch(answer.words, f"{answer.relation.name}.{answer.attribute.name}", 1.0),)
            reading = ComposedReading(*parts, answer.tree, said=said, certainty=answer.certainty)
            if reading.is_trusted or read.is_sure:  # no such edge: hardly another meaning is asked for
                found.setdefault(reading.expression, reading)
        return self._composed(read, found)

    def _composed(self, read: Read, found: Mapping[str, ComposedReading]) -> Read:
        """Return the only one of some readings; ``read`` if there are none or several, of which none is certain."""
        text = read.question.without({at for one in read.mentions if one.same_case for at in one.tokens})
        found = {key: one for key, one in found.items() if one.tree and not dropped_part(self.elements, one.tree, text)}
        if len(found) != 1:
            return read
        return Read(read.text, read.question, read.mentions, list, next(iter(found.values())), lambda: False)

    def _with_edges(self, text: str, read: Read) -> Read:
        """Return the reading of a question with words about the edges of a step, if there are such, else ``read``."""
        found: dict[str, ComposedReading] = {}
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
        return self._composed(read, found)

    def _read_nodes(self, asked: str, text: str) -> Read:
        """Return the readings of the text of a question, about nodes and their attributes only."""
        question = Question.of(text)
        if not text.strip():
            raise KbError("Empty question", "Enter at least one word")
        found = [one for one in mentions(self.stores, question) if not self._spelling.is_label(one)]
        names = [mention for mention in found if mention.is_sure or mention.text.isdigit()]
        spelling = self._spelling.corrected(question, found)
        in_names = {at for mention in names for at in mention.tokens}
        in_labels = self._in_labels(question) - in_names
        question = replace(Question.of(text, frozenset(in_names | in_labels), spelling), in_labels=frozenset(in_labels))
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
            lambda most: self._sketches.readings(by_clauses, question, most),
        )

    def _in_labels(self, question: Question) -> set[int]:
        """Return the positions of superlatives that a question has from the name of a relation: *first climbed*."""
        words, found = [stem(token.word) for token in question.tokens], set()
        for said in self._superlative:
            at = next(n for n, word in enumerate(said) if word in SUPERLATIVES)
            stems = [stem(word) for word in said]
            found |= {n + at for n in range(len(words)) if words[n : n + len(stems)] == stems}
        return found

    def _plain(self, text: str) -> str:
        """Return the text of a question as it is read."""
        if _OUTCOME.search(text) and (column := place_column(self.elements)):
            text = with_places(text, column)
        if takings(self.elements) and not any(map(self._has_label, TAKINGS)):
            text = with_takings(text)
        text = with_bosses(text) if relations_to_bosses(self.stores.schema) else text
        text = with_currency(without_asides(in_plain_words(without_introduction(in_full(text)))))
        text = with_known_verbs(text, self._has_verb, self._is_in_name)
        if (listed := with_columns(text)) != text and not self._names_a_question(text):
            text = listed
        if self._has_coordinates(text):
            text = re.sub(r"\bcoordinates\b", "latitude and longitude", text)
        if "closed to" in text and self._has_label("open"):
            text = text.replace("closed to", "not open to")
        if self._has_label("value") and not self._has_label("worth"):
            text = with_value(text)
        if has_decade(text) and self._has_years(text):
            text = with_decades(text)
        months = with_months(text)
        if months == text or self._has_label("quarter"):
            return text
        return text if AttributeValues.of(self.stores).named(["q1"]) else months  # Q1 may be one of the values

    def _has_label(self, word: str) -> bool:
        """Return whether a relation or an attribute has a word in its name."""
        return bool(self.elements.labels.similarity(word).max(initial=0.0) >= 1)

    def _has_verb(self, verb: str) -> bool:
        """Return whether a relation has the words of a verb in its label: *flow through*, of *flows_through*."""
        said = {stem(word) for word in verb.split()}
        return any(said <= words for words in self._said)

    def _is_in_name(self, text: str, at: int) -> bool:
        """Return whether the character at a position belongs to a name that is hardly a common word."""
        question = Question.of(text)
        names = (one.tokens for one in mentions(self.stores, question) if one.same_case and len(one.tokens) > 1)
        return any(question.tokens[n].start <= at < question.tokens[n].end for tokens in names for n in tokens)

    def _has_coordinates(self, text: str) -> bool:
        """Return whether *coordinates* are a latitude and a longitude: columns are called so, and none coordinates."""
        pair = self._has_label("latitude") and self._has_label("longitude")
        return "coordinates" in text and pair and not self._has_label("coordinates")

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
        words = {at: word for at, word in words.items() if word not in FOREMOST}
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
    for word, name, place, weight in rows:
        array = found.setdefault(word, np.zeros((elements.labels.count, PLACES)))
        if not 0 <= place < PLACES:
            continue
        for label in positions.get(name, ()):
            array[label, place] = weight
    return found
