"""Tables of records inside of records that hold the same things: they become one table.

A commit has an author and each of its comments has one, in different places; or a file has a list of authors beside the
books that repeat the identifier and the name of theirs. Whether these are the same is decided by their values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kbkit.ingestion.json_objects import IDS, NAMES, ROLES, RecordTable, identifier_in
from kbkit.ingestion.json_stubs import agreeing

_SHARED = 0.5
"""Fraction of the identifiers of the smaller table that both must have."""
_FEWEST = 2


def with_same_together(tables: Mapping[str, RecordTable]) -> dict[str, RecordTable]:
    """Return tables by their full names, without those whose rows are in another one, to which their links lead."""
    result = dict(tables)
    ranked = sorted(tables, key=_rank)
    for name in (name for name in reversed(ranked) if tables[name].key):
        for other in [other for other in ranked[: ranked.index(name)] if other in result]:
            if (joined := _together(result[other], result[name])) is not None:
                result[other] = joined
                del result[name]
                result = {one: linked(table, name, other) for one, table in result.items()}
                break
    return result


def _rank(name: str) -> tuple[bool, bool]:
    """Return how well a name says what things are: the list of a file does, the role of a person does not."""
    _, inside, part = name.partition(".")
    return inside != "", part in ROLES


def linked(table: RecordTable, old: str, new: str) -> RecordTable:
    """Return a table with links to another name of a table."""
    links = {column: (new if to == old else to, by) for column, (to, by) in table.links.items()}
    return dataclasses.replace(table, links=links) if links != table.links else table


def _together(table: RecordTable, other: RecordTable) -> RecordTable | None:
    """Return one table of two, None if they hold different things."""
    key = other.key
    if key not in IDS or table.key not in ("", key):
        return None
    rows = {one: row for row in table.rows if (one := identifier_in(row.get(key))) is not None}
    pairs = [(str(row[key]), row) for row in other.rows]
    both = [(row, rows[one]) for one, row in pairs if one in rows]
    if not rows or len(rows) < len(table.rows) or len(both) < _SHARED * min(len(rows), len(pairs)):
        return None
    named = {*NAMES} - {key} & {name for row in other.rows for name in row}
    if len(both) < min(_FEWEST, len(pairs)) or not named or not agreeing(both, {key}):
        return None
    new = {one: row for one, row in pairs if one not in rows}
    more = {one: row for one, row in pairs if one in rows and any(_lacks(rows[one], *field) for field in row.items())}
    if not new and not more:
        return dataclasses.replace(table, links={**other.links, **table.links})
    whole = [_filled(row, more.get(identifier_in(row[key]) or "", {})) for row in table.rows]
    return dataclasses.replace(table, rows=[*whole, *new.values()], key=key, links={**other.links, **table.links})


def _lacks(row: Mapping[str, Any], name: str, value: Any) -> bool:
    return value is not None and row.get(name) is None


def _filled(row: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, **{name: value for name, value in more.items() if _lacks(row, name, value)}} if more else row
