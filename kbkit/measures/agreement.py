"""Agreement of two raters on an ordered scale: Cohen's weighted kappa."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def weighted_kappa(first: Sequence[int], second: Sequence[int], levels: int) -> float | None:
    """Return kappa of two lists of ratings from 1 to ``levels``, weighted by the squared difference.

    1 - sum(w O) / sum(w E), where O counts pairs of ratings, E is their expected number if the raters were independent,
    and w is (i - j)^2. 1 is perfect agreement, 0 that of chance. None if it is undefined: without ratings, or if both
    raters always gave the same one. Source: Cohen, Weighted kappa, Psychological Bulletin 70, 1968.
    """
    pairs = np.zeros((levels, levels))
    np.add.at(pairs, (np.asarray(first, int) - 1, np.asarray(second, int) - 1), 1)
    weights = np.subtract.outer(np.arange(levels), np.arange(levels)) ** 2
    total = pairs.sum()
    expected = float((weights * np.outer(pairs.sum(1), pairs.sum(0))).sum() / total) if total else 0.0
    return 1 - float((weights * pairs).sum()) / expected if expected else None
