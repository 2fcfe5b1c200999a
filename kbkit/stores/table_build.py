"""Builds ``tables.duckdb`` from staged tables; :mod:`kbkit.stores.tables` describes the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from kbkit.errors import BadInputError, Command
from kbkit.schema import Attribute, NodeType, Relation, Schema, literal, merged_attributes, quote
from kbkit.stores.table_schema import ATTRIBUTES_TABLE, RELATION_COLUMNS, RESERVED, TABLES, TYPE_COLUMNS, selected
from kbkit.stores.tables import FILE, NO_EXTENSIONS, statement_type

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_TYPE_TABLES = 100
"""With more types with attributes than this, one table holds them all: each table costs build time and disk blocks."""
STAGING, SPILL = "staging.duckdb", "spill"
_STAGING_MEMORY = "4GB"  # larger sources spill to disk
WITHOUT_LOG = "RECOVERY_MODE no_wal_writes"
"""Attach a database whose statements are not logged and synced one by one: an interrupted build is discarded."""


# -- staging ----------------------------------------------------------------------------------------------------------


def connect_staging(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a database in the build folder to load sources into; it spills there and installs no extensions."""
    con = _instance(folder)
    con.execute(f"ATTACH {literal(str(folder / STAGING))} AS staging ({WITHOUT_LOG})")
    con.execute("USE staging; SET enable_progress_bar = false")
    return con


