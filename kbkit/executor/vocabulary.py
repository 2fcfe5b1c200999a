"""The data that completion needs from an open KB, and functions that look up names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kbkit.display import render
from kbkit.executor import lookups
from kbkit.schema import Relation, Schema
from kbkit.stores import sparql_formats
from kbkit.stores.table_schema import RELATION_COLUMNS, TABLES, TYPE_COLUMNS, Column

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

T = TypeVar("T")

LAST = "_"
"""The name of the last result."""
FORMATS = (*(name for name in render.FORMATS if name != "parquet"), *sparql_formats.NAMES)
"""Formats that can be set for all results of a prompt."""


class Argument(StrEnum):
    """The kind of an argument of a dot-command."""

    NONE = "none"
    NODE = "node"
    EXPRESSION = "expression"
    STATEMENT = "statement"
    QUESTION = "question"
    TYPE_OR_RELATION = "type_or_relation"
    FILE = "file"
    KB = "kb"
    LANGUAGE = "language"
    FORMAT = "format"
    SWITCH = "switch"
    NUMBER = "number"
    QUERY = "query"
    TEMPLATE = "template"
    SET = "set"
    TOPIC = "topic"
    COMMAND = "command"
    RELATION = "relation"
    ALGORITHM = "algorithm"


@dataclass(frozen=True)
class CommandWords:
    """A dot-command without its dot, the kinds of its arguments, and its help."""

    name: str
    arguments: tuple[Argument, ...] = ()
    help: str = ""
    aliases: tuple[str, ...] = ()


class VocabularyEntry(NamedTuple):
    """A name, a line of help, and for a set the type of its nodes."""

    name: str
    help: str = ""
    type: str | None = None


class NamedNode(NamedTuple):
    """A node: its name, primary type and key; ``alias`` is the alias that matched instead of the name."""

    name: str
    type: str
    key: str
    alias: str = ""


Names = Callable[[str, str | None, int], Sequence[NamedNode]]
"""(typed text, type or None, limit) -> nodes, the most likely first."""
Words = Callable[[], Sequence[VocabularyEntry]]
Columns = Sequence[tuple[str, str]]
"""Names and types of columns."""


def _none(*_: object) -> tuple[()]:
    return ()


def _columns(declared: Sequence[Column]) -> Columns:
    return [(column.name, column.result_type) for column in declared]


_TABLES = {name: _columns(declared) for name, declared in TABLES.items()}
"""The tables of every KB."""


@dataclass(frozen=True)
class Vocabulary:
    """The names that can be typed in a KB. Every function is fast, and returns nothing if a store is missing."""

    schema: Schema
    commands: Mapping[str, CommandWords] = field(default_factory=dict)
    names: Names = _none
    keys: Names = _none
    sets: Words = _none
    queries: Words = _none
    templates: Words = _none
    topics: Words = _none
    last_columns: Callable[[], Columns] = _none
    extra_columns: Callable[[str], Columns] = _none
    values: Callable[[str, str, str, int], Sequence[str]] = _none
    """(type, attribute, typed text, limit) -> values of a text attribute"""
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def cached(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, called once per name."""
        if name not in self._cache:
            self._cache[name] = make()
        result: T = self._cache[name]
        return result

    @classmethod
    def of(
        cls,
        kb: KnowledgeBase,
        commands: Mapping[str, CommandWords] | None = None,
        last_columns: Callable[[], Columns] = _none,
    ) -> Vocabulary:
        """Return the vocabulary of an open KB; its stores open at the first lookup.

        ``last_columns`` returns the names and types of the last result's columns, nothing if there is none.
        """
        found = lookups.Lookups(kb)
        return cls(
            schema=kb.schema,
            commands=commands or {},
            names=lambda *query: [NamedNode(*row) for row in found.names(*query)],
            keys=lambda *query: [NamedNode(*row) for row in found.keys(*query)],
            values=found.values,
            sets=lambda: [VocabularyEntry(*row) for row in found.sets()],
            queries=lambda: [VocabularyEntry(*row) for row in found.queries()],
            templates=lambda: [VocabularyEntry(*row) for row in found.templates()],
            topics=lambda: [VocabularyEntry(*row) for row in found.topics()],
            last_columns=last_columns,
            extra_columns=found.columns,
        )

    # -- tables ---------------------------------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> dict[str, str]:
        """SQL names of tables and views, with a line about each."""
        result = {t.table: f"type, {t.members:,} nodes" for t in self.schema.node_types}
        result |= {r.table: f"relation, {r.edges:,} edges" for r in self.schema.relations}
        return result | dict.fromkeys(_TABLES, "table") | dict.fromkeys(self.schema.extra_tables, "table of the source")

    @cached_property
    def _owners(self) -> dict[str, tuple[str, str]]:
        """Case-folded SQL name -> (kind, name) of its type or relation."""
        result = {t.table.casefold(): ("type", t.name) for t in self.schema.node_types}
        return result | {r.table.casefold(): ("relation", r.name) for r in self.schema.relations}

    def tables(self) -> Sequence[tuple[str, str]]:
        """Return SQL names of all tables and views, including the last result, with a line about each."""
        last = [(LAST, "the last result")] if self.last_columns() else []
        return [*last, *self._tables.items()]

    def type_of_table(self, table: str) -> str | None:
        """Return the node type of a table."""
        kind, name = self._owners.get(table.casefold(), ("", ""))
        return name if kind == "type" else None

    def columns(self, table: str) -> Columns:
        """Return names and types of a table's columns; none for an unknown table."""
        folded = table.casefold()
        if folded == LAST:
            return self.last_columns()
        kind, name = self._owners.get(folded, ("", ""))
        if kind:
            owner = self.schema.type(name) if kind == "type" else self.schema.relation(name)
            return [
                *_columns(TYPE_COLUMNS if kind == "type" else RELATION_COLUMNS),
                *((a.name, a.type) for a in owner.attributes),
            ]
        if folded == "edges":
            return [*_TABLES["edges"], *self._edge_attributes.items()]
        extra = next((name for name in self.schema.extra_tables if name.casefold() == folded), None)
        return _TABLES.get(folded, ()) if extra is None else self.extra_columns(extra)

    @cached_property
    def _edge_attributes(self) -> dict[str, str]:
        return {a.name: a.type for r in self.schema.relations for a in r.attributes}

    # -- types and relations by name: the schema's own lookups also search for similar names, which is too slow ------

    @cached_property
    def _folded_types(self) -> dict[str, str]:
        return {t.name.casefold(): t.name for t in self.schema.node_types} | {
            t.name: t.name for t in self.schema.node_types
        }

    @cached_property
    def _folded_relations(self) -> dict[str, Relation]:
        relations = self.schema.relations
        return {r.name.casefold(): r for r in relations} | {r.name: r for r in relations}

    def type(self, name: str) -> str | None:
        """Return the type with this name, in any case, or None."""
        return self._folded_types.get(name) or self._folded_types.get(name.casefold())

    def relation(self, name: str) -> Relation | None:
        """Return the relation with this name, in any case, or None."""
        return self._folded_relations.get(name) or self._folded_relations.get(name.casefold())
