"""Titles of nodes that their names do not tell from others: made of the names that they link to, or of their keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kbkit.english.types import type_noun

if TYPE_CHECKING:
    from kbkit.stores import Stores

_NUMBERED = re.compile(r"[\W\d_]+|[0-9a-fA-F-]{32,}")
"""Keys that say nothing: numbers, also joined ones (``12-7``), and UUIDs."""
_LINKS = 3
"""Names in a title."""
_DEPTH = 2
"""Steps to a node with a name."""


def titles(stores: Stores, ids: Iterable[int]) -> dict[int, str]:
    """Return a title for each node whose name is only its key, a number: *death 7 (Lettice)*; *Ada (k12)* of namesakes.

    The names in parentheses are those of the first nodes that its own relations lead to; a node that leads to none has
    no title. Nodes of one type with equal names have their keys.
    """
    found: dict[int, str] = {}
    rows = stores.nodes.rows(list(ids))
    for node, row in rows.items():
        if row.name == row.key:
            names = _linked(stores, node, _DEPTH) if _NUMBERED.fullmatch(row.key) and stores.has("adjacency") else ()
            if names:
                found[node] = f"{type_noun(row.type)} {row.name} ({', '.join(names)})"
        elif row.name and stores.nodes.has_namesake(node):
            found[node] = f"{row.name} ({row.key})"
    return found


def _linked(stores: Stores, node: int, depth: int) -> Sequence[str]:
    """Return the names of the nodes that the node's own relations lead to; of one without a name, those beyond it."""
    names: dict[str, None] = {}
    kind = stores.nodes.row(node).type
    for relation in stores.schema.relations:
        if relation.symmetric or len(names) >= _LINKS or all(one.head != kind for one in relation.signatures):
            continue
        for other in stores.adjacency.forward(relation.name).neighbors(node)[:_LINKS].tolist():
            row = stores.nodes.row(other)
            if row.name != row.key or not _NUMBERED.fullmatch(row.key):
                names[row.name] = None
            elif depth > 1:
                names.update(dict.fromkeys(_linked(stores, other, depth - 1)))
    return list(names)[:_LINKS]
