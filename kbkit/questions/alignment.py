"""Align the words of a question with the elements of its candidate readings, for all candidates of a frame at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.questions.candidates import CandidateFrame, Topic
from kbkit.questions.element_lists import COMPARED, HOP, MOST, VALUE
from kbkit.questions.elements import Elements, Ints
from kbkit.questions.lexicon import WEAK, Floats, related, sharp, stem
from kbkit.questions.question import Question

KIND = 0.9
"""Similarity of a word to a type, relative to that of a word to a relation."""
_MAX_EXPRESSED = 4_096
"""Words of which it is kept how well they express the elements of a KB."""


def similarities(elements: Elements, word: str) -> tuple[Floats, Floats]:
    """Return how well a word expresses each label and each type, relative to what it expresses best."""
    found = elements.expressed.get(word)
    if found is None:
        if len(elements.expressed) >= _MAX_EXPRESSED:
            elements.expressed.clear()
        found = elements.expressed[word] = _similarities(elements, word)
        for array in found:
            array.flags.writeable = False
    return found


def _similarities(elements: Elements, word: str) -> tuple[Floats, Floats]:
    label = elements.labels.similarity(word)
    kind = elements.class_similarity(word)
    best = max(label.max(initial=0), KIND * kind.max(initial=0))
    if best < WEAK:
        return np.zeros_like(label), np.zeros_like(kind)
    return sharp(label) * (label / best) ** 2, KIND * sharp(kind) * np.minimum(1, (kind / best) ** 2)


def aligned(similar: Floats) -> tuple[Floats, Floats, Ints]:
    """Align words and slots one to one, greedily by similarity, for all candidates at once.

    ``similar`` has the shape (candidates, words, slots). Returns the similarity of each word and of each slot with its
    partner, and the word of each slot (-1: none).
    """
    count, words, slots = similar.shape
    of_word, of_slot = np.zeros((count, words)), np.zeros((count, slots))
    partner = np.full((count, slots), -1, np.int64)
    rest, rows = similar.copy(), np.arange(count)
    for _ in range(min(words, slots)):
        best = rest.reshape(count, -1).argmax(1)
        word, slot = best // slots, best % slots
        value = rest[rows, word, slot]
        some = value > 0
        if not some.any():
            break
        chosen = rows[some]
        of_word[chosen, word[some]] = value[some]
        of_slot[chosen, slot[some]] = value[some]
        partner[chosen, slot[some]] = word[some]
        rest[rows, word, :] = 0
        rest[rows, :, slot] = 0
    return of_word, of_slot, partner


def cover_of_operators(elements: Elements, question: Question, rows: Ints) -> Floats:
    """Return how well an adjective of the question expresses the attributes of operators and values."""
    cover = np.zeros(rows.shape)
    at, valid = np.maximum(rows, 0), rows >= 0
    adjectives = [
        (question.superlative.adjective if question.superlative else None, MOST),
        (question.comparison.adjective if question.comparison else None, COMPARED),
        (question.asked, VALUE),
    ]
    for adjective, kind in adjectives:
        if adjective is not None:
            nouns = [*adjective.nouns, *(("year", "date") if adjective.dates else ())]
            found = np.zeros(elements.labels.count)
            for place, noun in enumerate(nouns):
                found = np.maximum(found, (1 - 0.1 * place) * sharp(elements.labels.similarity(noun)))
            cover = np.maximum(cover, np.where(valid & (elements.kind[at] == kind), found[elements.label][at], 0))
    if [token.word for token in question.tokens[:1]] == ["where"]:
        locates = valid & elements.locates[at]
        cover = np.maximum(cover, locates & (locates.cumsum(1) == 1))  # in the nearest place, not in that of a place
    if question.superlative:
        named = with_superlative(elements, question)[at] & (elements.kind[at] == HOP)
        cover = np.maximum(cover, np.where(valid & named, 1.0, 0))
    return cover


def with_superlative(elements: Elements, question: Question) -> NDArray[np.bool_]:
    """Return the elements whose label has the superlative of the question (``highest_point``)."""
    return with_words(elements, frozenset(question.superlative_words))


def with_words(elements: Elements, words: frozenset[str]) -> NDArray[np.bool_]:
    """Return the elements whose label has one of these words."""
    if not words:
        return np.zeros(len(elements.all), bool)
    return np.array([bool(words & parts) for parts in elements.labels.words], bool)[elements.label]


def hops_back(elements: Elements, frame: CandidateFrame, rows: Ints) -> NDArray[np.bool_]:
    """Return for each column but the first whether its hop leads back along the hop before it."""
    at = np.maximum(rows, 0)
    is_hop = (rows >= 0) & (elements.kind[at] == HOP)
    inverse = elements.inverse[np.minimum(at, max(0, elements.hops - 1))] if elements.hops else at
    back: NDArray[np.bool_] = is_hop[:, 1:] & is_hop[:, :-1] & (inverse[:, :-1] == rows[:, 1:])
    for arm in frame.arms[1:]:
        back[:, arm.start - 1] = False
    return back


def repeated(first: Ints, other: Ints) -> NDArray[np.bool_]:
    """Return whether an arm is the same as the first, so that it needs no words of its own."""
    return np.broadcast_to((first == other).all(1)[:, None], other.shape)


def said_once(elements: Elements, question: Question, rows: Ints, words: list[int], slots: Ints) -> NDArray[np.bool_]:
    """Return which slots are a hop that is followed again, though two words of its label say it once: *release year*.

    The relation and its word are the same twice in *the parents of her parents*.
    """
    found = np.zeros(slots.shape, bool)
    known: dict[tuple[int, int, int], bool] = {}
    for a, b in combinations(range(rows.shape[1]), 2):
        is_again = (rows[:, a] == rows[:, b]) & (rows[:, a] >= 0) & (slots[:, a] >= 0) & (slots[:, b] >= 0)
        for row in np.flatnonzero(is_again).tolist():
            key = (int(elements.label[rows[row, a]]), words[slots[row, a]], words[slots[row, b]])
            if key not in known:
                one, other = (_parts_said(elements, key[0], question.tokens[at].word) for at in key[1:])
                known[key] = bool(one and other) and one.isdisjoint(other)
            found[row, b] = known[key]
    return found


def _parts_said(elements: Elements, label: int, word: str) -> set[str]:
    """Return the content words of a label that a word is a form of."""
    return {part for part in elements.labels.words[label] - FUNCTION_WORDS if related(stem(part), stem(word))}


def inversions(
    elements: Elements,
    question: Question,
    frame: CandidateFrame,
    rows: Ints,
    words: list[int],
    slots: Ints,
    back: NDArray[np.bool_],
) -> Floats:
    """Return how often words for later hops are closer to the topic than words for earlier hops.

    Distances are measured in two ways: in words, and with all words after the topic behind those before it. The words
    of two hops along one relation are taken in the better order, *directed by the director of X*, unless it joins nodes
    of one class: then they say the direction. Only the second way counts if the question asks at its end: *films by
    the director of X starred who*.
    """
    columns = rows.shape[1]
    if not words:
        return np.zeros(len(rows))
    word = slots.copy()
    for column in range(1, columns):  # a hop and the hop back may share a word
        pair = back[:, column - 1]
        word[:, column] = np.where(pair & (word[:, column] < 0), word[:, column - 1], word[:, column])
        word[:, column - 1] = np.where(pair & (word[:, column - 1] < 0), word[:, column], word[:, column - 1])
    at = np.maximum(rows, 0)
    is_choice = (elements.kind[at] == HOP) & (elements.class_before[at] != elements.class_of[at])
    label = np.where((rows >= 0) & is_choice, elements.label[at], -1)
    result = _inverted(question, frame, words, word)
    for a, b in combinations(range(columns), 2):
        is_same = (label[:, a] == label[:, b]) & (label[:, a] >= 0)
        if is_same.any():
            swapped = word.copy()
            swapped[:, a], swapped[:, b] = word[:, b], word[:, a]
            result = np.where(is_same, np.minimum(result, _inverted(question, frame, words, swapped)), result)
    return result


def _inverted(question: Question, frame: CandidateFrame, words: list[int], word: Ints) -> Floats:
    """Return :func:`inversions` for given words of the hops (-1: none)."""
    result: Floats = np.zeros(len(word))
    for topic, arm in zip(frame.topics, frame.arms, strict=True):
        if topic.mention is None:
            continue
        owned, before, after = _distances(question, topic)
        near = [owned.get(at, before.get(at, after.get(at, 0.0))) for at in words]
        ordered = [owned.get(at, before.get(at, 1_000.0 + at)) for at in words]
        is_last = question.asks_last(topic.mention.last)
        for weight, distances in ((1.0, ordered),) if is_last else ((0.6, near), (0.4, ordered)):
            distance = np.array(distances)[word]
            for a, b in combinations(range(arm.start, arm.stop), 2):
                known = (word[:, a] >= 0) & (word[:, b] >= 0)
                result += weight * (known & (distance[:, a] > distance[:, b]))
    return result


def _distances(question: Question, topic: Topic) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """Return the distance of tokens to a topic: of what it owns (``Ann 's mother 's job``), before it, and after it.

    Function words count half, articles nothing.
    """
    plain = [token.word for token in question.tokens]
    weights = [0.0 if w in ("the", "a", "an") else 0.5 if w in FUNCTION_WORDS else 1.0 for w in plain]
    assert topic.mention is not None
    owned: dict[int, float] = {}
    at = topic.mention.last
    while plain[at : at + 1] == ["s"]:
        at += 1
        while at < len(plain) and plain[at] != "s" and plain[at + 1 : at + 2] != ["s"] and plain[at] in FUNCTION_WORDS:
            at += 1
        if at < len(plain):
            owned[at] = 0.01 * len(owned)
        at += 1
    before, after, total = {}, {}, 0.0
    for at in range(topic.mention.first - 1, -1, -1):
        if at not in topic.words:
            total += weights[at]
            before[at] = total
    total = 0.4
    for at in range(topic.mention.last, len(plain)):
        if at not in topic.words:
            total += weights[at]
            after[at] = total
    return owned, before, after
