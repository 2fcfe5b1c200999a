"""Learn from examples, questions with their answers, how a KB's questions are worded.

A log-linear model over the candidate readings of each question: the weights of the features, and a weight for each
(stem, relation, place). Training maximizes the probability of the readings that give the right answers, with L-BFGS and
an L2 penalty that pulls towards the weights that kbkit ships.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.answer_set import AnswerSet
from kbkit.errors import KbError, plural
from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.lexicon import Floats, stem
from kbkit.questions.log_linear import fitted
from kbkit.questions.read import Read
from kbkit.questions.reader import QuestionReader
from kbkit.questions.scoring import WEIGHTS, places
from kbkit.questions.taught import Learned, change
from kbkit.stores import Stores

FOLDS = 5
MIN_EXAMPLES = 10
PENALTIES = ((0.1, 0.05), (1.0, 0.2), (10.0, 0.2), (10.0, 1.0), (1000.0, 0.3))
"""L2 penalties of the weights of features and of words that are tried; held-out questions decide."""
_NORMAL = 1.959964
"""The 97.5% quantile of the normal distribution."""
_MIN_F1 = 0.5
"""Least F1 of the answers of a reading that training takes for the right one, if none is exactly right."""


@dataclass(frozen=True)
class TrainingPair:
    """A question and its answers: names or keys of nodes, or values."""

    question: str
    answers: frozenset[str]


@dataclass(frozen=True)
class TrainingExample:
    """The readings of a question: ``features`` (readings x features), word features as (reading, number) pairs, and
    which readings are right.
    """

    features: Floats
    rows: NDArray[np.int64]
    words: NDArray[np.int64]
    right: NDArray[np.bool_]


def learn(
    stores: Stores, pairs: Iterable[TrainingPair], progress: Callable[[int, int], None] | None = None
) -> tuple[Learned, bool]:
    """Learn from pairs and write the result to the workspace, if held-out questions are answered better.

    Returns what was learned, with the fraction of held-out questions that are answered exactly before and after, and
    whether it was kept. All questions about one topic, the node that they name, are in one fold, so that no answer is
    known from another question. ``progress`` is called with (done, total).
    """
    known = list(pairs)
    if len(known) < MIN_EXAMPLES:
        raise KbError(f"Too few examples: {plural(len(known), 'pair')}", f"Learning needs {MIN_EXAMPLES} or more")
    reader = QuestionReader(stores)
    reader.use(None)
    vocabulary: dict[tuple[str, str, int], int] = {}
    examples, topics = [], []
    for number, pair in enumerate(known):
        examples.append(example(reader, pair, vocabulary))
        topics.append(topic(reader, pair.question))
        if progress:
            progress(number + 1, len(known))
    start = np.array(list(WEIGHTS.values()))
    before = sum(int(e.right[_best(e, start, np.zeros(len(vocabulary)))]) for e in examples if e is not None)
    folds = split(topics)
    held_out = np.array([_held_out(examples, folds, start, len(vocabulary), penalty) for penalty in PENALTIES])
    after = estimate(held_out)
    penalty = PENALTIES[int(held_out.sum(1).argmax())]
    weights, words = fit([e for e in examples if e is not None], start, len(vocabulary), penalty)
    table = [(*key, round(float(words[n]), 4)) for key, n in vocabulary.items() if abs(words[n]) > 0.02]
    groups = len(set(topics))
    low, high = interval(after / len(known), groups)
    learned = Learned(
        dict(zip(WEIGHTS, np.round(weights, 4).tolist(), strict=True)),
        table,
        len(known),
        before / len(known),
        after / len(known),
        groups,
        round(low, 4),
        round(high, 4),
    )
    is_better = after > before
    if is_better:
        change(stores, lambda taught: replace(taught, learned=learned))
        QuestionReader.renew(stores)
    return learned, is_better


def topic(reader: QuestionReader, question: str) -> str:
    """Return what a question is about: the longest name in it, or else its words."""
    read = reader.read(question)
    names = [mention.text.casefold() for mention in read.mentions if mention.is_sure]
    return max(names, key=len, default="") or " ".join(token.word for token in read.question.tokens)


def split(topics: Sequence[str]) -> list[int]:
    """Return the fold of each question: those of one topic are in one fold, and the folds have about the same size."""
    sizes = dict.fromkeys(range(FOLDS), 0)
    folds: dict[str, int] = {}
    for name, count in sorted(Counter(topics).items(), key=lambda item: (-item[1], item[0])):
        folds[name] = min(sizes, key=lambda fold: (sizes[fold], fold))
        sizes[folds[name]] += count
    return [folds[name] for name in topics]


def estimate(held_out: NDArray[np.int64]) -> int:
    """Return the number of held-out questions that are answered right, given it by penalty and fold.

    Each fold has the penalty that is best on the other folds: the best penalty on all folds would promise too much.
    """
    others = held_out.sum(1, keepdims=True) - held_out
    return int(held_out[others.argmax(0), np.arange(held_out.shape[1])].sum())


def interval(fraction: float, count: int) -> tuple[float, float]:
    """Return the 95% interval of a fraction of ``count`` independent outcomes: the score interval of Wilson (1927)."""
    z2 = _NORMAL**2
    middle = (fraction + z2 / (2 * count)) / (1 + z2 / count)
    half = _NORMAL / (1 + z2 / count) * math.sqrt(fraction * (1 - fraction) / count + z2 / (4 * count**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _held_out(
    examples: Sequence[TrainingExample | None],
    folds: Sequence[int],
    start: Floats,
    count: int,
    penalty: tuple[float, float],
) -> list[int]:
    """Return for each fold the number of questions that are answered right by weights learned from the other folds."""
    right = []
    for fold in range(FOLDS):
        training = [e for e, of in zip(examples, folds, strict=True) if of != fold and e is not None]
        weights, words = fit(training, start, count, penalty)
        held = (e for e, of in zip(examples, folds, strict=True) if of == fold and e is not None)
        right.append(sum(int(e.right[_best(e, weights, words)]) for e in held))
    return right


def example(
    reader: QuestionReader, pair: TrainingPair, vocabulary: dict[tuple[str, str, int], int]
) -> TrainingExample | None:
    """Return the readings of a question as an example; None if none of them is right."""
    read = reader.read(pair.question)
    scores = np.array([f1(texts(reader, reading), pair.answers) for reading in read.readings])
    if not len(scores) or scores.max() < _MIN_F1:
        return None
    rows, words = _word_features(reader, read, vocabulary)
    features = np.array([reading.features for reading in read.readings])
    return TrainingExample(features, rows, words, scores >= scores.max() - 1e-9)


def texts(reader: QuestionReader, reading: ChainReading) -> set[str]:
    """Return the answers of a reading as they are compared: names, or values as text."""
    return answer_texts(reader.stores, reading.answers) if reading.has_answers else set()


def answer_texts(stores: Stores, answers: AnswerSet) -> set[str]:
    """Return answers as they are compared: names, or values as text."""
    value = answers.value
    if value is not None:
        return {as_text(item) for item in (value if isinstance(value, list) else [value])}
    return {stores.nodes.name(node) for node in answers.ids.tolist()}


def as_text(value: Any) -> str:
    """Return a value as text; whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def f1(found: set[str], answers: frozenset[str]) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2 * len(found & answers) / (len(found) + len(answers)) if found and answers else 0.0


