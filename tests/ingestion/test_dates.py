"""Dates that people and programs write: forms, what decides between two of them, and why some stay text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from kbkit.errors import UnknownNameError
from kbkit.ingestion.inference import dates, infer
from kbkit.ingestion.request import Corrections

IN_ORDER = ["1/2/2020", "2/2/2020", "3/2/2020", "4/2/2020", "1/3/2020"]


def read(values: Sequence[str], order: str = "", **others: Sequence[str]) -> tuple[list[str], str]:
    """Return values as they are read, and the reason why they stay text; ``others`` are further columns."""
    con = duckdb.connect()
    columns = {"v": values, **others}
    con.execute(f"CREATE TABLE t({', '.join(f'{name} VARCHAR' for name in columns)})")
    con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", [*zip(*columns.values(), strict=True)])
    found = dates.find(con, "t", "t", {name: name for name in columns}, (), order)["v"]
    rows = con.execute(f"SELECT {found.expression('v')} FROM t").fetchall() if found.forms else []
    return [value for (value,) in rows], found.problem


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["4/03/24, 14:00:00", "29/02/24, 13:05:00"], ["2024-03-04 14:00:00", "2024-02-29 13:05:00"]),
        (["12/31/2023 3:04 PM", "1/2/2024 11:00 am"], ["2023-12-31 15:04:00", "2024-01-02 11:00:00"]),
        (["31-12-2020 07:30", "01-02-2021 23:59"], ["2020-12-31 07:30:00", "2021-02-01 23:59:00"]),
        (["23-OCT-10", "5-jan-11"], ["2010-10-23", "2011-01-05"]),
        (["Monday, January 2, 2006"], ["2006-01-02"]),
        (["Mon, 02 Jan 2006 15:04:05 +0100"], ["2006-01-02 14:04:05"]),
        (["Mon Jan  2 15:04:05 2006"], ["2006-01-02 15:04:05"]),
        (["10/Oct/2000:13:55:36 -0700"], ["2000-10-10 20:55:36"]),
        (["2020-01-02 10:00:00 UTC"], ["2020-01-02 10:00:00"]),
        (["Jan 5, 2023", "Jan 6, 2023 10:00 PM"], ["2023-01-05 00:00:00", "2023-01-06 22:00:00"]),
        (IN_ORDER, ["2020-02-01", "2020-02-02", "2020-02-03", "2020-02-04", "2020-03-01"]),
    ],
)
def test_usual_forms_are_read(values: list[str], expected: list[str]) -> None:
    assert read(values) == (expected, "")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["3/4/2024", "5/6/2024", "1/1/2024"], dates.UNCLEAR),
        (["3/4/24 10:00", "5/6/24 11:00"], dates.UNCLEAR),
        (["2009-05-12", "2009-05", "2009"], "some have no day"),
        (["May 2009", "June 2010"], "without days"),
        (["13/4/2020", "14/4/2020", "soon"], "another form: soon"),
        (["12. März 2024", "13. März 2024"], "unknown form: 12. März 2024"),
        (["3/13/58", "3/14/60"], "years of two digits may be of two centuries"),
    ],
)
def test_other_dates_stay_text_for_a_reason(values: list[str], problem: str) -> None:
    assert read(values) == ([], problem)


def test_another_column_or_the_user_says_what_comes_first() -> None:
    assert read(["3/4/2024", "5/6/2024"], other=["13/4/2024", "1/1/2024"])[0] == ["2024-04-03", "2024-06-05"]
    assert read(["3/4/2024", "5/6/2024"], "mdy")[0] == ["2024-03-04", "2024-05-06"]
    assert read(["3/4/2024", "5/6/2024"], "dmy")[0] == ["2024-04-03", "2024-06-05"]


def test_unread_dates_are_named_and_an_option_decides(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("id,day,ip\n1,3/4/2024,10.2.0.0\n2,5/6/2024,10.2.1.1\n3,1/1/2024,10.3.0.0\n", encoding="utf-8")
    assert f"Dates that stay text (--date-column): visits.day ({dates.UNCLEAR})" in infer([path], "x").notes
    assert "try_strptime(day, '%d/%m/%Y')" in infer([path], "x", Corrections(date_order="dmy")).sql
    with pytest.raises(UnknownNameError, match="ymd"):
        infer([path], "x", Corrections(date_order="ymd"))


@pytest.mark.parametrize("value", ["1.2.3", "10.2.0.0", "123-45-6789", "Room 12, 2020", "555-1234", "A-12-24"])
def test_versions_and_numbers_do_not_look_like_dates(value: str) -> None:
    assert duckdb.execute("SELECT regexp_full_match(?, ?)", [value, dates.LOOSE]).fetchall() == [(False,)]
