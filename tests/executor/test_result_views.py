"""Filters, orders and statistics of results."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

from kbkit.errors import KbError
from kbkit.executor.result_views import chosen_rows, statistics

FRAME = pl.DataFrame(
    {
        "name": ["Paris", "paris (Texas)", None, "Rome"],
        "size": [2, 10, None, 30],
        "share": [0.5, float("nan"), None, 1.5],
        "day": [datetime.date(2020, 1, 2), None, datetime.date(2021, 1, 1), datetime.date(2020, 5, 1)],
        "tags": [["a", "b"], ["c"], None, []],
    }
)


@pytest.mark.parametrize(
    ("column", "text", "rows"),
    [
        ("name", "PARIS", [0, 1]),
        ("name", "=Paris", [0]),
        ("name", "!=Paris", [1, 3]),
        ("name", "=", [2]),
        ("name", "!=", [0, 1, 3]),
        ("name", "(Te", [1]),
        ("name", " ", [0, 1, 2, 3]),
        ("size", "10", [1]),
        ("size", ">=10", [1, 3]),
        ("size", "< 1,000", [0, 1, 3]),
        ("share", "<1", [0]),
        ("day", "2020", [0, 3]),
        ("day", ">=2020-05-01", [2, 3]),
        ("tags", "b", [0]),
    ],
)
def test_filters(column: str, text: str, rows: list[int]) -> None:
    assert chosen_rows(FRAME, {column: text}).to_list() == rows


def test_orders() -> None:
    assert chosen_rows(FRAME, {}, "size", descending=True).to_list() == [3, 1, 0, 2]
    assert chosen_rows(FRAME, {"size": ">2"}, "name").to_list() == [3, 1]
    assert chosen_rows(FRAME, {}, "tags").to_list() == [3, 0, 1, 2]
    with pytest.raises(KbError, match="Invalid filter for the numbers of size: 'ten'"):
        chosen_rows(FRAME, {"size": "> ten"})


def test_statistics() -> None:
    size = statistics(pl.Series("size", [*range(1, 11), 10, None]))
    assert (size.kind, size.rows, size.missing, size.distinct) == ("integer", 12, 1, 10)
    assert (size.least, size.median, size.mean, size.most) == ("1", "6", "5.909", "10")
    assert size.top[0] == ("10", 2)
    assert sum(size.bins) == 11
    assert size.bins[0] == 1
    assert size.bins[-1] == 2
    tags = statistics(FRAME["tags"])
    assert (tags.kind, tags.missing, tags.distinct, tags.least, tags.top) == ("list or record", 1, 3, None, ())
    for column in FRAME.iter_columns():  # also of no rows, and of missing values only
        for part in (column.head(0), column[2:3], column):
            assert statistics(part).rows == len(part)
