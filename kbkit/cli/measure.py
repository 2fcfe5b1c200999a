"""Commands that score: measure ranking, sets, rows, lists, compare, convert."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.options import Format, Output
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A ranked run: TREC's or JSON lines.")]
GoldFile = Annotated[Path, typer.Argument(metavar="GOLD", help="The answers: JSON lines, qrels, QUEST's, STaRK's.")]
Predicted = Annotated[Path, typer.Argument(metavar="FILE", help="Predictions, or predictions and gold in one.")]
Beside = Annotated[Path | None, typer.Argument(metavar="[GOLD]", help="The gold, where it is a file of its own.")]
Measures = Annotated[
    list[str] | None, typer.Option("-m", "--measure", metavar="NAME", help="hit@K, recall@K, mrr, ...; repeat it.")
]
By = Annotated[list[str] | None, typer.Option("--by", metavar="COLUMN", help="Means by this column too; repeat it.")]
PerQuery = Annotated[bool, typer.Option("--per-query", help="The scores of each query in the place of means.")]
Split = Annotated[str, typer.Option("--split", metavar="NAME", help="Only this split of the queries.")]

measure_app = typer.Typer(
    help="Score runs, answer sets, result rows and answer lists; compare two runs.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    for command in (ranking, sets, rows, lists, compare, convert):
        measure_app.command()(command)
    app.add_typer(measure_app, name="measure")


def ranking(
    context: typer.Context,
    run: Run,
    gold: GoldFile,
    measure: Measures = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    format: Format = None,
    output: Output = None,
) -> None:
    """Ranked runs: hit@K, recall@K, mrr, map, ndcg@K, ... By default STaRK's four, map and ndcg@10."""
    from kbkit.measures import files
    from kbkit.measures import ranking as measures

    answers, found = files.read_gold(gold, split), files.read_run(run)
    scores = measures.measure(found, answers, measure or measures.DEFAULT)
    _remark(context, measures.remarks(found, answers))
    _write(context, scores, answers.queries, by, per_query, format, output)


def sets(
    context: typer.Context,
    run: Run,
    gold: GoldFile,
    k: Annotated[list[int] | None, typer.Option("-k", help="Also recall@K and mrecall@K; repeat it.")] = None,
    by: By = None,
    per_query: PerQuery = False,
    false_positives: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="How many constraints of their expression false positives fail in this KB, instead."
        ),
    ] = None,
    split: Split = "",
    format: Format = None,
    output: Output = None,
) -> None:
    """Answer sets: precision, recall and F1 of each query, and their means (QUEST)."""
    from kbkit.measures import files
    from kbkit.measures import sets as measures
    from kbkit.measures.ranking import remarks

    answers, found = files.read_gold(gold, split), files.read_run(run)
    scores = measures.measure(found, answers, k or ())
    _remark(context, remarks(found, answers))
    if false_positives is None:
        _write(context, scores, answers.queries, by, per_query, format, output)
        return
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase
    from kbkit.measures import false_positives as errors

    _refuse_both(by, per_query)
    with KnowledgeBase(false_positives) as kb:
        failures = errors.unmet(kb.session, found, answers)
    _remark(context, errors.remarks(failures))
    write(failures if per_query else errors.table(failures, answers.queries, by or ()), format, output)


def rows(
    context: typer.Context,
    file: Predicted,
    gold: Beside = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    format: Format = None,
    output: Output = None,
) -> None:
    """Result rows of queries such as SPARQL's: row-major exact match and F1 (SPINACH)."""
    from kbkit.measures import rows as measures

    records, scores, queries = _scored(measures, file, gold, split)
    _remark(context, measures.reasons(records, scores))
    _write(context, scores, queries, by, per_query, format, output)


def lists(
    context: typer.Context,
    file: Predicted,
    gold: Beside = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    format: Format = None,
    output: Output = None,
) -> None:
    """Lists of short answers: precision, recall, F1, and refusals where there is no answer (SKA-Bench)."""
    from kbkit.measures import lists as measures

    _, scores, queries = _scored(measures, file, gold, split)
    _write(context, scores, queries, by, per_query, format, output)


