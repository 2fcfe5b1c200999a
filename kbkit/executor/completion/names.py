"""Nodes as candidates, by their names as they are typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from kbkit.executor.completion.ranking import Candidate, candidate
from kbkit.executor.vocabulary import Named, Vocabulary

MOST = 30
"""Names that are looked up: reading each takes a little time."""


def named(
    vocabulary: Vocabulary, typed: str, node_type: str | None, start: int, write: Callable[[str], str]
) -> list[Candidate]:
    """Names of nodes, each once, as ``write`` has them."""
    nodes = vocabulary.names(typed, node_type, MOST)
    counts = Counter(node.name for node in nodes)
    first = {node.name: node for node in reversed(nodes)}
    names = dict.fromkeys(node.name for node in nodes)
    return [candidate(write(name), start, name, about(first[name], counts[name])) for name in names]


def about(node: Named, nodes: int = 1) -> str:
    """A line about a node, or about several of one name."""
    if nodes > 1:
        return f"{nodes} nodes of this name"
    other = f" ({node.alias})" if node.alias else ""
    return f"{node.type}#{node.key}{other}"


def ambiguous(nodes: Sequence[Named]) -> set[str]:
    """Names that several of these nodes have."""
    return {name for name, count in Counter(node.name for node in nodes).items() if count > 1}
