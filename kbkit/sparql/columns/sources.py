"""Triples as SQL: what a triple pattern reads, in a KB from tables and in a KB from RDF.

A KB from tables has no store of columns: ``rel:`` reads the edges, ``attr:`` the columns of the types, and so on, as
:mod:`kbkit.stores.ntriples` writes them. A KB from RDF has quads of ids (:mod:`kbkit.stores.columns`).
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from kbkit.schema import Attribute, Relation, Schema, iri_escape, quote
from kbkit.schema import literal as sql_string
from kbkit.sparql.columns.rows import TermDecoder
from kbkit.sparql.columns.terms import SQL_TYPES, XSD, ConstantTerm, iri
from kbkit.stores import Stores
from kbkit.stores.ntriples import KB_KEY, KB_TYPE, RDF, RDFS, SKOS, datatype, node_iri

DEFAULT = ""
"""The default graph."""


@dataclass(frozen=True)
class GraphsRead:
    """The graphs that a pattern reads: IRIs or :data:`DEFAULT`; None: all named graphs.

    With ``by_name``, the name of the graph is a column; else the graphs are merged.
    """

    names: tuple[str, ...] | None
    by_name: bool = False


@dataclass(frozen=True)
class TripleRows:
    """Rows with the columns ``s``, ``p``, ``o`` and ``g``, as far as they vary, and their representations.

    ``text`` is a SELECT without conditions on constants; ``fixed`` are the parts with one value in all rows.
    """

    text: str
    kinds: dict[str, str]
    fixed: dict[str, ConstantTerm]
    distinct: bool = True
    """Whether no row occurs twice."""


class TripleSource(TermDecoder, Protocol):
    """A source of triples."""

    def narrowed(self, terms: Sequence[ConstantTerm | None]) -> tuple[str, list[str]]:
        """Return a representation for a column of these terms, and the terms in it."""

    def leaves(
        self,
        predicates: Sequence[ConstantTerm] | None,
        excluded: Sequence[ConstantTerm],
        graphs: GraphsRead,
        *,
        by_object: bool,
    ) -> list[TripleRows]:
        """Return the triples of graphs with one of the predicates (None: all but ``excluded``).

        ``by_object`` tells that the object is given and the subject is not.
        """


def constant_of(term: ConstantTerm, kind: str) -> str | None:
    """Return a term as an SQL constant of a representation other than ``id`` and ``node``."""
    if kind == "term":
        return sql_string(term.text)
    if kind in _TIMES:
        text = term.text.removeprefix(f'"^{XSD}{kind}"')
        return f"{sql_string(text)}::{SQL_TYPES[kind]}" if _TIMES[kind].fullmatch(text) else None
    value = term.value
    return value.sql if value.kind == kind else None


_TIMES = {
    "date": re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "dateTime": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"),
}
"""The forms of dates and times of the tables."""


# -- tables -----------------------------------------------------------------------------------------------------------


class TableTriples:
    """The triples that are derived from the tables of a KB."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._schema: Schema = stores.schema

    def decoding(self, kind: str) -> tuple[str, str, str]:  # noqa: ARG002
        """See :class:`TripleSource`."""
        return "kb.nodes", "id", f"{node_iri(self._schema, 'nodes')}[2:-2]"

    def constant(self, term: ConstantTerm, kind: str) -> str | None:
        """See :class:`TripleSource`."""
        if kind != "node":
            return constant_of(term, kind)
        node_id = self._node(term)
        return None if node_id is None else str(node_id)

    def _node(self, term: ConstantTerm) -> int | None:
        """Return the id of the node with an IRI."""
        base = self._schema.base
        space, sign, local = term.text[1 + len(base) :].partition("/")
        if not term.text.startswith("<" + base) or not sign or "/" in local:
            return None
        kind, key = urllib.parse.unquote(space), urllib.parse.unquote(local)
        if self._schema.node_iri(kind, key) != term.text[1:] or kind not in {t.name for t in self._schema.node_types}:
            return None
        nodes = [node for node in self._stores.nodes.by_key(kind, [key])[0] if node.type == kind]
        return nodes[0].id if nodes else None

    def best_values(self, predicate: ConstantTerm, languages: tuple[str, ...], kind: str, subjects: str) -> None:
        """Return None: the texts of tables have no languages."""

    def narrowed(self, terms: Sequence[ConstantTerm | None]) -> tuple[str, list[str]]:
        """See :class:`TripleSource`."""
        return narrowest(terms, "node", self.constant)

    def leaves(
        self,
        predicates: Sequence[ConstantTerm] | None,
        excluded: Sequence[ConstantTerm],
        graphs: GraphsRead,
        *,
        by_object: bool,
    ) -> list[TripleRows]:
        """See :class:`TripleSource`."""
        del by_object  # the tables have one order
        if graphs.by_name or graphs.names != (DEFAULT,):
            return []
        every = self._stores.shared(_table_leaves)
        wanted = None if predicates is None else set(predicates)
        return [
            leaf for predicate, leaf in every if predicate not in excluded and (wanted is None or predicate in wanted)
        ]


