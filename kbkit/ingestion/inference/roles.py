"""What each table becomes: nodes of a type, edges of a relation, or further values of another table's nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kbkit.english.words import is_plural
from kbkit.ingestion.inference import names, repeats
from kbkit.ingestion.inference.dialect import KEYED_TEXT
from kbkit.ingestion.inference.edges import EdgeTable, edges_of
from kbkit.ingestion.inference.keys import is_unique
from kbkit.ingestion.inference.links import Guesses
from kbkit.ingestion.inference.name_columns import name_columns
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.relation_names import relations_of
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.readers.columns import unique

if TYPE_CHECKING:
    import duckdb

_MOST_TYPES = 100
_FEWEST_SHARES, _MOST_SHARED = 3, 3
"""Number of tables that share the description of a type, and of the columns of each."""


@dataclass
class NodeTable:
    """A table whose rows are nodes. Without ``key``, the number of the row is the key.

    ``named`` are the columns of the name, ``values`` the attributes, ``texts`` the prose, ``aliases`` lists of other
    names. ``details`` are tables with further values of these nodes. ``by`` is the column with the type of each row, if
    there is one.
    """

    table: ProfiledTable
    key: tuple[str, ...]
    named: tuple[str, ...] = ()
    links: list[tuple[str, TableLink]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    details: list[DetailTable] = field(default_factory=list)
    by: str = ""


@dataclass
class DetailTable:
    """A table with further values of the nodes that ``link`` refers to.

    ``single``: at most one row of each node; its ``columns`` become attributes and texts. Otherwise there is one
    column, with several values of each node. ``name`` is the attribute or text of a single column. Names that are
    ``taken`` have that of the table before them.
    """

    table: ProfiledTable
    link: TableLink
    columns: list[str]
    single: bool
    name: str
    taken: Collection[str] = ()

    @property
    def texts(self) -> dict[str, str]:
        """The columns of prose, by the names of their fields."""
        return {self._named(name): name for name in self.columns if self.table.columns[name].look == "prose"}

    @property
    def values(self) -> dict[str, str]:
        """The other columns, by the names of their attributes."""
        return {self._named(name): name for name in self.columns if self.table.columns[name].look != "prose"}

    @property
    def is_alias(self) -> bool:
        """Whether the column holds other names of the nodes."""
        return not self.single and names.plain(self.name) in names.ALIASES

    def _named(self, column: str) -> str:
        named = self.name if len(self.columns) == 1 else column
        return f"{self.table.name}_{named}" if named.casefold() in self.taken else named


@dataclass
class TablePlan:
    """What all tables become; ``unclear`` are columns that may refer to several tables."""

    nodes: list[NodeTable] = field(default_factory=list)
    edges: list[EdgeTable] = field(default_factory=list)
    unclear: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, table: str) -> NodeTable | None:
        """Return the nodes of a table."""
        return next((nodes for nodes in self.nodes if nodes.table.name == table), None)


def plan(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[ProfiledTable],
    guesses: Guesses,
    texts: Mapping[str, Collection[str]],
    keyed: Collection[str],
) -> TablePlan:
    """Decide what each table becomes. ``texts`` are columns of prose that the user named; the rows of the tables
    ``keyed``, whose keys or types the user named, are nodes.
    """
    result = TablePlan(unclear=guesses.unclear)
    shares = _shares(tables, guesses)
    referred = {link.target for table in tables for link in guesses.links[table.name] if link.target != table.name}
    types = {table.name: table.type for table in tables}
    rest = []
    for table in tables:
        links, key = guesses.links[table.name], guesses.keys[table.name]
        links = () if table in shares else links
        free = table not in shares and table.name not in referred and table.name not in keyed
        if free and (edges := edges_of(con, table, links, key, texts.get(table.name, ()), types)):
            result.edges.append(edges)
        elif (
            free
            and not table.spec.folder
            and len(links) == 1
            and len(links[0].columns) < len(table.columns)
            and _is_detail(table, key)
        ):
            rest.append((table, links[0]))
        else:
            result.nodes.append(_nodes(table, _named_by_link(table, links), key, texts.get(table.name, ()), types))
    for table, link in rest:
        target = result.of(link.target)
        detail = _detail(con, table, link, target.table) if target and not link.lists else None
        if detail and target:
            known = [*target.values, *(name for one in target.details for name in (*one.values, *one.texts))]
            detail.taken = {name.casefold() for name in known}
            target.details.append(detail)
        else:
            result.nodes.append(_nodes(table, [link], (), texts.get(table.name, ()), types))
    for table, hub in shares.items():
        key, nodes = guesses.keys[table.name], result.of(hub.name)
        others = [name for name in table.columns if name not in key]
        if nodes and nodes.table is not table:
            nodes.details.append(DetailTable(table, TableLink(key, hub.name, key), others, True, others[0]))
    for edges in result.edges:  # a file of texts, which does not say of what
        about = result.of(edges.head.target)
        if about and edges.tail.target == edges.head.target and tuple(about.table.columns) == KEYED_TEXT:
            about.table.type = "node"
    _type_by_columns(result)
    order = {table.name: position for position, table in enumerate(tables)}
    result.nodes.sort(key=lambda nodes: order[nodes.table.name])
    return result


def _named_by_link(table: ProfiledTable, links: Sequence[TableLink]) -> Sequence[TableLink]:
    """Return links without a declared one to new nodes of the table's own type: its values name the rows."""
    declared = {columns for columns, target, _ in table.declared_links if not target}
    own = [link for link in links if link.loose == table.type and link.columns in declared and not link.lists]
    if own and table.named is None:
        table.named = own[0].columns
    return [link for link in links if link not in own]


