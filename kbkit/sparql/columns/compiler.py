"""Compile a query to one SQL statement on the KB's tables or quads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kbkit.schema import literal as sql_string
from kbkit.sparql.checks import refuse_invalid
from kbkit.sparql.columns import pairs
from kbkit.sparql.columns.algebra import (
    AggregateCall,
    AlgebraQuery,
    GraphPattern,
    QueryVariable,
    TriplePattern,
    walk_algebra,
)
from kbkit.sparql.columns.compiling import QueryDataset
from kbkit.sparql.columns.pairs import PairCounts
from kbkit.sparql.columns.patterns import PatternCompiler
from kbkit.sparql.columns.quick import first_rows, quick_reason
from kbkit.sparql.columns.selects import final_text
from kbkit.sparql.columns.sources import source_of
from kbkit.sparql.columns.terms import ConstantTerm, SqlValue, UnsupportedQueryError, as_term
from kbkit.sparql.columns.translate import translate
from kbkit.sparql.parse import parse

if TYPE_CHECKING:
    import pyarrow as pa

    from kbkit.stores import Stores
    from kbkit.stores.sparql_process import Graphs, ResultColumn
    from kbkit.stores.sql_results import ResultBounds


@dataclass(frozen=True)
class ResultTerm:
    """A column of a result: its variable and its representation, of :mod:`kbkit.sparql.columns.terms`."""

    name: str
    representation: str


@dataclass(frozen=True)
class Compiled:
    """A query as SQL. The columns of ``sql`` are c0, c1, ...; of ``ask``, one BOOLEAN ``ask``.

    ``kind`` is select, ask or triples; triples have the columns subject, predicate and object as internal text.
    ``quick`` is the reason why Oxigraph answers the query at once, if it does. ``pair_counts`` are the parts of ``sql``
    that may be computed in another way.
    """

    kind: str
    sql: str
    columns: tuple[ResultTerm, ...]
    quick: str = ""
    pair_counts: tuple[PairCounts, ...] = ()


def compile_query(
    stores: Stores,
    text: str,
    graphs: Graphs = (None, None),
    shown: Sequence[ResultColumn] = (),
    *,
    skip_quick: bool = False,
) -> Compiled:
    """Compile a query. Raises :class:`UnsupportedQueryError` for what only Oxigraph answers.

    ``shown`` are the columns of the result if labels are added to it. With ``skip_quick``, a query that Oxigraph
    answers at once gets no SQL, which would take longer than its answer.
    """
    if any(not _IRI.fullmatch(name) for names in graphs for name in names or ()):
        raise UnsupportedQueryError("this IRI of a graph")
    try:
        return _compiled(stores, text, graphs, shown, skip_quick=skip_quick)
    except RecursionError:
        raise UnsupportedQueryError("expressions of this depth") from None


_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{}|^`\\\x00-\x20]*")


def _compiled(
    stores: Stores, text: str, graphs: Graphs, shown: Sequence[ResultColumn], *, skip_quick: bool
) -> Compiled:
    tree = parse(text)
    refuse_invalid(tree)
    query = translate(tree, stores.schema.prefixes())
    default, named = graphs if graphs != (None, None) else query.graphs
    quick = quick_reason(query) if len(default or ()) < 2 else ""  # Oxigraph does not merge graphs as sets
    if quick and skip_quick:
        return Compiled(query.kind, "", (), quick)
    dataset = (
        QueryDataset() if default is None and named is None else QueryDataset(tuple(default or ()), tuple(named or ()))
    )
    compiler = PatternCompiler(source_of(stores), _uses(query), dataset)
    compiler.first_rows = first_rows(query)
    sql, results = final_text(compiler, query.select, shown)
    if query.kind == "ask":
        return Compiled("ask", f"SELECT count(*) > 0 AS ask FROM ({sql})", (), quick)
    if query.kind == "triples":
        return Compiled("triples", _constructed(query.template, sql, dict(results)), _TRIPLE, quick)
    columns = tuple(ResultTerm(name, value.kind) for name, value in results)
    return Compiled("select", sql, columns, quick, tuple(compiler.pair_counts))


_TRIPLE = tuple(ResultTerm(name, "term") for name in ("subject", "predicate", "object"))


def _constructed(template: Sequence[TriplePattern], sql: str, results: Mapping[str, SqlValue]) -> str:
    """Return the distinct triples that a template makes of solutions; those that RDF does not allow are left out."""
    columns = {name: (f"c{at}", value) for at, (name, value) in enumerate(results.items())}
    selects = []
    for number, triple in enumerate(template):
        parts = []
        for term in (triple.subject, triple.predicate, triple.object):
            if isinstance(term, ConstantTerm):
                parts.append(sql_string(term.text))
            elif isinstance(term, QueryVariable) and not term.is_blank:
                column, value = columns[term.name]
                parts.append(as_term(replace(value, sql=column)).sql)
            elif isinstance(term, QueryVariable):  # a blank node for each solution
                parts.append(f"('_k' || {sql_string(term.name[2:])} || '_' || kbkit_row)")
        subject, predicate, target = parts
        where = "subject[1] IN ('<', '_') AND predicate[1] = '<' AND object IS NOT NULL"
        place = f"kbkit_row, {number} AS kbkit_part"
        row = f"SELECT {subject} AS subject, {predicate} AS predicate, {target} AS object, {place} FROM kbkit_rows"
        selects.append(f"SELECT * FROM ({row}) WHERE {where}")
    if not selects:
        selects = ["SELECT '' AS subject, '' AS predicate, '' AS object, 0 AS kbkit_row, 0 AS kbkit_part WHERE false"]
    numbered = f"SELECT *, row_number() OVER () AS kbkit_row FROM ({sql})"
    return (
        f"WITH kbkit_rows AS MATERIALIZED ({numbered}) SELECT subject, predicate, object FROM"
        f" ({' UNION ALL '.join(selects)}) GROUP BY subject, predicate, object ORDER BY min(kbkit_row), min(kbkit_part)"
    )


def run(
    stores: Stores, compiled: Compiled, timeout: float | None = None, bounds: ResultBounds | None = None
) -> pa.Table:
    """Run a compiled query; see :meth:`kbkit.stores.tables.Tables.arrow` for ``bounds`` and errors."""
    return pairs.run(stores, compiled.sql, compiled.pair_counts, timeout, bounds)


def _uses(query: AlgebraQuery) -> Counter[str]:
    """Count the occurrences of each variable. All count as used where a graph or COUNT(DISTINCT *) needs them."""
    counts: Counter[str] = Counter()
    for part in walk_algebra(query):
        if isinstance(part, QueryVariable):
            counts[part.name] += 1
        elif isinstance(part, GraphPattern) and isinstance(part.graph, QueryVariable):
            counts[part.graph.name] += 2
        elif isinstance(part, AggregateCall) and part.argument is None and part.distinct:
            return Counter()
    return counts
