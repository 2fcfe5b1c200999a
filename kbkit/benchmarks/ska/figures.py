"""Charts of scores: Figures 5 to 9 of the paper."""

from __future__ import annotations

from itertools import chain

import polars as pl

from kbkit.benchmarks.ska import evaluate
from kbkit.benchmarks.ska.settings import FORMS
from kbkit.benchmarks.ska.testbeds import GROUPS, INTEGRATION, LARGER, NOISE, ORDER, orders_of
from kbkit.display.charts import Chart

_NAMES = {NOISE: "Noise robustness", ORDER: "Order insensitivity"}


def charts(scores: pl.DataFrame) -> list[Chart]:
    """Return the charts of the scores of :func:`kbkit.benchmarks.ska.evaluate.long`, without empty ones."""
    drawn = [_by_size(scores, form) for form in FORMS]
    drawn += chain.from_iterable(_spread(scores, testbed) for testbed in (NOISE, ORDER))
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


def _spread(scores: pl.DataFrame, testbed: str) -> list[Chart]:
    spread = evaluate.spread(scores.filter(~pl.col("setting").is_in(list(LARGER))), testbed)
    first = 5 if testbed == NOISE else 7
    name = _NAMES[testbed]
    drawn = [
        Chart(f"{name}: {value} of F1 (Figure {first})", spread, "form", value, "system", y_title=value)
        for value in ("mean", "variance")
    ]
    pairs = evaluate.correlations(spread).with_columns(
        pair=pl.format("{} and {}", "form", "other"), system=pl.format("{}", "figures")
    )
    return drawn + [
        Chart(
            f"{name}: rank correlation of {of} (Figure {first + 1})", pairs, "pair", of, "system", flat=True, x_title=""
        )
        for of in ("f1", "variance")
    ]
