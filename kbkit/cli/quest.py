"""Commands for QUEST: quest make, documents, stats, run, eval, purity."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.commands import add, group
from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers
from kbkit.cli.options import (
    Constraints,
    Format,
    Kb,
    MaxAnswers,
    Output,
    Plot,
    Restart,
    Seed,
    Types,
    draw,
    note,
    numbers,
)
from kbkit.cli.tables import Table, check_table, write_tables
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.pipeline import Output as NewDataset
    from kbkit.benchmarks.quest.corpus import Corpus
    from kbkit.benchmarks.quest.dataset import Example
    from kbkit.benchmarks.quest.evaluate import Bench, Part
    from kbkit.benchmarks.quest.make import QuestSettings
    from kbkit.benchmarks.quest.tables import System
    from kbkit.cli.tables import Titled
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

Data = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder with train.jsonl, val.jsonl and test.jsonl.")]
Split = Annotated[str, typer.Option("--split", metavar="NAME", help="Split of the dataset: train, val or test.")]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        "-m",
        metavar="MODE",
        help="Search mode: bm25, dense, multivector, hybrid or relational (default: bm25, dense, hybrid); repeatable.",
    ),
]
ExcludedFields = Annotated[
    list[str] | None,
    typer.Option("--exclude-field", metavar="FIELD", help="Text field to leave out of documents; repeatable."),
]

_BY_SYSTEM = (5, 6)
"""Tables with rows of several systems each."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    quest = group("Make, run and score QUEST datasets.")
    add(quest, make)
    add(quest, documents)
    add(quest, stats)
    add(quest, run)
    add(quest, evaluate, "eval")
    add(quest, purity)
    app.add_typer(quest, name="quest")


# -- make and documents -----------------------------------------------------------------------------------------------


def make(
    context: typer.Context,
    kb: Kb,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the dataset.")],
    type: Types = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", help="Number of queries to generate, over all domains and templates."
        ),
    ] = 350,
    seed: Seed = 0,
    min_answers: Annotated[
        int, typer.Option("--min-answers", metavar="N", help="Minimum number of answers per query.")
    ] = 2,
    max_answers: MaxAnswers = 20,
    category: Annotated[
        list[str] | None,
        typer.Option(
            "--category", metavar="EXPR", help="Additional categories: an expression with one <slot>; repeatable."
        ),
    ] = None,
    category_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--category-file",
            metavar="FILE",
            help="Additional categories: category<TAB>key, or JSON lines; repeatable.",
        ),
    ] = None,
    phrases: Annotated[
        Path | None,
        typer.Option("--phrases", metavar="FILE", help='Phrases of categories (TOML): "FAMILY" = "movies by {name}".'),
    ] = None,
    constraint: Constraints = None,
    scale_constraints: Annotated[
        bool, typer.Option("--scale-constraints", help="Halve size limits for templates that yield too few queries.")
    ] = False,
    require_evidence: Annotated[
        str,
        typer.Option(
            "--require-evidence", metavar="HOW", help="Evidence required for an answer: none, partial or complete."
        ),
    ] = "none",
    no_evidence: Annotated[
        bool, typer.Option("--no-evidence", help="Skip the search for evidence, for domains without texts.")
    ] = False,
    exclude_field: ExcludedFields = None,
    replace: Restart = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
) -> None:
    """Make a dataset of queries with set operations.

    It has answers, evidence and documents, as in QUEST. --type selects the domains. Without --llm, a grammar writes the
    queries, answers are labelled by matching, and there are no votes. An interrupted run is resumed from its tables in
    FOLDER/stages.
    """
    from kbkit.benchmarks.quest import make as quest
    from kbkit.benchmarks.quest.families import read_patterns
    from kbkit.benchmarks.quest.make import QuestSettings
    from kbkit.cli.models import opened, stages
    from kbkit.kb import KnowledgeBase

    bounds = _constraints(constraint)
    with KnowledgeBase(kb) as base:
        settings = QuestSettings(
            domains=_domains(base.schema.node_types, type),
            count=limit,
            seed=seed,
            min_answers=min_answers,
            max_answers=max_answers,
            categories=tuple(category or ()),
            files=tuple(category_file or ()),
            patterns=read_patterns(phrases) if phrases else {},
            constraints=bounds,
            scale=scale_constraints,
            require=require_evidence,
            texts=not no_evidence,
            without=tuple(exclude_field or ()),
        )
        with (
            opened(context, base, llm, budget, price, prompt, workers) as calls,
            stages(context, calls) as progress,
        ):
            made = quest.make(base, output, settings, calls, progress, replace=replace)
    if not context.obj.quiet:
        _print(made, settings)


