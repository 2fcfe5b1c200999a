"""The columns of the SQL tables of every KB.

The tables are created from this declaration; completion and the schema reference read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kbkit.directory.workspace import COLUMNS as SET_COLUMNS


class Column(NamedTuple):
    """A column: its name, its DuckDB type, and a description.

    The types ``node_type`` and ``relation_name`` are ENUMs of each KB, which queries return as text.
    """

    name: str
    type: str
    description: str = ""

    @property
    def is_enum(self) -> bool:
        """Whether the type is an ENUM of the KB."""
        return self.type in ("node_type", "relation_name")

    @property
    def result_type(self) -> str:
        """The type of the column in a query's result."""
        return "VARCHAR" if self.is_enum else self.type


_ID = Column("id", "INTEGER", "id of the node")

TABLES: Mapping[str, tuple[Column, ...]] = {
    "nodes": (
        Column("id", "INTEGER", "from 0 without gaps, type by type; valid in this generation only"),
        Column("type", "node_type", "primary type"),
        Column("key", "VARCHAR", "id in the source, unique within the type"),
        Column("name", "VARCHAR"),
        Column("aliases", "VARCHAR[]", "other names; never NULL"),
    ),
    "node_types": (_ID, Column("type", "node_type", "secondary type of the node")),
    "edges": (
        Column("head", "INTEGER", "id of the start node"),
        Column("relation", "relation_name"),
        Column("tail", "INTEGER", "id of the end node"),
    ),
    "texts": (
        _ID,
        Column("field", "VARCHAR", "name of the text field"),
        Column("position", "BIGINT", "from 0, among the texts of this node and field"),
        Column("text", "VARCHAR"),
    ),
    "types": (
        Column("type", "VARCHAR", "node type"),
        Column("iri", "VARCHAR", "IRI of the type"),
        Column("first_id", "INTEGER", "smallest id of a node with this primary type"),
        Column("nodes", "INTEGER", "number of nodes with this primary type: ids from first_id on"),
        Column("other_nodes", "INTEGER", "number of nodes with this secondary type"),
        Column("sql_name", "VARCHAR", "table or view of the type"),
    ),
    "relations": (
        Column("relation", "VARCHAR", "relation; one row per pair of types that it joins"),
        Column("iri", "VARCHAR", "IRI of the relation"),
        Column("head_type", "VARCHAR", "primary type of the heads"),
        Column("tail_type", "VARCHAR", "primary type of the tails"),
        Column("edges", "BIGINT", "number of edges between these types"),
        Column("is_symmetric", "BOOLEAN", "whether each edge is stored in both directions"),
        Column("sql_name", "VARCHAR", "view of the relation"),
    ),
    "answer_sets": tuple(
        Column(name, "BIGINT" if name == "count" else "VARCHAR", description)
        for name, description in SET_COLUMNS.items()
        if name != "members"
    ),
    "answer_members": (
        Column("answer_set", "VARCHAR", "name of the saved set"),
        Column("id", "INTEGER", "id of the node; NULL if this generation does not have it"),
        Column("type", "VARCHAR", "primary type"),
        Column("key", "VARCHAR", "key of the node"),
    ),
}
"""The tables and views of every KB. In addition, ``edges`` has a column for each attribute of any relation."""

TYPE_COLUMNS = (_ID, Column("key", "VARCHAR", "as in nodes"), Column("name", "VARCHAR", "as in nodes"))
"""The columns of the table or view of each node type, before its attributes."""

RELATION_COLUMNS = (Column("head", "INTEGER", "as in edges"), Column("tail", "INTEGER", "as in edges"))
"""The columns of the view of each relation, before its attributes."""

ATTRIBUTES_TABLE = "node_attributes"
"""The table of all attributes of nodes, in a KB with many node types; it has the columns of the types' tables."""

RESERVED = (*TABLES, ATTRIBUTES_TABLE)
"""Names that no type, relation or table of a source may have."""


def selected(columns: tuple[Column, ...], enums: str = "") -> str:
    """Return columns as an SQL select list; with ``enums``, ENUM columns are cast to the types of that schema."""
    return ", ".join(f"{c.name}::{enums}.{c.type} AS {c.name}" if c.is_enum and enums else c.name for c in columns)
