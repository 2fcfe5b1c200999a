"""Nodes with their attributes and texts, neighbours and degrees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.display.node_data import NodeData, NodeProvenance
from kbkit.english.attributes import attribute_words, is_popularity
from kbkit.schema import NodeType, Relation, quote
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_SHARED = 4
"""Times the usual number of neighbours: nodes without texts and attributes that have more are values, such as years."""
_WITH_TEXTS = "SELECT id FROM texts WHERE id BETWEEN $first AND $last LIMIT 1"
_MAX_RELATIONS = 40
"""Relations whose edges count as popularity: the largest ones."""


@dataclass(frozen=True)
class Node:
    """A node with its attributes (present ones only) and ``texts`` as (field, text) in order."""

    id: int
    key: str
    type: str
    name: str
    aliases: list[str] = field(default_factory=list)
    other_types: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    texts: list[tuple[str, str]] = field(default_factory=list)
    attribute_labels: dict[str, str] = field(default_factory=dict)
    provenance: NodeProvenance | None = None

    @property
    def data(self) -> NodeData:
        """The node as plain data, without neighbours."""
        return {
            "id": self.id,
            "reference": self.reference,
            "name": self.name,
            "aliases": self.aliases,
            "other_types": self.other_types,
            "attributes": self.attributes,
            **({"attribute_labels": self.attribute_labels} if self.attribute_labels else {}),  # type: ignore[typeddict-item]
            "texts": [{"field": name, "text": text} for name, text in self.texts],
            **({"provenance": self.provenance} if self.provenance else {}),  # type: ignore[typeddict-item]
        }

    @property
    def reference(self) -> str:
        """``type#key``, which identifies the node in every command."""
        return f"{self.type}#{self.key}"

    def _repr_html_(self) -> str:
        from kbkit.display import html as html_pages

        return html_pages.node(self.data)


def describe(stores: Stores, reference: str | int) -> Node:
    """Return a node with its attributes and texts; see :meth:`kbkit.stores.nodes.Nodes.find` for ``reference``."""
    tables, nodes = stores.tables, stores.nodes
    [(node, key, kind, name, aliases)] = nodes.with_aliases([nodes.find(reference)])
    texts = tables.rows("SELECT field, text FROM texts WHERE id = $id ORDER BY field, position", {"id": node})
    attributes = {}
    node_type = stores.schema.type(kind)
    if node_type.attributes:
        columns = ", ".join(quote(a.name) for a in node_type.attributes)
        [row] = tables.rows(f"SELECT {columns} FROM {quote(node_type.table)} WHERE id = $id", {"id": node})
        attributes = {a.name: v for a, v in zip(node_type.attributes, row, strict=True) if v is not None}
    labels = {a.name: a.label for a in node_type.attributes if a.label and a.name in attributes}
    others, origin = nodes.secondary_types(node), _provenance(stores, node)
    return Node(node, key, kind, name, list(aliases), others, attributes, texts, labels, origin)


def _provenance(stores: Stores, node: int) -> NodeProvenance | None:
    """Return where a node comes from, in a KB that is kept in step with its files."""
    if "provenance" not in stores.schema.extra_tables:
        return None
    found = stores.tables.rows("SELECT file, added, changed FROM provenance WHERE id = $id", {"id": node})
    return {"file": found[0][0], "added": str(found[0][1]), "changed": str(found[0][2])} if found else None


