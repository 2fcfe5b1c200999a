"""How far a confidence can be relied on: expected calibration error, and risk against coverage.

The expected calibration error puts n predictions into 10 bins of equal width by confidence and weighs the bins b by
their size: ECE = sum over b of n_b / n * |mean of right in b - mean confidence in b| (Naeini et al. 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

BINS = 10
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_LEAST = 1e-3
"""Distance of a confidence from 0 and 1 whose log odds are taken."""


class Risk(NamedTuple):
    """Of all questions, the fraction answered at a threshold of the confidence, and the fraction of these wrong."""

    threshold: float
    coverage: float
    error: float | None


def calibration_error(confidence: ArrayLike, right: ArrayLike, bins: int = BINS) -> float:
    """Return the expected calibration error."""
    known, outcome = np.asarray(confidence, float), np.asarray(right, float)
    at = np.minimum((known * bins).astype(int), bins - 1)
    gaps = np.bincount(at, outcome - known, bins)  # n_b * (mean of right - mean confidence)
    return float(np.abs(gaps).sum() / len(known))


def risk_coverage(
    confidence: ArrayLike, right: ArrayLike, answered: ArrayLike, thresholds: Sequence[float] = THRESHOLDS
) -> list[Risk]:
    """Return the risk at each threshold; ``answered`` are the questions that are not refused for other reasons."""
    known, outcome, open_ = np.asarray(confidence, float), np.asarray(right, bool), np.asarray(answered, bool)
    found = []
    for threshold in thresholds:
        chosen = open_ & (known >= threshold)
        error = float((~outcome[chosen]).mean()) if chosen.any() else None
        found.append(Risk(threshold, float(chosen.mean()), error))
    return found


def left_out(groups: Sequence[str], confidence: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    """Return the confidences recalibrated for each group on all others.

    The calibration is a logistic regression of right on the log odds of the confidence (Platt scaling).
    """
    from scipy.optimize import minimize

    known, outcome = np.clip(np.asarray(confidence, float), _LEAST, 1 - _LEAST), np.asarray(right, float)
    odds, of = np.log(known / (1 - known)), np.asarray(groups)
    found = np.zeros(len(known))
    for group in sorted(set(groups)):
        inside = of == group
        x, y = odds[~inside], outcome[~inside]

        def loss(weights: NDArray[np.float64], x: NDArray[np.float64] = x, y: NDArray[np.float64] = y) -> float:
            scores = weights[0] + weights[1] * x
            return float(np.logaddexp(0, scores).sum() - (y * scores).sum() + 1e-3 * (weights**2).sum())

        bias, slope = minimize(loss, np.array([0.0, 1.0])).x
        found[inside] = 1 / (1 + np.exp(-(bias + slope * odds[inside])))
    return found
