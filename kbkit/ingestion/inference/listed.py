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

_SIGNS = (";", "|", QUOTED)
_FOUND = 0.9
"""Fraction of the elements that must be in the other table: nothing else says that a text is a list."""
_FEWEST = 2
_FEWEST_NAMES = 3


def link(
    table: ProfiledTable, column: ProfiledColumn, targets: Iterable[tuple[ProfiledTable, str]], shared: SharedValues
) -> TableLink | None:
    """Return the link of a column of texts to a table, most of whose parts are values of one of ``targets``.

    The column becomes one of lists. Returns None, and leaves the column as it is, if there is no such target.
    """
    signs = [sign for sign in _SIGNS if sign[0] in column.signs] if column.look in ("text", "prose") else []
    for sign in signs:
        # The cleaned value of one name in quotes lacks the quotes, which say that a comma is in the name.
        as_list = replace(column, look="list", separator=sign, value=column.raw or column.value)
        others = [(other, by) for other, by in targets if other is not table or by != column.name]
        if found := _link_of(table, as_list, others, shared):
            return found
    table.columns[column.name] = column
    return None


def _link_of(
    table: ProfiledTable, column: ProfiledColumn, targets: Iterable[tuple[ProfiledTable, str]], shared: SharedValues
) -> TableLink | None:
    """Put a column of lists in the place of that in the table, and return the link of nearly all of its elements."""
    table.columns[column.name] = column
    for other, by in targets:
        if other.columns[by].look == "text":
            lacking, distinct = shared.missing(table, [column.name], other, [by])
            if distinct >= _FEWEST and lacking <= (1 - _FOUND) * distinct:
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
    found = _link_of(table, replace(column, separator=BRACKETED), others, shared)
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
