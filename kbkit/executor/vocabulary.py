"""What completion knows of an open KB: plain data, and functions that look names up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kbkit.executor import lookups
from kbkit.schema import Relation, Schema
from kbkit.stores.table_schema import RELATION_COLUMNS, TABLES, TYPE_COLUMNS, Column

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

T = TypeVar("T")

LAST = "_"
"""What the last result is called."""


class Argument(StrEnum):
    """What an argument of a dot-command may be."""

    NONE = "none"
    NODE = "node"
    EXPRESSION = "expression"
    STATEMENT = "statement"
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


@dataclass(frozen=True)
class CommandWords:
    """A dot-command without its dot, the kinds of its arguments, and what it does."""

    name: str
    arguments: tuple[Argument, ...] = ()
    help: str = ""


class Word(NamedTuple):
    """Something with a name, a line about it, and, where it is a set, the type of its nodes."""

    name: str
    help: str = ""
    type: str | None = None


class Named(NamedTuple):
    """A node: its name, primary type and key; ``alias`` is the other name that was looked for."""

    name: str
    type: str
    key: str
    alias: str = ""


Names = Callable[[str, str | None, int], Sequence[Named]]
"""(what is typed, type or None, how many) -> nodes, the likeliest first."""
Words = Callable[[], Sequence[Word]]
Columns = Sequence[tuple[str, str]]
"""Names and types of columns."""


def _none(*_: object) -> tuple[()]:
    return ()


def _columns(declared: Sequence[Column]) -> Columns:
    return [(column.name, column.result_type) for column in declared]


_TABLES = {name: _columns(declared) for name, declared in TABLES.items()}
"""The columns of the tables of every KB."""


@dataclass(frozen=True)
class Vocabulary:
    """What may be typed in a KB. Every function is quick, and gives nothing where it has nothing or cannot look."""

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
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once: lists of all that a schema holds."""
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found

    @classmethod
    def of(
        cls,
        kb: KnowledgeBase,
        commands: Mapping[str, CommandWords] | None = None,
        last_columns: Callable[[], Columns] = _none,
    ) -> Vocabulary:
        """The vocabulary of an open KB; its stores open when something is first looked up in them.

        ``last_columns`` gives the names and types of the last result's columns, nothing where there is none.
        """
        found = lookups.Lookups(kb)
        return cls(
            schema=kb.schema,
            commands=commands or {},
            names=lambda *given: [Named(*row) for row in found.names(*given)],
            keys=lambda *given: [Named(*row) for row in found.keys(*given)],
            sets=lambda: [Word(*row) for row in found.sets()],
            queries=lambda: [Word(*row) for row in found.queries()],
            templates=lambda: [Word(*row) for row in found.templates()],
            topics=lambda: [Word(*row) for row in found.topics()],
            last_columns=last_columns,
            extra_columns=found.columns,
        )

    # -- tables ---------------------------------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> dict[str, str]:
        """What there is under each SQL name: a line about it."""
        result = {t.table: f"type, {t.members:,} nodes" for t in self.schema.node_types}
        result |= {r.table: f"relation, {r.edges:,} edges" for r in self.schema.relations}
        return result | dict.fromkeys(_TABLES, "table") | dict.fromkeys(self.schema.extra_tables, "table of the source")

    @cached_property
    def _owners(self) -> dict[str, tuple[str, str]]:
        """Folded SQL name -> (kind, name) of the type or relation that it shows."""
        result = {t.table.casefold(): ("type", t.name) for t in self.schema.node_types}
        return result | {r.table.casefold(): ("relation", r.name) for r in self.schema.relations}

    def tables(self) -> Sequence[tuple[str, str]]:
        """SQL names of all tables and views with a line about each, the last result among them."""
        last = [(LAST, "the last result")] if self.last_columns() else []
        return [*last, *self._tables.items()]

    def type_of_table(self, table: str) -> str | None:
        """The node type that a table shows."""
        kind, name = self._owners.get(table.casefold(), ("", ""))
        return name if kind == "type" else None

    def columns(self, table: str) -> Columns:
        """Names and types of a table's columns; none for a table that there is not."""
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

    # -- types and relations by name; the schema's own look-ups search for likely names too, which takes too long -----

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
        """The type that is called so, in any case; None where there is none."""
        return self._folded_types.get(name) or self._folded_types.get(name.casefold())

    def relation(self, name: str) -> Relation | None:
        """The relation that is called so, in any case; None where there is none."""
        return self._folded_relations.get(name) or self._folded_relations.get(name.casefold())
