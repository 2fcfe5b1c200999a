"""Commands that run and score the agent on questions with SPARQL: spinach run, eval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.agent import AgentOptions
from kbkit.cli.models import ModelOptions
from kbkit.cli.options import RowLimit, Seed, Timeout, argument, note, option, seconds
from kbkit.cli.papers.arguments import RunFile, SpinachPaper, SpinachQuestions
from kbkit.cli.papers.factory import (
    FiguresForm,
    PaperFigures,
    PaperSession,
    Shown,
    figures,
    opened_if_given,
    systems_run,
)
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.benchmarks.spinach.evaluate import Scored
    from kbkit.benchmarks.spinach.execute import Executed
    from kbkit.benchmarks.spinach.run_files import Run
    from kbkit.cli.tables import Titled
    from kbkit.kb import KnowledgeBase

_TABLES = (3, 5, 10, 11)


@dataclass(frozen=True)
class SpinachAgentOptions(AgentOptions):
    """How the agent works on the questions of a file."""

    total: Annotated[
        int | None,
        option(
            "--max-total-actions N",
            "Maximum number of actions, counting rolled-back ones (default: twice --max-actions).",
        ),
    ] = None
    row_limit: RowLimit = 10_000


@systems_run(FiguresForm(options=()))
def run(
    session: PaperSession,
    models: ModelOptions,
    file: SpinachQuestions,
    output: RunFile,
    agent: SpinachAgentOptions,
    limit: Annotated[int | None, option("--limit -n N", "Maximum number of questions.", min=1)] = None,
    unscored: Annotated[
        bool, option("--unscored", "Include questions whose gold query has no results on this KB.")
    ] = False,
    direct: Annotated[bool, option("--direct", "Ask the model for the answers, without a query (a baseline).")] = False,
    one_shot: Annotated[bool, option("--one-shot", "Ask the model for the query in one step (a baseline).")] = False,
    paper: SpinachPaper = None,
) -> None:
    """Run the agent on the questions of a file.

    --direct and --one-shot run the paper's baselines in its place; the answers of --direct are names, as are those
    that they are compared with. The run has the actions of the agent and the gold answers of this KB. An interrupted
    run is resumed. The scores are shown at the end, as by spinach eval.
    """
    from kbkit.benchmarks.spinach import baselines, files, run_files
    from kbkit.benchmarks.spinach import run as running
    from kbkit.llm.client import missing_model

    dataset = files.read_questions(file, sparql=False, question=True)
    if direct and one_shot:
        raise KbError("Both baselines are given", "Use ", Option("direct"), " or ", Option("one_shot"))
    baseline = baselines.DIRECT if direct else baselines.ONE_SHOT if one_shot else ""
    plan = running.AgentPlan(agent.settings(agent.row_limit, agent.total), limit, unscored, baseline)
    if session.calls is None:
        raise missing_model()
    with session.progress("questions") as progress:
        done = running.run(
            session.kb,
            dataset,
            output,
            plan,
            session.calls,
            workers=models.workers,
            replace=session.replace,
            progress=progress,
        )
    session.figures = lambda: _scores([run_files.read_agent_run(output)], paper, None)
    session.finished(done.name, done.summary)


@figures(FiguresForm(_TABLES, ("per_query", "format", "output")))
def evaluate(
    context: typer.Context,
    shown: Shown,
    run: Annotated[list[Path], argument("RUN", "Runs of spinach run, or outputs of the authors' agent.")],
    gold: Annotated[
        Path | None,
        option("--gold FILE", "Questions with answers, or with queries if --kb is given."),
    ] = None,
    kb: Annotated[Path | None, option("--kb KB", "KB to run gold and predicted queries on again.")] = None,
    timeout: Timeout = 60,
    row_limit: RowLimit = 10_000,
    paper: SpinachPaper = None,
) -> PaperFigures:
    """Score runs of the agent.

    Shows row-major exact match and F1 (Table 3 of the paper), actions (5), tokens (10, 11) and cost, next to the
    paper's figures.
    """
    from kbkit.benchmarks.spinach import run_files

    loaded = [run_files.read_agent_run(path) for path in run]
    with opened_if_given(kb) as base:
        execute = None if base is None else _executor(base, seconds(timeout), row_limit)
        return _scores([_with_gold(context, one, gold, execute) for one in loaded], paper, shown.table)


def _executor(kb: KnowledgeBase, timeout: float | None, limit: int) -> Callable[[str], Executed]:
    from kbkit.benchmarks.spinach.execute import execute

    return lambda text: execute(kb, text, timeout, limit)


def _with_gold(context: typer.Context, run: Run, gold: Path | None, execute: Callable[[str], Executed] | None) -> Run:
    from kbkit.benchmarks.spinach import evaluate as scoring
    from kbkit.benchmarks.spinach import files

    if gold is not None:
        right = files.read_questions(gold, sparql=execute is not None)
        note(context, scoring.outside(run, right))
        run = scoring.with_gold(run, right, execute)
    return run if execute is None else scoring.rerun(run, execute, gold=gold is None)


def _scores(runs: Sequence[Run], paper: str | None, table: int | None) -> PaperFigures:
    """Return the scores of runs: the chosen table, even if it is empty, or those that are not."""
    from kbkit.benchmarks.spinach import evaluate as scoring

    scored = scoring.score_all(runs, paper)
    remarks = [line for one in scored for line in scoring.remarks(one)]
    tables = (one for one in _tables(scored) if table is not None or one[2].height)
    return PaperFigures(remarks, tables, per_query=lambda: scoring.per_query(scored))


def _tables(scored: Sequence[Scored]) -> Iterator[Titled]:
    from kbkit.benchmarks.spinach import evaluate as scoring

    yield 3, "exact match and F1 in percent, means per question", scoring.table(scored)
    yield 5, "actions taken, in percent of the questions", scoring.actions(scored)
    yield 10, "tokens read, in percent of the questions", scoring.tokens(scored, "input_tokens")
    yield 11, "tokens written, in percent of the questions", scoring.tokens(scored, "output_tokens")


@figures(FiguresForm(options=("per_query", "format", "output")))
def errors(
    run: Annotated[list[Path], argument("RUN", "Runs of spinach run, or outputs of the authors' agent.")],
    limit: Annotated[
        int,
        option("--limit -n N", "Failures to draw at random from each run (0: all).", min=0),
    ] = 0,
    seed: Seed = 0,
) -> PaperFigures:
    """Classify the failures of runs.

    Counts questions with an F1 below 0.05 by the classes of section 5.4 of the paper, by rules on both queries and the
    trace. --per-query lists them with the reasons.
    """
    from kbkit.benchmarks.spinach import errors as failing
    from kbkit.benchmarks.spinach import evaluate as scoring
    from kbkit.benchmarks.spinach import run_files

    scored = scoring.score_all([run_files.read_agent_run(path) for path in run])
    found = failing.failures(scored, limit, seed)
    return PaperFigures(records=lambda: failing.table(found), per_query=lambda: failing.per_query(found))
