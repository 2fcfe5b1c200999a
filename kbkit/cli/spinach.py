"""Commands for SPINACH and other questions with SPARQL: spinach stats, check, run, eval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.ask import FullHistory, MaxActions
from kbkit.cli.commands import add, group
from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers
from kbkit.cli.options import (
    Format,
    Kb,
    Output,
    PerQuery,
    Plot,
    Restart,
    RowLimit,
    Timeout,
    Without,
    draw,
    note,
    seconds,
)
from kbkit.cli.tables import Table, check_table, write_tables

if TYPE_CHECKING:
    from kbkit.benchmarks.spinach.evaluate import Scored
    from kbkit.benchmarks.spinach.execute import Executed
    from kbkit.benchmarks.spinach.runs import Run
    from kbkit.cli.tables import Titled
    from kbkit.kb import KnowledgeBase

Questions = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON list or lines of records with question, sparql or query.")
]
Paper = Annotated[
    str | None,
    typer.Option("--paper", metavar="NAME", help="Dataset of the paper to compare with, or none (default: detected)."),
]

_SHORT = {"projections": "projs", "relations": "rels", "subjects": "subjs", "predicates": "preds", "literals": "lits"}
"""Columns of Table 1 on a screen, as the paper's."""
_STATS = (1, 6, 7)
_EVAL = (3, 5, 10, 11)


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    spinach = group("Check, run and score questions with SPARQL.")
    add(spinach, stats)
    add(spinach, check)
    add(spinach, run)
    add(spinach, evaluate, "eval")
    app.add_typer(spinach, name="spinach")


# -- stats and check --------------------------------------------------------------------------------------------------


def stats(
    context: typer.Context,
    file: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="JSON lists or lines of records with sparql or query.")
    ],
    table: Table = None,
    per_query: PerQuery = False,
    paper: Paper = None,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Describe the queries of datasets.

    Shows sizes (Table 1 of the paper), unique patterns (6) and unique properties (7), next to the paper's figures.
    """
    from kbkit.benchmarks.spinach import files
    from kbkit.benchmarks.spinach import stats as statistics
    from kbkit.display.render import write

    check_table(table, _STATS, format, output, per_query=per_query)
    datasets = [files.read(path) for path in file]
    described = statistics.describe(datasets, paper)
    note(context, statistics.remarks(described))
    draw(context, plot, lambda: statistics.charts(described))
    if per_query:
        write(statistics.per_query(described), format, output)
        return
    tables = [
        (1, "means per query", statistics.sizes(described)),
        (6, "unique query patterns", statistics.forms(described)),
        (7, "unique properties", statistics.properties(described)),
    ]
    write_tables(tables, table, format, output, short=_SHORT)


def check(
    context: typer.Context,
    kb: Kb,
    file: Questions,
    timeout: Timeout = 60,
    row_limit: RowLimit = 10_000,
    details: Annotated[
        Path | None,
        typer.Option("--details", metavar="FILE", help="File for one row per query: .jsonl, .csv, ..."),
    ] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Check the queries of a file on a KB.

    Counts the queries that the KB accepts, that finish in time and that have results, with reasons for the others.
    """
    from kbkit.benchmarks.spinach import execute as checking
    from kbkit.benchmarks.spinach import files
    from kbkit.cli.progress import counting
    from kbkit.display.render import check as check_render
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    check_render(format, output)
    if details is not None:
        check_render(None, details)
    dataset = files.read(file)
    with KnowledgeBase(kb) as base, counting(context.obj.quiet, "queries") as progress:
        checked = list(checking.check(base, dataset, seconds(timeout), row_limit, progress))
    write(checking.counts(checked), format, output)
    if details is not None:
        write(checking.details(checked), None, details)
    note(context, checking.lines(checked))


# -- run and eval -----------------------------------------------------------------------------------------------------


