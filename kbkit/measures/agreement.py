"""Agreement of raters: the fraction of equal ratings, Cohen's kappa, weighted or not, and Fleiss' kappa."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

Ratings = Mapping[Any, Any]
"""The ratings of one rater, by item."""
Distance = Callable[[Any, Any], float]
"""How much two ratings differ; 0 for equal ones."""


class Agreement(NamedTuple):
    """The number of ``items`` that all raters rated, the fraction with equal ratings, and kappa; None if undefined."""

    items: int
    agreement: float | None
    kappa: float | None


def nominal(first: Hashable, second: Hashable) -> float:
    """Return 1 for different ratings, 0 for equal ones: the distance of categories without an order."""
    return float(first != second)


def quadratic(first: float, second: float) -> float:
    """Return the squared difference of two ratings: the usual distance of points on a scale."""
    return (first - second) ** 2


def cohen(first: Ratings, second: Ratings, distance: Distance = nominal) -> Agreement:
    """Return the agreement of two raters with Cohen's kappa.

    kappa = 1 - D_o / D_e, where D_o is the mean distance of the two ratings of an item, and D_e that of independent
    raters with the same frequencies (Cohen, Weighted kappa, Psychological Bulletin 70, 1968). With the distance
    :func:`nominal` it is (p_o - p_e) / (1 - p_e), where p_o and p_e are the observed and the expected fraction of equal
    ratings (Cohen, A coefficient of agreement for nominal scales, 1960). It is None if D_e is 0, as all ratings are
    equal, or if there are no items.
    """
    items = [item for item in first if item in second]
    if not items:
        return Agreement(0, None, None)
    count = len(items)
    pairs = Counter((first[item], second[item]) for item in items)
    one, two = (Counter(ratings[item] for item in items) for ratings in (first, second))
    equal = sum(n for (a, b), n in pairs.items() if a == b)
    observed = sum(n * distance(a, b) for (a, b), n in pairs.items()) / count
    expected = sum(n * m * distance(a, b) for a, n in one.items() for b, m in two.items()) / count**2
    return Agreement(count, equal / count, 1 - observed / expected if expected else None)


def fleiss(raters: Sequence[Ratings]) -> Agreement:
    """Return the agreement of two or more raters with Fleiss' kappa; the fraction is of items on which all agree.

    kappa = (P - P_e) / (1 - P_e), where P is the mean over the items of the fraction of pairs of raters that agree, and
    P_e the sum of the squared frequencies of the ratings (Fleiss, Measuring nominal scale agreement among many raters,
    Psychological Bulletin 76, 1971). It is None if P_e is 1 or without items. Raises :class:`KbError` for fewer than
    two raters.
    """
    count = len(raters)
    if count < 2:
        raise KbError(f"Agreement needs two raters, found {count}", "Let another rater annotate the dataset")
    items = [item for item in raters[0] if all(item in other for other in raters[1:])]
    if not items:
        return Agreement(0, None, None)
    counts = [Counter(ratings[item] for ratings in raters) for item in items]
    unanimous = sum(len(of_item) == 1 for of_item in counts) / len(items)
    pairs = [sum(n * (n - 1) for n in of_item.values()) / (count * (count - 1)) for of_item in counts]
    total = sum(counts, Counter[Hashable]())
    expected = sum((n / (count * len(items))) ** 2 for n in total.values())
    observed = sum(pairs) / len(items)
    return Agreement(len(items), unanimous, None if expected == 1 else (observed - expected) / (1 - expected))


def majority(rated: Iterable[Sequence[Hashable]], raters: int = 3) -> tuple[int, float | None]:
    """Return how many items that many ``raters`` rated, and the fraction on which most of them agree.

    ``rated`` are the ratings of each item; of more raters, the first ones count. None without such items.
    """
    complete = [Counter(ratings[:raters]) for ratings in rated if len(ratings) >= raters]
    if not complete:
        return 0, None
    return len(complete), sum(2 * max(counts.values()) > raters for counts in complete) / len(complete)


def agreement_table(
    column: str,
    parts: Mapping[str, Mapping[str, Ratings]],
    *,
    everyone: bool = True,
    distance: Distance = nominal,
) -> pl.DataFrame:
    """Return how the raters of each part agree, all of them (``everyone``) and each two.

    A part has the ratings by rater. The columns are ``column`` (the part), raters, measure (fleiss or cohen, the latter
    weighted with another ``distance`` than :func:`nominal`), items, agreement (the fraction of items with equal
    ratings), kappa. Raises :class:`KbError` for fewer than two raters if ``everyone`` is true.
    """
    import polars as pl

    measure = "cohen" if distance is nominal else "cohen, weighted"
    rows: list[tuple[str, str, str, int, float | None, float | None]] = []
    for part, raters in parts.items():
        names = sorted(raters)
        if everyone:
            rows.append((part, "all", "fleiss", *fleiss([raters[name] for name in names])))
        for one, two in itertools.combinations(names, 2):
            rows.append((part, f"{one}, {two}", measure, *cohen(raters[one], raters[two], distance)))
    texts = dict.fromkeys((column, "raters", "measure"), pl.String)
    numbers = {"items": pl.Int64, "agreement": pl.Float64, "kappa": pl.Float64}
    return pl.DataFrame(rows, schema={**texts, **numbers}, orient="row")
