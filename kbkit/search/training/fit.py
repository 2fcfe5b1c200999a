"""Train a system on questions, or export its training set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.assets.operations import check_settings
from kbkit.errors import KbError, MissingExtraError, UnknownNameError
from kbkit.search import model_folder, rerank
from kbkit.search.model_index import best
from kbkit.search.node_texts import NodeTexts
from kbkit.search.ranking import Ranking
from kbkit.search.system_kinds import KINDS, RERANKER, SystemKind, imported, is_installed
from kbkit.search.training import examples, starts, trainer, work
from kbkit.search.training.examples import PairTexts
from kbkit.search.training.questions import QuestionSplits
from kbkit.search.training.settings import RANDOM, TrainingSettings
from kbkit.search.training.trainer import TrainedModel, TrainingEvents
from kbkit.stores import Stores
from kbkit.stores.embedders import sentence_transformers
from kbkit.stores.model_files import revision

EXTRA, PACKAGES = "train", ("torch", "sentence_transformers", "accelerate", "datasets")
DEPTH = 100
"""Number of results that validation ranks per question."""
_TEXT_TO_TEXT = "text2text"
RERANKED = (5, 20)
"""Minimum and maximum number of results per question that validation reranks; 20 are STaRK's."""


class RerankedQuestion(NamedTuple):
    """A question, the ids of its best nodes by full text, and their texts."""

    text: str
    ids: NDArray[np.int64]
    texts: Sequence[str]


@dataclass(frozen=True)
class ValidationPool:
    """The texts that validation ranks, with the ids of their nodes (sorted), and the validation questions."""

    ids: NDArray[np.int64]
    texts: Sequence[str]
    queries: Sequence[str]

    def ranked(self, scores: NDArray[Any]) -> list[Ranking]:
        """Return the rankings by a row of scores per question, a column per text."""
        return [best(np.asarray(row), self.ids, DEPTH) for row in scores]


