"""Commands that describe and check datasets: stats; quest purity, ska check, conv proxies, spinach check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kbkit.cli.options import Kb, Rendering, RowLimit, Timeout, Types, argument, note, option, seconds
from kbkit.cli.papers.arguments import (
    Conversations,
    QuestDataset,
    QuestSplit,
    SkaDataset,
    SpinachPaper,
    SpinachQuestions,
    StarkDataset,
    StarkSplit,
)
from kbkit.cli.papers.factory import FiguresForm, PaperFigures, Shown, figures
from kbkit.cli.papers.quest_runs import BY_SYSTEM
from kbkit.errors import KbError, Option, plural

WITH_PLOT = ("plot", "format", "output")
_SHORT = {"projections": "projs", "relations": "rels", "subjects": "subjs", "predicates": "preds", "literals": "lits"}
"""Columns of Table 1 of SPINACH on a screen, as the paper's."""


# -- STaRK -------------------------------------------------------------------------------------------------------------


@figures(FiguresForm(options=WITH_PLOT))
def stark_stats(
    dataset: Annotated[list[Path], argument("DATASET", "Folders with stark_qa/ and split/.")],
) -> PaperFigures:
    """Describe datasets.

    Shows Tables 3 and 4 of the paper, the lengths of Figure 4 and the parts of Figure 5.
    """
    from kbkit.benchmarks.stark import stats as statistics
    from kbkit.benchmarks.stark.dataset import read_all

    datasets = read_all(dataset)
    counts = statistics.statistics(datasets)
    return PaperFigures(
        statistics.remarks(datasets),
        sections=counts.sections(),
        records=lambda: statistics.long(counts),
        charts=lambda: statistics.charts(counts),
    )


@figures(FiguresForm(options=("per_query", "format", "output")))
def stark_audit(
    context: typer.Context,
    kb: Kb,
    dataset: StarkDataset,
    split: StarkSplit = "",
    types: Types = None,
    page: Annotated[Path | None, option("--page FILE", "Also write the findings as a page: .html or .md.")] = None,
) -> PaperFigures:
    """Check answers, duplicates and splits.

    Counts the answers whose relations can be proved on the KB, the queries that name an answer, duplicates, leaks
    between splits, and the queries that text or relations alone decide. Exits with 1 if an expression refutes an answer
    or a query leaks into another split.
    """
    from kbkit.benchmarks.stark import audit, audit_report, numbers
    from kbkit.benchmarks.stark import run as running
    from kbkit.benchmarks.stark import task as tasks
    from kbkit.cli.progress import counting
    from kbkit.display import reports
    from kbkit.kb import KnowledgeBase

    if page is not None:
        reports.check(page)
    gold = running.questions(dataset, split)
    with KnowledgeBase(kb) as base:
        task = tasks.task(base, gold, types or (), numbers.read_numbers(dataset, split))
        with counting(context.obj.quiet, "queries") as progress:
            found = audit.audit(base, dataset, task, progress)
    remarks = task.remarks()
    if page is not None:
        title = f"Audit of {dataset.resolve().name}{f', {split}' if split else ''}"
        reports.write(audit_report.page(found, title, remarks), page)
    checks = audit_report.summary(found)
    return PaperFigures(remarks, records=lambda: checks, per_query=lambda: found.rows, exit_code=int(found.is_faulty))


# -- QUEST -------------------------------------------------------------------------------------------------------------


@figures(FiguresForm((1, 2), WITH_PLOT, by_system=BY_SYSTEM))
def quest_stats(dataset: QuestDataset, split: QuestSplit = "") -> PaperFigures:
    """Describe a dataset.

    Shows queries by template and domain (Table 1 of the paper), lengths, answers and evidence (Table 2).
    """
    from kbkit.benchmarks.quest import stats as statistics
    from kbkit.benchmarks.quest.dataset import QuestDataset

    opened = QuestDataset.open(dataset)
    examples = opened.read_all(split)
    tables = [
        (1, "queries by template and domain", statistics.templates(examples)),
        (2, "by domain", statistics.domains(opened, examples)),
    ]
    return PaperFigures(statistics.remarks(opened, examples), tables, charts=lambda: statistics.charts(examples))