def compare(
    context: typer.Context,
    run: Run,
    other: Annotated[Path, typer.Argument(metavar="RUN", help="Another; its difference from the first is tested.")],
    gold: GoldFile,
    measure: Measures = None,
    by: By = None,
    per_query: PerQuery = False,
    split: Split = "",
    number: Annotated[int, typer.Option("-n", help="Resamples.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same.")] = 0,
    format: Format = None,
    output: Output = None,
) -> None:
    """Whether two runs differ: means, difference with its 95 % interval, p-values of two paired tests."""
    from kbkit.display.render import write
    from kbkit.measures import files, ranking
    from kbkit.measures import scores as tests

    _refuse_both(by, per_query)
    answers = files.read_gold(gold, split)

    def scores(path: Path) -> pl.DataFrame:
        found = files.read_run(path)
        _remark(context, (f"{path}: {line}" for line in ranking.remarks(found, answers)))
        return ranking.measure(found, answers, measure or ranking.DEFAULT)

    first, second = scores(run), scores(other)
    if per_query:
        write(_with_columns(tests.side_by_side(first, second), answers.queries), format, output)
        return
    compared = tests.compare_by(first, second, answers.queries, by or (), number, seed)
    _remark(context, tests.untested(compared))
    write(compared, format, output)


def convert(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="IN", help="A run, or answers.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Its ending names the form.")],
    kind: Annotated[str | None, typer.Option("--kind", help="run or gold, where IN leaves it open.")] = None,
    split: Split = "",
    tag: Annotated[str, typer.Option("--tag", help="The name of the system in a TREC run.")] = "kbkit",
) -> None:
    """Turn a run or answers into another form: TREC's (.trec, .qrels) or JSON (.jsonl, .json)."""
    from kbkit.errors import UnknownNameError
    from kbkit.measures import files

    chosen = kind or files.kind(source)
    if not chosen:
        raise KbError(f"cannot tell whether {source} holds a run or answers", "--kind run or --kind gold says so")
    if chosen not in ("run", "gold"):
        raise UnknownNameError("kind", chosen, ("run", "gold"))
    if chosen == "run":
        if split:
            raise KbError("a run has no splits", "leave --split out; the gold of a measure chooses queries")
        files.write_run(files.read_run(source), target, tag)
    else:
        _remark(context, files.write_gold(files.read_gold(source, split), target))


def _scored(measures: Any, file: Path, gold: Path | None, split: str) -> tuple[Any, pl.DataFrame, pl.DataFrame]:
    """The records of a file, read and measured by a module: records, scores, queries."""
    from kbkit.measures.frames import of_split

    records = measures.read(file, gold)
    queries = of_split(measures.queries(records), split, gold or file)
    scores = measures.measure(records).join(queries.select("query"), on="query", how="semi", maintain_order="left")
    return records, scores, queries


def _write(
    context: typer.Context,
    scores: pl.DataFrame,
    queries: pl.DataFrame,
    by: list[str] | None,
    per_query: bool,
    format: str | None,
    output: Path | None,
) -> None:
    """Print means, or each query's scores with the columns that it can be grouped by."""
    from kbkit.display.render import write
    from kbkit.measures.scores import summary, undefined

    if not per_query:
        _remark(context, undefined(scores))
        write(summary(scores, queries, by or ()), format, output)
        return
    _refuse_both(by, per_query)
    write(_with_columns(scores, queries), format, output)


def _with_columns(scores: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """Scores with the columns of their queries that are not called like a measure."""
    columns = queries.drop("text", *(name for name in scores.columns if name != "query"), strict=False)
    return columns.join(scores, on="query", how="inner", maintain_order="left")


def _refuse_both(by: list[str] | None, per_query: bool) -> None:
    if by and per_query:
        raise KbError("--by groups means, and --per-query has none", "give one of them")


def _remark(context: typer.Context, lines: Iterable[str]) -> None:
    if not context.obj.quiet:
        for line in lines:
            typer.echo(line, err=True)
