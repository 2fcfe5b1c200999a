"""Conditions on the rows of a table: equal values, amounts, years, and passages that mention a phrase."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kbkit import english
from kbkit.benchmarks.ska.tables import wording
from kbkit.benchmarks.ska.tables.columns import CATEGORY, NAME, NUMBER, YEAR, WebColumn
from kbkit.benchmarks.ska.tables.wording import RowCondition

_MAX_VALUE = 50


def literal(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def equal(column: WebColumn, row: int, noun: str) -> RowCondition | None:
    """Return the condition that a column has the value of a row; None if it cannot be worded. ``noun``: of the row."""
    cell = column.cells[row]
    is_bad = cell.strip().casefold() in wording.EMPTY or len(cell) > _MAX_VALUE or "\n" in cell or ", " in cell
    if is_bad or not column.noun or column.kind not in (CATEGORY, NAME, YEAR) or " of the " in column.noun:
        return None
    mask = np.array([other == cell for other in column.cells])
    sql = f"{column.sql} = {literal(cell)}"
    shown = wording.value(cell)
    if column.by:
        by = f"{column.by} by {shown}"
        return RowCondition(column, sql, mask, f"was {by}", f"were {by}", by, values=(cell,))
    if column.kind == YEAR:
        when = _year(column, cell)
        return RowCondition(column, sql, mask, *when, values=(cell,)) if when else None
    if not wording.can_ask(column):
        return None
    is_many = column.is_plural
    whose = f"{column.noun} {'are' if is_many else 'is'} {shown}"
    if english.is_person(noun):  # its or his
        return RowCondition(column, sql, mask, whose=whose, values=(cell,))
    return RowCondition(
        column,
        sql,
        mask,
        f"has {shown} as its {column.noun}",
        f"have {shown} as their {column.noun}",
        "",
        whose,
        (cell,),
    )


def _year(column: WebColumn, when: str) -> tuple[str, str, str] | None:
    """Return *was founded in 1990*, *were ...* and *founded in 1990*."""
    if english.is_participle(column.noun.rpartition(" ")[2]):
        during = f"{column.noun} in {when}"
        return f"was {during}", f"were {during}", during
    if column.noun == "year":
        return f"is from {when}", f"are from {when}", f"from {when}"
    return None


def amounts(column: WebColumn, row: int) -> Iterator[RowCondition]:
    """Yield conditions that a number is at least or at most a round bound, and that a row meets."""
    value = column.numbers[row]
    if value is None or not column.is_numeric or not column.noun or " of the " in column.noun:
        return
    numbers = np.array([np.nan if v is None else v for v in column.numbers])
    known = np.sort(np.unique(numbers[np.isfinite(numbers)]))
    for is_least in (True, False):
        side = known[known < value] if is_least else known[known > value]
        if not len(side):
            continue
        other = float(side[-1] if is_least else side[0])
        bound = _round_bound(value, other)
        mask = numbers >= bound if is_least else numbers <= bound
        sql = f"{column.number_sql} {'>=' if is_least else '<='} {bound:.10g}"
        words = _amount(column, bound, is_least=is_least)
        if words:
            yield RowCondition(column, sql, mask & np.isfinite(numbers), *words)


def _round_bound(value: float, other: float) -> float:
    """Return the roundest number between a value and another one, which is excluded."""
    low, high = sorted((value, other))
    for exponent in range(math.floor(math.log10(max(abs(low), abs(high), 1))) + 1, -4, -1):
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            bound = math.floor(value / step) * step if value > other else math.ceil(value / step) * step
            if (value >= bound > other) or (value <= bound < other):
                return round(bound, 6)
    return value


def _amount(column: WebColumn, bound: float, *, is_least: bool) -> tuple[str, str, str] | None:
    if column.kind == YEAR:
        return _year(column, f"{bound:.0f} or {'later' if is_least else 'earlier'}")
    if column.kind != NUMBER or not wording.can_ask(column):
        return None
    shown = f"{bound:,.0f}" if bound == int(bound) else f"{bound:,.6g}"
    least = "at least" if is_least else "at most"
    if column.is_count and bound < 2:
        return None  # at least 1 points
    if column.is_count:
        text = f"{least} {shown} {column.noun}"
    else:
        unit = f" {column.unit}" if column.unit else ""
        text = english.with_article(f"{column.noun} of {least} {shown}{unit}")
    return f"has {text}", f"have {text}", f"with {text}"
