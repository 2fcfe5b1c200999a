"""Commands that score: measure ranking, sets, rows, lists, compare, convert."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.commands import add, group
from kbkit.cli.options import PerQuery, Rendering, Seed, argument, note, option
from kbkit.errors import KbError, Option, UnknownNameError

if TYPE_CHECKING:
    import polars as pl

Run = Annotated[Path, argument("RUN", "Ranked run: TREC, JSON lines, or csv for STaRK's leaderboard.")]
Gold = Annotated[Path, argument("GOLD", "Gold answers: JSON lines, qrels, or those of QUEST or STaRK.")]
Predictions = Annotated[Path, argument("FILE", "Predictions, with the gold answers or without them.")]
SeparateGold = Annotated[Path | None, argument("GOLD", "Gold answers, if they are in a separate file.")]
Measures = Annotated[list[str] | None, option("--measure NAME", "Measure: hit@K, recall@K, mrr, ...; repeatable.")]
By = Annotated[list[str] | None, option("--by COLUMN", "Also show means by this column; repeatable.")]
Split = Annotated[str, option("--split NAME", "Split of the dataset: train, val, test, ...")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    measure = group("Score, compare and convert results.")
    for command in (ranking, sets, rows, lists, compare, convert):
        add(measure, command)
    app.add_typer(measure, name="measure")


def ranking(
    context: typer.Context,
    run: Run,
    gold: Gold,
    measure: Measures = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    *,
    rendering: Rendering,
) -> None:
    """Score ranked runs.

    Default measures: those of STaRK (hit@1, hit@5, recall@20, mrr), map and ndcg@10.
    """
    from kbkit.measures import files
    from kbkit.measures import ranking as measures

    answers = files.read_gold(gold, split)
    found = files.read_run(run, answers)
    scores = measures.measure(found, answers, measure or measures.DEFAULT)
    note(context, measures.remarks(found, answers))
    _write(context, scores, answers.queries, by, per_query, rendering)


def sets(
    context: typer.Context,
    run: Run,
    gold: Gold,
    k: Annotated[list[int] | None, option("-k N", "Cutoff: also show recall@N and mrecall@N; repeatable.")] = None,
    by: By = None,
    per_query: PerQuery = False,
    false_positives: Annotated[
        Path | None,
        option(
            "--false-positives KB", "Instead of scores, count the constraints of this KB that false positives violate."
        ),
    ] = None,
    split: Split = "",
    *,
    rendering: Rendering,
) -> None:
    """Score answer sets by precision, recall and F1.

    Queries are scored one by one, then averaged, as in QUEST.
    """
    from kbkit.measures import files
    from kbkit.measures import sets as measures
    from kbkit.measures.ranking import remarks

    answers = files.read_gold(gold, split)
    found = files.read_run(run, answers)
    scores = measures.measure(found, answers, k or ())
    note(context, remarks(found, answers))
    if false_positives is None:
        _write(context, scores, answers.queries, by, per_query, rendering)
        return
    from kbkit.kb import KnowledgeBase
    from kbkit.measures import false_positives as errors

    _check_exclusive(by, per_query)
    with KnowledgeBase(false_positives) as kb:
        failures = errors.unmet(kb.session, found, answers)
    note(context, errors.remarks(failures))
    rendering.write(failures if per_query else errors.table(failures, answers.queries, by or ()))


def rows(
    context: typer.Context,
    file: Predictions,
    gold: SeparateGold = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    *,
    rendering: Rendering,
) -> None:
    """Score result rows of queries, such as SPARQL.

    Computes row-major exact match and F1, as in SPINACH.
    """
    from kbkit.measures import rows as measures

    records, scores, queries = _scored(measures, file, gold, split)
    note(context, measures.reasons(records, scores))
    _write(context, scores, queries, by, per_query, rendering)


def lists(
    context: typer.Context,
    file: Predictions,
    gold: SeparateGold = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    *,
    rendering: Rendering,
) -> None:
    """Score lists of short answers.

    Computes precision, recall and F1, and the rejection rate of questions without an answer, as in SKA-Bench.
    """
    from kbkit.measures import lists as measures

    _, scores, queries = _scored(measures, file, gold, split)
    _write(context, scores, queries, by, per_query, rendering)


def compare(
    context: typer.Context,
    run: Run,
    other: Annotated[Path, argument("RUN", "Run to compare with the first.")],
    gold: Gold,
    measure: Measures = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    resamples: Annotated[int, option("--resamples N", "Number of resamples.")] = 10_000,
    seed: Seed = 0,
    *,
    rendering: Rendering,
) -> None:
    """Test whether two runs differ.

    Shows means, their difference with a 95 % confidence interval, and the p-values of two paired tests.
    """
    from kbkit.measures import files, ranking
    from kbkit.measures import scores as tests

    _check_exclusive(by, per_query)
    answers = files.read_gold(gold, split)

    def scores(path: Path) -> pl.DataFrame:
        found = files.read_run(path, answers)
        note(context, (f"{path}: {line}" for line in ranking.remarks(found, answers)))
        return ranking.measure(found, answers, measure or ranking.DEFAULT)

    first, second = scores(run), scores(other)
    if per_query:
        rendering.write(_with_columns(tests.side_by_side(first, second), answers.queries))
        return
    compared = tests.compare_by(first, second, answers.queries, by or (), resamples, seed)
    note(context, tests.untested(compared))
    rendering.write(compared)


def convert(
    context: typer.Context,
    source: Annotated[Path, argument("IN", "Run or gold answers.")],
    target: Annotated[Path, argument("OUT", "Output file; its suffix selects the format.")],
    kind: Annotated[
        str | None,
        option("--kind KIND", "Kind of the input: run or gold (default: detected from IN)."),
    ] = None,
    split: Split = "",
    tag: Annotated[str, option("--tag NAME", "Name of the system in a TREC run.")] = "kbkit",
) -> None:
    """Convert a run or gold answers.

    Converts between TREC (.trec, .qrels) and JSON (.jsonl, .json). A run can also be a file for STaRK's leaderboard
    (.csv), with nodes by number.
    """
    from kbkit.measures import files

    chosen = kind or files.kind(source)
    if not chosen:
        raise KbError(
            f"Cannot tell whether {source} holds a run or gold answers",
            "Use ",
            Option("kind", "run"),
            " or ",
            Option("kind", "gold"),
        )
    if chosen not in ("run", "gold"):
        raise UnknownNameError("kind", chosen, ("run", "gold"))
    if chosen == "gold":
        note(context, files.write_gold(files.read_gold(source, split), target))
    elif split:
        raise KbError("A run has no splits", "Remove --split; the gold answers select the queries")
    else:
        files.write_run(files.read_run(source), target, tag)


def _scored(measures: Any, file: Path, gold: Path | None, split: str) -> tuple[Any, pl.DataFrame, pl.DataFrame]:
    """Read and score a file with a module of measures; return records, scores, queries."""
    from kbkit.measures.frames import of_split

    records = measures.read_predictions(file, gold)
    queries = of_split(measures.queries(records), split, gold or file)
    scores = measures.measure(records).join(queries.select("query"), on="query", how="semi", maintain_order="left")
    return records, scores, queries


def _write(
    context: typer.Context,
    scores: pl.DataFrame,
    queries: pl.DataFrame,
    by: list[str] | None,
    per_query: bool,
    rendering: Rendering,
) -> None:
    """Write means, or the scores of each query with its columns."""
    from kbkit.measures.scores import summary, undefined

    if not per_query:
        note(context, undefined(scores))
        rendering.write(summary(scores, queries, by or ()))
        return
    _check_exclusive(by, per_query)
    rendering.write(_with_columns(scores, queries))


def _with_columns(scores: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of the queries that are not named like a measure."""
    columns = queries.drop("text", *(name for name in scores.columns if name != "query"), strict=False)
    return columns.join(scores, on="query", how="inner", maintain_order="left")


def _check_exclusive(by: list[str] | None, per_query: bool) -> None:
    if by and per_query:
        raise KbError("Options --by and --per-query cannot be combined", "Remove one of them")
