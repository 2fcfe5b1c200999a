"""The context of the cursor in an SQL statement: the clause, and the tables of the query around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kbkit.executor.lexers import sql_tokens

_CLAUSES = {
    **{name: name for name in ("select", "from", "join", "on", "using", "where", "having", "qualify", "limit", "with")},
    **{"group": "group", "order": "order", "offset": "limit", "describe": "describe", "summarize": "describe"},
    **{"desc": "describe", "explain": "explain", "pivot": "from", "unpivot": "from", "set": "set"},
}
_WORDS = frozenset(
    """select from join on using where group by having qualify order limit offset with recursive as union all except
    intersect left right full inner outer cross semi anti natural asof positional and or not in is null like ilike
    between case when then else end exists distinct asc desc nulls first last over partition filter values sample
    explain analyze describe summarize pivot unpivot show tables materialized any some similar to glob""".split()  # noqa: SIM905
)
"""Words that are neither a table's alias nor a value."""
_VALUES = {"null", "end", "all", "asc", "desc", "first", "last", "tables"}
_NO_OPERAND = frozenset("+-/%<>=!|&^~,(") | {"<=", ">=", "<>", "!=", "||", "::", "->", "->>"}


_KINDS = {"open_comment": "comment", "parameter": "word"}


class SqlPart(NamedTuple):
    """A token, or a group in parentheses with its ``inner`` parts."""

    kind: str
    text: str
    start: int
    inner: tuple[SqlPart, ...] = ()

    @property
    def word(self) -> str:
        """The text in lower case if it is a word, else nothing."""
        return self.text.casefold() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """The identifier, without quotes; nothing for other tokens."""
        if self.kind in ("quoted", "open_quoted"):
            return self.text[1:-1].replace('""', '"') if self.kind == "quoted" else self.text[1:].replace('""', '"')
        return self.text if self.kind == "word" else ""


class SqlSource(NamedTuple):
    """A table of a query with its alias; ``columns`` are set for a subquery."""

    alias: str
    table: str
    columns: tuple[str, ...] = ()


@dataclass
class SqlScope:
    """A query or a group in parentheses: its parts before and after the cursor."""

    before: list[SqlPart] = field(default_factory=list)
    after: list[SqlPart] = field(default_factory=list)

    @property
    def parts(self) -> list[SqlPart]:
        """All parts."""
        return [*self.before, *self.after]

    @property
    def clause(self) -> str:
        """The clause of the cursor; ``""`` before the first."""
        for i in range(len(self.before) - 1, -1, -1):
            clause = _CLAUSES.get(self.before[i].word, "")
            if clause and not (i and self.before[i - 1].text == "."):
                return "order" if clause == "describe" and i else clause
        return ""


@dataclass
class SqlContext:
    """``frames`` are the queries around the cursor, innermost last; ``typed`` is the current word, from ``start``."""

    frames: list[SqlScope]
    typed: str
    start: int
    kind: str

    @property
    def last(self) -> SqlPart | None:
        """The part before the current word."""
        return self.frames[-1].before[-1] if self.frames[-1].before else None

    @property
    def clause(self) -> str:
        """The clause of the cursor, also inside functions and lists."""
        return next((frame.clause for frame in reversed(self.frames) if frame.clause), "")

    @property
    def awaits_operand(self) -> bool:
        """Whether a value or a table comes next, rather than a keyword after one."""
        last = self.last
        if last is None or last.word in _WORDS - _VALUES:
            return True
        if last.text == "*" and len(before := self.frames[-1].before) > 1:
            return not (before[-2].word in _WORDS or before[-2].text in (",", "."))
        return last.kind == "symbol" and last.text in _NO_OPERAND

    def sources(self) -> list[SqlSource]:
        """Return the tables of the queries around the cursor, the innermost first."""
        own = {name: columns for frame in self.frames for name, columns in _with(frame.parts)}
        found = [source for frame in reversed(self.frames) for source in _sources(frame.parts)]
        return [s._replace(columns=own.get(s.table.casefold(), s.columns)) for s in found]

    def own_tables(self) -> list[str]:
        """Return the names of the statement's own tables (``WITH``)."""
        return [name for frame in self.frames for name, _ in _with(frame.parts)]


