"""What the queries of datasets are like: Tables 1, 6 and 7 of the paper, with its figures beside ours."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kbkit.benchmarks.spinach import paper, patterns
from kbkit.benchmarks.spinach.features import Features, features
from kbkit.benchmarks.spinach.files import Dataset, Question
from kbkit.benchmarks.spinach.paper import Published
from kbkit.display.charts import Chart
from kbkit.errors import QuerySyntaxError
from kbkit.sparql.parse import parse

HERE, PAPER, DIFFERENCE = "here", "paper", "difference"
"""What a row's figures are: of the file, printed in the paper, the first less the second."""
BINS = ((1, 3), (4, 6), (7, 9), (10, 12), (13, 15), (16, 18), (19, None))
"""Clauses, in the chart of their spread."""
FEATURES = tuple(field.name for field in dataclasses.fields(Features))


@dataclass(frozen=True)
class Described:
    """A dataset's queries: those that parse, with their numbers, forms and properties, and those that do not, with why.

    ``published`` is what the paper says of the dataset, if it knows it.
    """

    name: str
    published: Published | None
    questions: tuple[Question, ...]
    features: tuple[Features, ...]
    patterns: tuple[str, ...]
    properties: tuple[frozenset[str], ...]
    unread: tuple[tuple[Question, str], ...]


def describe(datasets: Sequence[Dataset], published: str | None = None) -> list[Described]:
    """Read the queries of datasets and count what is in them.

    ``published`` names the dataset of the paper that they are (``none``: none); else that is told by the files' names.
    Datasets whose files are called alike are called by their paths.
    """
    stems = Counter(dataset.path.stem for dataset in datasets)
    names = [d.path.stem if stems[d.path.stem] == 1 else str(d.path) for d in datasets]
    return [_described(one, name, known(one.path, published)) for one, name in zip(datasets, names, strict=True)]


def known(path: Path, name: str | None = None) -> Published | None:
    """What the paper says of a dataset: of the one called ``name`` (``none``: of none), else as its file is called."""
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
        tuple(patterns.pattern(tree) for _, tree in read),
        tuple(frozenset(patterns.pids(tree)) for _, tree in read),
        tuple(unread),
    )


# -- tables -----------------------------------------------------------------------------------------------------------


def sizes(described: Sequence[Described]) -> pl.DataFrame:
    """Table 1: dataset, figures (:data:`HERE`, ...), queries, and the means of the seven numbers over those that parse.

    The paper does not say of how many queries its means are, except SPINACH's.
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
    """Table 6: dataset, figures, queries, unique_patterns, and their share of the queries.

    The paper prints 0.041 % for WikiWebQuestions, whose 176 of 4,316 are 4.1 %.
    """
    rows: list[tuple[object, ...]] = []
    for one in described:
        rows.append(_row(one, HERE, len(one.patterns), _with_share(len(set(one.patterns)), len(one.patterns))))
        if one.published and one.published.patterns:
            size, unique = one.published.patterns
            rows.append(_row(one, PAPER, size, _with_share(unique, size)))
    counts = {"queries": pl.Int64, "unique_patterns": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema={"dataset": pl.String, "figures": pl.String, **counts}, orient="row")


def _with_share(part: int, whole: int) -> tuple[int, float | None]:
    return part, part / whole if whole else None


def properties(described: Sequence[Described]) -> pl.DataFrame:
    """Table 7: dataset, figures, queries, unique_properties."""
    rows: list[tuple[object, ...]] = []
    for one in described:
        rows.append(_row(one, HERE, len(one.properties), [len(frozenset().union(*one.properties))]))
        if one.published and one.published.properties:
            size, unique = one.published.properties
            rows.append(_row(one, PAPER, size, [unique]))
    counts = {"queries": pl.Int64, "unique_properties": pl.Int64}
    return pl.DataFrame(rows, schema={"dataset": pl.String, "figures": pl.String, **counts}, orient="row")


def per_query(described: Sequence[Described]) -> pl.DataFrame:
    """A row a query that parses: dataset, query, the seven numbers, properties (how many), pattern."""
    rows = [
        (one.name, question.id, *dataclasses.astuple(numbers), len(pids), pattern)
        for one in described
        for question, numbers, pids, pattern in zip(
            one.questions, one.features, one.properties, one.patterns, strict=True
        )
    ]
    counts = dict.fromkeys((*FEATURES, "properties"), pl.Int64)
    return pl.DataFrame(
        rows, schema={"dataset": pl.String, "query": pl.String, **counts, "pattern": pl.String}, orient="row"
    )


def remarks(described: Sequence[Described]) -> list[str]:
    """What a reader of the tables should know: queries that do not parse, each with the reason."""
    result = []
    for one in described:
        if one.unread:
            count, of = len(one.unread), len(one.unread) + len(one.features)
            result.append(f"{one.name}: {count:,} of {of:,} queries cannot be read, and are in no table:")
            result += [f"{one.name}: {question.where} ({question.id}): {why}" for question, why in one.unread]
    return result


# -- charts -----------------------------------------------------------------------------------------------------------


def charts(described: Sequence[Described]) -> list[Chart]:
    """Table 1 as bars, and how many queries have so many clauses."""
    means = sizes(described).filter(pl.col("figures") != DIFFERENCE)
    label = pl.when(pl.col("figures") == PAPER).then(pl.format("{} (paper)", "dataset")).otherwise("dataset")
    bars = means.with_columns(label.alias("dataset")).unpivot(FEATURES, index="dataset", variable_name="of")
    title, shares = "Queries by their clauses", spread(described)
    return [
        Chart("Table 1: how large queries are", bars, "of", "value", "dataset", x_title=" ", y_title="mean"),
        Chart(title, shares, "clauses", "share", "dataset", percent=True, y_title="share of the queries"),
    ]


def spread(described: Sequence[Described]) -> pl.DataFrame:
    """How many queries have so many clauses: dataset, clauses (a bin), queries, share; bins without any too."""
    rows = []
    for one in described:
        for low, high in BINS:
            held = sum(low <= f.clauses <= (high or f.clauses) for f in one.features)
            name = f"{low}-{high}" if high else f"{low}+"
            rows.append((one.name, name, held, held / len(one.features) if one.features else None))
    schema = {"dataset": pl.String, "clauses": pl.String, "queries": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
