"""Joins rankings into one. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kbkit.search.ranking import Ranking

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


def reciprocal_rank(rankings: Sequence[Ranking], k: int, constant: int = RRF_K) -> Ranking:
    """Reciprocal rank fusion: a node's score is the sum over rankings of 1 / (constant + rank), ranks from 1."""
    ids, inverse = np.unique(np.concatenate([r.ids for r in rankings]), return_inverse=True)
    parts = np.concatenate([1.0 / (constant + np.arange(1, len(r.ids) + 1)) for r in rankings])
    scores = np.bincount(inverse, parts, len(ids)).astype(np.float64)
    order = np.lexsort((ids, -scores))[:k]
    return Ranking(ids[order], scores[order])
