"""Agreement of raters: the fraction of equal ratings, Cohen's kappa, weighted or not, and Fleiss' kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from kbkit.errors import KbError

Ratings = Mapping[Hashable, Hashable]
"""The ratings of one rater, by item."""


def cohen(first: Ratings, second: Ratings) -> tuple[int, float | None, float | None]:
    """Return the number of items that both rated, the fraction with equal ratings, and Cohen's kappa.

    kappa = (p_o - p_e) / (1 - p_e), where p_o is the observed agreement and p_e that of independent raters with the
    same frequencies (Cohen 1960). It is None if p_e is 1, as all ratings are equal, or if there are no items.
    """
    items = [item for item in first if item in second]
    if not items:
        return 0, None, None
    observed = sum(first[item] == second[item] for item in items) / len(items)
    one, two = (Counter(ratings[item] for item in items) for ratings in (first, second))
    expected = sum(one[rating] * two[rating] for rating in one) / len(items) ** 2
    return len(items), observed, None if expected == 1 else (observed - expected) / (1 - expected)


def fleiss(raters: Sequence[Ratings]) -> tuple[int, float | None, float | None]:
    """Return the number of items that all rated, the fraction on which all agree, and Fleiss' kappa.

    kappa = (P - P_e) / (1 - P_e), where P is the mean over the items of the fraction of pairs of raters that agree, and
    P_e the sum of the squared frequencies of the ratings (Fleiss 1971). It is None if P_e is 1 or without items. Raises
    :class:`KbError` for fewer than two raters.
    """
    count = len(raters)
    if count < 2:
        raise KbError(f"Agreement needs two raters, found {count}", "Let another rater annotate the dataset")
    items = [item for item in raters[0] if all(item in other for other in raters[1:])]
    if not items:
        return 0, None, None
    counts = [Counter(ratings[item] for ratings in raters) for item in items]
    unanimous = sum(len(of_item) == 1 for of_item in counts) / len(items)
    pairs = [sum(n * (n - 1) for n in of_item.values()) / (count * (count - 1)) for of_item in counts]
    total = sum(counts, Counter[Hashable]())
    expected = sum((n / (count * len(items))) ** 2 for n in total.values())
    observed = sum(pairs) / len(items)
    return len(items), unanimous, None if expected == 1 else (observed - expected) / (1 - expected)


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
