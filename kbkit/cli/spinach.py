"""Commands for SPINACH and other questions with SPARQL: spinach stats, check, run, eval."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import Budget, Llm, Price, PromptFiles, Workers
from kbkit.cli.options import Format, Kb, Output
from kbkit.cli.plots import Plot, draw
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.spinach.evaluate import Scored
    from kbkit.benchmarks.spinach.execute import Executed
    from kbkit.benchmarks.spinach.runs import Run
    from kbkit.kb import KnowledgeBase

    Titled = tuple[int, str, pl.DataFrame]
    """The paper's number of a table, its caption, the table."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="A JSON list (or lines) of records with sparql or query.")]
Table = Annotated[int | None, typer.Option("--table", metavar="N", help="Only this table of the paper's.")]
PaperName = Annotated[
    str | None,
    typer.Option("--paper", metavar="NAME", help="The dataset of the paper whose figures stand beside, or none."),
]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Of each query; 0 for no limit.")]
MostRows = Annotated[int, typer.Option("--max-rows", metavar="N", min=1, help="Rows that are kept of a result.")]
PerQuery = Annotated[bool, typer.Option("--per-query", help="A row for each query in the place of the tables.")]

_SHORT = {"projections": "projs", "relations": "rels", "subjects": "subjs", "predicates": "preds", "literals": "lits"}
"""Columns of Table 1 on a screen, as the paper's."""
_STATS = (1, 6, 7)
_EVAL = (3, 5, 10, 11)

