"""An SQL relation under construction: its FROM items, conditions and computed columns, and the variables they bind.

Every column has a name that is unique in the statement, so that expressions stay valid however the relation is nested.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kbkit.sparql.columns.terms import ConstantTerm, SqlValue, as_term

_NAME = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\b([a-z]\d+)\b")


class TermDecoder(Protocol):
    """What turns ids into terms: the part of a source of triples that relations need."""

    def decoding(self, kind: str) -> tuple[str, str, str]:
        """Return a table, its column of ids, and an expression over it for the term of an id of this kind."""

    def constant(self, term: ConstantTerm, kind: str) -> str | None:
        """Return a term as an SQL constant of a representation; None if no value there is this term."""

    def best_values(self, predicate: ConstantTerm, languages: tuple[str, ...], kind: str, subjects: str) -> str | None:
        """Return a query for the texts of a property in the first of the languages that a subject has, as columns
        ``key`` (the subject, of this kind) and ``value`` (internal text); None if there are none.

        ``subjects`` is the query for the subjects.
        """


class ColumnNames:
    """Names of columns, each used once in a statement."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, letter: str = "c") -> str:
        """Return an unused name."""
        return f"{letter}{next(self._numbers)}"


@dataclass
class SqlRows:
    """A relation: ``variables`` maps the names of variables to values, whose columns are those of ``items``.

    ``computed`` are columns over the items, by name. NULL is an unbound variable.
    """

    names: ColumnNames
    decoder: TermDecoder
    items: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    variables: dict[str, SqlValue] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)
    _decoded: dict[tuple[str, str], SqlValue] = field(default_factory=dict)

    # -- growing ------------------------------------------------------------------------------------------------------

    def where(self, condition: str) -> None:
        """Keep the rows that meet a condition."""
        if self._uses_computed(condition):
            self.nest()
        self.conditions.append(condition)

    def compute(self, sql: str) -> str:
        """Return the column of an expression; the same expression is computed once."""
        if sql not in self._known:
            if self._uses_computed(sql):
                self.nest()
            name = self.names.new("x")
            self.computed[name] = sql
            self._known[sql] = name
        return self._known[sql]

    def plain(self, value: SqlValue) -> SqlValue:
        """Return the value as a column or constant, which can be repeated."""
        return value if value.is_plain else SqlValue(self.compute(value.sql), value.kind, value.nullable)

    def nest(self) -> None:
        """Make the relation so far a single item."""
        columns = "".join(f", {sql} AS {name}" for name, sql in self.computed.items())
        self.items = [f"(SELECT *{columns} FROM {self._source()}) {self.names.new('q')}"]
        self.conditions, self.computed = [], {}

    def materialize(self) -> None:
        """Make the relation so far a single item that is computed once."""
        self.nest()
        table = self.names.new("m")
        self.items = [f"(WITH {table} AS MATERIALIZED (FROM {self.items[0]}) FROM {table}) {self.names.new('q')}"]

    def _source(self) -> str:
        items = ", ".join(self.items) or f"(SELECT 0 AS {self.names.new('u')}) {self.names.new('q')}"
        return items + (f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "")

    def _uses_computed(self, sql: str) -> bool:
        return bool(self.computed) and any(name in self.computed for name in used_names(sql))

    # -- terms --------------------------------------------------------------------------------------------------------

    def decoded(self, value: SqlValue) -> SqlValue:
        """Return a value that is neither ``id`` nor ``node``, whose IRIs or internal texts are joined."""
        if value.kind not in ("id", "node"):
            return value
        key = (value.kind, value.sql)
        if key not in self._decoded:
            table, column, term = self.decoder.decoding(value.kind)
            ident, text = self.names.new(), self.names.new()
            leaf = f"(SELECT {column} AS {ident}, {term} AS {text} FROM {table}) {self.names.new('q')}"
            if self.computed:
                self.nest()
            if value.nullable:
                if len(self.items) != 1 or self.conditions:
                    self.nest()
                self.items = [f"{self.items[0]} LEFT JOIN {leaf} ON {ident} = {value.sql}"]
            else:
                self.items.append(leaf)
                self.conditions.append(f"{ident} = {value.sql}")
            self._decoded[key] = SqlValue(text, "iri" if value.kind == "node" else "term", value.nullable)
        return self._decoded[key]

    def converted(self, value: SqlValue, kind: str) -> SqlValue:
        """Return the value in a representation that :func:`common_kind` chose."""
        if value.kind == kind:
            return value
        value = self.decoded(value)
        return value if value.kind == kind else as_term(self.plain(value))

    def best_values(self, value: SqlValue, predicate: ConstantTerm, languages: tuple[str, ...]) -> str:
        """Return a column with the texts of a property of a column in the best language, as internal text or NULL."""
        key = f"\0{value.sql} {predicate.text} {languages}"
        if key not in self._known:
            self.nest()
            table, column, text = self.names.new("m"), self.names.new(), self.names.new()
            subjects = f"SELECT {value.sql} FROM {table} WHERE {value.sql} IS NOT NULL"
            texts = self.decoder.best_values(predicate, languages, value.kind, subjects)
            if texts is None:
                return "NULL::VARCHAR"
            best = f"(SELECT key AS {column}, value AS {text} FROM ({texts})) {self.names.new('q')}"
            self.items = [
                f"(WITH {table} AS MATERIALIZED (FROM {self.items[0]})"
                f" FROM {table} LEFT JOIN {best} ON {column} = {value.sql}) {self.names.new('q')}"
            ]
            self._known[key] = text
        return self._known[key]

    # -- results ------------------------------------------------------------------------------------------------------

    def select(self, columns: Mapping[str, str], clauses: str = "", *, distinct: bool = False) -> str:
        """Return a SELECT of expressions by name, with further ``clauses``."""
        if self.computed:
            self.nest()
        listed = ", ".join(sql if sql == name else f"{sql} AS {name}" for name, sql in columns.items())
        chosen = listed or f"0 AS {self.names.new()}"
        return f"SELECT {'DISTINCT ' if distinct else ''}{chosen} FROM {self._source()}{clauses}"

    def closed(self, variables: Iterable[str] | None = None, *, distinct: bool = False, clauses: str = "") -> SqlRows:
        """Return the relation as a subquery of these variables (default: all), with new columns."""
        chosen = list(self.variables if variables is None else variables)
        values = {name: self.variables[name] for name in chosen if name in self.variables}
        columns = {self.names.new(): value for value in values.values()}
        text = self.select({name: value.sql for name, value in columns.items()}, clauses, distinct=distinct)
        bound = {
            variable: SqlValue(name, value.kind, value.nullable)
            for variable, (name, value) in zip(values, columns.items(), strict=True)
        }
        return SqlRows(self.names, self.decoder, [f"({text}) {self.names.new('q')}"], [], bound)


