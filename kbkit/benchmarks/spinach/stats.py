"""Statistics of the queries of datasets: Tables 1, 6 and 7 of the paper, compared with its figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kbkit.benchmarks.dataset import bin_counts, run_names
from kbkit.benchmarks.spinach import paper
from kbkit.benchmarks.spinach.features import Features, features, pattern, pids
from kbkit.benchmarks.spinach.files import Dataset, Question
from kbkit.benchmarks.spinach.paper import Published
from kbkit.display.charts import Chart
from kbkit.errors import QuerySyntaxError
from kbkit.sparql.parse import parse

HERE, PAPER, DIFFERENCE = "here", "paper", "difference"
"""The figures of a row: of the file, of the paper, and their difference."""
BINS = ((1, 3), (4, 6), (7, 9), (10, 12), (13, 15), (16, 18), (19, None))
"""Bins of numbers of clauses, for the chart."""
FEATURES = tuple(field.name for field in dataclasses.fields(Features))


@dataclass(frozen=True)
class Described:
    """A dataset's queries: valid ones with features, patterns and properties, and invalid ones with the error.

    ``published`` are the paper's figures for the dataset, if any.
    """

    name: str
    published: Published | None
    questions: tuple[Question, ...]
    features: tuple[Features, ...]
    patterns: tuple[str, ...]
    properties: tuple[frozenset[str], ...]
    unread: tuple[tuple[Question, str], ...]


def describe(datasets: Sequence[Dataset], published: str | None = None) -> list[Described]:
    """Parse the queries of datasets and compute their features.

    ``published`` names the dataset of the paper (``none``: no figures of the paper); by default the files' names do.
    Datasets whose files have the same stem are named by paths.
    """
    names = run_names([dataset.path for dataset in datasets])
    return [_described(one, name, known(one.path, published)) for one, name in zip(datasets, names, strict=True)]


def known(path: Path, name: str | None = None) -> Published | None:
    """Return the paper's figures for a dataset: by ``name`` (``none``: no figures), or else by the file's name."""
    if name is None:
        return paper.named(path)
    return None if name == "none" else paper.called(name)


def _described(dataset: Dataset, name: str, published: Published | None) -> Described:
    read, unread = [], []
    for question in dataset.questions:
        try:
            read.append((question, parse(question.sparql)))
        except QuerySyntaxError as error:
            unread.append((question, str(error)))
    return Described(
        name,
        published,
        tuple(question for question, _ in read),
        tuple(features(tree) for _, tree in read),
        tuple(pattern(tree) for _, tree in read),
        tuple(frozenset(pids(tree)) for _, tree in read),
        tuple(unread),
    )


# -- tables -----------------------------------------------------------------------------------------------------------


def sizes(described: Sequence[Described]) -> pl.DataFrame:
    """Return Table 1: dataset, figures (:data:`HERE`, ...), queries, and the means of the seven numbers.

    The means are over valid queries. The paper gives the number of queries only for SPINACH.
    """
    parts = []
    for one in described:
        numbers = pl.DataFrame([dataclasses.astuple(f) for f in one.features], schema=FEATURES, orient="row")
        means = numbers.select(pl.all().cast(pl.Float64).mean()).rows()[0]
        printed = one.published.features if one.published else None
        rows = [_row(one, HERE, len(one.features), means)]
        if printed:
            size = one.published.patterns[0] if one.published and one.published.patterns else None
            rows.append(_row(one, PAPER, size, printed))
            rows.append(_row(one, DIFFERENCE, None, [_less(a, b) for a, b in zip(means, printed, strict=True)]))
        parts += rows
    schema = {"dataset": pl.String, "figures": pl.String, "queries": pl.Int64, **dict.fromkeys(FEATURES, pl.Float64)}
    return pl.DataFrame(parts, schema=schema, orient="row")


def _row(one: Described, figures: str, size: int | None, values: Sequence[object]) -> tuple[object, ...]:
    name = one.published.name if figures == PAPER and one.published else one.name
    return (name, figures, size, *values)


def _less(a: float | None, b: float) -> float | None:
    return None if a is None else round(a - b, 4)


def forms(described: Sequence[Described]) -> pl.DataFrame:
    """Return Table 6: dataset, figures, queries, unique_patterns, and their fraction of the queries.

    The paper prints 0.041 % for WikiWebQuestions, but 176 of 4,316 are 4.1 %.
    """
    rows: list[tuple[object, ...]] = []
    for one in described:
        rows.append(_row(one, HERE, len(one.patterns), _with_fraction(len(set(one.patterns)), len(one.patterns))))
        if one.published and one.published.patterns:
            size, unique = one.published.patterns
            rows.append(_row(one, PAPER, size, _with_fraction(unique, size)))
    counts = {"queries": pl.Int64, "unique_patterns": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema={"dataset": pl.String, "figures": pl.String, **counts}, orient="row")


def _with_fraction(part: int, total: int) -> tuple[int, float | None]:
    return part, part / total if total else None


def properties(described: Sequence[Described]) -> pl.DataFrame:
    """Return Table 7: dataset, figures, queries, unique_properties."""
    rows: list[tuple[object, ...]] = []
    for one in described:
        rows.append(_row(one, HERE, len(one.properties), [len(frozenset().union(*one.properties))]))
        if one.published and one.published.properties:
            size, unique = one.published.properties
            rows.append(_row(one, PAPER, size, [unique]))
    counts = {"queries": pl.Int64, "unique_properties": pl.Int64}
    return pl.DataFrame(rows, schema={"dataset": pl.String, "figures": pl.String, **counts}, orient="row")


def per_query(described: Sequence[Described]) -> pl.DataFrame:
    """Return a row per valid query: dataset, query, the seven numbers, number of properties, pattern."""
    rows = [
        (one.name, question.id, *dataclasses.astuple(numbers), len(used), form)
        for one in described
        for question, numbers, used, form in zip(one.questions, one.features, one.properties, one.patterns, strict=True)
    ]
    counts = dict.fromkeys((*FEATURES, "properties"), pl.Int64)
    return pl.DataFrame(
        rows, schema={"dataset": pl.String, "query": pl.String, **counts, "pattern": pl.String}, orient="row"
    )


def remarks(described: Sequence[Described]) -> list[str]:
    """Return remarks on the tables: invalid queries, each with the reason."""
    result = []
    for one in described:
        if one.unread:
            count, of = len(one.unread), len(one.unread) + len(one.features)
            result.append(f"{one.name}: {count:,} of {of:,} queries are invalid and left out:")
            result += [f"{one.name}: {question.where} ({question.id}): {why}" for question, why in one.unread]
    return result


# -- charts -----------------------------------------------------------------------------------------------------------


def charts(described: Sequence[Described]) -> list[Chart]:
    """Return Table 1 as bars, and the number of queries by number of clauses."""
    means = sizes(described).filter(pl.col("figures") != DIFFERENCE)
    label = pl.when(pl.col("figures") == PAPER).then(pl.format("{} (paper)", "dataset")).otherwise("dataset")
    bars = means.with_columns(label.alias("dataset")).unpivot(FEATURES, index="dataset", variable_name="of")
    title, shares = "Queries by number of clauses", spread(described)
    return [
        Chart("Table 1: sizes of queries", bars, "of", "value", "dataset", x_title=" ", y_title="mean"),
        Chart(title, shares, "clauses", "share", "dataset", percent=True, y_title="fraction of queries"),
    ]


def spread(described: Sequence[Described]) -> pl.DataFrame:
    """Return the number of queries by number of clauses: dataset, clauses (a bin), queries, share.

    Empty bins are included.
    """
    rows = [
        (one.name, *counted) for one in described for counted in bin_counts([f.clauses for f in one.features], BINS)
    ]
    schema = {"dataset": pl.String, "clauses": pl.String, "queries": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
