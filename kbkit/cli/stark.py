"""Commands for STaRK: stark make, stats, run, eval, write, generate."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.commands import add, group
from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers, opened, stages
from kbkit.cli.options import (
    Format,
    Kb,
    MaxAnswers,
    Output,
    Plot,
    Restart,
    Sampling,
    Seed,
    Types,
    counted,
    draw,
    note,
    on_screen,
)
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.benchmarks.pipeline import Output as NewDataset
    from kbkit.benchmarks.stark.evaluate import Result, Runner
    from kbkit.benchmarks.stark.stats import Statistics
    from kbkit.graph.nodes import Node
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls
    from kbkit.measures.frames import Gold

NEIGHBORS = 5
"""Neighbours per relation on the page of an entity."""
Data = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder with stark_qa/ and split/, or a csv file.")]
DatasetOutput = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the dataset.")]
Split = Annotated[
    str, typer.Option("--split", metavar="NAME", help="Split of the dataset: test, val, ... or human_generated_eval.")
]
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


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    stark = group("Make, run and score STaRK datasets.")
    add(stark, make)
    add(stark, stats)
    add(stark, run)
    add(stark, evaluate, "eval")
    add(stark, write)
    add(stark, generate)
    app.add_typer(stark, name="stark")


# -- make -------------------------------------------------------------------------------------------------------------


def make(
    context: typer.Context,
    kb: Kb,
    output: DatasetOutput,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Number of queries to generate.")] = 100,
    seed: Seed = 0,
    template: Annotated[
        list[str] | None,
        typer.Option(
            "--template", metavar="ID", help="Template id, catalogue (mag), TOML file or suggest; repeatable."
        ),
    ] = None,
    roles: Annotated[
        Path | None, typer.Option("--roles", metavar="FILE", help="Roles of the users (default: those of the recipe).")
    ] = None,
    properties: Annotated[
        int, typer.Option("--properties", metavar="N", help="Maximum number of textual properties per query.")
    ] = 2,
    max_candidates: Annotated[
        int, typer.Option("--max-candidates", metavar="N", help="Maximum number of nodes that match the relations.")
    ] = 50,
    min_candidates: Annotated[
        int, typer.Option("--min-candidates", metavar="N", help="Minimum number of nodes that match the relations.")
    ] = 2,
    max_answers: MaxAnswers = 20,
    sampling: Sampling = "uniform",
    gold_share: Annotated[
        float,
        typer.Option(
            "--gold-share",
            metavar="FRACTION",
            help="Without a model: fraction of gold answers each threshold must accept.",
        ),
    ] = 0.95,
    splits: Annotated[
        str | None,
        typer.Option(
            "--splits", metavar="A,B,C", help="Fractions of train, val and test (default: those of the paper)."
        ),
    ] = None,
    replace: Restart = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
) -> None:
    """Make a dataset with verified answers.

    Each query combines relations and textual properties. Without --llm, rules do all steps. With it, the first model
    extracts properties and writes queries, the second rephrases them, and all models verify the answers. An
    interrupted run is resumed.
    """
    from kbkit.benchmarks.stark import make as stark
    from kbkit.ingestion.recipe import load_roles
    from kbkit.kb import KnowledgeBase

    settings = stark.StarkSettings(
        limit,
        seed,
        tuple(template or ()),
        load_roles(roles) if roles else (),
        properties,
        max_candidates,
        min_candidates,
        max_answers,
        sampling,
        gold_share,
        _fractions(splits),
    )
    with (
        KnowledgeBase(kb) as base,
        opened(context, base, llm, budget, price, prompt, workers) as calls,
        stages(context, calls) as progress,
    ):
        made = stark.make(base, output, settings, calls, progress, replace=replace)
    if not context.obj.quiet:
        typer.echo("\n".join(_report(made)))


def _fractions(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        first, second, third = map(float, text.split(","))
    except ValueError:
        raise KbError(
            f"Expected three numbers, found {text!r}", "For example ", Option("splits", "0.6,0.2,0.2")
        ) from None
    return first, second, third


def _report(made: NewDataset) -> Sequence[str]:
    """Return lines that describe a new dataset."""
    report: dict[str, Any] = made.report
    lines = [
        f"{made.folder}: {counted(report['queries'], 'query', 'queries')} of {report['drawn']:,} drawn,"
        f" {report['candidates']:g} candidates and {report['answers']:g} answers each"
    ]
    if report["queries"] < report["wanted"]:
        lines.append(f"Fewer than {report['wanted']:,} queries: add templates or raise --max-candidates")
    if report["golds_verified"] is not None:
        bounds = ", ".join(f"{rule} from {value:.3f}" for rule, value in report["thresholds"].items())
        lines.append(f"Gold answers accepted: {report['golds_verified']:.1%}" + (f" ({bounds})" if bounds else ""))
    lines += [f"Dropped: {count:,}, {reason}" for reason, count in report["dropped"].items()]
    if report["unusable_judgements"]:
        lines.append(f"Invalid judgements of models, counted as no: {report['unusable_judgements']:,}")
    return lines


# -- stats ------------------------------------------------------------------------------------------------------------


def stats(
    context: typer.Context,
    dataset: Annotated[list[Path], typer.Argument(metavar="DATASET", help="Folders with stark_qa/ and split/.")],
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Describe datasets.

    Shows Tables 3 and 4 of the paper, the lengths of Figure 4 and the parts of Figure 5.
    """
    from kbkit.benchmarks.stark import stats as statistics
    from kbkit.benchmarks.stark.dataset import read_all
    from kbkit.display.render import check
    from kbkit.display.render import write as render

    check(format, output)
    datasets = read_all(dataset)
    found = statistics.statistics(datasets)
    note(context, statistics.remarks(datasets))
    draw(context, plot, lambda: statistics.charts(found))
    if on_screen(format, output):
        _print_statistics(found)
    else:
        render(statistics.long(found), format, output)


