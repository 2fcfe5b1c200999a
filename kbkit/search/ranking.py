"""Rankings (node ids and scores, best first) and their fusion. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.stores.arrays import distinct

METHODS = ("minmax", "rrf")

RRF_K = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


class Ranking(NamedTuple):
    """``ids`` (int64) and ``scores`` (float64) of equal length, by descending score, then by id."""

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]

    @staticmethod
    def of(ids: NDArray[np.int64], scores: NDArray[np.float64], k: int | None = None) -> Ranking:
        """Sort ids by score; return the ``k`` best (None: all)."""
        order = np.lexsort((ids, -scores))[:k]
        return Ranking(ids[order], scores[order])

    def cut(self, k: int) -> Ranking:
        """Return the ``k`` best."""
        return Ranking(self.ids[:k], self.scores[:k])

    def score_of(self, ids: NDArray[np.int64], missing: float = np.nan) -> NDArray[np.float64]:
        """Return the scores of ``ids``; ``missing`` for those that are not in the ranking."""
        if not len(self.ids):
            return np.full(len(ids), missing)
        order = np.argsort(self.ids)
        position = order[np.minimum(np.searchsorted(self.ids[order], ids), len(order) - 1)]
        return np.where(self.ids[position] == ids, self.scores[position], missing)


EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))


class QueryResult(NamedTuple):
    """The final ranking of a query, the ranking of each component, and the sorted ``named`` nodes that rank first.

    ``scored`` are the rankings of fused components in which each has also scored what the others found.
    """

    ranking: Ranking
    components: dict[str, Ranking]
    named: NDArray[np.int64] = EMPTY.ids
    scored: Mapping[str, Ranking] = MappingProxyType({})


def fuse(
    rankings: Sequence[Ranking], weights: Sequence[float], k: int, method: str = "minmax", constant: float = RRF_K
) -> Ranking:
    """Return the ``k`` best nodes by the weighted sum of their scores in each ranking (0: not in it).

    With ``minmax`` the score is scaled to 0 to 1; with ``rrf`` it is 1 / (``constant`` + rank), ranks from 1.
    """
    if not any(len(ranking.ids) for ranking in rankings):
        return EMPTY
    if method == "rrf":
        parts = [w / (constant + np.arange(1, len(r.ids) + 1)) for r, w in zip(rankings, weights, strict=True)]
    else:
        parts = [w * scaled(r.scores) for r, w in zip(rankings, weights, strict=True)]
    ids = union(rankings)
    positions = np.searchsorted(ids, np.concatenate([r.ids for r in rankings]))
    scores = np.bincount(positions, np.concatenate(parts), len(ids)).astype(np.float64)
    return Ranking.of(ids, scores, k)


def union(rankings: Iterable[Ranking]) -> NDArray[np.int64]:
    """Return the sorted ids of all rankings."""
    return distinct(np.concatenate([EMPTY.ids, *(ranking.ids for ranking in rankings)]))


def with_scores(ranking: Ranking, more: Ranking, ids: NDArray[np.int64]) -> Ranking:
    """Return a ranking of sorted ``ids`` by their scores in ``ranking`` or ``more``; the others have a score of 0.

    A node that full text does not find has a BM25 score of 0, and a node without a vector has no similarity.
    """
    scores = np.full(len(ids), min(0.0, float(ranking.scores.min(initial=0.0))))
    for part in (more, ranking):
        scores[np.searchsorted(ids, part.ids)] = part.scores
    return Ranking.of(ids, scores)


def scaled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale scores linearly so that the lowest is 0 and the highest 1 (all equal: 1)."""
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))
