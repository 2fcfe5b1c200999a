"""The syntax tree of an answer expression; immutable, and ``str`` gives its text.

``at`` is the position of the first character, for errors; comparisons ignore it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

_IDENTIFIER = re.compile(r"\w+(?:/\w+)*")
_PLAIN_RELATION = re.compile(r"[^\s\[\]|!^*+`<](?:[^\[\]|*+`\n]*[^\s\[\]|*+`])?")
_PLAIN_KEY = re.compile(r"(?:(?!->|<-)[^\s(){}\[\]<>&|,\"'`#→←@])+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _at() -> int:
    return field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class Name:
    """A node by name; ``all`` selects every node with that name."""

    text: str
    all: bool = False

    def __str__(self) -> str:
        return f"all({quoted(self.text)})" if self.all else quoted(self.text)


@dataclass(frozen=True)
class Key:
    """A node by key."""

    text: str

    def __str__(self) -> str:
        return self.text if _PLAIN_KEY.fullmatch(self.text) else quoted(self.text)


@dataclass(frozen=True)
class Slot:
    """A named placeholder for a value."""

    name: str

    def __str__(self) -> str:
        return f"<{self.name}>"


Value: TypeAlias = str | int | float | bool | Slot


@dataclass(frozen=True)
class Condition:
    """A test of an attribute against ``values``; ``op`` is one of = != < <= > >= in contains missing."""

    attribute: str
    op: str
    values: tuple[Value, ...] = ()
    negated: bool = False
    at: int = _at()

    def __str__(self) -> str:
        name = _backticks(self.attribute) if self.attribute in ("missing", "not") else identifier(self.attribute)
        if self.op == "missing":
            return f"{'not ' if self.negated else ''}missing({name})"
        values = [_value(value) for value in self.values]
        return f"{name} in [{', '.join(values)}]" if self.op == "in" else f"{name} {self.op} {values[0]}"


@dataclass(frozen=True)
class Count:
    """A measure of a node: the number of distinct nodes that a path from it reaches; an arrow precedes each element."""

    elements: tuple[Expression | Step, ...]
    arrows: tuple[str, ...]
    at: int = _at()

    def __str__(self) -> str:
        steps = (f"{arrow} {_element(e)}" for arrow, e in zip(self.arrows, self.elements, strict=True))
        return f"count({' '.join(steps)})"


@dataclass(frozen=True)
class CountTest:
    """A comparison of a count with an integer; ``op`` is one of = != < <= > >=."""

    count: Count
    op: str
    value: Value
    at: int = _at()

    def __str__(self) -> str:
        return f"{self.count} {self.op} {_value(self.value)}"


@dataclass(frozen=True)
class Superlative:
    """The nodes with the greatest (``op`` is max) or least (min) value of a measure: an attribute or a count.

    ``at`` is the position of the measure.
    """

    op: str
    measure: str | Count
    at: int = _at()

    def __str__(self) -> str:
        return f"{self.op} {self.measure if isinstance(self.measure, Count) else identifier(self.measure)}"


Test: TypeAlias = Condition | CountTest | Superlative
"""What can stand in braces."""


@dataclass(frozen=True)
class Nodes:
    """Nodes of a type (None: any): all, or the ones selected by ``selector``."""

    type: str | None
    selector: Name | Key | Slot | None = None
    at: int = _at()

    def __str__(self) -> str:
        sign = {Key: "#", type(None): ""}.get(type(self.selector), ":")
        node_type = "*" if self.type is None else identifier(self.type)
        return f"{node_type}{sign}{'' if self.selector is None else self.selector}"


@dataclass(frozen=True)
class SavedSet:
    """A saved set."""

    name: str
    at: int = _at()

    def __str__(self) -> str:
        return "@" + identifier(self.name)


@dataclass(frozen=True)
class Filter:
    """The nodes of ``source`` that meet all conditions, which apply from left to right."""

    source: Expression
    conditions: tuple[Test, ...]

    @property
    def at(self) -> int:
        """Position of the source."""
        return self.source.at

    def __str__(self) -> str:
        bare = isinstance(self.source, (Nodes, SavedSet))
        return f"{self.source if bare else f'({self.source})'}{{{', '.join(map(str, self.conditions))}}}"


@dataclass(frozen=True)
class Edge:
    """A relation in a step; ``inverse`` for ``^``; ``closure`` is empty, ``*`` or ``+``."""

    relation: str
    inverse: bool = False
    closure: str = ""
    at: int = _at()

    def __str__(self) -> str:
        name = self.relation
        if not _PLAIN_RELATION.fullmatch(name) or "->" in name:
            name = _backticks(name)
        return f"{'^' * self.inverse}{name}{self.closure}"


@dataclass(frozen=True)
class Step:
    """Alternative relations in brackets; ``negated`` for ``[!r]``."""

    edges: tuple[Edge, ...]
    negated: bool = False
    at: int = _at()

    def __str__(self) -> str:
        return f"[{'!' * self.negated}{'|'.join(map(str, self.edges))}]"


@dataclass(frozen=True)
class Path:
    """Sets of nodes and steps in textual order, separated by ``arrows`` (``->`` or ``<-``)."""

    elements: tuple[Expression | Step, ...]
    arrows: tuple[str, ...]

    @property
    def at(self) -> int:
        """Position of the first element."""
        return self.elements[0].at

    def __str__(self) -> str:
        parts = [_element(e) for e in self.elements]
        return parts[0] + "".join(f" {arrow} {part}" for arrow, part in zip(self.arrows, parts[1:], strict=True))


@dataclass(frozen=True)
class Combine:
    """A set operation ``&``, ``|`` or ``-`` of two or more parts; ``a - b - c`` removes both from ``a``."""

    op: str
    parts: tuple[Expression, ...]

    @property
    def at(self) -> int:
        """Position of the first part."""
        return self.parts[0].at

    def __str__(self) -> str:
        return f" {self.op} ".join(self._part(part) for part in self.parts)

    def _part(self, part: Expression) -> str:
        inside = isinstance(part, Path) or (isinstance(part, Combine) and PRECEDENCE[part.op] >= PRECEDENCE[self.op])
        return f"({part})" if inside else str(part)


@dataclass(frozen=True)
class Aggregate:
    """A value of a whole set: ``op`` is count (of nodes), or values, sum or avg of an attribute."""

    op: str
    source: Expression
    attribute: str | None = None
    at: int = _at()
    attribute_at: int = _at()

    def __str__(self) -> str:
        return f"{self.op}({self.source}{'' if self.attribute is None else f', {identifier(self.attribute)}'})"


Expression: TypeAlias = Nodes | SavedSet | Filter | Path | Combine | Aggregate

PRECEDENCE = {"-": 1, "&": 2, "|": 3}
"""Precedence of operators, 1 is tightest; a path binds tighter than all."""


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
        if isinstance(part, (Nodes, Filter, Path, Combine, Step, Condition, Count, CountTest, Superlative, Aggregate)):
            inner = [getattr(part, f.name) for f in fields(part)]
            for value in reversed(inner):
                stack.extend(reversed(value) if isinstance(value, tuple) else [value])


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
                counts = [count for test in part.conditions if (count := count_of(test))]
                inner = [(e, level + len(count.elements)) for count in counts for e in count.elements]
                stack += [(element, below) for element, below in inner if not isinstance(element, Step)]
            case Aggregate():
                stack.append((part.source, level))
            case Path():
                level += len(part.elements)
                stack += [(element, level) for element in part.elements if not isinstance(element, Step)]
            case Combine():
                stack += [(inner, level + 1) for inner in part.parts]
        deepest = max(deepest, level)
    return deepest


def fill(tree: Expression, values: Mapping[str, Value]) -> Expression:
    """Replace slots by values. A text for a node is a name, or a key if it starts with ``#``."""
    if isinstance(tree, Nodes):
        if isinstance(tree.selector, Slot) and tree.selector.name in values:
            return replace(tree, selector=selector_of(values[tree.selector.name]))
        return tree
    if isinstance(tree, Filter):
        tests = tuple(_fill_test(test, values) for test in tree.conditions)
        return Filter(fill(tree.source, values), tests)
    return _rebuilt(tree, lambda part: fill(part, values))


