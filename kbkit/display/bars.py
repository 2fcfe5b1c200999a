"""Numbers of a table as horizontal bars, for pages that draw without a library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from kbkit.display.render import cell

MOST_ROWS, _MOST_COLUMNS = 100, 3
_UNMEASURED = ("id", "rank", "key")
"""Columns whose numbers count or name things."""


@dataclass(frozen=True)
class Bars:
    """One bar per row: ``names`` of the rows, and for each numeric column its name and the bars.

    A bar is the number as text, the start and the width in percent of the column's range, which includes 0.
    """

    label: str
    names: Sequence[str]
    columns: Sequence[tuple[str, Sequence[tuple[str, float, float]]]]


def bars(frame: pl.DataFrame) -> Bars | None:
    """Return the bars of a table's first rows, or None without a column of names or one of numbers."""
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in _UNMEASURED]
    texts = [name for name, kind in frame.schema.items() if kind == pl.String and frame[name].null_count() == 0]
    label = min(texts, key=lambda name: (name != "name", not name.endswith("Label")), default="")
    if not label or not numeric or frame.height < 2:
        return None
    rows = frame.head(MOST_ROWS)
    drawn = [(name, _drawn(rows[name].to_list())) for name in numeric]
    columns = [(name, column) for name, column in drawn if any(width for _, _, width in column)]
    return Bars(label, rows[label].to_list(), columns[:_MOST_COLUMNS]) if columns else None


def _drawn(values: Sequence[Any]) -> list[tuple[str, float, float]]:
    numbers = [float(value) if value is not None and math.isfinite(value) else 0.0 for value in values]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    scale = 100 / (high - low) if high > low else 0.0
    return [
        (cell(value), (min(number, 0.0) - low) * scale, abs(number) * scale)
        for value, number in zip(values, numbers, strict=True)
    ]
