"""How clearly the name of a column says that it refers to a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable

PERSON = 1.9
"""Evidence of a role, such as ``author``, in a source with a table of persons and none of authors."""


def find(
    table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, key: Sequence[str], types: Iterable[str]
) -> float:
    """Return how clearly a column's name says that it refers to another table; see :func:`names.fit`.

    The result is 1 for an identifier that fits no type. ``key`` is the key of the other table, ``types`` are those of
    all tables.
    """
    same = bool(key) and names.plain(key[0]) == names.plain(column.name) and not names.is_generic(column.name)
    whole = len(key) == 1 and names.words(column.name) == (*names.words(other.type), *names.words(key[0]))
    if len(key) == 1 and key[0] != column.name and names.with_key(column.name, key[0]):
        return 2  # a manager's Mgr_ssn: the key Ssn of employees, or of this table
    if (same or whole) and other is not table:
        return 3  # cid, or compound_cid: the key cid of compounds
    if other is table:
        parent = names.is_id(column.name) and " ".join(names.subject(column.name)) in names.PARENTS
        parent = parent or names.plain(column.name) in names.PARENTS or names.words(column.name)[:1] == ("parent",)
        return 2 if parent else min(names.fit(column.name, other.type), names.LAST_WORD)
    end = names.plain(column.name) in (*names.HEADS, *names.TAILS) and len(table.columns) > 1
    is_person = names.words(other.type)[-1:] in names.PERSONS
    if is_role(column) and is_person and not any(names.fit(column.name, one) for one in types):
        return PERSON
    short = names.is_id(column.name) and names.is_short_for(column.name, other.type)
    anything = names.is_id(column.name) and other.type in names.NODES
    anything = anything and not any(names.fit(column.name, one) for one in types)
    anything = anything and (column.look == "text" or 2 * column.distinct >= other.rows)  # 1 to 9 are in all numbers
    by_name = names.fit(column.name, other.type) or (names.LAST_WORD if short or anything else 0)
    return by_name or 2 * end or int(names.is_id(column.name) or is_role(column))


def is_role(column: ProfiledColumn) -> bool:
    """Return whether a column is named as a role that persons usually have: ``author``, ``published_by``."""
    parts = names.words(column.name)
    return (len(parts) > 1 and parts[-1] == "by") or " ".join(names.subject(column.name)) in names.ROLES