def _print_statistics(found: Statistics) -> None:
    from kbkit.display.render import print_table

    for position, (title, frame) in enumerate(found.sections()):
        typer.secho(f"{title}\n" if not position else f"\n{title}\n", bold=True, nl=False)
        print_table(frame, sys.stdout, count=False)


# -- run and eval -----------------------------------------------------------------------------------------------------


def run(
    context: typer.Context,
    kb: Kb,
    dataset: Data,
    split: Split = "test",
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
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
    format: Format = None,
    output: Output = None,
) -> None:
    """Run and score retrievers on a dataset.

    Shows Hit@1, Hit@5, R@20 and MRR in percent, and milliseconds per query. Each model of --llm reranks the best
    results of --rerank-mode, in a separate row.
    """
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.benchmarks.stark import rerank as reranking
    from kbkit.display.render import check
    from kbkit.kb import KnowledgeBase

    check(format, output)
    gold = stark.questions(dataset, split, sample, seed)
    depth = reranking.depth(split, rerank_depth)
    about = {"kb": str(kb), "dataset": str(dataset), "split": split, "sample": sample, "seed": seed, "k": k}
    with (
        _results_writer(context, gold, runs, about, format, output) as keep,
        KnowledgeBase(kb) as base,
        opened(context, base, llm, budget, price, prompt, workers) as calls,
    ):
        modes = stark.modes(base, mode or ())
        note(context, () if mode else stark.left_out(base))
        systems = reranking.systems(rerank, calls)
        [again] = stark.modes(base, [rerank_mode])
        if runs is not None:
            stark.check_folder(runs, [*modes, *(reranking.run_name(again, system) for system in systems)])
        runner = stark.Runner(base, stark.task(base, gold, types or ()), k, latency)
        note(context, runner.remarks())
        for result in _results(context, runner, modes, calls):
            keep(result)
        for system in systems:
            result, remarks = reranking.result(runner, again, system, depth)
            keep(result)
            note(context, remarks)


