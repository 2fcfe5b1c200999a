"""Keys: which columns identify the rows of a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

KEY_LOOKS = ("integer", "text", "address")
_NEARLY = 0.9
"""Fraction of different values from which a column named as the identifier is the key all the same."""
_BY_NAME = 6
"""Rank of columns that end in the word for a name."""
_UNSURE = range(1, 5)
"""Ranks of columns that may just as well identify the rows of another table."""


def best_key(
    con: Connection,
    table: ProfiledTable,
    tables: Sequence[ProfiledTable],
    is_told: Callable[[ProfiledColumn], bool],
    refers: Callable[[ProfiledColumn], bool],
    is_referred: Callable[[ProfiledColumn], bool],
    *,
    sure: bool,
) -> tuple[str, ...]:
    """Return the column that identifies the rows of a table: the best named one of those whose values differ.

    ``sure``: only columns named as the identifier of this table. Others must not refer to another table: by their name,
    because the user said so (``is_told``), or by their values (``refers``). ``is_referred``: whether columns are named
    after one.
    """
    others = [other.type for other in tables if other is not table]
    named_after_others = {
        column.name
        for column in table.columns.values()
        if column.look in KEY_LOOKS and any(names.fit(column.name, other) == 3 for other in others)
    }
    first = next(iter(table.columns))
    if not sure and first in named_after_others and is_unique(con, table, [first]):
        return ()  # its rows say more about those of the other table

    person = names.of_person([*table.columns], table.type) or ()
    declared = {name for columns, target, _ in table.declared_links for name in columns if target}

    def rank_of(position: int, column: ProfiledColumn) -> int | None:
        if column.name in person or column.name in declared:
            return None  # a first or last name, which another row may have, too; another row
        if column.name in (table.spec.folder, table.spec.file):
            return None  # names of folders and files, which no row is
        rank = _key_rank(column, table, position)
        if rank == _BY_NAME and refers(column):
            return None
        if not sure and rank != 0 and column.look in KEY_LOOKS and is_referred(column):
            rank = 1
        if rank is None or (sure and rank) or column.name in named_after_others or is_told(column):
            return None
        if column.count < table.rows or column.missing or column.distinct < 0.8 * table.rows:
            return None
        foreign = rank in _UNSURE and names.is_id(column.name) and refers(column)
        return None if foreign else rank

    of_all = {
        c.name for c in table.columns.values() if c.distinct == 1 < table.rows and (c.codes or c.look == "integer")
    }
    telling = [c for c in table.columns.values() if c.name not in of_all]  # without the number of the client
    ranks = [(rank_of(position, column), column.name) for position, column in enumerate(telling)]
    ranked = sorted(((rank, name) for rank, name in ranks if rank is not None), key=lambda entry: entry[0])
    unique = next(((name,) for _, name in ranked if is_unique(con, table, [name])), ())
    if unique or not sure or not ranked:
        return unique
    name = ranked[0][1]
    before = itertools.takewhile(lambda one: one != name, table.columns)
    if any(map(names.is_id, before)):
        return ()  # the second of two identifiers, of pairs
    return (name,) if _is_nearly_unique(con, table, name) else ()


def _is_nearly_unique(con: Connection, table: ProfiledTable, name: str) -> bool:
    """Return whether a column identifies the rows but for a few, which the build then reports as duplicates."""
    query = f"SELECT count(DISTINCT {table.columns[name].value}) FROM {identifier(table.name)}"
    [(distinct,)] = con.execute(query).fetchall()
    return bool(distinct >= _NEARLY * table.rows)


def _key_rank(column: ProfiledColumn, table: ProfiledTable, position: int) -> int | None:
    """Return how likely a column is a key by its name, place and look (0: most likely; None: it is none)."""
    if column.look not in KEY_LOOKS:
        return None
    if names.is_own_id(column.name, table.type):
        return 0
    if names.is_id(column.name):
        return 1 if position == 0 else 3
    if column.look == "integer":
        return 4 if position == 0 else None
    if position == 0 or names.is_own_name(column.name, table.type):
        return 2 if position == 0 else 5
    return _BY_NAME if names.words(column.name)[-1:] in _NAMED else None


def is_unique(con: Connection, table: ProfiledTable, columns: Sequence[str]) -> bool:
    """Return whether no two rows have the same values in the columns, all of which have a value in every row."""
    values = ", ".join(table.columns[name].value for name in columns)
    if any((one := table.columns[name]).count < table.rows or one.missing for name in columns) or not table.rows:
        return False
    [(count,)] = con.execute(
        f"SELECT count(*) FROM (SELECT DISTINCT {values} FROM {identifier(table.name)})"
    ).fetchall()
    return bool(count == table.rows)


def pair_in_parent(con: Connection, table: ProfiledTable) -> tuple[str, ...]:
    """Return the columns with the parent of the rows and with their identifier in it.

    For messages, these are the chat and the number of the message.
    """
    parents = [columns[0] for columns, target, _ in table.declared_links if target and len(columns) == 1]
    own = [c.name for c in table.columns.values() if names.is_own_id(c.name, table.type) and c.look in KEY_LOOKS]
    pairs = [(parent, name) for parent in parents for name in own if {parent, name} <= set(table.columns)]
    return next((pair for pair in pairs if is_unique(con, table, pair)), ())


def pair_in_place(con: Connection, table: ProfiledTable) -> tuple[str, ...]:
    """Return the columns with the folder or the file of the rows and with their identifier, unique only within it."""
    places = [name for name in (table.spec.folder, table.spec.file) if name in table.columns]
    own = [c.name for c in table.columns.values() if c.look in KEY_LOOKS and names.is_own_id(c.name, table.type)]
    pairs = [(place, name) for place in places for name in own]
    return next((pair for pair in pairs if is_unique(con, table, pair)), ())


def pair_with_link(con: Connection, table: ProfiledTable, linked: set[str]) -> tuple[str, ...]:
    """Return two columns that identify the rows together: one links to another table, which alone does not."""
    if table.spec.folder in linked or any(is_unique(con, table, [name]) for name in linked):
        return ()
    full = _full(table)
    ordered = sorted(full, key=lambda c: not names.is_sequence(c.name))
    others = [c.name for c in ordered if _may_identify(c) or _is_coded(con, table, c)]
    pairs = ((a.name, b) for a in full for b in others if a.name in linked and a.name != b)
    return next((pair for pair in pairs if is_unique(con, table, pair)), ())


def _full(table: ProfiledTable) -> list[ProfiledColumn]:
    """Return the columns with a value in each row, except lists, the names of folders and files, and those with one
    value.
    """
    places = (table.spec.folder, table.spec.file)
    full = [c for c in table.columns.values() if c.count == table.rows and c.look != "list" and c.name not in places]
    return [c for c in full if c.distinct > 1]


def shared_pair(con: Connection, table: ProfiledTable, tables: Sequence[ProfiledTable]) -> tuple[str, ...]:
    """Return two columns that identify the rows together, if another table has columns with these names, or alike."""
    known = sorted(_full(table), key=lambda c: names.words(c.name)[-1:] in _PLACES)
    full = [c.name for c in known if _may_identify(c) or _is_coded(con, table, c)][:6]
    others = [other for other in tables if other is not table and len(other.columns) > 2]
    alone = {name for name in full if is_unique(con, table, [name])}  # which needs no other column
    pairs = itertools.combinations([name for name in full if name not in alone], 2)
    return next((p for p in pairs if is_unique(con, table, p) and any(_refer(con, o, table, p) for o in others)), ())


def named_pairs(con: Connection, table: ProfiledTable, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of ``columns`` that identify the rows of a table together, of which one is a name."""
    known = [table.columns[name] for name in columns if name in table.columns]
    named = [c.name for c in known if c.look == "text" and names.is_own_name(c.name, table.type)]
    others = [c.name for c in known if c.name not in named and _may_identify(c)]
    pairs = ((name, other) for name in named[:1] if not is_unique(con, table, [name]) for other in others)
    yield from (pair for pair in pairs if is_unique(con, table, pair))


