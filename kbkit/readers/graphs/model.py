"""Nodes and edges with free attributes, as tables.

The files of graphs and networkx share this: attributes that have a meaning elsewhere get an underscore, and an
attribute whose values have several types is text.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kbkit.errors import KbError
from kbkit.readers.columns import array, kind_of, text

if TYPE_CHECKING:
    import polars as pl

LINK = "link"
"""The relation of edges that have none."""
_ENDS = ("head", "relation", "tail", "head_type", "tail_type")
_RELATIONS = ("relation", "predicate", "rel", "relationship", "relation_type", "edge_type", "type", "label", "kind")
_TYPES = ("type", "category", "node_type", "kind")
_FEW = 20
"""An attribute with at most so many values, or one value for four elements, can be a type or relation."""


@dataclass
class FileGraph:
    """The content of a file: nodes by their ids, and edges as (head, tail, attributes, whether it is directed).

    The attribute ``id`` of an edge is the file's own identifier of it.
    """

    nodes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    edges: list[tuple[str, str, dict[str, Any], bool]] = field(default_factory=list)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables ``nodes``, ``edges`` and ``undirected`` (the relations whose edges have no direction)."""
        import polars as pl

        _settle_keys(self)
        _settle_ids(self)
        for key, data in self.nodes:
            if data.get("name") is not None and data.get("label") in (key, data["name"]):
                del data["label"]  # GEXF requires labels
        kind = _chosen(_TYPES, [data for _, data in self.nodes])
        nodes = ({"key": key, **free(_renamed(data, kind, "type"), ("key",))} for key, data in self.nodes)
        relation = _chosen(_RELATIONS, [data for _, _, data, _ in self.edges])
        rows = [
            (head, _text(data.pop(relation, None)) or LINK, tail, free(data, _ENDS), d)
            for head, tail, data, d in self.edges
        ]
        directed = {row[1] for row in rows if row[4]}
        edges = []
        for head, name, tail, data, d in rows:
            edges.append({"head": head, "relation": name, "tail": tail, **data})
            if not d and name in directed and head != tail:  # some edges of the relation have a direction
                edges.append({"head": tail, "relation": name, "tail": head, **data})
        both = dict.fromkeys(row[1] for row in rows if row[1] not in directed)
        return {
            "nodes": records(nodes, ("key",)),
            "edges": records(edges, ("head", "relation", "tail")),
            "undirected": pl.DataFrame({"relation": list(both)}, schema={"relation": pl.String}),
        }


def _renamed(data: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in data.items()} if old else dict(data)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else text(value)


def _settle_keys(graph: FileGraph) -> None:
    """Make the attribute ``key`` the key of the nodes if it identifies them, as in files that kbkit writes."""
    keys = {node: _text(data.get("key")) for node, data in graph.nodes}
    if keys and all(keys.values()) and len(set(keys.values())) == len(graph.nodes):
        graph.nodes = [(keys[node], {k: v for k, v in data.items() if k != "key"}) for node, data in graph.nodes]
        graph.edges = [(keys.get(head, head), keys.get(tail, tail), *rest) for head, tail, *rest in graph.edges]  # type: ignore[misc]


def _settle_ids(graph: FileGraph) -> None:
    """Make ids of edges that repeat their relation: they are the keys of a multigraph of networkx.

    Mere numbers are left out, unless they tell parallel edges apart.
    """
    ids = [_text(data.get("id")) for _, _, data, _ in graph.edges]
    named = [one for one in ids if one and not one.isdigit()]
    pairs = Counter((head, tail) for head, tail, *_ in graph.edges)
    parallel = len(pairs) < len(graph.edges)
    if named and len(set(named)) * 2 <= len(named) and not any("relation" in data for _, _, data, _ in graph.edges):
        for (_, _, data, _), one in zip(graph.edges, ids, strict=True):
            data.pop("id", None)
            data["relation"] = one or None
    elif not named and not parallel:
        for _, _, data, _ in graph.edges:
            data.pop("id", None)


