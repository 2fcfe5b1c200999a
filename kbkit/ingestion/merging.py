"""Merge nodes that are the same thing: apply merges to the tables of a recipe, in SQL, before they are staged.

The kept node has the names, aliases and keys of the others as aliases, their attributes where it has none, their texts
and edges. The table ``merged`` of a KB keeps what was merged, so that a source that is read again is merged again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError
from kbkit.ingestion.staging import COLUMNS
from kbkit.schema import UNTYPED, literal, quote
from kbkit.stores.table_build import staged_tables

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

MERGED = "merged"
"""The table of merges: type, key of a node that is no more, and the key of the node that it is part of."""
SAME, APART = "merge", "apart"
"""Decisions on a pair: the other node is merged into the first one, or both stay."""
Place = tuple[str, str]
"""Type and key of a node."""


@dataclass(frozen=True)
class PairDecision:
    """A decision on two nodes of one type; ``where`` it was read, for messages."""

    type: str
    key: str
    other_key: str
    decision: str
    where: str


def targets(decisions: Iterable[PairDecision]) -> dict[Place, str]:
    """Return for each node to merge the key of the node that it becomes part of.

    Merges of several pairs are combined. Raises :class:`BadInputError` for an unknown decision, and for pairs that stay
    apart but are merged through others.
    """
    into: dict[Place, str] = {}
    apart = []

    def last(kind: str, key: str) -> str:
        while (kind, key) in into:
            key = into[kind, key]
        return key

    for one in decisions:
        if one.decision not in (SAME, APART, ""):
            raise BadInputError(
                f"Unknown decision {one.decision!r} in {one.where}", f"Use {SAME} or {APART}, or leave it empty"
            )
        if one.decision == APART:
            apart.append(one)
        kept, other = last(one.type, one.key), last(one.type, one.other_key)
        if one.decision == SAME and kept != other:
            into[one.type, other] = kept
    for one in apart:
        if last(one.type, one.key) == last(one.type, one.other_key):
            message = f"{one.type} {one.key!r} and {one.other_key!r} stay apart in {one.where}, but others merge them"
            raise BadInputError(message, "Correct one of the decisions")
    return {place: last(*place) for place in into}


def new_merges(con: Connection, merges: Mapping[Place, str], known: bool) -> dict[Place, str]:
    """Return merges without those that the attached live tables have, if their table ``merged`` is ``known``.

    Raises :class:`BadInputError` for unknown nodes, and if no merge is left.
    """
    done = {}
    if known:
        done = {(kind, key): into for kind, key, into in con.execute(f"FROM old.{MERGED}").fetchall()}
    left = {place: done.get((place[0], kept), kept) for place, kept in merges.items() if place not in done}
    if not left:
        raise BadInputError("All these pairs are merged already", "Decide on other pairs")
    places = [pair for place, kept in left.items() for pair in (place, (place[0], kept))]
    kinds, keys = zip(*places, strict=True)
    missing = con.execute(
        """SELECT p.type, p.key FROM (SELECT unnest($kinds) AS type, unnest($keys) AS key) p
           WHERE NOT EXISTS (SELECT 1 FROM old.nodes n WHERE n.type::VARCHAR = p.type AND n.key = p.key) LIMIT 1""",
        {"kinds": list(kinds), "keys": list(keys)},
    ).fetchall()
    if missing:
        kind, key = missing[0]
        raise BadInputError(f"Cannot merge unknown node {kind} {key!r}", "Look for duplicates again")
    return left


def record_merges(con: Connection, merges: Mapping[Place, str], known: bool) -> None:
    """Create the table ``merged`` of old merges, those of the attached live tables if ``known``, and new ones."""
    import pyarrow as pa

    columns = {
        "type": [kind for kind, _ in merges], "key": [key for _, key in merges], "into_key": list(merges.values())
    }  # fmt: skip
    con.register("new_merges", pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}))
    old = (
        f"SELECT o.type, o.key, coalesce(n.into_key, o.into_key) AS into_key FROM old.{MERGED} o"
        " LEFT JOIN new_merges n ON n.type = o.type AND n.key = o.into_key UNION ALL "
    )
    con.execute(f"CREATE TABLE {MERGED} AS {old if known else ''}SELECT type, key, into_key FROM new_merges")
    con.unregister("new_merges")


def apply_merges(con: Connection) -> None:
    """Replace ``nodes``, ``edges`` and ``texts`` by tables in which nodes are merged as the table ``merged`` says."""
    present = staged_tables(con)
    names = [name for name in COLUMNS if name in present]
    for name in names:  # all before any is dropped: one may be a view of another
        copy = f"CREATE TABLE {quote(f'{name} before merging')} AS"
        con.execute(f'{copy} SELECT *, row_number() OVER () AS "the row" FROM {name}')
    for name in names:
        con.execute(f"DROP {present[name]} {name}")
    for name in names:
        source = quote(f"{name} before merging")
        columns = [row[0] for row in con.execute(f"DESCRIBE {source}").fetchall() if row[0] != "the row"]
        {"nodes": _merge_nodes, "edges": _merge_edges, "texts": _merge_texts}[name](con, source, columns)
        con.execute(f"DROP TABLE {source}")


def _fixed(table: str, columns: Sequence[str]) -> dict[str, str]:
    """Return the fixed columns of a table as SQL expressions, NULL for missing ones."""
    present = {name.casefold(): name for name in columns}
    return {
        name: f"r.{quote(present[name])}::{kind}" if name in present else f"NULL::{kind}"
        for name, kind in COLUMNS[table].items()
    }


def _others(table: str, columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name.casefold() not in COLUMNS[table]]


def _merge_nodes(con: Connection, source: str, columns: Sequence[str]) -> None:
    fixed, others = _fixed("nodes", columns), _others("nodes", columns)
    kind = f"coalesce(nullif(trim({fixed['type']}), ''), {literal(UNTYPED)})"
    listed = "".join(f", r.{quote(name)}" for name in others)
    con.execute(f"""
        CREATE TABLE marked_nodes AS
        SELECT {kind} AS type, coalesce(m.into_key, {fixed["key"]}) AS key, {fixed["key"]} AS "own key",
               {fixed["name"]} AS name, {fixed["aliases"]} AS aliases, {fixed["types"]} AS types{listed}, r."the row",
               m.into_key IS NOT NULL AS "is merged"
        FROM {source} r LEFT JOIN {MERGED} m ON m.type = {kind} AND m.key = {fixed["key"]}""")
    groups = f"SELECT type, into_key AS key FROM {MERGED}"
    order = '("is merged"::BIGINT << 50) + "the row"'
    first = "".join(f", arg_min({quote(name)}, {order}) AS {quote(name)}" for name in ["name", *others])
    further = """CASE WHEN "is merged" THEN list_concat([name, "own key"], coalesce(aliases, []))
                      ELSE coalesce(aliases, []) END"""
    plain = "".join(f", {quote(name)}" for name in others)
    con.execute(f"""
        CREATE TABLE nodes AS SELECT * EXCLUDE ("the row") FROM (
          SELECT type, key, name, aliases, types{plain}, "the row" FROM marked_nodes ANTI JOIN ({groups})
          USING (type, key)
          UNION ALL BY NAME
          SELECT type, key, list_filter(aliases, lambda a: a IS NOT NULL AND a <> name) AS aliases,
                 * EXCLUDE (type, key, aliases)
          FROM (SELECT type, key, flatten(list({further} ORDER BY {order})) AS aliases,
                       flatten(list(types ORDER BY {order}) FILTER (types IS NOT NULL)) AS types,
                       arg_min("the row", {order}) AS "the row"{first}
                FROM marked_nodes SEMI JOIN ({groups}) USING (type, key) GROUP BY type, key))
        ORDER BY "the row\"""")
    con.execute("DROP TABLE marked_nodes")