def narrowest(
    terms: Sequence[ConstantTerm | None], kind: str, constant: Callable[[ConstantTerm, str], str | None]
) -> tuple[str, list[str]]:
    """Return a representation for constants, and the constants in it: ``kind`` if all of them have it."""
    constants = [None if term is None else constant(term, kind) for term in terms]
    if any(sql is None and term is not None for sql, term in zip(constants, terms, strict=True)):
        kinds = {term.kind for term in terms if term is not None}
        kind = kinds.pop() if len(kinds) == 1 else "term"
        constants = [None if term is None else constant_of(term, kind) for term in terms]
    return kind, [sql or "NULL" for sql in constants]


def _table_leaves(stores: Stores) -> list[tuple[ConstantTerm, TripleRows]]:
    """Return the triples of the tables by predicate, as :func:`kbkit.stores.ntriples.queries` derives them."""
    return list(_nodes(stores)) + list(_attributes(stores.schema)) + list(_texts(stores)) + list(_edges(stores.schema))


def _nodes(stores: Stores) -> Iterator[tuple[ConstantTerm, TripleRows]]:
    schema = stores.schema
    for predicate, column in ((RDFS + "label", "name"), (KB_KEY, "key")):
        yield _leaf(
            predicate, f"SELECT id AS s, {column} AS o FROM kb.nodes WHERE {column} IS NOT NULL", "node", "string"
        )
    aliases = "SELECT id AS s, unnest(list_distinct(aliases)) AS o FROM kb.nodes WHERE len(aliases) > 0"
    yield _leaf(SKOS + "altLabel", f"SELECT s, o FROM ({aliases}) WHERE o IS NOT NULL", "node", "string")
    types = {t.name: t for t in schema.node_types}
    for predicate in (KB_TYPE, RDF + "type"):
        for node_type in types.values():
            where = f"id BETWEEN {node_type.first} AND {node_type.last}"
            if node_type.others:
                where += f" OR id IN (SELECT id FROM kb.node_types WHERE type = {sql_string(node_type.name)})"
            if node_type.members:
                yield _leaf(predicate, f"SELECT id AS s FROM kb.nodes WHERE {where}", "node", iri(node_type.iri))


def _leaf(
    predicate: str, text: str, subject: str, value: str | ConstantTerm, *, distinct: bool = True
) -> tuple[ConstantTerm, TripleRows]:
    """Return a leaf with one predicate; ``value`` is the representation of the object or its only value."""
    fixed = {"p": iri(predicate)} | ({"o": value} if isinstance(value, ConstantTerm) else {})
    kinds = {"s": subject} | ({"o": value} if isinstance(value, str) else {})
    return iri(predicate), TripleRows(text, kinds, fixed, distinct)


def _attributes(schema: Schema) -> Iterator[tuple[ConstantTerm, TripleRows]]:
    for node_type in schema.node_types:
        for attribute in node_type.attributes if node_type.count else ():
            source = f"kb.{quote(node_type.table)}"
            where = f"id BETWEEN {node_type.first} AND {node_type.last}"
            yield _attribute(schema, attribute, source, "id", "node", where)


