"""Questions over the rows of a table as SQL, with the rows that they use: the form *table*."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kbkit import english
from kbkit.benchmarks.ska.tables import wording
from kbkit.benchmarks.ska.tables.columns import CATEGORY, NUMBER, YEAR, WebColumn
from kbkit.benchmarks.ska.tables.conditions import literal
from kbkit.benchmarks.ska.tables.data import TableData
from kbkit.benchmarks.ska.tables.rows import RowGroup, TableRows, topics_of
from kbkit.english.stems import shares_stem
from kbkit.english.types import WORKS
from kbkit.english.verbs import GRADES

_T = TypeVar("_T")
_MAX_ANSWERS = 6
_FEWEST = 3
"""Rows that share something, from which a question asks for an extreme one."""
_COMMON = 0.03
"""Fraction of the rows that must have a value so that questions count named rows that have it."""
_COMPARED = {
    "most": "more", "fewest": "fewer", "largest": "larger", "smallest": "smaller", "highest": "higher",
    "lowest": "lower", "longest": "longer", "shortest": "shorter", "latest": "later", "earliest": "earlier",
    "greatest": "greater",
}  # fmt: skip


@dataclass(frozen=True)
class TableDraft:
    """A question with its query.

    ``uses`` is a condition in SQL that holds for the rows that the query reads, ``rows`` are these rows of the table,
    ``passages`` the positive passages. ``topics`` are the cells that the question names, ``phrases`` the phrases that
    the passages must contain. ``near`` are rows and ``near_passages`` passages that meet a part of the question,
    for the noise.
    """

    kind: str
    question: str
    sql: str
    uses: str
    rows: tuple[int, ...]
    topics: tuple[str, ...]
    passages: tuple[int, ...] = ()
    phrases: tuple[str, ...] = ()
    near: tuple[int, ...] = ()
    near_passages: tuple[int, ...] = ()

    @property
    def meaning(self) -> Hashable:
        """What the question asks, whatever its wording and the order in which it names rows.

        A described row is asked for once: *the country known for the twin peaks of the Pitons*.
        """
        asked = "" if self.passages else self.sql.partition(" FROM ")[0]
        kind = "rows" if self.kind in ("filter", "same") else self.kind  # rooms like X are those with a rustic decor
        return kind, asked, frozenset(self.rows), frozenset(self.passages)


class Drafter(TableRows):
    """Drafts questions over one table that has a key."""

    def __init__(self, table: TableData) -> None:
        super().__init__(table)
        self.makers: dict[str, Callable[[int, np.random.Generator], TableDraft | None]] = {
            "lookup": self.lookup,
            "filter": self.filter,
            "compare": self.compare,
            "highest": self.highest,
            "sum": self.sum,
            "same": self.same,
            "count among": self.count_among,
        }

    # -- one row ------------------------------------------------------------------------------------------------------

    def lookup(self, count: int, rng: np.random.Generator) -> TableDraft | None:
        """Ask for a cell of a named row."""
        if count != 1:
            return None
        columns = [c for c in self.asked if not wording.place_word(c, self.noun)]  # which country Quito is in
        if not columns:
            return None
        column = _one_of(columns, rng)
        rows = self.some(1, rng, lambda row: self.has_value(column, row))
        if not rows or shares_stem(column.cells[rows[0]], [self.key.cells[rows[0]]]):  # which country Bissau is in
            return None
        where = self.named(rows)
        text = wording.lookup(column, self.name(rows[0]), rng, self.noun)
        return TableDraft(
            "lookup", text, f"SELECT {column.sql} FROM table_rows WHERE {where}", where, tuple(rows), self.topics(rows)
        )

    # -- conditions ---------------------------------------------------------------------------------------------------

    def filter(self, count: int, rng: np.random.Generator) -> TableDraft | None:
        """Ask which rows meet one or two conditions."""
        conditions = self.conditions((count,), rng, size=1 + int(rng.random() < 0.7)) if self.noun else None
        if conditions is None or count > _MAX_ANSWERS:
            return None
        clauses, rows = conditions
        if self.are_many(clauses) or not all(self.can_name(self.key.cells[row]) for row in rows):
            return None
        if len(clauses) == 1 and max(clauses[0].column.counts.values()) == 1:
            return None  # countries whose official name is X: another name of one
        where = " AND ".join(clause.sql for clause in clauses)
        is_split = len(clauses) > 1 and bool(clauses[0].after)  # which movies directed by Ann Lee are from 1999?
        verb = wording.predicate(clauses[1:] if is_split else clauses)
        nouns = wording.noun_phrase(self.nouns, clauses[:1]) if is_split else self.nouns
        phrase = wording.noun_phrase(self.nouns, clauses)
        if not verb:
            verb = f"are {phrase}"
            text = wording.drawn("several_np", rng, things=phrase)
        else:
            text = wording.drawn("several", rng, nouns=nouns, predicate=verb, things=phrase)
        sql = f"SELECT {self.key.sql} FROM table_rows WHERE {where}"
        return TableDraft("filter", text, sql, where, tuple(rows), topics_of(clauses))

    def same(self, count: int, rng: np.random.Generator) -> TableDraft | None:
        """Ask which rows share a value, but no place, with a named row."""
        columns = [
            c
            for c in self.asked
            if c.kind == CATEGORY and wording.can_ask(c) and not c.is_plural and " of the " not in c.noun
            and c.noun.rpartition(" ")[2] not in GRADES
            and not wording.place_word(c, self.noun)  # of a country or a range a person would give the name
        ]  # fmt: skip
        if count < 2 or count > _MAX_ANSWERS or not columns or not self.noun:
            return None
        column = _one_of(columns, rng)
        rows = self.some(1, rng, lambda row: self.has_value(column, row) and column.counts[column.cells[row]] == count)
        if not rows:
            return None
        key, cell = self.key.cells[rows[0]], column.cells[rows[0]]
        if any(cell in other.split(", ") for other in column.counts if ", " in other):
            return None  # a mountain in Chile and Argentina is in the same country as one in Argentina
        given = self.named(rows)
        sql = (
            f"SELECT {self.key.sql} FROM table_rows WHERE {column.sql} = (SELECT {column.sql} FROM table_rows"
            f" WHERE {given}) AND {self.key.sql} <> {literal(key)}"
        )
        uses = f"{given} OR {column.sql} = {literal(cell)}"
        used = tuple(row for row, other in enumerate(column.cells) if other == cell)
        text = wording.drawn("same", rng, rows=self.nouns, noun=column.noun, key=self.name(rows[0]))
        return TableDraft("same", text, sql, uses, used, self.topics(rows))

    # -- groups of rows -----------------------------------------------------------------------------------------------

    def _extreme(self, column: WebColumn, group: RowGroup, *, is_high: bool) -> bool:
        """Return whether one of the rows has the largest (smallest) number alone, and not that of all rows: what they
        share would say nothing.
        """
        values = sorted((column.numbers[row] or 0 for row in group.rows), reverse=is_high)
        every = [number for number in column.numbers if number is not None]
        is_idle = bool(group.clauses) and values[0] == (max(every) if is_high else min(every))
        return values[0] != values[1] and not is_idle

    def _numbered(
        self, count: int, rng: np.random.Generator, columns: Sequence[WebColumn]
    ) -> tuple[WebColumn, RowGroup] | None:
        """Return a column of numbers, and a group of rows which have one and do not share it."""
        if count < 2 or not columns:
            return None
        column = _one_of(columns, rng)
        group = self.group(count, rng, lambda row: column.numbers[row] is not None and self.has_value(column, row))
        if group is not None and group.clauses and len(group.rows) < _FEWEST:
            return None  # the least populous country that uses the rand, of two
        if group is None or any(one.kind == NUMBER for one in group.given):
            return None  # the largest country with at most 20,000 inhabitants
        return (column, group) if column not in group.given else None

    def which(self, column: WebColumn, group: RowGroup, *, is_high: bool) -> str:
        """Return *the larger of A and B*, *whichever of A and B has more wins*, or *the longest movie directed by X*.

        "" for conditions and a measure without an adjective.
        """
        is_pair, adjectives = len(group.rows) == 2, wording.adjectives(column, self.noun)
        adjective = adjectives[(1 if is_pair else 3) + (not is_high)] if adjectives else ""
        if group.clauses:
            return f"the {adjective} {wording.noun_phrase(self.noun, group.clauses)}" if adjective else ""
        if adjective:
            return f"the {adjective} of {group.text}"
        if column.kind == YEAR and english.is_participle(column.noun.rpartition(" ")[2]):
            last = ("later" if is_pair else "last") if is_high else "first"
            return f"whichever of {group.text} was {column.noun} {last}"
        most = column.extremes[0 if is_high else 1]
        most = _COMPARED[most] if is_pair else most
        return f"whichever of {group.text} has {'' if most in ('more', 'fewer') else 'the '}{most} {column.noun}"

    def compare(self, count: int, rng: np.random.Generator) -> TableDraft | None:
        """Ask which row of a group has the largest or the smallest number, or of two named rows for a cell of it."""
        numbered = self._numbered(count, rng, self.measured)
        is_high = bool(rng.random() < 0.65)
        if numbered is None or not self._extreme(*numbered, is_high=is_high):
            return None
        column, group = numbered
        which = self.which(column, group, is_high=is_high)
        rows = group.rows
        if group.clauses:
            return self._row_of(column, group, which, rng, is_high=is_high)
        others = [c for c in self.asked if c not in (column, *group.given)]
        columns = [c for c in others if all(self.has_value(c, row) for row in rows)
                   and len({c.cells[row] for row in rows}) > 1 and len(c.counts) > 2]  # fmt: skip
        if not columns or not which:
            return None
        asked = _one_of(columns, rng)
        order = "DESC" if is_high else "ASC"
        sql = f"SELECT {asked.sql} FROM table_rows WHERE {group.guarded}"
        sql += f" ORDER BY {column.number_sql} {order} LIMIT 1"
        text = wording.lookup(asked, which, rng, self.noun)
        return TableDraft("compare", text, sql, group.where, group.uses, group.topics)

    def _row_of(
        self, column: WebColumn, group: RowGroup, which: str, rng: np.random.Generator, *, is_high: bool
    ) -> TableDraft | None:
        """Ask for the row itself: *who directed the shortest movie from Peru* is no plausible question."""
        if not which or column.kind == YEAR or not all(self.can_name(self.key.cells[row]) for row in group.rows):
            return None
        sql = f"SELECT {self.key.sql} FROM table_rows WHERE {group.guarded}"
        sql += f" ORDER BY {column.number_sql} {'DESC' if is_high else 'ASC'} LIMIT 1"
        text = wording.drawn("extreme", rng, which=which)
        return TableDraft("compare", text, sql, group.where, group.uses, group.topics)

    def highest(self, count: int, rng: np.random.Generator) -> TableDraft | None:
        """Ask for the largest or the smallest number of a group of rows."""
        columns = [c for c in self.numeric if wording.can_ask(c) and not c.is_count and c.extremes[0] != "latest"]
        columns = [c for c in columns if count > 2 or (c.unit and wording.adjectives(c, self.noun))]
        numbered = self._numbered(count, rng, columns)
        is_high = bool(rng.random() < 0.65)
        if numbered is None or not self._extreme(*numbered, is_high=is_high):
            return None
        column, group = numbered
        is_pair = len(group.rows) == 2
        most = column.extremes[0 if is_high else 1]
        unit = f" in {column.unit}" if column.unit else ""
        order = "DESC" if is_high else "ASC"
        sql = f"SELECT {column.sql} FROM table_rows WHERE {group.guarded}"
        sql += f" ORDER BY {column.number_sql} {order} LIMIT 1"
        name = "highest_two" if is_pair else "highest"
        adjective, *more = wording.adjectives(column, self.noun) or ("", most, most)
        which = self.which(column, group, is_high=is_high) if adjective and (group.clauses or not is_pair) else ""
        name = "highest_of" if which else name
        text = wording.drawn(name, rng, most=most, noun=column.noun, keys=group.text, unit=unit,
                             adjective=adjective, more=more[not is_high], which=which)  # fmt: skip
        return TableDraft("highest", text, sql, group.where, group.uses, group.topics)

    def sum(self, count: int, rng: np.random.Generator) -> TableDraft | None:
        """Ask for the sum of the numbers of a group of rows, but not of works such as films."""
        if self.noun in WORKS:
            return None
        numbered = self._numbered(count, rng, [c for c in self.measured if c.adds_up]) if count <= 5 else None
        if numbered is None:
            return None
        column, group = numbered
        unit = f" in {column.unit}" if column.unit else ""
        of_people = column.is_count and english.may_be_person(english.singular(column.noun))
        name = "sum_people" if of_people else "sum_count" if column.is_count else "sum"
        text = wording.drawn(name, rng, noun=column.noun, keys=group.text, unit=unit)
        total = column.formatted_sql(group.rows, f"sum({column.number_sql})")
        sql = f"SELECT {total} FROM table_rows WHERE {group.where}"
        sql += f" HAVING count({column.number_sql}) = {len(group.rows)}"
        return TableDraft("sum", text, sql, group.where, group.uses, group.topics)

    def count_among(self, count: int, rng: np.random.Generator) -> TableDraft | None:
        """Ask how many of a group of three or more rows meet a further condition: two or more, but not all."""
        group = self.group(count, rng, size=1) if count > 2 else None
        if group is None:
            return None
        rows = group.rows
        least = max(2, _COMMON * len(self.table.rows))
        fitting = [
            clause
            for clause in self.clauses(rows[0])
            if clause.several
            and clause.column not in group.given
            and clause.mask.sum() > least
            and 1 < clause.mask[rows].sum() < len(rows)
            and all(self.has_value(clause.column, r) for r in rows)
        ]
        if not fitting:
            return None
        clause = _one_of(fitting, rng)
        text = wording.drawn("among", rng, keys=group.text, predicate=clause.several)
        sql = (
            f"SELECT CAST(count(*) FILTER (WHERE {clause.sql}) AS VARCHAR) FROM table_rows WHERE {group.where}"
            f" HAVING count(*) = {len(rows)}"
        )
        return TableDraft("count among", text, sql, group.where, group.uses, (*group.topics, *clause.values))


def _one_of(options: Sequence[_T], rng: np.random.Generator) -> _T:
    return options[int(rng.integers(len(options)))]
