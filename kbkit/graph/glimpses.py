"""What a list shows of nodes: some of their attributes and neighbours, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kbkit.answers import members
from kbkit.display.render import cell
from kbkit.english.headings import attribute_heading, figure, relation_heading
from kbkit.graph.titles import titles

if TYPE_CHECKING:
    from kbkit.schema import Relation
    from kbkit.stores import Stores

_GROUPS, _NAMES = 2, 3
"""Maximum number of relations of a node, and of names of each."""
_MORE_GROUPS, _ATTRIBUTES, _SHORT = 4, 4, 60
"""Maximum number of relations and of attributes among the facts of a node, and of characters of a value."""


class _Neighbours(NamedTuple):
    """The first neighbours of a node by a relation."""

    relation: Relation
    of_head: bool
    ids: list[int]
    more: bool


def facts(stores: Stores, nodes: Iterable[int]) -> dict[int, str]:
    """Return for each node its first short attributes and neighbours: *year 1992; was directed by: Clint Eastwood*."""
    listed = list(nodes)
    near = glimpses(stores, listed, _MORE_GROUPS) if stores.has("adjacency") else {}
    own = _attributes(stores, listed)
    return {node: "; ".join(filter(None, (own.get(node), near.get(node)))) for node in listed}


def _attributes(stores: Stores, nodes: list[int]) -> dict[int, str]:
    """Return for each node its first attributes that have short values."""
    by_type: dict[str, list[int]] = {}
    for node, found in stores.nodes.rows(nodes).items():
        by_type.setdefault(found.type, []).append(node)
    result: dict[int, str] = {}
    for kind, own in by_type.items():
        known = stores.schema.type(kind).attributes
        if not known:
            continue
        for row in members.frame(stores, np.array(sorted(own), np.int32), kind).iter_rows(named=True):
            shown = [
                f"{attribute_heading(one.label or one.name)} {text}"
                for one in known
                if row[one.name] is not None and len(text := cell(figure(one.name, row[one.name]))) <= _SHORT
            ]
            result[row["id"]] = "; ".join(shown[:_ATTRIBUTES])
    return result


def glimpses(stores: Stores, nodes: Iterable[int], groups: int = _GROUPS) -> dict[int, str]:
    """Return for each node with neighbours the first of them: *directed: Larry Crowne; acted in: Toy Story 3, ...*.

    They are those of the first ``groups`` relations that have some.
    """
    rows = stores.nodes.rows(list(nodes))
    found = {node: _neighbours(stores, node, row.type, groups) for node, row in rows.items()}
    others = stores.nodes.rows(list({other for own in found.values() for group in own for other in group.ids}))
    titled = titles(stores, others)
    result = {}
    for node, own in found.items():
        parts = []
        for relation, of_head, ids, more in own:
            kind = others[ids[0]].type
            heading = relation_heading(stores.schema, relation.name, rows[node].type, kind, of_head=of_head)
            names = [titled.get(other, others[other].name or others[other].key) for other in ids]
            parts.append(f"{heading}: {', '.join(names)}{', …' if more else ''}")
        if parts:
            result[node] = "; ".join(parts)
    return result


def _neighbours(stores: Stores, node: int, kind: str, limit: int) -> list[_Neighbours]:
    groups: list[_Neighbours] = []
    for relation in stores.schema.relations:
        sides = [(True, stores.adjacency.forward, {one.head for one in relation.signatures})]
        if not relation.symmetric:
            sides.append((False, stores.adjacency.backward, {one.tail for one in relation.signatures}))
        for of_head, rows, kinds in sides:
            if kind not in kinds or len(groups) >= limit:
                continue
            ids = rows(relation.name).neighbors(node)
            if len(ids):
                groups.append(_Neighbours(relation, of_head, ids[:_NAMES].tolist(), len(ids) > _NAMES))
    return groups
