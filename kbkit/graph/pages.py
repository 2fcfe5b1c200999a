"""A node's page: the node with its neighbours by relation, direction and type, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kbkit.assets.arguments import check_range, invalid
from kbkit.display.node_data import TITLE, NeighborGroup, NodeData, neighbors_shown
from kbkit.display.pages import Line, node_lines
from kbkit.graph.nodes import degrees, describe
from kbkit.graph.titles import titles
from kbkit.schema import quote

if TYPE_CHECKING:
    from kbkit.schema import Relation
    from kbkit.stores import Stores
    from kbkit.stores.adjacency import Ids

NEIGHBORS = 5
"""Default number of neighbours per group."""
_OUT, _IN = "out", "in"


@dataclass(frozen=True)
class Page:
    """A node's page: its data with groups of neighbours, the first of each, or on a page that continues another those
    after ``start``.
    """

    data: NodeData

    @property
    def links(self) -> list[str]:
        """References of the neighbours shown, in order; link number 1 is the first."""
        return [neighbor["reference"] for group in self.groups for neighbor in group["neighbors"]]

    @property
    def groups(self) -> list[NeighborGroup]:
        """The groups of neighbours."""
        return self.data.get("relations", [])

    def lines(self, width: int = 80, *, full: bool = False, numbered: bool = False) -> list[Line]:
        """Return the page as lines wrapped to ``width``. Long texts are truncated unless ``full``; ``numbered`` numbers
        the links.
        """
        return node_lines(self.data, width, full=full, numbered=numbered)

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines())

    def _repr_html_(self) -> str:
        from kbkit.display.html import node

        return node(self.data)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))


def page(stores: Stores, reference: str | int, limit: int = NEIGHBORS) -> Page:
    """Return the page of a node, with the first ``limit`` neighbours of each group."""
    node = describe(stores, reference)
    title = titles(stores, [node.id])
    data: NodeData = {**node.data, "relations": _relations(stores, node.id, limit)}
    if node.id in title:
        data["title"] = title[node.id]
    return Page(data)


def following(stores: Stores, page: Page, limit: int) -> Page:
    """Return a page with the next ``limit`` neighbours of each group of a page, without groups that have no more."""
    groups: list[NeighborGroup] = []
    for group in page.groups:
        start = neighbors_shown(group)
        if start < group["count"]:
            key = (group["relation"], group["direction"], group["type"])
            groups.append({**page_group(stores, page.data["id"], *key, limit, start), "start": start})
    empty: dict[str, Any] = {"aliases": [], "other_types": [], "attributes": {}, "texts": []}
    return Page({**page.data, **empty, "relations": groups})  # type: ignore[typeddict-item]


def page_group(
    stores: Stores, reference: str | int, relation: str, direction: str, node_type: str, limit: int, offset: int
) -> NeighborGroup:
    """See :meth:`kbkit.kb.KnowledgeBase.page_group`."""
    check_range("limit", limit, 0)
    check_range("offset", offset, 0)
    if direction not in (_OUT, _IN):
        raise invalid("direction", direction, f"Use {_OUT} or {_IN}")
    node, known, kind = stores.nodes.find(reference), stores.schema.relation(relation), stores.schema.type(node_type)
    ids = _neighbors(stores, known, direction, node)
    mine = ids[(ids >= kind.first) & (ids <= kind.last)]
    group = _Group(known, direction, kind.name, mine[offset : offset + limit].tolist(), len(mine))
    return _described(stores, node, [group])[0]


class _Group(NamedTuple):
    """Neighbours by one relation, of one type: those to show, and their number."""

    relation: Relation
    direction: str
    kind: str
    ids: list[int]
    total: int


def _neighbors(stores: Stores, relation: Relation, direction: str, node: int) -> Ids:
    adjacency = stores.adjacency
    return (adjacency.forward if direction == _OUT else adjacency.backward)(relation.name).neighbors(node)


def _relations(stores: Stores, node: int, limit: int) -> list[NeighborGroup]:
    """Return neighbours grouped by relation, direction and primary type: the count and the first ones."""
    types = stores.schema.primary_types
    lasts = np.array([t.last for t in types])
    limit = max(limit, 0)
    groups = []
    for relation, direction, _ in degrees(stores, node):
        ids = _neighbors(stores, relation, direction, node)
        kinds = np.searchsorted(lasts, ids)
        for kind in np.unique(kinds).tolist():
            mine = ids[kinds == kind]
            groups.append(_Group(relation, direction, types[kind].name, mine[:limit].tolist(), len(mine)))
    return _described(stores, node, groups)


def _described(stores: Stores, node: int, groups: Sequence[_Group]) -> list[NeighborGroup]:
    """Return groups as plain data; neighbours with parallel edges occur once for each edge."""
    shown = {i for group in groups for i in group.ids}
    names = {i: (row.key, row.name) for i, row in stores.nodes.rows(list(shown)).items()}
    titled = titles(stores, shown)
    result: list[NeighborGroup] = []
    for relation, direction, kind, ids, count in groups:
        edges = _edge_attributes(stores, relation, direction, node, ids)
        neighbors = [
            {
                "reference": f"{kind}#{names[i][0]}",
                "name": names[i][1],
                **({TITLE: titled[i]} if i in titled else {}),
                **attributes,
            }
            for i in ids
            for attributes in edges.get(i, [{}])
        ]
        result.append(
            {
                "relation": relation.name,
                **({"label": relation.label} if relation.label and _is_code(relation.name) else {}),  # type: ignore[typeddict-item]
                "direction": direction,
                "type": kind,
                "count": count,
                "neighbors": neighbors,
            }
        )
    return result


def _edge_attributes(
    stores: Stores, relation: Relation, direction: str, node: int, ids: Sequence[int]
) -> dict[int, list[dict[str, Any]]]:
    """Return the attributes of the edges to each neighbour; parallel edges are listed separately."""
    if not relation.attributes or not ids:
        return {}
    here, there = ("head", "tail") if direction == "out" else ("tail", "head")
    columns = ", ".join(quote(a.name) for a in relation.attributes)
    sql = (
        f"SELECT {there}, {columns} FROM {quote(relation.table)}"
        f" WHERE {here} = $node AND {there} IN (SELECT unnest($ids)) ORDER BY ALL LIMIT 1000"
    )
    result: dict[int, list[dict[str, Any]]] = {}
    for neighbor, *values in stores.tables.rows(sql, {"node": node, "ids": list(ids)}):
        named = zip(relation.attributes, values, strict=True)
        result.setdefault(neighbor, []).append({a.name: value for a, value in named if value is not None})
    return result


def _is_code(name: str) -> bool:
    """Return whether a relation's name is a code such as ``P31``."""
    return not any(letter.islower() for letter in name)