@figures(FiguresForm())
def quest_purity(
    kb: Annotated[Path | None, argument("KB", "KB to compute the overlap of A and B from.")] = None,
    a: Annotated[str, argument("A", "Answer expression of A.")] = "",
    b: Annotated[str, argument("B", "Answer expression of B.")] = "",
    recall_a: Annotated[
        list[float] | None,
        option("--recall-a FRACTION", "Fraction of A in the KB (default: 0.95); repeatable."),
    ] = None,
    recall_b: Annotated[
        list[float] | None,
        option("--recall-b FRACTION", "Fraction of B in the KB (default: 0.95); repeatable."),
    ] = None,
    overlap: Annotated[
        list[float] | None,
        option("--overlap FRACTION", "Fraction of A that is also in B; repeatable."),
    ] = None,
) -> PaperFigures:
    """Estimate precision and recall of A - B.

    The KB may have only a fraction of A and of B (QUEST, appendix B). Repeated options give a grid of estimates.
    """
    from kbkit.benchmarks.quest import purity as module

    recalls_a, recalls_b = recall_a or [0.95], recall_b or [0.95]
    if kb is None:
        if not overlap:
            raise KbError(
                "No overlap of A and B given", "Use ", Option("overlap", "0.8"), ", or a KB and two expressions"
            )
        given = overlap
        return PaperFigures(records=lambda: module.grid(recalls_a, recalls_b, given))
    if not (a and b):
        raise KbError(
            "No expressions for A and B", 'Add two expressions after the KB, for example "genre:Drama -> movie"'
        )
    if overlap:
        raise KbError("Option --overlap and a KB cannot be combined", "Remove one of them")
    import polars as pl

    from kbkit.kb import KnowledgeBase

    parts, lines = [], []
    with KnowledgeBase(kb) as base:
        first, second = base.answers(a), base.answers(b)
        for recall in dict.fromkeys(recalls_b):
            seen, true = module.overlap_of(first, second, recall)
            parts.append(module.grid(recalls_a, [recall], [true]))
            lines += module.remarks(seen, recall)
        lines.append(f"A: {len(first):,}, B: {len(second):,}, fraction of A in B according to the KB: {seen:.4g}")
    return PaperFigures(lines, records=lambda: pl.concat(parts))


# -- SKA-Bench ---------------------------------------------------------------------------------------------------------


@figures(FiguresForm(options=WITH_PLOT))
def ska_stats(context: typer.Context, dataset: SkaDataset) -> PaperFigures:
    """Describe a dataset.

    Shows Tables 1 and 2 of the paper with its figures, and the number of positive units (Figure 4).
    """
    from kbkit.benchmarks.ska import run as running
    from kbkit.benchmarks.ska import stats as statistics
    from kbkit.benchmarks.ska.instances import scan
    from kbkit.cli.progress import counting

    running.digest(dataset)
    with counting(context.obj.quiet, "instances") as progress:
        counts = statistics.statistics(scan(dataset), progress=progress)
    return PaperFigures(
        [f"Tokens counted by {counts.tokenizer}"],
        sections=counts.sections(),
        records=lambda: statistics.long(counts),
        charts=lambda: statistics.charts(counts),
    )


def ska_check(
    context: typer.Context,
    dataset: SkaDataset,
    redundant: Annotated[
        bool,
        option("--redundant", "Count the positive units of which each could be missing (takes longer)."),
    ] = False,
    *,
    rendering: Rendering,
) -> None:
    """Check instances on their own units.

    Runs the query of each instance on its units: the positive units give exactly the answers, also with all noise; the
    noise alone gives none; and forms with texts need both sources. Lists the statements that fail; the exit code is
    1 if there are any. Instances without a query, whose units came from published data or people, are counted.
    """
    import polars as pl

    from kbkit.benchmarks.ska import instances, statements
    from kbkit.benchmarks.ska.solve import Solver
    from kbkit.cli.progress import counting

    rendering.check()
    failed: list[tuple[str, str, str]] = []
    checked = without = spare = 0
    with Solver() as solver, counting(context.obj.quiet, "instances") as progress:
        for number, one in enumerate(instances.scan(dataset), 1):
            progress(number, 0)
            if not one.provenance.sql:
                without += 1
                continue
            checked += 1
            problems = statements.check_instance(one, solver)
            failed += [(one.id, one.form, problem) for problem in problems]
            spare += len(statements.redundant(one, solver)) if redundant and not problems else 0
    names = {name for name, _, _ in failed}
    lines = [f"{plural(checked, 'instance')} checked, {len(names):,} with failures"]
    lines += [f"{plural(without, 'instance')} without a query"] if without else []
    if redundant:
        lines.append(f"{plural(spare, 'positive unit')} not needed alone: their answers have several derivations")
    if failed or rendering.format or rendering.output:
        columns = {"instance": pl.String, "form": pl.String, "problem": pl.String}
        rendering.write(pl.DataFrame(failed, schema=columns, orient="row"))
    note(context, lines)
    if failed:
        hint = ("Delete their lines in instances.jsonl, or make the dataset again with ", Option("replace"))
        raise KbError(f"Statements fail in {plural(len(names), 'instance')}", *hint)


