"""Measures of answer sets (QUEST, sections 4.2 and 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from kbkit.errors import KbError, UnknownNameError
from kbkit.measures.frames import MAX_K, RUN, Gold, ordered
from kbkit.measures.ranking import check_overlap

EMPTY = ("zero", "skip")
"""The precision of a query for which nothing is predicted: 0, or undefined and left out of the mean."""


def check_empty(how: str) -> None:
    """Raise :class:`UnknownNameError` unless ``how`` is one of :data:`EMPTY`."""
    if how not in EMPTY:
        raise UnknownNameError("precision of an empty prediction", how, EMPTY)


def measure(
    predicted: pl.DataFrame | Mapping[str, Iterable[str]], gold: Gold, ks: Sequence[int] = (), *, empty: str = "skip"
) -> pl.DataFrame:
    """Score predicted sets: a row per query of ``gold`` with precision, recall, f1, and recall@k, mrecall@k for each k.

    ``predicted`` is a run, or the nodes of each query, best first. Precision is the fraction of predicted nodes that
    are answers; if nothing is predicted it is null, or with ``empty="zero"`` 0, as in QUEST's own script. Recall is the
    fraction of answers that are predicted, f1 = 2 |both| / (|predicted| + |answers|) their harmonic mean (0 for an
    empty prediction). recall@k uses only the first k nodes; mrecall@k is 1 if all answers are among them, else 0, hence
    0 for a query with more than k answers. All measures of a query without answers are null; a query without prediction
    predicts nothing. Raises :class:`KbError` if no query is in both.
    """
    check_empty(empty)
    for k in ks:
        if not 1 <= k <= MAX_K:
            raise KbError(f"Invalid cutoff: {k}", f"Use 1 to {MAX_K:,}")
    run = predicted if isinstance(predicted, pl.DataFrame) else _run(predicted)
    check_overlap(run, gold)
    answers = gold.relevant
    ranked = ordered(run).with_columns(rank=pl.int_range(1, pl.len() + 1).over("query"))
    hits = ranked.join(answers, on=["query", "node"], how="semi")
    within = [(pl.col("rank") <= k).sum().alias(f"_hits@{k}") for k in dict.fromkeys(ks)]
    counts = (
        gold.queries.select("query")
        .join(answers.group_by("query").agg(_gold=pl.len()), on="query", how="left", maintain_order="left")
        .join(ranked.group_by("query").agg(_all=pl.len()), on="query", how="left", maintain_order="left")
        .join(
            hits.group_by("query").agg(pl.len().alias("_hits"), *within), on="query", how="left", maintain_order="left"
        )
        .with_columns(pl.exclude("query", "_gold").fill_null(0))  # null answers make the scores null
    )
    both, size, right = pl.col("_hits"), pl.col("_all"), pl.col("_gold")
    known = right.is_not_null()
    columns = [
        pl.when(known & (size > 0)).then(both / size).when(known & (empty == "zero")).then(0.0).alias("precision"),
        (both / right).alias("recall"),
        (2 * both / (size + right)).alias("f1"),
    ]
    for k in dict.fromkeys(ks):
        here = pl.col(f"_hits@{k}")
        columns += [(here / right).alias(f"recall@{k}"), (here == right).cast(pl.Float64).alias(f"mrecall@{k}")]
    return counts.select("query", *columns)


def _run(sets: Mapping[str, Iterable[str]]) -> pl.DataFrame:
    """Return sets as a run, in their order."""
    rows = [(query, node, -float(i)) for query, nodes in sets.items() for i, node in enumerate(nodes, 1)]
    return pl.DataFrame(rows, schema=RUN, orient="row")
