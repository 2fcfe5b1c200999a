"""What a person can start from in a KB: example statements in every language, and its names as each language writes
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kbkit.answers import syntax
from kbkit.executor.completion.sparql_names import SparqlNames
from kbkit.graph import contradictions
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.schema import Attribute, NodeType, Schema, Signature

_ASKED = 3
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL")


class ExampleStatement(NamedTuple):
    """A statement that runs on a KB, its language, and what it asks for."""

    language: str
    title: str
    statement: str


def examples(kb: KnowledgeBase) -> list[ExampleStatement]:
    """Return examples in each language; each runs on the KB and uses its names."""
    asked = [tuple(row) for row in kb.examples(_ASKED).select("question", "expression").iter_rows()]
    return [
        *_sql(kb.schema),
        *(ExampleStatement("sql", *found) for found in contradictions.statements(kb.schema)),
        *(_sparql(kb.schema) if kb.has("triples") or kb.has("columns") else ()),
        *(ExampleStatement("answers", question, expression) for question, expression in asked),
        *_counts(kb.schema),
        *(ExampleStatement("ask", question, question) for question, _ in asked[:1]),
        *(ExampleStatement("search", name, name) for name in kb.popular(_largest(kb.schema).name, 1)["name"] if name),
    ]


def _largest(schema: Schema) -> NodeType:
    return max(schema.node_types, key=lambda t: (bool(t.attributes), t.members))


def _joining(schema: Schema) -> tuple[str, str, Signature] | None:
    """Return the table and name of the relation with the most edges, and its signature."""
    found = [(r, s) for r in schema.relations for s in r.signatures if s.edges]
    if not found:
        return None
    relation, signature = max(found, key=lambda pair: (pair[1].head != pair[1].tail, pair[1].edges))
    return relation.table, relation.name, signature


def _number(kind: NodeType) -> Attribute | None:
    return next((a for a in kind.attributes if any(name in a.type for name in _NUMBERS) and "[" not in a.type), None)


def _sql(schema: Schema) -> Iterator[ExampleStatement]:
    kind = _largest(schema)
    table, number = identifier(kind.table), _number(kind)
    yield ExampleStatement(
        "sql",
        "Number of nodes of each type",
        "SELECT type, count(*) AS nodes\nFROM nodes\nGROUP BY type\nORDER BY nodes DESC",
    )
    if number is not None:
        name = identifier(number.name)
        text = f"SELECT id, name, {name}\nFROM {table}\nWHERE {name} IS NOT NULL\nORDER BY {name} DESC\nLIMIT 100"
        yield ExampleStatement("sql", f"{kind.name} with the highest {number.name}", text)
    else:
        yield ExampleStatement("sql", f"Rows of {kind.name}", f"SELECT *\nFROM {table}\nLIMIT 100")
    if joined := _joining(schema):
        relation, name, signature = joined
        head = identifier(schema.type(signature.head).table)
        text = (
            f"SELECT h.id, h.name, count(*) AS edges\nFROM {identifier(relation)} r\nJOIN {head} h ON h.id = r.head\n"
            "GROUP BY h.id, h.name\nORDER BY edges DESC, h.name\nLIMIT 100"
        )
        yield ExampleStatement("sql", f"{signature.head} with the most edges {name}", text)


def _sparql(schema: Schema) -> Iterator[ExampleStatement]:
    names = SparqlNames(schema)
    kind = _largest(schema)
    text = f"SELECT ?node ?name {{\n  ?node kb:type {names.short(kind.iri)} ; rdfs:label ?name\n}}\nLIMIT 100"
    yield ExampleStatement("sparql", f"Nodes of the type {kind.name}", text)
    if joined := _joining(schema):
        _, name, signature = joined
        relation = next(names.short(r.iri) for r in schema.relations if r.name == name)
        yield ExampleStatement(
            "sparql",
            f"{signature.head} and {signature.tail} joined by {name}",
            f"SELECT ?from ?to {{\n  ?from {relation} ?to\n}}\nLIMIT 100",
        )


def _counts(schema: Schema) -> Iterator[ExampleStatement]:
    kind = _largest(schema)
    yield ExampleStatement(
        "answers", f"Number of nodes of the type {kind.name}", f"count({syntax.identifier(kind.name)})"
    )


# -- names ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedPart:
    """A type, an attribute or a relation, and how each language writes it (empty: not at all)."""

    name: str
    about: str
    sql: str
    sparql: str
    answers: str
    count: int = 0
    ends: tuple[tuple[str, str, int], ...] = ()
    parts: tuple[NamedPart, ...] = ()


OWN_COLUMNS = {
    "id": "in SQL: number of the node",
    "key": "key of the node",
    "name": "name of the node",
    "head": "in SQL: id of the first node",
    "tail": "in SQL: id of the second node",
}
"""Columns that the tables of all types, or of all relations, have."""


def schema_parts(schema: Schema) -> tuple[list[NamedPart], list[NamedPart]]:
    """Return the types with their attributes, and the relations with their ends (head, tail, edges) and attributes."""
    names = SparqlNames(schema)
    predicates = {item.name: item.text for _, item in names.attributes}

    def attributes(found: tuple[Attribute, ...], *, in_sparql: bool) -> tuple[NamedPart, ...]:
        return tuple(
            NamedPart(
                a.name,
                a.type.lower(),
                identifier(a.name),
                predicates.get(a.name, "") if in_sparql else "",
                syntax.identifier(a.name),
            )
            for a in found
        )

    def columns(of: tuple[Attribute, ...], *own: str) -> tuple[NamedPart, ...]:
        given = {a.name for a in of}
        return tuple(
            NamedPart(name, OWN_COLUMNS[name], name, {"name": "rdfs:label", "key": "kb:key"}.get(name, ""), "")
            for name in own
            if name not in given
        )

    types = [
        NamedPart(t.name, t.description, identifier(t.table), names.short(t.iri), syntax.identifier(t.name), t.members,
                  parts=columns(t.attributes, "id", "key", "name") + attributes(t.attributes, in_sparql=True))
        for t in schema.node_types
        if t.members
    ]  # fmt: skip
    relations = [
        NamedPart(r.name, r.label, identifier(r.table), names.short(r.iri), f"[{syntax.identifier(r.name)}]", r.edges,
                  tuple((s.head, s.tail, s.edges) for s in r.signatures),
                  columns(r.attributes, "head", "tail") + attributes(r.attributes, in_sparql=False))
        for r in schema.relations
    ]  # fmt: skip
    return types, relations
