"""Writes the numbered tables of a paper: one in any format, or several one after another."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Rendering, option
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    import polars as pl

    Titled = tuple[int, str, pl.DataFrame]
    """The number of a table in the paper, its caption, the table."""

Table = Annotated[int | None, option("--table N", "Show only this table of the paper.")]


def check_table(
    table: int | None,
    known: Sequence[int],
    rendering: Rendering,
    *,
    per_query: bool = False,
    one: bool = True,
) -> None:
    """Raise the errors of :func:`write_tables` in advance.

    ``per_query``: the scores of each query are written instead; ``one``: a file holds one of the tables only.
    """
    if table is not None and per_query:
        raise KbError("Options --table and --per-query cannot be combined", "Remove one of them")
    if table is not None and table not in known:
        raise KbError(f"Unknown table {table}", f"Valid tables: {', '.join(map(str, known))}")
    rendering.check()
    is_one = rendering.output is not None or rendering.format not in (None, "table", "markdown", "ndjson")
    if one and not per_query and table is None and is_one:
        target = "A file" if rendering.output is not None else f"Format {rendering.format}"
        raise KbError(f"{target} holds one table only", "Use ", Option("table", f"{known[0]}"))


def write_tables(
    tables: Sequence[Titled],
    chosen: int | None,
    rendering: Rendering,
    *,
    short: Mapping[str, str] | None = None,
    by_system: Collection[int] = (),
) -> None:
    """Write one table in any format; several as text, in Markdown, or as records with a column ``table``.

    As text, columns are renamed by ``short``, and tables in ``by_system`` have a section for each system.
    """
    import polars as pl

    from kbkit.display.render import print_table

    selected = [table for table in tables if chosen in (None, table[0])]
    text, printed = rendering.on_screen, Rendering(rendering.format)
    if chosen is not None and not (text and chosen in by_system):
        rendering.write(selected[0][2])
        return
    for position, (number, caption, frame) in enumerate(selected):
        if rendering.format == "ndjson":
            printed.write(frame.select(pl.lit(number).alias("table"), pl.all()))
            continue
        if chosen is None:
            typer.echo(f"{chr(10) if position else ''}Table {number}: {caption}\n")
        if not text:
            printed.write(frame)
        elif number in by_system:
            _print_by_system(frame)
        else:
            print_table(frame.rename(short or {}, strict=False), sys.stdout, count=False)


def print_sections(sections: Iterable[tuple[str, pl.DataFrame]]) -> None:
    """Print tables with their titles."""
    from kbkit.display.render import print_table

    for position, (title, frame) in enumerate(sections):
        if title:
            typer.secho(f"{chr(10) if position else ''}{title}", bold=True)
        print_table(frame, sys.stdout, count=False)


def _print_by_system(frame: pl.DataFrame) -> None:
    """Print a section for each system: the tables are too wide for a column with its name."""
    from kbkit.display.render import clean, print_table

    for position, ((system,), rows) in enumerate(frame.group_by("system", maintain_order=True)):
        typer.echo(f"{chr(10) if position else ''}{clean(str(system))}")
        used = [name for name in rows.columns if rows[name].null_count() < rows.height]  # domains of the paper, or ours
        print_table(rows.select(used).drop("system"), sys.stdout, count=False)
