"""Train a cross-encoder on lists of an answer and hard negatives, validated by reranking the best nodes by full text.

Losses: ``listwise`` is the cross entropy of the distribution over a list (ListNet, Cao et al. 2007), ``pairwise`` the
logistic loss of the differences of scores (RankNet, Burges et al. 2005), ``pointwise`` that of each text alone.
"""

from __future__ import annotations

from typing import Any

from kbkit.search.ranking import Ranking
from kbkit.search.training.fit import Training
from kbkit.search.training.trainer import TrainingParts

_LOSSES = {"listwise": "ListNetLoss", "pairwise": "RankNetLoss", "pointwise": "BinaryCrossEntropyLoss"}


def parts(training: Training) -> TrainingParts:
    """Return what is trained: an encoder with one output for the pair of question and text."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments, losses

    settings = training.settings
    model = CrossEncoder(
        training.start,
        num_labels=1,
        max_length=settings.length or None,
        device=settings.device or None,
        local_files_only=True,
    )

    def rank(current: Any) -> list[Ranking]:
        return training.reranked(
            lambda pairs: current.predict(pairs, batch_size=4 * settings.batch, show_progress_bar=False)
        )

    return TrainingParts(
        CrossEncoderTrainer,
        CrossEncoderTrainingArguments,
        model,
        getattr(losses, _LOSSES[settings.loss])(model),
        _rows(training),
        rank,
        has_duplicates=True,
    )


def _rows(training: Training) -> dict[str, list[Any]]:
    pairs, texts = training.pairs.pairs, training.pairs.texts
    lists = [(pair.question.text, [texts[pair.positive], *(texts[node] for node in pair.negatives)]) for pair in pairs]
    if training.settings.loss == "pointwise":
        flat = [(query, text, float(at == 0)) for query, listed in lists for at, text in enumerate(listed)]
        return dict(zip(("query", "text", "label"), map(list, zip(*flat, strict=True)), strict=True))
    return {
        "query": [query for query, _ in lists],
        "docs": [listed for _, listed in lists],
        "labels": [[1.0] + [0.0] * (len(listed) - 1) for _, listed in lists],
    }
