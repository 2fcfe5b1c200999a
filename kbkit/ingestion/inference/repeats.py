"""What says the same again: copies of rows inside other records, and links to a row that another column refers to.

Records in JSON embed copies of other rows: a card has the objects of its labels, with their identifiers. The table of
such objects is a twin of the table of labels: links to it are links to the labels. Objects that the other table lacks
are nodes of its type, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.keys import is_unique, reference
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    from kbkit.ingestion.inference.table_link import TableLink

    Connection = duckdb.DuckDBPyConnection

_SHARED = 0.5
"""Fraction of the objects that the other table must have."""
_SOME = 0.1
"""The same fraction for tables of the same type."""
_MIRRORED = 3
"""Fewest pairs of rows that show that two links are the same."""
_TELLING = 8
"""Mean length from which equal identifiers are no coincidence."""


def without_parts(
    con: Connection, tables: Mapping[ProfiledTable, Sequence[Path]], given: Sequence[Path]
) -> tuple[list[ProfiledTable], list[str]]:
    """Return the tables without those of files all of whose rows another file with the same header has, and notes on
    these. Files that are ``given`` by name stay.
    """
    found: dict[ProfiledTable, ProfiledTable] = {}
    inside = [one for one, paths in tables.items() if not {*paths} & {*given}]
    files = [one for one in inside if not (one.spec.table or one.spec.many or one.folded) and one.rows >= _FEWEST_ROWS]
    for table in sorted(files, key=lambda one: one.rows):
        for other in (one for one in files if one is not table and one not in found and one.rows >= table.rows):
            if [*table.columns] != [*other.columns] or len(table.columns) < _FEWEST_COLUMNS:
                continue
            query = f"SELECT * FROM {identifier(table.name)} EXCEPT SELECT * FROM {identifier(other.name)}"
            if con.execute(f"SELECT count(*) FROM ({query})").fetchall() == [(0,)]:
                found[table] = other
                break
    notes = [f"Left out {one.name}: {other.name} has all of its rows" for one, other in found.items()]
    return [one for one in tables if one not in found], notes


_FEWEST_ROWS, _FEWEST_COLUMNS = 3, 4
"""Rows and columns from which equal tables are no coincidence."""


def absorb(con: Connection, tables: Sequence[ProfiledTable]) -> list[ProfiledTable]:
    """Return the tables without those that only repeat rows of others; links to these refer to the others then.

    A twin with further rows stays, with ``beyond`` set. Types lose the numbers that told them from twins.
    """
    twins: dict[ProfiledTable, tuple[ProfiledTable, str]] = {}
    embedded = [table for table in tables if _is_embedded(table) and table.rows]
    for table in sorted(embedded, key=_rank):
        others = sorted((one for one in tables if one is not table and one not in twins), key=_rank, reverse=True)
        rank = _rank(table)
        found = ((other, by) for other in others if _rank(other) > rank for by in _ids(con, table, other))
        twin = next(((other, by) for other, by in found if _is_twin(con, table, other, by)), None)
        if twin:
            twins[table] = twin
    if not twins:
        return list(tables)
    kept = [table for table in tables if table not in twins or _has_more(con, table, *twins[table])]
    for table, kind in zip(
        own := [t for t in kept if t not in twins], names.types([_plain(t) for t in own]), strict=True
    ):
        table.type = kind
    names_of = {table.name: twin for table, twin in twins.items()}
    for table in kept:
        if table in twins:
            other, by = _last(twins, table)
            table.beyond, table.type = (other.name, by), other.type
        table.declared_links = [
            (columns, *_retargeted(names_of, target, by)) for columns, target, by in table.declared_links
        ]
    for other, by in twins.values():
        other.declared_key = other.declared_key or (by,)
    return kept


def _last(twins: Mapping[ProfiledTable, tuple[ProfiledTable, str]], table: ProfiledTable) -> tuple[ProfiledTable, str]:
    other, by = twins[table]
    while other in twins:
        other, by = twins[other]
    return other, by


def _retargeted(
    twins: Mapping[str, tuple[ProfiledTable, str]], target: str, by: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    while target in twins:
        other, column = twins[target]
        target, by = other.name, (column,)
    return target, by


def _is_embedded(table: ProfiledTable) -> bool:
    """Return whether the rows are objects inside of records, with an identifier."""
    return table.spec.table.startswith("$") and "." in table.spec.table and len(table.declared_key) == 1


def _plain(table: ProfiledTable) -> Sequence[str]:
    """Return the words of a table's name, without the number that told it from a twin."""
    return table.words[:-1] if _is_embedded(table) and table.words[-1].isdigit() and table.words[1:] else table.words


