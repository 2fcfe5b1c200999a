"""Commands for QUEST datasets: quest stats, run, eval, purity (make and documents are in quest_make)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli import quest_make
from kbkit.cli.models import Budget, Llm, Price, PromptFiles, Workers
from kbkit.cli.options import Format, Kb, Output, on_screen
from kbkit.cli.plots import Plot, draw
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.quest.corpus import Corpus
    from kbkit.benchmarks.quest.dataset import Example
    from kbkit.benchmarks.quest.evaluate import Bench, Part
    from kbkit.benchmarks.quest.tables import System
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

    Titled = tuple[int, str, pl.DataFrame]
    """The paper's number of a table, its caption, the table."""

Folder = Annotated[Path, typer.Argument(metavar="DATASET", help="A folder with train, val and test.jsonl.")]
Table = Annotated[int | None, typer.Option("--table", metavar="N", help="Only this table of the paper's.")]
Share = Annotated[list[float] | None, typer.Option(metavar="SHARE", help="From 0 to 1; repeat it for a grid.")]

_BY_SYSTEM = (5, 6)
"""Tables with rows of several systems each."""

quest_app = typer.Typer(help="Make, describe, run and score QUEST datasets: queries for sets.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    for command in (stats, run, purity):
        quest_app.command()(command)
    quest_app.command("eval")(evaluate)
    quest_make.register(quest_app)
    app.add_typer(quest_app, name="quest")


def stats(
    context: typer.Context,
    dataset: Folder,
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="Only train, val or test.")] = "",
    table: Table = None,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """What a dataset holds: queries by template and domain (Table 1), lengths, answers, evidence (Table 2)."""
    from kbkit.benchmarks.quest import stats as statistics
    from kbkit.benchmarks.quest.dataset import Dataset

    _check_table(table, (1, 2), format, output)
    opened = Dataset.open(dataset)
    examples = opened.read_all(split)
    draw(context, plot, lambda: statistics.charts(examples))
    tables = [
        (1, "queries by template and domain", statistics.templates(examples)),
        (2, "by domain", statistics.domains(opened, examples)),
    ]
    _write(tables, table, format, output)
    _remark(context, statistics.remarks(opened, examples))


