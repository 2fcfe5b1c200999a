"""Read GraphML and GEXF with expat, as a stream. Formats: http://graphml.graphdrawing.org/specification.html,
https://gexf.net/schema.html.

The files are untrusted: entities that expand to more than a short text are refused, and no other file is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from kbkit.readers.graphs.model import FileGraph
from kbkit.readers.markup import MarkupReader

_INTEGERS = frozenset({"int", "integer", "long", "short", "byte", "biginteger"})
_NUMBERS = frozenset({"float", "double", "bigdecimal"})


class _GraphReader(MarkupReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.graph = FileGraph()


def _value(text: str, kind: str) -> Any:
    """Return a value of a declared type; without a text of numbers and booleans it is missing."""
    kind = kind.lower()
    if kind in _INTEGERS:
        return int(text) if text.strip() else None
    if kind in _NUMBERS:
        return float(text) if text.strip() else None
    if kind == "boolean":
        word = text.strip().lower()
        if word not in ("true", "false", "1", "0", ""):
            raise ValueError(f"Invalid boolean {text[:50]!r}")
        return word in ("true", "1") if word else None
    return text


class GraphMl(_GraphReader):
    """GraphML, also of yEd, whose labels are read; hyperedges are refused, nested graphs are flattened."""

    root = "graphml"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.keys: dict[str, tuple[str, str]] = {}
        self.defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self.key, self.domain = "", ""
        self.directed = [True]
        self.owners: list[dict[str, Any]] = []

    def open(self, name: str, attributes: dict[str, str]) -> None:
        """See :class:`MarkupReader`."""
        if name == "key":
            self.key, self.domain = attributes["id"], attributes.get("for", "all")
            label = attributes.get("attr.name") or attributes.get("yfiles.type") or self.key
            self.keys[self.key] = (label, attributes.get("attr.type", "string"))
        elif name == "graph":
            self.directed.append(attributes.get("edgedefault", "undirected") == "directed")
            self.owners.append({})
        elif name == "node":
            self.owners.append(dict(self.defaults["node"]))
            self.graph.nodes.append((attributes["id"], self.owners[-1]))
        elif name == "edge":
            directed = {"true": True, "false": False}.get(attributes.get("directed", ""), self.directed[-1])
            self.owners.append(dict(self.defaults["edge"]))
            if "id" in attributes:
                self.owners[-1]["id"] = attributes["id"]
            self.graph.edges.append((attributes["source"], attributes["target"], self.owners[-1], directed))
        elif name == "data":
            self.key = attributes["key"]
        elif name == "hyperedge":
            raise self.error("Hyperedge, which is not supported,")

    def close(self, name: str, text: str) -> None:
        """See :class:`MarkupReader`."""
        if name == "default":
            label, kind = self.keys[self.key]
            for domain in ("node", "edge") if self.domain == "all" else (self.domain,):
                self.defaults.setdefault(domain, {})[label] = _value(text, kind)
        elif name == "data" and self.owners:
            label, kind = self.keys[self.key]
            if text.strip() or not label.endswith("graphics"):  # of yEd, whose elements are inside
                self.owners[-1][label] = _value(text, kind)
        elif name in ("NodeLabel", "EdgeLabel") and self.owners and text.strip():
            self.owners[-1].setdefault("label", text.strip())
        elif name in ("node", "edge", "graph"):
            self.owners.pop()
            if name == "graph":
                self.directed.pop()


class Gexf(_GraphReader):
    """GEXF of every version, without what is for drawing (``viz``) and intervals of time (``spells``)."""

    root = "gexf"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.declared: dict[str, dict[str, tuple[str, str]]] = {"node": {}, "edge": {}}
        self.defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self.domain, self.key = "node", ""
        self.directed = False
        self.owners: list[tuple[str, dict[str, Any]]] = []

    def open(self, name: str, attributes: dict[str, str]) -> None:
        """See :class:`MarkupReader`."""
        if name == "graph":
            self.directed = attributes.get("defaultedgetype", "undirected") == "directed"
        elif name == "attributes":
            self.domain = attributes.get("class", "node")
            self.declared.setdefault(self.domain, {})
            self.defaults.setdefault(self.domain, {})
        elif name == "attribute":
            self.key = attributes["id"]
            kind = attributes.get("type", "string")
            self.declared[self.domain][self.key] = (attributes.get("title") or self.key, kind)
        elif name == "node":
            known: dict[str, Any] = {
                key: attributes[key] for key in ("label", "pid", "start", "end") if key in attributes
            }
            self.owners.append(("node", {**known, **self.defaults["node"]}))
            self.graph.nodes.append((attributes["id"], self.owners[-1][1]))
        elif name == "edge":
            self._edge(attributes)
        elif name == "attvalue" and self.owners:
            self._attribute(attributes.get("for") or attributes["id"], attributes["value"])

    def _edge(self, attributes: dict[str, str]) -> None:
        names = ("id", "label", "kind", "start", "end")
        known: dict[str, Any] = {key: attributes[key] for key in names if key in attributes}
        if "weight" in attributes:
            known["weight"] = float(attributes["weight"])
        self.owners.append(("edge", {**known, **self.defaults["edge"]}))
        kind = attributes.get("type", "")
        directed = {"directed": True, "undirected": False, "mutual": False}.get(kind, self.directed)
        self.graph.edges.append((attributes["source"], attributes["target"], self.owners[-1][1], directed))

    def _attribute(self, key: str, text: str) -> None:
        domain, data = self.owners[-1]
        name, kind = self.declared[domain].get(key, (key, "string"))
        if name == "networkx_key":  # networkx numbers parallel edges with it, and drops it when it reads them
            return
        value = _value(text, kind)
        if name in data and name not in self.defaults[domain]:  # a value that changes with time
            earlier = data[name]
            data[name] = [*(earlier if isinstance(earlier, list) else [earlier]), value]
        else:
            data[name] = value

    def close(self, name: str, text: str) -> None:
        """See :class:`MarkupReader`."""
        if name == "default" and not self.owners:
            label, kind = self.declared[self.domain][self.key]
            self.defaults[self.domain][label] = _value(text, kind)
        elif name in ("node", "edge"):
            self.owners.pop()


def graphml(file: IO[bytes], path: Path) -> FileGraph:
    """Read GraphML; raise :class:`BadInputError` with file and line."""
    reader = GraphMl(path)
    reader.run(file)
    return reader.graph


def gexf(file: IO[bytes], path: Path) -> FileGraph:
    """Read GEXF; raise :class:`BadInputError` with file and line."""
    reader = Gexf(path)
    reader.run(file)
    return reader.graph


Parse = Callable[[IO[bytes], Path], FileGraph]
