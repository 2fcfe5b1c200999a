"""Counts over joins, computed from counts of their parts, without the joined rows (Yannakakis 1981).

A pattern that shares variables with one other pattern only is replaced, in that other one, by the number of its matches
for each value of what they share. For an acyclic query no intermediate result is larger than its largest pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kbkit.sparql.columns.algebra import (
    BasicPattern,
    Expression,
    FilterPattern,
    Pattern,
    QueryVariable,
    SelectPattern,
    TriplePattern,
    aggregate_calls,
    conjuncts,
    variables,
)
from kbkit.sparql.columns.compiling import PatternCompiling
from kbkit.sparql.columns.pairs import PairCounts
from kbkit.sparql.columns.rows import SqlRows, join
from kbkit.sparql.columns.terms import SqlValue

WEIGHT = "\0weight"
"""The variable of the number of solutions that a row stands for."""


@dataclass
class _Part:
    rows: SqlRows
    names: set[str]


def reduced(compiler: PatternCompiling, select: SelectPattern) -> SqlRows | None:
    """Return the solutions of a pattern as far as a SELECT needs them; None if nothing can be saved.

    Rows that agree on the needed variables are one, with a :data:`WEIGHT` if their number is needed.
    """
    inner = select.pattern
    if isinstance(inner, SelectPattern) and _counts_rows(select) and _is_distinct_pairs(inner):
        parts = _merged(compiler, inner, _needed(inner), weighted=False)
        return None if parts is None else _pair_counts(compiler, parts, [v.name for v, _ in inner.columns], "")
    kept = _needed(select)
    calls = aggregate_calls(*select.expressions)
    weighted = select.group is not None and not all(call.distinct for call in calls)
    parts = _merged(compiler, select, kept, weighted=weighted)
    if parts is None:
        return None
    if select.group and len(select.group) == 1 and not weighted and len(kept or ()) == 2:
        keys = {name for _, key in select.group for name in variables(key)}
        counts = _pair_counts(compiler, parts, sorted(kept or (), key=lambda name: name not in keys), next(iter(keys)))
        if counts is not None:
            return counts
    rows = parts[0].rows
    for part in parts[1:]:
        rows = _joined(rows, part.rows)
    return rows


def _merged(
    compiler: PatternCompiling, select: SelectPattern, kept: set[str] | None, *, weighted: bool
) -> list[_Part] | None:
    """Return the relations of the triple patterns of a SELECT, as few as counts make them; None for other patterns."""
    patterns, conditions = _triples(select.pattern)
    if kept is None or len(patterns) < 2 or not _counted_names(select) <= {t.name for p in patterns for t in _terms(p)}:
        return None
    parts = []
    with compiler.expecting(patterns):
        for pattern in patterns:
            rows = compiler.triple(pattern)
            parts.append(_Part(rows, {term.name for term in _terms(pattern)} & rows.variables.keys()))
    for condition in conditions:
        used = variables(condition)
        place = next((part for part in parts if used and used <= part.names), None)
        if place is None:
            return None
        compiler.filter(place.rows, condition)
    while len(parts) > 1:
        if not _merge_one(parts, kept, weighted=weighted):
            break
    return parts


def _merge_one(parts: list[_Part], kept: set[str], *, weighted: bool) -> bool:
    """Replace a part that meets one other part only by its counts there."""
    for part in parts:
        others = [other for other in parts if other is not part]
        shared = part.names & (kept | set[str]().union(*(other.names for other in others)))
        target = next((other for other in others if shared <= other.names), None)
        if target is not None and shared:
            part.rows = _counted(part.rows, sorted(shared), weighted=weighted)
            target.rows = _joined(target.rows, part.rows)
            parts.remove(part)
            return True
    return False


def _counted(rows: SqlRows, names: list[str], *, weighted: bool) -> SqlRows:
    """Return the distinct values of variables, with the number of solutions of each."""
    if not weighted:
        return rows.closed(names, distinct=True)
    columns = {name: rows.names.new() for name in names}
    weight = rows.names.new()
    total = f"sum({rows.variables[WEIGHT].sql})" if WEIGHT in rows.variables else "count(*)::HUGEINT"
    selected = {column: rows.variables[name].sql for name, column in columns.items()} | {weight: total}
    text = rows.select(selected, f" GROUP BY {', '.join(rows.variables[name].sql for name in names)}")
    values = {name: SqlValue(column, rows.variables[name].kind, nullable=False) for name, column in columns.items()}
    values[WEIGHT] = SqlValue(weight, "integer", nullable=False)
    return SqlRows(rows.names, rows.decoder, [f"({text}) {rows.names.new('q')}"], [], values)


def _joined(left: SqlRows, right: SqlRows) -> SqlRows:
    weights = [rows.variables.pop(WEIGHT).sql for rows in (left, right) if WEIGHT in rows.variables]
    rows = join(left, right)
    if weights:
        rows.variables[WEIGHT] = SqlValue(rows.compute(" * ".join(weights)), "integer", nullable=False)
    return rows


def _counts_rows(select: SelectPattern) -> bool:
    """Return whether a SELECT counts the rows of its pattern, and does nothing else."""
    calls = list(aggregate_calls(*select.expressions))
    return (
        select.group == ()
        and bool(calls)
        and all(c.name == "COUNT" and c.argument is None and not c.distinct for c in calls)
    )


def _is_distinct_pairs(select: SelectPattern) -> bool:
    """Return whether a subquery is SELECT DISTINCT of two variables."""
    columns = {variable.name for variable, expression in select.columns if expression is None}
    plain = select.group is None and not select.order and select.limit is None and not select.offset
    return select.distinct and plain and len(select.columns) == len(columns) == 2


def _pair_counts(compiler: PatternCompiling, parts: list[_Part], kept: list[str], shown: str) -> SqlRows | None:
    """Return the first of two variables, if it is ``shown``, with the number of values of the second that it meets.

    None unless two relations of ids have one of the variables each, and share one other.
    """
    value, counted = kept
    left = next((part for part in parts if value in part.names), None)
    right = next((part for part in parts if counted in part.names), None)
    if len(parts) != 2 or left is None or right is None or left is right or compiler.graph_variable is not None:
        return None
    shared = left.names & right.names
    if len(shared) != 1 or shared & set(kept):
        return None
    [middle] = shared
    ends = [left.rows.variables[name] for name in (value, middle)]
    ends += [right.rows.variables[name] for name in (middle, counted)]
    if any(end.nullable or end.kind not in ("id", "node") for end in ends) or ends[1].kind != ends[2].kind:
        return None
    names = compiler.names
    counts = PairCounts(
        names.new(),
        names.new(),
        left.rows.select({"value": ends[0].sql, "shared": ends[1].sql}),
        right.rows.select({"shared": ends[2].sql, "counted": ends[3].sql}),
    )
    compiler.pair_counts.append(counts)
    rows = SqlRows(names, left.rows.decoder, [f"({counts.text}) {names.new('q')}"])
    rows.variables[WEIGHT] = SqlValue(counts.pairs, "integer", nullable=False)
    if shown:
        rows.variables[shown] = SqlValue(counts.value, ends[0].kind, nullable=False)
    return rows


def _needed(select: SelectPattern) -> set[str] | None:
    """Return the variables whose values a SELECT needs; None if it needs every solution."""
    if select.group is None:
        if not select.distinct or any(expression is not None for _, expression in select.columns):
            return None
        return {variable.name for variable, _ in select.columns} | {
            n for key, _ in select.order for n in variables(key)
        }
    calls = list(aggregate_calls(*select.expressions))
    keys = [expression for _, expression in select.group]
    if not all(isinstance(key, QueryVariable) for key in keys) or not calls:
        return None
    if any(f.name != "COUNT" or not (f.argument is None or isinstance(f.argument, QueryVariable)) for f in calls):
        return None
    if any(f.distinct for f in calls) and (len(set(calls)) > 1 or calls[0].argument is None):
        return None
    counted = {f.argument.name for f in calls if f.distinct and isinstance(f.argument, QueryVariable)}
    return {name for key in keys for name in variables(key)} | counted


def _counted_names(select: SelectPattern) -> set[str]:
    """Return the variables that COUNT counts: one that is unbound everywhere counts as nothing."""
    return {name for call in aggregate_calls(*select.expressions) if call.argument for name in variables(call.argument)}


def _triples(pattern: Pattern) -> tuple[list[TriplePattern], list[Expression]]:
    """Return the triples and conditions of a pattern that has nothing else; none for others."""
    conditions: list[Expression] = []
    while isinstance(pattern, FilterPattern):
        conditions += conjuncts(pattern.condition)
        pattern = pattern.pattern
    if not isinstance(pattern, BasicPattern) or not all(isinstance(part, TriplePattern) for part in pattern.parts):
        return [], []
    return [part for part in pattern.parts if isinstance(part, TriplePattern)], conditions


def _terms(triple: TriplePattern) -> Iterator[QueryVariable]:
    for term in (triple.subject, triple.predicate, triple.object):
        if isinstance(term, QueryVariable):
            yield term
