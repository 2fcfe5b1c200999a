"""Walk the tree of operators of a plan: their inputs, all operators below one, and the parameters that they use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kbkit.answers.algebra import (
    AttributeFilter,
    Difference,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    MeasureFilter,
    Move,
    Operator,
    PathMeasure,
    Plan,
    Union,
    ValueOf,
    path_of,
)


def paths_of(operator: Operator) -> list[PathMeasure]:
    """Return the measures that an operator computes of its nodes along paths, and the path by which it groups them."""
    measures: list[object] = []
    if isinstance(operator, MeasureFilter):
        measures = [operator.measure, operator.other]
    elif isinstance(operator, Extreme):
        measures = [operator.measure, None if operator.per is None else path_of(operator.per)]
    return [measure for measure in measures if isinstance(measure, PathMeasure)]


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """Return the direct inputs of an operator."""
    if isinstance(operator, (MeasureFilter, Extreme)):
        other = operator.other if isinstance(operator, MeasureFilter) else None
        of_value = total_inputs(other) if isinstance(other, ValueOf) else ()
        return (operator.source, *(part for path in paths_of(operator) for part in _within(path)), *of_value)
    if isinstance(operator, (Intersection, Union)):
        return operator.parts
    if isinstance(operator, (AttributeFilter, Hop)):
        return (operator.source,)
    if isinstance(operator, Difference):
        return (operator.left, operator.right)
    return ()


def total_inputs(value: ValueOf | Plan) -> tuple[Operator, ...]:
    """Return the inputs of a value: its nodes, and the sets in which it counts."""
    counts = value.total.counts if value.total is not None else ()
    part = value.total.part if value.total is not None else None
    return (
        value.root,
        *([] if part is None else [part]),
        *(operator for count in counts for operator in _within(count)),
    )


def _within(count: PathMeasure) -> tuple[Operator, ...]:
    return tuple(step.within for step in count.steps if step.within is not None)


def operators(operator: Operator) -> Iterator[Operator]:
    """Yield an operator and all operators below it."""
    yield operator
    for part in inputs(operator):
        yield from operators(part)


def plan_operators(plan: Plan) -> Iterator[Operator]:
    """Yield all operators of a plan, also those of its value."""
    for part in total_inputs(plan):
        yield from operators(part)


def parameters(*roots: Operator) -> set[str]:
    """Return the names of the parameters that operators and their inputs use."""
    names: set[str] = set()
    for part in (part for root in roots for part in operators(root)):
        if isinstance(part, Lookup):
            names.add(part.parameter)
        elif isinstance(part, AttributeFilter):
            names.update(name for condition in part.conditions for name in condition.parameters)
        elif isinstance(part, Hop):
            names.update(_of_edges(part.moves))
        elif isinstance(part, MeasureFilter) and isinstance(part.other, str):
            names.add(part.other)
        elif isinstance(part, Extreme) and part.number is not None:
            names.add(part.number)
        names.update(name for path in paths_of(part) for step in path.steps for name in _of_edges(step.moves))
    return names


def edge_parameters(plan: Plan) -> set[str]:
    """Return the names of the parameters of conditions on edges."""
    of_hops = {name for part in plan_operators(plan) if isinstance(part, Hop) for name in _of_edges(part.moves)}
    return of_hops | {name for path in _plan_paths(plan) for step in path.steps for name in _of_edges(step.moves)}


def uses_edge_attributes(plan: Plan) -> bool:
    """Return whether a plan has conditions on edges, or measures of their attributes."""
    moves = [move for part in plan_operators(plan) if isinstance(part, Hop) for move in part.moves]
    paths = _plan_paths(plan)
    moves += [move for path in paths for step in path.steps for move in step.moves]
    return any(move.conditions for move in moves) or any(path.of_edges for path in paths)


def _plan_paths(plan: Plan) -> list[PathMeasure]:
    """Return the paths of all measures of a plan, also those of values that nodes are compared with."""
    parts = list(plan_operators(plan))
    of_values = [p.other.total for p in parts if isinstance(p, MeasureFilter) and isinstance(p.other, ValueOf)]
    totals = [*of_values, *([plan.total] if plan.total is not None else [])]
    return [path for part in parts for path in paths_of(part)] + [path for total in totals for path in total.counts]


def _of_edges(moves: Iterable[Move]) -> set[str]:
    return {name for move in moves for condition in move.conditions for name in condition.parameters}
