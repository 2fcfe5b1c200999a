"""The syntax tree of an answer expression, and functions on trees.

``at`` is the position of the first character, for errors; comparisons ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeAlias

from kbkit.answers.date_functions import DateFunction
from kbkit.answers.syntax_tree import (
    PRECEDENCE,
    Aggregate,
    Combine,
    Comparison,
    Condition,
    Edge,
    Expression,
    Filter,
    Group,
    GroupTest,
    Key,
    Measure,
    Name,
    Nodes,
    Not,
    Order,
    OtherAttribute,
    Path,
    PathFunction,
    SavedSet,
    Slot,
    Step,
    Superlative,
    Test,
    Value,
    ValueColumn,
)
from kbkit.answers.written import identifier, quoted

__all__ = [
    "PRECEDENCE",
    "Aggregate",
    "Combine",
    "Comparison",
    "Condition",
    "DateFunction",
    "Edge",
    "Expression",
    "Filter",
    "Group",
    "GroupTest",
    "Key",
    "Measure",
    "Name",
    "Nodes",
    "Not",
    "Order",
    "OtherAttribute",
    "Path",
    "PathFunction",
    "SavedSet",
    "Slot",
    "Step",
    "Superlative",
    "Test",
    "Value",
    "ValueColumn",
    "combine",
    "depth",
    "fill",
    "identifier",
    "paths_of",
    "quoted",
    "replaced",
    "selector_of",
    "set_of",
    "slots",
    "substitute",
    "subtrees",
]

_BRANCHES = (
    *(Nodes, Filter, Path, Combine, Step, Edge, Condition, PathFunction, Comparison, Superlative, Not),
    *(Aggregate, ValueColumn, Group, Order),
)
"""Classes with parts."""
_PARTS: dict[type, list[str]] = {kind: [part.name for part in reversed(fields(kind))] for kind in _BRANCHES}
"""The fields of each, the last one first."""

_Change: TypeAlias = Callable[[Expression | Step], Any]
"""Returns a part of a tree with a change."""


def combine(op: str, left: Expression, right: Expression) -> Combine:
    """Return ``left op right``; a chain of one operator becomes one :class:`Combine`."""
    if isinstance(left, Combine) and left.op == op:
        return Combine(op, (*left.parts, right))
    return Combine(op, (left, right))


def set_of(tree: Expression) -> Expression:
    """Return the set of an expression: for ``count(EXPR)``, ``values(EXPR, a)`` and so on, EXPR."""
    return tree.source if isinstance(tree, Aggregate) else tree


def subtrees(tree: Expression) -> Iterator[object]:
    """Yield every part of a tree, the tree itself first."""
    stack: list[object] = [tree]
    while stack:
        part = stack.pop()
        yield part
        for name in _PARTS.get(type(part), ()):
            value = getattr(part, name)
            if isinstance(value, tuple):
                stack.extend(reversed(value))
            else:
                stack.append(value)


def slots(tree: Expression) -> list[str]:
    """Return the names of the slots in order of first appearance."""
    return list(dict.fromkeys(part.name for part in subtrees(tree) if isinstance(part, Slot)))


def depth(tree: Expression) -> int:
    """Return the nesting depth of operations; every step of a path nests the one before."""
    deepest, stack = 0, [(tree, 1)]
    while stack:
        part, level = stack.pop()
        match part:
            case Filter():
                stack.append((part.source, level + 1))
                stack += [(inner, level + below) for test in part.conditions for inner, below in _inside(test)]
            case Aggregate():
                stack += [(inner, level) for inner in (part.source, part.part) if inner is not None]
                stack += [(inner, level + below) for path in paths_of(part) for inner, below in _steps(path)]
            case Path():
                level += len(part.elements)
                stack += [(element, level) for element in part.elements if not isinstance(element, Step)]
            case Combine():
                stack += [(inner, level + 1) for inner in part.parts]
        deepest = max(deepest, level)
    return deepest


def _inside(test: Test) -> Iterator[tuple[Expression, int]]:
    """Yield the expressions in a test, each with the number of levels that it is below the test."""
    if isinstance(test, Not):
        for inner in test.conditions:
            yield from ((tree, level + 1) for tree, level in _inside(inner))
    elif isinstance(test, Comparison) and isinstance(test.value, Aggregate):
        yield test.value, 1
    elif isinstance(test, Comparison) and isinstance(test.value, PathFunction):
        yield from _steps(test.value)
    elif isinstance(test, Superlative) and test.per is not None and isinstance(test.per.measure, PathFunction):
        yield from _steps(test.per.measure)
    if isinstance(test, (Superlative, Comparison)) and isinstance(test.measure, PathFunction):
        yield from _steps(test.measure)


def _steps(measure: PathFunction) -> Iterator[tuple[Expression, int]]:
    for element in measure.elements:
        if not isinstance(element, Step):
            yield element, len(measure.elements)


def fill(tree: Expression, values: Mapping[str, Value]) -> Expression:
    """Replace slots by values. A text for a node is a name, or a key if it starts with ``#``."""
    if isinstance(tree, Nodes):
        if isinstance(tree.selector, Slot) and tree.selector.name in values:
            return replace(tree, selector=selector_of(values[tree.selector.name]))
        return tree
    if isinstance(tree, Filter):
        tests = tuple(_fill_test(test, values) for test in tree.conditions)
        return Filter(fill(tree.source, values), tests)
    return _rebuilt(tree, _filling(values))


