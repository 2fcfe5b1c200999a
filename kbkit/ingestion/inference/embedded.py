"""Things that a table names by identifier and name in two columns, such as the people of issues: a table of their own.

``Assignee Id`` and ``Assignee``, ``from_id`` and ``from``: each identifier has one name, and is in several rows.
Identifiers that several pairs of columns share are of things of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.keys import never_repeats
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable, profile
from kbkit.ingestion.inference.shared_values import SharedValues
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_TELLING = 8
"""Mean length from which equal identifiers in several columns are of the same thing: shorter ones may be numbers."""
_REPEATED = 0.5
_ALIKE = 0.3
_PERSON, _ID, _NAME = "person", "id", "name"
_IDS = ("id", "key")

Pair = tuple[ProfiledColumn, ProfiledColumn]


def split(con: Connection, tables: Sequence[ProfiledTable]) -> list[ProfiledTable]:
    """Return the tables, with a table for the things that a table names by identifier and name.

    The columns of names are left out of the first table; the columns of identifiers refer to the new one.
    """
    result = list(tables)
    types = {table.type for table in tables}
    shared = SharedValues(con)
    for table in tables:
        for group in _groups(con, table):
            kind = _kind(group)
            if any(_has_all(con, shared, table, group[0][0], other) for other in tables if other is not table):
                continue
            if kind not in types and not any(names.fit(one.name, of) for one, _ in group for of in types):
                types.add(kind)
                result.append(_table(con, table, group, kind))
    return result


def _has_all(
    con: Connection, shared: SharedValues, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable
) -> bool:
    """Return whether another table has a row for each text of a column, which is its key then."""
    alike = (one for one in other.columns.values() if one.look == column.look == "text" and one.count == other.rows)
    return any(
        not shared.missing(table, [column.name], other, [one.name])[0] and never_repeats(con, other, one)
        for one in alike
    )


def _groups(con: Connection, table: ProfiledTable) -> list[list[Pair]]:
    """Return the pairs of columns of a table, grouped by the kind of the things."""
    declared = {name for columns, *_ in table.declared_links for name in columns}
    by_words = {names.words(one.name): one for one in table.columns.values()}
    found: list[tuple[Pair, bool]] = []
    for column in table.columns.values():
        of = names.words(column.name)[:-1]
        name = by_words.get(of) or by_words.get((*of, _NAME))
        known = column.name in (*declared, *table.declared_key) or column.look not in ("text", "integer")
        if known or not of or names.words(column.name)[-1] not in _IDS or not name or name.look != "text":
            continue
        telling = column.length >= _TELLING or (column.look == "text" and names.words(name.name) != of)
        if telling and (repeated := _are_pairs(con, table, column, name)) is not None:
            found.append(((column, name), repeated))
    groups: list[list[Pair]] = []
    for pair, repeated in sorted(found, key=lambda one: not one[1]):
        same = next((group for group in groups if _share(con, table, group[0][0], pair[0])), None)
        if same is not None:
            same.append(pair)
        elif repeated:
            groups.append([pair])
    return groups


def _are_pairs(con: Connection, table: ProfiledTable, column: ProfiledColumn, name: ProfiledColumn) -> bool | None:
    """Return whether most identifiers are in several rows, None if some have several names."""
    values = f"{column.value} AS k, {name.value} AS v"
    [(count, distinct, pairs)] = con.execute(f"""
        SELECT count(k), count(DISTINCT k), count(DISTINCT (k, v)) FILTER (v IS NOT NULL)
        FROM (SELECT {values} FROM {identifier(table.name)}) WHERE k IS NOT NULL""").fetchall()
    return bool(distinct <= _REPEATED * count) if distinct > 1 and pairs <= distinct else None


def _share(con: Connection, table: ProfiledTable, one: ProfiledColumn, other: ProfiledColumn) -> bool:
    """Return whether two columns have some of the same identifiers."""
    a, b = (f"(SELECT DISTINCT {column.value} AS k FROM {identifier(table.name)})" for column in (one, other))
    [(shared, few)] = con.execute(f"""
        SELECT (SELECT count(*) FROM {a} JOIN {b} USING (k)),
               least((SELECT count(k) FROM {a}), (SELECT count(k) FROM {b}))""").fetchall()
    return bool(shared >= _ALIKE * few)


def _kind(group: Sequence[Pair]) -> str:
    """Return the type of things: person for several pairs or a role, else the name of the only pair."""
    subject = names.subject(group[0][0].name)
    is_role = " ".join(subject) in {*names.ROLES, *names.HEADS, *names.TAILS}
    return _PERSON if len(group) > 1 or is_role else names.identifier("_".join(subject))


def _table(con: Connection, table: ProfiledTable, group: Sequence[Pair], kind: str) -> ProfiledTable:
    """Make the table of the things of pairs of columns."""
    source = f"({table.folded})" if table.folded else identifier(table.of or table.name)
    rows = "\nUNION ALL ".join(
        f"SELECT {column.value} AS {_ID}, {name.value} AS {_NAME} FROM {source}" for column, name in group
    )
    query = f"SELECT {_ID}, any_value({_NAME}) AS {_NAME}\nFROM ({rows})\n"
    query += f"WHERE {_ID} IS NOT NULL GROUP BY {_ID} ORDER BY {_ID}"
    things = ProfiledTable(f"{table.name}_{kind}", table.spec, type=kind, words=[kind], folded=query)
    things.of, things.declared_key, things.named = table.of or table.name, (_ID,), (_NAME,)
    con.execute(f"CREATE TABLE {identifier(things.name)} AS {query}")
    profile(con, things)
    for column, name in group:
        table.columns.pop(name.name, None)
        table.declared_links = [*table.declared_links, ((column.name,), things.name, (_ID,))]
    return things
