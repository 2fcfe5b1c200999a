"""Agreement of raters: the fraction of equal ratings, Cohen's and Fleiss' kappa (QUEST, section 3.3.3)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import polars as pl

from kbkit.errors import KbError

Ratings = Mapping[Hashable, Hashable]
"""The ratings of one rater, by item."""
SCALES = ("relevant or not", "four ratings")


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


def table(raters: Mapping[str, Mapping[Hashable, int]], relevant: int) -> pl.DataFrame:
    """Return the agreement of all raters, and of each two: scale, raters, measure, items, agreement, kappa.

    ``agreement`` is the fraction of items on which they agree. The first scale distinguishes ratings of ``relevant`` or
    more from the others, as the paper does, the second all ratings.
    """
    rows: list[tuple[str, str, str, int, float | None, float | None]] = []
    names = sorted(raters)
    for scale in SCALES:
        scaled: dict[str, Ratings] = {
            name: {item: rating >= relevant if scale == SCALES[0] else rating for item, rating in own.items()}
            for name, own in raters.items()
        }
        rows.append((scale, "all", "fleiss", *fleiss([scaled[name] for name in names])))
        for one, two in itertools.combinations(names, 2):
            rows.append((scale, f"{one}, {two}", "cohen", *cohen(scaled[one], scaled[two])))
    schema = {"scale": pl.String, "raters": pl.String, "measure": pl.String, "items": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, "agreement": pl.Float64, "kappa": pl.Float64}, orient="row")
