"""Closures of property paths (``?``, ``*``, ``+``) as recursive SQL."""

from __future__ import annotations

from kbkit.sparql.columns.algebra import Path, Triple, Variable
from kbkit.sparql.columns.patterns import PatternCompiler
from kbkit.sparql.columns.rows import Rows, common_kind
from kbkit.sparql.columns.terms import Constant, SqlValue, UnsupportedQueryError


def closure(compiler: PatternCompiler, path: Path, before: Rows) -> Rows:
    """Return the distinct pairs of nodes that a closure joins.

    It starts from a constant end if there is one, else from the ends that ``before`` binds, else from all nodes.
    """
    if compiler.graph.variable is not None:
        raise UnsupportedQueryError("a path in GRAPH with a variable")
    backward = isinstance(path.object, Constant) and not isinstance(path.subject, Constant)
    subject_known = isinstance(path.subject, Variable) and path.subject.name in before.variables
    object_known = isinstance(path.object, Variable) and path.object.name in before.variables
    backward = backward or (object_known and not subject_known and not isinstance(path.subject, Constant))
    first, last = (path.object, path.subject) if backward else (path.subject, path.object)
    edges, start, end = compiler.step(path.closure)
    kind = start.kind
    if backward:
        start, end = end, start
    seeds, kind = _seeds(compiler, path, first, before, kind)
    start, end = (edges.plain(edges.converted(value, kind)) for value in (start, end))
    names = compiler.names
    table, a, b, edge_a, edge_b = names.new("w"), names.new(), names.new(), names.new(), names.new()
    step = edges.select({edge_a: start.sql, edge_b: end.sql}, distinct=True)
    steps = names.new("w")
    zero = f"SELECT k, k FROM ({seeds})"
    one = f"SELECT k, {edge_b} FROM ({seeds}) JOIN {steps} ON {edge_a} = k"
    base = f"{zero} UNION {one}" if path.closure.zero else one
    if path.closure.many:
        more = f"SELECT {a}, {edge_b} FROM {table} JOIN {steps} ON {edge_a} = {b}"
        body = f"{table}({a}, {b}) AS (({base}) UNION {more})"
    else:
        body = f"{table}({a}, {b}) AS (SELECT DISTINCT * FROM ({base}))"
    text = f"WITH RECURSIVE {steps} AS MATERIALIZED ({step}), {body} SELECT {a}, {b} FROM {table}"
    rows = Rows(names, compiler.triples, [f"({text}) {names.new('q')}"])
    for term, column in ((first, a), (last, b)):
        value = SqlValue(column, kind, nullable=False)
        if isinstance(term, Constant):
            sql = compiler.triples.constant(term, kind)
            rows.where("false" if sql is None else f"{column} = {sql}")
        elif term.name in rows.variables:
            rows.where(f"{rows.variables[term.name].sql} = {column}")
        else:
            rows.variables[term.name] = value
    return rows


def _seeds(
    compiler: PatternCompiler, path: Path, first: Constant | Variable, before: Rows, kind: str
) -> tuple[str, str]:
    """Return a SELECT of the nodes ``k`` that a closure starts from, and the representation of all nodes."""
    if isinstance(first, Constant):
        sql = compiler.triples.constant(first, kind)
        if sql is not None:
            return f"SELECT {sql} AS k", kind
        if not path.closure.zero:
            return "SELECT NULL AS k WHERE false", kind
        term_kind, [text] = compiler.triples.narrowed([first])
        wide = common_kind((kind, term_kind))
        return f"SELECT {compiler.triples.constant(first, wide) or text} AS k", wide
    if not path.closure.zero:
        edges, start, end = compiler.step(path.closure)
        chosen = end if first == path.object and first != path.subject else start
        return edges.select({"k": chosen.sql}, distinct=True), kind
    nodes = _nodes(compiler)
    value = nodes.variables["_:k"]
    wide = common_kind((kind, value.kind))
    return nodes.select({"k": nodes.converted(value, wide).sql}, distinct=True), wide


def _nodes(compiler: PatternCompiler) -> Rows:
    """Return all subjects and objects of the graph."""
    found = []
    for ends in ((Variable("_:k"), Variable("_:o")), (Variable("_:s"), Variable("_:k"))):
        rows = compiler.triple(Triple(ends[0], Variable("_:p"), ends[1]))
        rows.variables = {"_:k": rows.variables["_:k"]}
        found.append(rows)
    return compiler.union(found)
