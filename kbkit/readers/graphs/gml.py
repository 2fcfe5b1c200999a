"""Read GML, the Graph Modelling Language of Michael Himsolt, with text in UTF-8 or as character references."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import IO, Any

from kbkit.errors import BadInputError
from kbkit.readers.graphs.model import FileGraph

_TOKEN = re.compile(
    r'\s+|#[^\n]*|([A-Za-z_][\w.]*)|([+-]?(?:\d+\.?\d*|\.\d+)(?:[Ee][+-]?\d+)?|[+-]INF)|"([^"]*)"|([\[\]])'
)
_DEPTH = 256
_WORDS = {"NAN": float("nan"), "INF": float("inf"), "+INF": float("inf"), "-INF": float("-inf")}
_LIST = "_networkx_list_start"
"""networkx writes this before the only element of a list."""


def gml(file: IO[bytes], path: Path) -> FileGraph:
    """Read GML; raise :class:`BadInputError` with file and line. Nodes are identified by their labels if these are
    unique, because ids are mere numbers.
    """
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"Invalid UTF-8 in {path}, line {line}", "Convert it to UTF-8") from None
    top = _parsed(text, path)
    graphs = [value for name, value in top if name == "graph" and isinstance(value, list)]
    if len(graphs) != 1:
        raise BadInputError(f"{path} has {len(graphs)} graphs", "Use a file with one graph")
    return _graph(graphs[0], path)


Pairs = list[tuple[str, Any]]


def _parsed(text: str, path: Path) -> Pairs:
    """Return the keys and values of a file in their order; values in brackets are such lists again."""
    stack: list[Pairs] = [[]]
    key, at = "", 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _error("Unexpected character", text, at, path)
        word, number, quoted, bracket = match.groups()
        if word is not None and not key:
            key = word
        elif bracket == "]":
            if key or len(stack) == 1:
                raise _error("Unexpected ]", text, at, path)
            stack.pop()
        elif match.lastindex is not None:
            if not key:
                raise _error("Value without a key", text, at, path)
            if bracket:
                if len(stack) > _DEPTH:
                    raise _error(f"Lists nested deeper than {_DEPTH} levels", text, at, path)
                stack[-1].append((key, []))
                stack.append(stack[-1][-1][1])
            else:
                stack[-1].append((key, _value(word, number, quoted)))
            key = ""
        at = match.end()
    if key or len(stack) > 1:
        raise _error("Unexpected end", text, len(text), path)
    return stack[0]


def _error(problem: str, text: str, at: int, path: Path) -> BadInputError:
    return BadInputError(f"{problem} in {path}, line {text.count(chr(10), 0, at) + 1}")


def _value(word: str | None, number: str | None, quoted: str | None) -> Any:
    if quoted is not None:
        return html.unescape(quoted)
    if word is not None:
        return _WORDS.get(word, word)
    assert number is not None
    if number in _WORDS:
        return _WORDS[number]
    return int(number) if number.lstrip("+-").isdigit() and len(number) < 4_000 else float(number)


def _graph(content: Pairs, path: Path) -> FileGraph:
    directed = dict(content).get("directed") in (1, "1")
    nodes = [_attributes(value) for name, value in content if name == "node" and isinstance(value, list)]
    edges = [_attributes(value) for name, value in content if name == "edge" and isinstance(value, list)]
    for kind, rows, needed in (("node", nodes, ("id",)), ("edge", edges, ("source", "target"))):
        for number, row in enumerate(rows, 1):
            if missing := next((name for name in needed if name not in row), None):
                raise BadInputError(f"{kind.capitalize()} {number} without {missing} in {path}")
    labels = [row.get("label") for row in nodes]
    keys = {str(row["id"]): str(row["id"]) for row in nodes}
    if all(labels) and len({str(label) for label in labels}) == len(nodes):
        keys = {str(row["id"]): str(row["label"]) for row in nodes}
    graph = FileGraph()
    for row in nodes:
        graph.nodes.append((keys[str(row.pop("id"))], row))
    for row in edges:
        head, tail = (keys.get(str(row[name]), str(row[name])) for name in ("source", "target"))
        row["id"] = row.pop("id", row.pop("key", None))
        graph.edges.append((head, tail, {k: v for k, v in row.items() if k not in ("source", "target")}, directed))
    return graph


def _attributes(pairs: Pairs) -> dict[str, Any]:
    """Return keys with their values, or lists of them where a key repeats."""
    by_name: dict[str, list[Any]] = {}
    for name, value in pairs:
        by_name.setdefault(name, []).append(_attributes(value) if isinstance(value, list) else value)
    attributes = {}
    for name, values in by_name.items():
        if values[0] == _LIST:
            attributes[name] = values[1:]
        else:
            attributes[name] = values[0] if len(values) == 1 else values
    return attributes