def _rank(table: ProfiledTable) -> tuple[bool, int, int, str]:
    """The higher, the more a table is that of the things themselves."""
    return (not _is_embedded(table), len(table.columns), table.rows, table.name)


def _ids(con: Connection, table: ProfiledTable, other: ProfiledTable) -> list[str]:
    """Return the columns that may identify the rows of another table: its identifiers, and the key of the objects."""
    if len(other.declared_key) == 1:
        return list(other.declared_key)
    named = [one.name for one in other.columns.values() if names.is_own_id(one.name, other.type)]
    named += [name for name in table.declared_key if name in other.columns and name not in named]
    return [name for name in named if other.columns[name].look in ("text", "integer", "address")
            and is_unique(con, other, [name])]  # fmt: skip


def _is_twin(con: Connection, table: ProfiledTable, other: ProfiledTable, by: str) -> bool:
    """Return whether enough objects of a table are rows of another one, with the same values where both have any."""
    [key] = table.declared_key
    if (table.columns[key].look == "integer") != (other.columns[by].look == "integer"):
        return False
    alike = names.types([_plain(table)]) == names.types([_plain(other)])
    shared = _shared(con, table, key, other, by)
    if not shared or shared < (_SOME if alike else _SHARED) * table.rows:
        return False
    here, there = ({names.plain(name): name for name in one.columns} for one in (table, other))
    common = [(here[name], there[name]) for name in here if name in there and here[name] != key]
    same = [_agree(con, table, key, other, by, *pair) for pair in common]
    telling = table.columns[key].look != "integer" and table.columns[key].length >= _TELLING
    mostly = 2 * len(common) >= len(here) - 1 or alike
    if not mostly or False in same:
        return False
    every = shared == table.rows
    return True in same or (telling and (alike or every)) or (alike and every and shared >= _MIRRORED)


def _shared(con: Connection, table: ProfiledTable, key: str, other: ProfiledTable, by: str) -> int:
    keys = f"SELECT {reference(other, [by])} FROM {identifier(other.name)}"
    query = f"SELECT count(*) FROM {identifier(table.name)} WHERE {reference(table, [key])} IN ({keys})"
    [(count,)] = con.execute(query).fetchall()
    return int(count)


def _agree(
    con: Connection, table: ProfiledTable, key: str, other: ProfiledTable, by: str, column: str, same: str
) -> bool | None:
    """Return whether nearly all shared rows have the same value in two columns, None if they never have both."""
    if "list" in (table.columns[column].look, other.columns[same].look):
        return None
    [(equal, both)] = con.execute(f"""
        SELECT count(*) FILTER (v = w), count(*) FROM
        (SELECT {reference(table, [key])} AS k, {table.columns[column].value}::VARCHAR AS v
         FROM {identifier(table.name)})
        JOIN (SELECT {reference(other, [by])} AS k, {other.columns[same].value}::VARCHAR AS w
              FROM {identifier(other.name)}) USING (k) WHERE v IS NOT NULL AND w IS NOT NULL""").fetchall()
    return bool(equal * 10 >= both * 8) if both else None


def _has_more(con: Connection, table: ProfiledTable, other: ProfiledTable, by: str) -> bool:
    [key] = table.declared_key
    return _shared(con, table, key, other, by) < table.rows


# -- tables about the same things -------------------------------------------------------------------------------------


