"""The tables ``nodes``, ``edges`` and ``texts`` of a KB with a delta applied; all in SQL, in the staging database.

In:  ``old``, the live tables attached, and ``given_nodes``, ``given_edges``, ``given_texts``, ``given_delete``.
Out: the tables that :mod:`kbkit.ingestion.stage` takes from any recipe. Nodes keep their order, new ones come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError
from kbkit.ingestion.stage import EDGE_COLUMNS, NODE_COLUMNS, TEXT_COLUMNS, infer, own_name
from kbkit.schema import Attribute, Schema, literal, merged_attributes, quote

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

# Lists arrive as text from CSV, and as lists from Parquet and JSON.
_AS_LIST = """
CREATE MACRO as_list(value) AS
  CASE WHEN typeof(value) LIKE '%[]' THEN value::VARCHAR[] ELSE string_split(value::VARCHAR, '|') END"""


def apply(con: Connection, schema: Schema, *, skip: bool) -> None:
    """Make ``nodes``, ``edges`` and ``texts``.

    Raises :class:`BadInputError` for what is to go but is not there, unless ``skip`` leaves that out.
    """
    con.execute(_AS_LIST)
    of_nodes = merged_attributes(t.attributes for t in schema.node_types)
    of_edges = merged_attributes(r.attributes for r in schema.relations)
    given = _typed(con, "nodes", NODE_COLUMNS, of_nodes)
    _typed(con, "edges", EDGE_COLUMNS, of_edges)
    _typed(con, "texts", TEXT_COLUMNS, ())
    con.execute("CREATE TABLE gone AS SELECT *, row_number() OVER () AS place FROM given_delete")
    _old_nodes(con, schema)
    _delete_nodes(con, skip=skip)
    _nodes(con, [a.name for a in of_nodes], given)
    _delete_edges(con, schema, skip=skip)
    _edges(con, [a.name for a in of_edges])
    _delete_texts(con, skip=skip)
    _texts(con)


def _typed(con: Connection, table: str, fixed: dict[str, str], known: Sequence[Attribute]) -> list[str]:
    """Make ``delta_TABLE`` of ``given_TABLE``, its rows with ``the place``; returns the attributes in it.

    Attributes that the KB has get their type, others the narrowest that all values have.
    """
    types = {row[0]: row[1] for row in con.execute(f"DESCRIBE given_{table}").fetchall()}
    raw = [name for name in types if name.casefold() not in fixed]
    of_kb = {attribute.name.casefold(): attribute for attribute in known}
    new = {n: quote(n) for n in raw if own_name(n).casefold() not in of_kb and types[n] in ("VARCHAR", "VARCHAR[]")}
    inferred = infer(con, f"given_{table}", new, types)
    parts = [f"{_fixed(name, kind)} AS {name}" for name, kind in fixed.items()]
    attributes = []
    for name in raw:
        attribute = of_kb.get(own_name(name).casefold()) or Attribute(own_name(name), inferred.get(name, types[name]))
        listed = attribute.type.endswith("[]") and types[name] == "VARCHAR"
        value = f"as_list({quote(name)})" if listed else quote(name)
        parts.append(f"{value}::{attribute.type} AS {quote(attribute.name)}")
        attributes.append(attribute.name)
    columns = ", ".join(parts)
    con.execute(
        f'CREATE TABLE delta_{table} AS SELECT {columns}, row_number() OVER () AS "the place" FROM given_{table}'
    )
    return attributes


def _fixed(name: str, kind: str) -> str:
    if kind.endswith("[]"):
        return f"as_list({name})"
    return f"nullif(trim({name}::VARCHAR), '')" if name.endswith("type") else f"{name}::{kind}"


# -- nodes ------------------------------------------------------------------------------------------------------------


def _old_nodes(con: Connection, schema: Schema) -> None:
    """``old_nodes``: the live nodes as a recipe gives them, with ``id``; all of them ``is kept``."""
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
    """Of ``old_nodes``, those that a row of ``gone`` names have ``is kept`` false now."""
    wanted = "(SELECT * FROM gone WHERE head IS NULL AND tail IS NULL AND field IS NULL)"
    _refuse(
        con,
        f"SELECT g.place, g.key FROM {wanted} g JOIN old_nodes n ON n.key = g.key WHERE g.type IS NULL"
        " GROUP BY g.place, g.key HAVING count(*) > 1",
        "nodes of several types share the key {} that is to go",
        "give the file a column 'type'",
    )
    fits = "n.key = g.key AND (g.type IS NULL OR n.type = g.type)"
    if not skip:
        _refuse(
            con,
            f"SELECT g.place, coalesce(g.key, '') FROM {wanted} g"
            f" WHERE NOT EXISTS (SELECT 1 FROM old_nodes n WHERE {fits})",
            "no node has the key {} that is to go",
            "--skip-dangling leaves such rows out",
        )
    con.execute(f'UPDATE old_nodes n SET "is kept" = false WHERE EXISTS (SELECT 1 FROM {wanted} g WHERE {fits})')


def _nodes(con: Connection, attributes: Sequence[str], given: Sequence[str]) -> None:
    """``nodes``: the live ones that are kept, with the values that the delta has for them, then the new ones."""
    # A row without a type means the node of that key.
    con.execute("""
        UPDATE delta_nodes d SET type = n.type
        FROM (SELECT key, min(type) AS type FROM old_nodes GROUP BY key HAVING count(*) = 1) n
        WHERE d.key = n.key AND d.type IS NULL""")
    _refuse(
        con,
        'SELECT "the place", key FROM delta_nodes WHERE type IS NULL AND key IN (SELECT key FROM old_nodes)',
        "nodes of several types share the key {}",
        "give the file of nodes a column 'type'",
    )
    _refuse(
        con,
        'SELECT min("the place"), key FROM delta_nodes GROUP BY type, key HAVING count(*) > 1',
        "the key {} is there more than once in the file of nodes",
        "give each node one row",
    )
    both = [name for name in ("name", "aliases", "types", *given) if name not in given or name in attributes]
    columns = [f"coalesce(d.{quote(name)}, n.{quote(name)}) AS {quote(name)}" for name in both]
    columns += [f"n.{quote(name)}" for name in attributes if name not in given]
    columns += [f"d.{quote(name)}" for name in given if name not in attributes]
    con.execute(f"""
        CREATE TABLE nodes AS SELECT * EXCLUDE (id, "the place") FROM (
          SELECT n.id, d."the place", n.type, n.key, {", ".join(columns)} FROM old_nodes n
          LEFT JOIN delta_nodes d ON d.type = n.type AND d.key = n.key WHERE n."is kept"
          UNION ALL BY NAME
          SELECT d.* FROM delta_nodes d
          WHERE NOT EXISTS (SELECT 1 FROM old_nodes n WHERE n."is kept" AND n.type = d.type AND n.key = d.key))
        ORDER BY id NULLS LAST, "the place"
        """)


# -- edges ------------------------------------------------------------------------------------------------------------


def _delete_edges(con: Connection, schema: Schema, *, skip: bool) -> None:
    """``gone_edges``: head and tail ids with the relation, both ways where that is symmetric."""
    wanted = "(SELECT * FROM gone WHERE head IS NOT NULL OR tail IS NOT NULL)"
    symmetric = ", ".join(literal(r.name) for r in schema.relations if r.symmetric) or "NULL"
    con.execute(f"""
        CREATE TABLE gone_ways AS
        SELECT g.place, h.id AS head, g.relation, t.id AS tail FROM {wanted} g
        JOIN old_nodes h ON h.key = g.head AND (g.head_type IS NULL OR h.type = g.head_type)
        JOIN old_nodes t ON t.key = g.tail AND (g.tail_type IS NULL OR t.type = g.tail_type)""")
    con.execute(
        f"INSERT INTO gone_ways SELECT place, tail, relation, head FROM gone_ways WHERE relation IN ({symmetric})"
    )
    con.execute("""
        CREATE TABLE gone_edges AS SELECT g.* FROM gone_ways g
        SEMI JOIN old.edges e ON e.head = g.head AND e.tail = g.tail AND e.relation::VARCHAR = g.relation""")
    _refuse(
        con,
        f"SELECT g.place, g.head || ' [' || g.relation || '] ' || g.tail FROM {wanted} g JOIN"
        " (SELECT place FROM gone_edges GROUP BY place"
        "  HAVING count(DISTINCT (least(head, tail), greatest(head, tail))) > 1) USING (place)",
        "several edges are {} that is to go",
        "give the file columns 'head_type' and 'tail_type'",
    )
    if not skip:
        _refuse(
            con,
            "SELECT place, concat(head, ' [', relation, '] ', tail)"
            f" FROM {wanted} WHERE place NOT IN (SELECT place FROM gone_edges)",
            "there is no edge {} that is to go",
            "--skip-dangling leaves such rows out",
        )


def _edges(con: Connection, attributes: Sequence[str]) -> None:
    """``edges``: the live ones whose ends are kept and that are not to go, then the delta's."""
    columns = "".join(f", e.{quote(name)}" for name in attributes)
    con.execute(f"""
        CREATE VIEW edges AS
        SELECT h.type AS head_type, h.key AS head, e.relation::VARCHAR AS relation, t.type AS tail_type, t.key AS tail
               {columns}
        FROM (SELECT * FROM old.edges l WHERE NOT EXISTS
              (SELECT 1 FROM gone_edges g
               WHERE g.head = l.head AND g.tail = l.tail AND g.relation = l.relation::VARCHAR)) e
        JOIN old_nodes h ON h.id = e.head AND h."is kept"
        JOIN old_nodes t ON t.id = e.tail AND t."is kept"
        UNION ALL BY NAME SELECT * EXCLUDE ("the place") FROM delta_edges""")


