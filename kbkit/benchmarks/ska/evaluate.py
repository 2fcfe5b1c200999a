"""Scores of runs in the shape of Tables 3 to 5 and Figures 5 to 9 of the paper, beside those of its eight models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import polars as pl

from kbkit.benchmarks import run as running
from kbkit.benchmarks.report import HERE, PAPER
from kbkit.benchmarks.ska import paper
from kbkit.benchmarks.ska.instances import FILE
from kbkit.benchmarks.ska.paper import AVERAGE
from kbkit.benchmarks.ska.run import FOLDER_OF_RUNS, Answered
from kbkit.benchmarks.ska.settings import FORMS
from kbkit.benchmarks.ska.testbeds import (
    GROUPS,
    INTEGRATION,
    LARGER,
    NOISE,
    ONLY,
    ORDER,
    REJECTION,
    orders_of,
    sizes_of,
)
from kbkit.display.charts import Chart
from kbkit.errors import Command, KbError
from kbkit.measures import lists

TABLES = {3: NOISE, 4: ORDER, 5: REJECTION}
"""The tables of the paper and their testbeds."""
_LONG = {
    "system": pl.String,
    "figures": pl.String,
    "form": pl.String,
    "testbed": pl.String,
    "setting": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
    "instances": pl.Int64,
}
_SCORES: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String,
    "id": pl.String,
    "form": pl.String,
    "testbed": pl.String,
    "setting": pl.String,
    "positive": pl.Int64,
    "measure": pl.String,
    "value": pl.Float64,
    "predicted": pl.List(pl.String),
    "gold": pl.List(pl.String),
}
_LEAST = 3
"""Least number of systems for a correlation."""


Run = running.Run[Answered]
"""The records of a system."""


# -- runs -------------------------------------------------------------------------------------------------------------


def read_all(paths: Sequence[Path]) -> list[Run]:
    """Read runs: files, folders of files, and the runs of datasets. Systems with the same name are named by paths."""
    files = [file for path in paths for file in _files(path)]
    if not files:
        raise KbError(f"No runs in {paths[0]}", "Run ", Command("ska run DATASET"), " to write runs")
    runs = running.read_runs(list(dict.fromkeys(files)), Answered, "ska run DATASET")
    names = [str(run.settings.get("system") or "") for run in runs]
    if len(set(names)) < len(names) or not all(names):
        return runs
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def _files(path: Path) -> list[Path]:
    """Return a file, the files of a folder, or those of the runs of a dataset."""
    folder = path / FOLDER_OF_RUNS if (path / FILE).is_file() else path
    return sorted(folder.glob("*.jsonl")) if path.is_dir() else [path]


def remarks(runs: Sequence[Run]) -> list[str]:
    """Return a line for each reason why records of a run are left out or have no answer."""
    lines = []
    for run in runs:
        rows = run.rows.values()
        dropped = pl.Series([row.dropped for row in rows if row.dropped], dtype=pl.String).value_counts(sort=True)
        wrong = pl.Series([row.error for row in rows if row.error], dtype=pl.String).value_counts(sort=True)
        total = f"{len(run.rows):,} records"
        lines += [f"{run.name}: {count:,} of {total} left out: {reason}" for reason, count in dropped.iter_rows()]
        lines += [f"{run.name}: {count:,} of {total} scored 0: {reason}" for reason, count in wrong.iter_rows()]
    return lines


# -- scores -----------------------------------------------------------------------------------------------------------


def per_query(runs: Sequence[Run]) -> pl.DataFrame:
    """Return a row per record that has an answer or failed.

    The columns are system, id, form, testbed, setting, positive (units), measure (f1, rejected), value in percent,
    predicted, gold. A failed record has the value 0: without a reply there is no refusal either.
    """
    parts = []
    for run in runs:
        rows = [row for row in run.rows.values() if not row.dropped]
        scored = lists.measure([lists.ListPrediction(row.id, row.predicted, row.gold, {}) for row in rows])
        for row, (f1, rejected) in zip(rows, scored.select("f1", "rejected").iter_rows(), strict=True):
            measure, value = ("rejected", rejected) if row.testbed == REJECTION else ("f1", f1)
            value = 0.0 if value is None or row.predicted is None else 100 * value
            about = (run.name, row.id, row.form, row.testbed, row.setting, row.positive)
            parts.append((*about, measure, value, row.predicted, row.gold))
    return pl.DataFrame(parts, schema=pl.Schema(_SCORES), orient="row")


def long(scored: pl.DataFrame, *, with_paper: bool = True) -> pl.DataFrame:
    """Return macro-F1 and rejection rates in percent, a row per system, form, testbed and setting.

    The columns are system, figures (:data:`HERE` or :data:`PAPER`), form, testbed, setting, measure, value, instances.
    """
    keys = ["system", "form", "testbed", "setting", "measure"]
    here = scored.group_by(keys, maintain_order=True).agg(pl.col("value").mean(), instances=pl.len().cast(pl.Int64))
    frames = [here.with_columns(figures=pl.lit(HERE)).select(list(_LONG))]
    if with_paper:
        rows = [
            {"figures": PAPER, "measure": "rejected" if figure["testbed"] == REJECTION else "f1", **figure}
            for figure in paper.scores()
        ]
        frames.append(pl.DataFrame(rows, schema=_LONG))
    return pl.concat(frames)


def columns(testbed: str) -> list[tuple[str, str]]:
    """Return forms and settings in the paper's order; larger sizes follow those of the paper."""
    if testbed == NOISE:
        return [(form, size) for form in FORMS for size in sizes_of(form, LARGER)]
    if testbed == ORDER:
        return [(form, order) for form in FORMS for order in orders_of(form)]
    return [(form, setting) for form in FORMS for setting in (GROUPS if testbed == INTEGRATION else (ONLY,))]