def _shares(tables: Sequence[ProfiledTable], guesses: Guesses) -> dict[ProfiledTable, ProfiledTable]:
    """Return tables that each say one thing about rows of one type, which none has, with the largest of them.

    ``country-by-population`` and ``country-by-continent`` have the key ``country``, and their names start with it. The
    others have further rows of its type.
    """
    by_key: dict[str, list[ProfiledTable]] = {}
    for table in tables:
        key = guesses.keys[table.name]
        named = len(key) == 1 and not names.is_generic(key[0]) and 2 <= len(table.columns) <= _MOST_SHARED
        if named and names.words(table.name)[: len(names.words(key[0]))] == names.words(key[0]):
            by_key.setdefault(key[0], []).append(table)
    found: dict[ProfiledTable, ProfiledTable] = {}
    for column, some in by_key.items():
        kind = names.types([names.words(column)])[0]
        others = [name for table in some for name in table.columns if name != column]
        if len(some) >= _FEWEST_SHARES and len(set(others)) == len(others) and kind not in {t.type for t in tables}:
            hub = max(some, key=lambda table: table.rows)
            for table in some:
                table.type, table.beyond = kind, None if table is hub else (hub.name, column)
                table.named = ()
                found[table] = hub
    return found


def _is_detail(table: ProfiledTable, key: Sequence[str]) -> bool:
    """Return whether rows have no key, or the only two columns are the key, as for several values of each node."""
    return not key or (len(key) == 2 and set(key) == set(table.columns))


def _type_by_columns(plan: TablePlan) -> None:
    """Take the types of tables whose nodes are joined by edges, or of the only table, from their columns of types.

    A table that is called after its nodes (*packages*) keeps that type: its categories are an attribute.
    """
    for nodes in plan.nodes:
        if nodes.table.spec.table.startswith("$"):
            continue  # records of JSON, whose list has the name of what they are
        if not _is_of_any_nodes(nodes.table.name):
            continue
        among = any(edges.head.target == edges.tail.target == nodes.table.name for edges in plan.edges)
        if among or (len(plan.nodes) == 1 and plan.edges):
            _type_by_column(nodes)


_ANY = frozenset("concept concepts element elements item items object objects record records thing things".split())  # noqa: SIM905
"""Nouns for nodes of any type."""


def _is_of_any_nodes(table: str) -> bool:
    """Return whether a table is called after nodes in general, or by no noun that is a plural: *nodes*, *graph_v2*."""
    words = names.words(table)
    return not words or not (names.NODES | _ANY).isdisjoint(words) or not is_plural(words[-1])


def _type_by_column(nodes: NodeTable) -> None:
    columns = nodes.table.columns
    for name in nodes.values:
        named = names.plain(name) in ("type", "kind", "category", "node type", "class")
        full = columns[name].look == "text" and columns[name].count == nodes.table.rows
        if named and full and columns[name].distinct <= _MOST_TYPES:
            nodes.by = name
            nodes.values.remove(name)
            return


# -- nodes ------------------------------------------------------------------------------------------------------------


def _nodes(
    table: ProfiledTable,
    links: Sequence[TableLink],
    key: tuple[str, ...],
    texts: Collection[str],
    types: Mapping[str, str],
) -> NodeTable:
    columns = table.columns
    linked = {link.columns[0] for link in links if len(link.columns) == 1}
    result = NodeTable(table, key, name_columns(table, key, linked, texts))
    # Links of one column to several tables are one relation.
    ways = [(link.columns, "" if len(link.columns) == 1 else link.target) for link in links]
    first: dict[tuple[tuple[str, ...], str], TableLink] = {}
    for way, link in zip(ways, links, strict=True):
        first.setdefault(way, link)
    named = dict(zip(first, unique(relations_of([*first.values()], table.spec.folder, types)), strict=True))
    result.links = [(named[way], link) for way, link in zip(ways, links, strict=True)]
    # A year beside a team says more than a link.
    ends = {link.columns[0] for link in links if len(link.columns) == 1 and not link.partial}
    for name, column in columns.items():
        if name in ends or (name in key and len(key) == 1) or result.named == (name,):
            continue
        if name in texts or (column.look == "prose" and column.kind == "VARCHAR"):
            result.texts.append(name)
        elif names.plain(name) in names.ALIASES and column.look in ("list", "text"):
            result.aliases.append(name)
        else:
            result.values.append(name)
    return result


def _detail(
    con: duckdb.DuckDBPyConnection, table: ProfiledTable, link: TableLink, target: ProfiledTable
) -> DetailTable | None:
    """Return the values of other nodes that a table holds, or None if its rows are nodes of their own.

    Columns that only repeat those of the other nodes are left out.
    """
    others = [name for name in table.columns if name not in link.columns]
    if link.missing or any(map(names.is_sequence, others)):
        return None
    single = is_unique(con, table, link.columns)
    if not single and len(others) > 1:
        return None
    if single:
        repeated = repeats.copies(con, table, link.columns, target, link.by)
        others = [name for name in others if name not in repeated]
    if not others:
        return None
    plain = names.plain(others[0])
    generic = plain in ("value", "text", "item") or (plain == "name" and not single)
    name = names.identifier("_".join(names.words(table.name))) if generic else others[0]
    return DetailTable(table, link, others, single, name)
