"""Commands that describe and check datasets: stats; quest purity, ska check, conv proxies, spinach check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import (
    Format,
    Kb,
    Output,
    PerQuery,
    Plot,
    RowLimit,
    Timeout,
    counted,
    draw,
    note,
    on_screen,
    seconds,
)
from kbkit.cli.papers.arguments import (
    Conversations,
    QuestDataset,
    QuestSplit,
    SkaDataset,
    SpinachPaper,
    SpinachQuestions,
)
from kbkit.cli.papers.quest_runs import BY_SYSTEM
from kbkit.cli.papers.ska_scores import counting, print_section
from kbkit.cli.tables import Table, check_table, write_tables
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.benchmarks.ska.stats import Statistics
    from kbkit.benchmarks.stark.stats import Statistics as StarkStatistics

_SHORT = {"projections": "projs", "relations": "rels", "subjects": "subjs", "predicates": "preds", "literals": "lits"}
"""Columns of Table 1 of SPINACH on a screen, as the paper's."""


# -- STaRK -------------------------------------------------------------------------------------------------------------


def stark_stats(
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
        _print_stark_statistics(found)
    else:
        render(statistics.long(found), format, output)


def _print_stark_statistics(found: StarkStatistics) -> None:
    from kbkit.display.render import print_table

    for position, (title, frame) in enumerate(found.sections()):
        typer.secho(f"{title}\n" if not position else f"\n{title}\n", bold=True, nl=False)
        print_table(frame, sys.stdout, count=False)


# -- QUEST -------------------------------------------------------------------------------------------------------------


def quest_stats(
    context: typer.Context,
    dataset: QuestDataset,
    split: QuestSplit = "",
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
    write_tables(tables, table, format, output, by_system=BY_SYSTEM)
    note(context, statistics.remarks(opened, examples))


def quest_purity(
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


# -- SKA-Bench ---------------------------------------------------------------------------------------------------------


def ska_stats(
    context: typer.Context,
    dataset: SkaDataset,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Describe a dataset.

    Shows Tables 1 and 2 of the paper with its figures, and the number of positive units (Figure 4).
    """
    from kbkit.benchmarks.ska import run as running
    from kbkit.benchmarks.ska import stats as statistics
    from kbkit.benchmarks.ska.instances import scan
    from kbkit.display.render import check
    from kbkit.display.render import write as render

    check(format, output)
    running.digest(dataset)
    with counting(context, "instances") as progress:
        found: Statistics = statistics.statistics(scan(dataset), progress=progress)
    note(context, [f"Tokens counted by {found.tokenizer}"])
    draw(context, plot, lambda: statistics.charts(found))
    if not on_screen(format, output):
        render(statistics.long(found), format, output)
        return
    for number, (title, frame) in enumerate(found.sections()):
        print_section(title, frame, first=not number)


def ska_check(
    context: typer.Context,
    dataset: SkaDataset,
    redundant: Annotated[
        bool,
        typer.Option("--redundant", help="Count the positive units of which each could be missing (takes longer)."),
    ] = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """Check instances on their own units.

    Runs the query of each instance on its units: the positive units give exactly the answers, also with all noise; the
    noise alone gives none; and forms with texts need both sources. Lists the statements that fail; the exit code is
    1 if there are any. Instances without a query, whose units came from published data or people, are counted.
    """
    import polars as pl

    from kbkit.benchmarks.ska import instances, statements
    from kbkit.benchmarks.ska.solve import Solver
    from kbkit.display import render

    render.check(format, output)
    failed: list[tuple[str, str, str]] = []
    checked = without = spare = 0
    with Solver() as solver, counting(context, "instances") as progress:
        for number, one in enumerate(instances.scan(dataset), 1):
            progress(number)
            if not one.provenance.sql:
                without += 1
                continue
            checked += 1
            problems = statements.check(one, solver)
            failed += [(one.id, one.form, problem) for problem in problems]
            spare += len(statements.redundant(one, solver)) if redundant and not problems else 0
    names = {name for name, _, _ in failed}
    lines = [f"{counted(checked, 'instance')} checked, {len(names):,} with failures"]
    lines += [f"{counted(without, 'instance')} without a query"] if without else []
    if redundant:
        lines.append(f"{counted(spare, 'positive unit')} not needed alone: their answers have several derivations")
    if failed or format or output:
        columns = {"instance": pl.String, "form": pl.String, "problem": pl.String}
        render.write(pl.DataFrame(failed, schema=columns, orient="row"), format, output)
    note(context, lines)
    if failed:
        hint = ("Delete their lines in instances.jsonl, or make the dataset again with ", Option("replace"))
        raise KbError(f"Statements fail in {counted(len(names), 'instance')}", *hint)


# -- ConvKGYarn --------------------------------------------------------------------------------------------------------


def conv_stats(
    context: typer.Context,
    dataset: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the dataset.")],
    table: Table = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Describe a dataset.

    Shows entities, facts, types, predicates and questions per fact, with the paper's figures (Table 1), and the
    conversations by configuration (0).
    """
    from kbkit.benchmarks.convkgyarn import stats as statistics

    check_table(table, (0, 1), format, output)
    numbers = statistics.Statistics.of(dataset)
    tables = [
        (1, "dataset statistics", numbers.table()),
        (0, "conversations by configuration", numbers.conversations()),
    ]
    write_tables(tables, table, format, output)
    note(context, numbers.remarks())


def conv_proxies(
    dataset: Conversations,
    reference: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File of ConvQuestions (JSON) to show beside.")
    ] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Measure readability and variety of questions.

    These are automatic proxies for people's ratings, not ratings: words per question, Flesch's reading ease (English),
    distinct words and word pairs per conversation, and repeated three-word sequences, by configuration.
    """
    import polars.selectors as cs

    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import proxies as module
    from kbkit.benchmarks.convkgyarn import references
    from kbkit.display.render import check, write

    check(format, output)
    parts = module.parts_of(files.read(dataset))
    if reference is not None:
        parts += module.parts_of_references(reference.stem, references.read(reference))
    found = module.table(parts)
    write(found.with_columns(cs.float().round(3)) if on_screen(format, output) else found, format, output)


# -- SPINACH -----------------------------------------------------------------------------------------------------------


def spinach_stats(
    context: typer.Context,
    file: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="JSON lists or lines of records with sparql or query.")
    ],
    table: Table = None,
    per_query: PerQuery = False,
    paper: SpinachPaper = None,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Describe the queries of datasets.

    Shows sizes (Table 1 of the paper), unique patterns (6) and unique properties (7), next to the paper's figures.
    """
    from kbkit.benchmarks.spinach import files
    from kbkit.benchmarks.spinach import stats as statistics
    from kbkit.display.render import write

    check_table(table, (1, 6, 7), format, output, per_query=per_query)
    datasets = [files.read(path) for path in file]
    described = statistics.describe(datasets, paper)
    note(context, statistics.remarks(described))
    draw(context, plot, lambda: statistics.charts(described))
    if per_query:
        write(statistics.per_query(described), format, output)
        return
    tables = [
        (1, "means per query", statistics.sizes(described)),
        (6, "unique query patterns", statistics.forms(described)),
        (7, "unique properties", statistics.properties(described)),
    ]
    write_tables(tables, table, format, output, short=_SHORT)


def spinach_check(
    context: typer.Context,
    kb: Kb,
    file: SpinachQuestions,
    timeout: Timeout = 60,
    row_limit: RowLimit = 10_000,
    details: Annotated[
        Path | None,
        typer.Option("--details", metavar="FILE", help="File for one row per query: .jsonl, .csv, ..."),
    ] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Check the queries of a file on a KB.

    Counts the queries that the KB accepts, that finish in time and that have results, with reasons for the others.
    """
    from kbkit.benchmarks.spinach import execute as checking
    from kbkit.benchmarks.spinach import files
    from kbkit.cli.progress import counting
    from kbkit.display.render import check as check_render
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    check_render(format, output)
    if details is not None:
        check_render(None, details)
    dataset = files.read(file)
    with KnowledgeBase(kb) as base, counting(context.obj.quiet, "queries") as progress:
        checked = list(checking.check(base, dataset, seconds(timeout), row_limit, progress))
    write(checking.counts(checked), format, output)
    if details is not None:
        write(checking.details(checked), None, details)
    note(context, checking.lines(checked))