def run(
    context: typer.Context,
    kb: Kb,
    file: Questions,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Output file for the run (JSON lines).")
    ],
    llm: Llm = None,
    without: Without = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of questions.")
    ] = None,
    actions: MaxActions = 15,
    total: Annotated[
        int | None,
        typer.Option(
            "--max-total-actions",
            metavar="N",
            help="Maximum number of actions, counting rolled-back ones (default: twice --max-actions).",
        ),
    ] = None,
    full_history: FullHistory = False,
    timeout: Timeout = 60,
    row_limit: RowLimit = 10_000,
    unscored: Annotated[
        bool, typer.Option("--unscored", help="Include questions whose gold query has no results on this KB.")
    ] = False,
    replace: Restart = False,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
    paper: Paper = None,
) -> None:
    """Run the agent on the questions of a file.

    The run has the actions of the agent and the gold answers of this KB. An interrupted run is resumed. The scores
    are shown at the end, as by spinach eval.
    """
    from kbkit.agent.agent import AgentSettings
    from kbkit.benchmarks.spinach import files, runs
    from kbkit.benchmarks.spinach import run as running
    from kbkit.cli.models import opened
    from kbkit.display.progress import Event
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.client import missing_model

    dataset = files.read(file, sparql=False, question=True)
    agent = AgentSettings(
        actions,
        total or 2 * actions,
        tuple(without or ()),
        timeout=seconds(timeout),
        limit=row_limit,
        fold=0 if full_history else AgentSettings.fold,
    )
    plan = running.Plan(agent, limit, unscored)
    with KnowledgeBase(kb) as base, opened(context, base, llm, budget, price, prompt, workers) as calls:
        if calls is None:
            raise missing_model()
        listen, calls.listen = calls.listen, None  # a bar for questions, none for the calls of each

        def progress(done: int, total: int) -> None:
            if listen:
                listen(Event("questions", done, total))

        running.run(base, dataset, output, plan, calls, workers=workers, replace=replace, progress=progress)
    _show(context, [runs.read(output)], paper, None, None, None)


def evaluate(
    context: typer.Context,
    run: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Runs of spinach run, or outputs of the authors' agent.")
    ],
    gold: Annotated[
        Path | None,
        typer.Option("--gold", metavar="FILE", help="Questions with answers, or with queries if --kb is given."),
    ] = None,
    kb: Annotated[
        Path | None, typer.Option("--kb", metavar="KB", help="KB to run gold and predicted queries on again.")
    ] = None,
    timeout: Timeout = 60,
    row_limit: RowLimit = 10_000,
    table: Table = None,
    per_query: PerQuery = False,
    paper: Paper = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs of the agent.

    Shows row-major exact match and F1 (Table 3 of the paper), actions (5), tokens (10, 11) and cost, next to the
    paper's figures.
    """
    from kbkit.benchmarks.spinach import runs
    from kbkit.kb import KnowledgeBase

    check_table(table, _EVAL, format, output, per_query=per_query)
    read = [runs.read(path) for path in run]
    if kb is None:
        found = [_with_gold(context, one, gold, None) for one in read]
    else:
        with KnowledgeBase(kb) as base:
            found = [_with_gold(context, one, gold, _executor(base, seconds(timeout), row_limit)) for one in read]
    _show(context, found, paper, table, format, output, per_query=per_query)


def _executor(kb: KnowledgeBase, timeout: float | None, limit: int) -> Callable[[str], Executed]:
    from kbkit.benchmarks.spinach.execute import execute

    return lambda text: execute(kb, text, timeout, limit)


def _with_gold(context: typer.Context, run: Run, gold: Path | None, execute: Callable[[str], Executed] | None) -> Run:
    from kbkit.benchmarks.spinach import evaluate as scoring
    from kbkit.benchmarks.spinach import files

    if gold is not None:
        right = files.read(gold, sparql=execute is not None)
        note(context, scoring.outside(run, right))
        run = scoring.with_gold(run, right, execute)
    return run if execute is None else scoring.rerun(run, execute, gold=gold is None)


def _show(
    context: typer.Context,
    runs: Sequence[Run],
    paper: str | None,
    table: int | None,
    format: str | None,
    output: Path | None,
    *,
    per_query: bool = False,
) -> None:
    from kbkit.benchmarks.spinach import evaluate as scoring
    from kbkit.display.render import write

    scored = scoring.score_all(runs, paper)
    for one in scored:
        note(context, scoring.remarks(one))
    if per_query:
        write(scoring.per_query(scored), format, output)
        return
    write_tables([found for found in _tables(scored) if table is not None or found[2].height], table, format, output)


def _tables(scored: Sequence[Scored]) -> list[Titled]:
    from kbkit.benchmarks.spinach import evaluate as scoring

    return [
        (3, "exact match and F1 in percent, means per question", scoring.table(scored)),
        (5, "actions taken, in percent of the questions", scoring.actions(scored)),
        (10, "tokens read, in percent of the questions", scoring.tokens(scored, "input_tokens")),
        (11, "tokens written, in percent of the questions", scoring.tokens(scored, "output_tokens")),
    ]
