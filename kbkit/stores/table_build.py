"""Writes ``tables.duckdb``: what the tables are, :mod:`kbkit.stores.tables` says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.schema import NodeType, Relation, Schema, merged_attributes
from kbkit.stores.tables import FILE, literal, quote

if TYPE_CHECKING:
    import duckdb

_MOST_TABLES = 100
"""With more types that have attributes than this, one table holds all: each would cost time, and blocks on disk."""

_ID = "the node's id"
COLUMNS = {
    "nodes": {
        "id": "dense from 0, type by type; of this generation only",
        "type": "primary type",
        "key": "id in the source, unique within the type",
        "name": "",
        "aliases": "other names; never NULL",
    },
    "node_types": {"id": _ID, "type": "a type that it has besides its primary one"},
    "edges": {
        "head": "id of the node that it starts from",
        "relation": "",
        "tail": "id of the node that it leads to",
        "*": "attribute of some relation; NULL for the others",
    },
    "texts": {
        "id": _ID,
        "field": "name of the text",
        "position": "from 0, among the texts of the node and field",
        "text": "",
    },
    "types": {
        "type": "node type",
        "iri": "its IRI",
        "first_id": "smallest id of a node whose primary type it is",
        "nodes": "how many have it as their primary type: ids from first_id on",
        "other_nodes": "how many have it besides",
        "sql_name": "its table or view",
    },
    "relations": {
        "relation": "relation; a row for each pair of types that it joins",
        "iri": "its IRI",
        "head_type": "primary type of the heads",
        "tail_type": "primary type of the tails",
        "edges": "how many there are between them",
        "is_symmetric": "whether each edge is stored both ways",
        "sql_name": "its view",
    },
    "TYPE": {"id": _ID, "key": "as in nodes", "name": "as in nodes", "*": "attribute of the type"},
    "RELATION": {"head": "as in edges", "tail": "as in edges", "*": "attribute of the relation"},
}
"""What the columns of the tables hold, for the schema reference; ``*`` are those that differ from KB to KB."""


def build(staging: duckdb.DuckDBPyConnection, folder: Path, schema: Schema) -> dict[str, int]:
    """Write ``tables.duckdb`` from the staged tables ``kb_nodes``, ``kb_edges``, ``kb_texts`` and ``kb_node_types``.

    Returns the counts of rows that ``check`` compares the other stores with.
    """
    staging.execute(f"ATTACH {literal(str(folder / FILE))} AS kb")
    for statement in _statements(schema):
        staging.execute(statement)
    _describe(staging, schema)
    counts = staging.execute(
        "SELECT (SELECT count(*) FROM kb.nodes), (SELECT count(*) FROM kb.edges), (SELECT count(*) FROM kb.texts),"
        " (SELECT count(*) FROM kb.node_types)"
    ).fetchone()
    staging.execute("DETACH kb")
    assert counts is not None
    return dict(zip(("nodes", "edges", "texts", "node_types"), counts, strict=True))


def _statements(schema: Schema) -> Iterator[str]:
    types = ", ".join(literal(t.name) for t in schema.node_types)
    relations = ", ".join(literal(r.name) for r in schema.relations)
    yield f"CREATE TYPE kb.node_type AS ENUM ({types})"
    yield f"CREATE TYPE kb.relation_name AS ENUM ({relations})"
    yield (
        "CREATE TABLE kb.nodes AS SELECT id, type::kb.node_type AS type, key, name, aliases FROM kb_nodes ORDER BY id"
    )
    yield "CREATE TABLE kb.node_types AS SELECT id, type::kb.node_type AS type FROM kb_node_types ORDER BY id, type"
    attributes = dict.fromkeys(a.name for r in schema.relations for a in r.attributes)
    columns = "".join(", " + quote(name) for name in attributes)
    yield (
        f"CREATE TABLE kb.edges AS SELECT head, relation::kb.relation_name AS relation, tail{columns}"
        f" FROM kb_edges ORDER BY relation, head, tail{columns}"
    )
    yield "CREATE TABLE kb.texts AS SELECT id, field, position, text FROM kb_texts ORDER BY id, field, position"
    one = sum(bool(t.attributes) for t in schema.node_types) > _MOST_TABLES
    if one:
        columns = "".join(f", {quote(a.name)}" for a in merged_attributes(t.attributes for t in schema.node_types))
        yield f"CREATE TABLE kb.node_attributes AS SELECT id, key, name{columns} FROM kb_nodes ORDER BY id"
    yield from (_type_statement(t, one) for t in schema.node_types)
    yield from (_relation_statement(r) for r in schema.relations)
    yield from (f"CREATE TABLE kb.{quote(name)} AS FROM {quote(name)}" for name in schema.extra_tables)


_TYPES = {
    "type": "VARCHAR",
    "iri": "VARCHAR",
    "first_id": "INTEGER",
    "nodes": "INTEGER",
    "other_nodes": "INTEGER",
    "sql_name": "VARCHAR",
}
_RELATIONS = {
    "relation": "VARCHAR",
    "iri": "VARCHAR",
    "head_type": "VARCHAR",
    "tail_type": "VARCHAR",
    "edges": "BIGINT",
    "is_symmetric": "BOOLEAN",
    "sql_name": "VARCHAR",
}


def _describe(staging: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """Write the tables ``types`` and ``relations``; where types are many, relations have a signature for each pair."""
    import pyarrow as pa

    types = [(t.name, t.iri, t.first, t.count, t.others, t.table) for t in schema.node_types]
    signed = ((r, s) for r in schema.relations for s in r.signatures)
    relations = [(r.name, r.iri, s.head, s.tail, s.edges, r.symmetric, r.table) for r, s in signed]
    for table, columns, rows in (("types", _TYPES, types), ("relations", _RELATIONS, relations)):
        declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        staging.execute(f"CREATE TABLE kb.{table}({declared})")
        if rows:
            given = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
            staging.register("kbkit_rows", pa.table(given))
            staging.execute(f"INSERT INTO kb.{table} FROM kbkit_rows")
            staging.unregister("kbkit_rows")


def _type_statement(node_type: NodeType, in_one_table: bool) -> str:
    # A type holds the nodes that have it as their primary type (an id range) or besides it.
    where = f"id BETWEEN {node_type.first} AND {node_type.last}"
    others = (
        f" OR id IN (SELECT id FROM %snode_types WHERE type = {literal(node_type.name)})" if node_type.others else ""
    )
    columns = "".join(f", {quote(a.name)}" for a in node_type.attributes)
    if in_one_table or not columns:
        source = "node_attributes" if columns else "nodes"
        view = f"CREATE VIEW kb.{quote(node_type.table)} AS SELECT id, key, name{columns} FROM {source} WHERE {where}"
        return view + others.replace("%s", "", 1)
    table = f"CREATE TABLE kb.{quote(node_type.table)} AS SELECT id, key, name{columns} FROM kb_nodes WHERE {where}"
    return table + others.replace("%s", "kb.", 1) + " ORDER BY id"


def _relation_statement(relation: Relation) -> str:
    columns = "".join(", " + quote(a.name) for a in relation.attributes)
    return (
        f"CREATE VIEW kb.{quote(relation.table)} AS SELECT head, tail{columns} FROM edges"
        f" WHERE relation = {literal(relation.name)}"
    )
