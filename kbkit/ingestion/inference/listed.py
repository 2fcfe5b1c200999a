"""Texts that contain names: lists of rows of another table or of people, with signs between them, and full names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
_PERSON = "person"

_FEWEST_NAMES = 3
_LONGEST_NAME = 40
"""Mean number of characters up to which texts may be names of persons."""


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


def people(
    table: ProfiledTable, links: Sequence[TableLink], types: Collection[str], shared: SharedValues
) -> list[TableLink]:
    """Return the links of lists of people, such as the authors of a paper, and of columns of the same people in several
    roles, such as the reporter and the assignee of an issue, to nodes that no table has.

    People of several roles are nodes of one type, which is none of the ``types`` of tables.
    """
    linked = {name for one in links for name in one.columns}
    roles = [c for c in table.columns.values() if c.name not in linked and names.is_role_of_persons(c.name)]
    lists = [c for c in roles if c.look == "list" and c.separator in (";", "|")]
    if not lists:
        return _of_one_person(table, roles, types, shared)
    sign = lists[0].separator
    chosen = [c for c in roles if c in lists or (c.look == "text" and set(c.signs) & {sign, ","})]
    role = names.identifier("_".join(names.subject(chosen[0].name)))
    kind = next((one for one in ((role,) if len(chosen) == 1 else (_PERSON, role)) if one not in types), "")
    if not kind:
        return []
    for column in chosen:
        table.columns[column.name] = replace(column, look="list", separator=sign)
    return [TableLink((column.name,), "", (), True, loose=kind) for column in chosen]


def _of_one_person(
    table: ProfiledTable, roles: Sequence[ProfiledColumn], types: Collection[str], shared: SharedValues
) -> list[TableLink]:
    """Return the links of columns with one person each, most of whom are in several rows and in another such column."""
    named = [c for c in roles if c.look == "text" and c.length < _LONGEST_NAME and 2 * c.distinct <= c.count]
    named = [c for c in named if c.distinct >= _FEWEST_NAMES and c.name not in table.declared_key]
    same = [c for c in named if any(_are_shared(table, c, other, shared) for other in named if other is not c)]
    role = names.identifier("_".join(names.subject(same[0].name))) if same else ""
    kind = next((one for one in (_PERSON, role) if one not in types), "")
    return [TableLink((column.name,), "", (), loose=kind) for column in same if kind]


def _are_shared(table: ProfiledTable, one: ProfiledColumn, other: ProfiledColumn, shared: SharedValues) -> bool:
    """Return whether half of the values of the column with fewer ones are in the other, too."""
    pairs = [(one, other), (other, one)]
    return any(
        2 * lacking <= distinct and distinct - lacking >= _FEWEST_NAMES
        for lacking, distinct in (shared.missing(table, [a.name], table, [b.name]) for a, b in pairs)
    )
