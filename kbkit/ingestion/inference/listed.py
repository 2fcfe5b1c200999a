"""Lists in cells: names of rows of another table, or of people, with signs between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import QUOTED, ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.table_link import TableLink

_SIGNS = (";", "|", QUOTED)
_FOUND = 0.9
"""Fraction of the elements that must be in the other table: nothing else says that a text is a list."""
_FEWEST = 2
_PERSON = "person"

Missing = Callable[[ProfiledTable, Sequence[str], ProfiledTable, Sequence[str]], tuple[int, int]]


def link(
    table: ProfiledTable, column: ProfiledColumn, targets: Iterable[tuple[ProfiledTable, str]], missing: Missing
) -> TableLink | None:
    """Return the link of a column of texts whose parts are values of a column of another table, all but a few, and make
    it one of lists; None if there is no such table.
    """
    signs = [sign for sign in _SIGNS if sign[0] in column.signs] if column.look in ("text", "prose") else []
    for sign in signs:
        # The cleaned value of one name in quotes lacks the quotes, which say that a comma is in the name.
        table.columns[column.name] = replace(column, look="list", separator=sign, value=column.raw or column.value)
        for other, by in targets:
            if other.columns[by].look != "text" or (other is table and by == column.name):
                continue
            lacking, distinct = missing(table, [column.name], other, [by])
            if distinct >= _FEWEST and lacking <= (1 - _FOUND) * distinct:
                return TableLink((column.name,), other.name, (by,), True, lacking, distinct)
    table.columns[column.name] = column
    return None


def people(table: ProfiledTable, links: Sequence[TableLink], types: Collection[str]) -> list[TableLink]:
    """Return the links of lists of people, such as the authors of a paper, to nodes that no table has.

    People of several roles are nodes of one type, which is none of the ``types`` of tables.
    """
    linked = {name for one in links for name in one.columns}
    roles = [c for c in table.columns.values() if c.name not in linked and names.is_role_of_persons(c.name)]
    lists = [c for c in roles if c.look == "list" and c.separator in (";", "|")]
    if not lists:
        return []
    sign = lists[0].separator
    chosen = [c for c in roles if c in lists or (c.look == "text" and set(c.signs) & {sign, ","})]
    role = names.identifier("_".join(names.subject(chosen[0].name)))
    kind = next((one for one in ((role,) if len(chosen) == 1 else (_PERSON, role)) if one not in types), "")
    if not kind:
        return []
    for column in chosen:
        table.columns[column.name] = replace(column, look="list", separator=sign)
    return [TableLink((column.name,), "", (), True, loose=kind) for column in chosen]