spinach_app = typer.Typer(
    help="SPINACH: questions with SPARQL. Describe them, check them on a KB, let an agent answer, score it.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    for command in (stats, check, run, evaluate):
        spinach_app.command("eval" if command is evaluate else None)(command)
    app.add_typer(spinach_app, name="spinach")


# -- stats and check --------------------------------------------------------------------------------------------------


def stats(
    context: typer.Context,
    file: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON lists of records with sparql or query.")],
    table: Table = None,
    per_query: PerQuery = False,
    paper: PaperName = None,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """What queries are like: their sizes (Table 1), unique patterns (6), unique properties (7), the paper's beside."""
    from kbkit.benchmarks.spinach import files
    from kbkit.benchmarks.spinach import stats as statistics

    _check_table(table, _STATS, format, output, whole=per_query)
    datasets = [files.read(path) for path in file]
    described = statistics.describe(datasets, paper)
    _remark(context, statistics.remarks(described))
    draw(context, plot, lambda: statistics.charts(described))
    if per_query:
        _render(statistics.per_query(described), format, output)
        return
    tables = [
        (1, "means of a query", statistics.sizes(described)),
        (6, "unique query patterns", statistics.forms(described)),
        (7, "unique properties", statistics.properties(described)),
    ]
    _write(tables, table, format, output)


def check(
    context: typer.Context,
    kb: Kb,
    file: File,
    timeout: Timeout = 60.0,
    max_rows: MostRows = 10_000,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write a row for each query: .jsonl, .csv, ..."),
    ] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """How many queries of a file the KB accepts, runs within the limit, and answers; and why not the others."""
    from kbkit.benchmarks.spinach import execute as checking
    from kbkit.benchmarks.spinach import files
    from kbkit.display.render import check as check_render
    from kbkit.kb import KnowledgeBase

    check_render(format, output)
    if out is not None:
        check_render(None, out)
    dataset = files.read(file)
    with KnowledgeBase(kb) as base, _bar(context, "queries") as progress:
        checked = list(checking.check(base, dataset, timeout or None, max_rows, progress))
    _render(checking.counts(checked), format, output)
    if out is not None:
        _render(checking.details(checked), None, out)
    _remark(context, checking.lines(checked))


# -- run and eval -----------------------------------------------------------------------------------------------------


def run(
    context: typer.Context,
    kb: Kb,
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where the run goes: JSON lines.")],
    llm: Llm = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="ACTION", help="The agent lacks search, entry or examples; repeat it."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first questions of the file.")
    ] = None,
    actions: Annotated[int, typer.Option("--actions", metavar="N", help="At most so many actions that stand.")] = 15,
    total: Annotated[int, typer.Option("--total", metavar="N", help="At most so many with those rolled back.")] = 30,
    timeout: Timeout = 60.0,
    max_rows: MostRows = 10_000,
    unscored: Annotated[
        bool, typer.Option("--unscored", help="Ask those questions too whose gold query gives nothing here.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Begin anew where the file is there.")] = False,
    budget: Budget = None,
    price: Price = None,
    prompt: PromptFiles = None,
    workers: Workers = 8,
    paper: PaperName = None,
) -> None:
    """Let the agent answer the questions of a file, and keep what it did beside the gold answers of this KB.

    A run that was stopped goes on where it was. At the end its scores are shown, as `spinach eval` does.
    """
    from kbkit.agent.agent import Settings
    from kbkit.benchmarks.spinach import files, runs
    from kbkit.benchmarks.spinach import run as running
    from kbkit.cli.models import opened
    from kbkit.kb import KnowledgeBase

    dataset = files.read(file, sparql=False, question=True)
    agent = Settings(actions, total, tuple(without or ()), timeout=timeout or None, limit=max_rows)
    plan = running.Plan(agent, limit, unscored)
    with KnowledgeBase(kb) as base, opened(context, base, llm, budget, price, prompt, workers) as calls:
        if calls is None:
            raise KbError("the agent needs a language model", "name one with --llm MODEL@URL")
        listen, calls.listen = calls.listen, None  # a bar for questions, and none for the calls of each
        progress = _told(listen, "questions")
        running.run(base, dataset, out, plan, calls, workers=workers, replace=replace, progress=progress)
    _show(context, [runs.read(out)], paper, None, None, None)


def evaluate(
    context: typer.Context,
    run: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Of `spinach run`, or the authors' outputs.")],
    gold: Annotated[
        Path | None, typer.Option("--gold", metavar="FILE", help="Questions with answers, or with --kb with queries.")
    ] = None,
    kb: Annotated[
        Path | None, typer.Option("--kb", metavar="DIR", help="Run gold and predicted queries anew on this KB.")
    ] = None,
    timeout: Timeout = 60.0,
    max_rows: MostRows = 10_000,
    table: Table = None,
    per_query: PerQuery = False,
    paper: PaperName = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs: exact match and F1 by rows (Table 3), actions (5), tokens (10, 11) and cost, the paper's beside."""
    from kbkit.benchmarks.spinach import runs
    from kbkit.kb import KnowledgeBase

    _check_table(table, _EVAL, format, output, whole=per_query)
    read = [runs.read(path) for path in run]
    if kb is None:
        found = [_with_gold(context, one, gold, None) for one in read]
    else:
        with KnowledgeBase(kb) as base:
            found = [_with_gold(context, one, gold, _executor(base, timeout, max_rows)) for one in read]
    _show(context, found, paper, table, format, output, per_query=per_query)


def _executor(kb: KnowledgeBase, timeout: float, limit: int) -> Callable[[str], Executed]:
    from kbkit.benchmarks.spinach.execute import execute

    return lambda text: execute(kb, text, timeout or None, limit)


def _with_gold(context: typer.Context, run: Run, gold: Path | None, execute: Callable[[str], Executed] | None) -> Run:
    from kbkit.benchmarks.spinach import evaluate as scoring
    from kbkit.benchmarks.spinach import files

    if gold is not None:
        right = files.read(gold, sparql=execute is not None)
        _remark(context, scoring.outside(run, right))
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

    scored = scoring.score_all(runs, paper)
    for one in scored:
        _remark(context, scoring.remarks(one))
    if per_query:
        _render(scoring.per_query(scored), format, output)
        return
    _write([found for found in _tables(scored) if table is not None or found[2].height], table, format, output)


def _tables(scored: Sequence[Scored]) -> list[Titled]:
    from kbkit.benchmarks.spinach import evaluate as scoring

    return [
        (3, "exact match and F1 in percent, means of a question", scoring.table(scored)),
        (5, "actions taken, in percent of the questions", scoring.actions(scored)),
        (10, "tokens read, in percent of the questions", scoring.tokens(scored, "input_tokens")),
        (11, "tokens written, in percent of the questions", scoring.tokens(scored, "output_tokens")),
    ]


# -- what they share --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _bar(context: typer.Context, stage: str) -> Iterator[Callable[[int, int], None]]:
    """What draws how much is done."""
    from kbkit.cli.progress import bars

    with bars(context.obj.quiet) as listen:
        yield _told(listen, stage)


def _told(listen: Callable[..., None] | None, stage: str) -> Callable[[int, int], None]:
    from kbkit.display.progress import Event

    return lambda done, total: listen(Event(stage, done, total)) if listen else None


def _check_table(
    table: int | None, known: Sequence[int], format: str | None, output: Path | None, *, whole: bool
) -> None:
    """Raise now what :func:`_write` would raise when the work is done; ``whole`` if one table is asked for anyway."""
    from kbkit.display.render import check as check_render

    names = ", ".join(map(str, known))
    if table is not None and whole:
        raise KbError("--table and --per-query ask for two things", "give one of them")
    if table is not None and table not in known:
        raise KbError(f"there is no Table {table} here", f"there are {names}")
    check_render(format, output)
    if not whole and table is None and (output is not None or format not in (None, "table", "markdown", "ndjson")):
        what = "a file" if output is not None else format
        raise KbError(f"{what} holds one table", f"--table N chooses one of {names}")


def _write(tables: Sequence[Titled], chosen: int | None, format: str | None, output: Path | None) -> None:
    """One table in any format; several for the eye, in Markdown, or as records that say their ``table``."""
    import polars as pl

    from kbkit.cli.options import on_screen
    from kbkit.display.render import print_table

    if chosen is not None:
        _render(next(frame for number, _, frame in tables if number == chosen), format, output)
        return
    kind = "table" if on_screen(format, output) else format or "ndjson"
    for place, (number, caption, frame) in enumerate(tables):
        if kind == "ndjson":
            _render(frame.select(pl.lit(number).alias("table"), pl.all()), kind, None)
            continue
        typer.echo(f"{chr(10) if place else ''}Table {number}: {caption}\n")
        if kind == "table":
            print_table(frame.rename(_SHORT, strict=False), sys.stdout, count=False)
        else:
            _render(frame, kind, None)


def _render(frame: pl.DataFrame, format: str | None, output: Path | None) -> None:
    from kbkit.display.render import write

    write(frame, format, output)


def _remark(context: typer.Context, lines: Iterable[str]) -> None:
    from kbkit.display.render import clean

    if not context.obj.quiet:
        for line in lines:
            typer.echo(clean(line), err=True)