def substitute(tree: Expression, sets: Mapping[str, Expression]) -> Expression:
    """Replace each saved set in ``sets`` by an expression."""
    if isinstance(tree, SavedSet):
        return sets.get(tree.name, tree)
    return _rebuilt(tree, lambda part: substitute(part, sets))


def _rebuilt(tree: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return a tree with each direct part changed."""
    match tree:
        case Filter():
            return Filter(change(tree.source), tuple(_test_rebuilt(test, change) for test in tree.conditions))
        case Path():
            return replace(tree, elements=_elements_rebuilt(tree.elements, change))
        case Combine():
            return replace(tree, parts=tuple(change(part) for part in tree.parts))
        case Aggregate():
            return replace(tree, source=change(tree.source))
    return tree


def _test_rebuilt(test: Test, change: Callable[[Expression], Expression]) -> Test:
    count = count_of(test)
    if count is None:
        return test
    count = replace(count, elements=_elements_rebuilt(count.elements, change))
    return replace(test, measure=count) if isinstance(test, Superlative) else replace(test, count=count)  # type: ignore[arg-type]


def _elements_rebuilt(
    elements: tuple[Expression | Step, ...], change: Callable[[Expression], Expression]
) -> tuple[Expression | Step, ...]:
    return tuple(element if isinstance(element, Step) else change(element) for element in elements)


def count_of(test: Test) -> Count | None:
    """Return the count in a test, if it has one."""
    measure = test.count if isinstance(test, CountTest) else test.measure if isinstance(test, Superlative) else None
    return measure if isinstance(measure, Count) else None


def selector_of(value: Value) -> Name | Key | Slot:
    """Return the selector for a slot bound to ``value``: a key if it starts with ``#``, else a name."""
    if isinstance(value, Slot):
        return value
    text = str(value)
    return Key(text[1:]) if text.startswith("#") else Name(text)


def _fill_test(test: Test, values: Mapping[str, Value]) -> Test:
    def filled(value: Value) -> Value:
        return values.get(value.name, value) if isinstance(value, Slot) else value

    if isinstance(test, Condition):
        return replace(test, values=tuple(map(filled, test.values)))
    if isinstance(test, CountTest):
        test = replace(test, value=filled(test.value))
    return _test_rebuilt(test, lambda part: fill(part, values))


def quoted(text: str) -> str:
    """Return a text in double quotes with escapes."""
    return '"' + "".join(_ESCAPES.get(c, c) for c in text) + '"'


def identifier(name: str) -> str:
    """Return a type, attribute or set name, in backticks unless it is a plain identifier."""
    return name if _IDENTIFIER.fullmatch(name) else _backticks(name)


def _element(element: Expression | Step) -> str:
    """Return the text of an element of a path."""
    return f"({element})" if isinstance(element, (Combine, Path)) else str(element)


def _backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)
