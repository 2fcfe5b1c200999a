"""Statistics of the queries of datasets: Tables 1, 6 and 7 of the paper, compared with its figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kbkit.benchmarks.dataset import distribution, run_names
from kbkit.benchmarks.report import DIFFERENCE, PAPER, beside
from kbkit.benchmarks.spinach import paper
from kbkit.benchmarks.spinach.features import Features, features, pattern, pids
from kbkit.benchmarks.spinach.files import QuestionFile, SparqlQuestion
from kbkit.benchmarks.spinach.paper import Published
from kbkit.display.charts import Chart
from kbkit.errors import QuerySyntaxError
from kbkit.sparql.parse import parse

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
    questions: tuple[SparqlQuestion, ...]
    features: tuple[Features, ...]
    patterns: tuple[str, ...]
    properties: tuple[frozenset[str], ...]
    unread: tuple[tuple[SparqlQuestion, str], ...]


def describe(datasets: Sequence[QuestionFile], published: str | None = None) -> list[Described]:
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


def _described(dataset: QuestionFile, name: str, published: Published | None) -> Described:
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
    """Return Table 1: dataset, figures, queries, and the means of the seven numbers.

    The means are over valid queries. The paper gives the number of queries only for SPINACH.
    """
    rows = []
    for one in described:
        numbers = pl.DataFrame([dataclasses.astuple(f) for f in one.features], schema=FEATURES, orient="row")
        rows.append((one.name, len(one.features), *numbers.select(pl.all().cast(pl.Float64).mean()).row(0)))
    schema = {"dataset": pl.String, "queries": pl.Int64, **dict.fromkeys(FEATURES, pl.Float64)}

    def printed(of: Published) -> tuple[object, ...] | None:
        return of.features and (of.patterns[0] if of.patterns else None, *of.features)

    return _beside(described, pl.DataFrame(rows, schema=schema, orient="row"), printed, difference=True)


def _beside(
    described: Sequence[Described],
    ours: pl.DataFrame,
    printed: Callable[[Published], Sequence[object] | None],
    *,
    difference: bool = False,
) -> pl.DataFrame:
    """Return rows of datasets with the paper's, which have the paper's names of the datasets."""
    known = {one.name: one.published for one in described if one.published}
    return beside(
        ours,
        ["dataset"],
        lambda name: printed(known[name]) if name in known else None,
        named=lambda name: (known[name].name,),
        difference=difference,
    )


def forms(described: Sequence[Described]) -> pl.DataFrame:
    """Return Table 6: dataset, figures, queries, unique_patterns, and their fraction of the queries.

    The paper prints 0.041 % for WikiWebQuestions, but 176 of 4,316 are 4.1 %.
    """
    rows = [(one.name, *_with_fraction(len(one.patterns), len(set(one.patterns)))) for one in described]
    counts = {"queries": pl.Int64, "unique_patterns": pl.Int64, "share": pl.Float64}
    ours = pl.DataFrame(rows, schema={"dataset": pl.String, **counts}, orient="row")
    return _beside(described, ours, lambda of: of.patterns and _with_fraction(*of.patterns))


def _with_fraction(total: int, part: int) -> tuple[int, int, float | None]:
    return total, part, part / total if total else None


def properties(described: Sequence[Described]) -> pl.DataFrame:
    """Return Table 7: dataset, figures, queries, unique_properties."""
    rows = [(one.name, len(one.properties), len(frozenset().union(*one.properties))) for one in described]
    counts = {"queries": pl.Int64, "unique_properties": pl.Int64}
    ours = pl.DataFrame(rows, schema={"dataset": pl.String, **counts}, orient="row")
    return _beside(described, ours, lambda of: of.properties)


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
    lines = []
    for one in described:
        if one.unread:
            count, of = len(one.unread), len(one.unread) + len(one.features)
            lines.append(f"{one.name}: {count:,} of {of:,} queries are invalid and left out:")
            lines += [f"{one.name}: {question.where} ({question.id}): {why}" for question, why in one.unread]
    return lines


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
    clauses = [((one.name,), [numbers.clauses for numbers in one.features]) for one in described]
    return distribution(clauses, BINS, ("dataset", "clauses", "queries"))