def _word_features(
    reader: QuestionReader, read: Read, vocabulary: dict[tuple[str, str, int], int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, numbers = [], []
    for number, reading in enumerate(read.readings):
        row = reading.frame.elements[reading.row : reading.row + 1]
        place = places(reader.elements, row)[0]
        stems = {stem(read.question.tokens[at].word) for at in reading.scored.words}
        for column, element in enumerate(row[0].tolist()):
            if element >= 0:
                for word in stems:
                    key = (word, reader.elements.all[element].name, int(place[column]))
                    rows.append(number)
                    numbers.append(vocabulary.setdefault(key, len(vocabulary)))
    return np.array(rows, np.int64), np.array(numbers, np.int64)


def fit(
    examples: Sequence[TrainingExample], start: Floats, count: int, penalty: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the weights of the features and of ``count`` word features that make the right readings most probable."""
    from scipy.sparse import csr_matrix, hstack

    if not examples:
        return start, np.zeros(count)
    sizes = [len(e.right) for e in examples]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    features = np.concatenate([e.features for e in examples])
    rows = np.concatenate([e.rows + offset for e, offset in zip(examples, offsets, strict=True)])
    columns = np.concatenate([e.words for e in examples])
    words = csr_matrix((np.ones(len(rows)), (rows, columns)), (len(features), count))
    right = np.concatenate([e.right for e in examples])
    penalties = np.repeat(penalty, (len(start), count))
    table = hstack([csr_matrix(features), words], format="csr")
    found = fitted(table, sizes, right, np.concatenate([start, np.zeros(count)]), penalties)
    return found[: len(start)], found[len(start) :]


def _best(held: TrainingExample, weights: Floats, words: Floats) -> int:
    """Return the number of the reading with the highest score."""
    scores = held.features @ weights
    np.add.at(scores, held.rows, words[held.words])
    return int(scores.argmax())
