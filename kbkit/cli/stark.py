"""Commands for STaRK: stark stats, run, eval, write."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.models import Budget, Llm, Price, PromptFiles, Workers
from kbkit.cli.options import Format, Kb, Output, on_screen
from kbkit.cli.plots import Plot, draw
from kbkit.cli.stark_make import make
from kbkit.errors import KbError

if TYPE_CHECKING:
    from kbkit.benchmarks.stark.evaluate import Result, Runner
    from kbkit.benchmarks.stark.stats import Statistics
    from kbkit.graph.nodes import Node
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls
    from kbkit.measures.frames import Gold

NEIGHBORS = 5
"""Of each relation, on the page of an entity."""
Data = Annotated[Path, typer.Argument(metavar="DATASET", help="A folder with stark_qa/ and split/, or a csv.")]
Split = Annotated[str, typer.Option("--split", metavar="NAME", help="test, val, ..., or human_generated_eval.")]
Sample = Annotated[
    float, typer.Option("--sample", metavar="SHARE", help="Only a random part of the queries, e.g. 0.1.")
]
Seed = Annotated[int, typer.Option("--seed", help="The same seed draws the same.")]
Types = Annotated[list[str] | None, typer.Option("--type", "-t", metavar="TYPE", help="What is asked for; repeat it.")]
Modes = Annotated[
    list[str] | None,
    typer.Option("--mode", "-m", help="bm25, dense, multivector, hybrid or relational; repeat it. By default all."),
]
Timed = Annotated[int, typer.Option("--latency", metavar="N", min=0, help="Queries that are timed; 0 for none.")]
Rerank = Annotated[
    str | None, typer.Option("--rerank", metavar="MODEL", help="A further row: reranked by cross-encoder:MODEL.")
]

stark_app = typer.Typer(
    help="STaRK: queries on texts and relations. Describe, run, score and write datasets.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    for command in (make, stats, run, evaluate, write):
        stark_app.command("eval" if command is evaluate else None)(command)
    app.add_typer(stark_app, name="stark")


# -- stats ------------------------------------------------------------------------------------------------------------


def stats(
    context: typer.Context,
    dataset: Annotated[list[Path], typer.Argument(metavar="DATASET...", help="Folders with stark_qa/ and split/.")],
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """What datasets hold: Tables 3 and 4 of the paper, the lengths of figure 4 and the parts of figure 5."""
    from kbkit.benchmarks.stark import stats as statistics
    from kbkit.benchmarks.stark.dataset import read_all
    from kbkit.display.render import check
    from kbkit.display.render import write as render

    check(format, output)
    datasets = read_all(dataset)
    found = statistics.statistics(datasets)
    _remark(context, statistics.remarks(datasets))
    draw(context, plot, lambda: statistics.charts(found))
    if on_screen(format, output):
        _print_statistics(found)
    else:
        render(statistics.long(found), format, output)


def _print_statistics(found: Statistics) -> None:
    from kbkit.display.render import print_table

    for place, (title, frame) in enumerate(found.sections()):
        typer.secho(f"{title}\n" if not place else f"\n{title}\n", bold=True, nl=False)
        print_table(frame, sys.stdout, count=False)


# -- run and eval -----------------------------------------------------------------------------------------------------


def run(
    context: typer.Context,
    kb: Kb,
    dataset: Data,
    split: Split = "test",
    mode: Modes = None,
    k: Annotated[int, typer.Option("-k", help="Hits for each query.")] = 100,
    types: Types = None,
    sample: Sample = 1.0,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write each run, for stark eval and measure.")
    ] = None,
    latency: Timed = 100,
    rerank: Rerank = None,
    rerank_mode: Annotated[str, typer.Option("--rerank-mode", help="The mode whose hits are reranked.")] = "hybrid",
    rerank_depth: Annotated[
        int | None, typer.Option("--rerank-depth", metavar="N", help="By default 20; 10 for human_generated_eval.")
    ] = None,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: PromptFiles = None,
    workers: Workers = 8,
    format: Format = None,
    output: Output = None,
) -> None:
    """Run retrievers on a split of a dataset: Hit@1, Hit@5, R@20 and MRR in percent, milliseconds for a query.

    A model named with --llm scores the best hits of --rerank-mode anew, a row for each model.
    """
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.benchmarks.stark import rerank as reranking
    from kbkit.cli.models import opened
    from kbkit.display.render import check
    from kbkit.kb import KnowledgeBase

    check(format, output)
    gold = stark.questions(dataset, split, sample, seed)
    depth = reranking.depth(split, rerank_depth)
    about = {"kb": str(kb), "dataset": str(dataset), "split": split, "sample": sample, "seed": seed, "k": k}
    with (
        _kept(context, gold, out, about, format, output) as keep,
        KnowledgeBase(kb) as base,
        opened(context, base, llm, budget, price, prompt, workers) as calls,
    ):
        modes = stark.modes(base, mode or ())
        _remark(context, () if mode else stark.left_out(base))
        systems = reranking.systems(rerank, calls)
        [again] = stark.modes(base, [rerank_mode])
        if out is not None:
            stark.check_folder(out, [*modes, *(reranking.run_name(again, system) for system in systems)])
        runner = stark.Runner(base, stark.task(base, gold, types or ()), k, latency)
        _remark(context, runner.remarks())
        for result in _results(context, runner, modes, calls):
            keep(result)
        for system in systems:
            result, remarks = reranking.result(runner, again, system, depth)
            keep(result)
            _remark(context, remarks)


@contextlib.contextmanager
def _kept(
    context: typer.Context,
    gold: Gold,
    out: Path | None,
    about: dict[str, Any],
    format: str | None,
    output: Path | None,
) -> Iterator[Callable[[Result], None]]:
    """Writes each result that it is given; at the end, also where a budget is spent, prints their table."""
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.display.render import write as render

    if out is not None:
        stark.check_folder(out)
    results: list[Result] = []
    written: list[str] = []

    def keep(result: Result) -> None:
        results.append(result)
        if out is not None:
            written.append(str(stark.write(result, out, about)))

    try:
        yield keep
    finally:
        _remark(context, written)
        if results:
            render(stark.table(results, gold), format, output)


def _results(context: typer.Context, runner: Runner, modes: list[str], calls: Calls | None) -> Iterator[Result]:
    """The run of each mode as it is done, with a bar for each."""
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event

    # Calls draw bars of their own, and there is one terminal.
    with bars(context.obj.quiet or calls is not None) as listen:
        for mode in modes:

            def progress(done: int, total: int, mode: str = mode) -> None:
                if listen:
                    listen(Event(mode, done, total, "queries"))

            yield runner.result(mode, progress)


def evaluate(
    context: typer.Context,
    dataset: Data,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Ranked runs: TREC's or JSON lines.")],
    split: Split = "test",
    sample: Sample = 1.0,
    seed: Seed = 0,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs on a split of a dataset: Hit@1, Hit@5, R@20 and MRR in percent, a row a run (Tables 6 and 7)."""
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.display.render import check
    from kbkit.display.render import write as render
    from kbkit.measures.ranking import remarks

    check(format, output)
    gold = stark.questions(dataset, split, sample, seed)
    results = [stark.read(path) for path in runs]
    table = stark.table(results, gold)
    for result in results:
        _remark(context, (f"{result.name}: {line}" for line in remarks(result.run, gold)))
    render(table, format, output)


