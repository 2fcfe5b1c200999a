"""Score candidate readings: how well the words of a question align with the elements of each.

Each content word explains at most one label and each label needs a word (greedy one-to-one alignment by similarity).
What no label explains, and labels that no word expresses, count against a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kbkit.english.question_words import CONCEPTS, FUNCTION_WORDS, SUPERLATIVES
from kbkit.english.words import may_be_person, singular
from kbkit.questions.alignment import (
    aligned,
    cover_of_operators,
    hops_back,
    inversions,
    repeated,
    said_once,
    similarities,
    with_superlative,
    with_words,
)
from kbkit.questions.candidates import CandidateFrame
from kbkit.questions.directions import expected_forward
from kbkit.questions.element_lists import COMPARED, COMPARED_NEIGHBOURS, HOP, MOST, MOST_NEIGHBOURS, VALUE
from kbkit.questions.elements import Elements, Ints
from kbkit.questions.lexicon import Floats, sharp, stem
from kbkit.questions.mentions import Mention
from kbkit.questions.question import Question

WEIGHTS = {
    "uncovered": -2.5,
    "weakest": -1.0,
    "order": 1.5,
    "unexplained": -2.5,
    "unknown": -0.6,
    "hops": -0.4,
    "answer": 2.0,
    "shared": 1.4,
    "there and back": -0.9,
    "backward": -0.8,
    "exact": 1.5,
    "same case": 0.5,
    "name words": 0.8,
    "common word": -1.0,
    "similar": -1.5,
    "ignored": -4.0,
    "operator": 0.5,
    "other operand": -1.0,
    "no topic": -0.5,
    "unused name": -2.5,
    "learned": 1.0,
}
"""Weights of the features, chosen on half of the development questions of MetaQA and of GeoQuery."""

PLACES = 6
"""Number of values of :func:`places`."""
_VOICE = 4.0
"""How much worse the wrong direction is if a verb says the right one: papers that are cited by another one."""
_OF_TOPIC = 0.25
"""How far the type of a named node explains a word that is not beside the name."""
_BY_TYPE, _BY_TYPE_BACK = 0.7, 0.8
"""How far a word for the type that a hop reaches expresses the hop."""


@dataclass(frozen=True)
class ScoredFrame:
    """The candidates of a frame with their ``features`` (a column each, as in ``WEIGHTS``) and what explains the words.

    ``words`` are the tokens to explain, ``explained`` (candidates x words) how far each is explained, ``slots``
    (candidates x slots) the position in ``words`` of the word of each slot (-1: none): relations, then types.
    """

    frame: CandidateFrame
    features: Floats
    words: list[int]
    explained: Floats
    slots: Ints


def score(
    elements: Elements,
    question: Question,
    named: Sequence[Mention],
    frame: CandidateFrame,
    learned: Mapping[str, Floats] | None = None,
) -> ScoredFrame:
    """Return the features of the candidates of a frame; ``named`` are all names in the question.

    ``learned`` are the weights of (label, place) for a stem, with shape (labels, ``PLACES``).
    """
    rows = frame.elements
    count, columns = rows.shape
    valid = rows >= 0
    words = question.content(frame.used)
    similar = _similar(elements, question, frame, words)
    explained_by_any = similar.max(2) if words else np.zeros((count, 0))
    of_word, of_slot, slots = aligned(similar)
    of_slot = np.where(said_once(elements, question, rows, words, slots), 0, of_slot)
    by_type = _shared_by_arms(frame, of_slot[:, columns : 2 * columns])
    back = hops_back(elements, frame, rows)
    # Films share a director, but countries that share a border are one hop apart.
    shared = back & (elements.class_before != elements.class_of)[np.maximum(rows[:, 1:], 0)] & question.is_shared
    missing = np.where(valid, 1 - _cover(elements, question, frame, of_slot[:, :columns], by_type, back, shared), 0)
    kinds = elements.kind[np.maximum(rows, 0)]
    expressed = np.maximum(of_slot[:, :columns], by_type)
    both = np.minimum(expressed[:, 1:], expressed[:, :-1])
    columns_of = {
        "uncovered": missing.sum(1),
        "weakest": missing.max(1) if columns else np.zeros(count),
        "order": -inversions(elements, question, frame, rows, words, slots[:, :columns], back),
        "unexplained": _unexplained(elements, question, rows, words, of_word, explained_by_any),
        "unknown": (explained_by_any < 0.15).sum(1),
        "hops": (valid & (kinds == HOP)).sum(1),
        "answer": _answer(elements, question, frame, rows),
        "shared": shared.any(1),
        "there and back": ((back & ~shared) * (1 - both)).sum(1),
        "backward": _backward(elements, question, frame, rows, words, slots, back),
        **_of_topics(question, frame),
        "unused name": _unused(elements, question, frame, named),
        "ignored": _ignored(elements, question, frame, rows, kinds, valid),
        "operator": (valid & ((kinds >= MOST) | with_superlative(elements, question)[np.maximum(rows, 0)])).any(1),
        "other operand": _other_operand(elements, question, rows),
        "learned": _learned(elements, question, rows, words, learned),
    }
    features = np.empty((count, len(WEIGHTS)))
    for at, name in enumerate(WEIGHTS):
        features[:, at] = columns_of[name]
    return ScoredFrame(frame, features, words, np.maximum(of_word, explained_by_any), slots)


def _similar(elements: Elements, question: Question, frame: CandidateFrame, words: list[int]) -> Floats:
    """Return how well each word expresses each slot: relations, the types that they reach, and types of topics.

    The shape is (candidates, words, slots).
    """
    rows = frame.elements
    count, columns = rows.shape
    valid, at = rows >= 0, np.maximum(rows, 0)
    result = np.zeros((count, len(words), 2 * columns + len(frame.topics)))
    for number, position in enumerate(words):
        label, kind = similarities(elements, question.tokens[position].word)
        result[:, number, :columns] = np.where(valid, label[elements.label][at], 0)
        result[:, number, columns : 2 * columns] = np.where(valid, kind[elements.class_of][at], 0)
        for place, topic in enumerate(frame.topics):
            result[:, number, 2 * columns + place] = _OF_TOPIC * kind[topic.class_]
    return result


def _cover(
    elements: Elements,
    question: Question,
    frame: CandidateFrame,
    by_label: Floats,
    by_type: Floats,
    back: NDArray[np.bool_],
    shared: NDArray[np.bool_],
) -> Floats:
    """Return how well each element of the candidates is expressed: by its label, by its type, or without words."""
    rows = frame.elements
    cover = np.maximum(np.maximum(by_label, _BY_TYPE * by_type), cover_of_operators(elements, question, rows))
    # `films for the writer of Heat`: a hop back is the likeliest meaning of a type alone.
    cover[:, 1:] = np.maximum(cover[:, 1:], np.where(back, _BY_TYPE_BACK * by_type[:, 1:], 0))
    cover[:, 1:] = np.maximum(cover[:, 1:], shared)
    if len(frame.topics) > 1:  # `defenders of Sevilla`: the relation of a second name is often implied
        for topic, arm in zip(frame.topics, frame.arms, strict=True):
            cover[:, arm.start] = np.maximum(cover[:, arm.start], 0.3 + 0.5 / max(1, topic.choices))
    for arm in frame.arms[1:]:
        cover[:, arm] = np.maximum(cover[:, arm], repeated(rows[:, frame.arms[0]], rows[:, arm]))
    return cover


def _unexplained(
    elements: Elements, question: Question, rows: Ints, words: list[int], of_word: Floats, explained_by_any: Floats
) -> Floats:
    """Return how much of the words nothing in each candidate explains, in words."""
    rest = 1 - np.maximum(of_word, 0.6 * explained_by_any)
    valid, label = rows >= 0, elements.label[np.maximum(rows, 0)]
    for number in range(len(words) - 1):  # a word may modify the next one: population density
        if words[number + 1] == words[number] + 1:
            both = elements.labels.with_pair(
                question.tokens[words[number]].word, question.tokens[words[number] + 1].word
            )
            is_pair = (valid & both[label]).any(1)  # one label has both: highest_point
            rest[:, number] *= np.where(is_pair, 0, 1 - 0.5 * of_word[:, number + 1])
            rest[is_pair, number + 1] = 0
    if len(elements.of_one_node) and words:  # `in the country`, where the KB has one
        only = [similarities(elements, question.tokens[at].word)[1][elements.of_one_node].max() for at in words]
        rest = np.minimum(rest, 1 - np.array(only))
    total: Floats = rest.sum(1)
    return total


def _backward(
    elements: Elements,
    question: Question,
    frame: CandidateFrame,
    rows: Ints,
    words: list[int],
    slots: Ints,
    back: NDArray[np.bool_],
) -> Floats:
    """Return the number of hops in the unlikely direction of a relation that could be followed in both.

    The parents of Ann are read forward; but what is part of Ann, with the name after the label and its preposition, is
    read backward. Only the way back along a hop before it is backward for sure.
    """
    if not elements.hops or not rows.shape[1]:
        return np.zeros(len(rows))
    at = np.maximum(rows, 0)
    hop = np.minimum(at, elements.hops - 1)
    position = np.array([*words, -1])[slots[:, : rows.shape[1]]]
    is_before = np.zeros(rows.shape, bool)
    for topic, arm in zip(frame.topics, frame.arms, strict=True):
        if topic.mention is not None:
            is_before[:, arm] = (position[:, arm] >= 0) & (position[:, arm] < topic.mention.first)
    is_head = _names_heads(elements, question)[elements.label[at]] & (elements.source[at] == elements.target[at])
    expected = ~((elements.ends_in_preposition[elements.label[at]] & is_before) | is_head)
    is_choice = elements.reversible[hop] | is_head
    found = (rows >= 0) & (elements.kind[at] == HOP) & is_choice & (elements.forward[at] != expected)
    found[:, 1:] &= ~back
    total: Floats = found.sum(1).astype(np.float64)
    return total + _against_voice(elements, question, frame, rows, position, back)


def _against_voice(
    elements: Elements,
    question: Question,
    frame: CandidateFrame,
    rows: Ints,
    position: Ints,
    back: NDArray[np.bool_],
) -> Floats:
    """Return how often, times ``_VOICE``, a relation between nodes of one type is followed against what a verb says."""
    at = np.maximum(rows, 0)
    counted = (elements.kind[at] == MOST_NEIGHBOURS) | (elements.kind[at] == COMPARED_NEIGHBOURS)
    hop = np.where(counted, elements.hop[at], np.minimum(at, elements.hops - 1))
    is_same = elements.source[hop] == elements.target[hop]
    is_hop = (rows >= 0) & (counted | (elements.kind[at] == HOP)) & (position >= 0)
    is_hop &= elements.reversible[hop] | (is_same & elements.typed)
    is_hop &= elements.inverse[hop] != hop  # not of what holds both ways
    is_hop[:, 1:] &= ~back
    total = np.zeros(len(rows))
    named, is_all = np.full(rows.shape[1], -1), np.zeros(rows.shape[1], bool)
    for topic, arm in zip(frame.topics, frame.arms, strict=True):
        named[arm] = topic.mention.first if topic.mention is not None else -1
        is_all[arm] = topic.mention is None
    is_all = is_all & ~counted & is_same
    wrong: dict[tuple[int, int, bool | None, bool], bool] = {}
    words = [token.word for token in question.tokens]
    for row, column in np.argwhere(is_hop & (counted | (named >= 0) | is_all)).tolist():
        word, step = int(position[row, column]), int(hop[row, column])
        of_all = bool(is_all[row, column])  # authors that influenced nobody: from all authors back to those
        after = None if counted[row, column] or of_all else bool(named[column] > word)
        key = (word, step, after, of_all)
        if key not in wrong:
            forward = expected_forward(words, word, elements.all[step].name, after)
            wrong[key] = forward is not None and (forward != of_all) != bool(elements.forward[step])
        total[row] += _VOICE * wrong[key]
    return total


def _shared_by_arms(frame: CandidateFrame, by_type: Floats) -> Floats:
    """Return how well words express the types that hops reach; where arms meet, one word expresses all last hops."""
    if len(frame.topics) == 1:
        return by_type
    rows, result = np.arange(len(by_type)), by_type.copy()
    last = [arm.start + (frame.elements[:, arm] >= 0).sum(1) - 1 for arm in frame.arms]
    best = np.max([by_type[rows, column] for column in last], axis=0)
    for column in last:
        result[rows, column] = best
    return result


def _answer(elements: Elements, question: Question, frame: CandidateFrame, rows: Ints) -> Floats:
    """Return how well the answers of each candidate fit what the question asks for: who, when, which river."""
    named = {at for topic in frame.topics if topic.mention is not None for at in topic.words}
    where = question.interrogative(named)
    asked = question.tokens[where].word if where >= 0 else ""
    if asked in CONCEPTS:
        nouns = [asked]
    elif question.asked is not None:
        nouns = list(question.asked.nouns)
    else:
        content = [question.tokens[at].word for at in question.content(named)]
        if where < 0 and question.says_also:
            content.reverse()
        after = [question.tokens[at].word for at in question.content(named) if at > where]
        nouns = (after[:1] if where >= 0 else []) or content[:1]
    count, columns = rows.shape
    first = rows[:, : frame.width]
    is_end = (first >= 0) & (elements.kind[np.maximum(first, 0)] <= VALUE)  # an operator keeps what it applies to
    place = np.where(is_end, np.arange(first.shape[1]), -1).max(1, initial=-1)
    last = np.where(place >= 0, first[np.arange(count), np.maximum(place, 0)], -1) if columns else np.full(count, -1)
    label, kind = np.zeros(elements.labels.count), np.zeros(elements.classes)
    if question.asked_kind and not may_be_person(singular(question.asked_kind)):
        nouns, kind = [], elements.unnamed.astype(np.float64)
    for noun in nouns:
        label = np.maximum(label, sharp(elements.labels.similarity(noun)))
        kind = np.maximum(kind, sharp(elements.class_similarity(noun)))
    if not {"who", "whom", "person"}.isdisjoint(nouns):
        kind = np.maximum(kind, elements.of_people)
    at = np.maximum(last, 0)
    kinds = elements.kind[at]
    is_head = elements.forward[at] != _names_heads(elements, question)[elements.label[at]]
    by_label = np.where((last >= 0) & (kinds <= VALUE) & is_head, label[elements.label[at]], 0)
    by_type = np.where((last >= 0) & (kinds == VALUE), 0, kind[frame.last_class(elements)])
    return np.maximum(by_label, by_type)


def _names_heads(elements: Elements, question: Question) -> NDArray[np.bool_]:
    """Return which labels say what the question asks of something: *the sequel of Heat*, *Ann's parents*.

    It is the other way round if the question asks of what something is one: *which range is the Eiger part of*.
    """
    words = [token.word for token in question.tokens]
    return elements.names_head & ("of" not in (words[-1:] + words[:1]))


def _of_topics(question: Question, frame: CandidateFrame) -> dict[str, float]:
    """Return the features of the topics, which all candidates of a frame share."""
    named = [topic for topic in frame.topics if topic.mention is not None]
    found = dict.fromkeys(("exact", "same case", "name words", "common word", "similar"), 0.0)
    has_case = any(letter.isupper() for letter in question.text[1:])
    for topic in named:
        assert topic.mention is not None
        content = [at for at in topic.mention.tokens if question.tokens[at].word not in FUNCTION_WORDS]
        has_capitals = topic.same_case and topic.mention.text != topic.mention.text.lower()
        found["exact"] += (topic.same_case and has_case) / len(named)
        found["same case"] += has_capitals / len(named)
        content += [at for at in topic.words if at not in topic.mention.tokens]
        words = min(4, len(topic.words) if has_capitals else len(content))
        found["name words"] = max(found["name words"], words)
        is_common = has_case and not topic.mention.is_sure and (0.5 if topic.same_case else 1.0)
        found["common word"] += 0.0 if has_capitals else max(float(not content), float(is_common))
        found["similar"] += topic.mention.how in ("stemmed", "fuzzy")
    return {**found, "no topic": float(not named)}


def _unused(elements: Elements, question: Question, frame: CandidateFrame, named: Sequence[Mention]) -> float:
    """Return the number of names that the candidates of a frame do not use.

    A single word that is written like a common one counts half, and less if it expresses a relation or a type.
    """
    used, result = frame.used, 0.0
    for mention in sorted(named, key=lambda m: len(m.tokens), reverse=True):
        if not used & {*mention.tokens}:
            used = used | {*mention.tokens}
            word = question.tokens[mention.first].word
            known = max(elements.labels.similarity(word).max(initial=0), elements.class_similarity(word).max(initial=0))
            result += 1.0 if mention.is_sure else 0.5 * (1 - float(sharp(np.array(known))))
    return result


def _ignored(
    elements: Elements, question: Question, frame: CandidateFrame, rows: Ints, kinds: Ints, valid: NDArray[np.bool_]
) -> Floats:
    """Return the number of operators of the question that each candidate ignores."""
    ignored = np.full(len(rows), float(not question.is_supported))
    if question.superlative:
        is_used = (kinds == MOST) | (kinds == MOST_NEIGHBOURS)
        is_used |= with_superlative(elements, question)[np.maximum(rows, 0)]
        ignored += ~(valid & is_used).any(1)
        said = {*question.superlative_words, *(question.tokens[at].word for at in question.in_labels)}
        other = with_words(elements, frozenset(SUPERLATIVES) - said)
        ignored += (valid & other[np.maximum(rows, 0)]).any(1)
    if question.comparison:
        ignored += ~(valid & ((kinds == COMPARED) | (kinds == COMPARED_NEIGHBOURS))).any(1)
    if question.negation is not None:
        ignored += frame.combine not in ("-", "complement")
    if question.asked is not None:
        ignored += ~(valid & (kinds == VALUE)).any(1)
    return ignored


def _other_operand(elements: Elements, question: Question, rows: Ints) -> Floats:
    """Return how badly the word after a superlative fits the type, hop or attribute that a candidate applies it to."""
    result = np.zeros(len(rows))
    found = question.superlative
    if found is None:
        return result
    content = set(question.content(set()))
    run: list[int] = []
    while found.last + 1 + len(run) in content:
        run.append(found.last + 1 + len(run))
    if not run:
        return result
    at = np.maximum(rows, 0)
    for column in range(rows.shape[1]):
        fit = np.zeros(len(rows))
        for position in run:
            label, kind = similarities(elements, question.tokens[position].word)
            here = np.maximum(label[elements.label[at[:, column]]], kind[elements.class_of[at[:, column]]])
            here = np.maximum(here, kind[elements.class_before[at[:, column]]])
            if column:
                here = np.maximum(here, label[elements.label[at[:, column - 1]]])
            fit = np.maximum(fit, here * (1 if position == run[-1] else 0.9))
        chosen = (rows[:, column] >= 0) & (elements.kind[at[:, column]] >= MOST)
        result = np.where(chosen, 1 - fit, result)
    return result


def _learned(
    elements: Elements, question: Question, rows: Ints, words: list[int], learned: Mapping[str, Floats] | None
) -> Floats:
    """Return the sum of the learned weights of the words with the labels of each candidate, by place."""
    result = np.zeros(len(rows))
    if learned:
        valid, at = rows >= 0, np.maximum(rows, 0)
        label, place = elements.label[at], places(elements, rows)
        for position in words:
            weights = learned.get(stem(question.tokens[position].word))
            if weights is not None:
                result += np.where(valid, weights[label, place], 0).sum(1)
    return result


def places(elements: Elements, rows: Ints) -> Ints:
    """Return the place of each element: first (0), between (2) or last (4) of its candidate, plus 1 if forward."""
    length = (rows >= 0).sum(1)[:, None]
    column = np.arange(rows.shape[1])[None, :]
    found: Ints = np.where(column == length - 1, 4, np.where(column == 0, 0, 2))
    return found + elements.forward[np.maximum(rows, 0)]
