"""Read graphs in JSON: node-link data of networkx and D3 (``nodes``, and ``links`` or ``edges``), and Cytoscape's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from kbkit.errors import BadInputError
from kbkit.readers.columns import text
from kbkit.readers.graphs.model import FileGraph, has_directions

_IDS = ("id", "key", "name", "label")


def node_link(file: IO[bytes], path: Path) -> FileGraph:
    """Read JSON; raise :class:`BadInputError` for other content. Edges of a file that does not say whether they have a
    direction have none, as networkx reads it, unless their relations or the types of their ends show one.

    Nodes are identified by ``id``; without it by their position in the list if the ends of all links are numbers, as
    in old versions of D3, otherwise by ``key``, ``name`` or ``label``.
    """
    try:
        content = file.read()
        data = json.loads(content)
        if b"\\u" in content:
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise BadInputError(f"Invalid UTF-8 in {path}", "Convert it to UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadInputError(f"Invalid JSON in {path}, line {error.lineno}: {error.msg}") from None
    except UnicodeEncodeError:
        raise BadInputError(f"Invalid JSON in {path}: unpaired surrogate (invalid Unicode)") from None
    except (ValueError, RecursionError):  # of too many digits
        raise BadInputError(f"Invalid JSON in {path}: nested too deeply, or a number is too long") from None
    top = data.get("elements", data) if isinstance(data, dict) else {}
    lists = {name: top.get(name) for name in ("nodes", "links", "edges")} if isinstance(top, dict) else {}
    links = lists.get("links") if lists.get("links") is not None else lists.get("edges")
    if not isinstance(lists.get("nodes"), list) or not isinstance(links, list):
        hint = "Use an object with the lists nodes, and links or edges"
        raise BadInputError(f"{path} is not node-link JSON", hint)
    nodes = [_row(one, "node", number, path) for number, one in enumerate(lists["nodes"] or (), 1)]
    edges = [_row(one, "link", number, path) for number, one in enumerate(links, 1)]
    said = data.get("directed")
    graph = _graph(nodes, edges, bool(said), path)
    if said is None and has_directions(graph):
        graph.edges = [(head, tail, attributes, True) for head, tail, attributes, _ in graph.edges]
    return graph


def _row(given: Any, kind: str, number: int, path: Path) -> dict[str, Any]:
    """Return the attributes of a node or link; those of Cytoscape are in ``data``."""
    if kind == "node" and isinstance(given, str | int):
        return {"id": given}
    if kind == "link" and isinstance(given, list) and len(given) == 2:
        return dict(zip(("source", "target"), given, strict=True))
    if not isinstance(given, dict):
        raise BadInputError(f"{kind.capitalize()} {number} in {path} is not an object")
    inner = given.get("data")
    return dict(inner) if isinstance(inner, dict) and ("id" in inner or "source" in inner) else dict(given)


def _graph(nodes: Sequence[dict[str, Any]], edges: Sequence[dict[str, Any]], directed: bool, path: Path) -> FileGraph:
    ends = [[_end(edge, name) for name in ("source", "target", "from", "to")] for edge in edges]
    pairs = [(a if a is not None else c, b if b is not None else d) for a, b, c, d in ends]
    for number, pair in enumerate(pairs, 1):
        if any(end is None for end in pair):
            raise BadInputError(f"Link {number} without source and target in {path}")
    name = _identifier(nodes, pairs, path)
    keys = [text(node[name]) if name else str(place) for place, node in enumerate(nodes)]
    graph = FileGraph()
    for key, node in zip(keys, nodes, strict=True):
        graph.nodes.append((key, {k: v for k, v in node.items() if k != name or k in ("name", "label")}))
    for edge, (head, tail) in zip(edges, pairs, strict=True):
        data = {k: v for k, v in edge.items() if k not in ("source", "target")}
        if "key" in data:
            data.setdefault("id", data.pop("key"))
        graph.edges.append((text(head), text(tail), data, directed))
    return graph


def _end(edge: Mapping[str, Any], name: str) -> Any:
    """Return an end of a link, which D3 replaces by the node itself while it draws."""
    end = edge.get(name)
    return next((end[key] for key in _IDS if end.get(key) is not None), None) if isinstance(end, dict) else end


def _identifier(nodes: Sequence[Mapping[str, Any]], pairs: Sequence[tuple[Any, Any]], path: Path) -> str:
    """Return the attribute that identifies nodes; empty for their position."""
    if all(node.get("id") is not None for node in nodes):
        return "id"
    if pairs and all(type(end) is int for pair in pairs for end in pair):
        return ""
    for name in _IDS[1:]:
        values = [node.get(name) for node in nodes]
        if all(value is not None for value in values) and len({text(value) for value in values}) == len(values):
            return name
    raise BadInputError(f"The nodes in {path} have no id", "Add the attribute id to every node")
