"""Closures of property paths (``?``, ``*``, ``+``) as recursive SQL."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kbkit.sparql.columns.algebra import PathPattern, QueryVariable, Term, TriplePattern
from kbkit.sparql.columns.compiling import PatternCompiling
from kbkit.sparql.columns.rows import SqlRows, common_kind, join
from kbkit.sparql.columns.terms import ConstantTerm, SqlValue, UnsupportedQueryError


@dataclass
class _Seeds:
    """The nodes that a closure starts from: a SELECT of ``k``, their representation, and the rows that bind them."""

    text: str
    kind: str
    rows: SqlRows | None = None
    table: str = ""


def is_anchored(path: PathPattern, before: SqlRows) -> bool:
    """Return whether an end of a path is a constant or a variable that is bound in every row."""
    return any(_is_known(term, before) for term in (path.subject, path.object))


def _is_known(term: Term, before: SqlRows) -> bool:
    if isinstance(term, ConstantTerm):
        return True
    value = before.variables.get(term.name)
    return value is not None and not value.nullable


def closure(compiler: PatternCompiling, path: PathPattern, before: SqlRows, nodes: Collection[str]) -> SqlRows:
    """Return the join of rows with the distinct pairs of nodes that a closure joins.

    It starts from a constant end if there is one, else from the ends that ``before`` binds, else from all nodes.
    ``nodes`` are the variables that are surely subjects or objects.
    """
    if compiler.graph_variable is not None:
        raise UnsupportedQueryError("a path in GRAPH with a variable")
    ends = (path.subject, path.object)
    places = [isinstance(term, ConstantTerm) for term in ends]
    places = places if any(places) else [_is_known(term, before) for term in ends]
    backward = places == [False, True]
    first, last = reversed(ends) if backward else ends
    edges, start, end = compiler.step(path.closure)
    if backward:
        start, end = end, start
    seeds = _seeds(compiler, path, first, before, start.kind, nodes, backward=backward)
    start, end = (edges.plain(edges.converted(value, seeds.kind)) for value in (start, end))
    rows = _pairs(compiler, path, edges, (start.sql, end.sql), seeds)
    for term, name in ((first, "\0first"), (last, "\0last")):
        value = rows.variables.pop(name)
        if isinstance(term, ConstantTerm):
            sql = compiler.triples.constant(term, seeds.kind)
            rows.where("false" if sql is None else f"{value.sql} = {sql}")
        elif term.name in rows.variables:
            bound, other = (rows.plain(rows.converted(v, seeds.kind)) for v in (rows.variables[term.name], value))
            rows.where(f"{bound.sql} = {other.sql}")
        else:
            rows.variables[term.name] = value
    return rows if seeds.rows is not None else join(before, rows)


def _pairs(
    compiler: PatternCompiling, path: PathPattern, edges: SqlRows, ends: tuple[str, str], seeds: _Seeds
) -> SqlRows:
    """Return the pairs of a closure, with the rows of its seeds if these are rows."""
    names = compiler.names
    table, steps, a, b, start, end = names.new("w"), names.new("w"), *(names.new() for _ in range(4))
    step = edges.select({start: ends[0], end: ends[1]}, distinct=True)
    one = f"SELECT k, {end} FROM ({seeds.text}) JOIN {steps} ON {start} = k"
    base = f"SELECT k, k FROM ({seeds.text}) UNION {one}" if path.closure.zero else one
    more = f" UNION SELECT {a}, {end} FROM {table} JOIN {steps} ON {start} = {b}" if path.closure.many else ""
    parts = [f"{steps} AS MATERIALIZED ({step})", f"{table}({a}, {b}) AS (({base}){more})"]
    if not path.closure.many:
        parts[1] = f"{table}({a}, {b}) AS (SELECT DISTINCT * FROM ({base}))"
    variables = {
        "\0first": SqlValue(a, seeds.kind, nullable=False),
        "\0last": SqlValue(b, seeds.kind, nullable=False),
    }
    if seeds.rows is None:
        text = f"WITH RECURSIVE {', '.join(parts)} SELECT {a}, {b} FROM {table}"
    else:
        rows = seeds.rows
        listed = "".join(f", {value.sql}" for value in rows.variables.values())
        text = (
            f"WITH RECURSIVE {seeds.table} AS MATERIALIZED (SELECT * FROM {rows.items[0]}), {', '.join(parts)}"
            f" SELECT {a}, {b}{listed} FROM {seeds.table} JOIN {table} ON {a} = {rows.variables.pop(_SEED).sql}"
        )
        variables |= rows.variables
    return SqlRows(names, compiler.triples, [f"({text}) {names.new('q')}"], [], variables)


_SEED = "\0seed"


def _seeds(
    compiler: PatternCompiling,
    path: PathPattern,
    first: Term,
    before: SqlRows,
    kind: str,
    nodes: Collection[str],
    *,
    backward: bool,
) -> _Seeds:
    if isinstance(first, ConstantTerm):
        return _constant_seed(compiler, path, first, kind)
    if _is_known(first, before):
        value = before.variables[first.name]
        known = _nodes(compiler) if path.closure.zero and first.name not in nodes else None
        wide = common_kind((kind, value.kind, *([] if known is None else [known.variables["_:k"].kind])))
        before.variables[_SEED] = before.plain(before.converted(value, wide))
        rows, table = before.closed(), compiler.names.new("w")
        seed = rows.variables[_SEED].sql
        where = ""
        if known is not None:  # a verb or a value may be no node, and no path leads from it to itself
            where = f" WHERE {seed} IN ({known.select({'k': known.converted(known.variables['_:k'], wide).sql})})"
        return _Seeds(f"SELECT DISTINCT {seed} AS k FROM {table}{where}", wide, rows, table)
    if not path.closure.zero:
        edges, start, end = compiler.step(path.closure)
        return _Seeds(edges.select({"k": (end if backward else start).sql}, distinct=True), kind)
    every = _nodes(compiler)
    value = every.variables["_:k"]
    wide = common_kind((kind, value.kind))
    return _Seeds(every.select({"k": every.converted(value, wide).sql}, distinct=True), wide)


def _constant_seed(compiler: PatternCompiling, path: PathPattern, first: ConstantTerm, kind: str) -> _Seeds:
    """Return the seed of a constant. A path of length zero needs a triple with it, as in Oxigraph."""
    sql = compiler.triples.constant(first, kind)
    if not path.closure.zero:
        return _Seeds("SELECT NULL AS k WHERE false" if sql is None else f"SELECT {sql} AS k", kind)
    if sql is None:
        kind = common_kind((kind, compiler.triples.narrowed([first])[0]))
        sql = compiler.triples.constant(first, kind)
    any_verb, any_node = QueryVariable("_:p"), QueryVariable("_:o")
    triples = (TriplePattern(first, any_verb, any_node), TriplePattern(any_node, any_verb, first))
    known = " OR ".join(f"EXISTS ({compiler.triple(triple).select({})})" for triple in triples)
    return _Seeds(f"SELECT {sql} AS k WHERE {known}", kind)


def _nodes(compiler: PatternCompiling) -> SqlRows:
    """Return all subjects and objects of the graph."""
    node_rows = []
    for ends in ((QueryVariable("_:k"), QueryVariable("_:o")), (QueryVariable("_:s"), QueryVariable("_:k"))):
        rows = compiler.triple(TriplePattern(ends[0], QueryVariable("_:p"), ends[1]))
        rows.variables = {"_:k": rows.variables["_:k"]}
        node_rows.append(rows)
    return compiler.union(node_rows)