def run(
    context: typer.Context,
    kb: Kb,
    dataset: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the runs go, a file a system.")],
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="train, val or test.")] = "test",
    retriever: Annotated[
        list[str] | None,
        typer.Option("--retriever", "-r", metavar="MODE", help="bm25, dense, multivector, hybrid, relational; repeat."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Candidates of each query.")] = 100,
    classifier: Annotated[
        str, typer.Option(metavar="NAME", help="logistic, cross-encoder:MODEL, llm or none.")
    ] = "logistic",
    parsed: Annotated[bool, typer.Option(help="Read queries back into expressions, and answer these too.")] = True,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: PromptFiles = None,
    workers: Workers = 8,
    table: Table = None,
    format: Format = None,
) -> None:
    """Retrieve candidates, classify them, answer the parsed queries, and print Tables 3 to 6."""
    from kbkit.benchmarks.quest import evaluate as bench
    from kbkit.benchmarks.quest import runs
    from kbkit.benchmarks.quest.dataset import Dataset
    from kbkit.cli.models import opened as calls_of
    from kbkit.kb import KnowledgeBase

    _check_table(table, (3, 4, 5, 6), format, None)
    retrievers = list(dict.fromkeys(retriever or bench.RETRIEVERS))
    bench.check_retrievers(retrievers)
    opened = Dataset.open(dataset)
    with KnowledgeBase(kb) as base:
        with calls_of(context, base, llm, budget, price, prompt, workers) as calls:
            bench.check_classifier(classifier, opened, split, calls)
            setup = bench.Bench.of(base, opened, k)
            part = setup.part(split)
            _remark(context, bench.remarks(setup, part))
            out.mkdir(parents=True, exist_ok=True)
            systems = []
            for system in _systems(context, setup, part, retrievers, classifier, parsed, calls):
                runs.write(system, part.examples, out)
                systems.append(system)
        _write_scores(context, systems, part.examples, table, format, None, (base, setup.corpus))
    _remark(context, [f"{out}: {', '.join(f'{system.name}.jsonl' for system in systems)}"])


def _systems(
    context: typer.Context,
    setup: Bench,
    part: Part,
    retrievers: Sequence[str],
    classifier: str,
    parsed: bool,
    calls: Calls | None,
) -> Iterable[System]:
    """Each system as it is done, so that what is done is kept."""
    from kbkit.benchmarks.quest import evaluate as bench
    from kbkit.benchmarks.quest.tables import System

    for retriever in retrievers:
        yield System(retriever, setup.corpus.named(part.ranking(retriever)), ranked=True, k=setup.k)
        if classifier != "none":
            system = bench.predict(setup, part, retriever, classifier, calls)
            _remark(context, [bench.threshold_text(system)])
            yield system
    if parsed:
        yield from _parsed(context, setup, part, calls)


def _parsed(context: typer.Context, setup: Bench, part: Part, calls: Calls | None) -> Iterable[System]:
    from kbkit.benchmarks.quest import parsed

    phrases = setup.dataset.phrases()
    if not phrases:
        _remark(context, ["the dataset names no categories, so that queries cannot be read back into expressions"])
        return
    reading = parsed.read(part.examples, phrases, calls)
    by_model = f", {reading.by_model:,} of them by a model" if calls else ""
    rest = "; the others count as empty sets" if reading.unread else ""
    count = len(part.examples)
    _remark(context, [f"{parsed.NAME}: read {len(reading.expressions):,} of {count:,} queries{by_model}{rest}"])
    yield parsed.predict(setup.kb, setup.corpus, part.examples, reading)


def evaluate(
    context: typer.Context,
    dataset: Folder,
    run: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Rankings or predicted sets.")],
    kb: Annotated[
        Path | None,
        typer.Option("--kb", metavar="DIR", help="The KB: for Table 6, and for runs that name nodes by key."),
    ] = None,
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="train, val or test.")] = "test",
    table: Table = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs that are there, of `quest run` or of any system: Tables 3 to 6 (6 with --kb)."""
    from kbkit.benchmarks.quest import runs
    from kbkit.benchmarks.quest.corpus import Corpus
    from kbkit.benchmarks.quest.dataset import Dataset
    from kbkit.kb import KnowledgeBase

    _check_table(table, (3, 4, 5, 6), format, output)
    opened = Dataset.open(dataset)
    examples = opened.read(split)
    if kb is None:
        if table == 6:
            raise KbError("Table 6 asks a KB what errors fail", "name it with --kb DIR")
        _write_scores(context, runs.read_all(run, examples), examples, table, format, output, None)
        return
    with KnowledgeBase(kb) as base:
        corpus = Corpus.of(base, opened, examples)
        systems = runs.read_all(run, examples, corpus)
        _write_scores(context, systems, examples, table, format, output, (base, corpus))


def _write_scores(
    context: typer.Context,
    systems: Sequence[System],
    examples: Sequence[Example],
    table: int | None,
    format: str | None,
    output: Path | None,
    asked: tuple[KnowledgeBase, Corpus] | None,
) -> None:
    """Print the tables that can be made, or the one that is asked for."""
    from kbkit.benchmarks.quest import dataset, evaluate, tables
    from kbkit.measures.ranking import remarks

    gold = dataset.gold(examples)
    for system in systems:
        _remark(context, [f"{system.name}: {line}" for line in remarks(system.run, gold)])
    shown: list[Titled] = []
    if table in (None, 3):
        shown.append((3, "averages over the queries", tables.average_scores(systems, gold)))
    if table == 4 or (table is None and any(system.ranked for system in systems)):
        shown.append((4, "recall of the rankings", tables.recalls(systems, gold)))
        _remark(context, tables.cut_short(systems))
    if table in (None, 5):
        shown.append((5, "F1 by template and domain", tables.by_template(systems, gold)))
    has_expressions = gold.queries["expression"].null_count() < gold.queries.height
    if asked is not None and (table == 6 or (table is None and has_expressions)):
        kb, corpus = asked
        frame, lines = tables.false_positives_of(
            systems, gold, lambda found: evaluate.failures(kb, corpus, gold, found)
        )
        _remark(context, lines)
        shown.append((6, "what false positives fail", frame))
    _write(shown, table, format, output)


def purity(
    context: typer.Context,
    kb: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="A KB, to take the overlap from.")] = None,
    a: Annotated[str, typer.Argument(metavar="[A]", help="The expression of A.")] = "",
    b: Annotated[str, typer.Argument(metavar="[B]", help="The expression of B.")] = "",
    recall_a: Share = None,
    recall_b: Share = None,
    overlap: Share = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Expected precision and recall of A - B, where a KB knows a share of A and of B (QUEST, appendix B).

    The overlap is the share of A that lies in B. Shares that are not given: 0.95 for both recalls, as in the paper.
    """
    from kbkit.benchmarks.quest import purity as module
    from kbkit.display.render import write

    recalls_a, recalls_b = recall_a or [0.95], recall_b or [0.95]
    if kb is None:
        if not overlap:
            raise KbError("the overlap of A and B is not known", "--overlap 0.8, or a KB and two expressions")
        write(module.grid(recalls_a, recalls_b, overlap), format, output)
        return
    if not (a and b):
        raise KbError("A and B are not named", 'give two expressions after the KB, e.g. "genre:Drama -> movie"')
    if overlap:
        raise KbError("--overlap and a KB both say what A and B share", "leave one out")
    import polars as pl

    from kbkit.kb import KnowledgeBase

    parts = []
    with KnowledgeBase(kb) as base:
        first, second = base.answers(a), base.answers(b)
        for recall in dict.fromkeys(recalls_b):
            seen, true = module.overlap_of(first, second, recall)
            parts.append(module.grid(recalls_a, [recall], [true]))
            _remark(context, module.remarks(seen, recall))
        _remark(context, [f"A: {len(first):,}, B: {len(second):,}, of A in B as the KB knows them: {seen:.4g}"])
    write(pl.concat(parts), format, output)