def used_names(sql: str) -> Iterator[str]:
    """Yield the names of columns in an expression, outside quotes."""
    return (match[1] for match in _NAME.finditer(sql) if match[1])


def common_kind(kinds: Iterable[str]) -> str:
    """Return a representation that holds values of all these."""
    different = set(kinds)
    if len(different) == 1:
        return different.pop()
    return "iri" if different == {"iri", "node"} else "term"


_DISJOINT = {"node": "iri"}


def may_equal(left: str, right: str) -> bool:
    """Return whether values of two representations may be the same term."""
    kinds = {_DISJOINT.get(left, left), _DISJOINT.get(right, right)}
    return len(kinds) == 1 or bool(kinds & {"term", "id"})


def join(left: SqlRows, right: SqlRows) -> SqlRows:
    """Return the join of two relations: all pairs of rows that agree on the variables that both bind."""
    names = left.names
    pairs = {name: _comparable(left, right, name) for name in left.variables if name in right.variables}
    rows = SqlRows(names, left.decoder, left.items + right.items, left.conditions + right.conditions)
    rows.computed = {**left.computed, **right.computed}
    rows._known = {**left._known, **right._known}
    rows._decoded = {**left._decoded, **right._decoded}
    rows.variables = {**left.variables, **right.variables}
    for name, (one, other) in pairs.items():
        rows.where(agrees(one, other))
        rows.variables[name] = merged(rows, one, other, left.variables[name])
    return rows


def merged(rows: SqlRows, one: SqlValue, other: SqlValue, first: SqlValue) -> SqlValue:
    """Return the value of a variable bound by either of two columns that agree; ``first`` is its value on the left."""
    if not one.nullable:
        return first
    if not other.nullable:
        return other
    return SqlValue(rows.compute(f"coalesce({one.sql}, {other.sql})"), one.kind)


def _comparable(left: SqlRows, right: SqlRows, name: str) -> tuple[SqlValue, SqlValue]:
    """Return the values of a variable on both sides in one representation, as columns."""
    one, other = left.variables[name], right.variables[name]
    never = not may_equal(one.kind, other.kind) and not one.nullable and not other.nullable
    if one.kind == other.kind or never:
        return one, other
    kind = common_kind((one.kind, other.kind))
    return left.plain(left.converted(one, kind)), right.plain(right.converted(other, kind))


def comparable(left: SqlRows, right: SqlRows) -> dict[str, tuple[SqlValue, SqlValue]]:
    """Return the values of each variable of both relations in one representation, and make them theirs."""
    pairs = {name: _comparable(left, right, name) for name in left.variables if name in right.variables}
    for name, (one, other) in pairs.items():
        if one.kind == other.kind:
            left.variables[name], right.variables[name] = one, other
    return pairs


def agrees(one: SqlValue, other: SqlValue) -> str:
    """Return the condition that two bindings of a variable are compatible: equal, or one of them unbound."""
    equal = f"{one.sql} = {other.sql}" if may_equal(one.kind, other.kind) else "false"
    missing = [f"{value.sql} IS NULL" for value in (one, other) if value.nullable]
    return f"({' OR '.join([equal, *missing])})" if missing else equal
