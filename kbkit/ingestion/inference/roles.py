"""What each table becomes: nodes of a type, edges of a relation, or further values of another table's nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.links import Guesses, Link, is_unique, reference
from kbkit.ingestion.inference.profile import Column, Table
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_PREVIEW = 1000
"""Edges that are looked up in the other direction before all are."""
_MOST_TYPES = 100
_MOST_INCOMPLETE = 0.2
"""Maximum fraction of the rows of a link table that lack an end; with more, its rows are nodes."""
_FEW = 1
"""Maximum number of attributes of a link table that has a key of its own; with more, its rows are nodes."""


@dataclass
class Nodes:
    """A table whose rows are nodes. Without ``key``, the number of the row is the key.

    ``named`` are the columns of the name, ``values`` the attributes, ``texts`` the prose, ``aliases`` lists of other
    names. ``details`` are tables with further values of these nodes. ``by`` is the column with the type of each row, if
    there is one.
    """

    table: Table
    key: tuple[str, ...]
    named: tuple[str, ...] = ()
    links: list[tuple[str, Link]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    details: list[Detail] = field(default_factory=list)
    by: str = ""


@dataclass
class Detail:
    """A table with further values of the nodes that ``link`` refers to.

    ``single``: at most one row of each node; its ``columns`` become attributes and texts. Otherwise there is one
    column, with several values of each node. ``name`` is the attribute or text of a single column.
    """

    table: Table
    link: Link
    columns: list[str]
    single: bool
    name: str

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
        return self.name if len(self.columns) == 1 else column


@dataclass
class Edges:
    """A table whose rows are edges, except those ``incomplete`` ones that lack an end, which are left out.

    ``by`` is the column with the relation, if there is one.
    """

    table: Table
    relation: str
    head: Link
    tail: Link
    values: list[str]
    by: str = ""
    symmetric: bool = False
    incomplete: int = 0


@dataclass
class Plan:
    """What all tables become; ``unclear`` are columns that may refer to several tables."""

    nodes: list[Nodes] = field(default_factory=list)
    edges: list[Edges] = field(default_factory=list)
    unclear: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, table: str) -> Nodes | None:
        """Return the nodes of a table."""
        return next((nodes for nodes in self.nodes if nodes.table.name == table), None)


def plan(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[Table],
    guesses: Guesses,
    texts: Mapping[str, Collection[str]],
    keyed: Collection[str],
) -> Plan:
    """Decide what each table becomes. ``texts`` are columns of prose that the user named; the rows of the tables
    ``keyed``, whose keys or types the user named, are nodes.
    """
    result = Plan(unclear=guesses.unclear)
    referred = {link.target for table in tables for link in guesses.links[table.name] if link.target != table.name}
    types = {table.name: table.type for table in tables}
    rest = []
    for table in tables:
        links, key = guesses.links[table.name], guesses.keys[table.name]
        free = table.name not in referred and table.name not in keyed
        if free and (edges := _edges(con, table, links, key, texts.get(table.name, ()), types)):
            result.edges.append(edges)
        elif free and not key and len(links) == 1 and len(links[0].columns) < len(table.columns):
            rest.append((table, links[0]))
        else:
            result.nodes.append(_nodes(table, links, key, texts.get(table.name, ())))
    for table, link in rest:
        detail = None if link.lists else _detail(con, table, link)
        target = result.of(link.target)
        if detail and target:
            target.details.append(detail)
        else:
            result.nodes.append(_nodes(table, [link], (), texts.get(table.name, ())))
    if len(result.nodes) == 1 and result.edges:
        _type_by_column(result.nodes[0])
    order = {table.name: position for position, table in enumerate(tables)}
    result.nodes.sort(key=lambda nodes: order[nodes.table.name])
    return result


def _type_by_column(nodes: Nodes) -> None:
    """Take the types of the only table of nodes from its column of types, if it has one."""
    columns = nodes.table.columns
    for name in nodes.values:
        named = names.plain(name) in ("type", "kind", "category", "node type", "class")
        full = columns[name].look == "text" and columns[name].count == nodes.table.rows
        if named and full and columns[name].distinct <= _MOST_TYPES:
            nodes.by = name
            nodes.values.remove(name)
            return


# -- edges ------------------------------------------------------------------------------------------------------------


def _edges(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    links: Sequence[Link],
    key: Sequence[str],
    texts: Collection[str],
    types: Mapping[str, str],
) -> Edges | None:
    """Return the edges of a table with two links and no content of its own, or of a list of edges."""
    columns = table.columns
    loose = not links
    if not links and (ends := _ends(table)):
        links = [Link((end,), "", (), loose="node") for end in ends]
    if len(links) != 2 or any(link.lists or link.target == table.name for link in links):
        return None
    head, tail = links
    linked = {column for link in links for column in link.columns}
    own = [name for name in key if name not in linked and names.is_id(name)]
    values = [name for name in columns if name not in linked and name not in own]
    if len(own) > 1 or any(_is_name(columns[name]) or columns[name].look == "prose" for name in values):
        return None
    many = len(values) > _FEW and head.target != tail.target
    if own and not loose and (not names.is_own_id(own[0], table.type) or many):
        return None
    if texts:
        return None
    if names.plain(tail.columns[0]) in names.HEADS and names.plain(head.columns[0]) in names.TAILS:
        head, tail = tail, head
    by = next((name for name in values if names.plain(name) in names.RELATIONS), "")
    if not by and (loose or names.plain(head.columns[0]) in names.HEADS):
        by = next((name for name in values if names.plain(name) in ("type", "label", "kind")), "")
    if by and (columns[by].look not in ("text", "integer") or columns[by].count < table.rows):
        by = ""
    if by and columns[by].distinct <= 2 and _are_directions(con, table, columns[by]):
        by = ""
    values = [*own, *(name for name in values if name != by)]
    parts = _relation_words(table)
    relation = names.identifier("_".join(parts))
    if names.types([parts]) == [types.get(head.target)]:
        relation = "link"  # edges of people in people_edges.csv
    elif table.type in (head.loose, tail.loose):
        relation = table.type  # hobbies.csv with people and their hobbies
    incomplete = _incomplete(con, table, linked)
    if incomplete > _MOST_INCOMPLETE * table.rows:
        return None
    same = (head.target, head.loose) == (tail.target, tail.loose)
    symmetric = same and not by and _mirrored(con, table, head, tail)
    return Edges(table, relation, head, tail, values, by, symmetric, incomplete)


def _incomplete(con: duckdb.DuckDBPyConnection, table: Table, columns: Collection[str]) -> int:
    """Return the number of rows that have no value in some of the columns."""
    missing = " OR ".join(f"{table.columns[name].value} IS NULL" for name in columns)
    [(count,)] = con.execute(f"SELECT count(*) FROM {identifier(table.name)} WHERE {missing}").fetchall()
    return int(count)


def _are_directions(con: duckdb.DuckDBPyConnection, table: Table, column: Column) -> bool:
    """Whether a column says which edges are directed, as in exports of Gephi, and not which relation they have."""
    found = con.execute(f"SELECT DISTINCT lower({column.value}) FROM {identifier(table.name)}").fetchall()
    return {value for (value,) in found} <= {"directed", "undirected", "mutual"}


def _ends(table: Table) -> tuple[str, str] | None:
    """Return the columns of a list of edges, by their names."""
    by_name = {names.plain(name): name for name in table.columns}
    head = next((by_name[name] for name in names.HEADS if name in by_name), None)
    tail = next((by_name[name] for name in names.TAILS if name in by_name), None)
    ids = {name: by for name, by in ((names.subject(n)[0], n) for n in table.columns if names.is_id(n)) if name}
    head = head or next((ids[name] for name in names.HEADS if name in ids), None)
    tail = tail or next((ids[name] for name in names.TAILS if name in ids), None)
    return (head, tail) if head and tail else None


def _relation_words(table: Table) -> list[str]:
    """Return the words of a table's name, without those that only say that it is a list of edges."""
    kept = [word for word in table.words if word not in ("edges", "edge", "links", "link")]
    return kept or ["link"]


