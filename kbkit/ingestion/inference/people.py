"""People whom no table describes: lists of them, and columns with the same people in several roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.shared_values import SharedValues
from kbkit.ingestion.inference.table_link import TableLink

_PERSON = "person"
_FEWEST_NAMES = 3
_LONGEST_NAME = 40
"""Mean number of characters up to which texts may be names of persons."""
_LISTS, _OF_FILE = (";", "|", ","), ("", "[")
"""Separators of lists in texts, and of lists that the file has as such."""


class _Role(NamedTuple):
    """A column of people, and whether it holds lists of them."""

    table: ProfiledTable
    column: ProfiledColumn
    lists: bool

    @property
    def repeats(self) -> bool:
        """Whether people are in several rows each."""
        return self.lists or 2 * self.column.distinct <= self.column.count


def links(
    tables: Sequence[ProfiledTable], found: Mapping[str, Sequence[TableLink]], shared: SharedValues
) -> dict[str, list[TableLink]]:
    """Return the links of lists of people, such as the authors of a paper, and of columns of the same people in several
    roles, such as the reporter and the assignee of an issue and the owner of a project, to nodes that no table has.

    People of several roles are nodes of one type, which is none of a table. ``found`` are the other links.
    """
    roles = [role for table in tables for role in _roles(table, found[table.name], shared)]
    lists = [role for role in roles if role.lists]
    same = [role for role in roles if not role.lists and any(_are_same(role, one, shared) for one in roles)]
    chosen = [role for role in roles if role in (*lists, *same)]
    if not chosen:
        return {}
    role = names.identifier("_".join(names.subject(chosen[0].column.name)))
    own = len(chosen) == 1 and names.words(chosen[0].column.name)[-1] != "by"
    types = {table.type for table in tables}
    kind = next((one for one in ((role,) if own else (_PERSON, role)) if one not in types), "")
    result: dict[str, list[TableLink]] = {}
    for table, column, is_list in chosen if kind else ():
        table.columns[column.name] = column
        result.setdefault(table.name, []).append(TableLink((column.name,), "", (), is_list, loose=kind))
    return result


def _roles(table: ProfiledTable, found: Sequence[TableLink], shared: SharedValues) -> list[_Role]:
    """Return the columns of a table that may hold people, and no link has; texts beside lists are lists, too.

    The people of a file's own lists must be fewer than the rows that have them, or in two lists each on average.
    """
    linked = {name for one in found for name in one.columns} | {*table.declared_key}
    free = [c for c in table.columns.values() if c.name not in linked and names.is_role_of_persons(c.name)]
    signs = [c.separator for c in free if c.look == "list" and c.separator in _LISTS]
    found_roles = []
    for column in free:
        beside = signs[:1] if signs[:1] != [","] and set(column.signs) & {*signs[:1], ","} else []
        listed = column.look == "list" and column.separator in (*_LISTS, *_OF_FILE)
        few = listed and column.separator in _OF_FILE
        if few and not shared.are_repeated(table, column):
            continue
        if listed:
            found_roles.append(_Role(table, column, True))
        elif column.look == "text" and beside:
            found_roles.append(_Role(table, replace(column, look="list", separator=beside[0]), True))
        elif column.look == "text" and column.length < _LONGEST_NAME and column.distinct >= _FEWEST_NAMES:
            found_roles.append(_Role(table, column, False))
    return found_roles


def _are_same(one: _Role, other: _Role, shared: SharedValues) -> bool:
    """Return whether half of the people of the column with fewer ones are in the other, too, and most repeat."""
    if one is other or not (one.repeats or other.repeats):
        return False
    pairs = [(one, other), (other, one)]
    return any(
        2 * lacking <= distinct and distinct - lacking >= _FEWEST_NAMES
        for lacking, distinct in (shared.missing(a.table, [a.column.name], b.table, [b.column.name]) for a, b in pairs)
    )
