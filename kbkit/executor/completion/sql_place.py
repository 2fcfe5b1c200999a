"""Where in an SQL statement the cursor is: the clause, and the tables that the query around it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_SIGN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>'(?:[^']|'')*'|\$\$.*?\$\$)
    | (?P<open_string>'(?:[^']|'')*\Z|\$\$.*\Z)
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<open_quoted>"(?:[^"]|"")*\Z)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?!\w))
    | (?P<word>[^\W\d]\w*|\$\w+)
    | (?P<space>\s+)
    | (?P<sign><=|>=|<>|!=|\|\||::|->>?|.)""",
    re.X | re.S,
)
_CLAUSES = {
    **{name: name for name in ("select", "from", "join", "on", "using", "where", "having", "qualify", "limit", "with")},
    **{"group": "group", "order": "order", "offset": "limit", "describe": "describe", "summarize": "describe"},
    **{"desc": "describe", "explain": "explain", "pivot": "from", "unpivot": "from", "set": "set"},
}
_WORDS_OF_JOINS = {"left", "right", "full", "inner", "outer", "cross", "semi", "anti", "natural", "asof", "positional"}
_WORDS = frozenset(
    """select from join on using where group by having qualify order limit offset with recursive as union all except
    intersect left right full inner outer cross semi anti natural asof positional and or not in is null like ilike
    between case when then else end exists distinct asc desc nulls first last over partition filter values sample
    explain analyze describe summarize pivot unpivot show tables materialized any some similar to glob""".split()  # noqa: SIM905
)
"""Words that are no alias of a table, nor a whole value."""
_VALUES = {"null", "end", "all", "asc", "desc", "first", "last", "tables"}
_NO_OPERAND = frozenset("+-/%<>=!|&^~,(") | {"<=", ">=", "<>", "!=", "||", "::", "->", "->>"}


class Sign(NamedTuple):
    """A token; ``inner`` are those in a pair of parentheses."""

    kind: str
    text: str
    start: int
    inner: tuple[Sign, ...] = ()

    @property
    def word(self) -> str:
        """A keyword in small letters; nothing for what is none."""
        return self.text.casefold() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """What it names, without quotes."""
        if self.kind in ("quoted", "open_quoted"):
            return self.text[1:-1].replace('""', '"') if self.kind == "quoted" else self.text[1:].replace('""', '"')
        return self.text if self.kind == "word" else ""


class Source(NamedTuple):
    """A table as a query names it; ``columns`` of one that the query itself makes."""

    alias: str
    table: str
    columns: tuple[str, ...] = ()


@dataclass
class Frame:
    """A query, or what stands in parentheses: the tokens before the cursor and those after it."""

    before: list[Sign] = field(default_factory=list)
    after: list[Sign] = field(default_factory=list)

    @property
    def signs(self) -> list[Sign]:
        """All tokens."""
        return [*self.before, *self.after]

    @property
    def clause(self) -> str:
        """The clause that the cursor is in; ``""`` where none has begun."""
        for i in range(len(self.before) - 1, -1, -1):
            clause = _CLAUSES.get(self.before[i].word, "")
            if clause and not (i and self.before[i - 1].text == "."):
                return "order" if clause == "describe" and i else clause
        return ""


@dataclass
class Place:
    """``frames`` are the queries around the cursor, the innermost last; ``typed`` is the cut word, from ``start``."""

    frames: list[Frame]
    typed: str
    start: int
    kind: str

    @property
    def last(self) -> Sign | None:
        """The token before the cut word."""
        return self.frames[-1].before[-1] if self.frames[-1].before else None

    @property
    def clause(self) -> str:
        """The clause that the cursor is in, seen from within functions and lists too."""
        return next((frame.clause for frame in reversed(self.frames) if frame.clause), "")

    @property
    def awaits_operand(self) -> bool:
        """Whether a value or a table is next, and not what follows one."""
        last = self.last
        if last is None or last.word in _WORDS - _VALUES:
            return True
        if last.text == "*" and len(before := self.frames[-1].before) > 1:
            return not (before[-2].word in _WORDS or before[-2].text in (",", "."))
        return last.kind == "sign" and last.text in _NO_OPERAND

    def sources(self) -> list[Source]:
        """The tables that the queries around the cursor name, the innermost first."""
        made = {name: columns for frame in self.frames for name, columns in _with(frame.signs)}
        found = [source for frame in reversed(self.frames) for source in _sources(frame.signs)]
        return [s._replace(columns=made.get(s.table.casefold(), s.columns)) for s in found]

    def made(self) -> list[str]:
        """The names of the statement's own tables (``WITH``)."""
        return [name for frame in self.frames for name, _ in _with(frame.signs)]


