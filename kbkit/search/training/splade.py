"""Train a SPLADE model: in-batch and hard negatives, with a penalty on the number of words (Formal et al. 2021)."""

from __future__ import annotations

from typing import Any

from kbkit.search import splade
from kbkit.search.ranking import Ranking
from kbkit.search.training.fit import Training
from kbkit.search.training.trainer import TrainingParts

QUERY_WEIGHT, DOCUMENT_WEIGHT = 5e-5, 3e-5
"""Weights of the penalty (FLOPS) of queries and documents, those of sentence-transformers' examples."""


def parts(training: Training) -> TrainingParts:
    """Return what is trained: the head of a masked language model, max-pooled over the word pieces of a text."""
    from sentence_transformers import SparseEncoder, SparseEncoderTrainer, SparseEncoderTrainingArguments
    from sentence_transformers.sparse_encoder import losses, models

    settings = training.settings
    length = {"max_seq_length": settings.length} if settings.length else {}
    words = models.MLMTransformer(training.start, model_args={"local_files_only": True}, **length)
    model = SparseEncoder(modules=[words, models.SpladePooling("max")], device=settings.device or None)
    loss = losses.SpladeLoss(
        model,
        losses.SparseMultipleNegativesRankingLoss(model),
        document_regularizer_weight=DOCUMENT_WEIGHT,
        query_regularizer_weight=QUERY_WEIGHT,
    )

    def rank(current: Any) -> list[Ranking]:
        texts = splade.encoded(current, training.pool.texts, 2 * settings.batch)
        queries = splade.encoded(current, training.pool.queries, 2 * settings.batch, queries=True)
        return training.pool.ranked((queries @ texts.T).toarray())

    return TrainingParts(SparseEncoderTrainer, SparseEncoderTrainingArguments, model, loss, training.columns(), rank)
