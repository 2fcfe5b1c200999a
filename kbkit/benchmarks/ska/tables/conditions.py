"""Conditions on the rows of a table: equal values, amounts, years, and passages that mention a phrase."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kbkit import english
from kbkit.benchmarks.requirements.condition_words import ADJECTIVES, POPULATION
from kbkit.benchmarks.requirements.conditions import BOOLEANS, RATINGS, is_clear, is_round, rounded
from kbkit.benchmarks.ska.tables import wording
from kbkit.benchmarks.ska.tables.columns import CATEGORY, NAME, NUMBER, YEAR, WebColumn
from kbkit.benchmarks.ska.tables.wording import RowCondition
from kbkit.english.attributes import is_popularity, located
from kbkit.english.categories import KINDS
from kbkit.english.stems import shares_stem
from kbkit.english.types import WORKS
from kbkit.english.verbs import GRADES

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
_MAX_VALUE = 50
_FILLED = 0.75
"""Minimum fraction of the rows with a value in a column that a condition uses."""
_MOST = 0.8
"""Maximum fraction of the rows with a value: *whose status is member* leaves out nearly none."""
_SPAN = 12
"""Maximum number of years of a range: *from 1900 to 2003* is no question."""
_GRADE = "rating"
"""The last word of columns with grades such as *PG-13*."""


def literal(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def equal(column: WebColumn, row: int, noun: str) -> RowCondition | None:
    """Return the condition that a column has the value of a row; None if it cannot be worded. ``noun``: of the row."""
    cell = column.cells[row]
    is_bad = cell.strip().casefold() in wording.EMPTY or len(cell) > _MAX_VALUE or "\n" in cell or ", " in cell
    # Of a film of several countries, the source has the main one.
    is_bad |= noun in WORKS and column.noun == "country" and not column.is_list
    is_bad |= english.is_uncapitalized(cell)  # whose lowest point is 'gulf of mexico'
    if is_bad or not column.noun or column.kind not in (CATEGORY, NAME, YEAR) or column.is_of_another:
        return None
    mask = column.holds(cell)
    if column.filled < _FILLED or mask.mean() > _MOST:
        return None  # another row may have the value too, or nearly all have it
    if shares_stem(cell, [column.noun]) or BOOLEANS.issuperset(map(str.casefold, filter(None, column.counts))):
        return None  # movies whose color is Color, species whose lays eggs is true
    sql = _holds(column, cell)
    shown = wording.value(cell)
    if column.by:
        by = f"{column.by} by {shown}"
        return RowCondition(column, sql, mask, f"was {by}", f"were {by}", by, values=(cell,))
    if column.kind == YEAR:
        when = _year(column, cell)
        return RowCondition(column, sql, mask, *when, values=(cell,)) if when else None
    return _related(column, noun, cell, mask) if wording.can_ask(column) else None


def _holds(column: WebColumn, cell: str) -> str:
    """Return SQL for a value, which may be one of several in a cell."""
    listed = f"list_contains(string_split({column.sql}, ', '), {literal(cell)})"
    return listed if column.is_list else f"{column.sql} = {literal(cell)}"


def _related(column: WebColumn, noun: str, cell: str, mask: Mask) -> RowCondition:
    """Return the condition that a column has a value, worded as a place, or as what a row has."""
    sql, shown = _holds(column, cell), wording.value(cell)
    if within := _placed(column, noun, cell):
        return RowCondition(column, sql, mask, f"is {within}", f"are {within}", within, values=(cell,))
    if column.noun.rpartition(" ")[2] == _GRADE:
        rated = f"rated {shown}"
        return RowCondition(column, sql, mask, f"is {rated}", f"are {rated}", rated, values=(cell,))
    shown = english.named(shown, column.noun) if column.noun in ("country", "currency") else shown
    if be := located(column.noun):
        place = f"{column.noun} in {shown}"
        return RowCondition(column, sql, mask, f"has its {place}", f"have their {place}", "",
                            f"{column.noun} {be} in {shown}", (cell,))  # fmt: skip
    whose = f"{column.noun} {'are' if column.is_plural else 'is'} {shown}"
    if column.is_list and not column.is_plural:  # the currencies of Lesotho
        whose = f"{english.plural(column.noun)} include {shown}"
    if english.is_person(noun):  # its or his
        return RowCondition(column, sql, mask, whose=whose, values=(cell,))
    if column.noun.rpartition(" ")[2] in GRADES | KINDS:  # have the UN status 'observer'
        text = f"the {column.noun} {shown}"
        return RowCondition(column, sql, mask, f"has {text}", f"have {text}", "", whose, (cell,))
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


def _placed(column: WebColumn, noun: str, cell: str) -> str:
    """Return where a row is, or where a work comes from: *in the Netherlands*, *from the USA*; "" if neither."""
    where = wording.place_word(column, noun)
    return f"{where} {english.named(cell, column.noun.rpartition(' ')[2])}" if where else ""


def _year(column: WebColumn, when: str) -> tuple[str, str, str] | None:
    """Return *was founded in 1990*, *were ...* and *founded in 1990*."""
    if english.is_participle(column.noun.rpartition(" ")[2]):
        span = when.split(" to ")
        during = f"{column.noun} between {' and '.join(span)}" if len(span) > 1 else f"{column.noun} in {when}"
        return f"was {during}", f"were {during}", during
    if column.noun == "year":
        return f"is from {when}", f"are from {when}", f"from {when}"
    return None


def amounts(column: WebColumn, row: int) -> Iterator[RowCondition]:
    """Yield conditions that a number is at least or at most a round bound, and that a row meets."""
    value = column.numbers[row]
    if value is None or not column.is_numeric or not column.noun or column.is_of_another:
        return
    numbers, known = column.amounts
    is_open = is_popularity(column.noun)
    has_least = is_open or column.noun.rpartition(" ")[2] in RATINGS
    for is_least in (True,) if has_least else (True, False):
        side = known[known < value] if is_least else known[known > value]
        if not len(side):
            continue
        other = float(side[-1] if is_least else side[0])
        bound = rounded(value) if is_open else _round_bound(value, other, column.decimals)
        low, high = (bound, math.inf) if is_least else (-math.inf, bound)
        if not is_round(low, high - (column.kind == YEAR), are_years=column.kind == YEAR):
            continue  # at least 139 minutes: read off a row
        if column.noun == POPULATION and not is_clear(known, low, high):
            continue
        mask = numbers >= bound if is_least else numbers <= bound
        sql = f"{column.number_sql} {'>=' if is_least else '<='} {bound:.10g}"
        words = _amount(column, bound, float(known.max()), is_least=is_least)
        if words:
            yield RowCondition(column, sql, mask & np.isfinite(numbers), *words)


def _round_bound(value: float, other: float, decimals: int) -> float:
    """Return the roundest number between a value and another one, which is excluded, with that many decimals."""
    low, high = sorted((value, other))
    for exponent in range(math.floor(math.log10(max(abs(low), abs(high), 1))) + 1, -4, -1):
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            if step < 0.999 * 10.0**-decimals:
                return value
            bound = math.floor(value / step) * step if value > other else math.ceil(value / step) * step
            if (value >= bound > other) or (value <= bound < other):
                return round(bound, 6)
    return value


def _amount(column: WebColumn, bound: float, last: float, *, is_least: bool) -> tuple[str, str, str] | None:
    """Return a bound in words; ``last`` is the largest number: of later years the table knows nothing."""
    if column.kind == YEAR:
        if is_least and last - bound > _SPAN:
            return None
        return _year(column, (f"{bound:.0f} to {last:.0f}" if bound < last else f"{bound:.0f}")
                     if is_least else f"{bound:.0f} or earlier")  # fmt: skip
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
        if unit and column.noun in ADJECTIVES:
            measured = f"{least} {shown}{unit} {ADJECTIVES[column.noun]}"
            return f"is {measured}", f"are {measured}", f"with {text}"
    return f"has {text}", f"have {text}", f"with {text}"