def _is_name(column: Column) -> bool:
    return names.plain(column.name) in names.NAMES and column.look == "text"


def _mirrored(con: duckdb.DuckDBPyConnection, table: Table, head: Link, tail: Link) -> bool:
    """Whether every edge exists in both directions."""
    a, b = reference(table, head.columns), reference(table, tail.columns)
    pairs = f"SELECT {a} AS a, {b} AS b FROM {identifier(table.name)} WHERE {a} <> {b}"
    for some in (f"({pairs} LIMIT {_PREVIEW})", f"({pairs})"):
        [(count, alone)] = con.execute(
            f"SELECT count(*), count(*) FILTER (q.a IS NULL) FROM {some} p"
            f" LEFT JOIN (SELECT DISTINCT * FROM ({pairs})) q ON p.a = q.b AND p.b = q.a"
        ).fetchall()
        if not count or alone:
            return False
    return True


# -- nodes ------------------------------------------------------------------------------------------------------------


def _nodes(table: Table, links: Sequence[Link], key: tuple[str, ...], texts: Collection[str]) -> Nodes:
    columns = table.columns
    linked = {column for link in links for column in link.columns}
    result = Nodes(table, key, _named(table, key, linked, texts))
    relations = names.unique([_relation(link) for link in links])
    result.links = list(zip(relations, links, strict=True))
    for name, column in columns.items():
        if name in linked or (name in key and len(key) == 1) or result.named == (name,):
            continue
        if name in texts or (column.look == "prose" and column.kind == "VARCHAR"):
            result.texts.append(name)
        elif names.plain(name) in names.ALIASES and column.look in ("list", "text"):
            result.aliases.append(name)
        else:
            result.values.append(name)
    return result