def _attribute(
    schema: Schema, attribute: Attribute, source: str, subject: str, kind: str, where: str
) -> tuple[ConstantTerm, TripleRows]:
    predicate = f"{schema.base}attr/{iri_escape(attribute.name)}"
    column, element = quote(attribute.name), attribute.type.removesuffix("[]")
    if attribute.type.endswith("[]"):
        source = f"(SELECT *, unnest(list_distinct({column})) AS kbkit_item FROM {source} WHERE {where})"
        column, where = "kbkit_item", "true"
    representation, sql = _literal(column, element)
    text = f"SELECT {subject} AS s, {sql} AS o FROM {source} WHERE {where} AND {column} IS NOT NULL"
    return _leaf(predicate, text, kind, representation)


def _literal(column: str, kind: str) -> tuple[str, str]:
    """Return the representation of a column of a DuckDB type, and its values in it."""
    name = datatype(kind)
    if name is None:
        return "string", f"{column}::VARCHAR"
    if name == "integer":
        if kind in ("HUGEINT", "UHUGEINT", "UBIGINT"):
            return "term", f"""('"^{XSD}integer"' || {column}::VARCHAR)"""
        return "integer", f"{column}::BIGINT"
    if name == "double":
        return "double", f"{column}::VARCHAR::DOUBLE" if kind == "FLOAT" else column
    if name == "decimal":
        return "decimal", f"{column}::DECIMAL(38,18)"
    return ("boolean", column) if name == "boolean" else (name, column)


def _texts(stores: Stores) -> Iterator[tuple[ConstantTerm, TripleRows]]:
    base = stores.schema.base
    repeated = stores.tables.rows("SELECT coalesce(max(position), 0) > 0 FROM kb.texts")[0][0]
    for field in stores.schema.text_fields:
        text = f"SELECT id AS s, text AS o FROM kb.texts WHERE field = {sql_string(field.name)}"
        predicate = f"{base}text/{urllib.parse.quote(field.name, safe='~')}"
        yield _leaf(predicate, text, "node", "string", distinct=not repeated)


def _edges(schema: Schema) -> Iterator[tuple[ConstantTerm, TripleRows]]:
    for relation in schema.relations:
        edges = f"FROM kb.edges WHERE relation = {sql_string(relation.name)}"
        text = f"SELECT head AS s, tail AS o {edges}"
        yield _leaf(relation.iri, text, "node", "node", distinct=not relation.attributes)
        if relation.attributes:
            yield from _statements(schema, relation, edges)


def _statements(schema: Schema, relation: Relation, edges: str) -> Iterator[tuple[ConstantTerm, TripleRows]]:
    """Yield the triples of statements, which are numbered in the order of the table."""
    space = sql_string(f"{schema.base}statement/{iri_escape(relation.name)}/")
    listed = ", ".join(quote(attribute.name) for attribute in relation.attributes)
    source = f"(SELECT head, tail, {listed}, {space} || row_number() OVER () AS kbkit_statement {edges})"
    values = {"type": iri(RDF + "Statement"), "predicate": iri(relation.iri)}
    for name, value in values.items():
        yield _leaf(RDF + name, f"SELECT kbkit_statement AS s FROM {source}", "iri", value)
    for name, end in (("subject", "head"), ("object", "tail")):
        yield _leaf(RDF + name, f"SELECT kbkit_statement AS s, {end} AS o FROM {source}", "iri", "node")
    for attribute in relation.attributes:
        yield _attribute(schema, attribute, source, "kbkit_statement", "iri", "true")


# -- quads ------------------------------------------------------------------------------------------------------------