def table(scores: pl.DataFrame, testbed: str, forms: Sequence[str] = FORMS) -> pl.DataFrame:
    """Return a table of the paper from :func:`long`: a row per system, a column per form and setting.

    The columns are system, figures, then ``kg 1k`` and so on; those without any value of kbkit's or the paper's are
    left out. For negative rejection the columns are the forms and their average.
    """
    rows = scores.filter(pl.col("testbed") == testbed, pl.col("form").is_in(list(forms)))
    name = pl.col("form") if testbed == REJECTION else pl.format("{} {}", "form", "setting")
    wide = rows.with_columns(column=name).pivot(
        "column", index=["system", "figures"], values="value", maintain_order=True
    )
    order = [form if testbed == REJECTION else f"{form} {setting}" for form, setting in columns(testbed)]
    known = [column for column in order if column in wide.columns]
    if testbed == REJECTION and set(FORMS) <= set(known):
        total = pl.sum_horizontal(pl.col(known), ignore_nulls=False) / len(known)
        wide = wide.with_columns(total.alias(AVERAGE))
        known.append(AVERAGE)
    return wide.select("system", "figures", pl.col(known).round(2))


# -- figures ----------------------------------------------------------------------------------------------------------


def spread(scores: pl.DataFrame, testbed: str) -> pl.DataFrame:
    """Return the mean and the variance of F1 over the settings of a testbed (Figures 5 and 7).

    The columns are system, figures, form (or ``average``: over the results of all forms), mean, variance, settings.
    Only the paper's sizes count, and only forms with all of their settings. The variance is that of a population.
    """
    wanted = pl.DataFrame(
        [(form, setting) for form, setting in columns(testbed) if setting not in LARGER],
        schema=["form", "setting"],
        orient="row",
    )
    rows = scores.filter(pl.col("testbed") == testbed).join(wanted, on=["form", "setting"], how="semi")
    figures = (pl.col("value").mean().alias("mean"), pl.col("value").var(ddof=0).alias("variance"))
    size = pl.len().cast(pl.Int64).alias("settings")
    needed = wanted.group_by("form").agg(needed=pl.len().cast(pl.Int64))
    forms = rows.group_by("system", "figures", "form", maintain_order=True).agg(*figures, size)
    forms = forms.join(needed, on="form").filter(pl.col("settings") == pl.col("needed")).drop("needed")
    every = rows.group_by("system", "figures", maintain_order=True).agg(*figures, size)
    every = every.filter(pl.col("settings") == wanted.height).with_columns(form=pl.lit(AVERAGE))
    place = {form: position for position, form in enumerate((*FORMS, AVERAGE))}
    systems = scores.select("system", "figures").unique(maintain_order=True).with_row_index("at")
    both = pl.concat([forms, every.select(forms.columns)]).join(systems, on=["system", "figures"])
    return both.sort("at", pl.col("form").replace_strict(place, return_dtype=pl.Int64)).drop("at")