# -- texts ------------------------------------------------------------------------------------------------------------


def _delete_texts(con: Connection, *, skip: bool) -> None:
    """``gone_texts``: node id and field of the live texts that are to go, or that the delta has others for."""
    wanted = "(SELECT * FROM gone WHERE field IS NOT NULL AND head IS NULL AND tail IS NULL)"
    fits = "n.key = g.key AND (g.type IS NULL OR n.type = g.type)"
    there = f"SELECT g.place, n.id, g.field FROM {wanted} g JOIN old_nodes n ON {fits}"
    con.execute(f"""
        CREATE TABLE gone_texts AS
        SELECT g.place, g.id, g.field FROM ({there}) g SEMI JOIN old.texts x ON x.id = g.id AND x.field = g.field""")
    if not skip:
        _refuse(
            con,
            f"SELECT place, concat(key, ' (', field, ')') FROM {wanted}"
            " WHERE place NOT IN (SELECT place FROM gone_texts)",
            "there is no text {} that is to go",
            "--skip-dangling leaves such rows out",
        )
    con.execute("""
        INSERT INTO gone_texts SELECT d."the place", n.id, coalesce(d.field, 'text') FROM delta_texts d
        JOIN old_nodes n ON n.key = d.key AND (d.type IS NULL OR n.type = d.type)""")


def _texts(con: Connection) -> None:
    """``texts``: the live ones of nodes that are kept, but those to go; then the delta's. Several of a field stay in
    order.
    """
    con.execute("""
        CREATE VIEW texts AS SELECT * EXCLUDE (id, "the place") FROM (
          SELECT x.id, x.position AS "the place", n.type, n.key, x.field, x.text FROM old.texts x
          JOIN old_nodes n ON n.id = x.id AND n."is kept"
          WHERE NOT EXISTS (SELECT 1 FROM gone_texts g WHERE g.id = x.id AND g.field = x.field)
          UNION ALL BY NAME SELECT * FROM delta_texts)
        ORDER BY id NULLS LAST, field, "the place"
        """)


# -- errors -----------------------------------------------------------------------------------------------------------


def _refuse(con: Connection, query: str, message: str, hint: str) -> None:
    """Raise when a query (place, what) gives rows, with the first of them."""
    rows = con.execute(f"SELECT * FROM ({query}) ORDER BY 1 LIMIT 6").fetchall()
    if rows:
        shown = ", ".join(repr(what) for _, what in rows[:5]) + (", ..." if len(rows) > 5 else "")
        raise BadInputError(message.format(shown), hint)
