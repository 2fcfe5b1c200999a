"""Train a SPLADE model: in-batch and hard negatives, with a penalty on the number of words (Formal et al. 2021).

A head that has not been trained gives all words of the vocabulary about the same weight, from which a few hundred
questions teach nothing. So it is set to give a text the weights of its own words, from which training goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kbkit.search import splade
from kbkit.search.ranking import Ranking
from kbkit.search.training.fit import Training
from kbkit.search.training.settings import RANDOM
from kbkit.search.training.trainer import TrainingParts

QUERY_WEIGHT, DOCUMENT_WEIGHT = 5e-5, 3e-5
"""Weights of the penalty (FLOPS) of queries and documents, those of sentence-transformers' examples."""
_WORDS, _SAMPLE = 3, 16
"""Words of the vocabulary that a word piece has a weight for at the start, and texts on which that is measured."""


def parts(training: Training) -> TrainingParts:
    """Return what is trained: the head of a masked language model, max-pooled over the word pieces of a text."""
    from sentence_transformers import SparseEncoder, SparseEncoderTrainer, SparseEncoderTrainingArguments
    from sentence_transformers.sparse_encoder import losses, models

    settings = training.settings
    length = {"max_seq_length": settings.length} if settings.length else {}
    words = models.MLMTransformer(training.start, model_args={"local_files_only": True}, **length)
    if training.settings.initial == RANDOM or not _has_head(Path(training.start)):
        _weigh_own_words(words, training.pool.texts[:_SAMPLE])
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


def _has_head(folder: Path) -> bool:
    """Return whether the weights in a folder have a head that predicts words."""
    from safetensors import safe_open

    path = folder / "model.safetensors"
    if not path.is_file():
        return True
    with safe_open(str(path), "pt") as weights:
        return any("predictions" in name or "lm_head" in name or "vocab_" in name for name in weights.keys())  # noqa: SIM118


def _weigh_own_words(words: Any, texts: Sequence[str]) -> None:
    """Make the head of a BERT compare each piece of a text with the vocabulary, and keep the most similar words.

    The transformation becomes the identity, and the bias the similarity of the third most similar word, on average.
    """
    import torch

    head = getattr(getattr(words.auto_model, "cls", None), "predictions", None)
    if head is None:  # not a BERT
        return
    dense, norm = head.transform.dense, head.transform.LayerNorm
    with torch.no_grad():
        for weight, value in (
            (dense.weight, torch.eye(len(dense.weight))),
            (norm.weight, torch.ones(len(norm.weight))),
        ):
            weight.copy_(value)
        for bias in (dense.bias, norm.bias, head.bias):
            bias.zero_()
        words.eval()
        found = words.tokenize(list(texts))
        logits = words.auto_model(**{name: found[name] for name in ("input_ids", "attention_mask")}).logits
        head.bias.fill_(-logits[found["attention_mask"] > 0].topk(_WORDS, 1).values[:, -1].mean())
        words.train()