def substitute(tree: Expression, sets: Mapping[str, Expression]) -> Expression:
    """Replace each saved set in ``sets`` by an expression."""
    if isinstance(tree, SavedSet):
        return sets.get(tree.name, tree)
    return _rebuilt(tree, lambda part: part if isinstance(part, Step) else substitute(part, sets))


def replaced(tree: Expression, old: Expression, new: Expression) -> Expression:
    """Replace each part that equals ``old`` by another expression."""
    if tree == old:
        return new
    return _rebuilt(tree, lambda part: part if isinstance(part, Step) else replaced(part, old, new))


def _rebuilt(tree: Expression, change: _Change) -> Expression:
    """Return a tree with each direct part changed."""
    match tree:
        case Filter():
            return Filter(change(tree.source), tuple(_test_rebuilt(test, change) for test in tree.conditions))
        case Path():
            return replace(tree, elements=_elements_rebuilt(tree.elements, change))
        case Combine():
            return replace(tree, parts=tuple(change(part) for part in tree.parts))
        case Aggregate():
            return _total_rebuilt(tree, change)
    return tree


def _total_rebuilt(tree: Aggregate, change: _Change) -> Aggregate:
    columns = tuple(replace(c, measure=_measure_rebuilt(c.measure, change)) for c in tree.columns)
    groups = tuple(_group_rebuilt(group, change) for group in tree.groups)
    order = tuple(replace(o, measure=_measure_rebuilt(o.measure, change)) for o in tree.order)
    part = None if tree.part is None else change(tree.part)
    return replace(tree, source=change(tree.source), columns=columns, groups=groups, order=order, part=part)


def _group_rebuilt(group: Group, change: _Change) -> Group:
    return replace(group, measure=_measure_rebuilt(group.measure, change))


def _test_rebuilt(test: Test, change: _Change) -> Test:
    match test:
        case Superlative():
            per = None if test.per is None else _group_rebuilt(test.per, change)
            return replace(test, measure=_measure_rebuilt(test.measure, change), per=per)
        case Comparison():
            test = replace(test, measure=_measure_rebuilt(test.measure, change))
            if isinstance(test.value, Aggregate):
                return replace(test, value=_total_rebuilt(test.value, change))
            return (
                replace(test, value=_path_rebuilt(test.value, change)) if isinstance(test.value, PathFunction) else test
            )
        case Not():
            return replace(test, conditions=tuple(_test_rebuilt(inner, change) for inner in test.conditions))
    return test


def _measure_rebuilt(measure: Measure, change: _Change) -> Measure:
    return _path_rebuilt(measure, change) if isinstance(measure, PathFunction) else measure


def _path_rebuilt(path: PathFunction, change: _Change) -> PathFunction:
    return replace(path, elements=_elements_rebuilt(path.elements, change))


def _elements_rebuilt(elements: tuple[Expression | Step, ...], change: _Change) -> tuple[Expression | Step, ...]:
    return tuple(change(element) for element in elements)


def paths_of(tree: Aggregate) -> Iterator[PathFunction]:
    """Yield the paths in the columns, groups and order of a value expression."""
    parts: tuple[ValueColumn | Group | Order, ...] = (*tree.columns, *tree.groups, *tree.order)
    yield from (part.measure for part in parts if isinstance(part.measure, PathFunction))


def selector_of(value: Value) -> Name | Key | Slot:
    """Return the selector for a slot bound to ``value``: a key if it starts with ``#``, else a name."""
    if isinstance(value, Slot):
        return value
    text = str(value)
    return Key(text[1:]) if text.startswith("#") else Name(text)


def _filling(values: Mapping[str, Value]) -> _Change:
    """Return the function that fills the slots of a part of a tree."""

    def change(part: Expression | Step) -> Any:
        if not isinstance(part, Step):
            return fill(part, values)
        edges = (replace(e, conditions=tuple(_fill_test(test, values) for test in e.conditions)) for e in part.edges)
        return replace(part, edges=tuple(edges))

    return change


def _fill_test(test: Test, values: Mapping[str, Value]) -> Test:
    def filled(value: Value) -> Value:
        return values.get(value.name, value) if isinstance(value, Slot) else value

    if isinstance(test, Condition):
        return replace(test, values=tuple(map(filled, test.values)))
    if isinstance(test, Not):
        return replace(test, conditions=tuple(_fill_test(inner, values) for inner in test.conditions))
    if isinstance(test, Comparison) and isinstance(test.value, Slot):
        test = replace(test, value=filled(test.value))
    if isinstance(test, Superlative) and isinstance(test.number, Slot):
        test = replace(test, number=filled(test.number))  # type: ignore[arg-type]  # checked when it is bound
    return _test_rebuilt(test, _filling(values))