@dataclass(frozen=True)
class Training:
    """What a system is trained on: the questions, ``start`` (a name or folder of a model), and the settings."""

    kind: SystemKind
    splits: QuestionSplits
    settings: TrainingSettings
    start: str

    @cached_property
    def pairs(self) -> PairTexts:
        """The training pairs with hard negatives, and their texts."""
        return training_pairs(self.kind, self.splits, self.settings)

    @cached_property
    def candidates(self) -> list[RerankedQuestion]:
        """The validation questions with their best nodes by full text, which a reranker scores."""
        splits = self.splits
        depth = max(RERANKED[0], min(RERANKED[1], self.settings.pool // len(splits.validation)))
        rankings = examples.ranked(splits.stores, splits.validation, splits.within, depth)
        ids = sorted({node for ranking in rankings for node in ranking.tolist()})
        texts = dict(zip(ids, self.texts(ids), strict=True))
        both = list(zip(splits.validation, rankings, strict=True))
        if not any(np.isin(ranked, question.answers).any() for question, ranked in both):
            message = f"None of the {depth} best results of full text is an answer, for any validation question"
            raise KbError(message, "A reranker cannot be validated with such questions")
        return [
            RerankedQuestion(question.text, ranked, [texts[node] for node in ranked.tolist()])
            for question, ranked in both
        ]

    @cached_property
    def pool(self) -> ValidationPool:
        """What validation ranks."""
        ids = examples.pool(self.splits, self.settings)
        return ValidationPool(ids, self.texts(ids.tolist()), [question.text for question in self.splits.validation])

    def reranked(self, score: Callable[[list[tuple[str, str]]], Any]) -> list[Ranking]:
        """Return the rankings of :attr:`candidates` by a function that scores pairs of query and text."""
        pairs = [(question.text, text) for question in self.candidates for text in question.texts]
        scores = np.asarray(score(pairs), np.float64)
        ends = np.cumsum([len(question.ids) for question in self.candidates])[:-1]
        both = zip(self.candidates, np.split(scores, ends), strict=True)
        return [best(own_scores, question.ids, len(question.ids)) for question, own_scores in both]

    def texts(self, ids: Sequence[int]) -> list[str]:
        """Return the texts of nodes as the system reads them."""
        return texts_of(self.kind, self.splits.stores, self.settings, ids)

    @property
    def measured(self) -> int:
        """The number of texts that validation ranks."""
        if self.kind.role == RERANKER:
            return sum(len(one.ids) for one in self.candidates)
        return len(self.pool.ids)

    def columns(self) -> dict[str, list[str]]:
        """Return the pairs as columns: query, positive, negative_1, ... (texts)."""
        pairs, texts = self.pairs.pairs, self.pairs.texts
        columns = {
            "query": [pair.question.text for pair in pairs],
            "positive": [texts[pair.positive] for pair in pairs],
        }
        for at in range(len(pairs[0].negatives)):
            columns[f"negative_{at + 1}"] = [texts[pair.negatives[at]] for pair in pairs]
        return columns


def trained_kind(system: str) -> SystemKind:
    """Return the kind of a system that can be trained. Raises :class:`UnknownNameError` for another name."""
    known = {kind.name: kind for kind in KINDS if kind.trainer or kind.fits}
    if system not in known:
        raise UnknownNameError("system to train", system, known)
    return known[system]


def training_pairs(kind: SystemKind, splits: QuestionSplits, settings: TrainingSettings) -> PairTexts:
    """Return the training pairs of a system, with hard negatives and texts."""
    hard_pairs = examples.pairs(splits, settings, settings.negatives or kind.negatives, kind.at_random)
    ids = sorted({node for pair in hard_pairs for node in (pair.positive, *pair.negatives)})
    return PairTexts(hard_pairs, dict(zip(ids, texts_of(kind, splits.stores, settings, ids), strict=True)))


def texts_of(kind: SystemKind, stores: Stores, settings: TrainingSettings, ids: Sequence[int]) -> list[str]:
    """Return the texts of nodes as a kind of systems reads them: rerankers read them as candidates."""
    if kind.role == RERANKER:
        candidates = rerank.candidates(Session.of(stores), list(ids))
        return [(candidate if settings.neighbours else candidate.alone()).document() for candidate in candidates]
    return NodeTexts(stores, settings.neighbours).of(ids)


def export(system: str, splits: QuestionSplits, path: Path, settings: TrainingSettings) -> int:
    """Write the training set of a system as JSON lines; return the number of pairs. No model is needed."""
    check_settings(settings)
    splits.check()
    pairs = training_pairs(trained_kind(system), splits, settings)
    examples.export(pairs, path)
    return len(pairs.pairs)


def fit(
    system: str,
    splits: QuestionSplits,
    out: Path,
    settings: TrainingSettings | None = None,
    *,
    dataset: str = "",
    replace: bool = False,
    events: TrainingEvents | None = None,
) -> TrainedModel:
    """Train a system, and write its model to the new folder ``out``.

    An interrupted training is continued by the next call with the same settings; ``replace`` starts over, and replaces
    a model that is there. ``dataset`` is what the card calls the questions. Raises :class:`MissingExtraError` without
    the packages, and :class:`KbError` for questions that nothing can be learned from.
    """
    chosen, told = settings or TrainingSettings(), events or TrainingEvents()
    kind = trained_kind(system)
    require(kind)
    check_settings(chosen)
    work.check_out(out, replace=replace)
    splits.check()
    if kind.fits:
        fitted: TrainedModel = imported(kind.fits)(splits, out, chosen, dataset=dataset, events=told)
        return fitted
    start_revision = "" if chosen.initial == RANDOM else revision(chosen.initial)
    asked = {
        "system": system,
        "settings": asdict(chosen),
        "start": start_revision,
        "questions": _digest(splits),
        "generation": [splits.stores.schema.name, splits.stores.manifest.generation],
    }
    with trainer.quiet(), work.opened(out, asked, replace=replace) as place:
        start = _start(kind, chosen, splits, place.folder)
        training = Training(kind, splits, chosen, start)
        parts = imported(kind.trainer)(training)
        about = {
            "system": system,
            "dataset": dataset,
            "questions": {
                "train": len(splits.train),
                "validation": len(splits.validation),
                "pairs": len(training.pairs.pairs),
                "pool": training.measured,
            },
            "start": {"model": chosen.initial, "revision": start_revision},
            "kb": splits.stores.schema.name,
        }
        return trainer.run(
            place, parts, chosen, lambda rankings: splits.score(splits.validation, rankings), about, told
        )


def require(kind: SystemKind) -> None:
    """Raise :class:`MissingExtraError`, which names the extra, unless a system can be trained."""
    if kind.fits:
        kind.require()
        return
    if not all(map(is_installed, PACKAGES)):
        own = set(kind.packages).difference(PACKAGES, ("transformers",))  # which is a part of sentence-transformers
        extra = EXTRA if all(map(is_installed, own)) else f"{EXTRA},{kind.extra}"
        raise MissingExtraError(f"Training of the system {kind.name}", extra)
    kind.require()
    sentence_transformers()


def _start(kind: SystemKind, settings: TrainingSettings, splits: QuestionSplits, folder: Path) -> str:
    """Return the model to start from; a random one is written once to the folder of the training."""
    if settings.initial != RANDOM:
        if Path(settings.initial).is_dir():
            _check_start(kind, settings.initial, model_folder.read_about(Path(settings.initial)).get("system"))
        return settings.initial
    start = folder / RANDOM
    if not (start / "tokenizer.json").is_file():
        write = starts.write_text2text if kind.name == _TEXT_TO_TEXT else starts.write_start
        write(start, splits.stores, settings.seed, relations=settings.neighbours)
    return str(start)


def _check_start(kind: SystemKind, start: str, own: str | None) -> None:
    """Raise :class:`KbError` for a trained model that another kind of model is made from; ``own`` is its system."""
    if kind.name == _TEXT_TO_TEXT and own not in (None, _TEXT_TO_TEXT):
        message = f"Cannot start from {start}: a model for {own} does not write text"
        raise KbError(message, "Start from a T5 model, or from a model of text2text")
    if kind.name != _TEXT_TO_TEXT and own not in (None, "biencoder", "cross-encoder"):
        raise KbError(
            f"Cannot start from {start}: a model for {own} is not a plain encoder",
            "Start from an encoder, such as a model of biencoder",
        )


def _digest(splits: QuestionSplits) -> str:
    rows: Mapping[str, Any] = {"train": splits.train, "validation": splits.validation}
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()[:16]
