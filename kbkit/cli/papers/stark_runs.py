"""Commands that run and score systems on STaRK datasets: stark run, eval."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import NO_MODELS, ModelOptions
from kbkit.cli.options import Format, Kb, Output, Restart, Seed, Types, note
from kbkit.cli.papers.arguments import StarkDataset, StarkSplit
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.stark.evaluate import Result, Runner
    from kbkit.benchmarks.stark.task import Task
    from kbkit.llm.calls import Calls
    from kbkit.measures.frames import Gold

Fraction = Annotated[
    float, typer.Option("--sample", metavar="FRACTION", help="Fraction of the queries to use, drawn at random.")
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        "-m",
        metavar="MODE",
        help="Search mode: bm25, dense, multivector, hybrid or relational (default: all); repeatable.",
    ),
]


# -- run and eval -----------------------------------------------------------------------------------------------------


def run(
    context: typer.Context,
    kb: Kb,
    dataset: StarkDataset,
    split: StarkSplit = "test",
    mode: Modes = None,
    k: Annotated[int, typer.Option("-k", metavar="N", help="Number of results per query.")] = 100,
    types: Types = None,
    sample: Fraction = 1.0,
    seed: Seed = 0,
    runs: Annotated[
        Path | None, typer.Option("--runs", metavar="FOLDER", help="Output folder of the runs (see kbkit stark eval).")
    ] = None,
    latency: Annotated[
        int, typer.Option("--latency", metavar="N", min=0, help="Number of queries to time one by one (0: none).")
    ] = 100,
    rerank: Annotated[
        str | None, typer.Option("--rerank", metavar="MODEL", help="Rerank the best results: cross-encoder:MODEL.")
    ] = None,
    rerank_mode: Annotated[
        str, typer.Option("--rerank-mode", metavar="MODE", help="Mode whose results are reranked.")
    ] = "hybrid",
    rerank_depth: Annotated[
        int | None,
        typer.Option(
            "--rerank-depth",
            metavar="N",
            help="Number of results to rerank (default: 20; 10 for human_generated_eval).",
        ),
    ] = None,
    replace: Restart = False,
    models: ModelOptions = NO_MODELS,
    format: Format = None,
    output: Output = None,
) -> None:
    """Run and score retrievers on a dataset.

    Shows Hit@1, Hit@5, R@20 and MRR in percent, and milliseconds per query. Each model of --llm reranks the best
    results of --rerank-mode, in a separate row. With --runs, an interrupted run is resumed.
    """
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.benchmarks.stark import numbers
    from kbkit.benchmarks.stark import rerank as reranking
    from kbkit.display.render import check
    from kbkit.kb import KnowledgeBase

    check(format, output)
    gold = stark.questions(dataset, split, sample, seed)
    depth = reranking.depth(split, rerank_depth)
    settings = stark.settings(dataset, split, sample, seed, gold)
    if runs is not None:
        stark.check_folder(runs)
    with (
        KnowledgeBase(kb) as base,
        models.opened(context, base) as calls,
    ):
        modes = stark.modes(base, mode or ())
        note(context, () if mode else stark.left_out(base))
        scorings = reranking.scorings(rerank, calls)
        [again] = stark.modes(base, [rerank_mode])
        if runs is not None:
            stark.check_folder(runs, [*modes, *(reranking.run_name(again, scoring) for scoring in scorings)])
        task = stark.task(base, gold, types or (), numbers.read(dataset, split))
        runner = stark.Runner(base, task, k, latency, folder=runs, settings=settings, replace=replace)
        note(context, runner.remarks())
        with _results_writer(context, task, task.candidates(base), runs, format, output) as keep:
            for result in _results(context, runner, modes, calls):
                keep(result)
            for scoring in scorings:
                result, remarks = reranking.result(runner, again, scoring, depth)
                keep(result)
                note(context, remarks)


@contextlib.contextmanager
def _results_writer(
    context: typer.Context,
    task: Task,
    candidates: pl.Series,
    runs: Path | None,
    format: str | None,
    output: Path | None,
) -> Iterator[Callable[[Result], None]]:
    """Save each result; at the end, even if the budget is spent, write the table of results."""
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.display.render import write as render

    results: list[Result] = []
    written: list[str] = []

    def keep(result: Result) -> None:
        results.append(result)
        if runs is not None:
            written.append(str(stark.write(result, runs)))

    try:
        yield keep
    finally:
        note(context, written)
        if results:
            render(stark.table(results, task.gold, candidates), format, output)


def _results(context: typer.Context, runner: Runner, modes: list[str], calls: Calls | None) -> Iterator[Result]:
    """Yield the result of each mode, with a bar for each."""
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event

    # Model calls draw bars of their own.
    with bars(context.obj.quiet or calls is not None) as listen:
        for mode in modes:

            def progress(done: int, total: int, mode: str = mode) -> None:
                if listen:
                    listen(Event(mode, done, total, "queries"))

            yield runner.result(mode, progress)


def evaluate(
    context: typer.Context,
    dataset: StarkDataset,
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Ranked runs: TREC, JSON lines, or csv for the leaderboard.")
    ],
    split: StarkSplit = "test",
    kb: Annotated[
        Path | None,
        typer.Option(
            "--kb", metavar="KB", help="KB of the dataset: only its candidates count, as in STaRK's evaluator."
        ),
    ] = None,
    types: Types = None,
    sample: Fraction = 1.0,
    seed: Seed = 0,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs on a dataset.

    Shows Hit@1, Hit@5, R@20 and MRR in percent, as in Tables 6 and 7 of the paper.
    """
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.benchmarks.stark import numbers
    from kbkit.display.render import check
    from kbkit.display.render import write as render
    from kbkit.measures.ranking import remarks

    check(format, output)
    if types and kb is None:
        raise KbError("Types of nodes need a KB", "Use ", Option("kb", "KB"))
    gold = stark.questions(dataset, split, sample, seed)
    results = [stark.read(path) for path in runs]
    numbered = numbers.read(dataset, split)
    if numbered is not None:
        results = [replace(result, run=numbered.named(result.run)) for result in results]
    candidates, about = (None, []) if kb is None else _candidates(kb, gold, types, dataset, split)
    table = stark.table(results, gold, candidates)
    note(context, about)
    for result in results:
        found = remarks(result.run, gold) if candidates is None else stark.remarks(result.run, gold, candidates)
        note(context, (f"{result.name}: {line}" for line in found))
    render(table, format, output)


def _candidates(
    kb: Path, gold: Gold, types: list[str] | None, dataset: Path, split: str
) -> tuple[pl.Series, list[str]]:
    """Return the names of the candidates of a dataset, and remarks on them."""
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.benchmarks.stark import numbers
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as base:
        task = stark.task(base, gold, types or (), numbers.read(dataset, split))
        if task.numbers is not None:
            message = f"{kb} numbers its nodes differently than the KB that {dataset} was made from"
            raise KbError(message, "Use that KB, or omit ", Option("kb"))
        return task.candidates(base), task.remarks()
