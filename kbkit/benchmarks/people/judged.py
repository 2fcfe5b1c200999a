"""One grade of each node for each query, from the grades of several annotators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def judged(
    grades: Mapping[str, Mapping[tuple[str, ...], int]],
    texts: Mapping[str, str],
    decided: Mapping[tuple[str, ...], int] | None = None,
) -> pl.DataFrame:
    """Return the grade of each node by its annotators' grades by (query, node), and the queries' ``texts``.

    The columns are query, text, type, key, grade, annotators (their number). The grade is the median, rounded down:
    that of 2 and 0 is 1, that of 2 and 1 is 1. Grades in ``decided`` replace it.
    """
    import polars as pl

    given = [(*item, grade) for own in grades.values() for item, grade in own.items()]
    frame = pl.DataFrame(given, schema={"query": pl.String, "node": pl.String, "grade": pl.Int64}, orient="row")
    chosen = [(*item, grade) for item, grade in (decided or {}).items()]
    known = pl.DataFrame(chosen, {"query": pl.String, "node": pl.String, "decided": pl.Int64}, orient="row")
    median = pl.col("grade").median().floor().cast(pl.Int64)
    return (
        frame.filter(pl.col("query").is_in(list(texts)))
        .group_by("query", "node")
        .agg(median, annotators=pl.len().cast(pl.Int64))
        .join(known, on=["query", "node"], how="left")
        .with_columns(pl.coalesce("decided", "grade").alias("grade"))
        .sort(pl.col("query").cast(pl.Int64), -pl.col("grade"), "node")
        .select(
            "query",
            pl.col("query").replace_strict(texts, return_dtype=pl.String).alias("text"),
            pl.col("node").str.extract(r"^([^#]*)#").alias("type"),
            pl.col("node").str.replace(r"^[^#]*#", "").alias("key"),
            "grade",
            "annotators",
        )
    )
