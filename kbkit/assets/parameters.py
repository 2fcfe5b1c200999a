"""Conversion of query parameters from text to the types that the query declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kbkit.assets.queries import QueryFile
from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Schema


class Finder(Protocol):
    """The methods of an open KB that parameters use."""

    @property
    def schema(self) -> Schema: ...  # noqa: D102
    def find(self, reference: str | int) -> int: ...  # noqa: D102
    def iri(self, reference: str | int) -> str: ...  # noqa: D102


def convert_all(kb: Finder, query: QueryFile, values: Mapping[str, str]) -> dict[str, Any]:
    """Convert the parameters of a query; if it declares none, all ``values``."""
    typed = query.typed_values(values) if query.parameters else {name: ("", text) for name, text in values.items()}
    return {name: convert(kb, query.kind, name, kind, text) for name, (kind, text) in typed.items()}


def convert(kb: Finder, language: str, name: str, kind: str, text: str) -> Any:
    """Convert the value of parameter ``name`` to type ``kind`` (empty: a number if possible), for SQL or SPARQL.

    Raises :class:`KbError` for an invalid value.
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
        raise KbError(f"Invalid {kind} {text!r} for parameter {name}")
    return text


def _of_type(node_type: str, text: str) -> str:
    """Return a reference to a node of a type (empty: any) from a name, a key, ``#key`` or a reference."""
    if not node_type or text.startswith((f"{node_type}#", f"{node_type}:")):
        return text
    return node_type + text if text.startswith("#") else f"{node_type}:{text}"


def _expand(schema: Schema, name: str, text: str) -> str:
    """Return the IRI of ``<...>``, a prefixed name, or the name of a relation or type."""
    iris = {t.name: t.iri for t in schema.node_types} | {r.name: r.iri for r in schema.relations}
    if text in iris:
        return iris[text]
    prefix, colon, rest = text.partition(":")
    if colon and prefix in schema.prefixes():
        return schema.prefixes()[prefix] + rest
    if colon or not text:
        return text.removeprefix("<").removesuffix(">")
    raise UnknownNameError(f"value of parameter {name}", text, [r.name for r in schema.relations])