class QuadTriples:
    """The quads of a KB from RDF, as ids of the dictionary."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._ids: dict[ConstantTerm, int | None] = {}

    def decoding(self, kind: str) -> tuple[str, str, str]:  # noqa: ARG002
        """See :class:`TripleSource`."""
        return "columns.terms", "id", "term"

    def constant(self, term: ConstantTerm, kind: str) -> str | None:
        """See :class:`TripleSource`."""
        if kind != "id":
            return constant_of(term, kind)
        if term not in self._ids:
            self._ids[term] = self._stores.columns.find(term.text)
        found_id = self._ids[term]
        return None if found_id is None else str(found_id)

    def best_values(self, predicate: ConstantTerm, languages: tuple[str, ...], kind: str, subjects: str) -> str | None:
        """See :class:`TripleSource`. The literals of a language have adjacent ids."""
        verb, iris = self.constant(predicate, "id"), self._stores.columns.range("<")
        bounds = [self._stores.columns.range(f'"@{code}"') for code in languages]
        ranges = [(first, last) for first, last in bounds if last > first]
        if verb is None or not ranges:
            return None
        tests = [f"o BETWEEN {first} AND {last - 1}" for first, last in ranges]
        rank = f"CASE {' '.join(f'WHEN {test} THEN {at}' for at, test in enumerate(tests))} END"
        subject, source = "s", "columns.quads"
        if kind != "id":
            subject = "term" if kind == "term" else "substr(term, 2)"
            wanted = f"SELECT id, {subject} AS key FROM columns.terms WHERE {subject} IN ({subjects})"
            source, subject, subjects = f"columns.quads JOIN ({wanted}) ON s = id", "key", ""
        chosen = f"SELECT {subject} AS key, o FROM {source} WHERE p = {verb} AND g = 0 AND ({' OR '.join(tests)})"
        chosen += f" AND s BETWEEN {iris[0]} AND {iris[1] - 1}"  # blank nodes have no labels
        chosen += f" AND s IN ({subjects})" if subjects else ""
        if len(ranges) > 1:
            chosen += f" QUALIFY {rank} = min({rank}) OVER (PARTITION BY s)"
        start = "strpos(substr(term, 2), '\"') + 1"
        return (
            f"SELECT key, any_value(left(term, {start})) || string_agg(substr(term, {start} + 1), ', ' ORDER BY o)"
            f" AS value FROM ({chosen}) JOIN columns.terms ON id = o GROUP BY key"
        )

    def narrowed(self, terms: Sequence[ConstantTerm | None]) -> tuple[str, list[str]]:
        """See :class:`TripleSource`."""
        return narrowest(terms, "id", self.constant)

    def leaves(
        self,
        predicates: Sequence[ConstantTerm] | None,
        excluded: Sequence[ConstantTerm],
        graphs: GraphsRead,
        *,
        by_object: bool,
    ) -> list[TripleRows]:
        """See :class:`TripleSource`."""
        conditions = []
        fixed: dict[str, ConstantTerm] = {}
        kinds = dict.fromkeys("spo", "id")
        if predicates is not None:
            known = [ident for ident in (self.constant(term, "id") for term in predicates) if ident is not None]
            if not known:
                return []
            conditions.append(f"p IN ({', '.join(known)})" if len(known) > 1 else f"p = {known[0]}")
            if len(predicates) == 1:
                fixed["p"] = predicates[0]
                del kinds["p"]
        without = [ident for ident in (self.constant(term, "id") for term in excluded) if ident is not None]
        if without:
            conditions.append(f"p NOT IN ({', '.join(without)})")
        names = graphs.names
        if names is None:
            conditions.append("g <> 0")
        else:
            idents = ["0" if name == DEFAULT else self.constant(iri(name), "id") for name in names]
            known_graphs = [ident for ident in idents if ident is not None]
            if not known_graphs:
                return []
            conditions.append(
                f"g IN ({', '.join(known_graphs)})" if len(known_graphs) > 1 else f"g = {known_graphs[0]}"
            )
        if graphs.by_name:
            kinds["g"] = "id"
        distinct = graphs.by_name or (names is not None and len(names) == 1)
        table = "quads_by_object" if by_object else "quads"
        text = f"SELECT {', '.join(kinds)} FROM columns.{table} WHERE {' AND '.join(conditions)}"
        return [TripleRows(text, kinds, fixed, distinct)]


def source_of(stores: Stores) -> TripleSource:
    """Return the triples of a KB."""
    return QuadTriples(stores) if stores.schema.rdf_source else TableTriples(stores)