def _chosen(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the attribute that classifies the rows: the first name, or another one with few distinct texts."""
    for name in names:
        values = [row.get(name) for row in rows]
        present = [value for value in values if value is not None and value != ""]
        if not present or (name != names[0] and not all(isinstance(value, str) for value in present)):
            continue
        if name == names[0] or len(set(present)) <= max(_FEW, len(present) // 4):
            return name
    return ""


def has_directions(graph: FileGraph) -> bool:
    """Return whether edges are meant to have a direction: they have relations, or join two types of nodes, always with
    the same one first.
    """
    relation = _chosen(_RELATIONS, [data for _, _, data, _ in graph.edges])
    named = {_text(data.get(relation)).casefold() for _, _, data, _ in graph.edges}
    if relation and not named & _UNDIRECTED:
        return True
    kind = _chosen(_TYPES, [data for _, data in graph.nodes])
    types = {key: _text(data.get(kind)) for key, data in graph.nodes}
    pairs = {(types.get(head, ""), types.get(tail, "")) for head, tail, *_ in graph.edges}
    apart = all(head != tail and head and tail for head, tail in pairs)
    return bool(kind and pairs) and apart and not pairs & {(tail, head) for head, tail in pairs}


_UNDIRECTED = {"undirected", "mutual"}
"""Values that say that an edge has no direction, as Gephi writes them."""


# -- networkx ---------------------------------------------------------------------------------------------------------


def networkx_tables(
    graph: Any, relation: str = "relation", *, merge: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return tables of the nodes and edges of a networkx graph; see :func:`kbkit.from_networkx`.

    With ``merge``, several nodes may have the same text.
    """
    for method in ("nodes", "edges", "is_directed", "is_multigraph"):
        if not hasattr(graph, method):
            raise KbError(f"Not a networkx graph: {type(graph).__name__}", "Use a Graph, DiGraph or MultiDiGraph")
    known: dict[str, Any] = {}
    for node in graph.nodes:
        if known.setdefault(str(node), node) is not node and not merge:
            message = f"Duplicate key {str(node)!r}: the nodes {known[str(node)]!r} and {node!r} have the same text"
            raise KbError(message, "Rename one, for example with networkx.relabel_nodes")
    nodes = (
        {"key": str(node), **free(_plain(data, "node {!r}", node), ("key",))} for node, data in graph.nodes(data=True)
    )
    if graph.is_multigraph():
        edges = ((head, tail, key, data) for head, tail, key, data in graph.edges(keys=True, data=True))
    else:
        edges = ((head, tail, None, data) for head, tail, data in graph.edges(data=True))
    rows = (
        {
            "head": str(head),
            "relation": str(data.get(relation) or (key if isinstance(key, str) else "") or LINK),
            "tail": str(tail),
            **free({name: value for name, value in data.items() if name != relation}, _ENDS),
        }
        for head, tail, key, attributes in edges
        for data in [_plain(attributes, "edge ({!r}, {!r})", head, tail)]
    )
    return records(nodes, ("key",)), records(rows, ("head", "relation", "tail"))


_SCALARS = (str, int, float, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, type(None))


class _UnsupportedError(Exception):
    """A value that no table holds; the argument is the name of its type."""


def _plain(data: Mapping[Any, Any], where: str, *ends: Any) -> dict[Any, Any]:
    """Return attributes with sorted lists for sets; raise :class:`KbError` for values that no table holds.

    ``where`` formats ``ends``: the node, or the ends of the edge.
    """
    plain = {}
    for name, value in data.items():
        try:
            plain[name] = _plain_value(value)
        except _UnsupportedError as error:
            message = f"Unsupported value in attribute {name!r} of {where.format(*ends)}: {error}"
            raise KbError(message, "Convert it to a text, a number, a date, a list or a dict") from None
    return plain


def _plain_value(value: Any) -> Any:
    if isinstance(value, _SCALARS):
        return value
    if type(value).__module__ == "numpy" and value.dtype.kind not in "cV":
        return _plain_value(value.tolist()) if value.dtype.kind == "O" else value
    if type(value).__name__ == "NAType":  # pandas.NA
        return None
    if isinstance(value, set | frozenset):
        value = sorted(value, key=_order)
    if isinstance(value, list | tuple):
        return [_plain_value(element) for element in value]
    if isinstance(value, Mapping):
        return {str(name): _plain_value(element) for name, element in value.items()} or None
    raise _UnsupportedError(type(value).__name__)


def _order(value: Any) -> tuple[bool, Any]:
    """Return the key that sorts the values of a set, whose types may differ: numbers first."""
    return (False, value) if isinstance(value, int | float) else (True, str(value))


# -- tables -----------------------------------------------------------------------------------------------------------


def free(data: Mapping[Any, Any], taken: Iterable[str]) -> dict[str, Any]:
    """Return attributes, with an underscore after names that have a meaning."""
    return {f"{name}_" if name in taken else str(name): value for name, value in data.items()}


def records(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] = ()) -> pl.DataFrame:
    """Return rows as a table; values of a column that have several types become text."""
    import polars as pl

    listed = list(rows)
    if not listed:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    names = dict.fromkeys(name for row in listed for name in row)
    return pl.DataFrame({name: _series([row.get(name) for row in listed]) for name in names})


def _series(values: list[Any]) -> pl.Series:
    import polars as pl

    try:
        series = pl.Series(values, strict=True)
        if "Int128" not in str(series.dtype):  # of the values or inside of lists, for which Arrow has no type
            return series
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    if any(isinstance(value, list | dict | tuple | set) for value in values):
        values = [None if value is None else _json(value) for value in values]
    return pl.Series(array(values, kind_of(values)))


def _json(value: Any) -> str:
    if not isinstance(value, list | dict | tuple):
        return _text(value) if not isinstance(value, set) else str(value)
    return json.dumps(value, ensure_ascii=False, default=str)