def _constraints(values: list[str] | None) -> Any:
    from kbkit.answers.sample_sets import Constraints

    return Constraints.of(numbers(values, "constraint", "NAME=10"))


def documents(
    context: typer.Context,
    kb: Kb,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Output file, e.g. documents.jsonl.")],
    type: Types = None,
    exclude_field: ExcludedFields = None,
) -> None:
    """Write the documents of a domain.

    Each document has the title and texts of a node, without relations and category labels. --type selects the domains.
    """
    from kbkit.benchmarks import documents as corpus
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as base:
        types = _domains(base.schema.node_types, type)
        corpus.check_types(base, types, exclude_field or [])
        frame = corpus.titles(base, types)
        silent = corpus.write(base, frame, output, exclude_field or [])
    note(context, [f"{output}: {frame.height:,} documents, {silent:,} of them without text"])


def _domains(types: Iterable[Any], names: list[str] | None) -> tuple[str, ...]:
    if not names:
        known = ", ".join(t.name for t in types)
        raise KbError("No domain given", "Use ", Option("type", "TYPE"), f"; node types: {known}")
    return tuple(names)


def _print(made: NewDataset, settings: QuestSettings) -> None:
    """Print a report on a new dataset: categories, templates, constraints, dropped queries, files."""
    import polars as pl

    from kbkit.display.render import clean, print_table

    report = made.report
    for title, frame in (("categories", pl.DataFrame(report["families"])), ("templates", _shapes(report["shapes"]))):
        typer.secho(f"{title}\n", bold=True, nl=False)
        print_table(frame, sys.stdout, count=False)
    for line in _lines(made, settings):
        typer.echo(clean(line))