def _named(table: Table, key: Sequence[str], linked: Collection[str], texts: Collection[str]) -> tuple[str, ...]:
    """Return the columns of the nodes' names: none if the key is the best one."""
    free = [
        c
        for c in table.columns.values()
        if c.look in ("text", "prose") and c.name not in linked and c.name not in texts
    ]
    by_name = {names.plain(c.name): c.name for c in free}
    for first, last in (("first name", "last name"), ("given name", "family name"), ("firstname", "lastname"),
                        ("forename", "surname"), ("first name", "surname"), ("prénom", "nom"), ("vorname", "nachname"),
                        ("nombre", "apellido"), ("nome", "cognome")):  # fmt: skip
        if first in by_name and last in by_name:
            return (by_name[first], by_name[last])
    own = (names.plain(c.name) for c in free if c.look == "text" and names.is_own_name(c.name, table.type))
    for name in (*names.NAMES, *own):
        if name in by_name:
            return () if key == (by_name[name],) else (by_name[name],)
    if table.spec.columns:  # they have no names of their own
        return next(((c.name,) for c in free if c.name not in key), ())
    after = list(table.columns.values())[1:2] if key == (next(iter(table.columns)),) else []
    for column in free:
        before = names.words(column.name)[-2:-1]
        ends = names.words(column.name)[-1:] in (("name",), ("title",))
        if ends and before not in _OTHER_NAMES and 10 * column.distinct >= 9 * table.rows and column.name not in key:
            return (column.name,)
    telling = (c for c in after if c in free and c.look == "text" and c.distinct == table.rows)
    return next(((c.name,) for c in telling if names.words(c.name)[-1:] not in _OTHER_NAMES), ())


_OTHER_NAMES = {(word,) for word in (
    "category", "type", "group", "class", "status", "city", "country", "region", "state", "host", "domain", "user",
)}  # fmt: skip
"""Words before ``name`` in columns that name something else than the row."""


def _relation(link: Link) -> str:
    """Return the relation of a column: its name without ``id`` and the like."""
    if len(link.columns) > 1:
        return names.identifier("_".join(names.words(link.target)))
    parts = names.subject(link.columns[0])
    target = tuple(names.types([names.words(link.target)])[0].split("_")) if link.target else ()
    if target and names.words(link.columns[0]) == (*target, *names.words(link.by[0])):
        parts = target  # compound_cid, of the key cid of compounds
    return names.identifier("_".join(parts)) if parts else names.identifier(link.columns[0])


def _detail(con: duckdb.DuckDBPyConnection, table: Table, link: Link) -> Detail | None:
    """Return the values of other nodes that a table holds, or None if its rows are nodes of their own."""
    others = [name for name in table.columns if name not in link.columns]
    if link.missing:
        return None
    single = is_unique(con, table, link.columns)
    if not single and len(others) > 1:
        return None
    plain = names.plain(others[0])
    generic = plain in ("value", "text", "item") or (plain == "name" and not single)
    name = names.identifier("_".join(names.words(table.name))) if generic else others[0]
    return Detail(table, link, others, single, name)
