"""Figures of the paper (Malaviya et al., QUEST, ACL 2023) that kbkit shows beside its own."""

from __future__ import annotations

import polars as pl

from kbkit.benchmarks.report import below, published
from kbkit.measures.scores import ALL

TABLES = (3, 4, 5)
"""Tables of systems whose rows can be shown below ours."""


def with_paper(number: int, ours: pl.DataFrame) -> pl.DataFrame:
    """Return a table of ours (3 to 5, :mod:`kbkit.benchmarks.quest.evaluate`), then the rows that the paper prints.

    The column ``figures`` says whose figures a row has. Table 5 is of the paper's best system, by template and domain;
    its domains have columns of their own.
    Null is what our text of the paper does not have: F1 in Table 3, MRecall@1000 in Table 4, the column for all domains
    in Table 5.
    """
    keys = {"system": pl.String, **({"template": pl.String} if number == 5 else {})}
    rows = [
        {"system": system, **({"template": part} if number == 5 else {}), **cells}
        for (system, part), cells in published("quest").of(str(number)).items()
    ]
    measured = {name: pl.Float64 for row in rows for name in row if name not in keys}
    kept = list(keys) + [name for name in measured if number == 5 or name in ours.columns]
    theirs = pl.DataFrame(rows, schema={**keys, **measured}).select(kept)
    both = below(ours, theirs)
    last = [ALL] if ALL in ours.columns else []
    return both.select(pl.exclude(last), *last)