def _merge_edges(con: Connection, source: str, columns: Sequence[str]) -> None:
    """Turn the ends of edges; an edge between nodes that become one is dropped."""
    fixed, others = _fixed("edges", columns), _others("edges", columns)
    listed = "".join(f", r.{quote(name)}" for name in others)
    con.execute(f"""
        CREATE TABLE edges AS
        SELECT {fixed["head_type"]} AS head_type, coalesce(h.into_key, {fixed["head"]}) AS head,
               {fixed["relation"]} AS relation, {fixed["tail_type"]} AS tail_type,
               coalesce(t.into_key, {fixed["tail"]}) AS tail{listed}
        FROM {source} r LEFT JOIN {MERGED} h ON {_fits("h", fixed["head"], fixed["head_type"])}
        LEFT JOIN {MERGED} t ON {_fits("t", fixed["tail"], fixed["tail_type"])}
        WHERE NOT ((h.key IS NOT NULL OR t.key IS NOT NULL)
                   AND coalesce(h.into_key, {fixed["head"]}) = coalesce(t.into_key, {fixed["tail"]})
                   AND coalesce(h.type, {fixed["head_type"]}, t.type)
                       = coalesce(t.type, {fixed["tail_type"]}, h.type))
        ORDER BY r."the row\"""")


def _merge_texts(con: Connection, source: str, columns: Sequence[str]) -> None:
    fixed = _fixed("texts", columns)
    con.execute(f"""
        CREATE TABLE texts AS
        SELECT {fixed["type"]} AS type, coalesce(m.into_key, {fixed["key"]}) AS key, {fixed["field"]} AS field,
               {fixed["text"]} AS text
        FROM {source} r LEFT JOIN {MERGED} m ON {_fits("m", fixed["key"], fixed["type"])}
        ORDER BY m.key IS NOT NULL, r."the row\"""")


def _fits(alias: str, key: str, kind: str) -> str:
    return f"{alias}.key = {key} AND ({kind} IS NULL OR {alias}.type = {kind})"
