"""Compile a query to one SQL statement on the KB's tables or quads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from kbkit.sparql.columns.algebra import Basic, Query, Triple, Variable, translate
from kbkit.sparql.columns.patterns import PatternCompiler
from kbkit.sparql.columns.selects import final_text
from kbkit.sparql.columns.sources import source_of
from kbkit.sparql.columns.terms import Constant, UnsupportedQueryError
from kbkit.sparql.parse import parse

if TYPE_CHECKING:
    import pyarrow as pa

    from kbkit.stores import Stores
    from kbkit.stores.sparql_process import Graphs


@dataclass(frozen=True)
class ResultTerm:
    """A column of a result: its variable and its representation, of :mod:`kbkit.sparql.columns.terms`."""

    name: str
    representation: str


@dataclass(frozen=True)
class Compiled:
    """A query as SQL. The columns of ``sql`` are c0, c1, ...; of ``ask``, one BOOLEAN ``ask``.

    ``kind`` is select, ask or triples; triples have the columns subject, predicate and object as internal text.
    ``is_lookup``: the query is answered by a few lookups, which Oxigraph does at once.
    """

    kind: str
    sql: str
    columns: tuple[ResultTerm, ...]
    is_lookup: bool = False


def compile_query(stores: Stores, text: str, graphs: Graphs = (None, None)) -> Compiled:
    """Compile a query. Raises :class:`UnsupportedQueryError` for what only Oxigraph answers."""
    query = translate(parse(text), stores.schema.prefixes())
    if query.graphs != (None, None) or graphs != (None, None):
        raise UnsupportedQueryError("FROM and FROM NAMED")
    compiler = PatternCompiler(source_of(stores), _uses(query))
    sql, results = final_text(compiler, query.select)
    lookup = _is_lookup(query)
    if query.kind == "ask":
        return Compiled("ask", f"SELECT count(*) > 0 AS ask FROM ({sql})", (), lookup)
    if query.kind == "triples":
        raise UnsupportedQueryError("CONSTRUCT")
    return Compiled("select", sql, tuple(ResultTerm(name, value.kind) for name, value in results), lookup)


def run(stores: Stores, compiled: Compiled, timeout: float | None = None) -> pa.Table:
    """Run a compiled query. Raises :class:`QueryError` and :class:`QueryTimeoutError`."""
    return stores.tables.arrow(compiled.sql, timeout=timeout)


def _uses(query: Query) -> Counter[str]:
    """Count the occurrences of each variable; ends of closures count as used."""
    found: Counter[str] = Counter()
    stack: list[Any] = [query]
    while stack:
        part = stack.pop()
        if isinstance(part, Variable):
            found[part.name] += 1
        elif isinstance(part, tuple):
            stack.extend(part)
        elif is_dataclass(part) and not isinstance(part, Constant):
            stack.extend(getattr(part, f.name) for f in fields(part))
    return found


def _is_lookup(query: Query) -> bool:
    """Return whether every triple pattern has a constant subject or object, without groups."""
    pattern = query.select.pattern
    return (
        isinstance(pattern, Basic)
        and query.select.group is None
        and all(isinstance(part, Triple) and isinstance(part.subject, Constant) for part in pattern.parts)
    )
