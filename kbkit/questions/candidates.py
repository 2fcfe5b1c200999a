"""The candidate readings of a question: sequences of elements from the nodes or types that it names.

Candidates with the same starts are a :class:`CandidateFrame`, whose arrays have a row each, so that they are scored at
once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from kbkit.english.question_words import NAMING
from kbkit.questions.element_lists import COMPARED, COMPARED_NEIGHBOURS, HOP, MOST, MOST_NEIGHBOURS, VALUE
from kbkit.questions.elements import MAX_CHAINS, MAX_HOPS, Elements, Ints
from kbkit.questions.lexicon import WEAK, Floats
from kbkit.questions.mentions import Mention
from kbkit.questions.question import Question

_MAX_ARMS, _MAX_ARMS_OF_THREE = 40, 8
"""Limit on the chains of an arm that meets another."""
_MAX_MEETING = 4
"""Limit on the names that are tried together, the least likely to be common words first."""
_MAX_OPTIONS = 6
"""Limit on the attributes or relations that an operator of the question may refer to, per type."""
_MAX_TYPES = 4
"""Limit on the types that only a relation or attribute hints at."""
_SURE_TYPE = 0.75
"""Least similarity of a word and a type that the word names."""


@dataclass(frozen=True)
class Topic:
    """Where an arm starts: the nodes of one type that a name stands for, or all nodes of a type (no ``nodes``)."""

    nodes: tuple[int, ...]
    type: int
    class_: int
    mention: Mention | None
    words: frozenset[int]
    """Tokens that the topic explains: its name, and a type beside it."""
    choices: int = 0
    """Number of hops from the nodes."""

    @property
    def same_case(self) -> bool:
        """Whether the question writes the name as the KB does."""
        return self.mention is not None and any(node in self.mention.same_case for node in self.nodes)


@dataclass(frozen=True)
class CandidateFrame:
    """Candidates with the same topics. ``elements`` has a row per candidate, padded with -1.

    Each topic has an arm of ``width`` columns. ``combine`` is ``&``, ``|`` or ``-`` for several arms, or
    ``complement`` for the nodes of the answer type that the arm does not reach, else empty.
    """

    topics: tuple[Topic, ...]
    elements: Ints
    width: int
    combine: str = ""

    @property
    def used(self) -> set[int]:
        """The tokens that the topics explain."""
        return {at for topic in self.topics for at in topic.words}

    @property
    def arms(self) -> list[slice]:
        """The columns of each arm."""
        return [slice(number * self.width, (number + 1) * self.width) for number in range(len(self.topics))]

    def last_class(self, elements: Elements) -> Ints:
        """Return the class of the answers of each candidate."""
        first = self.elements[:, : self.width]
        is_hop = (first >= 0) & (elements.kind[np.maximum(first, 0)] == HOP)
        place = np.where(is_hop, np.arange(first.shape[1]), -1).max(1, initial=-1)
        found = np.full(len(first), self.topics[0].class_)
        rows = place >= 0
        found[rows] = elements.class_of[first[rows, place[rows]]]
        return found


def frames(elements: Elements, question: Question, mentions: list[Mention]) -> Iterator[CandidateFrame]:
    """Yield the candidates of a question, which names ``mentions``; none in a KB without relations and attributes."""
    if not elements.all:
        return
    similar = _Similarities(elements, question)
    topics = [_topics(elements, question, mention, mentions) for mention in mentions]
    for choices in topics:
        for topic in choices:
            yield from _single(elements, question, similar, topic)
    likely = sorted(range(len(mentions)), key=lambda n: (-mentions[n].is_sure, -len(mentions[n].tokens)))
    for count in (2, 3):
        for chosen in combinations(sorted(likely[:_MAX_MEETING]), count):
            if not any(mentions[a].overlaps(mentions[b]) for a, b in combinations(chosen, 2)):
                for meanings in product(*(topics[number][: 4 - count] for number in chosen)):
                    if len({node for topic in meanings for node in topic.nodes}) > 1:
                        yield from _meeting(elements, question, similar, meanings)
    operators = question.superlative or question.comparison or question.negation is not None or question.is_count
    if operators or not mentions:
        for topic in _types(elements, question, similar, mentions):
            yield from _single(elements, question, similar, topic)


class _Similarities:
    """The greatest similarity of any word of the question to each element."""

    def __init__(self, elements: Elements, question: Question) -> None:
        self.words = [question.tokens[at].word for at in question.content(set())]
        labels = elements.labels
        label, kind = np.zeros(labels.count), np.zeros(elements.classes)
        for word in self.words:
            label = np.maximum(label, labels.similarity(word))
            kind = np.maximum(kind, elements.class_similarity(word))
        nouns = [noun for part in (question.superlative, question.comparison) if part for noun in part.adjective.nouns]
        nouns += question.asked.nouns if question.asked else ()
        asked = np.zeros(labels.count)
        for noun in nouns:
            asked = np.maximum(asked, labels.similarity(noun))
        self.label = np.maximum(label, asked)
        self.element: Floats = np.maximum(self.label[elements.label], kind[elements.class_of])
        self.expressed = np.flatnonzero(self.element[: elements.hops] > WEAK)

    def best(self, options: Ints) -> Ints:
        """Return the options that the question expresses best."""
        order = np.argsort(-self.element[options], kind="stable")[:_MAX_OPTIONS]
        chosen: Ints = options[order]
        return chosen[self.element[chosen] > WEAK]


def _topics(elements: Elements, question: Question, mention: Mention, mentions: list[Mention]) -> list[Topic]:
    """Return the meanings of a name. A name next to it may say which one is meant (``Portland Maine``)."""
    words, nodes = {*mention.tokens}, mention.nodes
    for other in (m for m in mentions if m.first == mention.last or m.last == mention.first):
        joined = tuple(node for node in nodes if any(_is_joined(elements, node, n) for n in other.nodes))
        if joined:
            words, nodes = words | {*other.tokens}, joined
    has_case = question.text != question.text.lower()  # `french movies` are no more likely tagged `french`
    same = [node for node in nodes if node in mention.same_case and has_case]
    chosen: dict[int, list[int]] = {}
    for node in same or nodes:
        chosen.setdefault(elements.type_number(node), []).append(node)
    return [
        topic
        for number, known in chosen.items()
        for topic in _variants(elements, question, number, tuple(known), mention, words)
    ]


def _is_joined(elements: Elements, node: int, other: int) -> bool:
    return any(
        other in elements.session.move(elements.all[hop].name, elements.all[hop].forward).neighbors(node)
        for hop in elements.starts(node).tolist()
    )


def _variants(
    elements: Elements, question: Question, number: int, nodes: tuple[int, ...], mention: Mention, words: set[int]
) -> list[Topic]:
    """Return a topic with the word beside the name that names its type (``the movie Heat``), if there is one.

    If types are inferred from relations, the word may also be that of a relation (``aged 26``): then there are two.
    """
    class_, beside = elements.class_of_nodes(nodes, number), set()
    for at in (mention.first - 1, mention.last):
        if 0 <= at < len(question.tokens) and at not in question.operators:
            # After the name only in the singular: `Tom Hanks movies` are not Tom Hanks.
            least = 0.7 if at < mention.first else 0.99
            if elements.class_similarity(question.tokens[at].word)[class_] > least * elements.certainty:
                beside |= {at}
    choices = len(np.unique(np.concatenate([elements.starts(node) for node in nodes])))
    alone = Topic(nodes, number, class_, mention, frozenset(words), choices)
    if not beside:
        return [alone]
    described = replace(alone, words=frozenset(words | beside))
    return [described] if elements.typed else [described, alone]


def _types(elements: Elements, question: Question, similar: _Similarities, mentions: list[Mention]) -> list[Topic]:
    """Return the types that words of the question name, and those with a relation or attribute that it names."""
    named = {at for mention in mentions if mention.is_sure for at in mention.tokens}
    found: dict[int, int] = {}
    for at in question.content(named):
        similarity = elements.type_labels.similarity(question.tokens[at].word)
        best = int(similarity.argmax())
        if similarity[best] >= _SURE_TYPE:
            found.setdefault(best, at)
    topics = [Topic((), number, number, None, frozenset({at})) for number, at in found.items()]
    known = elements.kind <= VALUE
    best_of = np.zeros(len(elements.types))
    np.maximum.at(best_of, elements.source[known], similar.label[elements.label[known]])
    others = [number for number in np.argsort(-best_of, kind="stable").tolist() if number not in found]
    return topics + [Topic((), n, n, None, frozenset()) for n in others[:_MAX_TYPES] if best_of[n] >= _SURE_TYPE]


def _single(elements: Elements, question: Question, similar: _Similarities, topic: Topic) -> Iterator[CandidateFrame]:
    has_operator = question.superlative or question.comparison
    starts = _starts(elements, similar, topic)
    hops = 2 if has_operator or not topic.nodes else MAX_HOPS
    rows = elements.chains(starts, similar.expressed, hops)
    rows = np.concatenate([np.full((1, rows.shape[1]), -1, np.int64), rows])
    plain = _with_values(elements, similar, topic, rows)
    is_named = question.is_count and any(token.word in NAMING for token in question.tokens)
    if topic.nodes and not is_named:  # a node is not an answer to a question that names it, but its attributes are
        plain = plain[1:]
    yield CandidateFrame((topic,), plain, plain.shape[1])
    if has_operator and (more := _with_operators(elements, question, similar, topic, rows)) is not None:
        more = _with_values(elements, similar, topic, more)
        yield CandidateFrame((topic,), more, more.shape[1])
    negated = question.negation
    if negated is not None and (topic.mention is None or negated < topic.mention.first):
        yield CandidateFrame((topic,), rows[(rows >= 0).any(1)], rows.shape[1], "complement")


def _starts(elements: Elements, similar: _Similarities, topic: Topic) -> Ints:
    """Return the hops from a topic."""
    hops = elements.from_type(topic.type)
    if not topic.nodes:
        return hops
    found = [elements.starts(node) for node in topic.nodes]
    if elements.typed:  # what the question asks for may not be in the KB
        found.append(hops[similar.element[hops] >= _SURE_TYPE])
    return np.unique(np.concatenate(found))


def _value_types(elements: Elements, similar: _Similarities) -> set[int]:
    """Return the types with an attribute that the question expresses."""
    values = np.flatnonzero((elements.kind == VALUE) & (similar.label[elements.label] > WEAK))
    return set(elements.source[values].tolist())


def _with_values(elements: Elements, similar: _Similarities, topic: Topic, rows: Ints) -> Ints:
    """Add to ``rows`` those that end with an attribute of their nodes which the question expresses."""
    ends = _ends(elements, topic, rows)
    found = [np.column_stack([rows, np.full(len(rows), -1)])]
    length = (rows >= 0).sum(1)
    for kind in sorted(_value_types(elements, similar)):
        chosen = np.flatnonzero(ends == kind)
        values = elements.of_kind(VALUE, kind)
        for value in values[similar.label[elements.label[values]] > WEAK].tolist():
            more = found[0][chosen].copy()
            more[np.arange(len(chosen)), length[chosen]] = value
            found.append(more)
    result = np.concatenate(found)
    return result if len(found) > 1 else rows


def _ends(elements: Elements, topic: Topic, rows: Ints) -> Ints:
    """Return the type at the end of each row."""
    length = (rows >= 0).sum(1)
    ends = np.full(len(rows), topic.type)
    some = length > 0
    ends[some] = elements.target[rows[some, length[some] - 1]]
    return ends


def _with_operators(
    elements: Elements, question: Question, similar: _Similarities, topic: Topic, rows: Ints
) -> Ints | None:
    """Return ``rows`` with the superlative or comparison of the question at each place where it is possible."""
    part = question.superlative or question.comparison
    assert part is not None
    kinds: tuple[int, ...] = (MOST, MOST_NEIGHBOURS) if question.superlative else (COMPARED, COMPARED_NEIGHBOURS)
    if part.adjective.nouns:  # longest, but not most: the number of neighbours is not meant
        kinds = kinds[:1]
    length = (rows >= 0).sum(1)
    found = []
    for at in range(0 if not topic.nodes else 1, rows.shape[1] + 1):
        possible = np.flatnonzero(length >= at)
        places = rows[possible]
        ends = np.full(len(places), topic.type) if at == 0 else elements.target[places[:, at - 1]]
        for kind in np.unique(ends).tolist():
            chosen = places[ends == kind]
            for operator in kinds:
                for element in similar.best(elements.of_kind(operator, kind)).tolist():
                    column = np.full((len(chosen), 1), element)
                    found.append(np.concatenate([chosen[:, :at], column, chosen[:, at:]], axis=1))
    if not found:
        return None
    result = np.concatenate(found)
    return result[:MAX_CHAINS]


def _meeting(
    elements: Elements, question: Question, similar: _Similarities, topics: tuple[Topic, ...]
) -> Iterator[CandidateFrame]:
    """Yield the candidates in which chains of up to two hops from two or three topics meet."""
    limit = _MAX_ARMS if len(topics) == 2 else _MAX_ARMS_OF_THREE
    rows = np.zeros((1, 0), np.int64)
    ends = np.zeros(1, np.int64)
    for number, topic in enumerate(topics):
        arms = _arms(elements, similar, topic, limit)
        length = (arms >= 0).sum(1)
        reached = elements.class_of[arms[np.arange(len(arms)), length - 1]]
        met = (ends[:, None] == reached[None, :]) if number else np.ones((1, len(arms)), bool)
        left, right = np.nonzero(met)
        rows, ends = np.concatenate([rows[left], arms[right]], axis=1), reached[right]
    if not len(rows):
        return
    spans = [(topic.mention.first, topic.mention.last) for topic in topics if topic.mention is not None]
    between = range(spans[0][1], spans[1][0])
    combine = "&"
    if len(topics) == 2 and question.negation is not None and question.negation in between:
        combine = "-"
    elif any(question.tokens[at].word == "or" for at in range(spans[0][1], spans[-1][0])):
        combine = "|"
    yield CandidateFrame(topics, rows, 2, combine)


def _arms(elements: Elements, similar: _Similarities, topic: Topic, limit: int) -> Ints:
    """Return the chains of up to two hops that the question expresses best."""
    rows = elements.chains(_starts(elements, similar, topic), similar.expressed, 2)
    scores = np.where(rows >= 0, similar.element[np.maximum(rows, 0)] - 0.5, 0).sum(1)
    chosen: Ints = rows[np.argsort(-scores, kind="stable")[:limit]]
    return chosen
