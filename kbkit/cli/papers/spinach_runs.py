"""Commands that run and score the agent on questions with SPARQL: spinach run, eval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.ask import FullHistory, MaxActions
from kbkit.cli.models import NO_MODELS, ModelOptions
from kbkit.cli.options import (
    Format,
    Kb,
    Output,
    PerQuery,
    Restart,
    RowLimit,
    Timeout,
    Without,
    note,
    seconds,
)
from kbkit.cli.papers.arguments import SpinachPaper, SpinachQuestions
from kbkit.cli.tables import Table, check_table, write_tables

if TYPE_CHECKING:
    from kbkit.benchmarks.spinach.evaluate import Scored
    from kbkit.benchmarks.spinach.execute import Executed
    from kbkit.benchmarks.spinach.runs import Run
    from kbkit.cli.tables import Titled
    from kbkit.kb import KnowledgeBase


_EVAL = (3, 5, 10, 11)


# -- stats and check --------------------------------------------------------------------------------------------------


# -- run and eval -----------------------------------------------------------------------------------------------------


def run(
    context: typer.Context,
    kb: Kb,
    file: SpinachQuestions,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Output file for the run (JSON lines).")
    ],
    models: ModelOptions = NO_MODELS,
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
    paper: SpinachPaper = None,
) -> None:
    """Run the agent on the questions of a file.

    The run has the actions of the agent and the gold answers of this KB. An interrupted run is resumed. The scores
    are shown at the end, as by spinach eval.
    """
    from kbkit.agent.agent import AgentSettings
    from kbkit.benchmarks.spinach import files, runs
    from kbkit.benchmarks.spinach import run as running
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
    with KnowledgeBase(kb) as base, models.opened(context, base) as calls:
        if calls is None:
            raise missing_model()
        listen, calls.listen = calls.listen, None  # a bar for questions, none for the calls of each

        def progress(done: int, total: int) -> None:
            if listen:
                listen(Event("questions", done, total))

        running.run(base, dataset, output, plan, calls, workers=models.workers, replace=replace, progress=progress)
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
    paper: SpinachPaper = None,
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
