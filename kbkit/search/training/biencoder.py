"""Train a bi-encoder as DPR does: negatives are the answers of the other questions of a batch, and hard ones."""

from __future__ import annotations

from typing import Any

from kbkit.search import biencoder
from kbkit.search.ranking import Ranking
from kbkit.search.training.fit import Training
from kbkit.search.training.trainer import TrainingParts


def parts(training: Training) -> TrainingParts:
    """Return what is trained: in-batch softmax over cosines (the loss of DPR, with temperature 0.05)."""
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        losses,
    )

    settings = training.settings
    model = SentenceTransformer(str(training.start), device=settings.device or None, local_files_only=True)
    if settings.length:
        model.max_seq_length = settings.length

    def rank(current: Any) -> list[Ranking]:
        texts = biencoder.encoded(current, training.pool.texts, settings.batch * 2)
        queries = biencoder.encoded(current, training.pool.queries, settings.batch * 2, queries=True)
        return training.pool.ranked(queries @ texts.T)

    return TrainingParts(
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        model,
        losses.MultipleNegativesRankingLoss(model),
        training.columns(),
        rank,
    )
