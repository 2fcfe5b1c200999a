"""Agreement of the raters of a dataset (QUEST, section 3.3.3)."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping

import polars as pl

from kbkit.measures.agreement import Ratings, cohen, fleiss

SCALES = ("relevant or not", "four ratings")


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
