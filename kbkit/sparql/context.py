"""State shared by the steps of a rewriting: the prefixes in force, unused variable names, the notes for the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urljoin

from lark import Token

from kbkit.sparql.escapes import unescape
from kbkit.sparql.tree import Node, ParseTree, nodes, replace, tokens
from kbkit.stores.sparql_process import ResultColumn


@dataclass(frozen=True)
class Traversal:
    """A breadth-first traversal of the graph, as ``gas:service`` asks for it."""

    starts: tuple[str, ...]
    relations: tuple[str, ...] = ()
    """IRIs (empty: all)."""
    forward: bool = True
    backward: bool = False
    iterations: int | None = None
    """Maximum depth."""
    visited: int | None = None
    """Number of nodes after which no further depth is visited."""
    targets: tuple[str, ...] = ()
    """If not empty, only the nodes on the paths to these are wanted."""


Search: TypeAlias = Callable[[str, int, str, str | None], Sequence[tuple[str, float]]]
"""``search(words, limit, mode, type)`` returns (IRI, score) pairs, best first."""

Walk: TypeAlias = Callable[[Traversal], Sequence[tuple[str, int, str | None]]]
"""``walk(traversal)`` returns (IRI, depth, IRI of the predecessor) of each node reached, the nearest first."""

Find: TypeAlias = Callable[[str, int, str], Sequence[str]]
"""``find(words, limit, letter)`` returns IRIs of entities by label, best first; the letter is that of their ids."""

Values: TypeAlias = Callable[[str], Sequence[tuple[str, str]]]
"""``values(query)`` returns the first column of a query: the text of each term, and the term as SPARQL."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_IRIS = ("IRIREF", "PNAME_LN", "PNAME_NS")
_PLAIN_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")


class QueryPrefixes:
    """Prefixes in force: the query's own declarations, then those supplied from outside."""

    def __init__(self, tree: ParseTree, supplied: Mapping[str, str]) -> None:
        self.base = ""
        self.declared: dict[str, str] = {}
        for declaration in nodes(tree, "prologue", "base_decl", "prefix_decl"):
            words = list(declaration.children)
            if declaration.data == "base_decl":
                self.base = self._reference(str(words[1]))
            elif declaration.data == "prefix_decl":
                self.declared[str(words[1])[:-1]] = self._reference(str(words[2]))
            elif declaration.data == "prologue" and not words:
                break
        self.supplied = dict(supplied)
        self.all = {**self.supplied, **self.declared}

    def _reference(self, text: str) -> str:
        iri = unescape(text[1:-1])
        if not self.base or _SCHEME.match(iri):
            return iri
        joined = urljoin(self.base, iri)
        return f"{joined}#" if iri.endswith("#") and not joined.endswith("#") else joined  # an empty fragment is one

    def iri(self, node: Node) -> str | None:
        """Return the full IRI of a token, or None if it is not an IRI or its prefix is unknown."""
        if not isinstance(node, Token) or node.type not in _IRIS:
            return None
        if node.type == "IRIREF":
            return self._reference(str(node))
        prefix, _, local = str(node).partition(":")
        namespace = self.all.get(prefix)
        return None if namespace is None else namespace + re.sub(r"\\(.)", r"\1", local)

    def short(self, iri: str) -> str:
        """Write an IRI with a prefix in force if possible, else in angle brackets."""
        for prefix, namespace in self.all.items():
            if iri.startswith(namespace) and _PLAIN_LOCAL.fullmatch(iri, len(namespace)):
                return f"{prefix}:{iri[len(namespace) :]}"
        return f"<{iri}>"


def string(token: Token) -> str:
    """Return the value of a ``STRING`` token."""
    quotes = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    return unescape(str(token)[quotes:-quotes])


@dataclass
class Context:
    """Prefixes, languages (best first), search and graph of the KB; the row limit; names in use; notes so far."""

    names: QueryPrefixes
    languages: tuple[str, ...] = ("en",)
    search: Search | None = None
    walk: Walk | None = None
    limit: int | None = None
    taken: set[str] = field(default_factory=set)
    """Variables and blank nodes of the query, without ``?`` and ``_:``."""
    notes: list[str] = field(default_factory=list)
    columns: list[ResultColumn] | None = None
    """Columns of the result, if labels may be added to it."""
    find: Find | None = None
    values: Values | None = None

    def note(self, text: str) -> None:
        """Record a change for the user; duplicates are dropped."""
        if text not in self.notes:
            self.notes.append(text)

    def variable(self, name: str) -> str:
        """Return an unused variable (``?name_2``) based on ``name``, with or without ``?``."""
        return "?" + self._fresh(name.lstrip("?$"))

    def is_iri(self, node: Node, iri: str) -> bool:
        """Return whether a token denotes this IRI."""
        return self.names.iri(node) == iri

    def rename_blank_nodes(self, tree: ParseTree) -> None:
        """Rename the blank nodes of a copied pattern: one label must not occur in two patterns."""
        labels = {str(token) for token in tokens(tree) if token.type == "BLANK_NODE_LABEL"}
        rename(tree, {label: "_:" + self._fresh(label[2:]) for label in sorted(labels)})

    def _fresh(self, name: str) -> str:
        """Return ``name``, or ``name_2`` and so on if it is taken; mark it as taken."""
        chosen, number = name, 1
        while chosen in self.taken:
            number += 1
            chosen = f"{name}_{number}"
        self.taken.add(chosen)
        return chosen


def rename(tree: ParseTree, names: dict[str, str]) -> None:
    """Rename variables and blank nodes in place; ``names`` maps ``?old`` to ``?new`` and ``_:old`` to ``_:new``."""

    def change(node: Node) -> Node:
        if isinstance(node, Token) and node.type in ("VAR", "BLANK_NODE_LABEL"):
            key = "?" + node[1:] if node.type == "VAR" else str(node)
            return Token(node.type, names[key]) if key in names else node
        return node

    if names:
        replace(tree, change)
