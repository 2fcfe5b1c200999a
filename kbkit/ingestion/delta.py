"""Apply a delta to the tables of a KB, in SQL, in the staging database.

Input: ``old``, the attached live tables, and ``new_nodes``, ``new_edges``, ``new_texts`` and ``new_delete``. Output:
``nodes``, ``edges`` and ``texts`` as :mod:`kbkit.ingestion.staging` expects them from any recipe. Existing nodes keep
their order, new ones come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError, Option
from kbkit.errors import Part as Hint
from kbkit.ingestion.staging import COLUMNS, infer, own_name
from kbkit.schema import Attribute, Schema, literal, merged_attributes, quote

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

# Lists are text in CSV, and lists in Parquet and JSON.
_AS_LIST = """
CREATE MACRO as_list(value) AS
  CASE WHEN typeof(value) LIKE '%[]' THEN value::VARCHAR[] ELSE string_split(value::VARCHAR, '|') END"""

_SKIP = ("Use ", Option("skip_dangling"), " to skip such rows")


def apply(con: Connection, schema: Schema, *, skip: bool) -> None:
    """Create ``nodes``, ``edges`` and ``texts``.

    Raises :class:`BadInputError` for deleted rows that do not exist, unless ``skip`` ignores them.
    """
    con.execute(_AS_LIST)
    of_nodes = merged_attributes(t.attributes for t in schema.node_types)
    of_edges = merged_attributes(r.attributes for r in schema.relations)
    changed = _create_typed(con, "nodes", of_nodes)
    _create_typed(con, "edges", of_edges)
    _create_typed(con, "texts", ())
    con.execute("CREATE TABLE deleted AS SELECT *, row_number() OVER () AS row FROM new_delete")
    old_nodes(con, schema)
    _delete_nodes(con, skip=skip)
    _nodes(con, [a.name for a in of_nodes], changed)
    _delete_edges(con, schema, skip=skip)
    _edges(con, [a.name for a in of_edges])
    _delete_texts(con, skip=skip)
    _texts(con)


def _create_typed(con: Connection, table: str, known: Sequence[Attribute]) -> list[str]:
    """Create ``delta_TABLE`` from ``new_TABLE`` with the row numbers ``the row``; return its attributes.

    Attributes that the KB has keep their type, others get the narrowest that fits all values.
    """
    fixed = COLUMNS[table]
    types = {row[0]: row[1] for row in con.execute(f"DESCRIBE new_{table}").fetchall()}
    raw = [name for name in types if name.casefold() not in fixed]
    of_kb = {attribute.name.casefold(): attribute for attribute in known}
    new = {n: quote(n) for n in raw if own_name(n).casefold() not in of_kb and types[n] in ("VARCHAR", "VARCHAR[]")}
    inferred = infer(con, f"new_{table}", new, types)
    parts = [f"{_fixed(name, kind)} AS {name}" for name, kind in fixed.items()]
    attributes = []
    for name in raw:
        attribute = of_kb.get(own_name(name).casefold()) or Attribute(own_name(name), inferred.get(name, types[name]))
        listed = attribute.type.endswith("[]") and types[name] == "VARCHAR"
        value = f"as_list({quote(name)})" if listed else quote(name)
        parts.append(f"{value}::{attribute.type} AS {quote(attribute.name)}")
        attributes.append(attribute.name)
    columns = ", ".join(parts)
    con.execute(f'CREATE TABLE delta_{table} AS SELECT {columns}, row_number() OVER () AS "the row" FROM new_{table}')
    return attributes


def _fixed(name: str, kind: str) -> str:
    if kind.endswith("[]"):
        return f"as_list({name})"
    return f"nullif(trim({name}::VARCHAR), '')" if name.endswith("type") else f"{name}::{kind}"


# -- nodes ------------------------------------------------------------------------------------------------------------


def old_nodes(con: Connection, schema: Schema) -> None:
    """Create ``old_nodes``: the live nodes in the form of a recipe, with ``id`` and ``is kept`` true."""
    rich = [t for t in schema.node_types if t.attributes and t.count]
    plain = ", ".join(literal(t.name) for t in rich)
    common = 'n.id, n.type::VARCHAR AS type, n.key, n.name, n.aliases, o.types, true AS "is kept"'
    source = (
        "FROM old.nodes n LEFT JOIN"
        " (SELECT id, list(type::VARCHAR ORDER BY type) AS types FROM old.node_types GROUP BY id) o USING (id)"
    )
    parts = [
        f"SELECT {common}, a.* EXCLUDE (id, key, name) {source} JOIN old.{quote(t.table)} a USING (id)"
        f" WHERE n.id BETWEEN {t.first} AND {t.last}"
        for t in rich
    ]
    parts.append(f"SELECT {common} {source}{f' WHERE n.type NOT IN ({plain})' if rich else ''}")
    con.execute(f"CREATE TABLE old_nodes AS {' UNION ALL BY NAME '.join(parts)}")


def _delete_nodes(con: Connection, *, skip: bool) -> None:
    """Set ``is kept`` of the deleted nodes in ``old_nodes`` to false."""
    wanted = "(SELECT * FROM deleted WHERE head IS NULL AND tail IS NULL AND field IS NULL)"
    _raise_for(
        con,
        f"SELECT g.row, g.key FROM {wanted} g JOIN old_nodes n ON n.key = g.key WHERE g.type IS NULL"
        " GROUP BY g.row, g.key HAVING count(*) > 1",
        "Ambiguous deleted key {}: several types have it",
        "Add a column 'type'",
    )
    fits = "n.key = g.key AND (g.type IS NULL OR n.type = g.type)"
    if not skip:
        _raise_for(
            con,
            f"SELECT g.row, coalesce(g.key, '') FROM {wanted} g"
            f" WHERE NOT EXISTS (SELECT 1 FROM old_nodes n WHERE {fits})",
            "Cannot delete unknown node {}",
            *_SKIP,
        )
    con.execute(f'UPDATE old_nodes n SET "is kept" = false WHERE EXISTS (SELECT 1 FROM {wanted} g WHERE {fits})')


def _nodes(con: Connection, attributes: Sequence[str], changed: Sequence[str]) -> None:
    """Create ``nodes``: kept ones with the values of the delta, then new ones."""
    # A row without a type refers to the only node with that key.
    con.execute("""
        UPDATE delta_nodes d SET type = n.type
        FROM (SELECT key, min(type) AS type FROM old_nodes GROUP BY key HAVING count(*) = 1) n
        WHERE d.key = n.key AND d.type IS NULL""")
    _raise_for(
        con,
        'SELECT "the row", key FROM delta_nodes WHERE type IS NULL AND key IN (SELECT key FROM old_nodes)',
        "Ambiguous key {} in the file of nodes: several types have it",
        "Add a column 'type'",
    )
    _raise_for(
        con,
        'SELECT min("the row"), key FROM delta_nodes GROUP BY type, key HAVING count(*) > 1',
        "Duplicate key {} in the file of nodes",
        "Use one row per node",
    )
    both = [name for name in ("name", "aliases", "types", *changed) if name not in changed or name in attributes]
    columns = [f"coalesce(d.{quote(name)}, n.{quote(name)}) AS {quote(name)}" for name in both]
    columns += [f"n.{quote(name)}" for name in attributes if name not in changed]
    columns += [f"d.{quote(name)}" for name in changed if name not in attributes]
    con.execute(f"""
        CREATE TABLE nodes AS SELECT * EXCLUDE (id, "the row") FROM (
          SELECT n.id, d."the row", n.type, n.key, {", ".join(columns)} FROM old_nodes n
          LEFT JOIN delta_nodes d ON d.type = n.type AND d.key = n.key WHERE n."is kept"
          UNION ALL BY NAME
          SELECT d.* FROM delta_nodes d
          WHERE NOT EXISTS (SELECT 1 FROM old_nodes n WHERE n."is kept" AND n.type = d.type AND n.key = d.key))
        ORDER BY id NULLS LAST, "the row"
        """)


# -- edges ------------------------------------------------------------------------------------------------------------


def _delete_edges(con: Connection, schema: Schema, *, skip: bool) -> None:
    """Create ``deleted_edges``: head id, relation and tail id, in both directions for symmetric relations."""
    wanted = "(SELECT * FROM deleted WHERE head IS NOT NULL OR tail IS NOT NULL)"
    symmetric = ", ".join(literal(r.name) for r in schema.relations if r.symmetric) or "NULL"
    con.execute(f"""
        CREATE TABLE deleted_pairs AS
        SELECT g.row, h.id AS head, g.relation, t.id AS tail FROM {wanted} g
        JOIN old_nodes h ON h.key = g.head AND (g.head_type IS NULL OR h.type = g.head_type)
        JOIN old_nodes t ON t.key = g.tail AND (g.tail_type IS NULL OR t.type = g.tail_type)""")
    con.execute(
        f"INSERT INTO deleted_pairs SELECT row, tail, relation, head FROM deleted_pairs WHERE relation IN ({symmetric})"
    )
    con.execute("""
        CREATE TABLE deleted_edges AS SELECT g.* FROM deleted_pairs g
        SEMI JOIN old.edges e ON e.head = g.head AND e.tail = g.tail AND e.relation::VARCHAR = g.relation""")
    _raise_for(
        con,
        f"SELECT g.row, g.head || ' [' || g.relation || '] ' || g.tail FROM {wanted} g JOIN"
        " (SELECT row FROM deleted_edges GROUP BY row"
        "  HAVING count(DISTINCT (least(head, tail), greatest(head, tail))) > 1) USING (row)",
        "Ambiguous deleted edge {}",
        "Add columns 'head_type' and 'tail_type'",
    )
    if not skip:
        _raise_for(
            con,
            "SELECT row, concat(head, ' [', relation, '] ', tail)"
            f" FROM {wanted} WHERE row NOT IN (SELECT row FROM deleted_edges)",
            "Cannot delete unknown edge {}",
            *_SKIP,
        )


def _edges(con: Connection, attributes: Sequence[str]) -> None:
    """Create ``edges``: live ones between kept nodes except deleted ones, then those of the delta."""
    columns = "".join(f", e.{quote(name)}" for name in attributes)
    con.execute(f"""
        CREATE VIEW edges AS
        SELECT h.type AS head_type, h.key AS head, e.relation::VARCHAR AS relation, t.type AS tail_type, t.key AS tail
               {columns}
        FROM (SELECT * FROM old.edges l WHERE NOT EXISTS
              (SELECT 1 FROM deleted_edges g
               WHERE g.head = l.head AND g.tail = l.tail AND g.relation = l.relation::VARCHAR)) e
        JOIN old_nodes h ON h.id = e.head AND h."is kept"
        JOIN old_nodes t ON t.id = e.tail AND t."is kept"
        UNION ALL BY NAME SELECT * EXCLUDE ("the row") FROM delta_edges""")


# -- texts ------------------------------------------------------------------------------------------------------------


def _delete_texts(con: Connection, *, skip: bool) -> None:
    """Create ``deleted_texts``: node id and field of live texts that the delta deletes or replaces."""
    wanted = "(SELECT * FROM deleted WHERE field IS NOT NULL AND head IS NULL AND tail IS NULL)"
    fits = "n.key = g.key AND (g.type IS NULL OR n.type = g.type)"
    existing = f"SELECT g.row, n.id, g.field FROM {wanted} g JOIN old_nodes n ON {fits}"
    con.execute(f"""
        CREATE TABLE deleted_texts AS
        SELECT g.row, g.id, g.field FROM ({existing}) g SEMI JOIN old.texts x ON x.id = g.id AND x.field = g.field""")
    if not skip:
        _raise_for(
            con,
            f"SELECT row, concat(key, ' (', field, ')') FROM {wanted} WHERE row NOT IN (SELECT row FROM deleted_texts)",
            "Cannot delete unknown text {}",
            *_SKIP,
        )
    con.execute("""
        INSERT INTO deleted_texts SELECT d."the row", n.id, coalesce(d.field, 'text') FROM delta_texts d
        JOIN old_nodes n ON n.key = d.key AND (d.type IS NULL OR n.type = d.type)""")


def _texts(con: Connection) -> None:
    """Create ``texts``: live ones of kept nodes except deleted ones, then those of the delta.

    Several texts of one field keep their order.
    """
    con.execute("""
        CREATE VIEW texts AS SELECT * EXCLUDE (id, "the row") FROM (
          SELECT x.id, x.position AS "the row", n.type, n.key, x.field, x.text FROM old.texts x
          JOIN old_nodes n ON n.id = x.id AND n."is kept"
          WHERE NOT EXISTS (SELECT 1 FROM deleted_texts g WHERE g.id = x.id AND g.field = x.field)
          UNION ALL BY NAME SELECT * FROM delta_texts)
        ORDER BY id NULLS LAST, field, "the row"
        """)


# -- errors -----------------------------------------------------------------------------------------------------------


def _raise_for(con: Connection, query: str, message: str, *hint: Hint) -> None:
    """Raise if a query for (row, example) returns rows, with the first examples."""
    rows = con.execute(f"SELECT * FROM ({query}) ORDER BY 1 LIMIT 6").fetchall()
    if rows:
        examples = ", ".join(repr(example) for _, example in rows[:5]) + (", ..." if len(rows) > 5 else "")
        raise BadInputError(message.format(examples), *hint)
