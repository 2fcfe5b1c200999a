"""Walk the tree of operators of a plan: their inputs, all operators below one, and the parameters that they use."""

from __future__ import annotations

from collections.abc import Iterator

from kbkit.answers.algebra import (
    AttributeFilter,
    CountFilter,
    CountMeasure,
    Difference,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    Operator,
    Plan,
    Union,
    ValueFilter,
    ValueOf,
    path_of,
)


def count_of(operator: Operator) -> CountMeasure | None:
    """Return the count that an operator computes of its nodes, if any."""
    if isinstance(operator, CountFilter):
        return operator.count
    if isinstance(operator, (Extreme, ValueFilter)):
        return operator.measure if isinstance(operator.measure, CountMeasure) else None
    return None


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """Return the direct inputs of an operator."""
    if isinstance(operator, (CountFilter, Extreme, ValueFilter)):
        counts = [count for count in (count_of(operator), _grouping(operator)) if count is not None]
        of_value = total_inputs(operator.value) if isinstance(operator, ValueFilter) else ()
        return (operator.source, *(part for count in counts for part in _within(count)), *of_value)
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
    return (value.root, *(operator for count in counts for operator in _within(count)))


def _grouping(operator: Operator) -> CountMeasure | None:
    """Return the path of the groups of a superlative, if it has one."""
    return path_of(operator.per) if isinstance(operator, Extreme) and operator.per is not None else None


def _within(count: CountMeasure) -> tuple[Operator, ...]:
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
        elif isinstance(part, CountFilter):
            names.add(part.parameter)
        elif isinstance(part, Extreme) and part.number is not None:
            names.add(part.number)
    return names