def place(text: str, at: int) -> Place:
    """Where the cursor is."""
    stack: list[list[Sign]] = [[]]
    starts: list[Sign] = []
    for sign in _signs(text[:at], 0):
        if sign.text == "(" and sign.kind == "sign":
            stack.append([])
            starts.append(sign)
        elif sign.text == ")" and sign.kind == "sign" and starts:
            inner, opened = stack.pop(), starts.pop()
            stack[-1].append(Sign("group", "()", opened.start, tuple(inner)))
        elif sign.text == ";" and sign.kind == "sign":
            stack, starts = [[]], []
        else:
            stack[-1].append(sign)
    typed, start, kind = "", at, ""
    last = stack[-1][-1] if stack[-1] else None
    if last is not None and (last.kind.startswith("open_") or _ends_here(last, at)):
        typed, start, kind = last.text, last.start, last.kind
        stack[-1].pop()
    frames = [Frame([sign for sign in signs if sign.kind != "comment"]) for signs in stack]
    _read_on(frames, text[at:], kind, at)
    return Place(frames, typed, start, kind)


def _ends_here(sign: Sign, at: int) -> bool:
    closed = sign.kind == "comment" and sign.text.startswith("/*") and sign.text.endswith("*/")
    cut = sign.kind in ("word", "string", "quoted", "number", "comment")
    return cut and not closed and sign.start + len(sign.text) == at


def _signs(text: str, offset: int) -> Iterator[Sign]:
    for found in _SIGN.finditer(text):
        if found.lastgroup != "space":
            yield Sign(found.lastgroup or "", found[0], found.start() + offset)


def _read_on(frames: Sequence[Frame], rest: str, kind: str, offset: int) -> None:
    """Give the frames the tokens after the cursor: its own to each, as they close."""
    quote = {"open_string": "'", "open_quoted": '"'}.get(kind, "")
    if quote:
        # The rest starts within the quotes, if they are closed at all: their number tells.
        rest = rest.partition(quote)[2] if rest.count(quote) % 2 else rest
    else:
        rest = re.sub(r"\A[^\n]*" if kind == "comment" else r"\A\w+", "", rest)
    level = len(frames) - 1
    inner: list[list[Sign]] = [[]]
    for sign in _signs(rest, offset):
        plain = sign.kind == "sign"
        if plain and sign.text == ";":
            return
        if plain and sign.text == "(":
            inner.append([])
        elif plain and sign.text == ")" and len(inner) > 1:
            group = Sign("group", "()", sign.start, tuple(inner.pop()))
            (inner[-1] if len(inner) > 1 else frames[level].after).append(group)
        elif plain and sign.text == ")":
            level = max(0, level - 1)
        elif len(inner) > 1:
            inner[-1].append(sign)
        elif sign.kind != "comment":
            frames[level].after.append(sign)


def _with(signs: Sequence[Sign]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tables that ``WITH name AS (...)`` makes, with their columns."""
    for i, sign in enumerate(signs[:-2]):
        following = signs[i + 1].word == "as" and signs[i + 2].kind == "group"
        if sign.name and following and any(s.word == "with" for s in signs[: i + 1]):
            yield sign.name.casefold(), outputs(signs[i + 2].inner)


def _sources(signs: Sequence[Sign]) -> Iterator[Source]:
    """The tables of one query's FROM and JOIN."""
    inside = False  # FROM's list, where a comma is followed by another table
    i = 0
    while i < len(signs):
        word = signs[i].word
        if word in ("from", "join", "describe", "summarize") or (inside and signs[i].text == ","):
            inside = True
            source, i = _source(signs, i + 1)
            if source is not None:
                yield source
            continue
        if word in _CLAUSES and word not in ("on", "using"):
            inside = False
        i += 1


def _source(signs: Sequence[Sign], i: int) -> tuple[Source | None, int]:
    """The table at ``i`` with its alias, and where to go on."""
    if i >= len(signs) or not (signs[i].kind == "group" or (signs[i].name and signs[i].word not in _WORDS)):
        return None, i
    table, columns = signs[i].name, outputs(signs[i].inner)
    i += 1
    while i + 1 < len(signs) and signs[i].text == "." and signs[i + 1].name:
        table, i = signs[i + 1].name, i + 2
    alias = table
    if i < len(signs) and signs[i].word == "as":
        i += 1
    if i < len(signs) and signs[i].name and signs[i].word not in _WORDS:
        alias, i = signs[i].name, i + 1
    return Source(alias, table, columns), i


def outputs(signs: Sequence[Sign]) -> tuple[str, ...]:
    """Names of the columns that a query gives, as far as they are written: after AS, or columns as they are."""
    names = []
    signs = signs[next((i + 1 for i, sign in enumerate(signs) if sign.word == "select"), len(signs)) :]
    for i, sign in enumerate(signs):
        if sign.word == "from":
            break
        following = signs[i + 1] if i + 1 < len(signs) else None
        ends = following is None or following.text == "," or following.word == "from"
        if ends and sign.name and sign.word not in _WORDS:
            names.append(sign.name)
    return tuple(names)
