"""Commands that make conversations and describe them: conv make, conv stats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import Format, Output, note
from kbkit.cli.papers import making
from kbkit.cli.tables import Table, check_table, write_tables

if TYPE_CHECKING:
    pass


def register(conv: typer.Typer) -> None:
    """Add the commands to the group ``conv``."""
    add(conv, making.make_conv, "make")
    add(conv, stats)


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
