"""Commands that run and score systems on QUEST datasets: quest run, eval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Systems, argument, note, option
from kbkit.cli.papers.arguments import Hits, QuestDataset, QuestSplit, modes_option
from kbkit.cli.papers.factory import (
    TRAIN,
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
    from kbkit.benchmarks.quest.bench import Part
    from kbkit.benchmarks.quest.corpus import Corpus
    from kbkit.benchmarks.quest.dataset import Example
    from kbkit.benchmarks.quest.evaluate import ScoredSystem
    from kbkit.benchmarks.quest.run import QuestSystem
    from kbkit.cli.tables import Titled
    from kbkit.kb import KnowledgeBase

EmptyPrecision = Annotated[
    str,
    option(
        "--empty-precision HOW",
        "Precision of a query without predictions: zero, as in QUEST's own script, or skip to leave it out.",
    ),
]

WithPaper = Annotated[
    bool,
    option("--published", "Add the rows of the paper's systems to Tables 3 to 5.", rare=True),
]

BY_SYSTEM = (5, 6)
"""Tables with rows of several systems each."""
TABLES = (3, 4, 5, 6)
EVALUATED = (*TABLES, 7)
"""Tables of quest eval."""


@systems_run(FiguresForm(TABLES, ("format",), by_system=BY_SYSTEM))
def run(
    session: PaperSession,
    dataset: QuestDataset,
    output: Annotated[Path, option("--output -o FOLDER", "Output folder, with one file per run.")],
    split: QuestSplit = "test",
    mode: Annotated[list[str] | None, modes_option("bm25, dense, hybrid")] = None,
    k: Hits = 100,
    classifier: Annotated[
        str,
        option(
            "--classifier NAME",
            "Classifier of candidates: logistic, text2text:MODEL, cross-encoder:MODEL, llm or none.",
        ),
    ] = "logistic",
    parsed: Annotated[
        bool, option("--parsed/--no-parsed", "Also parse queries into expressions and evaluate them.")
    ] = True,
    empty_precision: EmptyPrecision = "zero",
    paper: WithPaper = False,
    systems: Systems = False,  # noqa: ARG001 - exits by itself
) -> None:
    """Run and score retrievers on a dataset.

    Retrieves candidates among the dataset's documents (without documents: among the texts of the KB), classifies them,
    evaluates the parsed queries, and prints Tables 3 to 6 of the paper. Without a ranking in the workspace, mode
    learned learns one from train.jsonl. An interrupted run is resumed.
    """
    from kbkit.benchmarks.quest import bench, judges, run_files
    from kbkit.benchmarks.quest import run as running
    from kbkit.benchmarks.quest.dataset import QuestDataset
    from kbkit.measures.sets import check_empty

    check_empty(empty_precision)
    retrievers = list(dict.fromkeys(mode or judges.RETRIEVERS))
    judges.check_retrievers(retrievers, k)
    opened = QuestDataset.open(dataset)
    judges.check_classifier(classifier, opened, split, session.calls)
    index = session.document_index(dataset, output, retrievers)
    setup = bench.Bench.of(session.kb, opened, k, index)
    part = setup.part(split)
    session.note(bench.remarks(setup, part))
    session.learn(retrievers, split, lambda: setup.examples(TRAIN), setup.corpus.within(None))
    finished: list[ScoredSystem] = []
    base = (session.kb, setup.corpus) if bench.fits(setup, part) else None
    if base is None:
        session.note(["The expressions of the dataset are not those of this KB, so queries are not parsed"])

    def scores() -> PaperFigures:
        remarks, tables = _scores(finished, part.examples, session.shown.table, base, empty_precision, paper=paper)
        return PaperFigures([*remarks, f"{output}: {', '.join(f'{one.name}.jsonl' for one in finished)}"], tables)

    session.figures = scores
    for system in _systems(session, part, retrievers, classifier, parsed and base is not None):
        with session.progress(system.name, "queries") as progress:
            done = running.run(part, system, output, replace=session.replace, progress=progress)
        predictions = running.predictions(done)
        run_files.export(predictions, part.examples, output)
        session.note(running.remarks(done, with_model=session.calls is not None))
        session.finished(done.name, done.summary)
        finished.append(predictions)


def _systems(
    session: PaperSession, part: Part, retrievers: Sequence[str], classifier: str, parsed: bool
) -> Iterator[QuestSystem]:
    """Yield the systems to run."""
    from kbkit.benchmarks.quest import run as running
    from kbkit.search.model_search import prepare

    for retriever in retrievers:
        with session.progress(f"index {retriever}", "texts") as progress:
            session.note(prepare(part.bench.texts.of(retriever).stores, retriever, progress))
        yield running.DomainRetriever(part, retriever)
        if classifier != "none":
            yield running.Classified(part, retriever, classifier, session.calls)
    if parsed:
        phrases = part.bench.dataset.phrases()
        if phrases:
            yield running.Parsed(part, phrases, session.calls)
        else:
            session.note(["The dataset has no categories, so its queries cannot be parsed into expressions"])


@figures(FiguresForm(EVALUATED, by_system=BY_SYSTEM))
def evaluate(
    context: typer.Context,
    shown: Shown,
    dataset: QuestDataset,
    run: Annotated[list[Path], argument("RUN", "Ranked runs or predicted sets, or their folder.")],
    kb: Annotated[
        Path | None,
        option("--kb KB", "KB of the dataset, for Table 6 and for runs with node keys."),
    ] = None,
    split: QuestSplit = "test",
    empty_precision: EmptyPrecision = "zero",
    later: Annotated[
        Path | None,
        option("--later FILE", "Titles of documents created after a system was trained, for Table 7."),
    ] = None,
    paper: WithPaper = False,
) -> PaperFigures:
    """Score runs on a dataset.

    Accepts runs of quest run or of any other system. Shows Tables 3 to 6 of the paper (6 requires --kb), and the recall
    of older and of later documents (7, requires --later).
    """
    from kbkit.benchmarks.quest import dataset as datasets
    from kbkit.benchmarks.quest import evaluate as scoring
    from kbkit.benchmarks.quest import run_files
    from kbkit.benchmarks.quest.corpus import Corpus
    from kbkit.benchmarks.quest.dataset import QuestDataset
    from kbkit.measures import files
    from kbkit.measures.sets import check_empty

    check_empty(empty_precision)
    opened = QuestDataset.open(dataset)
    examples = opened.read(split)
    if kb is None and shown.table == 6:
        raise KbError("Table 6 needs a KB", "Use ", Option("kb", "KB"))
    if later is None and shown.table == 7:
        raise KbError("Table 7 needs the titles of later documents", "Use ", Option("later", "FILE"))
    titles = None if later is None else scoring.read_titles(later)
    with opened_if_given(kb) as base:
        corpus = None if base is None else Corpus.of(base, opened, examples)
        systems = run_files.read_all(files.run_files(run), examples, corpus)
        known = None if base is None or corpus is None else (base, corpus)
        remarks, tables = _scores(systems, examples, shown.table, known, empty_precision, paper=paper)
        if titles is not None and shown.table in (None, 7):
            frame = scoring.recall_by_age(systems, datasets.gold(examples), titles)
            tables.append((7, "recall of documents by age", frame))
    note(context, remarks)
    return PaperFigures(tables=tables)


def _scores(
    systems: Sequence[ScoredSystem],
    examples: Sequence[Example],
    table: int | None,
    base: tuple[KnowledgeBase, Corpus] | None,
    empty_precision: str,
    *,
    paper: bool = False,
) -> tuple[list[str], list[Titled]]:
    """Return remarks, and the chosen table or all tables that the data allow."""
    from kbkit.benchmarks.quest import bench, dataset
    from kbkit.benchmarks.quest import evaluate as scoring
    from kbkit.benchmarks.quest import paper as paper_rows
    from kbkit.measures.ranking import remarks

    gold = dataset.gold(examples)
    lines = [f"{system.name}: {line}" for system in systems for line in remarks(system.run, gold)]
    shown: list[Titled] = []
    if table in (None, 3):
        shown.append((3, "averages over the queries", scoring.average_scores(systems, gold, empty_precision)))
    if table == 4 or (table is None and any(system.ranked for system in systems)):
        shown.append((4, "recall of the rankings", scoring.recalls(systems, gold)))
        lines += scoring.cut_short(systems)
    if table in (None, 5):
        shown.append((5, "F1 by template and domain", scoring.by_template(systems, gold)))
    has_expressions = gold.queries["expression"].null_count() < gold.queries.height
    if base is not None and (table == 6 or (table is None and has_expressions)):
        kb, corpus = base
        frame, about = scoring.false_positives_of(systems, gold, lambda run: bench.failures(kb, corpus, gold, run))
        lines += about
        shown.append((6, "constraints that false positives fail", frame))
    if paper:
        shown = [(n, title, paper_rows.with_paper(n, t) if n in paper_rows.TABLES else t) for n, title, t in shown]
    return lines, shown
