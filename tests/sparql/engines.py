"""Engines of SPARQL over a small dataset: Oxigraph, Oxigraph after kbkit's rewriting, and columns."""

from __future__ import annotations

import bisect
import datetime
import warnings
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import duckdb
import polars as pl
import pyarrow as pa
import pyoxigraph as ox

from kbkit.errors import QueryError
from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Schema
from kbkit.sparql.columns import BEYOND, UnsupportedQueryError, compile_query, run
from kbkit.sparql.rewrite import rewrite
from kbkit.stores.sparql_worker import ValueLabels, functions
from tests.sparql.solutions import XSD, Answer, Term, answer

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.stores import Stores


class Dataset:
    """Quads in memory, for every engine: an Oxigraph store, and columns as the store of them has."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self.store = ox.Store()
        self.store.extend(quads)
        self.prefixes: Mapping[str, str] = STANDARD_PREFIXES

    @cached_property
    def stores(self) -> Stores:
        """What the compiler of columns reads."""
        return cast("Stores", ColumnStores(self.store))


class KbDataset(Dataset):
    """A KB, for the same engines."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.store = ox.Store.read_only(str(kb.folder / "triples"))
        self.prefixes = kb.schema.prefixes()
        self._kb = kb

    @cached_property
    def stores(self) -> Stores:
        """The stores of the KB."""
        return self._kb.stores


class ColumnStores:
    """What the compiler of columns reads of a KB's stores: the schema, and SQL over ``terms`` and ``quads``."""

    def __init__(self, store: ox.Store) -> None:
        self.schema = Schema("test", "http://example.org/test/", (), (), (), rdf_source=True)
        self.tables = self.columns = self
        self._shared: dict[Any, Any] = {}
        self._con = duckdb.connect(config={"threads": 1})  # more only cost time on so little
        self._con.execute("ATTACH ':memory:' AS columns")
        rows = [(q.predicate, q.subject, q.object, q.graph_name) for q in store]
        texts = sorted({internal(term) for row in rows for term in row} | {""})
        ids = {text: number for number, text in enumerate(texts)}
        self._texts, self._ids = texts, ids
        terms = pa.table({"id": pa.array(range(len(texts)), pa.int32()), "term": pa.array(texts, pa.string())})
        numbers = zip(*([ids[internal(term)] for term in row] for row in rows), strict=True) if rows else [[]] * 4
        quads = pa.table({name: pa.array(part, pa.int32()) for name, part in zip("psog", numbers, strict=True)})
        self._con.register("new_terms", terms)
        self._con.register("new_quads", quads)
        self._con.execute("CREATE TABLE columns.terms AS FROM new_terms")
        self._con.execute("CREATE TABLE columns.quads AS FROM new_quads ORDER BY p, s, o, g")
        self._con.execute("CREATE TABLE columns.quads_by_object AS FROM new_quads ORDER BY p, o, s, g")
        self._con.execute(
            "CREATE TABLE columns.predicates AS SELECT p, g, count(*) AS quads, count(DISTINCT s) AS subjects,"
            " count(DISTINCT o) AS objects FROM columns.quads GROUP BY p, g"
        )

    def rows(self, text: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run SQL and return rows."""
        return self._con.execute(text, dict(params or {})).fetchall()

    def arrow(
        self,
        text: str,
        params: object = None,
        timeout: float | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        bounds: object = None,
    ) -> pa.Table:
        """Run SQL and return an Arrow table."""
        try:
            for name, frame in (frames or {}).items():
                self._con.register(name, frame.to_arrow())
            with warnings.catch_warnings():  # of a copy; planning takes far longer, and `sql` plans twice
                warnings.simplefilter("ignore", UserWarning)
                return self._con.execute(text).to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(f"{type(error).__name__}: {error}") from error

    def find(self, term: str) -> int | None:
        """Return the id of a term."""
        return self._ids.get(term)

    def range(self, prefix: str) -> tuple[int, int]:
        """Return the first id of the terms that start with a prefix, and the id after the last one."""
        first = bisect.bisect_left(self._texts, prefix)
        return first, first + sum(text.startswith(prefix) for text in self._texts[first:])

    def shared(self, compute: Callable[[Any], Any]) -> Any:
        """Return ``compute(self)``, cached."""
        if compute not in self._shared:
            self._shared[compute] = compute(self)
        return self._shared[compute]


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
    known = functions(ValueLabels(data.store)) if KB_NAMESPACE in text else None
    return answer(data.store.query(text, prefixes=data.prefixes, custom_functions=known))


def rewritten(data: Dataset, text: str) -> Answer:
    """Ask Oxigraph the query as kbkit writes it after parsing it."""
    return oxigraph(data, rewrite(text, "sparql", prefixes={}, limit=10**9).text)


def columns(data: Dataset, text: str) -> Answer:
    """Ask the columns. Raises :class:`UnsupportedQueryError`."""
    compiled = compile_query(data.stores, text)
    try:
        found = run(data.stores, compiled)
    except UnsupportedQueryError:
        raise
    except QueryError as error:
        if BEYOND in str(error):
            raise UnsupportedQueryError(str(error)) from None
        raise
    if compiled.kind == "ask":
        return Answer("ask", ("ask",), ((ox.Literal(found.column(0)[0].as_py()),),))
    names = ("subject", "predicate", "object")
    kinds = [column.representation for column in compiled.columns] if compiled.kind == "select" else ["term"] * 3
    parts = [_terms(kind, found.column(at)) for at, kind in enumerate(kinds)]
    rows = tuple(zip(*parts, strict=True)) if parts else ((),) * found.num_rows
    return Answer(compiled.kind, tuple(c.name for c in compiled.columns) if compiled.kind == "select" else names, rows)


def _terms(kind: str, column: Any) -> list[Term]:
    make = _MAKERS[kind]
    return [None if value is None else make(value) for value in column.to_pylist()]
