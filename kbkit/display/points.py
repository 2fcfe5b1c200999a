"""Charts of points and of time spans, for :func:`kbkit.display.charts.write`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_LONGEST, _LEAST = 640.0, 120.0
"""Length of the longer side of a map in chart units, and minimum length of the other."""
_MARGIN = 0.04
_ROW = 18
_LABEL = 260


@dataclass(frozen=True)
class Points:
    """Points: ``frame`` has x, y, label and colour. With ``equal`` a unit is as long on both axes, as on a map."""

    title: str
    frame: pl.DataFrame
    x_title: str
    y_title: str
    equal: bool = False


@dataclass(frozen=True)
class Spans:
    """Time spans, a row each: ``frame`` has label, start and end (years; null: a moment) and colour."""

    title: str
    frame: pl.DataFrame


def points(altair: Any, chart: Points) -> Any:
    """Return the chart in Altair."""
    rows = chart.frame
    (x_low, x_high), (y_low, y_high) = _range(rows["x"]), _range(rows["y"])
    width = height = _LONGEST * 0.7
    if chart.equal:
        scale = _LONGEST / max(x_high - x_low, y_high - y_low)
        width, height = max(_LEAST, scale * (x_high - x_low)), max(_LEAST, scale * (y_high - y_low))
        # A side that is longer than its points need shows more around them.
        x_low, x_high = _widened(x_low, x_high, width / scale)
        y_low, y_high = _widened(y_low, y_high, height / scale)
    drawn = altair.Chart(altair.Data(values=rows.to_dicts())).mark_circle(size=40, opacity=0.75)
    encoded = drawn.encode(
        x=altair.X("x:Q", title=chart.x_title, scale=altair.Scale(domain=[x_low, x_high], nice=False)),
        y=altair.Y("y:Q", title=chart.y_title, scale=altair.Scale(domain=[y_low, y_high], nice=False)),
        tooltip=[altair.Tooltip("label:N", title="name"), altair.Tooltip("x:Q", title=chart.x_title),
                 altair.Tooltip("y:Q", title=chart.y_title)],
        **_colour(altair, rows),
    )  # fmt: skip
    return encoded.properties(title=chart.title, width=width, height=height)


def spans(altair: Any, chart: Spans) -> Any:
    """Return the chart in Altair."""
    rows = chart.frame.with_row_index("row").with_columns(last=chart.frame["end"].fill_null(chart.frame["start"]))
    base = altair.Chart(altair.Data(values=rows.to_dicts())).encode(
        y=altair.Y("row:O", axis=None),
        x=altair.X("start:Q", title="year", axis=altair.Axis(format="d"), scale=altair.Scale(zero=False)),
        tooltip=[altair.Tooltip(f"{name}:N", title=name) for name in ("label", "from", "to")],
        **_colour(altair, rows),
    )
    bars = base.transform_filter("datum.end !== null").mark_bar(height=6, opacity=0.6).encode(x2="end:Q")
    names = base.mark_text(align="left", dx=8, limit=_LABEL).encode(
        x="last:Q", text="label:N", color=altair.value("#1d2733")
    )
    drawn = altair.layer(bars, base.mark_circle(size=50), names)
    return drawn.properties(title=chart.title, width=_LONGEST, height=_ROW * max(1, rows.height))


def _range(column: pl.Series) -> tuple[float, float]:
    """Return the range of an axis, with a margin."""
    low, high = float(column.min() or 0), float(column.max() or 0)  # type: ignore[arg-type]
    room = (high - low) * _MARGIN or 1.0
    return low - room, high + room


def _widened(low: float, high: float, length: float) -> tuple[float, float]:
    middle = (low + high) / 2
    return middle - length / 2, middle + length / 2


def _colour(altair: Any, rows: pl.DataFrame) -> dict[str, Any]:
    groups = rows["colour"].drop_nulls().unique(maintain_order=True).to_list()
    if not groups:
        return {}
    legend = altair.Legend(labelLimit=_LABEL)
    return {"color": altair.Color("colour:N", sort=groups, title=None, legend=legend)}
