"""Nodes with their attributes and texts, neighbours and degrees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kbkit.schema import Relation, quote
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl


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

    @property
    def reference(self) -> str:
        """``type#key``, which identifies the node in every command."""
        return f"{self.type}#{self.key}"

    def _repr_html_(self) -> str:
        from kbkit.display import html as html_pages

        data = {**vars(self), "reference": self.reference}
        data["texts"] = [{"field": field, "text": text} for field, text in self.texts]
        return html_pages.node(data)


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
    return Node(node, key, kind, name, list(aliases), nodes.secondary_types(node), attributes, texts)


def neighbors(
    stores: Stores, reference: str | int, relation: str | None = None, limit: int | None = None
) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.neighbors`. Only edges with attributes are read from the tables."""
    import polars as pl

    relations = [stores.schema.relation(relation)] if relation else stores.schema.relations
    tables, adjacency, node = stores.tables, stores.adjacency, stores.nodes.find(reference)

    attributes = {a.name: a.type for r in relations for a in r.attributes}
    parts = []
    for known in relations:
        sides = (("out", adjacency.forward), ("in", adjacency.backward))
        for direction, rows in sides[:1] if known.symmetric else sides:
            ids = rows(known.name).neighbors(node)[:limit]
            if not len(ids):
                continue
            if known.attributes:
                here, there = ("head", "tail") if direction == "out" else ("tail", "head")
                columns = "".join(", " + quote(a.name) for a in known.attributes)
                edges = tables.lookup(
                    f"SELECT {there} AS id{columns} FROM {quote(known.table)} WHERE {here} = $id"
                    " ORDER BY ALL LIMIT $limit",
                    {"id": node, "limit": limit or 2**62},
                )
            else:
                edges = pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int32)})
            parts.append(
                edges.select(
                    relation=pl.lit(known.name),
                    direction=pl.lit(direction),
                    **{name: pl.col(name) for name in edges.columns},
                )
            )
    if not parts:
        schema = dict.fromkeys(("relation", "direction", "id", "key", "type", "name"), pl.String())
        return pl.DataFrame(schema=schema).with_columns(pl.col("id").cast(pl.Int32))
    edges = pl.concat(parts, how="diagonal_relaxed")
    found = stores.nodes.frame(edges["id"].unique())
    frame = edges.join(found, on="id", how="left", maintain_order="left")
    return frame.select(
        "relation", "direction", "id", "key", "type", "name", *(a for a in attributes if a in frame.columns)
    )


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
