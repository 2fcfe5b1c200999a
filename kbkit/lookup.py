"""Looks nodes up in the tables: by name or key, with their attributes and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Relation, Schema
from kbkit.stores.tables import Tables, closest_names, quote

if TYPE_CHECKING:
    import polars as pl

    from kbkit.stores.adjacency import Adjacency


@dataclass(frozen=True)
class Node:
    """A node: ``attributes`` holds those that it has, ``texts`` (field, text) in order."""

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
        """``type#key``, which names the node in every command."""
        return f"{self.type}#{self.key}"

    def _repr_html_(self) -> str:
        from kbkit import html_pages

        data = {**vars(self), "reference": self.reference}
        data["texts"] = [{"field": field, "text": text} for field, text in self.texts]
        return html_pages.node(data)


NODES_SQL = "SELECT id, key, type, name FROM nodes WHERE id IN (SELECT unnest($ids))"
"""The nodes of ``$ids``."""

DOCUMENTS_SQL = """
SELECT n.id, key, type, name, x.field::VARCHAR, x.position, x.text FROM nodes n LEFT JOIN texts x USING (id)
WHERE n.id IN (SELECT unnest($ids))"""
"""The nodes of ``$ids``, a row for each of their texts."""

_STEPS = (
    "key = $text",
    "name = $text",
    "lower(name) = lower($text)",
    "len(list_filter(aliases, lambda alias: lower(alias) = lower($text))) > 0",
)


def typed(text: str) -> str | int:
    """A reference as a person types it: ``#17`` is the node of that id, anything else what :func:`find` takes."""
    return int(text[1:]) if text[:1] == "#" and text[1:].isdecimal() else text


def find(tables: Tables, schema: Schema, reference: str | int) -> int:
    """The id that ``reference`` names; see :meth:`kbkit.kb.KnowledgeBase.find`."""
    if isinstance(reference, int):
        if not 0 <= reference < schema.nodes:
            raise KbError(f"there is no node {reference}", f"ids run from 0 to {schema.nodes - 1}")
        return reference
    for type_name, text, steps in _readings(schema, reference):
        where = " AND type = $type" if type_name else ""
        for step in steps:
            params = {"text": text, **({"type": type_name} if type_name else {})}
            rows = tables.rows(f"SELECT id, type, key FROM nodes WHERE {step}{where} ORDER BY id LIMIT 6", params)
            if len(rows) == 1:
                return int(rows[0][0])
            if rows:
                shown = ", ".join(f"{kind}#{key}" for _, kind, key in rows[:5])
                raise KbError(f"several nodes are called {text!r}", f"name one of {shown}{', ...' * (len(rows) > 5)}")
    kind, text, _ = _readings(schema, reference)[0]
    close = closest_names(tables, text, kind)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "kbkit search finds nodes by words"
    raise UnknownNameError("node", text, close, where=f"type {kind}" if kind else "", hint=hint)


def _readings(schema: Schema, reference: str) -> list[tuple[str, str, Sequence[str]]]:
    """(type, text, how to look) in the order to try: ``type#key``, ``type:name``, then the whole as a key or name.

    A type's name may hold the signs itself, so the longest that fits is tried first.
    """
    result: list[tuple[str, str, Sequence[str]]] = []
    for name in sorted((t.name for t in schema.node_types), key=len, reverse=True):
        for sign, steps in (("#", _STEPS[:1]), (":", _STEPS)):
            if reference.startswith(name + sign):
                result.append((name, reference[len(name) + 1 :], steps))
    return [*result, ("", reference, _STEPS)]


def describe(tables: Tables, schema: Schema, node: int) -> Node:
    """A node with its attributes and texts."""
    [(key, kind, name, aliases)] = tables.rows(
        "SELECT key, type, name, aliases FROM nodes WHERE id = $id", {"id": node}
    )
    others = tables.rows("SELECT type FROM node_types WHERE id = $id", {"id": node})
    texts = tables.rows("SELECT field, text FROM texts WHERE id = $id ORDER BY field, position", {"id": node})
    attributes = {}
    node_type = schema.type(kind)
    if node_type.attributes:
        columns = ", ".join(quote(a.name) for a in node_type.attributes)
        [row] = tables.rows(f"SELECT {columns} FROM {quote(node_type.table)} WHERE id = $id", {"id": node})
        attributes = {a.name: v for a, v in zip(node_type.attributes, row, strict=True) if v is not None}
    return Node(node, key, kind, name, aliases or [], [row[0] for row in others], attributes, texts)


def neighbors(
    tables: Tables, adjacency: Adjacency, relations: Sequence[Relation], node: int, most: int | None = None
) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.neighbors`. Only edges with attributes are looked for in the tables."""
    import polars as pl

    attributes = {a.name: a.type for r in relations for a in r.attributes}
    parts = []
    for relation in relations:
        sides = (("out", adjacency.forward), ("in", adjacency.backward))
        for direction, rows in sides[:1] if relation.symmetric else sides:
            ids = rows(relation.name).neighbors(node)[:most]
            if not len(ids):
                continue
            if relation.attributes:
                here, there = ("head", "tail") if direction == "out" else ("tail", "head")
                columns = "".join(", " + quote(a.name) for a in relation.attributes)
                edges = tables.lookup(
                    f"SELECT {there} AS id{columns} FROM {quote(relation.table)} WHERE {here} = $id"
                    " ORDER BY ALL LIMIT $most",
                    {"id": node, "most": most or 2**62},
                )
            else:
                edges = pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int32)})
            parts.append(
                edges.select(
                    relation=pl.lit(relation.name),
                    direction=pl.lit(direction),
                    **{name: pl.col(name) for name in edges.columns},
                )
            )
    if not parts:
        schema = dict.fromkeys(("relation", "direction", "id", "key", "type", "name"), pl.String())
        return pl.DataFrame(schema=schema).with_columns(pl.col("id").cast(pl.Int32))
    edges = pl.concat(parts, how="diagonal_relaxed")
    found = tables.lookup(NODES_SQL, {"ids": edges["id"].unique().to_list()})
    frame = edges.join(found, on="id", how="left", maintain_order="left")
    return frame.select(
        "relation", "direction", "id", "key", "type", "name", *(a for a in attributes if a in frame.columns)
    )
