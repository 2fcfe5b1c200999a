"""Positive rows of a question over a table, found without a model: by the cells that the question names.

The question is read as a query with one condition for each cell that it names (``Circuit = 'Jerez' AND Round = 'R1'``).
If exactly one set of rows comes out whose cells in one column are the answers, these rows are the positive units, and
the query proves them: it can be run on the units alone. Everything else is dropped with a reason.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kbkit.benchmarks.ska.published import rules
from kbkit.benchmarks.ska.published.words import WORDS, words
from kbkit.benchmarks.ska.tables import fit
from kbkit.benchmarks.ska.tables.data import TableData
from kbkit.measures.lists import normalize
from kbkit.schema import literal, quote

NOTHING_NAMED = "the question names no cell that distinguishes rows"
AMBIGUOUS = "several sets of rows give the answer"
NO_COLUMN = "the question does not name the column of the answer"
UNEXPLAINED = "the question has conditions that no cell explains"
DIFFERENT = "the rows that the question names give other answers"
_MAX_WORDS = 10
_MAX_CHOICES = 64
_MAX_UNEXPLAINED = 1
_MIN_COUNT = 2
_MIN_STEM, _MAX_ENDING = 5, 3
"""Letters that words of one stem share, and by which their lengths may differ."""

_COUNTED = re.compile(r"\b(how many|number of|amount of|count of)\b")
_TOTAL = re.compile(r"\b(in total|total(?= (number|amount|count)\b))", re.IGNORECASE)
"""Without meaning where one row is meant: *the total number of helipads at Hama*."""


class Named(NamedTuple):
    """Cells that a part of the question names: words ``start`` to ``end``, and the rows by column."""

    start: int
    end: int
    rows: dict[int, frozenset[int]]
    whole: frozenset[int]


@dataclass(frozen=True)
class FoundRows:
    """The positive rows of a question, by number; the answers as the cells have them; and the query."""

    rows: list[int]
    answers: list[str]
    sql: str
    topics: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Grid:
    """The words of the header and the cells of a ``table``."""

    table: TableData

    @cached_property
    def words(self) -> list[list[tuple[str, ...]]]:
        """The words of each cell, by row."""
        return [[words(cell) for cell in row] for row in self.table.rows]

    @cached_property
    def names(self) -> list[tuple[str, ...]]:
        """The words of the header."""
        return [words(name) for name in self.table.header]

    @cached_property
    def values(self) -> list[list[str]]:
        """The cells in normal form, by row."""
        return [[normalize(cell) for cell in row] for row in self.table.rows]

    @cached_property
    def spans(self) -> dict[tuple[str, ...], dict[int, set[int]]]:
        """The rows by column of all sequences of words in cells."""
        spans: dict[tuple[str, ...], dict[int, set[int]]] = {}
        for number, row in enumerate(self.words):
            for column, cell in enumerate(row):
                for start, end in _ranges(len(cell)):
                    spans.setdefault(cell[start:end], {}).setdefault(column, set()).add(number)
        return spans


def _ranges(count: int) -> Iterator[tuple[int, int]]:
    for start in range(min(count, 40)):
        for end in range(start + 1, min(count, start + _MAX_WORDS) + 1):
            yield start, end


@dataclass(frozen=True)
class _Asked:
    """A question over a table: its words, the cells that it names, and the words beside these."""

    text: str
    words: tuple[str, ...]
    grid: Grid

    @cached_property
    def named(self) -> list[Named]:
        return named_cells(self.words, self.grid)

    @cached_property
    def rest(self) -> list[str]:
        inside = {i for mention in self.named for i in range(mention.start, mention.end)}
        return [word for i, word in enumerate(self.words) if i not in inside]

    @cached_property
    def readings(self) -> list[tuple[tuple[int, ...], frozenset[int]]]:
        """The columns that the named cells may be in, each with the rows that have them all."""
        columns = itertools.product(*(_columns(mention, self.words, self.grid) for mention in self.named))
        return [
            (choice, frozenset.intersection(*(mention.rows[c] for mention, c in zip(self.named, choice, strict=True))))
            for choice in (itertools.islice(columns, _MAX_CHOICES) if self.named else ())
        ]

    def sums_up(self, rows: Iterable[int]) -> bool:
        """Return whether one of the rows sums up the others."""
        return any(fit.is_summary(self.grid.table.rows[row]) for row in rows)


def find(question: str, answers: Sequence[str], grid: Grid) -> FoundRows | str:
    """Return the positive rows of a question, or the reason why they are not known.

    Questions for the number of rows that the question's cells select have these rows.
    """
    is_total = bool(_TOTAL.search(question))
    question = _TOTAL.sub(" ", question)
    asked = _Asked(question, words(question), grid)
    wanted = {normalize(answer) for answer in answers} - {""}
    if counted := _count(asked, sorted(wanted)):
        return counted
    columns = [c for c in range(len(grid.table.header)) if wanted <= {row[c] for row in grid.values}]
    if not wanted or not columns:
        is_computed = bool(rules.words_of_question(asked.words, question))
        return rules.ARITHMETIC if is_computed else rules.NO_ANSWER
    return rules.leaked(question, answers) or _look_up(asked, wanted, columns, is_total=is_total)


def _look_up(asked: _Asked, wanted: set[str], columns: Sequence[int], *, is_total: bool) -> FoundRows | str:
    """Return the rows that a question names, if their cells in one column are the answers."""
    grid = asked.grid
    if not asked.named:
        return rules.words_of_question(asked.words, asked.text) or NOTHING_NAMED
    reasons: list[str] = []
    options: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {}
    for choice, rows in asked.readings:
        if asked.sums_up(rows) or (is_total and len(rows) > 1):
            reasons.append(rules.ARITHMETIC)
            continue
        for column in columns:
            if column in choice or {grid.values[row][column] for row in rows} != wanted:
                continue
            if reason := _fault(asked, column):
                reasons.append(reason)
            else:
                options.setdefault(rows, (column, choice))
    if len(options) > 1:
        return AMBIGUOUS
    if not options:
        return reasons[0] if reasons else rules.words_of_question(asked.rest, asked.text) or DIFFERENT
    [(rows, (column, choice))] = options.items()
    chosen = sorted(rows)
    where, topics = _where(asked, choice)
    sql = f"SELECT DISTINCT {quote(grid.table.header[column])} FROM table_rows WHERE {where}"
    return FoundRows(chosen, list(dict.fromkeys(grid.table.rows[row][column] for row in chosen)), sql, topics)


def _count(asked: _Asked, wanted: Sequence[str]) -> FoundRows | None:
    """Return the rows that a question counts, if every reading gives the same rows, and their number is the answer.

    A number below 2 is too often a coincidence.
    """
    number = int(wanted[0]) if len(wanted) == 1 and re.fullmatch("[1-9][0-9]{0,5}", wanted[0]) else 0
    if number < _MIN_COUNT or not _COUNTED.search(asked.text.casefold()):
        return None
    options = {rows for _, rows in asked.readings}
    if len(options) != 1 or len(next(iter(options))) != number or asked.sums_up(next(iter(options))):
        return None
    choice, rows = asked.readings[0]
    rest = [word for word in asked.rest if word not in WORDS.counting]
    general = WORDS.stop | (WORDS.general - WORDS.outcomes) | set(words(asked.grid.table.title))
    used = {word for c in choice for word in asked.grid.names[c]}
    if rules.words_of_question(rest, "") or any(word not in general and not _like(word, used) for word in rest):
        return None
    if _repeats(asked, rows):
        return None
    where, topics = _where(asked, choice)
    sql = f"SELECT count(*)::VARCHAR FROM table_rows WHERE {where} HAVING count(*) > 0"
    return FoundRows(sorted(rows), [str(number)], sql, topics)


def _repeats(asked: _Asked, rows: Iterable[int]) -> bool:
    """Return whether things are counted that occur in several of the rows: *how many players*, with a player twice."""
    match = _COUNTED.search(asked.text.casefold())
    counted = words(asked.text[match.end() :])[:2] if match else ()
    columns = [c for c, name in enumerate(asked.grid.names) if any(_like(word, set(name)) for word in counted)]
    values = [[asked.grid.values[row][column] for row in rows] for column in columns]
    return any(len(set(of_column)) < len(of_column) for of_column in values)


def _where(asked: _Asked, choice: Sequence[int]) -> tuple[str, list[str]]:
    """Return the conditions of a reading in SQL, and the cells that it names."""
    conditions = []
    topics: list[str] = []
    for mention, c in zip(asked.named, choice, strict=True):
        cells = list(dict.fromkeys(asked.grid.table.rows[row][c] for row in sorted(mention.rows[c])))
        topics += cells
        conditions.append(f"{quote(asked.grid.table.header[c])} IN ({', '.join(map(literal, cells))})")
    return " AND ".join(dict.fromkeys(conditions)), list(dict.fromkeys(topics))


# -- cells in the question --------------------------------------------------------------------------------------------


def content_words(question: str, grid: Grid) -> set[str]:
    """Return the words of a question that are neither stop words, nor general ones, nor in the header."""
    headers = {word for name in grid.names for word in name}
    return {word for word in words(question) if word not in WORDS.stop | WORDS.general and not _like(word, headers)}


def named_cells(asked: tuple[str, ...], grid: Grid) -> list[Named]:
    """Return the longest parts of the question that are in cells, from left to right, without overlaps."""
    names: list[Named] = []
    for start, end in sorted(_ranges(len(asked)), key=lambda span: (span[0] - span[1], span[0])):
        part = asked[start:end]
        by_column = grid.spans.get(part)
        if by_column is None or any(start < mention.end and mention.start < end for mention in names):
            continue
        whole = frozenset(c for c, rows in by_column.items() if all(grid.words[r][c] == part for r in rows))
        has_whole = frozenset(c for c, rows in by_column.items() if any(grid.words[r][c] == part for r in rows))
        if not _identifies(part, has_whole, grid):
            continue
        rows = {
            c: frozenset(r for r in rows if grid.words[r][c] == part) if c in has_whole else frozenset(rows)
            for c, rows in by_column.items()
            if _fits(part, c, c in has_whole, rows, grid)
        }
        rows = {c: r for c, r in rows.items() if len(r) < len(grid.table.rows)}
        if rows:
            names.append(Named(start, end, rows, whole))
    return sorted(names)


def _identifies(part: tuple[str, ...], whole: frozenset[int], grid: Grid) -> bool:
    """Return whether words can name a cell: not only stop words, words of headers, or general ones."""
    if all(word in WORDS.stop or (len(word) == 1 and not word.isdigit()) for word in part):
        return False
    headers = {word for name in grid.names for word in name}
    return bool(whole) or not all(word in WORDS.stop | WORDS.general | headers for word in part)


def _fits(part: tuple[str, ...], column: int, is_whole: bool, rows: set[int], grid: Grid) -> bool:
    """Return whether words may be a part of a cell: numbers only if they are years in longer texts."""
    if is_whole:
        return True
    if all(word.isdigit() for word in part):
        return len(part) == 1 and len(part[0]) == 4 and not any(_is_number(grid.table.rows[r][column]) for r in rows)
    return True


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[-+$£€]?[\d.,:]+%?", cell.strip()))


def _columns(mention: Named, asked: Sequence[str], grid: Grid) -> list[int]:
    """Return the columns that words may belong to: those whose header the question has, else those of whole cells."""
    near = {*asked[max(0, mention.start - 3) : mention.start], *asked[mention.end : mention.end + 3]}
    headed = [c for c in mention.rows if set(grid.names[c]) & near - WORDS.stop]
    whole = [c for c in mention.rows if c in mention.whole]
    return headed or whole or list(mention.rows)


# -- the column of the answer -----------------------------------------------------------------------------------------


def _fault(asked: _Asked, column: int) -> str:
    """Return why a reading of the question with the answers in ``column`` is rejected, or ""."""
    name = asked.grid.names[column]
    if reason := rules.words_of_question(asked.rest, asked.text, name):
        return reason
    if not _asks_for(asked.text, asked.rest, name):
        return NO_COLUMN
    known = WORDS.stop | WORDS.general
    explained = {word for header in asked.grid.names for word in header} | set(words(asked.grid.table.title))
    unexplained = [word for word in asked.rest if word not in known and not _like(word, explained)]
    return UNEXPLAINED if len(unexplained) > _MAX_UNEXPLAINED else ""


def _asks_for(question: str, rest: Sequence[str], name: Sequence[str]) -> bool:
    """Return whether the question asks for a column: by its header, or by who, when and where."""
    own = {word for word in name if word not in WORDS.stop}
    if any(_like(word, own) for word in rest):
        return True
    if any(own & WORDS.headers.get(word, frozenset()) for word in asked_words(question)):
        return True
    how = re.search(r"\bhow (\w+)", question.casefold())
    return bool(how and own & WORDS.how.get(how[1], frozenset()))


def asked_words(question: str) -> list[str]:
    """Return the words for what a question asks: its first ones, up to a verb."""
    asked = list(words(question))
    ends = [i for i, word in enumerate(asked) if i and word in WORDS.verbs]
    return asked[: ends[0]] if ends and ends[0] < 6 else asked[:4]


def _like(word: str, others: set[str] | frozenset[str]) -> bool:
    """Return whether a word is among others, but for its ending."""
    return word in others or any(_same_stem(word, other) for other in others)


def _same_stem(one: str, other: str) -> bool:
    if min(len(one), len(other)) < _MIN_STEM - 1:
        return False
    return other in (one[:-1], f"{one}{other[-1]}", f"{one[:-3]}y") or (
        one[:_MIN_STEM] == other[:_MIN_STEM] and abs(len(one) - len(other)) <= _MAX_ENDING
    )
