"""A ranking: node ids and scores, best first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ranking(NamedTuple):
    """``ids`` (int64) and ``scores`` (float64) of the same length, scores falling, ties by id."""

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]

    def score_of(self, ids: NDArray[np.int64]) -> list[float | None]:
        """The scores of ``ids``, None for those that are not in the ranking."""
        known = dict(zip(self.ids.tolist(), self.scores.tolist(), strict=True))
        return [known.get(i) for i in ids.tolist()]
