"""Parquet and CSV: a folder with one file per type and relation, or (flat) one per table.

The partitioned layout follows Hive:

    nodes/type=TYPE/part-0.parquet          id, key, name, aliases, types, attributes of any type
    edges/relation=RELATION/part-0.parquet  head, tail, head_key, tail_key, head_type, tail_type, attributes of any
    texts/part-0.parquet                    id, key, type, field, position, text
    node_types/part-0.parquet               id, type: secondary types
    TABLE/part-0.parquet                    further tables of the source

``head`` and ``tail`` are ids; ``types`` are those of ``node_types``. All files of a table have the same columns, so
readers need not merge schemas. The flat layout (``nodes.parquet``, ...) has nodes with their ``type``, edges whose
``head`` and ``tail`` are keys, and texts without ids, as the recipe ``table`` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.export.columns import Value, as_csv, as_parquet, present
from kbkit.schema import Attribute, NodeType, Schema, literal, merged_attributes, quote
from kbkit.stores.tables import Tables

if TYPE_CHECKING:
    import duckdb

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""

_TEXT_ROWS = 10_000
"""Rows per row group of texts; a writer holds a whole group in memory."""


@dataclass(frozen=True)
class FileForm:
    """A file format: suffix, COPY options, and the conversion of column values."""

    ending: str
    options: str
    value: Value

    @staticmethod
    def of(to: str, *, gzip: bool = False) -> FileForm:
        """Return the format ``parquet`` or ``csv``."""
        if to == "parquet":
            return FileForm(".parquet", "FORMAT parquet, COMPRESSION zstd", as_parquet)
        ending, compression = (".csv.gz", "gzip") if gzip else (".csv", "none")
        return FileForm(ending, f"FORMAT csv, HEADER true, DELIMITER ',', COMPRESSION {compression}", as_csv)


@dataclass(frozen=True)
class Writer:
    """Writes queries to files of a form over one connection: opening one takes longer than writing a small file."""

    tables: Tables
    connection: duckdb.DuckDBPyConnection
    form: FileForm

    def copy(self, query: str, path: Path, rows: int = 0) -> None:
        """Write the rows of a query to a file; ``rows`` is the size of a row group (default: DuckDB's)."""
        form = self.form
        group = f", ROW_GROUP_SIZE {rows}" if rows and form.ending == ".parquet" else ""
        path = path.with_name(path.name + form.ending)
        path.parent.mkdir(parents=True, exist_ok=True)
        sql = f"COPY ({query}) TO {literal(str(path))} ({form.options}{group})"
        self.tables.arrow(sql, on=self.connection)


def write_parts(writer: Writer, schema: Schema, place: Path, progress: Progress) -> None:
    """Write the partitioned layout into the folder ``place``."""
    form = writer.form
    attributes = merged_attributes(t.attributes for t in schema.node_types)
    types = [t for t in schema.node_types if t.count]
    for number, node_type in enumerate(types):
        progress("nodes", number, len(types))
        query = _nodes(node_type, "n.id, n.key, n.name", attributes, form)
        writer.copy(f"{query} ORDER BY id", place / "nodes" / partition("type", node_type.name) / "part-0")
    progress("nodes", len(types), len(types))
    edges = merged_attributes(r.attributes for r in schema.relations)
    ends = (
        "e.head, e.tail, h.key AS head_key, t.key AS tail_key, h.type::VARCHAR AS head_type,"
        " t.type::VARCHAR AS tail_type"
    )
    for number, relation in enumerate(schema.relations):
        progress("edges", number, len(schema.relations))
        query = f"{_edges(ends, edges, form)} WHERE e.relation = {literal(relation.name)}"
        writer.copy(query, place / "edges" / partition("relation", relation.name) / "part-0")
    progress("edges", len(schema.relations), len(schema.relations))
    progress("texts", 0, 1)
    query = (
        "SELECT x.id, n.key, n.type::VARCHAR AS type, x.field, x.position, x.text FROM texts x JOIN nodes n USING (id)"
    )
    writer.copy(query, place / "texts" / "part-0", _TEXT_ROWS)
    writer.copy("SELECT id, type::VARCHAR AS type FROM node_types", place / "node_types" / "part-0")
    for name in schema.extra_tables:
        writer.copy(f"FROM {quote(name)}", place / name / "part-0")
    progress("texts", 1, 1)


def write_flat(writer: Writer, schema: Schema, place: Path, progress: Progress) -> None:
    """Write the flat layout into the folder ``place``."""
    form = writer.form
    progress("nodes", 0, 1)
    attributes = merged_attributes(t.attributes for t in schema.node_types)
    parts = [
        _nodes(node_type, "n.id, n.type::VARCHAR AS type, n.key, n.name", attributes, form)
        for node_type in schema.node_types
        if node_type.count
    ]
    # Ids are renumbered in row order.
    writer.copy(f"SELECT * EXCLUDE (id) FROM ({' UNION ALL '.join(parts)}) ORDER BY id", place / "nodes")
    progress("nodes", 1, 1)
    progress("edges", 0, 1)
    ends = (
        "h.type::VARCHAR AS head_type, h.key AS head, e.relation::VARCHAR AS relation, t.type::VARCHAR AS tail_type,"
        " t.key AS tail"
    )
    writer.copy(_edges(ends, merged_attributes(r.attributes for r in schema.relations), form), place / "edges")
    progress("edges", 1, 1)
    progress("texts", 0, 1)
    query = "SELECT n.type::VARCHAR AS type, n.key, x.field, x.text FROM texts x JOIN nodes n USING (id)"
    several = writer.tables.rows("SELECT 1 FROM texts WHERE position > 0 LIMIT 1")
    # Sorting moves all texts, so sort only if a node has several texts of a field, whose order is the file's.
    order = " ORDER BY x.id, x.field, x.position" if several else ""
    writer.copy(query + order, place / "texts", _TEXT_ROWS)
    for name in schema.extra_tables:
        writer.copy(f"FROM {quote(name)}", place / name)
    progress("texts", 1, 1)


def partition(column: str, value: str) -> str:
    """Return the name of a partition's folder, escaped as Hive and Spark do (``type=gene%2Fprotein``).

    They decode byte by byte, so non-ASCII characters are not escaped.
    """
    return f"{column}={_UNSAFE.sub(lambda match: f'%{ord(match[0]):02X}', value)}"


_UNSAFE = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{}\[\]^<>|]""")


def _nodes(node_type: NodeType, own: str, attributes: Sequence[Attribute], form: FileForm) -> str:
    """Return the nodes of a primary type. A type's table has all attributes of its nodes, so one join is enough."""
    lists = [
        f"{form.value(column, 'VARCHAR[]')} AS {name}"
        for column, name in (("n.aliases", "aliases"), ("o.types", "types"))
    ]
    columns = [present(a, node_type.attributes, "a", form.value) for a in attributes]
    within = f"id BETWEEN {node_type.first} AND {node_type.last}"
    others = (
        "LEFT JOIN (SELECT id, list(type::VARCHAR ORDER BY type) AS types FROM node_types"
        f" WHERE {within} GROUP BY id) o ON o.id = n.id"
    )
    table = f" LEFT JOIN {quote(node_type.table)} a ON a.id = n.id" if node_type.attributes else ""
    return f"SELECT {', '.join([own, *lists, *columns])} FROM nodes n {others}{table} WHERE n.{within}"


def _edges(ends: str, attributes: Sequence[Attribute], form: FileForm) -> str:
    taken = {name.casefold() for name in re.findall(r"\w+", ends)}
    columns = []
    for attribute in attributes:
        name = attribute.name
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        columns.append(present(attribute, attributes, "e", form.value, name))
    joins = "edges e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
    return f"SELECT {', '.join([ends, *columns])} FROM {joins}"