def context(text: str, at: int) -> SqlContext:
    """Return the context of position ``at``."""
    stack: list[list[SqlPart]] = [[]]
    starts: list[SqlPart] = []
    for part in _parts(text[:at], 0):
        if part.text == "(" and part.kind == "symbol":
            stack.append([])
            starts.append(part)
        elif part.text == ")" and part.kind == "symbol" and starts:
            inner, opened = stack.pop(), starts.pop()
            stack[-1].append(SqlPart("group", "()", opened.start, tuple(inner)))
        elif part.text == ";" and part.kind == "symbol":
            stack, starts = [[]], []
        else:
            stack[-1].append(part)
    typed, start, kind = "", at, ""
    last = stack[-1][-1] if stack[-1] else None
    if last is not None and (last.kind.startswith("open_") or _ends_here(last, at)):
        typed, start, kind = last.text, last.start, last.kind
        stack[-1].pop()
    frames = [SqlScope([part for part in parts if part.kind != "comment"]) for parts in stack]
    _add_rest(frames, text[at:], kind, at)
    return SqlContext(frames, typed, start, kind)


def _ends_here(part: SqlPart, at: int) -> bool:
    closed = part.kind == "comment" and part.text.startswith("/*") and part.text.endswith("*/")
    cut = part.kind in ("word", "string", "quoted", "number", "comment")
    return cut and not closed and part.start + len(part.text) == at


def _parts(text: str, offset: int) -> Iterator[SqlPart]:
    for kind, word, start in sql_tokens(text):
        if kind != "space":
            yield SqlPart(_KINDS.get(kind, kind), word, start + offset)


def _add_rest(frames: Sequence[SqlScope], rest: str, kind: str, offset: int) -> None:
    """Add the tokens after the cursor to the frames that they belong to."""
    quote = {"open_string": "'", "open_quoted": '"'}.get(kind, "")
    if quote:
        # The rest starts inside the quotes if it has an odd number of them.
        rest = rest.partition(quote)[2] if rest.count(quote) % 2 else rest
    else:
        rest = re.sub(r"\A[^\n]*" if kind == "comment" else r"\A\w+", "", rest)
    level = len(frames) - 1
    inner: list[list[SqlPart]] = [[]]
    for part in _parts(rest, offset):
        plain = part.kind == "symbol"
        if plain and part.text == ";":
            return
        if plain and part.text == "(":
            inner.append([])
        elif plain and part.text == ")" and len(inner) > 1:
            group = SqlPart("group", "()", part.start, tuple(inner.pop()))
            (inner[-1] if len(inner) > 1 else frames[level].after).append(group)
        elif plain and part.text == ")":
            level = max(0, level - 1)
        elif len(inner) > 1:
            inner[-1].append(part)
        elif part.kind != "comment":
            frames[level].after.append(part)


def _with(parts: Sequence[SqlPart]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the tables of ``WITH name AS (...)`` with their columns."""
    for i, part in enumerate(parts[:-2]):
        following = parts[i + 1].word == "as" and parts[i + 2].kind == "group"
        if part.name and following and any(s.word == "with" for s in parts[: i + 1]):
            yield part.name.casefold(), outputs(parts[i + 2].inner)


def _sources(parts: Sequence[SqlPart]) -> Iterator[SqlSource]:
    """Yield the tables in FROM and JOIN of one query."""
    inside = False  # the list of FROM, where a table follows a comma
    i = 0
    while i < len(parts):
        word = parts[i].word
        if word in ("from", "join", "describe", "summarize") or (inside and parts[i].text == ","):
            inside = True
            source, i = _source(parts, i + 1)
            if source is not None:
                yield source
            continue
        if word in _CLAUSES and word not in ("on", "using"):
            inside = False
        i += 1


def _source(parts: Sequence[SqlPart], i: int) -> tuple[SqlSource | None, int]:
    """Return the table at ``i`` with its alias, and the next position."""
    if i >= len(parts) or not (parts[i].kind == "group" or (parts[i].name and parts[i].word not in _WORDS)):
        return None, i
    table, columns = parts[i].name, outputs(parts[i].inner)
    i += 1
    while i + 1 < len(parts) and parts[i].text == "." and parts[i + 1].name:
        table, i = parts[i + 1].name, i + 2
    alias = table
    if i < len(parts) and parts[i].word == "as":
        i += 1
    if i < len(parts) and parts[i].name and parts[i].word not in _WORDS:
        alias, i = parts[i].name, i + 1
    return SqlSource(alias, table, columns), i


def outputs(parts: Sequence[SqlPart]) -> tuple[str, ...]:
    """Return the names of a query's output columns that are explicit: aliases and plain columns."""
    names = []
    parts = parts[next((i + 1 for i, part in enumerate(parts) if part.word == "select"), len(parts)) :]
    for i, part in enumerate(parts):
        if part.word == "from":
            break
        following = parts[i + 1] if i + 1 < len(parts) else None
        ends = following is None or following.text == "," or following.word == "from"
        if ends and part.name and part.word not in _WORDS:
            names.append(part.name)
    return tuple(names)