def _instance(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to the instance of DuckDB for a build folder: the same one while any is open."""
    spill = {"temp_directory": str(folder / SPILL), "memory_limit": _STAGING_MEMORY}
    return duckdb.connect(f":memory:{folder}", config={**NO_EXTENSIONS, **spill})


def built_database(staging: duckdb.DuckDBPyConnection, folder: Path) -> duckdb.DuckDBPyConnection:
    """Close the staging database of a build folder, and return a connection with the tables of :func:`build` as ``kb``.

    Both are of one instance of DuckDB, which takes longer to start than a small table to load. The temporary tables of
    the closed connection are gone.
    """
    con = _instance(folder)
    try:
        staging.close()
        con.execute(f"DETACH staging; ATTACH {literal(str(folder / FILE))} AS kb (READ_ONLY)")
    except BaseException:
        con.close()  # the error may hold it, and the next build of this folder would find its databases
        raise
    return con


def staged_tables(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the tables and views of a staging database (``TABLE`` or ``VIEW`` by name), without those of the live KB.

    The live KB is attached as ``old``, if at all.
    """
    query = " UNION ALL ".join(
        f"SELECT {kind}_name, '{kind.upper()}' FROM duckdb_{kind}s() WHERE database_name <> 'old' AND NOT internal"
        for kind in ("table", "view")
    )
    return dict(con.execute(query).fetchall())


def allow_only(
    con: duckdb.DuckDBPyConnection, folders: Sequence[Path], paths: Sequence[Path], whole: Sequence[Path] = ()
) -> None:
    """Restrict a connection to the files ``paths``, the tables in ``folders`` and all files in ``whole``."""
    endings = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
    own = [folder / (FILE + ending) for folder in folders for ending in endings]
    listed = ", ".join(literal(str(path)) for path in (*own, *paths))
    con.execute(f"SET allowed_paths = [{listed}]")
    con.execute(f"SET allowed_directories = [{', '.join(literal(str(folder) + '/') for folder in whole)}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")


_LOADING = (
    "SELECT", "CREATE", "CREATE_FUNC", "INSERT", "UPDATE", "DELETE", "MERGE_INTO", "ALTER", "DROP", "SET",
    "VARIABLE_SET", "ANALYZE", "TRANSACTION", "MULTI",
)  # fmt: skip
"""Statements of a recipe. Others can write files or open databases; DuckDB lets both happen to files it may read."""


def run_script(con: duckdb.DuckDBPyConnection, text: str, path: Path) -> None:
    """Run the SQL of a recipe, which reads its sources and makes tables; ``path`` is its file.

    Raises :class:`BadInputError` for a statement that does more.
    """
    statements = con.extract_statements(text)
    for statement in statements:
        kind = statement_type(statement)
        name = kind.name if kind is not None else "This statement"
        if name not in _LOADING or (name == "MULTI" and "copy" in statement.query.lower()):
            message = f"{path}: {name.replace('_', ' ')} is not allowed: a recipe can only read its files"
            raise BadInputError(message, "To write files, use ", Command("export"), " on the KB")
    for statement in statements:
        con.execute(statement)


def write_lines(con: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write the only column of a query to a gzipped file, one line per row, without quoting."""
    con.execute(
        f"COPY ({query}) TO {literal(str(path))} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '',"
        " DELIMITER '\x01', COMPRESSION gzip)"
    )


def table_names(
    con: duckdb.DuckDBPyConnection, names: Sequence[str], taken: Sequence[str], prefix: str, extra: Sequence[str] = ()
) -> list[str]:
    """Return SQL names for types or relations: their own, or with ``prefix`` (and a number) if taken or reserved.

    The names of ``extra`` tables are reserved too.
    """
    keywords = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    used = {name.casefold() for name in (*taken, *RESERVED, *extra)} | {
        word for (word,) in con.execute(keywords).fetchall()
    }
    result = []
    for name in names:
        table, number = name, 1
        while table.casefold() in used:
            table = f"{prefix}{name}" if number == 1 else f"{prefix}{name}_{number}"
            number += 1
        used.add(table.casefold())
        result.append(table)
    return result


# -- building ---------------------------------------------------------------------------------------------------------


def build(staging: duckdb.DuckDBPyConnection, folder: Path, schema: Schema) -> dict[str, int]:
    """Write ``tables.duckdb`` from the staged ``kb_nodes``, ``kb_sorted_edges``, ``kb_texts`` and ``kb_node_types``.

    Returns the number of rows of each, which the other stores are checked against.
    """
    staging.execute(f"ATTACH {literal(str(folder / FILE))} AS kb ({WITHOUT_LOG})")
    create_tables, create_views = _statements(schema)
    for statement in create_tables:
        staging.execute(statement)
    # A transaction for each of thousands of views takes longer than all views.
    staging.execute("; ".join(["BEGIN", *create_views, "COMMIT"]))
    _describe(staging, schema)
    tables = ("nodes", "edges", "texts", "node_types")
    counts = staging.execute("SELECT " + ", ".join(f"(SELECT count(*) FROM kb.{name})" for name in tables)).fetchone()
    staging.execute("DETACH kb")
    assert counts is not None
    return dict(zip(tables, counts, strict=True))


def add_attribute(path: Path, schema: Schema, name: str, kind: str, values: pa.Table) -> None:
    """Give nodes an attribute in an existing ``tables.duckdb``; ``values`` are ``id`` and ``value``.

    ``schema`` is the one with the attribute: its types that have it get the column, which replaces a former one;
    the others lose it.
    """
    con = duckdb.connect(config={**NO_EXTENSIONS})
    try:
        con.execute(f"ATTACH {literal(str(path))} AS kb")
        con.execute("USE kb")
        con.register("kbkit_values", values)
        found = con.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'kb'"
        ).fetchall()
        columns: dict[str, set[str]] = {}
        for table, column in found:
            columns.setdefault(table, set()).add(column)
        con.execute("BEGIN")
        in_one_table = ATTRIBUTES_TABLE in columns
        if in_one_table:
            _replace_column(con, ATTRIBUTES_TABLE, name, kind, name in columns[ATTRIBUTES_TABLE])
        for node_type in schema.node_types:
            has = any(a.name == name for a in node_type.attributes)
            had = name in columns[node_type.table]
            if in_one_table and (has or had):
                con.execute(f"DROP VIEW {quote(node_type.table)}")
                con.execute(_type_statement(node_type, True))
            elif has and len(node_type.attributes) == 1 and not had:  # a view so far
                con.execute(f"DROP VIEW {quote(node_type.table)}")
                plain = dataclasses.replace(node_type, attributes=())
                con.execute(_type_statement(plain, False, "nodes"))
                _replace_column(con, node_type.table, name, kind, False)
            elif has or had:
                _replace_column(con, node_type.table, name, kind, had, keep=has)
        con.execute("COMMIT")
        con.execute("USE memory")
        con.execute("DETACH kb")
    finally:
        con.close()


def _replace_column(
    con: duckdb.DuckDBPyConnection, table: str, name: str, kind: str, had: bool, keep: bool = True
) -> None:
    """Write a table again with a column of the registered values in the place of the one that it had."""
    old = f"t.* EXCLUDE ({quote(name)})" if had else "t.*"
    value = f", v.value::{kind} AS {quote(name)}" if keep else ""
    con.execute(
        f"CREATE TABLE kbkit_new AS SELECT {old}{value} FROM {quote(table)} t"
        " LEFT JOIN kbkit_values v USING (id) ORDER BY t.id"
    )
    con.execute(f"DROP TABLE {quote(table)}")
    con.execute(f"ALTER TABLE kbkit_new RENAME TO {quote(table)}")


def _statements(schema: Schema) -> tuple[list[str], list[str]]:
    """Return the statements that create the tables, and those that create the views of types and relations."""
    tables = [
        f"CREATE TYPE kb.{name} AS ENUM ({', '.join(literal(value.name) for value in values)})"
        for name, values in (("node_type", schema.node_types), ("relation_name", schema.relations))
    ]
    edge_attributes = _listed(a for r in schema.relations for a in r.attributes)
    columns = selected(TABLES["edges"], enums="kb") + edge_attributes
    tables += [
        _copy("nodes", "id"),
        _copy("node_types", "id, type"),
        f"CREATE TABLE kb.edges AS SELECT {columns} FROM kb_sorted_edges",
        _copy("texts", "id, field, position"),
    ]
    in_one_table = sum(bool(t.attributes) for t in schema.node_types) > _MAX_TYPE_TABLES
    if in_one_table:
        columns = selected(TYPE_COLUMNS) + _listed(merged_attributes(t.attributes for t in schema.node_types))
        tables.append(f"CREATE TABLE kb.{ATTRIBUTES_TABLE} AS SELECT {columns} FROM kb_nodes ORDER BY id")
    views: list[str] = []
    for node_type in schema.node_types:
        is_view = in_one_table or not node_type.attributes
        (views if is_view else tables).append(_type_statement(node_type, is_view))
    views += [_relation_statement(relation) for relation in schema.relations]
    tables += [f"CREATE TABLE kb.{quote(name)} AS FROM {quote(name)}" for name in schema.extra_tables]
    return tables, views


def _copy(table: str, order: str) -> str:
    """Return the statement that creates a table from its staged one."""
    columns = selected(TABLES[table], enums="kb")
    return f"CREATE TABLE kb.{table} AS SELECT {columns} FROM kb_{table} ORDER BY {order}"


def _listed(attributes: Iterable[Attribute]) -> str:
    """Return the distinct names of attributes as the continuation of a select list."""
    return "".join(f", {quote(name)}" for name in dict.fromkeys(a.name for a in attributes))


def _describe(staging: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """Write the tables ``types`` and ``relations``, the latter with a row for each signature."""
    import pyarrow as pa

    types = [(t.name, t.iri, t.first, t.count, t.others, t.table) for t in schema.node_types]
    relations = [
        (r.name, r.iri, s.head, s.tail, s.edges, r.symmetric, r.table) for r in schema.relations for s in r.signatures
    ]
    for table, rows in (("types", types), ("relations", relations)):
        columns = TABLES[table]
        staging.execute(f"CREATE TABLE kb.{table}({', '.join(f'{c.name} {c.type}' for c in columns)})")
        if rows:
            values = map(list, zip(*rows, strict=True))
            staging.register("kbkit_rows", pa.table(dict(zip([c.name for c in columns], values, strict=True))))
            staging.execute(f"INSERT INTO kb.{table} FROM kbkit_rows")
            staging.unregister("kbkit_rows")


def _type_statement(node_type: NodeType, is_view: bool, source: str = "kb_nodes") -> str:
    """Return the statement that creates the table or view of a type: nodes of its id range and of ``node_types``.

    A table is created from ``source``.
    """
    attributes = _listed(node_type.attributes)
    where = f"id BETWEEN {node_type.first} AND {node_type.last}"
    if node_type.others:
        others = "node_types" if is_view else "kb.node_types"
        where += f" OR id IN (SELECT id FROM {others} WHERE type = {literal(node_type.name)})"
    name, columns = quote(node_type.table), selected(TYPE_COLUMNS) + attributes
    if is_view:
        table = ATTRIBUTES_TABLE if attributes else "nodes"
        return f"CREATE VIEW kb.{name} AS SELECT {columns} FROM {table} WHERE {where}"
    return f"CREATE TABLE kb.{name} AS SELECT {columns} FROM {source} WHERE {where} ORDER BY id"


def _relation_statement(relation: Relation) -> str:
    columns = selected(RELATION_COLUMNS) + _listed(relation.attributes)
    return (
        f"CREATE VIEW kb.{quote(relation.table)} AS SELECT {columns} FROM edges"
        f" WHERE relation = {literal(relation.name)}"
    )
