"""Commands that run and score systems on QUEST datasets: quest run, eval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import NO_MODELS, ModelOptions
from kbkit.cli.options import Format, Kb, Output, Restart, note
from kbkit.cli.papers.arguments import QuestDataset, QuestSplit
from kbkit.cli.tables import Table, check_table, write_tables
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.benchmarks.quest.corpus import Corpus
    from kbkit.benchmarks.quest.dataset import Example
    from kbkit.benchmarks.quest.evaluate import Part
    from kbkit.benchmarks.quest.systems import QuestSystem
    from kbkit.benchmarks.quest.tables import System
    from kbkit.cli.tables import Titled
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        "-m",
        metavar="MODE",
        help="Search mode: bm25, dense, multivector, hybrid or relational (default: bm25, dense, hybrid); repeatable.",
    ),
]
EmptyPrecision = Annotated[
    str,
    typer.Option(
        "--empty-precision",
        metavar="HOW",
        help="Precision of a query without predictions: zero, as in QUEST's own script, or skip to leave it out.",
    ),
]

BY_SYSTEM = (5, 6)
"""Tables with rows of several systems each."""


def run(
    context: typer.Context,
    kb: Kb,
    dataset: QuestDataset,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Output folder, with one file per run.")
    ],
    split: QuestSplit = "test",
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
    replace: Restart = False,
    models: ModelOptions = NO_MODELS,
    empty_precision: EmptyPrecision = "zero",
    table: Table = None,
    format: Format = None,
) -> None:
    """Run and score retrievers on a dataset.

    Retrieves candidates, classifies them, evaluates the parsed queries, and prints Tables 3 to 6 of the paper. An
    interrupted run is resumed.
    """
    from kbkit.benchmarks.quest import evaluate as bench
    from kbkit.benchmarks.quest import runs
    from kbkit.benchmarks.quest import systems as running
    from kbkit.benchmarks.quest.dataset import Dataset
    from kbkit.kb import KnowledgeBase
    from kbkit.measures.sets import check_empty

    check_table(table, (3, 4, 5, 6), format, None)
    check_empty(empty_precision)
    retrievers = list(dict.fromkeys(mode or bench.RETRIEVERS))
    bench.check_retrievers(retrievers)
    opened = Dataset.open(dataset)
    with KnowledgeBase(kb) as base:
        with models.opened(context, base) as calls:
            bench.check_classifier(classifier, opened, split, calls)
            setup = bench.Bench.of(base, opened, k)
            part = setup.part(split)
            note(context, bench.remarks(setup, part))
            finished = []
            for system in _systems(context, part, retrievers, classifier, parsed, calls):
                run = running.run(part, system, output, replace=replace)
                found = running.predictions(run)
                runs.export(found, part.examples, output)
                note(context, running.remarks(run, with_model=calls is not None))
                finished.append(found)
        _write_scores(context, finished, part.examples, table, format, None, (base, setup.corpus), empty_precision)
    note(context, [f"{output}: {', '.join(f'{one.name}.jsonl' for one in finished)}"])


def _systems(
    context: typer.Context,
    part: Part,
    retrievers: Sequence[str],
    classifier: str,
    parsed: bool,
    calls: Calls | None,
) -> Iterator[QuestSystem]:
    """Yield the systems to run."""
    from kbkit.benchmarks.quest import systems

    for retriever in retrievers:
        yield systems.Retriever(part, retriever)
        if classifier != "none":
            yield systems.Classified(part, retriever, classifier, calls)
    if parsed:
        phrases = part.bench.dataset.phrases()
        if phrases:
            yield systems.Parsed(part, phrases, calls)
        else:
            note(context, ["The dataset has no categories, so its queries cannot be parsed into expressions"])


def evaluate(
    context: typer.Context,
    dataset: QuestDataset,
    run: Annotated[list[Path], typer.Argument(metavar="RUN", help="Ranked runs or predicted sets.")],
    kb: Annotated[
        Path | None,
        typer.Option("--kb", metavar="KB", help="KB of the dataset, for Table 6 and for runs with node keys."),
    ] = None,
    split: QuestSplit = "test",
    empty_precision: EmptyPrecision = "zero",
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
    from kbkit.measures.sets import check_empty

    check_table(table, (3, 4, 5, 6), format, output)
    check_empty(empty_precision)
    opened = Dataset.open(dataset)
    examples = opened.read(split)
    if kb is None:
        if table == 6:
            raise KbError("Table 6 needs a KB", "Use ", Option("kb", "KB"))
        _write_scores(context, runs.read_all(run, examples), examples, table, format, output, None, empty_precision)
        return
    with KnowledgeBase(kb) as base:
        corpus = Corpus.of(base, opened, examples)
        systems = runs.read_all(run, examples, corpus)
        _write_scores(context, systems, examples, table, format, output, (base, corpus), empty_precision)


def _write_scores(
    context: typer.Context,
    systems: Sequence[System],
    examples: Sequence[Example],
    table: int | None,
    format: str | None,
    output: Path | None,
    base: tuple[KnowledgeBase, Corpus] | None,
    empty_precision: str,
) -> None:
    """Write the chosen table, or all tables that the data allow."""
    from kbkit.benchmarks.quest import dataset, evaluate, tables
    from kbkit.measures.ranking import remarks

    gold = dataset.gold(examples)
    for system in systems:
        note(context, [f"{system.name}: {line}" for line in remarks(system.run, gold)])
    shown: list[Titled] = []
    if table in (None, 3):
        shown.append((3, "averages over the queries", tables.average_scores(systems, gold, empty_precision)))
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
    write_tables(shown, table, format, output, by_system=BY_SYSTEM)
