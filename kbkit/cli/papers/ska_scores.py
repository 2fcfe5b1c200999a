"""The command that scores runs of SKA-Bench, ska eval, and how scores are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Output, PerQuery, Plot, draw, note, on_screen
from kbkit.cli.tables import Table
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.ska.evaluate import Run


@contextmanager
def counting(context: typer.Context, name: str) -> Iterator[Callable[[int], None]]:
    """Draw a bar for the instances that were read."""
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event

    with bars(context.obj.quiet) as listen:
        yield lambda done: listen(Event(name, done, 0, "instances")) if listen else None


# -- eval -------------------------------------------------------------------------------------------------------------


def evaluate(
    context: typer.Context,
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Runs of ska run: files, folders of them, or datasets.")
    ],
    table: Table = None,
    no_paper: Annotated[bool, typer.Option("--no-paper", help="Leave out the paper's models.")] = False,
    per_query: PerQuery = False,
    plot: Plot = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Score runs on testbeds.

    Shows macro-F1 and rejection rates in percent (Tables 3 to 5 of the paper), F1 by number of positive units
    (Figure 9), and means, variances and correlations over the settings (Figures 5 to 8).
    """
    from kbkit.benchmarks.ska import evaluate as scoring

    check_tables(table, format, output, per_query=per_query)
    show(
        context, scoring.read_all(runs), table, format, output, with_paper=not no_paper, per_query=per_query, plot=plot
    )


def check_tables(table: int | None, format: str | None, output: Path | None, *, per_query: bool = False) -> None:
    """Raise the errors of the options that choose the output, in advance."""
    from kbkit.benchmarks.ska.evaluate import TABLES
    from kbkit.display.render import check

    check(format, output)
    if table is not None and table not in TABLES:
        raise KbError(f"Unknown table {table}", f"Valid tables: {', '.join(map(str, TABLES))}")
    if table is not None and per_query:
        raise KbError("Options --table and --per-query cannot be combined", "Remove one of them")


def show(
    context: typer.Context,
    runs: Sequence[Run],
    table: int | None,
    format: str | None,
    output: Path | None,
    *,
    with_paper: bool = True,
    per_query: bool = False,
    plot: Path | None = None,
) -> None:
    """Write the scores: tables on a screen, one table, or all figures as records."""
    from kbkit.benchmarks.ska import evaluate as scoring
    from kbkit.benchmarks.ska import figures
    from kbkit.display.render import write as render

    note(context, scoring.remarks(runs))
    scored = scoring.per_query(runs)
    found = scoring.long(scored, with_paper=with_paper)
    draw(context, plot, lambda: figures.charts(found))
    if per_query:
        render(scored, format, output)
    elif table is not None and not on_screen(format, output):
        render(scoring.table(found, scoring.TABLES[table]), format, output)
    elif on_screen(format, output):
        for number, (title, frame) in enumerate(_sections(found, scored, table)):
            print_section(title, frame, first=not number)
    else:
        render(found, format, output)


def _sections(found: pl.DataFrame, scored: pl.DataFrame, table: int | None) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield titles and tables; those with a column per form and setting in two parts, because they are wide."""
    import polars as pl

    from kbkit.benchmarks.report import HERE
    from kbkit.benchmarks.ska import evaluate as scoring
    from kbkit.benchmarks.ska.settings import FORMS
    from kbkit.benchmarks.ska.testbeds import NOISE, ORDER, REJECTION

    titles = {NOISE: "F1 by noise", ORDER: "F1 by order", REJECTION: "rejection rate"}
    ours = found.filter(pl.col("figures") == HERE)
    for number, testbed in scoring.TABLES.items():
        known = set(ours.filter(pl.col("testbed") == testbed)["form"])
        if (table is not None and table != number) or (table is None and not known):
            continue
        for forms in (FORMS[:2], FORMS[2:]) if testbed != REJECTION else (FORMS,):
            if known & set(forms) or table is not None:
                names = f": {' and '.join(forms)}" if testbed != REJECTION else ""
                shown = scoring.table(found, testbed, forms)  # long names are broken after the sign
                yield (
                    f"Table {number}: {titles[testbed]}, in percent{names}",
                    shown.select(pl.all().name.replace(" ", "_", literal=True)),
                )
    if table is not None:
        return
    groups = scoring.integration(ours, scored)
    if groups.height:
        yield "Figure 9: F1 by number of positive units, in percent", groups
    for first, testbed in ((5, NOISE), (7, ORDER)):
        spread = scoring.spread(found, testbed)
        if spread.filter(pl.col("figures") == HERE).height:  # of systems with all settings
            yield f"Figure {first}: mean (variance) over the settings, {titles[testbed]}", _wide(spread)
            yield f"Figure {first + 1}: rank correlation of forms across systems", scoring.correlations(spread)


def _wide(spread: pl.DataFrame) -> pl.DataFrame:
    """Return means and variances with a column for each form."""
    import polars as pl

    shown = spread.with_columns(
        pl.format("{} ({})", pl.col("mean").round(2), pl.col("variance").round(2)).alias("shown")
    )
    return shown.pivot("form", index=["system", "figures"], values="shown", maintain_order=True)


def print_section(title: str, frame: pl.DataFrame, *, first: bool) -> None:
    """Print a table with its title."""
    from kbkit.display.render import print_table

    typer.secho(f"{title}\n" if first else f"\n{title}\n", bold=True, nl=False)
    print_table(frame, sys.stdout, count=False)


# -- stats ------------------------------------------------------------------------------------------------------------
