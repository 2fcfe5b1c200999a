"""Bars of numeric columns: which columns, and where each bar starts and ends."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.display.bars import MOST_ROWS, bars


def test_bars_start_at_zero() -> None:
    found = bars(pl.DataFrame({"id": [1, 2, 3], "city": ["a", "b", "c"], "level": [-50, None, 150], "none": [0, 0, 0]}))
    assert found is not None
    assert (found.label, list(found.names)) == ("city", ["a", "b", "c"])
    assert found.columns == [("level", [("-50", 0.0, 25.0), ("", 25.0, 0.0), ("150", 25.0, 75.0)])]


@pytest.mark.parametrize(
    "columns",
    [
        {"n": [1, 2]},
        {"a": ["x", "y"]},
        {"a": ["x"], "n": [1]},
        {"a": ["x", "y"], "n": [0, 0]},
        {"a": ["x", None], "n": [1, 2]},
    ],
)
def test_tables_without_a_chart(columns: dict[str, Any]) -> None:
    assert bars(pl.DataFrame(columns)) is None


def test_names_come_first_and_long_tables_are_cut() -> None:
    frame = pl.DataFrame({"x": ["iri"] * 300, "xLabel": ["label"] * 300, "n": range(300), "m": range(300)})
    found = bars(frame)
    assert found is not None
    assert (found.label, len(found.names)) == ("xLabel", MOST_ROWS)
    assert [name for name, _ in found.columns] == ["n", "m"]
    named = bars(frame.with_columns(name=pl.lit("name")))
    assert named is not None
    assert named.label == "name"


@given(st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=2, max_size=20))
def test_bars_stay_inside_and_are_in_proportion(values: list[float | None]) -> None:
    found = bars(pl.DataFrame({"name": ["x"] * len(values), "n": values}, schema={"name": pl.String, "n": pl.Float64}))
    if found is None:
        return
    [(_, drawn)] = found.columns
    finite = [v if v is not None and math.isfinite(v) else 0.0 for v in values]
    span = max(0.0, *finite) - min(0.0, *finite)
    for value, (_, start, width) in zip(finite, drawn, strict=True):
        assert start >= -1e-9
        assert start + width <= 100 + 1e-9
        assert width == pytest.approx(100 * abs(value) / span)
