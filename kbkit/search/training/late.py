"""Train a late-interaction model (ColBERT) with PyLate: in-batch and hard negatives, by the sum of best cosines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.search import late
from kbkit.search.ranking import Ranking
from kbkit.search.training.fit import Training
from kbkit.search.training.trainer import TrainingParts

QUERY_LENGTH = 64
"""Word pieces of a question, with those of its expansion by masks; ColBERT's 32 cut many of STaRK's questions."""


def parts(training: Training) -> TrainingParts:
    """Return what is trained: a vector per word piece, compared by the sum of the best cosines of the query's."""
    from pylate import losses, models, utils
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    settings = training.settings
    model = models.ColBERT(
        training.start,
        query_length=QUERY_LENGTH,
        document_length=settings.length or None,
        device=settings.device or None,
        local_files_only=True,
    )

    def rank(current: Any) -> list[Ranking]:
        texts = late.encoded(current, training.pool.texts, 2 * settings.batch)
        queries = late.encoded(current, training.pool.queries, 2 * settings.batch, queries=True)
        return training.pool.ranked(scores([one.numpy() for one in queries], [text.numpy() for text in texts]))

    return TrainingParts(
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        model,
        losses.Contrastive(model),
        training.columns(),
        rank,
        {"data_collator": utils.ColBERTCollator(model.tokenize)},
    )


def scores(queries: list[NDArray[np.float32]], texts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return a row per query, a column per text: the sum of the best products of the query's vectors in the text."""
    pieces = np.concatenate(texts)
    starts = np.cumsum([0, *(len(text) for text in texts[:-1])])
    return np.stack([np.maximum.reduceat(query @ pieces.T, starts, axis=1).sum(axis=0) for query in queries])
