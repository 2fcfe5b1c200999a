"""Rankings (node ids and scores, best first) and their fusion. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

METHODS = ("rrf", "minmax")

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


class Ranking(NamedTuple):
    """``ids`` (int64) and ``scores`` (float64) of the same length, scores falling, ties by id."""

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]

    @staticmethod
    def of(ids: NDArray[np.int64], scores: NDArray[np.float64], k: int | None = None) -> Ranking:
        """The ``k`` best, or all."""
        order = np.lexsort((ids, -scores))[:k]
        return Ranking(ids[order], scores[order])

    def cut(self, k: int) -> Ranking:
        """The ``k`` best."""
        return Ranking(self.ids[:k], self.scores[:k])

    def score_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores of ``ids``, NaN for those that are not in the ranking."""
        if not len(self.ids):
            return np.full(len(ids), np.nan)
        order = np.argsort(self.ids)
        place = order[np.minimum(np.searchsorted(self.ids[order], ids), len(order) - 1)]
        return np.where(self.ids[place] == ids, self.scores[place], np.nan)


EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))


class Ranked(NamedTuple):
    """The ranking of one query, and what its parts said: a ranking for each component."""

    ranking: Ranking
    parts: dict[str, Ranking]


def fuse(
    rankings: Sequence[Ranking], weights: Sequence[float], k: int, method: str = "rrf", constant: float = RRF_K
) -> Ranking:
    """One ranking of the ``k`` best nodes: a weighted sum of what each ranking gives them, 0 where it lacks them.

    ``rrf`` gives 1 / (``constant`` + rank), ranks from 1; ``minmax`` the score, scaled to 0 to 1 over the ranking.
    """
    if not any(len(ranking.ids) for ranking in rankings):
        return EMPTY
    if method == "rrf":
        parts = [w / (constant + np.arange(1, len(r.ids) + 1)) for r, w in zip(rankings, weights, strict=True)]
    else:
        parts = [w * scaled(r.scores) for r, w in zip(rankings, weights, strict=True)]
    ids, inverse = np.unique(np.concatenate([r.ids for r in rankings]), return_inverse=True)
    scores = np.bincount(inverse, np.concatenate(parts), len(ids)).astype(np.float64)
    return Ranking.of(ids, scores, k)


def scaled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores as parts of the way from the least (0) to the largest (1); all 1 where they are equal."""
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))
