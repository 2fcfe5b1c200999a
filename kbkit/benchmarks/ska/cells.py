"""Positive rows of a question over a table, found without a model: by the cells that the question names.

The question is read as a query with one condition for each cell that it names (``Circuit = 'Jerez' AND Round = 'R1'``).
If exactly one set of rows comes out whose cells in one column are the answers, these rows are the positive units, and the
query proves them: it can be run on the units alone. Everything else is dropped with a reason.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kbkit.benchmarks.evidence import folded
from kbkit.benchmarks.ska import rules
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
_COUNTING = frozenset("how many number times time of amount count total list listed different".split())

_STOP = frozenset(
    "a an and are as at be been being but by did do does during for from had has have he her him his how i if in into is it "
    "its me name of on or our give tell she so such that the their them then there these they this those to us was we were what "
    "when where which while who whom whose whos why will with s t would can could list d title titled called named".split()
)
_GENERAL = frozenset(
    "won win wins winning played play plays player players game games match matches team teams year years season date day "
    "month time score scored scores scoring get got received receive take took taken place held hold holds used use made make "
    "makes record recorded show shown shows appear appeared type kind sort value occur occurred happen happened finish "
    "finished finishes compete competed participate participated run ran race raced born serve served go went gone become "
    "became reach reached listed given number numbers amount medal medals award awarded many much long old tall far people person "
    "complete completed only finishing placed led earned earn".split()
)
"""Words that say what a row is about rather than which row is meant."""
_VERBS = frozenset("is are was were do does did has have had can could will would".split())
_WHEN_HEADERS = frozenset("year date season month day time years dates period tenure established founded opened".split())
_WHERE_HEADERS = frozenset(
    "location venue city country place site stadium circuit town state region hometown province district county municipality "
    "ground arena area origin locations court island headquarters".split()
)
_WHO_HEADERS = frozenset(
    "name player driver rider winner athlete artist coach jockey person skater swimmer manager candidate actor actress "
    "president representative author director captain singer runner champion couple cyclist golfer opponent skip incumbent "
    "owner trainer performer producer senator governor mayor member partner wrestler pilot composer builder".split()
)


_COUNTED = re.compile(r"\b(how many|number of|amount of|count of)\b")
_OUTCOMES = frozenset("won win wins winning scored score scores finish finished lost lose loses beat tied born died".split())
"""Words that are conditions where rows are counted."""
_SAME_HEADERS = {
    "when": _WHEN_HEADERS, "where": _WHERE_HEADERS, "who": _WHO_HEADERS, "whom": _WHO_HEADERS, "whose": _WHO_HEADERS,
    "year": frozenset(("season", "date", "years")), "season": frozenset(("year",)), "date": frozenset(("day",)),
    "country": frozenset(("nation", "nationality")), "nation": frozenset(("country", "nationality")),
    "nationality": frozenset(("nation", "country")), "team": frozenset(("club", "opponent")), "club": frozenset(("team",)),
    "ranking": frozenset(("rank", "pos", "position", "place")), "ranked": frozenset(("rank", "pos", "position", "place")),
    "rank": frozenset(("pos", "position", "place")), "place": frozenset(("rank", "pos", "position", "finish")),
    "position": frozenset(("pos", "rank", "place")), "attended": frozenset(("attendance",)),
    "people": frozenset(("attendance", "population")), "song": frozenset(("title", "name", "single")),
    "film": frozenset(("title", "name", "movie")), "movie": frozenset(("title", "film")), "age": frozenset(("born",)),
}  # fmt: skip
"""Words of questions with the words of headers that mean the same."""
_HOW = {
    "long": frozenset("time duration length tenure term years runtime".split()), "old": frozenset(("age",)),
    "tall": frozenset(("height",)), "heavy": frozenset(("weight",)), "far": frozenset(("distance", "round")),
    "much": frozenset("price cost money amount prize earnings salary fee budget gross total revenue".split()),
    "fast": frozenset(("time", "speed")), "high": frozenset(("height", "elevation", "prominence")),
    "large": frozenset(("area", "size", "capacity")), "big": frozenset(("area", "size", "capacity")),
}  # fmt: skip


_TOTAL = re.compile(r"\b(in total|total(?= (number|amount|count)\b))", re.IGNORECASE)
"""Says nothing where one row is meant: *the total number of helipads at Hama*."""


class Named(NamedTuple):
    """Cells that a part of the question names: words ``start`` to ``end``, and the rows by column."""

    start: int
    end: int
    rows: dict[int, frozenset[int]]
    whole: frozenset[int]


@dataclass(frozen=True)
class Found:
    """The positive rows of a question, by number; the answers as the cells have them; and the query."""

    rows: list[int]
    answers: list[str]
    sql: str
    topics: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Grid:
    """A table of text with its id; ``rows`` have as many cells as the header."""

    id: str
    title: str
    header: list[str]
    rows: list[list[str]]

    @cached_property
    def words(self) -> list[list[tuple[str, ...]]]:
        """The words of each cell, by row."""
        return [[words(cell) for cell in row] for row in self.rows]

    @cached_property
    def names(self) -> list[tuple[str, ...]]:
        """The words of the header."""
        return [words(name) for name in self.header]

    @cached_property
    def values(self) -> list[list[str]]:
        """The cells in normal form, by row."""
        return [[normalize(cell) for cell in row] for row in self.rows]

    @cached_property
    def spans(self) -> dict[tuple[str, ...], dict[int, set[int]]]:
        """The rows by column of all sequences of words in cells."""
        found: dict[tuple[str, ...], dict[int, set[int]]] = {}
        for number, row in enumerate(self.words):
            for column, cell in enumerate(row):
                for start, end in _ranges(len(cell)):
                    found.setdefault(cell[start:end], {}).setdefault(column, set()).add(number)
        return found


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents, punctuation and thousands separators."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return tuple(" ".join(folded([text])).split())


def _ranges(count: int) -> Iterator[tuple[int, int]]:
    for start in range(min(count, 40)):
        for end in range(start + 1, min(count, start + _MAX_WORDS) + 1):
            yield start, end


def find(question: str, answers: Sequence[str], grid: Grid, *, counts: bool = True) -> Found | str:
    """Return the positive rows of a question, or the reason why they are not known.

    With ``counts``, questions for the number of rows that the question's cells select have these rows.
    """
    question, is_total = _TOTAL.sub(" ", question), bool(_TOTAL.search(question))
    wanted = {normalize(answer) for answer in answers} - {""}
    columns = [c for c in range(len(grid.header)) if wanted <= {row[c] for row in grid.values}]
    if counts and (counted := _count(question, sorted(wanted), grid)):
        return counted
    if not wanted or not columns:
        return rules.ARITHMETIC if _counts(question) else rules.NO_ANSWER
    if reason := rules.leaked(question, answers):
        return reason
    asked = words(question)
    named = named_cells(asked, grid)
    if not named:
        return rules.words_of_question(asked, question) or NOTHING_NAMED
    header_words = {word for name in grid.names for word in name}
    reasons: list[str] = []
    options: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {}
    for choice in itertools.islice(itertools.product(*(_columns(one, asked, grid) for one in named)), _MAX_CHOICES):
        rows = frozenset.intersection(*(one.rows[c] for one, c in zip(named, choice, strict=True)))
        if any(rules.is_summary(grid.rows[row]) for row in rows) or (is_total and len(rows) > 1):
            reasons.append(rules.ARITHMETIC)
            continue
        for column in columns:
            if column in choice or {grid.values[row][column] for row in rows} != wanted:
                reasons.append(DIFFERENT)
                continue
            if reason := _fault(question, asked, named, grid, column, choice, header_words):
                reasons.append(reason)
            else:
                options.setdefault(rows, (column, choice))
    if len(options) > 1:
        return AMBIGUOUS
    if not options:
        return next((r for r in reasons if r != DIFFERENT), rules.words_of_question(_rest(asked, named), question) or DIFFERENT)
    [(rows, (column, choice))] = options.items()
    return _result(rows, column, choice, named, grid)


def _count(question: str, wanted: Sequence[str], grid: Grid) -> Found | None:
    """Return the rows that a question counts, if exactly one reading gives the answer, which is at least 2."""
    if len(wanted) != 1 or not wanted[0].isdigit() or int(wanted[0]) < _MIN_COUNT or not _COUNTED.search(question.casefold()):
        return None
    asked = words(question)
    named = named_cells(asked, grid)
    found = []
    choices = list(itertools.islice(itertools.product(*(_columns(one, asked, grid) for one in named)), _MAX_CHOICES))
    for choice in choices if named else ():
        rows = frozenset.intersection(*(one.rows[c] for one, c in zip(named, choice, strict=True)))
        if len(rows) == int(wanted[0]) and not any(rules.is_summary(grid.rows[row]) for row in rows):
            found.append((rows, choice))
    if len({rows for rows, _ in found}) != 1 or len(choices) > len(found):
        return None
    [(rows, choice), *_] = found
    rest = [word for word in _rest(asked, named) if word not in _COUNTING]
    used = {word for c in choice for word in grid.names[c]}
    general = _STOP | _GENERAL - _OUTCOMES | set(words(grid.title))
    if rules.words_of_question(rest, "") or any(word not in general and not _like(word, used) for word in rest):
        return None
    return _counted(rows, choice, named, grid)


def _counts(question: str) -> bool:
    return bool(rules.words_of_question(words(question), question))


def _rest(asked: Sequence[str], named: Sequence[Named]) -> list[str]:
    inside = {i for one in named for i in range(one.start, one.end)}
    return [word for i, word in enumerate(asked) if i not in inside]


# -- cells in the question --------------------------------------------------------------------------------------------


def content_words(question: str, grid: Grid) -> set[str]:
    """Return the words of a question that are neither stop words, nor general ones, nor in the header."""
    headers = {word for name in grid.names for word in name}
    return {word for word in words(question) if word not in _STOP | _GENERAL and not _like(word, headers)}


def named_cells(asked: tuple[str, ...], grid: Grid) -> list[Named]:
    """Return the longest parts of the question that are in cells, from left to right, without overlaps."""
    found: list[Named] = []
    for start, end in sorted(_ranges(len(asked)), key=lambda span: (span[0] - span[1], span[0])):
        part = asked[start:end]
        by_column = grid.spans.get(part)
        if by_column is None or any(start < one.end and one.start < end for one in found):
            continue
        whole = frozenset(c for c, rows in by_column.items() if all(grid.words[r][c] == part for r in rows))
        has_whole = frozenset(c for c, rows in by_column.items() if any(grid.words[r][c] == part for r in rows))
        if not _tells(part, has_whole, grid):
            continue
        rows = {
            c: frozenset(r for r in rows if grid.words[r][c] == part) if c in has_whole else frozenset(rows)
            for c, rows in by_column.items()
            if _fits(part, c, c in has_whole, rows, grid)
        }
        rows = {c: r for c, r in rows.items() if len(r) < len(grid.rows)}
        if rows:
            found.append(Named(start, end, rows, whole))
    return sorted(found)


def _tells(part: tuple[str, ...], whole: frozenset[int], grid: Grid) -> bool:
    """Return whether words can name a cell: not only stop words, words of headers, or general ones."""
    if all(word in _STOP or len(word) == 1 and not word.isdigit() for word in part):
        return False
    headers = {word for name in grid.names for word in name}
    return bool(whole) or not all(word in _STOP | _GENERAL | headers for word in part)


def _fits(part: tuple[str, ...], column: int, is_whole: bool, rows: set[int], grid: Grid) -> bool:
    """Return whether words may be a part of a cell: numbers only if they are years in longer texts."""
    if is_whole:
        return True
    if all(word.isdigit() for word in part):
        return len(part) == 1 and len(part[0]) == 4 and not any(_is_number(grid.rows[r][column]) for r in rows)
    return True


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[-+$£€]?[\d.,:]+%?", cell.strip()))


def _columns(one: Named, asked: Sequence[str], grid: Grid) -> list[int]:
    """Return the columns that words may belong to: those whose header the question has, else those of whole cells."""
    near = {*asked[max(0, one.start - 3) : one.start], *asked[one.end : one.end + 3]}
    headed = [c for c in one.rows if set(grid.names[c]) & near - _STOP]
    whole = [c for c in one.rows if c in one.whole]
    return headed or whole or list(one.rows)


# -- the column of the answer -----------------------------------------------------------------------------------------


def _fault(
    question: str,
    asked: tuple[str, ...],
    named: Sequence[Named],
    grid: Grid,
    column: int,
    choice: Sequence[int],
    header_words: set[str],
) -> str:
    """Return why a reading of the question is rejected, or ""."""
    name = grid.names[column]
    rest = _rest(asked, named)
    if reason := rules.words_of_question(rest, question, name):
        return reason
    if not _asks_for(question, rest, name, grid, column):
        return NO_COLUMN
    used = {word for c in choice for word in grid.names[c]} | set(name)
    title = set(words(grid.title))
    unexplained = [
        word for word in rest
        if word not in _STOP and word not in _GENERAL and not _like(word, used | title) and not _like(word, header_words)
    ]  # fmt: skip
    return UNEXPLAINED if len(unexplained) > _MAX_UNEXPLAINED else ""


def _asks_for(question: str, rest: Sequence[str], name: Sequence[str], grid: Grid, column: int) -> bool:
    """Return whether the question asks for a column: by its header, or by who, when and where."""
    own = {word for word in name if word not in _STOP}
    if any(_like(word, own) for word in rest):
        return True
    if any(own & _SAME_HEADERS.get(word, frozenset()) for word in asked_words(question)):
        return True
    how = re.search(r"\bhow (\w+)", question.casefold())
    return bool(how and own & _HOW.get(how[1], frozenset()))


def asked_words(question: str) -> list[str]:
    """Return the words that say what a question asks for: its first ones, up to a verb."""
    asked = list(words(question))
    ends = [i for i, word in enumerate(asked) if i and word in _VERBS]
    return asked[: ends[0]] if ends and ends[0] < 6 else asked[:4]


def _like(word: str, others: set[str]) -> bool:
    """Return whether a word is among others, but for its ending."""
    return word in others or any(
        len(word) > 3 and len(other) > 3 and (word[:-1] == other or word == other[:-1] or word[:5] == other[:5] and abs(len(word) - len(other)) <= 3)
        for other in others
    )


# -- the query --------------------------------------------------------------------------------------------------------


def _result(
    rows: frozenset[int], column: int, choice: Sequence[int], named: Sequence[Named], grid: Grid
) -> Found:
    where, topics = _where(choice, named, grid)
    chosen = sorted(rows)
    answers = list(dict.fromkeys(grid.rows[row][column] for row in chosen))
    sql = f"SELECT DISTINCT {quote(grid.header[column])} FROM table_rows WHERE {where}"
    return Found(chosen, answers, sql, topics)


def _counted(rows: frozenset[int], choice: Sequence[int], named: Sequence[Named], grid: Grid) -> Found:
    where, topics = _where(choice, named, grid)
    sql = f"SELECT count(*)::VARCHAR FROM table_rows WHERE {where} HAVING count(*) > 0"
    return Found(sorted(rows), [str(len(rows))], sql, topics)


def _where(choice: Sequence[int], named: Sequence[Named], grid: Grid) -> tuple[str, list[str]]:
    """Return the conditions of a reading, and the cells that it names."""
    conditions = []
    topics: list[str] = []
    for one, c in zip(named, choice, strict=True):
        cells = list(dict.fromkeys(grid.rows[row][c] for row in sorted(one.rows[c])))
        topics += cells
        conditions.append(f"{quote(grid.header[c])} IN ({', '.join(map(literal, cells))})")
    return " AND ".join(dict.fromkeys(conditions)), list(dict.fromkeys(topics))