def is_copy(con: Connection, table: ProfiledTable, other: ProfiledTable, keys: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether the rows of a table are those of a larger one, with the same key and a text that both have.

    The ratings of films beside the films: they say more about these, and are no other things.
    """
    key, by = keys[table.name], keys[other.name]
    if table is other or len(by) != 1 or names.plain(key[0]) != names.plain(by[0]) or names.is_generic(key[0]):
        return False
    if table.columns[key[0]].look != other.columns[by[0]].look or (table.rows, table.name) >= (other.rows, other.name):
        return False
    same = copies(con, table, key, other, by)
    if not any(table.columns[name].look == "text" and table.columns[name].distinct > 1 for name in same):
        return False
    return len(same) < len(table.columns) - 1 and _shared(con, table, key[0], other, by[0]) == table.rows


def copies(
    con: Connection, table: ProfiledTable, columns: Sequence[str], other: ProfiledTable, by: Sequence[str]
) -> list[str]:
    """Return the columns of a table that only repeat those of the same name of the rows that ``columns`` refer to."""
    common = [name for name in table.columns if name in other.columns and name not in (*columns, *by)]
    if not common or any(table.columns[name].look == "list" for name in columns):
        return []
    own = ", ".join(f"{table.columns[name].value}::VARCHAR AS v{n}" for n, name in enumerate(common))
    there = ", ".join(f"{other.columns[name].value}::VARCHAR AS w{n}" for n, name in enumerate(common))
    same = ", ".join(f"bool_and(coalesce(v{n} = w{n}, v{n} IS NULL))" for n in range(len(common)))
    row = con.execute(f"""
        SELECT {same} FROM (SELECT {reference(table, columns)} AS k, {own} FROM {identifier(table.name)})
        JOIN (SELECT {reference(other, by)} AS k, {there} FROM {identifier(other.name)}) USING (k)""").fetchone()
    return [name for name, is_same in zip(common, row or (), strict=False) if is_same]


# -- links ------------------------------------------------------------------------------------------------------------


def without_repeated(
    con: Connection, table: ProfiledTable, links: Sequence[TableLink], tables: Mapping[str, ProfiledTable],
    keys: Mapping[str, tuple[str, ...]], declared: Iterable[tuple[str, ...]],
) -> list[TableLink]:  # fmt: skip
    """Return the links without those to the rows that a better column of the table refers to: a name beside the key of
    the same row, or the embedded object beside its identifier. The columns of such objects are left out.
    """
    objects = set(declared)
    kept = list(links)
    for link in links:
        for other in (one for one in kept if one is not link and one.target == link.target != ""):
            if len(link.columns) > 1 or len(other.columns) > 1 or link not in kept:
                continue
            by_name = _by_rank(link.by, keys[link.target]) > _by_rank(other.by, keys[link.target])
            if by_name and link.joint != "/" and not other.lists:
                kept.remove(link)  # whom a bill is for, beside the customer
                continue
            copied = link.by == other.by and link.columns in objects and other.columns not in objects
            if (by_name or copied) and _refer_to_same(con, table, link, other, tables[link.target]):
                kept.remove(link)
                if copied:
                    del table.columns[link.columns[0]]
                else:
                    table.names_of_others.append(link.columns[0])
    return kept


def without_roots(con: Connection, table: ProfiledTable, link: TableLink, key: Sequence[str]) -> TableLink:
    """Return the link of rows to others of the same table without that of the first message of a thread to itself: all
    rows to which others refer, refer to themselves.
    """
    if link.target != table.name or link.lists or link.by != tuple(key) or len(key) != 1:
        return link
    values = f"SELECT {reference(table, link.columns)} AS v, {reference(table, key)} AS k FROM {identifier(table.name)}"
    [(roots, selves, others)] = con.execute(f"""
        WITH rows AS ({values})
        SELECT count(DISTINCT v) FILTER (v <> k), count_if(v = k),
               count(DISTINCT v) FILTER (v <> k AND v NOT IN (SELECT k FROM rows WHERE v = k)) FROM rows""").fetchall()
    return replace(link, without_self=True) if roots and selves and not others else link


def _by_rank(by: Sequence[str], key: Sequence[str]) -> int:
    """Return the rank of columns that refer to rows: 0 the key, 1 an identifier such as an email, 2 names."""
    return 0 if tuple(by) == tuple(key) else 1 if len(by) == 1 and names.is_global_id(by[0]) else 2


def _refer_to_same(
    con: Connection, table: ProfiledTable, link: TableLink, other: TableLink, target: ProfiledTable
) -> bool:
    """Return whether the rows to which a link refers are among those of another link, for all rows that have both."""
    rows = f'(SELECT *, row_number() OVER () AS "row number" FROM {identifier(table.name)})'
    [(wrong, right)] = con.execute(f"""
        WITH a AS (SELECT "row number" AS n, {reference(table, link.columns)} AS v FROM {rows}),
             b AS (SELECT "row number" AS n, {reference(table, other.columns)} AS k FROM {rows}),
             t AS (SELECT {reference(target, link.by, link.joint)} AS v, {reference(target, other.by)} AS k
                   FROM {identifier(target.name)}),
             c AS (SELECT n, t.k FROM a JOIN t USING (v) WHERE n IN (SELECT n FROM b WHERE k IS NOT NULL))
        SELECT count(*) FILTER ((n, k) NOT IN (SELECT (n, k) FROM b WHERE k IS NOT NULL)), count(*) FROM c
        """).fetchall()
    return bool(right > 0 and not wrong)


def without_mirrors(
    con: Connection, tables: Mapping[str, ProfiledTable], links: Mapping[str, Sequence[TableLink]],
    keys: Mapping[str, tuple[str, ...]],
) -> dict[str, list[TableLink]]:  # fmt: skip
    """Return the links without mirrored ones, which join the same rows as another link, in the other direction.

    Examples are the screenings of a film beside the film of each screening, and the children of a group beside its
    parent. The columns of mirrored links become attributes.
    """
    kept = {name: list(some) for name, some in links.items()}
    every = [(name, one) for name, some in links.items() for one in some if one.target and len(one.columns) == 1]
    for name, link in sorted(every, key=lambda pair: (not pair[1].lists, -len(names.words(pair[1].columns[0])))):
        for other in [one for one in kept[link.target] if one.target == name and one is not link]:
            both = (name, link) != (link.target, other) and other.lists <= link.lists and link in kept[name]
            if both and _is_mirror(con, tables, keys, (name, link), (link.target, other)):
                kept[name].remove(link)
    return kept


def _is_mirror(
    con: Connection, tables: Mapping[str, ProfiledTable], keys: Mapping[str, tuple[str, ...]],
    link: tuple[str, TableLink], other: tuple[str, TableLink],
) -> bool:  # fmt: skip
    """Return whether two links join the same pairs of rows, in opposite directions."""
    if not keys[link[0]] or not keys[other[0]] or link[1].columns[0] in (*keys[link[0]], *other[1].by, *link[1].by):
        return False
    pairs = [_pairs(tables, keys, *one) for one in (link, other)]
    [(wrong, right)] = con.execute(f"""
        SELECT count(*) FILTER (b IS NULL OR c IS NULL), count(*) FILTER (b = c)
        FROM (SELECT DISTINCT tail AS a, head AS h, 1 AS c FROM ({pairs[0]}))
        FULL JOIN (SELECT DISTINCT head AS a, tail AS h, 1 AS b FROM ({pairs[1]})) USING (a, h)""").fetchall()
    return bool(not wrong and right >= _MIRRORED)


def _pairs(tables: Mapping[str, ProfiledTable], keys: Mapping[str, tuple[str, ...]], name: str, link: TableLink) -> str:
    """Return the query for the keys of the rows that a link joins."""
    table, target = tables[name], tables[link.target]
    own = (
        f"SELECT {reference(table, keys[name])} AS head, {reference(table, link.columns)} AS v FROM {identifier(name)}"
    )
    known = f"SELECT {reference(target, link.by)} AS v, {reference(target, keys[link.target])} AS tail"
    return f"SELECT head, tail FROM ({own}) JOIN ({known} FROM {identifier(link.target)}) USING (v)"
