"""The rows of a table that questions name, and those that meet conditions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kbkit import english
from kbkit.benchmarks.ska.tables import wording
from kbkit.benchmarks.ska.tables.columns import CATEGORY, NAME, TEXT, YEAR, WebColumn
from kbkit.benchmarks.ska.tables.conditions import amounts, equal, literal
from kbkit.benchmarks.ska.tables.data import TableData
from kbkit.benchmarks.ska.tables.wording import RowCondition
from kbkit.english.askable import is_technical
from kbkit.english.attributes import is_popularity
from kbkit.english.names import listed_names
from kbkit.english.types import WORKS
from kbkit.english.words import is_person

_MAX_KEY = 60
_GROUPED = range(3, 9)
"""Numbers of rows that are grouped by what they share."""


@dataclass(frozen=True)
class RowGroup:
    """Several rows that a question compares, counts or adds up: two named ones, or all that meet conditions.

    ``where`` is the condition in SQL that holds for them, ``text`` says which they are, ``topics`` are the cells named
    in it, ``clauses`` the conditions (none for named rows).
    """

    rows: list[int]
    where: str
    text: str
    topics: tuple[str, ...]
    clauses: tuple[RowCondition, ...] = ()

    @property
    def given(self) -> list[WebColumn]:
        """The columns that the conditions are about."""
        return [clause.column for clause in self.clauses]

    @property
    def uses(self) -> tuple[int, ...]:
        """The rows in the order of the table."""
        return tuple(sorted(self.rows))

    @property
    def guarded(self) -> str:
        """The condition that a row is in the group, all of which exists."""
        return f"{self.where} AND (SELECT count(*) FROM table_rows WHERE {self.where}) = {len(self.rows)}"


class TableRows:
    """The rows of one table that has a key, and groups of them."""

    def __init__(self, table: TableData) -> None:
        assert table.key is not None
        self.table = table
        self.key: WebColumn = table.key
        self.noun = wording.row_noun(table)
        self.nouns = english.plural(self.noun) if self.noun else ""

    @cached_property
    def rows(self) -> list[int]:
        """The rows that questions can name."""
        return [row for row, name in enumerate(self.key.cells) if self.can_name(name)]

    def can_name(self, name: str) -> bool:
        """Return whether a question can name a row with this key."""
        is_long = len(name) > _MAX_KEY or "\n" in name
        return (
            not is_long and not (self.table.node_type and name.endswith(")")) and name.casefold() not in wording.EMPTY
        )

    @cached_property
    def asked(self) -> list[WebColumn]:
        """The columns whose cells questions ask for, but not those of another thing: the capital of its country."""
        rng = np.random.default_rng(0)
        own = [c for c in self.table.columns if c is not self.key and not c.is_of_another]
        return [c for c in own if wording.lookup(c, "X", rng)]

    @cached_property
    def numeric(self) -> list[WebColumn]:
        """The columns that can be compared."""
        worded = [c for c in self.table.columns if c.noun and not c.by and " of the " not in c.noun]
        worded = [c for c in worded if wording.can_ask(c) or (c.kind == YEAR and not is_technical(c.noun))]
        return [c for c in worded if c.is_numeric and len(c.counts) > 3]

    @cached_property
    def measured(self) -> list[WebColumn]:
        """The columns that can be compared and added, without counts of the people who noticed a thing."""
        return [c for c in self.numeric if not is_popularity(c.noun)]

    def name(self, row: int) -> str:
        """Return the name of a row in a sentence."""
        return wording.called(self.table, self.key.cells[row])

    def names(self, rows: Sequence[int]) -> str:
        """Return the names of rows in a sentence."""
        return listed_names([self.name(row) for row in rows])

    def named(self, rows: Sequence[int]) -> str:
        """Return the condition in SQL that a row is one of some rows."""
        values = [literal(self.key.cells[row]) for row in rows]
        return f"{self.key.sql} = {values[0]}" if len(values) == 1 else f"{self.key.sql} IN ({', '.join(values)})"

    def group(
        self,
        count: int,
        rng: np.random.Generator,
        fit: Callable[[int], bool] = lambda _: True,
        size: int = 0,
    ) -> RowGroup | None:
        """Return two rows by their names, or, for a larger ``count``, some by what they share; all of them fit.

        ``size`` is the number of conditions (0: one or two).

        A longer list of names makes an unnatural question. In a table that is not whole, which may lack rows that share
        something, two of those that do are named: *the lower of Uluru and Mount Kosciuszko*.
        """
        if count == 2 and not self.noun:
            return self._by_names(self.some(2, rng, fit))
        size = size or 1 + int(rng.random() < 0.3)
        found = self.conditions(_GROUPED, rng, size=size) if self.noun else None
        if found is None or not all(fit(row) for row in found[1]):
            return None
        clauses, rows = found
        if self.are_many(clauses):
            return None  # the longest movie in Mandarin: is the list complete?
        if not self.table.is_whole:
            if all(clause.column.is_numeric for clause in clauses):
                return None  # mountains below 400 m, on three continents
            rows = [row for row in rows if self.can_name(self.key.cells[row])]
            return self._by_names(rng.choice(rows, 2, replace=False).tolist() if len(rows) > 1 else [])
        where = " AND ".join(clause.sql for clause in clauses)
        text = f"the {wording.noun_phrase(self.nouns, clauses)}"
        return RowGroup(rows, where, text, topics_of(clauses), tuple(clauses))

    def are_many(self, clauses: Sequence[RowCondition]) -> bool:
        """Return whether conditions hold for works of no person: no table lists all films of 1961."""
        return self.noun in WORKS and not any(clause.column.by or is_person(clause.column.noun) for clause in clauses)

    def topics(self, rows: Sequence[int]) -> tuple[str, ...]:
        """Return the names of rows as cells."""
        return tuple(self.key.cells[row] for row in rows)

    def some(self, count: int, rng: np.random.Generator, fit: Callable[[int], bool] = lambda _: True) -> list[int]:
        """Return ``count`` random rows that can be named and fit, or none if there are fewer."""
        rows = [row for row in self.rows if fit(row)]
        return rng.choice(rows, count, replace=False).tolist() if len(rows) >= count else []

    def _by_names(self, rows: list[int]) -> RowGroup | None:
        return RowGroup(rows, self.named(rows), self.names(rows), self.topics(rows)) if rows else None

    def has_value(self, column: WebColumn, row: int) -> bool:
        """Return whether the cell of a row has information, and one value where its header is a singular."""
        cell = column.cells[row]
        if cell in column.guessable:
            return False
        if self.table.node_type and ", " in cell and not column.is_plural and column.kind in (NAME, CATEGORY, TEXT):
            return False  # the capital of a country that has three
        return cell.strip().casefold() not in wording.EMPTY and len(cell) <= 2 * _MAX_KEY and "\n" not in cell

    def clauses(self, row: int) -> list[RowCondition]:
        """Return the conditions that a row meets."""
        equalities = [equal(column, row, self.noun) for column in self.table.columns if column is not self.key]
        several = [clause for column in self.numeric for clause in amounts(column, row)]
        return [clause for clause in (*equalities, *several) if clause is not None]

    def conditions(
        self, counts: Collection[int], rng: np.random.Generator, size: int
    ) -> tuple[list[RowCondition], list[int]] | None:
        """Return ``size`` conditions on different columns that so many rows meet; each leaves out some rows."""
        row = int(rng.integers(len(self.table.rows)))
        clauses = [c for c in self.clauses(row) if min(counts) <= c.mask.sum() < len(self.table.rows)]
        if not clauses:
            return None
        order = [clauses[i] for i in rng.permutation(len(clauses)).tolist()]
        if size == 1:
            fit = [[clause] for clause in order if clause.mask.sum() in counts]
        else:
            fit = [
                [a, b]
                for i, a in enumerate(order[:12])
                for b in order[i + 1 : 16]
                if a.column is not b.column
                and not wording.share_preposition(a, b)
                and (both := (a.mask & b.mask).sum()) in counts
                and min(a.mask.sum(), b.mask.sum()) > both
            ]
        if not fit:
            return None
        fit = [some for some in fit if _are_known(some)]
        if not fit:
            return None
        chosen = sorted(fit[0], key=lambda clause: (clause.column.is_numeric, clause.column.position))
        rows = np.flatnonzero(np.logical_and.reduce([clause.mask for clause in chosen])).tolist()
        return chosen, rows


def _are_known(clauses: Sequence[RowCondition]) -> bool:
    """Return whether no row that meets all conditions but one lacks the value of that one."""
    masks = [clause.mask for clause in clauses]
    return not any(
        (np.logical_and.reduce([*masks[:at], *masks[at + 1 :]]) & (clause.column.array == "")).any()
        for at, clause in enumerate(clauses)
        if len(clauses) > 1
    )


def topics_of(clauses: Sequence[RowCondition]) -> tuple[str, ...]:
    """Return the cells that conditions name."""
    return tuple(value for clause in clauses for value in clause.values)