def _check_table(table: int | None, known: Sequence[int], format: str | None, output: Path | None) -> None:
    """Raise now what :func:`_write` would raise when the work is done."""
    from kbkit.display.render import check

    if table is not None and table not in known:
        raise KbError(f"there is no Table {table} here", f"there are {', '.join(map(str, known))}")
    check(format, output)
    if table is None and (output is not None or format not in (None, "table", "markdown", "ndjson")):
        what = "a file" if output is not None else format
        raise KbError(f"{what} holds one table", f"--table N chooses one of {', '.join(map(str, known))}")


def _write(tables: Sequence[Titled], chosen: int | None, format: str | None, output: Path | None) -> None:
    """One table in any format; several for the eye, in Markdown, or as records that say their ``table``."""
    import polars as pl

    from kbkit.display.render import print_table, write

    kept = [found for found in tables if chosen in (None, found[0])]
    seen = on_screen(format, output)
    if chosen is not None and not (seen and chosen in _BY_SYSTEM):
        write(kept[0][2], format, output)
        return
    kind = "table" if seen else format or "ndjson"
    for place, (number, caption, frame) in enumerate(kept):
        if kind == "ndjson":
            write(frame.select(pl.lit(number).alias("table"), pl.all()), kind)
            continue
        if chosen is None:
            typer.echo(f"{chr(10) if place else ''}Table {number}: {caption}\n")
        if kind != "table":
            write(frame, kind)
        elif number in _BY_SYSTEM:
            _print_by_system(frame)
        else:
            print_table(frame, sys.stdout, count=False)


def _print_by_system(frame: pl.DataFrame) -> None:
    """Each system above its rows, which are too wide to begin with its name."""
    from kbkit.display.render import clean, print_table

    for place, ((system,), rows) in enumerate(frame.group_by("system", maintain_order=True)):
        typer.echo(f"{chr(10) if place else ''}{clean(str(system))}")
        print_table(rows.drop("system"), sys.stdout, count=False)


def _remark(context: typer.Context, lines: Iterable[str]) -> None:
    from kbkit.display.render import clean

    if not context.obj.quiet:
        for line in lines:
            typer.echo(clean(line), err=True)
