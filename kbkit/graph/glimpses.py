"""What a list shows of nodes without a text: some of their neighbours, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kbkit.english.headings import relation_heading
from kbkit.graph.titles import titles

if TYPE_CHECKING:
    from kbkit.schema import Relation
    from kbkit.stores import Stores

_GROUPS, _NAMES = 2, 3
"""Maximum number of relations of a node, and of names of each."""


class _Neighbours(NamedTuple):
    """The first neighbours of a node by a relation."""

    relation: Relation
    of_head: bool
    ids: list[int]
    more: bool


def glimpses(stores: Stores, nodes: Iterable[int]) -> dict[int, str]:
    """Return for each node with neighbours the first of them: *directed: Larry Crowne; acted in: Toy Story 3, ...*."""
    rows = stores.nodes.rows(list(nodes))
    found = {node: _neighbours(stores, node, row.type) for node, row in rows.items()}
    others = stores.nodes.rows(list({other for groups in found.values() for group in groups for other in group.ids}))
    titled = titles(stores, others)
    result = {}
    for node, groups in found.items():
        parts = []
        for relation, of_head, ids, more in groups:
            kind = others[ids[0]].type
            heading = relation_heading(stores.schema, relation.name, rows[node].type, kind, of_head=of_head)
            names = [titled.get(other, others[other].name or others[other].key) for other in ids]
            parts.append(f"{heading}: {', '.join(names)}{', …' if more else ''}")
        if parts:
            result[node] = "; ".join(parts)
    return result


def _neighbours(stores: Stores, node: int, kind: str) -> list[_Neighbours]:
    groups: list[_Neighbours] = []
    for relation in stores.schema.relations:
        sides = [(True, stores.adjacency.forward, {one.head for one in relation.signatures})]
        if not relation.symmetric:
            sides.append((False, stores.adjacency.backward, {one.tail for one in relation.signatures}))
        for of_head, rows, kinds in sides:
            if kind not in kinds or len(groups) >= _GROUPS:
                continue
            ids = rows(relation.name).neighbors(node)
            if len(ids):
                groups.append(_Neighbours(relation, of_head, ids[:_NAMES].tolist(), len(ids) > _NAMES))
    return groups
