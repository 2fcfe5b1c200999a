"""Retrieval by the similarity of embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kbkit.embed import Embedder
from kbkit.search.ranking import Ranking
from kbkit.stores.vectors import Vectors


def dense(
    vectors: Vectors, embedder: Embedder, query: str, k: int, within: NDArray[np.int64] | slice | None = None
) -> Ranking:
    """The ``k`` nodes (of ``within``, ids or a range) whose vector has the highest cosine with that of ``query``."""
    vector = embedder.embed([query])[0]
    if not vector.any():  # no word of the query is known to the model: it is like nothing
        return Ranking(np.empty(0, np.int64), np.empty(0, np.float64))
    return Ranking(*vectors.search(vector, k, within))
