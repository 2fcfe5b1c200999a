"""Statistics of STaRK datasets: Tables 3 and 4 of the paper, and the numbers behind its figures 4 and 5.

Words are what white space separates, as it stands: "Yoga," is another type than "yoga".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from kbkit.benchmarks.stark.dataset import QUERIES, Dataset
from kbkit.display.charts import Chart
from kbkit.measures.stark import PARTS

WORDS, ANSWERS = "words", "answers"
_EDGES = {WORDS: tuple(range(5, 55, 5)), ANSWERS: (0, 1, 2, 5, 10, 20, 30, 50)}
"""The upper ends of the bins of figure 4; the paper draws curves."""


@dataclass(frozen=True)
class Statistics:
    """A frame for each table and figure, all with the column ``dataset``.

    * ``counts`` (Table 3): queries, several_answers (how many have more than one), average_answers, and the shares of
      train, val and test; null where there is no such split
    * ``diversity`` (Table 4): tokens, types, entropy, type_token_ratio
    * ``lengths`` (figure 4): of (words or answers of a query), mean, median, p90, most
    * ``distribution`` (figure 4): of, bin, queries, share
    * ``composition`` (figure 5): queries, relational, textual
    """

    counts: pl.DataFrame
    diversity: pl.DataFrame
    lengths: pl.DataFrame
    distribution: pl.DataFrame
    composition: pl.DataFrame

    def sections(self) -> list[tuple[str, pl.DataFrame]]:
        """Titles and frames for the eye: figure 4 with a column for each dataset, figure 5 if it is known."""
        shares = [
            (f"Figure 4: queries by their {of}, in percent", self._shares(of).rename({"bin": of})) for of in _EDGES
        ]
        known = self.composition.drop_nulls()
        return [
            ("Table 3: queries and answers", self.counts),
            ("Table 4: diversity of the queries", self.diversity),
            ("Figure 4: lengths", self.lengths),
            *shares,
            *([("Figure 5: relational and textual words", known)] if known.height else []),
        ]

    def _shares(self, of: str) -> pl.DataFrame:
        bins = self.distribution.filter(pl.col("of") == of).with_columns((pl.col("share") * 100).round(1))
        return bins.pivot("dataset", index="bin", values="share", maintain_order=True)


def statistics(datasets: Sequence[Dataset]) -> Statistics:
    """Compute all of them, a row or more for each dataset."""
    sizes = [_sizes(dataset) for dataset in datasets]
    both = list(zip(datasets, sizes, strict=True))
    return Statistics(
        pl.concat(counts(dataset, size) for dataset, size in both),
        pl.concat(diversity(dataset) for dataset in datasets),
        pl.concat(_lengths(dataset, size, of) for of in _EDGES for dataset, size in both),
        pl.concat(distribution(dataset, size, of) for of in _EDGES for dataset, size in both),
        pl.concat(composition(dataset) for dataset in datasets),
    )


def _sizes(dataset: Dataset) -> pl.DataFrame:
    """The lengths of each query, in words and in answers."""
    answers = dataset.gold.relevant.group_by("query").agg(pl.len().alias(ANSWERS))
    words = pl.col("text").fill_null("").str.count_matches(r"\S+").alias(WORDS)
    sizes = dataset.gold.queries.select("query", words).join(answers, on="query", how="left", maintain_order="left")
    return sizes.with_columns(pl.col(WORDS, ANSWERS).fill_null(0).cast(pl.Int64))


def counts(dataset: Dataset, sizes: pl.DataFrame) -> pl.DataFrame:
    """Table 3: one row. Shares are of all queries, those in no split too."""
    queries = dataset.gold.queries
    split = queries["split"] if "split" in queries.columns else pl.Series("split", [], pl.String)
    shares = {name: _share(int((split == name).sum()), sizes.height) if name in split else None for name in PARTS}
    return sizes.select(
        pl.lit(dataset.name).alias("dataset"),
        pl.len().cast(pl.Int64).alias("queries"),
        (pl.col(ANSWERS) > 1).sum().cast(pl.Int64).alias("several_answers"),
        pl.col(ANSWERS).mean().alias("average_answers"),
        *(pl.lit(share, pl.Float64).alias(name) for name, share in shares.items()),
    )


def diversity(dataset: Dataset) -> pl.DataFrame:
    """Table 4: one row, of the words of all queries as one text: N tokens of V types, p the share of a type among them.

    ``entropy`` is -sum p log2 p, in bits (appendix B, which leaves the base open: base 2 gives the paper's 10.39 for
    Amazon); ``type_token_ratio`` is V / N (appendix B). The paper's ratio for Amazon, 0.179, is of some other text: all
    of its queries give 0.110.
    """
    words = dataset.gold.queries["text"].fill_null("").str.extract_all(r"\S+").explode(empty_as_null=False)
    types = words.value_counts()["count"]
    tokens = len(words)
    return pl.DataFrame(
        {
            "dataset": [dataset.name],
            "tokens": [tokens],
            "types": [len(types)],
            "entropy": [types.entropy(base=2) if tokens else None],
            "type_token_ratio": [_share(len(types), tokens)],
        },
        schema={
            "dataset": pl.String,
            "tokens": pl.Int64,
            "types": pl.Int64,
            "entropy": pl.Float64,
            "type_token_ratio": pl.Float64,
        },
    )


def _lengths(dataset: Dataset, sizes: pl.DataFrame, of: str) -> pl.DataFrame:
    column = pl.col(of)
    return sizes.select(
        pl.lit(dataset.name).alias("dataset"),
        pl.lit(of).alias("of"),
        column.mean().alias("mean"),
        column.median().alias("median"),
        column.quantile(0.9, "nearest").alias("p90"),
        column.max().alias("most"),
    )


def distribution(dataset: Dataset, sizes: pl.DataFrame, of: str) -> pl.DataFrame:
    """Figure 4: how many queries have so many words, or answers; a row a bin, empty ones too."""
    edges = _EDGES[of]
    labels = [_bin(low + 1, high) for low, high in zip((-1, *edges), edges, strict=False)] + [f"{edges[-1] + 1}+"]
    bins = pl.Series("bin", labels).gather(pl.Series(edges).search_sorted(sizes[of], side="left"))
    held = bins.to_frame().group_by("bin").agg(pl.len())
    return (
        pl.DataFrame({"bin": labels})
        .join(held, on="bin", how="left", maintain_order="left")
        .select(
            pl.lit(dataset.name).alias("dataset"),
            pl.lit(of).alias("of"),
            "bin",
            pl.col("len").fill_null(0).cast(pl.Int64).alias("queries"),
            (pl.col("len").fill_null(0) / sizes.height).alias("share"),
        )
    )


def _bin(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def composition(dataset: Dataset) -> pl.DataFrame:
    """Figure 5: the mean share of a query's words that says something relational, and textual; one row.

    The mean is over the queries that have such words (``queries``); null where nothing tells.
    """
    name = pl.lit(dataset.name).alias("dataset")
    if dataset.words is None:
        nothing = pl.lit(None, pl.Float64)
        return pl.select(name, queries=pl.lit(0, pl.Int64), relational=nothing, textual=nothing)
    whole = pl.col("relational") + pl.col("textual")
    words = dataset.words.join(dataset.gold.queries, on="query", how="semi").filter(whole > 0)
    return words.select(
        name,
        pl.len().cast(pl.Int64).alias("queries"),
        (pl.col("relational") / whole).mean(),
        (pl.col("textual") / whole).mean(),
    )


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def long(found: Statistics) -> pl.DataFrame:
    """All figures in one frame: dataset, metric, at (the bin of a distribution; else null), value."""
    lengths = found.lengths.unpivot(index=["dataset", "of"], variable_name="metric")
    bins = found.distribution.with_columns(pl.format("queries_by_{}", "of").alias("metric"))
    parts = [
        found.counts.unpivot(index="dataset", variable_name="metric"),
        found.diversity.unpivot(index="dataset", variable_name="metric"),
        lengths.with_columns(pl.format("{}_of_{}", "metric", "of").alias("metric")),
        bins.select("dataset", "metric", at="bin", value="queries"),
        found.composition.select("dataset", "relational", "textual").unpivot(index="dataset", variable_name="metric"),
    ]
    place = {name: i for i, name in enumerate(found.counts["dataset"])}
    whole = pl.concat((part.with_columns(pl.col("value").cast(pl.Float64)) for part in parts), how="diagonal")
    return whole.select("dataset", "metric", "at", "value").sort(
        pl.col("dataset").replace_strict(place), maintain_order=True
    )


def remarks(datasets: Sequence[Dataset]) -> list[str]:
    """What a reader of the figures should know, a line each."""
    result = []
    for dataset in datasets:
        queries = dataset.gold.queries
        if not dataset.human and dataset.words is None:
            result.append(f"{dataset.name}: no {QUERIES}, which says what words of a query are relational (figure 5)")
        if not dataset.human and "split" not in queries.columns:
            result.append(f"{dataset.name}: no split/*.index")
        elif "split" in queries.columns and (outside := queries["split"].null_count()):
            result.append(f"{dataset.name}: {outside:,} of {queries.height:,} queries in no split")
    return result


def charts(found: Statistics) -> list[Chart]:
    """Figures 4 and 5; figure 5 only where a dataset tells."""
    drawn = []
    for of, what in ((WORDS, "Words of a query"), (ANSWERS, "Answers of a query")):
        bins = found.distribution.filter(pl.col("of") == of)
        drawn.append(
            Chart(what, bins, "bin", "share", "dataset", percent=True, x_title=of, y_title="share of the queries")
        )
    parts = found.composition.drop_nulls().unpivot(
        ["relational", "textual"], index="dataset", variable_name="words", value_name="share"
    )
    if parts.height:
        title = "Relational and textual words"
        drawn.append(Chart(title, parts, "dataset", "share", "words", percent=True, stacked=True))
    return drawn
