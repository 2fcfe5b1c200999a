"""SQL statements that look for contradictory data in a KB: dates in the wrong order, children older than their parents,
several values of a relation that usually has one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from kbkit.schema import Attribute, NodeType, Schema
from kbkit.stores.sql_names import identifier

_STARTS = frozenset({"born", "birth", "birthdate", "start", "started", "begin", "opened", "founded", "created", "from"})
_ENDS = frozenset({"died", "death", "deathdate", "end", "ended", "finish", "closed", "dissolved", "deleted", "to"})
_PARENTS = frozenset({"parent", "father", "mother"})
_ORDERED = ("DATE", "TIMESTAMP", "INTEGER", "BIGINT", "SMALLINT")
_MOST = 1.5
"""Edges per node up to which a relation usually has one value."""
LIMIT = 100
"""Maximum number of rows of a statement."""
_LIMIT = f"LIMIT {LIMIT}"


def statements(schema: Schema, most: float = _MOST) -> Iterator[tuple[str, str]]:
    """Yield a title and a statement for each kind of contradiction that the attributes and relations allow.

    A relation with up to ``most`` edges per node usually has one value.
    """
    yield from itertools.islice(_wrong_order(schema), 1)
    yield from itertools.islice(_older_children(schema), 1)
    yield from itertools.islice(_several_values(schema, most), 1)


def _wrong_order(schema: Schema) -> Iterator[tuple[str, str]]:
    for kind in schema.node_types:
        for start, end in itertools.product(kind.attributes, kind.attributes):
            if start.type == end.type and _is_named(start, _STARTS) and _is_named(end, _ENDS):
                a, b, table = identifier(start.name), identifier(end.name), identifier(kind.table)
                text = f"SELECT id, name, {a}, {b}\nFROM {table}\nWHERE {b} < {a}\nORDER BY name\n{_LIMIT}"
                yield f"{kind.name} with {end.name} before {start.name}", text


def _older_children(schema: Schema) -> Iterator[tuple[str, str]]:
    for relation in schema.relations:
        for signature in relation.signatures:
            born = _born(schema.type(signature.head))
            if signature.head == signature.tail and _words(relation.name) & _PARENTS and born:
                table, day = identifier(schema.type(signature.head).table), identifier(born.name)
                shown = (
                    f"p.name AS {identifier(relation.name)}, p.{day} AS {identifier(f'{relation.name}_{born.name}')}"
                )
                text = (
                    f"SELECT c.id, c.name, c.{day}, {shown}\nFROM {identifier(relation.table)} r\n"
                    f"JOIN {table} c ON c.id = r.head\nJOIN {table} p ON p.id = r.tail\n"
                    f"WHERE p.{day} >= c.{day}\nORDER BY c.name\n{_LIMIT}"
                )
                yield f"{signature.head} born before their {relation.name}", text


def _several_values(schema: Schema, most: float) -> Iterator[tuple[str, str]]:
    """Yield the relations with more edges than nodes, but few more: some nodes have a second value."""
    for relation in schema.relations:
        for one in relation.signatures:
            head, tail = schema.type(one.head), schema.type(one.tail)
            if head.members < one.edges <= most * head.members and not relation.symmetric:
                text = (
                    f"SELECT h.id, h.name, list(t.name ORDER BY t.name) AS {identifier(relation.name)}\n"
                    f"FROM {identifier(relation.table)} r\nJOIN {identifier(head.table)} h ON h.id = r.head\n"
                    f"JOIN {identifier(tail.table)} t ON t.id = r.tail\n"
                    f"GROUP BY h.id, h.name\nHAVING count(*) > 1\nORDER BY h.name\n{_LIMIT}"
                )
                yield f"{head.name} with several values of {relation.name}", text


def _born(kind: NodeType) -> Attribute | None:
    return next((one for one in kind.attributes if _is_named(one, _STARTS & {"born", "birth", "birthdate"})), None)


def _is_named(attribute: Attribute, accepted: frozenset[str]) -> bool:
    return attribute.type in _ORDERED and bool(_words(attribute.name) & accepted)


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)}
