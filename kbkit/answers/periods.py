"""Years, months and days in comparisons of dates and times: 1995 and "1995-03" stand for all their days."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from kbkit.answers.syntax import Value

Period: TypeAlias = tuple[str, str]
"""The first day of a period, and the first day after it."""

_PERIOD = re.compile(r"(\d{4})(?:-(\d{2}))?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def period_of(value: Value, sql_type: str) -> Period | None:
    """Return the period that a year or month stands for, or of times (TIMESTAMP) a day; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    if sql_type.startswith("TIMESTAMP") and _DAY.fullmatch(str(value)):
        return _day(str(value))
    match = _PERIOD.fullmatch(str(value))
    if match is None:
        return None
    year, month = int(match[1]), int(match[2] or 0)
    if not 1 <= year <= 9998 or month > 12 or (match[2] and month < 1):
        return None
    if not month:
        return f"{year:04}-01-01", f"{year + 1:04}-01-01"
    after = (year, month + 1) if month < 12 else (year + 1, 1)
    return f"{year:04}-{month:02}-01", f"{after[0]:04}-{after[1]:02}-01"


def dated(
    op: str, values: Sequence[Value], periods: Sequence[Period | None]
) -> Iterator[list[tuple[tuple[str, Value], ...]]]:
    """Yield, for each value that a date is compared with, alternatives: comparisons (sign, day) that hold together.

    ``op`` is a comparison, ``in`` or ``not in``. A date of 1995 is at least its first day and before the first day
    after it, any other date is before the one or at least the other.
    """
    for value, period in zip(values, periods, strict=True):
        start, end = period or (value, None)
        if op[0] in "<>":
            sign = {"<": "<", "<=": "<", ">": ">=", ">=": ">="}[op]
            yield [((sign, start if op in ("<", ">=") else end or start),)]
        elif end is None:
            yield [(("!=" if op in ("!=", "not in") else "=", start),)]
        elif op in ("!=", "not in"):
            yield [(("<", start),), ((">=", end),)]
        else:
            yield [((">=", start), ("<", end))]


def _day(text: str) -> Period | None:
    try:
        return text, (dt.date.fromisoformat(text) + dt.timedelta(1)).isoformat()
    except (ValueError, OverflowError):
        return None  # no such day, which binding says
