"""Engines of SPARQL over a small dataset: Oxigraph, Oxigraph after kbkit's rewriting, and columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import duckdb
import pyoxigraph as ox

from kbkit.errors import QueryError
from kbkit.schema import STANDARD_PREFIXES, Schema
from kbkit.sparql.columns import UnsupportedQueryError, compile_query
from kbkit.sparql.rewrite import rewrite
from tests.sparql.solutions import XSD, Answer, Row, Term, answer

if TYPE_CHECKING:
    from kbkit.stores import Stores

BEYOND = "kbkit:columns"
"""Marks errors of SQL at values that only Oxigraph computes exactly."""


class Dataset:
    """Quads in memory, for every engine: an Oxigraph store, and columns as the store of them has."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self.store = ox.Store()
        self.store.extend(quads)

    @cached_property
    def columns(self) -> ColumnStores:
        """The quads as columns."""
        return ColumnStores(self.store)


class ColumnStores:
    """What the compiler of columns reads of a KB's stores: the schema, and SQL over ``terms`` and ``quads``."""

    def __init__(self, store: ox.Store) -> None:
        self.schema = Schema("test", "http://example.org/test/", (), (), (), rdf_source=True)
        self.tables = self
        self._shared: dict[Any, Any] = {}
        self._con = duckdb.connect()
        self._con.execute("ATTACH ':memory:' AS columns")
        rows = [(q.predicate, q.subject, q.object, q.graph_name) for q in store]
        texts = sorted({internal(term) for row in rows for term in row} | {""})
        ids = {text: number for number, text in enumerate(texts)}
        self._con.execute("CREATE TABLE columns.terms(id INTEGER, term VARCHAR)")
        self._con.execute("CREATE TABLE columns.quads(p INTEGER, s INTEGER, o INTEGER, g INTEGER)")
        self._con.executemany("INSERT INTO columns.terms VALUES (?, ?)", [(ids[text], text) for text in texts])
        if rows:
            numbers = [[ids[internal(term)] for term in row] for row in rows]
            self._con.executemany("INSERT INTO columns.quads VALUES (?, ?, ?, ?)", numbers)
        self._con.execute("CREATE TABLE columns.quads_by_object AS FROM columns.quads ORDER BY p, o, s")
        self._con.execute(
            "CREATE TABLE columns.predicates AS SELECT p, g, count(*) AS quads, count(DISTINCT s) AS subjects,"
            " count(DISTINCT o) AS objects FROM columns.quads GROUP BY p, g"
        )

    def rows(self, text: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run SQL and return rows."""
        return self._con.execute(text, dict(params or {})).fetchall()

    def shared(self, compute: Callable[[Any], Any]) -> Any:
        """Return ``compute(self)``, cached."""
        if compute not in self._shared:
            self._shared[compute] = compute(self)
        return self._shared[compute]

    def answer(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a compiled query."""
        try:
            return self._con.execute(sql).fetchall()
        except duckdb.Error as error:
            if BEYOND in str(error):
                raise UnsupportedQueryError(str(error)) from None
            raise


def internal(term: Term) -> str:
    """Return a term as internal text (``kbkit.sparql.columns.terms``)."""
    if isinstance(term, ox.DefaultGraph):
        return ""
    if isinstance(term, ox.NamedNode):
        return f"<{term.value}"
    if isinstance(term, ox.BlankNode):
        return f"_{term.value}"
    if term.language:
        return f'"@{term.language}"{term.value}'
    kind = term.datatype.value
    return f'""{term.value}' if kind == XSD + "string" else f'"^{kind}"{term.value}'


def external(text: str) -> Term:
    """Return the term of internal text."""
    if text[0] == "<":
        return ox.NamedNode(text[1:])
    if text[0] == "_":
        return ox.BlankNode(text[1:])
    tag, _, lexical = text[1:].partition('"')
    if tag.startswith("@"):
        return ox.Literal(lexical, language=tag[1:])
    return ox.Literal(lexical, datatype=ox.NamedNode(tag[1:])) if tag else ox.Literal(lexical)


def _time(value: datetime.date) -> str:
    text = value.isoformat()
    return text.rstrip("0") if "." in text else text


def _decimal(value: Decimal) -> str:
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


_MAKERS: dict[str, Callable[[Any], Term]] = {
    "integer": ox.Literal,
    "boolean": ox.Literal,
    "double": ox.Literal,
    "string": ox.Literal,
    "decimal": lambda value: ox.Literal(_decimal(value), datatype=ox.NamedNode(XSD + "decimal")),
    "iri": ox.NamedNode,
    "term": external,
    "date": lambda value: ox.Literal(value.isoformat(), datatype=ox.NamedNode(XSD + "date")),
    "dateTime": lambda value: ox.Literal(_time(value), datatype=ox.NamedNode(XSD + "dateTime")),
}


def oxigraph(data: Dataset, text: str) -> Answer:
    """Ask Oxigraph."""
    return answer(data.store.query(text, prefixes=STANDARD_PREFIXES))


def rewritten(data: Dataset, text: str) -> Answer:
    """Ask Oxigraph the query as kbkit writes it after parsing it."""
    return oxigraph(data, rewrite(text, "sparql", prefixes={}, limit=10**9).text)


def columns(data: Dataset, text: str) -> Answer:
    """Ask the columns. Raises :class:`UnsupportedQueryError`."""
    compiled = compile_query(cast("Stores", data.columns), text)
    found = data.columns.answer(compiled.sql)
    if compiled.kind == "ask":
        return Answer("ask", ("ask",), ((ox.Literal(found[0][0]),),))
    if compiled.kind == "triples":
        rows = tuple(tuple(external(text) for text in row) for row in found)
        return Answer("triples", ("subject", "predicate", "object"), rows)
    makers = [_MAKERS[column.representation] for column in compiled.columns]
    rows = tuple(  # a query without variables still has a column
        tuple(None if value is None else make(value) for make, value in zip(makers, row, strict=False)) for row in found
    )
    return Answer("select", tuple(column.name for column in compiled.columns), rows)


__all__ = ["Dataset", "QueryError", "Row", "UnsupportedQueryError", "columns", "oxigraph", "rewritten"]
