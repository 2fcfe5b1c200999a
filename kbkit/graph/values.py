"""Values of the nodes of a drawing, by which a page sizes and colours them: neighbours, PageRank and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.answers.resolve_attributes import is_number
from kbkit.english.headings import attribute_heading
from kbkit.graph.nodes import degrees_of_all
from kbkit.schema import quote

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from kbkit.schema import NodeType
    from kbkit.stores import Stores

NEIGHBOURS, PAGERANK = "*neighbours", "*pagerank"
"""Names of computed values; no attribute has such a name."""
_WORDS = ("VARCHAR", "VARCHAR[]", "BOOLEAN")
_MAX_VALUES = 60
"""Maximum number of distinct words by which nodes are coloured; more would be a name for each node."""


@dataclass(frozen=True)
class NodeValues:
    """A value that nodes have, such as an attribute: its name, a ``heading`` in words, and its values by id.

    ``are_numbers``: the values are numbers; else they are words.
    """

    name: str
    heading: str
    are_numbers: bool
    values: Mapping[int, float | str]


def node_values(stores: Stores, nodes: pl.DataFrame, *, ranks: bool = False) -> list[NodeValues]:
    """Return the values by which ``nodes`` (id, type) differ: neighbours, with ``ranks`` PageRank, and attributes.

    Attributes of one name are one value for all types. PageRank is that of the whole KB; the first call computes it.
    """
    ids = nodes["id"].to_numpy()
    computed = [(NEIGHBOURS, "neighbours", stores.shared(degrees_of_all))]
    if ranks:
        computed.append((PAGERANK, "PageRank", stores.shared(ranks_of_all)))
    found = [
        NodeValues(name, heading, are_numbers=True, values=dict(zip(ids.tolist(), every[ids].tolist(), strict=True)))
        for name, heading, every in computed
    ]
    kinds: dict[str, tuple[str, bool]] = {}
    values: dict[str, dict[int, float | str]] = {}
    for name in nodes["type"].unique(maintain_order=True).to_list():
        node_type = stores.schema.type(name)
        _add_attributes(stores, node_type, nodes.filter(type=name)["id"].to_list(), kinds, values)
    return found + [
        NodeValues(name, kinds[name][0], kinds[name][1], given)
        for name, given in values.items()
        if len(set(given.values())) > 1 and (kinds[name][1] or len(set(given.values())) <= _MAX_VALUES)
    ]


def _add_attributes(
    stores: Stores,
    node_type: NodeType,
    ids: list[int],
    kinds: dict[str, tuple[str, bool]],
    values: dict[str, dict[int, float | str]],
) -> None:
    """Add the attributes of nodes of a type that are numbers or words; of a list, the first word."""
    chosen = [a for a in node_type.attributes if is_number(a.type) or a.type in _WORDS]
    chosen = [a for a in chosen if kinds.setdefault(a.name, _kind(a.label or a.name, a.type))[1] == is_number(a.type)]
    if not chosen:
        return
    columns = ", ".join(f"{quote(a.name)}[1]" if a.type.endswith("[]") else quote(a.name) for a in chosen)
    sql = f"SELECT id, {columns} FROM {quote(node_type.table)} WHERE id IN (SELECT unnest($ids))"
    for node, *row in stores.tables.rows(sql, {"ids": ids}):
        for attribute, value in zip(chosen, row, strict=True):
            if value is not None:
                known = float(value) if kinds[attribute.name][1] else str(value)
                values.setdefault(attribute.name, {})[node] = known


def _kind(name: str, sql_type: str) -> tuple[str, bool]:
    return attribute_heading(name), is_number(sql_type)


def ranks_of_all(stores: Stores) -> NDArray:  # type: ignore[type-arg]
    """Return the PageRank of each node in the whole KB; pass it to ``stores.shared``."""
    from kbkit.graph.algorithms.network import Network
    from kbkit.graph.algorithms.ranks import pagerank
    from kbkit.graph.algorithms.settings import PageRank
    from kbkit.graph.algorithms.table import algorithm

    settings = PageRank()
    return pagerank(Network(stores, settings, algorithm("pagerank").direction), settings)
