"""The edges of a node by relation, from the tables: their number, and the first ones.

Unlike the neighbours of a page (:mod:`kbkit.graph.pages`), parallel edges are counted, all types are together, and the
adjacency arrays are not needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.schema import quote

if TYPE_CHECKING:
    from kbkit.stores import Stores

_COUNT, _PLACE = '"number of edges"', '"place among edges"'  # not a valid name of an attribute


class EdgeEnd(NamedTuple):
    """The node at the other end of an edge (type, key, name), and the attributes that the edge has."""

    end: tuple[str, str, str]
    attributes: dict[str, Any]


class RelationEdges(NamedTuple):
    """The number of edges of a relation, and the first of them."""

    relation: str
    total: int
    first: list[EdgeEnd]


def outgoing(stores: Stores, node: int, limit: int) -> list[RelationEdges]:
    """Return the edges from a node, the first ``limit`` of each relation with their attributes."""
    attributes = dict.fromkeys(a.name for relation in stores.schema.relations for a in relation.attributes)
    return _first(stores, _edges_sql("head", "tail", attributes), node, limit)


def incoming(stores: Stores, node: int, limit: int) -> list[RelationEdges]:
    """Return the edges to a node, the first ``limit`` of each relation that is not symmetric, without attributes."""
    one_way = {relation.name for relation in stores.schema.relations if not relation.symmetric}
    sql = "SELECT relation::VARCHAR AS name, count(*) FROM edges WHERE tail = $node GROUP BY relation ORDER BY relation"
    counts = [(name, count) for name, count in stores.tables.rows(sql, {"node": node}) if name in one_way]
    if not limit or not counts:
        return [RelationEdges(name, count, []) for name, count in counts]
    found = _first(stores, _edges_sql("tail", "head", ()), node, limit)
    return [edges for edges in found if edges.relation in one_way]


def _first(stores: Stores, sql: str, node: int, limit: int) -> list[RelationEdges]:
    found: dict[str, RelationEdges] = {}
    for row in stores.tables.lookup(sql, {"node": node, "limit": limit}).iter_rows(named=True):
        attributes = [a.name for a in stores.schema.relation(row["relation"]).attributes]
        held = {name: value for name in attributes if (value := row.get(f"at {name}")) is not None}
        edges = found.setdefault(row["relation"], RelationEdges(row["relation"], row["kbkit_count"], []))
        edges.first.append(EdgeEnd((row["type"], row["key"], row["name"]), held))
    return list(found.values())


def _edges_sql(here: str, there: str, attributes: Iterable[str]) -> str:
    """Return SQL for the edges of ``$node``, the first ``$limit`` of each relation, with the nodes at the other end."""
    columns = "".join(f", e.{quote(name)} AS {quote('at ' + name)}" for name in attributes)
    return (
        f"SELECT e.relation, e.{_COUNT} AS kbkit_count, n.type, n.key, n.name{columns} FROM (SELECT *,"
        f" count(*) OVER (PARTITION BY relation) AS {_COUNT},"
        f" row_number() OVER (PARTITION BY relation ORDER BY {there}) AS {_PLACE}"
        f" FROM edges WHERE {here} = $node) e JOIN nodes n ON n.id = e.{there}"
        f" WHERE e.{_PLACE} <= $limit ORDER BY e.relation, e.{_PLACE}"
    )
