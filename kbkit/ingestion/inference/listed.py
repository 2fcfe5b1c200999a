"""Texts that contain names: lists of rows of another table, with signs between them, and full names of persons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.keys import is_unique
from kbkit.ingestion.inference.looks import BRACKETED, QUOTED, ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.shared_values import SharedValues
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_SIGNS = (";", "|", QUOTED, "\n", " / ")
_FOUND = 0.9
"""Fraction of the elements that must be in the other table: nothing else says that a text is a list."""
_MOST_PAIRS = 2_000_000
"""Pairs of rows up to which names with separators in them are looked for."""
_MOST_WHOLE = 100
"""Names with the separator in them that a recipe lists."""
_FEWEST = 2
_MANY = 8
"""Different elements from which those of lists are names of rows, whatever the column is called."""
_FEWEST_NAMES = 3


def with_whole_names(
    con: Connection, table: ProfiledTable, column: ProfiledColumn, targets: Iterable[tuple[ProfiledTable, str]]
) -> ProfiledColumn:
    """Return a column of lists with the names of other rows in which the separator is, too: ``Paris, Texas``."""
    sign = "," if column.separator == QUOTED else column.separator
    quotes = column.separator == QUOTED and _has_quotes(con, table, column)  # which say where names end
    if column.look != "list" or sign not in (",", ";", "/") or column.whole or quotes:
        return column
    rows = f"SELECT DISTINCT {column.value} AS v FROM {identifier(table.name)}"
    found: set[str] = set()
    for other, by in targets:
        if other is not table and other.columns[by].look == "text" and other.rows * table.rows <= _MOST_PAIRS:
            names_in = f"SELECT {other.columns[by].value} AS k FROM {identifier(other.name)}"
            query = f"SELECT DISTINCT k FROM ({names_in}) JOIN ({rows}) ON contains(v, k) WHERE contains(k, '{sign}')"
            found |= {name for (name,) in con.execute(query).fetchall()}
    if not found or len(found) > _MOST_WHOLE:
        return column
    return replace(column, separator=sign, whole=tuple(sorted(found, key=lambda name: (-len(name), name))))


def link(
    con: Connection,
    table: ProfiledTable,
    column: ProfiledColumn,
    targets: Iterable[tuple[ProfiledTable, str]],
    shared: SharedValues,
) -> TableLink | None:
    """Return the link of a column of texts to a table, most of whose parts are values of one of ``targets``.

    The column becomes one of lists. Returns None, and leaves the column as it is, if there is no such target.
    """
    targets = list(targets)
    signs = [sign for sign in _SIGNS if sign.strip()[:1] in column.signs] if column.look in ("text", "prose") else []
    for sign in signs:
        # The cleaned value of one name in quotes lacks the quotes, which say that a comma is in the name.
        as_list = replace(column, look="list", separator=sign, value=column.raw or column.value)
        others = [(other, by) for other, by in targets if other is not table or by != column.name]
        as_list = with_whole_names(con, table, as_list, others)
        if _has_several(con, table, as_list) and (found := _link_of(con, table, as_list, others, shared)):
            return found
    table.columns[column.name] = column
    return None


def by_names(
    con: Connection,
    table: ProfiledTable,
    column: ProfiledColumn,
    targets: Iterable[tuple[ProfiledTable, str]],
    shared: SharedValues,
) -> TableLink | None:
    """Return the link of a column of lists of texts to the only one of ``targets`` with all of its elements, many; each
    must be the name of one row.
    """
    if column.look != "list":
        return None
    found = []
    for other, by in targets:
        if other.columns[by].look == "text" and (other is not table or by != column.name):
            missing, distinct = shared.missing(table, [column.name], other, [by])
            if distinct >= _MANY and not missing and not _are_shared(con, table, column, other, by):
                found.append(TableLink((column.name,), other.name, (by,), True, missing, distinct))
    return found[0] if len({link.target for link in found}) == 1 else None


def _has_quotes(con: Connection, table: ProfiledTable, column: ProfiledColumn) -> bool:
    query = f"SELECT bool_or(contains({column.value}, chr(34))) FROM {identifier(table.name)}"
    return con.execute(query).fetchall() == [(True,)]


def _has_several(con: Connection, table: ProfiledTable, column: ProfiledColumn) -> bool:
    """Return whether any value of a column of lists has several elements."""
    query = f"SELECT bool_or(len({column.elements}) > 1) FROM {identifier(table.name)}"
    return con.execute(query).fetchall() == [(True,)]


def _are_shared(con: Connection, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str) -> bool:
    """Return whether several rows of another table have the name that an element of the lists has."""
    named = f"SELECT unnest({column.elements}) FROM {identifier(table.name)}"
    rows = f"SELECT {other.columns[by].value} AS k FROM {identifier(other.name)}"
    query = f"SELECT 1 FROM ({rows}) WHERE k IN ({named}) GROUP BY k HAVING count(*) > 1 LIMIT 1"
    return bool(con.execute(query).fetchall())


def _link_of(
    con: Connection,
    table: ProfiledTable,
    column: ProfiledColumn,
    targets: Iterable[tuple[ProfiledTable, str]],
    shared: SharedValues,
) -> TableLink | None:
    """Put a column of lists in the place of that in the table, and return the link of nearly all of its elements."""
    table.columns[column.name] = column
    for other, by in targets:
        if other.columns[by].look == "text":
            lacking, distinct = shared.missing(table, [column.name], other, [by])
            most = distinct >= _FEWEST and lacking <= (1 - _FOUND) * distinct
            if most and not _are_shared(con, table, column, other, by):
                return TableLink((column.name,), other.name, (by,), True, lacking, distinct)
    return None


def bracketed(
    con: Connection,
    table: ProfiledTable,
    column: ProfiledColumn,
    targets: Iterable[tuple[ProfiledTable, str]],
    shared: SharedValues,
) -> TableLink | None:
    """Return the link of a list of names with identifiers in brackets, ``nucleus [GO:5634]``, to one of ``targets``.

    The column becomes one of identifiers. Returns None, and leaves the column as it is, if there is no such target, or
    an element without an identifier, which would be lost.
    """
    if column.separator not in (";", "|"):
        return None
    lacks = rf"len(list_filter({column.elements}, lambda x: NOT regexp_matches(x, '\[[^\[\]]+\]'))) > 0"
    if con.execute(f"SELECT 1 FROM {identifier(table.name)} WHERE {lacks} LIMIT 1").fetchall():
        return None
    others = [(other, by) for other, by in targets if other is not table]
    found = _link_of(con, table, replace(column, separator=BRACKETED), others, shared)
    if found is None:
        table.columns[column.name] = column
    return found


def full_name_link(
    con: Connection,
    table: ProfiledTable,
    column: ProfiledColumn,
    tables: Iterable[ProfiledTable],
    shared: SharedValues,
) -> TableLink | None:
    """Return the link of a column with full names of persons, which a table has in two columns; None without one."""
    if column.look != "text" or names.plain(column.name) in names.NAMES:
        return None
    for other in (other for other in tables if other is not table):
        pair = names.of_person([*other.columns], other.type)
        if pair is None or not is_unique(con, other, pair):
            continue
        for by, joint in ((pair[::-1], ", "), (pair, " ")):
            missing, distinct = shared.missing(table, [column.name], other, by, joint=joint)
            if distinct - missing >= _FEWEST_NAMES and missing <= distinct / 2:
                return TableLink((column.name,), other.name, by, False, missing, distinct, joint=joint)
    return None
