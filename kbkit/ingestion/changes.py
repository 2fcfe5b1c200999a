"""Compare staged tables with the live ones, in SQL, and keep the provenance of nodes.

Input: ``old``, the attached live tables, and the staged ``kb_nodes``, ``kb_edges`` and ``kb_texts``. Nodes are the same
if type and key are; values of an attribute whose type changed are compared as numbers or texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.errors import plural
from kbkit.ingestion.delta import old_nodes
from kbkit.ingestion.sources import SOURCE_FILE
from kbkit.ingestion.staging import STAGED_COLUMNS
from kbkit.schema import Schema, literal, merged_attributes, quote
from kbkit.stores.table_build import staged_tables

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

PROVENANCE = "provenance"
"""The table of the file of each node, with the times when it was added and last changed."""
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL")


@dataclass(frozen=True)
class ChangeCounts:
    """Numbers of rows that were added, changed and removed."""

    added: int = 0
    changed: int = 0
    removed: int = 0

    def words(self, noun: str) -> str:
        """Return the numbers in words: ``3 nodes added, 1 changed``; empty without changes."""
        found = {name: count for name, count in vars(self).items() if count}
        first = next(iter(found), "")
        return ", ".join(
            f"{plural(count, noun) if name == first else f'{count:,}'} {name}" for name, count in found.items()
        )


@dataclass(frozen=True)
class Changes:
    """What differs between the live tables and the staged ones."""

    nodes: ChangeCounts = ChangeCounts()
    edges: ChangeCounts = ChangeCounts()
    texts: ChangeCounts = ChangeCounts()

    def __bool__(self) -> bool:
        return any(count for part in (self.nodes, self.edges, self.texts) for count in vars(part).values())

    def __str__(self) -> str:
        parts = ((self.nodes, "node"), (self.edges, "edge"), (self.texts, "text"))
        return "; ".join(filter(None, (counts.words(noun) for counts, noun in parts))) or "nothing changed"


def compare(con: Connection, old: Schema, computed: Sequence[str] = ()) -> Changes:
    """Compare the staged tables with those of the schema ``old``, without its ``computed`` attributes.

    Creates ``same_nodes`` (id, old_id), and ``touched_nodes`` (id): nodes that are new, or whose values, texts or edges
    from them changed.
    """
    if "old_nodes" not in staged_tables(con):
        old_nodes(con, old)
    con.execute(
        "CREATE TABLE same_nodes AS SELECT n.id, o.id AS old_id FROM kb_nodes n"
        " JOIN old_nodes o ON o.type = n.type AND o.key = n.key"
    )
    con.execute("CREATE TABLE touched_nodes(id INTEGER)")
    return Changes(_nodes(con, computed), _edges(con, old), _texts(con))


def _count(con: Connection, source: str) -> int:
    [(count,)] = con.execute(f"SELECT count(*) FROM {source}").fetchall()
    return int(count)


def _columns(con: Connection, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in con.execute(f"DESCRIBE {table}").fetchall()}


# -- nodes ------------------------------------------------------------------------------------------------------------


def _nodes(con: Connection, computed: Sequence[str]) -> ChangeCounts:
    fixed = (*STAGED_COLUMNS["kb_nodes"], "is kept", *computed)
    now, before = ({n: k for n, k in _columns(con, t).items() if n not in fixed} for t in ("kb_nodes", "old_nodes"))
    tests = [
        "n.name <> o.name",
        "coalesce(n.aliases, []) <> coalesce(o.aliases, [])",
        "list_sort(coalesce(t.types, [])) <> list_sort(coalesce(o.types, []))",
        *(_differ(name, now.get(name), before.get(name)) for name in dict.fromkeys((*now, *before))),
    ]
    con.execute(f"""
        INSERT INTO touched_nodes SELECT n.id FROM kb_nodes n JOIN same_nodes s USING (id)
        JOIN old_nodes o ON o.id = s.old_id
        LEFT JOIN (SELECT id, list(type ORDER BY type) AS types FROM kb_node_types GROUP BY id) t ON t.id = n.id
        WHERE {" OR ".join(tests)}""")
    changed = _count(con, "touched_nodes")
    con.execute("INSERT INTO touched_nodes SELECT id FROM kb_nodes ANTI JOIN same_nodes USING (id)")
    return ChangeCounts(
        _count(con, "touched_nodes") - changed, changed, _count(con, "old_nodes") - _count(con, "same_nodes")
    )


def _differ(name: str, now: str | None, before: str | None) -> str:
    """Return the test that an attribute differs; it may be missing on one side."""
    if now is None or before is None:
        return f"{'o' if now is None else 'n'}.{quote(name)} IS NOT NULL"
    new, old = _alike(f"n.{quote(name)}", now, before), _alike(f"o.{quote(name)}", before, now)
    return f"{new} IS DISTINCT FROM {old}"


def _alike(value: str, kind: str, other: str) -> str:
    """Return a value in a type in which it can be compared with one of another type."""
    if kind == other:
        return value
    both = all(one.startswith(_NUMBERS) or "INT" in one for one in (kind, other)) and "[" not in kind + other
    return f"{value}::{'DOUBLE' if both else 'VARCHAR'}"


# -- edges and texts --------------------------------------------------------------------------------------------------


def _edges(con: Connection, old: Schema) -> ChangeCounts:
    fixed = STAGED_COLUMNS["kb_edges"]
    now = {name: kind for name, kind in _columns(con, "kb_edges").items() if name not in fixed}
    before = {a.name: a.type for a in merged_attributes(r.attributes for r in old.relations)}
    names = list(dict.fromkeys((*now, *before)))

    def values(mine: dict[str, str], other: dict[str, str]) -> str:
        columns = (
            _alike(f"e.{quote(n)}", mine[n], other.get(n, mine[n])) if n in mine else f"NULL::{other[n]}" for n in names
        )
        return "".join(f", {value} AS {quote(name)}" for name, value in zip(names, columns, strict=True))

    con.execute(
        "CREATE TABLE new_side AS SELECT e.head, e.tail, e.relation::VARCHAR AS what"
        f"{values(now, before)} FROM kb_edges e"
    )
    con.execute(
        "CREATE TABLE old_side AS SELECT h.id AS head, t.id AS tail, e.relation::VARCHAR AS what"
        f"{values(before, now)} FROM old.edges e"
        " LEFT JOIN same_nodes h ON h.old_id = e.head LEFT JOIN same_nodes t ON t.old_id = e.tail"
    )
    return _sides(con, "head, tail, what")


def _texts(con: Connection) -> ChangeCounts:
    con.execute("CREATE TABLE new_side AS SELECT id AS head, field AS what, position, text FROM kb_texts")
    con.execute(
        "CREATE TABLE old_side AS SELECT s.id AS head, x.field AS what, x.position, x.text FROM old.texts x"
        " LEFT JOIN same_nodes s ON s.old_id = x.id"
    )
    return _sides(con, "head, what, position")


def _sides(con: Connection, place: str) -> ChangeCounts:
    """Compare two tables; rows with equal columns ``place`` on both sides changed. Drops the tables.

    The ids of the old side are NULL for removed nodes, so that all their rows are removed ones.
    """
    con.execute("CREATE TABLE added_rows AS FROM new_side EXCEPT FROM old_side")
    con.execute("CREATE TABLE removed_rows AS FROM old_side EXCEPT ALL FROM new_side")
    added, removed = (f"(SELECT DISTINCT {place} FROM {table})" for table in ("added_rows", "removed_rows"))
    changed = _count(con, f"({added} SEMI JOIN {removed} USING ({place}))")
    counts = ChangeCounts(_count(con, "added_rows") - changed, changed, _count(con, "removed_rows") - changed)
    con.execute(
        "INSERT INTO touched_nodes SELECT head FROM added_rows"
        " UNION SELECT head FROM removed_rows WHERE head IS NOT NULL"
    )
    for table in ("new_side", "old_side", "added_rows", "removed_rows"):
        con.execute(f"DROP TABLE {table}")
    return counts


# -- provenance -------------------------------------------------------------------------------------------------------


def write_provenance(con: Connection, time: str, old: Schema | None, file: str | None = None) -> None:
    """Create the table of provenance: id, file, added, changed (UTC).

    ``file`` is that of new nodes whose row has none. With ``old``, after :func:`compare`.
    """
    known = old is not None and PROVENANCE in old.extra_tables
    con.execute(f"CREATE OR REPLACE VIEW old_provenance AS {_LIVE_PROVENANCE if known else _NO_PROVENANCE}")
    if old is None:
        con.execute("CREATE TABLE same_nodes(id INTEGER, old_id INTEGER)")
        con.execute("CREATE TABLE touched_nodes(id INTEGER)")
    moment = f"TIMESTAMP {literal(time.removesuffix('Z'))}"
    con.execute(f"""
        CREATE TABLE {PROVENANCE} AS
        SELECT n.id, coalesce(n.{quote(SOURCE_FILE)}, p.file, {literal(file) if file else "NULL"}) AS file,
               coalesce(p.added, {moment}) AS added,
               CASE WHEN p.id IS NULL OR t.id IS NOT NULL THEN {moment} ELSE p.changed END AS changed
        FROM kb_nodes n LEFT JOIN same_nodes s USING (id) LEFT JOIN old_provenance p ON p.id = s.old_id
        LEFT JOIN (SELECT DISTINCT id FROM touched_nodes) t ON t.id = n.id ORDER BY n.id""")


_LIVE_PROVENANCE = f"SELECT id, file, added, changed FROM old.{PROVENANCE}"
_NO_PROVENANCE = (
    "SELECT NULL::INTEGER AS id, NULL::VARCHAR AS file, NULL::TIMESTAMP AS added, NULL::TIMESTAMP AS changed"
    " WHERE false"
)


# -- types ------------------------------------------------------------------------------------------------------------

_WORDS = {"VARCHAR": "text", "BIGINT": "whole number", "DOUBLE": "number", "DATE": "date", "BOOLEAN": "true or false"}


def retyped(old: Schema, new: Schema) -> Iterator[str]:
    """Yield a note for each attribute whose type is another one."""
    for was in old.node_types:
        kind = next((one for one in new.node_types if one.name == was.name), None)
        known = {a.name: a.type for a in kind.attributes} if kind else {}
        for a in was.attributes:
            if a.name in known and known[a.name] != a.type:
                now, before = (_WORDS.get(name, name) for name in (known[a.name], a.type))
                yield f"{was.name}.{a.name} is {now} now (before: {before})"
