"""Values of query parameters, read from text by the type that the query declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kbkit.assets.queries import Query
from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Schema


class Finder(Protocol):
    """An open KB, as far as parameters need it."""

    @property
    def schema(self) -> Schema: ...  # noqa: D102
    def find(self, reference: str | int) -> int: ...  # noqa: D102
    def iri(self, reference: str | int) -> str: ...  # noqa: D102


def read_all(kb: Finder, query: Query, given: Mapping[str, str]) -> dict[str, Any]:
    """The values of a query's parameters, given as text; where it declares none, of those that are given."""
    typed = query.values(given) if query.parameters else {name: ("", text) for name, text in given.items()}
    return {name: read(kb, query.kind, name, kind, text) for name, (kind, text) in typed.items()}


def read(kb: Finder, language: str, name: str, kind: str, text: str) -> Any:
    """The value of parameter ``name``, declared as ``kind`` (empty: a number if it looks like one), for SQL or SPARQL.

    Raises :class:`KbError` for a value of another type.
    """
    if kind == "node" or kind.startswith("node of "):
        node = kb.find(_of_type(kind.removeprefix("node").removeprefix(" of "), text))
        return node if language == "sql" else f"<{kb.iri(node)}>"
    if kind == "iri":
        return f"<{_expand(kb.schema, name, text)}>" if language == "sparql" else _expand(kb.schema, name, text)
    if kind == "text":
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            if kind == "integer":
                break
    if kind:
        raise KbError(f"parameter {name} is {text!r}", f"give {'an' if kind == 'integer' else 'a'} {kind}")
    return text


def _of_type(node_type: str, text: str) -> str:
    """A reference to a node of that type (any, when empty), from a name, a key, ``#key`` or a whole reference."""
    if not node_type or text.startswith((f"{node_type}#", f"{node_type}:")):
        return text
    return node_type + text if text.startswith("#") else f"{node_type}:{text}"


def _expand(schema: Schema, name: str, text: str) -> str:
    """An IRI from ``<...>``, a prefixed name, or the name of a relation or type."""
    iris = {t.name: t.iri for t in schema.node_types} | {r.name: r.iri for r in schema.relations}
    if text in iris:
        return iris[text]
    prefix, colon, rest = text.partition(":")
    if colon and prefix in schema.prefixes():
        return schema.prefixes()[prefix] + rest
    if colon or not text:
        return text.removeprefix("<").removesuffix(">")
    raise UnknownNameError(f"value of parameter {name}", text, [r.name for r in schema.relations])