def neighbors(
    stores: Stores, reference: str | int, relation: str | None = None, limit: int | None = None
) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.neighbors`. Only edges with attributes are read from the tables."""
    import polars as pl

    from kbkit.stores.sql_results import unique_names

    relations = [stores.schema.relation(relation)] if relation else stores.schema.relations
    tables, adjacency, node = stores.tables, stores.adjacency, stores.nodes.find(reference)

    names: list[str] = []
    directions: list[str] = []
    parts: list[pl.DataFrame] = []
    for known in relations:
        sides = (("out", adjacency.forward), ("in", adjacency.backward))
        for direction, rows in sides[:1] if known.symmetric else sides:
            ids = rows(known.name).neighbors(node)[:limit]
            if not len(ids):
                continue
            edges = pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int32)})
            if known.attributes:
                here, there = ("head", "tail") if direction == "out" else ("tail", "head")
                values = "".join(", " + quote(a.name) for a in known.attributes)
                edges = tables.lookup(
                    f"SELECT {there} AS id{values} FROM {quote(known.table)} WHERE {here} = $id"
                    " ORDER BY ALL LIMIT $limit",
                    {"id": node, "limit": limit or 2**62},
                )
            names += [known.name] * edges.height
            directions += [direction] * edges.height
            parts.append(edges)
    ids = np.concatenate([part["id"].to_numpy() for part in parts] or [np.empty(0, np.int32)])
    given = dict.fromkeys(name for part in parts for name in part.columns[1:])
    columns = [
        pl.Series("relation", names, pl.String),
        pl.Series("direction", directions, pl.String),
        *stores.nodes.rows_of(ids.astype(np.int32, copy=False)),
        *(_concatenated(name, parts) for name in given),
    ]
    unique = unique_names([column.name for column in columns])  # an attribute may be called "name"
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, unique, strict=True)])


def _concatenated(name: str, parts: Sequence[pl.DataFrame]) -> pl.Series:
    """Return a column of all parts, null where a part has none, without starting threads of polars."""
    import polars as pl

    kinds = {part.schema[name] for part in parts if name in part.columns}
    mixed = pl.Float64() if all(kind.is_numeric() for kind in kinds) else pl.String()
    kind = next(iter(kinds)) if len(kinds) == 1 else mixed
    columns = (part[name] if name in part.columns else pl.Series([None] * part.height) for part in parts)
    return pl.concat([column.cast(kind).alias(name) for column in columns])


def degrees(stores: Stores, reference: str | int) -> list[tuple[Relation, str, int]]:
    """Return (relation, direction, number of neighbours) for every relation the node has."""
    node, result = stores.nodes.find(reference), []
    for relation in stores.schema.relations:
        sides = [("out", stores.adjacency.forward(relation.name)), ("in", stores.adjacency.backward(relation.name))]
        for direction, csr in sides[:1] if relation.symmetric else sides:
            count = len(csr.neighbors(node))
            if count:
                result.append((relation, direction, count))
    return result


_HUB = 10
"""A hub has this many times the average number of neighbours."""


def degrees_of_all(stores: Stores) -> NDArray[np.int32]:
    """Return the number of neighbours of each node under the largest relations; pass it to ``stores.shared``."""
    found = np.zeros(stores.schema.nodes, np.int32)
    for relation in sorted(stores.schema.relations, key=lambda r: -r.edges)[:_MAX_RELATIONS]:
        sides = (stores.adjacency.forward(relation.name), stores.adjacency.backward(relation.name))
        for side in sides[:1] if relation.symmetric else sides:
            counts = side.degrees()
            found[slice(side.first, side.first + len(counts)) if side.heads is None else side.heads] += counts
    return found


def hub_degree(stores: Stores) -> int:
    """Return the number of neighbours from which a node joins others by chance, as years, genres and countries do.

    It is the square root of the number of nodes, but at least 10 times the average.
    """
    schema = stores.schema
    return round(max(math.sqrt(schema.nodes), _HUB * 2 * schema.edges / max(1, schema.nodes)))


def well_known(stores: Stores, limit: int) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.well_known`."""
    import polars as pl

    check_range("limit", limit, 0)
    schema = stores.schema
    counts = stores.shared(degrees_of_all)
    usual = _SHARED * max(1.0, 2 * schema.edges / max(1, schema.nodes))
    entities: list[tuple[bool, NodeType]] = []
    values: list[tuple[bool, NodeType]] = []
    for one in (t for t in schema.node_types if t.count):
        is_described = bool(one.attributes) or bool(
            stores.tables.rows(_WITH_TEXTS, {"first": one.first, "last": one.last})
        )
        shared = not is_described and counts[one.first : one.last + 1].mean() > usual
        (values if shared else entities).append((not is_described, one))
    chosen = sorted(entities or values, key=lambda pair: (pair[0], -pair[1].count))
    tops = [noticed(stores, one, limit).with_columns(place=pl.int_range(pl.len())) for _, one in chosen]
    if not tops:
        return popular(stores, None, 0)
    return pl.concat(tops).sort("place", maintain_order=True).head(limit).drop("place")


def noticed(stores: Stores, kind: NodeType, limit: int) -> pl.DataFrame:
    """Return the nodes of a type that most people noticed, if an attribute counts them (votes), else the popular."""
    import polars as pl

    counts = [a.name for a in kind.attributes if is_popularity(attribute_words(a).noun) and not a.type.endswith("[]")]
    if not counts:
        return popular(stores, kind.name, limit)
    order = f"{quote(counts[0])} DESC NULLS LAST, id LIMIT {limit}"
    rows = stores.tables.rows(f"SELECT id FROM {quote(kind.table)} ORDER BY {order}")
    ids = np.array([node for (node,) in rows], np.int32)
    neighbours = stores.shared(degrees_of_all)[ids]
    return pl.DataFrame([*stores.nodes.rows_of(ids), pl.Series("neighbours", neighbours, pl.Int64)])


def popular(stores: Stores, node_type: str | None, limit: int) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.popular`."""
    import polars as pl

    check_range("limit", limit, 0)
    first, last = 0, stores.schema.nodes - 1
    if node_type is not None:
        known = stores.schema.type(node_type)
        first, last = known.first, known.last
    mine = stores.shared(degrees_of_all)[first : last + 1]
    best = np.arange(len(mine))
    if len(mine) > limit > 0:  # sort only those that may be among the best
        best = np.flatnonzero(mine >= -np.partition(-mine, limit - 1)[limit - 1])
    best = best[np.lexsort((best, -mine[best]))[:limit]]
    ids = (best + first).astype(np.int32)
    return pl.DataFrame([*stores.nodes.rows_of(ids), pl.Series("neighbours", mine[best], pl.Int64)])
