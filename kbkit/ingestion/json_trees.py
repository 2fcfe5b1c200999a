"""Trees in JSON: records with lists of records of the same kind inside, such as comments with replies.

All records become rows beside each other, each with the identifier of the one that it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kbkit.ingestion.json_objects import IDS, NAMES, Row, free_name, identifier_in, identifiers


@dataclass(frozen=True)
class Tree:
    """The rows of a tree: the column that identifies them, and the one of the rows that they are in."""

    rows: list[dict[str, Any]]
    key: str
    parent: str


def field_of_tree(rows: Sequence[Row], name: str = "") -> str:
    """Return the field with further records of the same kind, empty if there is none.

    The records in it have such records themselves, or it is called like the records: ``name``.
    """
    own = {field for row in rows for field in row}
    for field in dict.fromkeys(field for row in rows for field in row):
        inside = [one for row in rows for one in _children(row, field)]
        deeper = field == name or any(_children(one, field) for one in inside)
        of = {other for one in inside for other in one} - {field}
        shared = of & own
        if inside and deeper and shared and 2 * len(shared) >= min(len(of), len(own) - 1):
            return field
    return ""


def _children(row: Row, field: str) -> list[dict[str, Any]]:
    value = row.get(field)
    objects = value if isinstance(value, list) else []
    return objects if all(isinstance(one, dict) for one in objects) else []


def tree(rows: Sequence[Row], field: str) -> Tree | None:
    """Return the rows of a tree with records in a field, None if nothing identifies them."""
    flat: list[dict[str, Any]] = []
    above: list[int | None] = []
    left: list[tuple[Row, int | None]] = [(row, None) for row in reversed(rows)]
    while left:
        row, parent = left.pop()
        inside = _children(row, field)
        left += [(one, len(flat)) for one in reversed(inside)]
        flat.append({name: value for name, value in row.items() if name != field or (value and not inside)})
        above.append(parent)
    fields = {name for row in flat for name in row}
    key, values = identifiers(flat)
    if key not in fields:
        key, values = free_name("path", fields), _paths(flat, above)
        if len(set(values)) < len(flat):
            return None
        flat = [{key: value, **row} for row, value in zip(flat, values, strict=True)]
    parent_field = free_name("parent", {*fields, key})
    rows_of = [{**row, parent_field: None if at is None else values[at]} for row, at in zip(flat, above, strict=True)]
    return Tree(rows_of, key, parent_field)


def _paths(rows: Sequence[Row], above: Sequence[int | None]) -> list[str]:
    """Return the names of rows after those of all that they are in; none if a row has no name."""
    named = next(
        (one for one in (*IDS, *NAMES, "text") if all(identifier_in(row.get(one)) is not None for row in rows)), ""
    )
    paths: list[str] = []
    for row, parent in zip(rows if named else (), above, strict=False):
        paths.append(str(row[named]) if parent is None else f"{paths[parent]}/{row[named]}")
    return paths
