"""Commands for QUEST: the group of commands, quest stats and quest purity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kbkit.cli import quest_annotate, quest_score
from kbkit.cli.commands import add, group
from kbkit.cli.options import Format, Output, Plot, draw, note
from kbkit.cli.papers import making
from kbkit.cli.quest_score import BY_SYSTEM, Data, Split
from kbkit.cli.tables import Table, check_table, write_tables
from kbkit.errors import KbError, Option


def register(app: typer.Typer) -> None:
    """Add the commands of QUEST to the program."""
    quest = group("Make, run and score QUEST datasets.")
    add(quest, making.make_quest, "make")
    add(quest, making.quest_documents, "documents")
    add(quest, stats)
    add(quest, quest_annotate.annotate)
    add(quest, quest_annotate.agreement)
    add(quest, quest_score.run)
    add(quest, quest_score.evaluate, "eval")
    add(quest, purity)
    app.add_typer(quest, name="quest")


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
    write_tables(tables, table, format, output, by_system=BY_SYSTEM)
    note(context, statistics.remarks(opened, examples))


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