# -- ConvKGYarn --------------------------------------------------------------------------------------------------------


@figures(FiguresForm((0, 1)))
def conv_stats(
    dataset: Annotated[Path, argument("FOLDER", "Folder of the dataset.")],
) -> PaperFigures:
    """Describe a dataset.

    Shows entities, facts, types, predicates and questions per fact, with the paper's figures (Table 1), and the
    conversations by configuration (0).
    """
    from kbkit.benchmarks.convkgyarn import stats as statistics

    numbers = statistics.ConvStatistics.of(dataset)
    tables = [
        (1, "dataset statistics", numbers.table()),
        (0, "conversations by configuration", numbers.conversations()),
    ]
    return PaperFigures(numbers.remarks(), tables)


@figures(FiguresForm())
def conv_proxies(
    shown: Shown,
    dataset: Conversations,
    reference: Annotated[Path | None, argument("FILE", "File of ConvQuestions (JSON) to show beside.")] = None,
) -> PaperFigures:
    """Measure readability and variety of questions.

    These are automatic proxies for people's ratings, not ratings: words per question, Flesch's reading ease (English),
    distinct words and word pairs per conversation, and repeated three-word sequences, by configuration.
    """
    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import proxies as module
    from kbkit.benchmarks.convkgyarn import references

    parts = module.parts_of(files.read_conversations(dataset))
    if reference is not None:
        parts += module.parts_of_references(reference.stem, references.read_references(reference))
    means = module.table(parts)
    return PaperFigures(records=lambda: shown.rounded(means, 3))


# -- SPINACH -----------------------------------------------------------------------------------------------------------


@figures(FiguresForm((1, 6, 7, 8, 9), ("per_query", *WITH_PLOT), short=_SHORT))
def spinach_stats(
    shown: Shown,
    file: Annotated[list[Path], argument("FILE", "JSON lists or lines of records with sparql or query.")],
    paper: SpinachPaper = None,
    views: Annotated[Path | None, option("--views FILE", "CSV of page views (id, views), for Table 9.")] = None,
) -> PaperFigures:
    """Describe the queries of datasets.

    Shows sizes (Table 1 of the paper), unique patterns (6), unique properties (7), lengths of conversations (8, for
    records with responses) and page views of entities (9, with --views), next to the paper's figures.
    """
    from kbkit.benchmarks.spinach import files, sources
    from kbkit.benchmarks.spinach import stats as statistics

    if shown.table == 9 and views is None:
        raise KbError("Table 9 needs page views", "Use ", Option("views", "FILE"))
    datasets = [files.read_questions(path) for path in file]
    described = statistics.describe(datasets, paper)
    lengths = sources.lengths(datasets)
    tables = [
        (1, "means per query", statistics.sizes(described)),
        (6, "unique query patterns", statistics.forms(described)),
        (7, "unique properties", statistics.properties(described)),
    ]
    if lengths.height or shown.table == 8:
        tables.append((8, "responses of a conversation, in percent of the questions", lengths))
    if views is not None:
        popular = sources.popularity(datasets, sources.read_views(views))
        tables.append((9, "page views of the entities in the queries", popular))
    remarks = statistics.remarks(described)
    per_query, charts = (lambda: statistics.per_query(described)), (lambda: statistics.charts(described))
    return PaperFigures(remarks, tables, per_query=per_query, charts=charts)


@figures(FiguresForm())
def spinach_check(
    context: typer.Context,
    kb: Kb,
    file: SpinachQuestions,
    timeout: Timeout = 60,
    row_limit: RowLimit = 10_000,
    details: Annotated[
        Path | None,
        option("--details FILE", "File for one row per query: .jsonl, .csv, ..."),
    ] = None,
) -> PaperFigures:
    """Check the queries of a file on a KB.

    Counts the queries that the KB accepts, that finish in time and that have results, with reasons for the others.
    """
    from kbkit.benchmarks.spinach import execute as checking
    from kbkit.benchmarks.spinach import files
    from kbkit.cli.progress import counting
    from kbkit.display.render import check, write
    from kbkit.kb import KnowledgeBase

    if details is not None:
        check(None, details)
    dataset = files.read_questions(file)
    with KnowledgeBase(kb) as base, counting(context.obj.quiet, "queries") as progress:
        checked = list(checking.check_queries(base, dataset, seconds(timeout), row_limit, progress))
    if details is not None:
        write(checking.details(checked), None, details)
    return PaperFigures(checking.lines(checked), records=lambda: checking.counts(checked))