def correlations(spreads: pl.DataFrame) -> pl.DataFrame:
    """Return Spearman's rank correlation of pairs of forms across systems (Figures 6 and 8).

    The columns are figures, form, other, f1 (of means), variance, systems. Pairs with fewer than three systems are left
    out.
    """
    parts = []
    for (figures,), rows in spreads.group_by("figures", maintain_order=True):
        for form, other in combinations(FORMS, 2):
            both = rows.filter(pl.col("form") == form).join(rows.filter(pl.col("form") == other), on="system")
            if both.height >= _LEAST:
                rho = both.select(
                    f1=pl.corr("mean", "mean_right", method="spearman"),
                    variance=pl.corr("variance", "variance_right", method="spearman"),
                ).row(0)
                parts.append((figures, form, other, *rho, both.height))
    schema = {"figures": pl.String, "form": pl.String, "other": pl.String}
    numbers = {"f1": pl.Float64, "variance": pl.Float64, "systems": pl.Int64}
    return pl.DataFrame(parts, schema={**schema, **numbers}, orient="row")


def integration(scores: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    """Return F1 by the number of positive units (Figure 9): system, form, one column per group, and the ``instances``.

    The paper draws this figure without numbers.
    """
    rows = scores.filter(pl.col("testbed") == INTEGRATION)
    wide = rows.pivot("setting", index=["system", "form"], values="value", maintain_order=True)
    counts = scored.filter(pl.col("testbed") == INTEGRATION).group_by("system", "form").agg(instances=pl.len())
    known = [group for group in GROUPS if group in wide.columns]
    return wide.join(counts, on=["system", "form"], maintain_order="left").select(
        "system", "form", pl.col(known).round(2), pl.col("instances").cast(pl.Int64)
    )


# -- charts -----------------------------------------------------------------------------------------------------------

_NAMES = {NOISE: "Noise robustness", ORDER: "Order insensitivity"}


def charts(scores: pl.DataFrame) -> list[Chart]:
    """Return the charts of the scores of :func:`long`, without empty ones."""
    drawn = [_by_size(scores, form) for form in FORMS]
    drawn += chain.from_iterable(_by_form(scores, testbed) for testbed in (NOISE, ORDER))
    drawn += [_by_order(scores, form) for form in FORMS]
    drawn += [_by_group(scores, form) for form in FORMS]
    return [chart for chart in drawn if chart.frame.height]


def _by_size(scores: pl.DataFrame, form: str) -> Chart:
    rows = scores.filter(pl.col("testbed") == NOISE, pl.col("form") == form).with_columns(
        tokens=pl.col("setting").str.strip_suffix("k").cast(pl.Int64) * 1024
    )
    title = f"Noise robustness: {form}"
    return Chart(title, rows.sort("tokens"), "tokens", "value", "system", lines=True, y_title="F1 (%)")


def _by_order(scores: pl.DataFrame, form: str) -> Chart:
    rows = scores.filter(pl.col("testbed") == ORDER, pl.col("form") == form)
    rows = rows.sort(pl.col("setting").cast(pl.Enum(list(orders_of("table")))), maintain_order=True)
    return Chart(f"Order insensitivity: {form}", rows, "setting", "value", "system", y_title="F1 (%)", x_title="order")


def _by_group(scores: pl.DataFrame, form: str) -> Chart:
    rows = scores.filter(pl.col("testbed") == INTEGRATION, pl.col("form") == form)
    rows = rows.sort(pl.col("setting").cast(pl.Enum(list(GROUPS))), maintain_order=True)
    title = f"Information integration: {form} (Figure 9)"
    return Chart(title, rows, "setting", "value", "system", y_title="F1 (%)", x_title="positive units")


def _by_form(scores: pl.DataFrame, testbed: str) -> list[Chart]:
    means = spread(scores.filter(~pl.col("setting").is_in(list(LARGER))), testbed)
    first = 5 if testbed == NOISE else 7
    name = _NAMES[testbed]
    drawn = [
        Chart(f"{name}: {value} of F1 (Figure {first})", means, "form", value, "system", y_title=value)
        for value in ("mean", "variance")
    ]
    pairs = correlations(means).with_columns(
        pair=pl.format("{} and {}", "form", "other"), system=pl.format("{}", "figures")
    )
    return drawn + [
        Chart(
            f"{name}: rank correlation of {of} (Figure {first + 1})", pairs, "pair", of, "system", flat=True, x_title=""
        )
        for of in ("f1", "variance")
    ]
