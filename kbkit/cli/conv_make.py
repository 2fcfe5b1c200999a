"""Commands that make conversations and describe them: conv make, conv stats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.commands import add
from kbkit.cli.models import Budget, Llm, Price, Prompts, Workers
from kbkit.cli.options import DatasetOutput, Format, Kb, MaxAnswers, Output, Restart, Seed, counted, note
from kbkit.cli.tables import Table, check_table, write_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbkit.benchmarks.pipeline import Output as NewDataset


def register(conv: typer.Typer) -> None:
    """Add the commands to the group ``conv``."""
    add(conv, make)
    add(conv, stats)


def make(
    context: typer.Context,
    kb: Kb,
    output: DatasetOutput,
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", metavar="N", help="Number of conversations in each configuration."),
    ] = 100,
    seed: Seed = 0,
    type: Annotated[
        list[str] | None,
        typer.Option("--type", "-t", metavar="TYPE", help="Type of the entities (default: all types); repeatable."),
    ] = None,
    configuration: Annotated[
        list[str] | None,
        typer.Option(
            "--configuration",
            metavar="NAME",
            help="voice or text, with -deixis, -disfluencies, -typos (default: all eight); repeatable.",
        ),
    ] = None,
    turns: Annotated[int, typer.Option("--turns", metavar="N", help="Maximum number of turns.")] = 5,
    min_turns: Annotated[int, typer.Option("--min-turns", metavar="N", help="Minimum number of turns.")] = 2,
    related: Annotated[
        list[str] | None,
        typer.Option("--related", metavar="TYPE", help="Type whose popular entities get a related entity; repeatable."),
    ] = None,
    min_degree: Annotated[
        int, typer.Option("--min-degree", metavar="N", help="Minimum number of edges of a popular entity.")
    ] = 10,
    max_answers: MaxAnswers = 20,
    min_coverage: Annotated[
        float,
        typer.Option("--min-coverage", metavar="FRACTION", help="Minimum fraction of a type that has a predicate."),
    ] = 0.02,
    output_format: Annotated[
        str, typer.Option("--output-format", metavar="NAME", help="Format of the conversations: jsonl or parquet.")
    ] = "jsonl",
    replace: Restart = False,
    llm: Llm = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    workers: Workers = 8,
) -> None:
    """Make conversations about the facts of a KB.

    Conversations with the same facts are made in each configuration. Without --llm, rules select the predicates and a
    grammar writes the questions. An interrupted run is resumed from its tables in FOLDER/stages.
    """
    from kbkit.benchmarks.convkgyarn.make import make as make_conversations
    from kbkit.benchmarks.convkgyarn.settings import CONFIGURATIONS, ConvSettings
    from kbkit.cli.models import opened, stages
    from kbkit.kb import KnowledgeBase

    settings = ConvSettings(
        count=limit,
        seed=seed,
        types=tuple(type or ()),
        configurations=tuple(configuration or CONFIGURATIONS),
        turns=turns,
        min_turns=min_turns,
        related=tuple(related or ()),
        min_degree=min_degree,
        max_answers=max_answers,
        min_coverage=min_coverage,
    )
    with (
        KnowledgeBase(kb) as base,
        opened(context, base, llm, budget, price, prompt, workers) as calls,
        stages(context, calls) as progress,
    ):
        made = make_conversations(base, output, settings, calls, progress, format=output_format, replace=replace)
    if not context.obj.quiet:
        for line in _lines(made):
            typer.echo(line)


def _lines(made: NewDataset) -> Iterator[str]:
    """Yield lines about a new dataset."""
    report: dict[str, Any] = made.report
    yield (
        f"{made.folder}: {counted(report['conversations'], 'conversation')},"
        f" {counted(report['groups'], 'group')} with the same facts"
        + (f" and {report['related']:,} with a related entity" if report["related"] else "")
    )
    if report["groups"] < report["wanted"]:
        yield f"Fewer than {report['wanted']:,} groups: name more types, or lower --min-turns"
    if report["untyped"]:
        yield f"Questions without a typo, as none of their words could have one: {report['untyped']:,}"
    yield from (f"No templates of {line}" for line in report["invalid"])
    for reason, count in report["dropped"].items():
        yield f"Predicates not asked for: {count:,}, {reason}"


def stats(
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
