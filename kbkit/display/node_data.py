"""A node and its neighbours as plain data, which the renderers for text, notebooks and web pages share."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Neighbor = dict[str, Any]
"""A neighbour: ``reference``, ``name``, and the attributes of the edge; parallel edges are neighbours of their own."""


TITLE = "*title"
"""In a neighbour: a title of a node without a name, made of the names that it links to. No attribute has this name."""


class FieldText(TypedDict):
    """A text of a node."""

    field: str
    text: str


class NodeProvenance(TypedDict):
    """The file of a node, if known, and when it was added and last changed (UTC)."""

    file: str | None
    added: str
    changed: str


class NeighborGroup(TypedDict):
    """Neighbours by one relation, direction (out, in) and type: their number, and those after the first ``start``.

    ``label`` is that of a relation whose name is a code such as ``P31``.
    """

    relation: str
    label: NotRequired[str]
    direction: str
    type: str
    count: int
    neighbors: list[Neighbor]
    start: NotRequired[int]


class NodeData(TypedDict):
    """A node; without ``relations`` if its neighbours were not read.

    ``title`` is that of a node whose name is only its key, a number: it has the names that the node links to.
    """

    id: int
    reference: str
    name: str
    title: NotRequired[str]
    aliases: list[str]
    other_types: list[str]
    attributes: dict[str, Any]
    attribute_labels: NotRequired[dict[str, str]]
    texts: list[FieldText]
    provenance: NotRequired[NodeProvenance]
    relations: NotRequired[list[NeighborGroup]]


def attribute_title(node: NodeData, name: str) -> str:
    """Return the name of an attribute, after its label if it has one."""
    label = node.get("attribute_labels", {}).get(name)
    return f"{label} ({name})" if label else name


def edge_attributes(neighbor: Neighbor) -> dict[str, Any]:
    """Return the attributes of the edge to a neighbour."""
    return {name: value for name, value in neighbor.items() if name not in ("reference", "name", TITLE)}


def shown_name(neighbor: Neighbor) -> str:
    """Return the title of a neighbour without a name, else its name."""
    title: str = neighbor.get(TITLE) or neighbor["name"]
    return title


def neighbors_shown(group: NeighborGroup) -> int:
    """Return how many neighbours of a group are shown or precede those shown; parallel edges lead to one."""
    return group.get("start", 0) + len({neighbor["reference"] for neighbor in group["neighbors"]})


def arrow(group: NeighborGroup) -> str:
    """Return the direction of a group as an arrow."""
    return "->" if group["direction"] == "out" else "<-"
