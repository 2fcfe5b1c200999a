"""Log-linear models of a choice: which reading of a question is right, which hits of a query are relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def fitted(features: Any, sizes: Sequence[int], right: NDArray[np.bool_], start: Floats, penalties: Floats) -> Floats:
    """Return the weights that make the right options most probable.

    ``features`` (options x features, dense or sparse) has the options of one choice after another, ``sizes`` how many
    each choice has; in each, at least one is ``right``. The L2 ``penalties``, one for each weight, pull towards
    ``start``. The optimizer is L-BFGS.
    """
    from scipy.optimize import minimize

    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = features @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, offsets), sizes)
        odds = np.exp(scores)
        everything, good = np.add.reduceat(odds, offsets), np.add.reduceat(odds * right, offsets) + 1e-30
        slope = odds / np.repeat(everything, sizes) - odds * right / np.repeat(good, sizes)
        moved = weights - start
        value = float(-np.log(good / everything).sum() + penalties @ moved**2)
        return value, features.T @ slope + 2 * penalties * moved

    weights: Floats = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return weights
