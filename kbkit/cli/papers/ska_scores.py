"""The command that scores runs of SKA-Bench, ska eval, and how scores are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kbkit.cli.options import argument, option
from kbkit.cli.papers.factory import FiguresForm, PaperFigures, Shown, figures

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.ska.evaluate import Run


TABLES = (3, 4, 5)
"""The tables with scores."""


@figures(FiguresForm(TABLES, ("per_query", "plot", "format", "output"), one_table=False))
def evaluate(
    shown: Shown,
    runs: Annotated[list[Path], argument("RUN", "Runs of ska run: files, folders of them, or datasets.")],
    no_paper: Annotated[bool, option("--no-paper", "Leave out the paper's models.")] = False,
) -> PaperFigures:
    """Score runs on testbeds.

    Shows macro-F1 and rejection rates in percent (Tables 3 to 5 of the paper), F1 by number of positive units
    (Figure 9), and means, variances and correlations over the settings (Figures 5 to 8).
    """
    from kbkit.benchmarks.ska import evaluate as scoring

    return scores(scoring.read_all(runs), shown.table, with_paper=not no_paper)


def scores(runs: Sequence[Run], table: int | None, *, with_paper: bool = True) -> PaperFigures:
    """Return the scores of runs: tables for a screen; one table or all figures as records; and charts."""
    from kbkit.benchmarks.ska import evaluate as scoring

    scored = scoring.per_query(runs)
    measured = scoring.long(scored, with_paper=with_paper)
    return PaperFigures(
        scoring.remarks(runs),
        sections=_sections(measured, scored, table),
        records=lambda: measured if table is None else scoring.table(measured, scoring.TABLES[table]),
        per_query=lambda: scored,
        charts=lambda: scoring.charts(measured),
    )


def _sections(measured: pl.DataFrame, scored: pl.DataFrame, table: int | None) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield titles and tables; those with a column per form and setting in two parts, because they are wide."""
    import polars as pl

    from kbkit.benchmarks.report import HERE
    from kbkit.benchmarks.ska import evaluate as scoring
    from kbkit.benchmarks.ska.settings import FORMS
    from kbkit.benchmarks.ska.testbeds import NOISE, ORDER, REJECTION

    titles = {NOISE: "F1 by noise", ORDER: "F1 by order", REJECTION: "rejection rate"}
    ours = measured.filter(pl.col("figures") == HERE)
    for number, testbed in scoring.TABLES.items():
        known = set(ours.filter(pl.col("testbed") == testbed)["form"])
        if (table is not None and table != number) or (table is None and not known):
            continue
        for forms in (FORMS[:2], FORMS[2:]) if testbed != REJECTION else (FORMS,):
            if known & set(forms) or table is not None:
                names = f": {' and '.join(forms)}" if testbed != REJECTION else ""
                shown = scoring.table(measured, testbed, forms)  # long names are broken after the sign
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
        spread = scoring.spread(measured, testbed)
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
