"""Plausible new rows of a table without a model (section 3.2.3 of the paper).

A new row takes its cells from several original rows, or from one where a table names many. Columns that depend on
each other stay together: those that determine others (city and country), and numbers with a linear relation (points =
goals + assists), whose last number is computed. Numbers, years, dates and scores are drawn within their column's range
and format, and names that differ in all rows are new: parts of names of the column, put together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.evidence import padded
from kbkit.benchmarks.ska.tables.columns import (
    CATEGORY,
    CODE,
    CONSTANT,
    DATE,
    KEY,
    NAME,
    TEXT,
    YEAR,
    WebColumn,
    columns_of,
    number_in,
)
from kbkit.benchmarks.ska.tables.dependencies import determines, linear_relations
from kbkit.benchmarks.ska.tables.names import NameMaker

Floats = NDArray[np.float64]
_FEW = 12
"""Distinct numbers up to which new ones are drawn from those of the column."""
_SPREAD = 0.12
"""Standard deviation of a new number around an original one, relative to that of the column."""
_MAX_GROUPS = 6
"""Groups of digits of a text whose digits change; coordinates and the like stay as they are."""
_WHOLE = 50
"""Rows from which a new one has all cells of one row but the name, numbers and dates: mountains keep their range."""
_GEO = re.compile(r"(?:lat|lon|long|latitude|longitude)\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:country|state|province|region|city|county|continent|nation)\b", re.IGNORECASE)
_CLOSED = re.compile(rf"{_PLACE.pattern}|\b(?:capital|currency|language|nationality)\b", re.IGNORECASE)
"""Headers of closed classes, such as countries: a new row repeats a value of the column, unless it is the key."""
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")


def synthesize(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    count: int,
    seed: int,
    existing: Collection[str] = (),
) -> list[list[str]]:
    """Return up to ``count`` new rows: fewer if names run out. The same seed gives the same rows.

    ``existing`` are names of other things: none is that of a new row, which would be said of it wrongly.
    """
    if not rows or count <= 0:
        return []
    columns = columns_of(header, rows)
    rng = np.random.default_rng((seed, len(rows), len(header)))
    drawn = [list(cells) for cells in zip(*_cells(columns, count, rng, existing), strict=True)]
    seen = {tuple(row) for row in rows}
    new_rows = []
    for row in drawn:
        if tuple(row) not in seen:
            seen.add(tuple(row))
            new_rows.append(row)
    return new_rows


def _cells(
    columns: Sequence[WebColumn], count: int, rng: np.random.Generator, existing: Collection[str]
) -> list[list[str]]:
    """Return new cells by column."""
    size = len(columns[0].cells)
    unique = [c for c in columns if len(set(c.cells)) == size > 1 and c.kind in (KEY, NAME, CODE, CATEGORY, TEXT)]
    key = next((c for c in columns if c.kind == KEY), None)
    named = [c for c in unique if c.kind in (KEY, NAME) and (c is key or not _CLOSED.search(c.name))]
    fresh: dict[int, list[str]] = {}
    for column in sorted(named, key=lambda one: one is not key):
        if column is key or not _follows(column, key):
            drawn = NameMaker(column.cells, existing).make(count, rng)
            if column is key:
                count = len(drawn)
            else:  # other names may occur twice
                drawn = [drawn[i] if i < len(drawn) and i % 2 else column.cells[i % size] for i in range(count)]
                drawn = [drawn[i] for i in rng.permutation(count).tolist()]
            fresh[column.position] = drawn
    donors = {group: rng.integers(size, size=count) for group in range(len(columns))}
    group_of = _groups(columns)
    is_whole = key is not None and key.position in fresh and size >= _WHOLE
    new_cells: list[list[str]] = []
    for column in columns:
        donor = donors[0 if is_whole else group_of[column.position]]
        if column.position in fresh:
            new_cells.append(fresh[column.position][:count])
        elif key is not None and column is not key and _follows(column, key):
            new_cells.append(_renamed(column, key, fresh[key.position][:count], donor))
        elif column.is_numeric and len(column.counts) > 1 and not _is_grouped(column, columns, group_of):
            new_cells.append(_numbers(column, donor, rng))
        elif _GEO.match(column.name) and None not in column.numbers:
            new_cells.append(_moved(column, donor, rng))
        elif column.kind in (DATE, CODE):
            new_cells.append(_patterns(column, donor, rng))
        else:
            new_cells.append([column.cells[row] for row in donor.tolist()])
    _relate(columns, new_cells, rng)
    return new_cells


def _is_grouped(column: WebColumn, columns: Sequence[WebColumn], group_of: Sequence[int]) -> bool:
    """Return whether a column of numbers is determined by a category, so that its values must not change."""
    return any(
        other is not column
        and group_of[other.position] == group_of[column.position]
        and ((other.kind in (CATEGORY, NAME) and determines(other.cells, column.cells)) or _shares_year(other, column))
        for other in columns
    )


# -- dependent columns ------------------------------------------------------------------------------------------------


def _groups(columns: Sequence[WebColumn]) -> list[int]:
    """Return the group of each column: columns that determine others, or that share words, take cells of one row."""
    group = list(range(len(columns)))

    def join(a: int, b: int) -> None:
        old, new = group[b], group[a]
        for position, one in enumerate(group):
            if one == old:
                group[position] = new

    for a, b in combinations(columns, 2):
        if CONSTANT in (a.kind, b.kind) or KEY in (a.kind, b.kind):
            continue
        if (
            _locates(a, b)
            or _locates(b, a)
            or determines(a.cells, b.cells)
            or determines(b.cells, a.cells)
            or _shares_year(a, b)
        ):
            join(a.position, b.position)
    numbers = [c for c in columns if c.is_numeric]
    first = next(iter(numbers), None)
    for column in numbers:  # large things are large in every respect
        if first is not None and column is not first and group[column.position] == column.position:
            join(first.position, column.position)
    return group


def _locates(a: WebColumn, b: WebColumn) -> bool:
    """Return whether a column is a latitude or a longitude, and another one as well, or a place."""
    return bool(_GEO.match(a.name)) and bool(_GEO.match(b.name) or _PLACE.search(b.name))


def _shares_year(a: WebColumn, b: WebColumn) -> bool:
    """Return whether the years of a column occur in the values of another: 1994 and May 3, 1994."""
    year, other = (a, b) if a.kind == YEAR else (b, a)
    if year.kind != YEAR or other.kind not in (DATE, CODE, TEXT):
        return False
    pairs = [(y, o) for y, o in zip(year.cells, other.cells, strict=True) if y and o]
    return bool(pairs) and sum(y in o for y, o in pairs) >= 0.8 * len(pairs)


def _follows(column: WebColumn, key: WebColumn | None) -> bool:
    """Return whether most values of a column contain the key as words: *Republic of Chad*, not *Mexican peso*."""
    if key is None or column is key or column.kind not in (NAME, TEXT, CODE, KEY):
        return False
    pairs = [(k, cell) for k, cell in zip(key.cells, column.cells, strict=True) if cell]
    return bool(pairs) and sum(padded(k) in padded(cell) for k, cell in pairs) >= 0.5 * len(pairs)


def _renamed(column: WebColumn, key: WebColumn, fresh: Sequence[str], donor: NDArray[np.int64]) -> list[str]:
    """Return the cells of rows that contain their key, with the new key in its place."""
    fit = {row for row, (k, cell) in enumerate(zip(key.cells, column.cells, strict=True)) if k in cell}
    if not fit:
        return list(fresh)
    others = sorted(fit)
    rows = [row if row in fit else others[row % len(others)] for row in donor.tolist()]
    return [column.cells[row].replace(key.cells[row], name) for row, name in zip(rows, fresh, strict=True)]


def _relate(columns: Sequence[WebColumn], cells: list[list[str]], rng: np.random.Generator) -> None:
    """Make related numbers of new rows agree; where the result is out of range, take all of them from one row."""
    size = len(columns[0].cells)
    for position, parts, factors, constant in linear_relations(columns):
        column = columns[position]
        known = np.array([v for v in column.numbers if v is not None])
        has_plus = any(cell.startswith("+") for cell in column.cells)
        for row in range(len(cells[0])):
            values = [_value(cells[p][row]) for p in parts]
            total = constant + sum(f * v for f, v in zip(factors, values, strict=True))
            if not np.isfinite(total) or not known.min() <= total <= known.max():
                donor = int(rng.integers(size))
                for p in (position, *parts):
                    cells[p][row] = columns[p].cells[donor]
            else:
                like = cells[position][row] or column.cells[0]
                plus = "+" if total > 0 and has_plus and not like.startswith(("+", "-", "−", "–")) else ""
                cells[position][row] = plus + formatted(total, like, plus=has_plus)
    _order(columns, cells, rng)


def _order(columns: Sequence[WebColumn], cells: list[list[str]], rng: np.random.Generator) -> None:
    """Keep the order of numbers that is the same in all rows: the winner's score is not below the loser's."""
    numbers = [c for c in columns if c.is_numeric]
    computed = {p for position, parts, *_ in linear_relations(columns) for p in (position, *parts)}
    size = len(columns[0].cells)
    for a, b in combinations(numbers, 2):
        if {a.position, b.position} & computed:
            continue
        pairs = [(x, y) for x, y in zip(a.numbers, b.numbers, strict=True) if x is not None and y is not None]
        if len(pairs) < 8:
            continue
        high, low = (a, b) if all(x >= y for x, y in pairs) else (b, a)
        if high is b and not all(y >= x for x, y in pairs):
            continue
        overlap = min(v for v in high.numbers if v is not None) <= max(v for v in low.numbers if v is not None)
        if not overlap:
            continue
        for row in range(len(cells[0])):
            first, second = _value(cells[high.position][row]), _value(cells[low.position][row])
            if first < second:
                donor = int(rng.integers(size))
                for c in (high, low):
                    cells[c.position][row] = c.cells[donor]


def _value(cell: str) -> float:
    number = number_in(cell)
    return float("nan") if number is None else number


# -- values -----------------------------------------------------------------------------------------------------------


def formatted(value: float, like: str, *, plus: bool = False) -> str:
    """Return a number in the format of a cell: its decimals, separators, sign, unit and currency.

    With ``plus`` positive numbers have a sign where the cell has one of any kind.
    """
    match = _NUMBER.search(like)
    if match is None:
        return like
    _, _, fraction = match[0].partition(".")
    text = f"{abs(value):.{len(fraction)}f}"
    if "," in match[0] or (abs(value) >= 10_000 and len(match[0].replace(",", "").partition(".")[0]) < 4):
        text = f"{abs(value):,.{len(fraction)}f}"
    before, after = like[: match.start()], like[match.end() :]
    sign = re.search(r"[+\-−–]\s?$", before)
    had = before[: sign.start()] if sign else before
    mark = ""
    if value < 0:
        mark = "−" if sign and sign[0].strip() in "−–" else "-"
    elif sign and (plus or sign[0].strip() == "+") and value > 0:
        mark = "+"
    return f"{had}{mark}{text}{after}"


def _numbers(column: WebColumn, donor: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """Return numbers near those of the donors, within the column's range, as round as the donors' are."""
    numbers = np.array([np.nan if v is None else v for v in column.numbers])
    known = numbers[np.isfinite(numbers)]
    low, high = known.min(), known.max()
    value = numbers[donor]
    if len(column.counts) <= _FEW and high - low <= 2 * _FEW and not column.decimals:
        spread: Floats = np.full(len(donor), 0.0 if high - low < 2 else 0.7)
    elif column.kind == YEAR:
        spread = np.full(len(donor), max(2.0, 0.1 * (high - low)))
    elif low > 0 and high > 50 * np.median(known):  # skewed: relative steps
        spread = np.abs(value) * _SPREAD * 2
    else:
        spread = np.full(len(donor), max(_SPREAD * float(known.std()), 1e-9))
    moved = value + rng.normal(size=len(donor)) * spread
    moved = np.where(moved < low, 2 * low - moved, moved)
    moved = np.clip(np.where(moved > high, 2 * high - moved, moved), low, high)
    new_numbers = []
    for row, new in zip(donor.tolist(), moved.tolist(), strict=True):
        cell = column.cells[row]
        new_numbers.append(formatted(_as_round(new, cell), cell) if np.isfinite(new) else cell)
    return new_numbers


def _as_round(value: float, like: str) -> float:
    """Return a number rounded to as many zeros as a cell ends with."""
    match = _NUMBER.search(like)
    digits = match[0].replace(",", "") if match else ""
    if "." in digits or not digits:
        return value
    zeros = len(digits) - len(digits.rstrip("0"))
    step = 10.0 ** min(zeros, len(digits) - 1)
    rounded = round(value / step) * step
    return rounded if rounded or not value else value


def _moved(column: WebColumn, donor: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """Return latitudes or longitudes within about a degree of those of the donors."""
    steps = rng.normal(size=len(donor)) * 0.5
    cells = [column.cells[row] for row in donor.tolist()]
    return [formatted((number_in(cell) or 0.0) + step, cell) for cell, step in zip(cells, steps.tolist(), strict=True)]


def _patterns(column: WebColumn, donor: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """Return dates, scores and codes with other digits: each group of digits is one from the same place elsewhere.

    Of times only the last group changes, totals are added up, and long codes and coordinates stay as they are.
    """
    pools: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for cell in column.cells:
        groups = _DIGITS.findall(cell)
        for place, digits in enumerate(groups):
            pools[len(groups), place, _width(digits)].append(digits)
    new_cells = []
    for row in donor.tolist():
        cell, groups = column.cells[row], _DIGITS.findall(column.cells[row])
        if len(groups) > _MAX_GROUPS or "°" in cell:
            new_cells.append(cell)
            continue
        first = len(groups) - 1 if ":" in cell else 0
        drawn = [
            digits if place < first else _drawn(pools[len(groups), place, _width(digits)], rng)
            for place, digits in enumerate(groups)
        ]
        if re.fullmatch(r"\d+(?:\s?[-–+]\s?\d+)+\s?=\s?\d+", cell):
            drawn[-1] = str(sum(map(int, drawn[:-1])))
        remaining = iter(drawn)
        new = _DIGITS.sub(lambda match, left=remaining: next(left, match[0]), cell)  # type: ignore[misc]
        new_cells.append(_mended(_real_day(new) if column.kind == DATE else new))
    return new_cells


def _width(digits: str) -> int:
    """Return the number of digits; 0 for small numbers without a leading zero, which may have one digit or two."""
    return 0 if len(digits) < 3 and digits[0] != "0" else len(digits)


def _mended(text: str) -> str:
    """Return a text whose ordinals are right (3rd, not 3th) and whose spans of years do not end before they begin."""

    def ordinal(match: re.Match[str]) -> str:
        number = int(match[1])
        end = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        return f"{match[1]}{end}"

    def span(match: re.Match[str]) -> str:
        first, last = sorted((match[1], match[3]))
        return f"{first}{match[2]}{last}"

    text = re.sub(r"\b(\d+)(?:st|nd|rd|th)\b", ordinal, text)
    return re.sub(r"\b(\d{4})(\s?[-–]\s?)(\d{4})\b", span, text)


def _drawn(pool: Sequence[str], rng: np.random.Generator) -> str:
    return pool[int(rng.integers(len(pool)))]


def _real_day(text: str) -> str:
    """Return a date whose month has its day: 30 February becomes 28 February."""
    month = re.search(r"\b(Feb|Apr|Jun|Sep|Nov)", text)
    iso = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", text)
    if iso:
        last = 28 if iso[2] == "02" else 30
        return f"{iso[1]}-{iso[2]}-{min(int(iso[3]), last):02}"
    if month is None:
        return text
    last = 28 if month[1] == "Feb" else 30
    return re.sub(r"\b(29|30|31)\b", lambda match: str(min(int(match[0]), last)), text)