# -- write ------------------------------------------------------------------------------------------------------------


def write(
    context: typer.Context,
    kb: Kb,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The dataset; queries are added to it.")],
    types: Types = None,
    seed: Seed = 0,
    number: Annotated[int | None, typer.Option("-n", min=1, help="End after so many queries.")] = None,
) -> None:
    """Write queries by hand: an entity is drawn and shown, and you ask for it without its name (the paper's 2.6).

    An empty line skips the entity, q or the end of the input ends. Each query is saved at once.
    """
    from kbkit.benchmarks.stark import human
    from kbkit.kb import KnowledgeBase

    written = 0
    human.check_folder(out)
    with KnowledgeBase(kb) as base:
        references = human.references(base, types or (), out)
        for drawn in human.draw(base, types or (), seed, human.answered(out)):
            node = _show(base, drawn)
            query = _query(node)
            if query is None:
                break
            if query:
                typer.echo(f"saved as query {human.append(base, out, query, node, seed, references=references)}\n")
                written += 1
            if written == number:
                break
        else:
            typer.echo("that was every entity")
    _remark(context, [f"{human.table(out)}: {written:,} quer{'y' if written == 1 else 'ies'} written"])


def _show(kb: KnowledgeBase, drawn: int) -> Node:
    """Print a node's page, long texts cut, with some paths of two steps."""
    from kbkit.benchmarks.stark import human
    from kbkit.display.render import clean, width_of
    from kbkit.graph.pages import print_lines

    node = kb.node(drawn)
    print_lines(kb.page(drawn, NEIGHBORS).lines(width_of(sys.stdout)), sys.stdout)
    paths = human.paths(kb, node)
    if paths:
        typer.secho("\npaths", bold=True)
        for path in paths:
            typer.echo(clean(f"  {path}").replace("\n", " "))
    typer.echo("")
    return node


def _query(node: Node) -> str | None:
    """What the writer types that gives no name away: empty to skip the entity, None to end."""
    from kbkit.benchmarks.stark.human import leak

    while line := _line():
        if line == "q":
            return None
        name = leak(line, node)
        if not name:
            return line
        typer.echo(f"this gives the name away: {name}; ask without it (an empty line skips, q ends)")
    return line


def _line() -> str | None:
    """The next line of the input, without white space around it; None at its end."""
    from kbkit.display.render import clean

    typer.echo("query> ", nl=False)
    try:
        line = input().strip()
        line.encode()  # some locales let bytes through as half characters
    except EOFError:
        typer.echo("")
        return None
    except UnicodeError:
        raise KbError("the input is not UTF-8", "convert it, e.g. with iconv") from None
    if not sys.stdin.isatty():
        typer.echo(clean(line))  # as a terminal would
    return line


def _remark(context: typer.Context, lines: Iterable[str]) -> None:
    from kbkit.display.render import clean

    if not context.obj.quiet:
        for line in lines:
            typer.echo(clean(line), err=True)
