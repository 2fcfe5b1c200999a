"""Which tables are fit for questions: rules that published and new questions share (section 3.2 of the paper)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kbkit.benchmarks.ska.tables.data import TableData

MIN_COLUMNS, MIN_ROWS = 6, 8
"""Size of the smallest table (section 3.2.1)."""
SMALL = f"the table has fewer than {MIN_COLUMNS} columns or {MIN_ROWS} rows"
ORDERED = "the rows of the table depend on their order"
DITTO = "cells of the table repeat the row above"
CASE = "two headers of the table differ only in case"
NO_KEY = "no column of the table names its rows"
MIXED = "the rows of the table are of several kinds"
_NUMBERING = re.compile(
    r"#|no\.?|nr\.?|rank|ranking|pos\.?|position|place|standing|column \d+|s\.? ?no\.?", re.IGNORECASE
)
_SUMMARY = re.compile(r"(?:grand |sub|career )?totals?:?|averages?:?|sum|overall|all|mean", re.IGNORECASE)
_ORDERED = re.compile(
    r"(?:win.loss |series )?record|cumulative.*|running.*|streak|next|predecessor|successor|change.*"
    r"|previous(?: (?:winner|champion|holder|leader|record|rank\w*|pos\w*|week))?s?",
    re.IGNORECASE,
)
"""Columns whose values refer to the rows before or after."""
_DITTO = frozenset(('"', "''", "″", "〃", "do.", "ditto", "same as above"))
_EMPTY_SHARE = 0.2


def size(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return why a table is too small, or ""."""
    return SMALL if len(header) < MIN_COLUMNS or len(rows) < MIN_ROWS else ""


def order(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return why the rows of a table depend on each other, or "".

    They do if cells refer to the cell above (by a sign, or by being empty in the first column), or columns to other
    rows. A column with running ranks or dates does not make a table dependent, because each row has its own value.
    """
    if any(_ORDERED.fullmatch(name.strip()) for name in header):
        return ORDERED
    names = [row[0].strip() for row in rows if row]
    if any(cell.strip().casefold() in _DITTO for row in rows for cell in row):
        return DITTO
    return DITTO if names and names.count("") > _EMPTY_SHARE * len(names) else ""


def is_summary(row: Sequence[str]) -> bool:
    """Return whether a row sums up the others, so that it gives their values too."""
    return any(_SUMMARY.fullmatch(cell.strip()) for cell in row[:2])


def problem(table: TableData) -> str:
    """Return why new questions cannot be about a table: too small, no key, or dependent on the order of its rows."""
    if len(table.header) < MIN_COLUMNS:
        return SMALL
    table = without_numbering(table)
    if len(table.rows) < MIN_ROWS:
        return SMALL
    if len({name.casefold() for name in table.header}) < len(table.header):
        return CASE
    return order(table.header, table.rows) or ("" if table.key else NO_KEY)


def without_numbering(table: TableData) -> TableData:
    """Return a table without columns that number its rows, which further rows would break, and without totals."""
    kept = [i for i, name in enumerate(table.header) if not _numbers(name, [row[i] for row in table.rows])]
    good = [n for n, row in enumerate(table.rows) if not is_summary(row)]
    if len(kept) == len(table.header) and len(good) == len(table.rows):
        return table
    column, row_at = {old: new for new, old in enumerate(kept)}, {old: new for new, old in enumerate(good)}
    passages = [
        link._replace(row=row_at[link.row], column=column[link.column])
        for link in table.passages
        if link.row in row_at and link.column in column
    ]
    return replace(
        table,
        header=[table.header[i] for i in kept],
        rows=[[table.rows[n][i] for i in kept] for n in good],
        places=[table.places[n] for n in good],
        passages=passages,
    )


def _numbers(name: str, cells: Sequence[str]) -> bool:
    """Return whether a column numbers the rows: 1, 2, 3, or 1st, 2nd, =3rd."""
    if not _NUMBERING.fullmatch(name.strip()):
        return False
    matches = [re.match(r"\W?T?(\d+)", cell) for cell in cells]
    known = [int(match[1]) for match in matches if match]
    return len(known) >= 0.6 * len(cells) and known == sorted(known) and bool(known) and known[-1] > known[0]
