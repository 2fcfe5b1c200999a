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
    kept = _needed(select)
    patterns, conditions = _triples(select.pattern)
    if kept is None or len(patterns) < 2 or not _counted_names(select) <= {t.name for p in patterns for t in _terms(p)}:
        return None
    weighted = select.group is not None and not all(found.distinct for found in aggregate_calls(*select.expressions))
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
    rows = parts[0].rows
    for part in parts[1:]:
        rows = _joined(rows, part.rows)
    return rows


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


def _needed(select: SelectPattern) -> set[str] | None:
    """Return the variables whose values a SELECT needs; None if it needs every solution."""
    if select.group is None:
        if not select.distinct or any(expression is not None for _, expression in select.columns):
            return None
        return {variable.name for variable, _ in select.columns} | {
            n for key, _ in select.order for n in variables(key)
        }
    found = list(aggregate_calls(*select.expressions))
    keys = [expression for _, expression in select.group]
    if not all(isinstance(key, QueryVariable) for key in keys) or not found:
        return None
    if any(f.name != "COUNT" or not (f.argument is None or isinstance(f.argument, QueryVariable)) for f in found):
        return None
    if any(f.distinct for f in found) and (len(set(found)) > 1 or found[0].argument is None):
        return None
    counted = {f.argument.name for f in found if f.distinct and isinstance(f.argument, QueryVariable)}
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