def _refer(con: Connection, other: ProfiledTable, table: ProfiledTable, pair: Sequence[str]) -> bool:
    """Return whether another table has columns of the same names, with pairs of values most of which the table has, or
    named alike, with pairs nearly all of which it has.
    """
    same = set(pair) < set(other.columns)
    for columns in [pair] if same else alike(other, table, pair):
        [(known, every)] = con.execute(f"""
            SELECT count(*) FILTER (k IS NOT NULL), count(*)
            FROM (SELECT DISTINCT {reference(other, columns)} AS v FROM {identifier(other.name)}) a
            LEFT JOIN (SELECT {reference(table, pair)} AS k FROM {identifier(table.name)}) b ON v = k
            WHERE v IS NOT NULL""").fetchall()
        if known > (0.5 if same else _NEARLY) * every:
            return True
    return False


def alike(other: ProfiledTable, table: ProfiledTable, key: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns of another table that are named like those of a key, without those of the same names.

    ``year.key`` and ``team.key``: ``yearID`` and ``teamID``; ``teamIDwinner``, too.
    """
    found = []
    for name in key:
        looks = (c for c in other.columns.values() if c.look == table.columns[name].look)
        found.append([c.name for c in looks if _is_alike(c.name, name)])
    pairs = (pair for pair in itertools.product(*found) if len({*pair}) == len(pair) and pair != tuple(key))
    return list(itertools.islice(pairs, _MOST_ALIKE))


def _is_alike(column: str, key: str) -> bool:
    """Return whether a column is named as a key, with another word for *identifier*, or with more words around it."""
    if names.is_generic(key):
        return False
    starts = names.words(column)[: len(names.words(key))] == names.words(key) or column.startswith(key)
    return names.subject(column) == names.subject(key) or (names.is_id(key) and starts)


_MOST_ALIKE = 6
"""Pairs of columns that are compared with a key."""


def _may_identify(column: ProfiledColumn) -> bool:
    """Return whether a column can be part of a key: a text, a date, or a number that counts or identifies."""
    numbers = names.is_id(column.name) or names.is_sequence(column.name) or names.words(column.name)[-1:] in _NUMBERS
    return column.look in ("text", "date", "address") or (column.look == "integer" and numbers)


def _is_coded(con: Connection, table: ProfiledTable, column: ProfiledColumn) -> bool:
    """Return whether numbers have one length and many digits, or zeros before them: those of orders and their items."""
    if column.look != "integer" or column.kind != "VARCHAR":
        return False
    rows = f"SELECT {column.value} AS v FROM {identifier(table.name)}"
    query = f"SELECT min(length(v)) = max(length(v)), bool_or(v LIKE '0_%' OR length(v) >= 8) FROM ({rows})"
    return con.execute(query).fetchall() == [(True, True)]


_NAMED = {("name",), ("title",), ("label",), ("codename",), ("hostname",)}
_PLACES = {("position",), ("rank",)}
"""Last words of columns that say how well a row did: another one has the same place elsewhere."""
_NUMBERS = {(word,) for word in ("year", "number", "no", "nr", "line", "position", "rank", "season", "week", "round")}


def referable_columns(con: Connection, table: ProfiledTable, key: Sequence[str]) -> list[str]:
    """Return the columns by which other tables can refer to the rows: the key, and other texts without repetition."""
    result = list(key) if len(key) == 1 else []
    for column in table.columns.values():
        of_other = set(names.subject(column.name)[-1:]) & names.OTHERS and not names.fit(column.name, table.type)
        named = names.is_own_name(column.name, table.type) or names.is_id(column.name) or column.codes
        named = named and not of_other
        repeated = column.count < table.rows or column.distinct < 0.8 * table.rows
        if column.name not in result and column.look == "text" and named and not repeated:
            result += [column.name] if is_unique(con, table, [column.name]) else []
        elif column.name not in result and column.look == "text" and names.is_global_id(column.name):
            result += [column.name] if never_repeats(con, table, column) else []
    return result


def never_repeats(con: Connection, table: ProfiledTable, column: ProfiledColumn) -> bool:
    """Return whether no two rows have the same value in a column, in which most have one."""
    query = f"SELECT count({column.value}), count(DISTINCT {column.value}) FROM {identifier(table.name)}"
    [(count, distinct)] = con.execute(query).fetchall()
    return bool(2 * count > table.rows and count == distinct)


def reference(table: ProfiledTable, columns: Sequence[str], joint: str = "/") -> str:
    """Return the SQL expression of a key or of a value that refers to one: a text (of a list, one row each).

    ``joint`` is between the values of several columns.
    """
    parts = []
    for name in columns:
        column = table.columns[name]
        if column.look == "list":
            return f"unnest({column.elements})"
        value = column.value if column.kind == "VARCHAR" else f"{column.value}::VARCHAR"
        # Missing integers make pandas write 1.0, and SQLite reads 1 as 1.0 in a column of type REAL.
        parts.append(f"regexp_replace({value}, '\\.0$', '')" if column.floats or column.kind == "DOUBLE" else value)
    joined = f" || {literal(joint)} || ".join(parts)
    return joined if len(parts) == 1 else f"({joined})"
