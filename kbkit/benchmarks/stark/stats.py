"""Statistics of STaRK datasets: Tables 3 and 4 of the paper, and the numbers behind figures 4 and 5.

Words are split at white space and compared as written: "Yoga," and "yoga" are two types.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from kbkit.benchmarks.dataset import QUERIES, SPLITS, Bin
from kbkit.benchmarks.dataset import distribution as binned
from kbkit.benchmarks.stark.dataset import StarkDataset
from kbkit.display.charts import Chart

WORDS, ANSWERS = "words", "answers"
BINS: dict[str, tuple[Bin, ...]] = {
    WORDS: ((0, 5), *((low + 1, low + 5) for low in range(5, 50, 5)), (51, None)),
    ANSWERS: ((0, 0), (1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 30), (31, 50), (51, None)),
}
"""The bins of figure 4; the paper draws curves."""
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SEQUENCE = 4


@dataclass(frozen=True)
class StarkStatistics:
    """A frame for each table and figure, all with the column ``dataset``.

    * ``counts`` (Table 3): queries, several_answers (queries with more than one), average_answers, and the fractions of
      train, val and test; null without such a split
    * ``diversity`` (Table 4): tokens, types, entropy, type_token_ratio; and repeated_4grams, the fraction of the
      sequences of four words that occur elsewhere in the queries too (the paper has no such figure)
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
        """Return titles and frames to print: figure 4 with a column for each dataset, figure 5 if it is known."""
        shares = [
            (f"Figure 4: queries by number of {of}, in percent", self._shares(of).rename({"bin": of})) for of in BINS
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


def statistics(datasets: Sequence[StarkDataset]) -> StarkStatistics:
    """Compute the statistics of datasets."""
    sizes = [_sizes(dataset) for dataset in datasets]
    both = list(zip(datasets, sizes, strict=True))
    return StarkStatistics(
        pl.concat(counts(dataset, size) for dataset, size in both),
        pl.concat(diversity(dataset) for dataset in datasets),
        pl.concat(_lengths(dataset, size, of) for of in BINS for dataset, size in both),
        pl.concat(distribution(dataset, size, of) for of in BINS for dataset, size in both),
        pl.concat(composition(dataset) for dataset in datasets),
    )


def _sizes(dataset: StarkDataset) -> pl.DataFrame:
    """Return the numbers of words and of answers of each query."""
    answers = dataset.gold.relevant.group_by("query").agg(pl.len().alias(ANSWERS))
    words = pl.col("text").fill_null("").str.count_matches(r"\S+").alias(WORDS)
    sizes = dataset.gold.queries.select("query", words).join(answers, on="query", how="left", maintain_order="left")
    return sizes.with_columns(pl.col(WORDS, ANSWERS).fill_null(0).cast(pl.Int64))


def counts(dataset: StarkDataset, sizes: pl.DataFrame) -> pl.DataFrame:
    """Return Table 3 for a dataset: one row. Fractions are of all queries, including those in no split."""
    queries = dataset.gold.queries
    split = queries["split"] if "split" in queries.columns else pl.Series("split", [], pl.String)
    shares = {name: _ratio(int((split == name).sum()), sizes.height) if name in split else None for name in SPLITS}
    return sizes.select(
        pl.lit(dataset.name).alias("dataset"),
        pl.len().cast(pl.Int64).alias("queries"),
        (pl.col(ANSWERS) > 1).sum().cast(pl.Int64).alias("several_answers"),
        pl.col(ANSWERS).mean().alias("average_answers"),
        *(pl.lit(share, pl.Float64).alias(name) for name, share in shares.items()),
    )


def diversity(dataset: StarkDataset) -> pl.DataFrame:
    """Return Table 4 for a dataset: one row about the words of all queries.

    ``entropy`` is -sum p log2 p in bits, where p is the frequency of a type (appendix B does not name the base; base 2
    gives the paper's 10.39 for Amazon). ``type_token_ratio`` is types / tokens (appendix B); all queries of Amazon give
    0.110, the paper prints 0.179. ``repeated_4grams`` compares words without case and punctuation.
    """
    words = dataset.gold.queries["text"].fill_null("").str.extract_all(r"\S+").explode(empty_as_null=False)
    types = words.value_counts()["count"].sort()  # sorted for reproducible sums
    tokens = len(words)
    return pl.DataFrame(
        {
            "dataset": [dataset.name],
            "tokens": [tokens],
            "types": [len(types)],
            "entropy": [types.entropy(base=2) if tokens else None],
            "type_token_ratio": [_ratio(len(types), tokens)],
            "repeated_4grams": [_repeated(dataset.gold.queries["text"].fill_null("").to_list())],
        },
        schema={
            "dataset": pl.String,
            "tokens": pl.Int64,
            "types": pl.Int64,
            "entropy": pl.Float64,
            "type_token_ratio": pl.Float64,
            "repeated_4grams": pl.Float64,
        },
    )


def _repeated(texts: Sequence[str]) -> float | None:
    """Return the fraction of the sequences of four words that occur more than once."""
    words = [_WORD.findall(text.lower()) for text in texts]
    counts = Counter(tuple(own[at : at + _SEQUENCE]) for own in words for at in range(len(own) - _SEQUENCE + 1))
    return _ratio(sum(count for count in counts.values() if count > 1), counts.total())


def _lengths(dataset: StarkDataset, sizes: pl.DataFrame, of: str) -> pl.DataFrame:
    column = pl.col(of)
    return sizes.select(
        pl.lit(dataset.name).alias("dataset"),
        pl.lit(of).alias("of"),
        column.mean().alias("mean"),
        column.median().alias("median"),
        column.quantile(0.9, "nearest").alias("p90"),
        column.max().alias("most"),
    )


def distribution(dataset: StarkDataset, sizes: pl.DataFrame, of: str) -> pl.DataFrame:
    """Return the number of queries by words, or by answers (figure 4); empty bins included."""
    return binned([((dataset.name, of), sizes[of].to_list())], BINS[of], ("dataset", "of", "bin", "queries"))


def composition(dataset: StarkDataset) -> pl.DataFrame:
    """Return the mean fractions of a query's words that are relational and textual (figure 5): one row.

    The means are over the ``queries`` with such words; null if the dataset does not count them.
    """
    name = pl.lit(dataset.name).alias("dataset")
    if dataset.words is None:
        null = pl.lit(None, pl.Float64)
        return pl.select(name, queries=pl.lit(0, pl.Int64), relational=null, textual=null)
    total = pl.col("relational") + pl.col("textual")
    words = dataset.words.join(dataset.gold.queries, on="query", how="semi").filter(total > 0)
    return words.select(
        name,
        pl.len().cast(pl.Int64).alias("queries"),
        (pl.col("relational") / total).mean(),
        (pl.col("textual") / total).mean(),
    )


def _ratio(part: float, total: int) -> float | None:
    return part / total if total else None


def long(stats: StarkStatistics) -> pl.DataFrame:
    """Return all figures in one frame: dataset, metric, at (the bin of a distribution, else null), value."""
    lengths = stats.lengths.unpivot(index=["dataset", "of"], variable_name="metric")
    bins = stats.distribution.with_columns(pl.format("queries_by_{}", "of").alias("metric"))
    parts = [
        stats.counts.unpivot(index="dataset", variable_name="metric"),
        stats.diversity.unpivot(index="dataset", variable_name="metric"),
        lengths.with_columns(pl.format("{}_of_{}", "metric", "of").alias("metric")),
        bins.select("dataset", "metric", at="bin", value="queries"),
        stats.composition.select("dataset", "relational", "textual").unpivot(index="dataset", variable_name="metric"),
    ]
    position = {name: i for i, name in enumerate(stats.counts["dataset"])}
    combined = pl.concat((part.with_columns(pl.col("value").cast(pl.Float64)) for part in parts), how="diagonal")
    return combined.select("dataset", "metric", "at", "value").sort(
        pl.col("dataset").replace_strict(position), maintain_order=True
    )


def remarks(datasets: Sequence[StarkDataset]) -> list[str]:
    """Return remarks on the figures, one per line."""
    lines = []
    for dataset in datasets:
        queries = dataset.gold.queries
        if not dataset.human and dataset.words is None:
            lines.append(f"{dataset.name}: no {QUERIES}, so its relational and textual words are unknown (figure 5)")
        if not dataset.human and "split" not in queries.columns:
            lines.append(f"{dataset.name}: no split/*.index")
        elif "split" in queries.columns and (outside := queries["split"].null_count()):
            lines.append(f"{dataset.name}: {outside:,} of {queries.height:,} queries are in no split")
    return lines


def charts(stats: StarkStatistics) -> list[Chart]:
    """Return figure 4, and figure 5 if it is known."""
    drawn = []
    for of, title in ((WORDS, "Words per query"), (ANSWERS, "Answers per query")):
        bins = stats.distribution.filter(pl.col("of") == of)
        drawn.append(
            Chart(title, bins, "bin", "share", "dataset", percent=True, x_title=of, y_title="fraction of queries")
        )
    parts = stats.composition.drop_nulls().unpivot(
        ["relational", "textual"], index="dataset", variable_name="words", value_name="share"
    )
    if parts.height:
        title = "Relational and textual words"
        drawn.append(Chart(title, parts, "dataset", "share", "words", percent=True, stacked=True))
    return drawn
