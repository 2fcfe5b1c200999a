"""Pairs of a question and an answer with hard negatives: what full text ranks high and is no answer (DPR, section 3.2).

No model is needed, so that the pairs can be exported for other programs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.directory.files import write_files
from kbkit.errors import Command, KbError
from kbkit.search.hybrid import Search
from kbkit.search.training.questions import QuestionSplits, TrainingQuestion
from kbkit.search.training.settings import TrainingSettings
from kbkit.stores import Stores
from kbkit.stores.arrays import Within

_BATCH = 200


class HardPair(NamedTuple):
    """A question, one of its answers, and nodes that are none, best first by full text."""

    question: TrainingQuestion
    positive: int
    negatives: tuple[int, ...]


@dataclass(frozen=True)
class PairTexts:
    """Pairs and the texts of their nodes by id."""

    pairs: Sequence[HardPair]
    texts: dict[int, str]


def ranked(
    stores: Stores, questions: Sequence[TrainingQuestion], within: Within, depth: int
) -> list[NDArray[np.int64]]:
    """Return the ``depth`` best nodes of each question by full text."""
    if not stores.has("text"):
        raise KbError("Hard negatives need full text", "Run ", Command("build KB text"))
    search = Search.of(Session.of(stores), "bm25", depth, within, None, None, {"quotes": False})
    rankings: list[NDArray[np.int64]] = []
    for start in range(0, len(questions), _BATCH):
        parsed = [search.parse(question.text) for question in questions[start : start + _BATCH]]
        rankings += [result.ranking.ids for result in search.unnamed(parsed)]
    return rankings


def pairs(splits: QuestionSplits, settings: TrainingSettings, count: int, at_random: float = 0.0) -> list[HardPair]:
    """Return pairs of the training questions with ``count`` hard negatives each; the same for the same seed.

    ``at_random`` is the fraction of the negatives that is drawn from all nodes that are searched instead.

    A question has at most ``settings.positives`` pairs. Negatives are drawn from the ``settings.depth`` best nodes by
    full text that are no answers; where these are too few, from all nodes that are searched.
    """
    rng = np.random.default_rng(settings.seed)
    everything = _all(splits)
    rankings = ranked(splits.stores, splits.train, splits.within, settings.depth)
    hard_pairs = []
    for question, ranking in zip(splits.train, rankings, strict=True):
        answers = np.array(question.answers, np.int64)
        hard = ranking[~np.isin(ranking, answers)]
        chosen = rng.permutation(answers)[: settings.positives]
        for positive in np.sort(chosen).tolist():
            best = count - int(at_random * count)
            hard_pairs.append(HardPair(question, positive, _drawn(rng, hard, everything, answers, count, best)))
    return hard_pairs


def _drawn(
    rng: np.random.Generator,
    hard: NDArray[np.int64],
    everything: NDArray[np.int64],
    answers: NDArray[np.int64],
    count: int,
    best: int,
) -> tuple[int, ...]:
    """Return ``count`` distinct negatives: ``best`` hard ones in their order, then others at random."""
    drawn = hard
    if len(hard):
        drawn = hard[np.sort(rng.choice(len(hard), min(best, len(hard)), replace=False))]
    if len(drawn) < count:
        others = everything[~np.isin(everything, np.concatenate([answers, drawn]))]
        if len(others) < count - len(drawn):
            raise KbError(f"Too few nodes for {count} negatives of a question", "Use fewer negatives")
        drawn = np.concatenate([drawn, rng.choice(others, count - len(drawn), replace=False)])
    return tuple(drawn.tolist())


def _all(splits: QuestionSplits) -> NDArray[np.int64]:
    if splits.within is None:
        return np.arange(splits.stores.schema.nodes, dtype=np.int64)
    return np.asarray(splits.within, dtype=np.int64)


def pool(splits: QuestionSplits, settings: TrainingSettings) -> NDArray[np.int64]:
    """Return the sorted ids that validation ranks: all answers, then the best by full text, then others at random.

    At most ``settings.pool``, unless there are more answers; all nodes if there are no more.
    """
    everything = _all(splits)
    if len(everything) <= settings.pool:
        return everything
    chosen = np.unique(np.concatenate([np.array(question.answers, np.int64) for question in splits.validation]))
    rankings = ranked(splits.stores, splits.validation, splits.within, settings.depth)
    for rank in range(settings.depth):  # the first of all questions, then the second
        best = np.unique(np.array([one[rank] for one in rankings if rank < len(one)], np.int64))
        new = best[~np.isin(best, chosen)][: max(0, settings.pool - len(chosen))]
        chosen = np.union1d(chosen, new)
    left = everything[~np.isin(everything, chosen)]
    more = max(0, min(settings.pool - len(chosen), len(left)))
    drawn = np.random.default_rng(settings.seed).choice(left, more, replace=False)
    pooled: NDArray[np.int64] = np.union1d(chosen, drawn)
    return pooled


def export(training_pairs: PairTexts, path: Path) -> None:
    """Write pairs as JSON lines: id, query, positive (a text), negatives (texts)."""
    lines = [
        {
            "id": pair.question.id,
            "query": pair.question.text,
            "positive": training_pairs.texts[pair.positive],
            "negatives": [training_pairs.texts[node] for node in pair.negatives],
        }
        for pair in training_pairs.pairs
    ]
    write_files({path: "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)})
