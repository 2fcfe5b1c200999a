"""Commands that run and score systems on STaRK datasets: stark run, eval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Kb, Seed, Systems, Types, argument, note, option
from kbkit.cli.papers.arguments import Hits, StarkDataset, StarkSplit, modes_option
from kbkit.cli.papers.factory import TRAIN, FiguresForm, PaperFigures, PaperSession, figures, systems_run
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.stark.run import Result
    from kbkit.measures.frames import Gold

Fraction = Annotated[float, option("--sample FRACTION", "Fraction of the queries to use, drawn at random.")]


StarkPaper = Annotated[
    str | None,
    option("--paper NAME", "Add the paper's rows for a dataset: amazon, mag or prime.", rare=True),
]


@dataclass(frozen=True)
class RerankOptions:
    """What is reranked: the best results of a mode."""

    rerank: Annotated[
        str | None,
        option("--rerank MODEL", "Rerank the best results: cross-encoder:MODEL or text2text:MODEL."),
    ] = None
    rerank_mode: Annotated[str, option("--rerank-mode MODE", "Mode whose results are reranked.")] = "hybrid"
    rerank_depth: Annotated[
        int | None,
        option(
            "--rerank-depth N", "Number of results to rerank (default: 20; 10 for human_generated_eval).", rare=True
        ),
    ] = None


@systems_run(FiguresForm())
def run(
    session: PaperSession,
    dataset: StarkDataset,
    split: StarkSplit = "test",
    mode: Annotated[list[str] | None, modes_option("all")] = None,
    k: Hits = 100,
    types: Types = None,
    sample: Fraction = 1.0,
    seed: Seed = 0,
    runs: Annotated[Path | None, option("--runs FOLDER", "Output folder of the runs (see kbkit stark eval).")] = None,
    latency: Annotated[int, option("--latency N", "Number of queries to time one by one (0: none).", min=0)] = 100,
    paper: StarkPaper = None,
    systems: Systems = False,  # noqa: ARG001 - exits by itself
    *,
    reranking: RerankOptions,
) -> None:
    """Run and score retrievers on a dataset.

    Shows Hit@1, Hit@5, R@20 and MRR in percent, and milliseconds per query. If the dataset has a file documents.jsonl,
    its documents are searched instead of the texts of the KB. Each model of --llm reranks the best results of
    --rerank-mode, in a separate row. Without a ranking in the workspace, mode learned learns one from the split train.
    With --runs, an interrupted run is resumed.
    """
    import numpy as np

    from kbkit.benchmarks.stark import evaluate as scoring
    from kbkit.benchmarks.stark import numbers
    from kbkit.benchmarks.stark import paper as paper_rows
    from kbkit.benchmarks.stark import rerank as rescoring
    from kbkit.benchmarks.stark import run as running
    from kbkit.benchmarks.stark import task as tasks
    from kbkit.measures.ranked_pairs import read_pairs
    from kbkit.search.model_search import prepare

    paper_rows.check_name(paper)
    gold = running.questions(dataset, split, sample, seed)
    depth = rescoring.depth(split, reranking.rerank_depth)
    settings = running.settings(dataset, split, sample, seed, gold)
    modes = running.modes(session.kb, mode or ())
    session.note(() if mode else running.left_out(session.kb))
    scorings = rescoring.scorings(reranking.rerank, session.calls)
    [again] = running.modes(session.kb, [reranking.rerank_mode])
    if runs is not None:
        scoring.check_folder(runs, [*modes, *(rescoring.run_name(again, one) for one in scorings)])
    task = tasks.task(session.kb, gold, types or (), numbers.read_numbers(dataset, split))
    index = session.document_index(dataset, runs, modes)
    runner = running.ModeRunner(
        session.kb, task, k, latency, folder=runs, settings=settings, replace=session.replace, index=index
    )
    session.note(runner.remarks())
    session.learn(
        [*modes, again],
        split,
        lambda: read_pairs(session.kb.stores, dataset, split=TRAIN).pairs,
        task.within.astype(np.int64),
    )
    candidates = task.candidates(session.kb)
    done = _Results(session, runs)
    session.figures = lambda: PaperFigures(
        [*done.written, *_about_paper(paper, split, sample)],
        records=lambda: _with_paper(scoring.table(done.results, task.gold, candidates), paper, split, sample),
    )
    for name in modes:
        with session.progress(f"index {name}", "texts") as progress:
            session.note(prepare(runner.texts.of(name).stores, name, progress))
        with session.progress(name, "queries") as progress:
            done.keep(runner.result(name, progress))
    for one in scorings:
        with session.progress(rescoring.run_name(again, one), "queries") as progress:
            done.keep(*rescoring.result(runner, again, one, depth, progress))


@dataclass(frozen=True)
class _Results:
    """The results of the systems that are done, and the files that they were written to."""

    session: PaperSession
    runs: Path | None
    results: list[Result] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def keep(self, result: Result, remarks: Iterable[str] = ()) -> None:
        """Add a result: report its costs, and write its run if there is a folder for it."""
        from kbkit.benchmarks.stark.evaluate import write_result

        self.results.append(result)
        self.session.note(remarks)
        self.session.finished(result.name, result.costs)
        if self.runs is not None:
            self.written.append(str(write_result(result, self.runs)))


def _with_paper(table: pl.DataFrame, paper: str | None, split: str, sample: float) -> pl.DataFrame:
    """Return a table with the rows of the paper, if they are asked for."""
    from kbkit.benchmarks.stark.paper import with_paper

    return table if paper is None else with_paper(table, paper, split, sample)


def _about_paper(paper: str | None, split: str, sample: float) -> list[str]:
    """Return a line about the rows of the paper, if they are asked for."""
    from kbkit.benchmarks.stark.paper import remark

    return [] if paper is None else [remark(paper, split, sample)]


@figures(FiguresForm())
def evaluate(
    context: typer.Context,
    dataset: StarkDataset,
    runs: Annotated[
        list[Path],
        argument("RUN", "Ranked runs (TREC, JSON lines, or csv for the leaderboard), or their folder."),
    ],
    split: StarkSplit = "test",
    kb: Annotated[
        Path | None,
        option("--kb KB", "KB of the dataset: only its candidates count, as in STaRK's evaluator."),
    ] = None,
    types: Types = None,
    sample: Fraction = 1.0,
    seed: Seed = 0,
    paper: StarkPaper = None,
) -> PaperFigures:
    """Score runs on a dataset.

    Shows Hit@1, Hit@5, R@20 and MRR in percent, as in Tables 6 and 7 of the paper; --paper adds its systems, with the
    mean latencies of Table 8.
    """
    from kbkit.benchmarks.stark import evaluate as scoring
    from kbkit.benchmarks.stark import numbers
    from kbkit.benchmarks.stark import paper as paper_rows
    from kbkit.benchmarks.stark import run as running
    from kbkit.measures.files import run_files
    from kbkit.measures.ranking import remarks

    paper_rows.check_name(paper)
    if types and kb is None:
        raise KbError("Types of nodes need a KB", "Use ", Option("kb", "KB"))
    gold = running.questions(dataset, split, sample, seed)
    results = [scoring.read_result(path) for path in run_files(runs)]
    numbered = numbers.read_numbers(dataset, split)
    if numbered is not None:
        results = [replace(result, run=numbered.named(result.run)) for result in results]
    candidates, about = (None, []) if kb is None else _candidates(kb, gold, types, dataset, split)
    table = scoring.table(results, gold, candidates)
    note(context, about)
    for result in results:
        lines = remarks(result.run, gold) if candidates is None else scoring.remarks(result.run, gold, candidates)
        note(context, (f"{result.name}: {line}" for line in lines))
    shown = _with_paper(table, paper, split, sample)
    return PaperFigures(_about_paper(paper, split, sample), records=lambda: shown)


@figures(FiguresForm())
def case(
    kb: Kb,
    dataset: StarkDataset,
    first: Annotated[Path, argument("A", "Run of a retriever.")],
    second: Annotated[Path, argument("B", "Run of another system, such as a reranker.")],
    split: StarkSplit = "test",
    query: Annotated[str, option("--query ID", "Query (default: the one that B improves most).")] = "",
    types: Types = None,
    k: Hits = 4,
) -> PaperFigures:
    """Explain the ranks of one query in two runs.

    Shows the answers and the best -k other results of each run, as Figure 6 of the paper: their ranks, the words of
    the query that their texts repeat, and how they are related to the nodes that the query names.
    """
    from kbkit.benchmarks.stark import case as studying
    from kbkit.benchmarks.stark import evaluate as scoring
    from kbkit.benchmarks.stark import numbers
    from kbkit.benchmarks.stark import run as running
    from kbkit.benchmarks.stark import task as tasks
    from kbkit.kb import KnowledgeBase

    gold = running.questions(dataset, split)
    runs = (scoring.read_result(first), scoring.read_result(second))
    with KnowledgeBase(kb) as base:
        task = tasks.task(base, gold, types or (), numbers.read_numbers(dataset, split))
        found = studying.case(base, dataset, task, runs, query, k)
    remarks = [
        f"Query {found.query}: {found.text}",
        f"Reciprocal rank of the best answer: {found.first:.3f} in {first}, {found.second:.3f} in {second}",
    ]
    return PaperFigures(remarks, records=lambda: found.hits)


def _candidates(
    kb: Path, gold: Gold, types: list[str] | None, dataset: Path, split: str
) -> tuple[pl.Series, list[str]]:
    """Return the names of the candidates of a dataset, and remarks on them."""
    from kbkit.benchmarks.stark import numbers
    from kbkit.benchmarks.stark import task as tasks
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as base:
        task = tasks.task(base, gold, types or (), numbers.read_numbers(dataset, split))
        if task.numbers is not None:
            message = f"{kb} numbers its nodes differently than the KB that {dataset} was made from"
            raise KbError(message, "Use that KB, or omit ", Option("kb"))
        return task.candidates(base), task.remarks()
