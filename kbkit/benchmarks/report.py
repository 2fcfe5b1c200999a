"""Our figures beside those of the papers, which are files of ``kbkit/assets/published``.

A file has the columns table and section (where the paper prints the figure; no table for one in the text), row and part
(what the figure is of, such as a system and a split), column (what is measured), value, unit, note.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from kbkit import assets
from kbkit.errors import BadInputError, KbError

HERE, PAPER, DIFFERENCE = "here", "paper", "difference"
"""Whose figures a row of a table has: kbkit's, the paper's, or their difference."""
FIGURES = "figures"
"""The column that says whose figures a row has."""


# -- published figures ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedFigure:
    """A figure that a paper prints. ``unit`` is "" for a number of things."""

    table: str
    section: str
    row: str
    part: str
    column: str
    value: float
    unit: str = ""
    note: str = ""


@dataclass(frozen=True)
class PublishedFigures:
    """The figures of a paper, in its order. Those of the text have the table ""."""

    path: Path
    figures: tuple[PublishedFigure, ...]

    def of(self, table: str) -> dict[tuple[str, str], dict[str, float]]:
        """Return the figures of a table: for each row and part, the value of each column."""
        rows: dict[tuple[str, str], dict[str, float]] = {}
        for figure in self.figures:
            if figure.table == table:
                rows.setdefault((figure.row, figure.part), {})[figure.column] = figure.value
        return rows

    def value(self, table: str, row: str, part: str, column: str) -> float:
        """Return one figure. Raises :class:`KbError` if the file does not have it."""
        for figure in self.figures:
            if (figure.table, figure.row, figure.part, figure.column) == (table, row, part, column):
                return figure.value
        raise KbError(f"{self.path} has no figure {column!r} of {row!r} {part!r} in table {table!r}")


@functools.cache
def published(paper: str) -> PublishedFigures:
    """Return the figures of a paper: convkgyarn, quest, ska, spinach or stark."""
    return read_published(assets.published_file(paper))


def read_published(path: Path) -> PublishedFigures:
    """Read a file of published figures. Raises :class:`BadInputError` with the line for what is not one, or twice."""
    names = [field.name for field in fields(PublishedFigure)]
    figures: dict[tuple[str, ...], PublishedFigure] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, strict=True)
        if next(rows, None) != names:
            raise BadInputError(f"Invalid first line of {path}", f"Use {','.join(names)}")
        for cells in rows:
            where = f"{path}, line {rows.line_num}"
            if len(cells) != len(names):
                raise BadInputError(f"{len(cells)} cells instead of {len(names)} in {where}")
            given = dict(zip(names, cells, strict=True))
            if missing := next((name for name in ("section", "row", "column") if not given[name]), ""):
                raise BadInputError(f"No {missing} in {where}")
            figure = PublishedFigure(**{**given, "value": _number(given["value"], where)})  # type: ignore[arg-type]
            key = (figure.table, figure.row, figure.part, figure.column)
            if key in figures:
                raise BadInputError(f"Duplicate figure in {where}: {', '.join(filter(None, key))}")
            figures[key] = figure
    return PublishedFigures(path, tuple(figures.values()))


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInputError(f"Invalid value {text!r} in {where}", "Use a number")
    return value


# -- tables -----------------------------------------------------------------------------------------------------------


def beside(
    ours: pl.DataFrame,
    keys: Sequence[str],
    printed: Callable[..., Sequence[object] | None],
    *,
    named: Callable[..., Sequence[object]] | None = None,
    difference: bool = False,
) -> pl.DataFrame:
    """Return each row of ours, then the paper's row for the same ``keys``, then with ``difference`` ours less theirs.

    ``printed`` returns the paper's cells of the other columns for the values of the keys (None: not printed), or None
    without any; ``named`` returns what the paper calls the keys. The column ``figures`` after the keys says whose
    figures a row has.
    """
    rest = [name for name in ours.columns if name not in keys]
    rows: list[tuple[object, ...]] = []
    for row in ours.select(*keys, *rest).iter_rows():
        key, own = row[: len(keys)], row[len(keys) :]
        rows.append((*key, HERE, *own))
        theirs = printed(*key)
        if theirs is not None:
            rows.append((*(named(*key) if named else key), PAPER, *theirs))
            if difference:
                rows.append((*key, DIFFERENCE, *map(_less, own, theirs)))
    types = [ours.schema[name] for name in (*keys, *rest)]
    types.insert(len(keys), pl.String())
    return pl.DataFrame(rows, schema=pl.Schema(zip((*keys, FIGURES, *rest), types, strict=True)), orient="row")


def _less(ours: object, theirs: object) -> float | None:
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return round(ours - theirs, 4)
    return None


def below(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Return our rows, then those that a paper prints, with the column ``figures`` after the first one.

    Null is a column that the paper does not print.
    """
    parts = [frame.with_columns(pl.lit(whose).alias(FIGURES)) for frame, whose in ((ours, HERE), (theirs, PAPER))]
    first = ours.columns[0]
    return pl.concat(parts, how="diagonal_relaxed").select(first, FIGURES, pl.exclude(first, FIGURES))


def in_one_cell(table: pl.DataFrame, columns: Sequence[str], digits: Sequence[int]) -> pl.DataFrame:
    """Return a table of :func:`beside` for a screen: a row of ours with the paper's figures in parentheses.

    ``3.50 (3.97)``, and "-" for what is not measured, in the ``columns``, rounded to ``digits``.
    """
    rows = []
    for row in table.iter_rows(named=True):
        if row[FIGURES] == HERE:
            rows.append((row, dict.fromkeys(columns)))
        elif row[FIGURES] == PAPER:
            rows[-1] = (rows[-1][0], row)
    cells = {
        name: [f"{_rounded(own[name], places)} ({_rounded(theirs[name], places)})" for own, theirs in rows]
        for name, places in zip(columns, digits, strict=True)
    }
    ours = table.filter(pl.col(FIGURES) == HERE).drop(FIGURES)
    return ours.with_columns(pl.Series(name, values, pl.String) for name, values in cells.items())


def _rounded(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