def _shapes(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    import polars as pl

    listed = [{**row, "possible": f"{row['possible']:,}{'+' if row['more'] else ''}"} for row in rows]
    return pl.DataFrame(listed).select("domain", "template", "asked", "possible", "made")


def _lines(made: NewDataset, settings: QuestSettings) -> Iterable[str]:
    from dataclasses import asdict

    report = made.report
    limits = asdict(settings.constraints)
    yield f"constraints: {settings.min_answers} to {settings.max_answers} answers, {_assignments(limits)}"
    for row in report["shapes"]:
        scaled = {name: value for name, value in row["constraints"].items() if value != limits[name]}
        own = {name: value for name, value in scaled.items() if _applies(name, row["template"])}
        if own:
            yield f"constraints scaled down for {row['domain']}, {row['template']!r}: {_assignments(own)}"
    for row in report["shapes"]:
        if row["made"] < row["asked"]:
            yield f"only {row['made']:,} of {row['asked']:,} for {row['domain']}, {row['template']!r}"
    if report["dropped"]:
        yield "queries dropped: " + ", ".join(f"{count:,} because {why}" for why, count in report["dropped"].items())
    if report["answers removed"]:
        yield "answers removed: " + ", ".join(f"{n:,} {why}" for why, n in report["answers removed"].items())
    if report["evidence"]:
        yield "evidence of the answers: " + ", ".join(f"{n:,} {name}" for name, n in report["evidence"].items())
    if report["quotes that are not in the document"]:
        yield f"quotes of models skipped, not found in the document: {report['quotes that are not in the document']:,}"
    for name in ("train", "val", "test"):
        if not report["splits"].get(name):
            yield f"{name}.jsonl is empty: make more queries (--limit)"
    documents = report["documents"]
    splits = ", ".join(f"{report['splits'].get(name, 0):,} {name}" for name in ("train", "val", "test"))
    yield (
        f"{made.folder}: {report['queries']:,} queries ({splits}), {report['answers']:,} answers,"
        f" {documents['count']:,} documents ({documents['without text']:,} without text)"
    )


def _assignments(constraints: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:.4g}" for name, value in constraints.items())


def _applies(constraint: str, template: str) -> bool:
    """Return whether a constraint applies to an operation of a template."""
    word = {"intersection": "also", "difference": "not", "union": "or"}[constraint.split("_", maxsplit=1)[0]]
    return word in template.split()


# -- stats, run, eval -------------------------------------------------------------------------------------------------


def stats(
    context: typer.Context,
    dataset: Data,
    split: Split = "",
    table: Table = None,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Describe a dataset.

    Shows queries by template and domain (Table 1 of the paper), lengths, answers and evidence (Table 2).
    """
    from kbkit.benchmarks.quest import stats as statistics
    from kbkit.benchmarks.quest.dataset import Dataset

    check_table(table, (1, 2), format, output)
    opened = Dataset.open(dataset)
    examples = opened.read_all(split)
    draw(context, plot, lambda: statistics.charts(examples))
    tables = [
        (1, "queries by template and domain", statistics.templates(examples)),
        (2, "by domain", statistics.domains(opened, examples)),
    ]
    write_tables(tables, table, format, output, by_system=_BY_SYSTEM)
    note(context, statistics.remarks(opened, examples))


def run(
    context: typer.Context,
    kb: Kb,
    dataset: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Output folder, with one file per run.")
    ],
    split: Split = "test",
    mode: Modes = None,
    k: Annotated[int, typer.Option("-k", metavar="N", help="Number of results per query.")] = 100,
    classifier: Annotated[
        str,
        typer.Option(
            "--classifier", metavar="NAME", help="Classifier of candidates: logistic, cross-encoder:MODEL, llm or none."
        ),
    ] = "logistic",
    parsed: Annotated[
        bool, typer.Option("--parsed/--no-parsed", help="Also parse queries into expressions and evaluate them.")
    ] = True,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
    table: Table = None,
    format: Format = None,
) -> None:
    """Run and score retrievers on a dataset.

    Retrieves candidates, classifies them, evaluates the parsed queries, and prints Tables 3 to 6 of the paper.
    """
    from kbkit.benchmarks.quest import evaluate as bench
    from kbkit.benchmarks.quest import runs
    from kbkit.benchmarks.quest.dataset import Dataset
    from kbkit.cli.models import opened as calls_of
    from kbkit.kb import KnowledgeBase

    check_table(table, (3, 4, 5, 6), format, None)
    retrievers = list(dict.fromkeys(mode or bench.RETRIEVERS))
    bench.check_retrievers(retrievers)
    opened = Dataset.open(dataset)
    with KnowledgeBase(kb) as base:
        with calls_of(context, base, llm, budget, price, prompt, workers) as calls:
            bench.check_classifier(classifier, opened, split, calls)
            setup = bench.Bench.of(base, opened, k)
            part = setup.part(split)
            note(context, bench.remarks(setup, part))
            output.mkdir(parents=True, exist_ok=True)
            systems = []
            for system in _systems(context, setup, part, retrievers, classifier, parsed, calls):
                runs.write(system, part.examples, output)
                systems.append(system)
        _write_scores(context, systems, part.examples, table, format, None, (base, setup.corpus))
    note(context, [f"{output}: {', '.join(f'{system.name}.jsonl' for system in systems)}"])


def _systems(
    context: typer.Context,
    setup: Bench,
    part: Part,
    retrievers: Sequence[str],
    classifier: str,
    parsed: bool,
    calls: Calls | None,
) -> Iterable[System]:
    """Yield each system when it is done, so that its run is saved at once."""
    from kbkit.benchmarks.quest import evaluate as bench
    from kbkit.benchmarks.quest.tables import System

    for retriever in retrievers:
        yield System(retriever, setup.corpus.named(part.ranking(retriever)), ranked=True, k=setup.k)
        if classifier != "none":
            system = bench.predict(setup, part, retriever, classifier, calls)
            note(context, [bench.threshold_text(system)])
            yield system
    if parsed:
        yield from _parsed(context, setup, part, calls)


def _parsed(context: typer.Context, setup: Bench, part: Part, calls: Calls | None) -> Iterable[System]:
    from kbkit.benchmarks.quest import parsed

    phrases = setup.dataset.phrases()
    if not phrases:
        note(context, ["The dataset has no categories, so its queries cannot be parsed into expressions"])
        return
    reading = parsed.read(part.examples, phrases, calls)
    by_model = f", {reading.by_model:,} of them by a model" if calls else ""
    rest = "; the others have no answers" if reading.unread else ""
    count = len(part.examples)
    note(context, [f"{parsed.NAME}: parsed {len(reading.expressions):,} of {count:,} queries{by_model}{rest}"])
    yield parsed.predict(setup.kb, setup.corpus, part.examples, reading)


def evaluate(
    context: typer.Context,
    dataset: Data,
    run: Annotated[list[Path], typer.Argument(metavar="RUN", help="Ranked runs or predicted sets.")],
    kb: Annotated[
        Path | None,
        typer.Option("--kb", metavar="KB", help="KB of the dataset, for Table 6 and for runs with node keys."),
    ] = None,
    split: Split = "test",
    table: Table = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs on a dataset.

    Accepts runs of quest run or of any other system. Shows Tables 3 to 6 of the paper (6 requires --kb).
    """
    from kbkit.benchmarks.quest import runs
    from kbkit.benchmarks.quest.corpus import Corpus
    from kbkit.benchmarks.quest.dataset import Dataset
    from kbkit.kb import KnowledgeBase

    check_table(table, (3, 4, 5, 6), format, output)
    opened = Dataset.open(dataset)
    examples = opened.read(split)
    if kb is None:
        if table == 6:
            raise KbError("Table 6 needs a KB", "Use ", Option("kb", "KB"))
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
    base: tuple[KnowledgeBase, Corpus] | None,
) -> None:
    """Write the chosen table, or all tables that the data allow."""
    from kbkit.benchmarks.quest import dataset, evaluate, tables
    from kbkit.measures.ranking import remarks

    gold = dataset.gold(examples)
    for system in systems:
        note(context, [f"{system.name}: {line}" for line in remarks(system.run, gold)])
    shown: list[Titled] = []
    if table in (None, 3):
        shown.append((3, "averages over the queries", tables.average_scores(systems, gold)))
    if table == 4 or (table is None and any(system.ranked for system in systems)):
        shown.append((4, "recall of the rankings", tables.recalls(systems, gold)))
        note(context, tables.cut_short(systems))
    if table in (None, 5):
        shown.append((5, "F1 by template and domain", tables.by_template(systems, gold)))
    has_expressions = gold.queries["expression"].null_count() < gold.queries.height
    if base is not None and (table == 6 or (table is None and has_expressions)):
        kb, corpus = base
        frame, lines = tables.false_positives_of(
            systems, gold, lambda found: evaluate.failures(kb, corpus, gold, found)
        )
        note(context, lines)
        shown.append((6, "constraints that false positives fail", frame))
    write_tables(shown, table, format, output, by_system=_BY_SYSTEM)


def purity(
    context: typer.Context,
    kb: Annotated[Path | None, typer.Argument(metavar="KB", help="KB to compute the overlap of A and B from.")] = None,
    a: Annotated[str, typer.Argument(metavar="A", help="Answer expression of A.")] = "",
    b: Annotated[str, typer.Argument(metavar="B", help="Answer expression of B.")] = "",
    recall_a: Annotated[
        list[float] | None,
        typer.Option("--recall-a", metavar="FRACTION", help="Fraction of A in the KB (default: 0.95); repeatable."),
    ] = None,
    recall_b: Annotated[
        list[float] | None,
        typer.Option("--recall-b", metavar="FRACTION", help="Fraction of B in the KB (default: 0.95); repeatable."),
    ] = None,
    overlap: Annotated[
        list[float] | None,
        typer.Option("--overlap", metavar="FRACTION", help="Fraction of A that is also in B; repeatable."),
    ] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Estimate precision and recall of A - B.

    The KB may have only a fraction of A and of B (QUEST, appendix B). Repeated options give a grid of estimates.
    """
    from kbkit.benchmarks.quest import purity as module
    from kbkit.display.render import write

    recalls_a, recalls_b = recall_a or [0.95], recall_b or [0.95]
    if kb is None:
        if not overlap:
            raise KbError(
                "No overlap of A and B given", "Use ", Option("overlap", "0.8"), ", or a KB and two expressions"
            )
        write(module.grid(recalls_a, recalls_b, overlap), format, output)
        return
    if not (a and b):
        raise KbError(
            "No expressions for A and B", 'Add two expressions after the KB, for example "genre:Drama -> movie"'
        )
    if overlap:
        raise KbError("Option --overlap and a KB cannot be combined", "Remove one of them")
    import polars as pl

    from kbkit.kb import KnowledgeBase

    parts = []
    with KnowledgeBase(kb) as base:
        first, second = base.answers(a), base.answers(b)
        for recall in dict.fromkeys(recalls_b):
            seen, true = module.overlap_of(first, second, recall)
            parts.append(module.grid(recalls_a, [recall], [true]))
            note(context, module.remarks(seen, recall))
        note(context, [f"A: {len(first):,}, B: {len(second):,}, fraction of A in B according to the KB: {seen:.4g}"])
    write(pl.concat(parts), format, output)
