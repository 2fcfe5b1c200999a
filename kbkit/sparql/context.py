"""What the steps of a rewriting share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lark import Token

from kbkit.sparql.names import Names
from kbkit.sparql.tree import Node, ParseTree, fresh, replace, tokens

Search: TypeAlias = Callable[[str, int, str, str | None], Sequence[tuple[str, float]]]
"""``search(words, limit, mode, type)`` -> (IRI, score), best first."""


@dataclass
class Context:
    """The query's names, the KB's languages (best first) and search, and what has been said so far."""

    names: Names
    languages: tuple[str, ...] = ("en",)
    search: Search | None = None
    limit: int | None = None
    taken: set[str] = field(default_factory=set)
    """Variables and blank nodes of the query, without their signs."""
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Say, once, what was changed."""
        if text not in self.notes:
            self.notes.append(text)

    def variable(self, name: str) -> str:
        """A new variable, with its sign, named after ``name`` (which may have one)."""
        return "?" + fresh(name.lstrip("?$"), self.taken)

    def is_iri(self, node: Node, iri: str) -> bool:
        """Whether a word stands for this IRI."""
        return self.names.iri(node) == iri

    def with_new_blank_nodes(self, tree: ParseTree) -> None:
        """Give the blank nodes of a copied pattern names of their own: one name must not stand in two patterns."""
        labels = {str(token) for token in tokens(tree) if token.type == "BLANK_NODE_LABEL"}
        rename(tree, {label: "_:" + fresh(label[2:], self.taken) for label in sorted(labels)})


def rename(tree: ParseTree, names: dict[str, str]) -> None:
    """Put other words for variables and blank nodes, in place; both sides with their signs (``?`` and not ``$``)."""

    def change(node: Node) -> Node:
        if isinstance(node, Token) and node.type in ("VAR", "BLANK_NODE_LABEL"):
            key = "?" + node[1:] if node.type == "VAR" else str(node)
            return Token(node.type, names[key]) if key in names else node
        return node

    if names:
        replace(tree, change)
