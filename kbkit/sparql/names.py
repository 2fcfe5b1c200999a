"""The IRIs that the names in a query stand for, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urljoin

from lark import Token

from kbkit.sparql.tree import Node, ParseTree, nodes

_IRIS = ("IRIREF", "PNAME_LN", "PNAME_NS")
_PLAIN_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


class Names:
    """The prefixes in force: those that the query declares, which win, and those that are supplied."""

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
        return urljoin(self.base, iri) if self.base else iri

    def iri(self, node: Node) -> str | None:
        """The IRI that a word stands for; None where it is none, or its prefix is not known."""
        if not isinstance(node, Token) or node.type not in _IRIS:
            return None
        if node.type == "IRIREF":
            return self._reference(str(node))
        prefix, _, local = str(node).partition(":")
        namespace = self.all.get(prefix)
        return None if namespace is None else namespace + re.sub(r"\\(.)", r"\1", local)

    def short(self, iri: str) -> str:
        """How to write an IRI here: with a prefix that is in force where one fits, else in full."""
        for prefix, namespace in self.all.items():
            if iri.startswith(namespace) and _PLAIN_LOCAL.fullmatch(iri, len(namespace)):
                return f"{prefix}:{iri[len(namespace) :]}"
        return f"<{iri}>"


def unescape(text: str) -> str:
    """A string's text or an IRI's, its escapes resolved."""

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return _ESCAPES.get(match[1], match[1])
        code = int(match[2] or match[3], 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"

    return re.sub(r"""\\(?:([tbnrf"'\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))""", character, text)


def string(token: Token) -> str:
    """The text of a token ``STRING``."""
    quotes = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    return unescape(str(token)[quotes:-quotes])