@contextlib.contextmanager
def _results_writer(
    context: typer.Context,
    gold: Gold,
    runs: Path | None,
    about: dict[str, Any],
    format: str | None,
    output: Path | None,
) -> Iterator[Callable[[Result], None]]:
    """Save each result; at the end, even if the budget is spent, write the table of results."""
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.display.render import write as render

    if runs is not None:
        stark.check_folder(runs)
    results: list[Result] = []
    written: list[str] = []

    def keep(result: Result) -> None:
        results.append(result)
        if runs is not None:
            written.append(str(stark.write(result, runs, about)))

    try:
        yield keep
    finally:
        note(context, written)
        if results:
            render(stark.table(results, gold), format, output)


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
    dataset: Data,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Ranked runs: TREC or JSON lines.")],
    split: Split = "test",
    sample: Fraction = 1.0,
    seed: Seed = 0,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs on a dataset.

    Shows Hit@1, Hit@5, R@20 and MRR in percent, as in Tables 6 and 7 of the paper.
    """
    from kbkit.benchmarks.stark import evaluate as stark
    from kbkit.display.render import check
    from kbkit.display.render import write as render
    from kbkit.measures.ranking import remarks

    check(format, output)
    gold = stark.questions(dataset, split, sample, seed)
    results = [stark.read(path) for path in runs]
    table = stark.table(results, gold)
    for result in results:
        note(context, (f"{result.name}: {line}" for line in remarks(result.run, gold)))
    render(table, format, output)


# -- write ------------------------------------------------------------------------------------------------------------


def write(
    context: typer.Context,
    kb: Kb,
    output: DatasetOutput,
    types: Types = None,
    seed: Seed = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of queries.")
    ] = None,
) -> None:
    """Write queries by hand.

    For each random entity shown, you write a query that does not contain its name (section 2.6 of the paper). An empty
    line skips the entity; q or end of input quits. Each query is saved immediately, to an existing or a new dataset.
    """
    from kbkit.benchmarks.stark import human
    from kbkit.kb import KnowledgeBase

    written = 0
    human.check_folder(output)
    with KnowledgeBase(kb) as base:
        references = human.references(base, types or (), output)
        for drawn in human.draw(base, types or (), seed, human.answered(output)):
            node = _show(base, drawn)
            query = _query(node)
            if query is None:
                break
            if query:
                typer.echo(f"saved as query {human.append(base, output, query, node, seed, references=references)}\n")
                written += 1
            if written == limit:
                break
        else:
            typer.echo("No more entities")
    note(context, [f"{human.table(output)}: {counted(written, 'query', 'queries')} written"])


def _show(kb: KnowledgeBase, drawn: int) -> Node:
    """Print a node with shortened texts and some paths of two steps."""
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
    """Read a query that does not contain the name of the node; empty to skip the entity, None to end."""
    from kbkit.benchmarks.stark.human import leak

    while line := _line():
        if line == "q":
            return None
        name = leak(line, node)
        if not name:
            return line
        typer.echo(f"The query contains the name {name}; rewrite it without the name (empty line: skip, q: end)")
    return line


def _line() -> str | None:
    """Read a line of the input without surrounding white space; None at its end."""
    from kbkit.display.render import clean

    typer.echo("query> ", nl=False)
    try:
        line = input().strip()
        line.encode()  # some locales decode invalid bytes as surrogates
    except EOFError:
        typer.echo("")
        return None
    except UnicodeError:
        raise KbError("Invalid UTF-8 in standard input", "Convert it to UTF-8, for example with iconv") from None
    if not sys.stdin.isatty():
        typer.echo(clean(line))  # as a terminal would
    return line


# -- generate ---------------------------------------------------------------------------------------------------------


def generate(
    context: typer.Context,
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="Shape of the graph: amazon, mag or prime.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Output folder.")],
    scale: Annotated[
        float, typer.Option("--scale", metavar="FACTOR", help="Size of the graph, relative to the published one.")
    ] = 0.001,
    seed: Seed = 0,
    no_texts: Annotated[bool, typer.Option("--no-texts", help="Do not generate texts.")] = False,
) -> None:
    """Generate a random graph in the shape of a STaRK KB.

    The files are input for kbkit ingest table.
    """
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event
    from kbkit.ingestion.generate import generate as write_graph

    with bars(quiet=context.obj.quiet) as listener:

        def progress(stage: str, done: int, total: int) -> None:
            if listener is not None:
                listener(Event(stage, done, total, stage))

        counts = write_graph(shape, output, scale=scale, seed=seed, texts=not no_texts, progress=progress)
    typer.echo(
        f"{output}: {counts['nodes']:,} nodes, {counts['edges']:,} edges, {counts['texts']:,} texts;"
        f" to build a KB: kbkit ingest table {output} -o {shape}.kb"
    )
