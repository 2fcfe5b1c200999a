"""The classes of the syntax tree of an answer expression; immutable, and ``str`` gives the text.

:mod:`kbkit.answers.syntax` has them all, with functions on trees.

``at`` is the position of the first character, for errors; comparisons ignore it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from kbkit.answers.date_functions import DateFunction
from kbkit.answers.written import identifier, in_backticks, quoted

_PLAIN_RELATION = re.compile(r"[^\s\[\]{}|!^*+`<](?:[^\[\]{}|*+`\n]*[^\s\[\]{}|*+`])?")
_PLAIN_KEY = re.compile(r"(?:(?!->|<-)[^\s(){}\[\]<>&|,\"'`#→←@])+")


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
    """A test of an attribute against ``values``; ``op`` is one of = != < <= > >= in contains missing.

    ``negated`` for ``not in``, ``not contains`` and ``not missing``.
    """

    attribute: str
    op: str
    values: tuple[Value, ...] = ()
    negated: bool = False
    at: int = _at()

    def __str__(self) -> str:
        name = _attribute(self.attribute)
        if self.op == "missing":
            return f"{'not ' if self.negated else ''}missing({name})"
        values = [_value(value) for value in self.values]
        op = f"{'not ' if self.negated else ''}{self.op}"
        return f"{name} {op} [{', '.join(values)}]" if self.op == "in" else f"{name} {op} {values[0]}"


@dataclass(frozen=True)
class PathFunction:
    """A measure of a node: ``op`` (count, sum, avg, min or max) of the distinct nodes that a path from it reaches.

    It is the number of nodes, or a value of their ``attribute``. An arrow precedes each element.
    """

    elements: tuple[Expression | Step, ...]
    arrows: tuple[str, ...]
    at: int = _at()
    op: str = "count"
    attribute: str | DateFunction | None = None

    @property
    def path(self) -> str:
        """The text of the path."""
        return " ".join(f"{arrow} {_element(e)}" for arrow, e in zip(self.arrows, self.elements, strict=True))

    @property
    def path_to_attribute(self) -> str:
        """The text of the path before a period, which a key would swallow."""
        last = self.elements[-1]
        if not isinstance(last, Nodes) or not isinstance(last.selector, Key):
            return self.path
        return f"{self.path.removesuffix(str(last))}({last})"

    def __str__(self) -> str:
        return f"{self.op}({self.path}{'' if self.attribute is None else f', {_measure(self.attribute)}'})"


Measure: TypeAlias = str | DateFunction | PathFunction
"""A value of each node: an attribute, a function of its dates, or one of a path."""


@dataclass(frozen=True)
class OtherAttribute:
    """An attribute on the right side of a comparison, where a text would be a constant."""

    name: str
    at: int = _at()

    def __str__(self) -> str:
        plain = not self.name[0].isdecimal() and self.name not in ("true", "false")
        return identifier(self.name) if plain else in_backticks(self.name)


@dataclass(frozen=True)
class Comparison:
    """A comparison of a measure with another value; ``op`` is one of = != < <= > >=.

    The value is that of another expression or another measure of the node or, for a function of a path, a constant.
    """

    measure: Measure
    op: str
    value: Value | OtherAttribute | DateFunction | PathFunction | Aggregate
    at: int = _at()

    def __str__(self) -> str:
        measure = _attribute(self.measure) if isinstance(self.measure, str) else self.measure
        value = _value(self.value) if isinstance(self.value, (str, int, float, Slot)) else self.value
        return f"{measure} {self.op} {value}"


@dataclass(frozen=True)
class Group:
    """What nodes are grouped by: a measure of their own, the nodes that a path reaches, or ``attribute`` of these."""

    measure: Measure
    at: int = _at()
    attribute: str | DateFunction | None = None

    def __str__(self) -> str:
        if not isinstance(self.measure, PathFunction):
            return _measure(self.measure)
        if self.attribute is None:
            return self.measure.path
        return f"{self.measure.path_to_attribute}.{_measure(self.attribute)}"


@dataclass(frozen=True)
class Superlative:
    """The nodes with the greatest (``op`` is max) or least (min) value of a measure.

    With ``op`` top or bottom: the ``number`` nodes with the greatest or least values, and those that tie with the last.
    With ``per``, of each group. ``at`` is the position of the measure.
    """

    op: str
    measure: Measure
    at: int = _at()
    number: int | Slot | None = None
    per: Group | None = None

    def __str__(self) -> str:
        number = "" if self.number is None else f"{self.number} "
        per = "" if self.per is None else f" per {self.per}"
        return f"{self.op} {number}{_measure(self.measure)}{per}"


@dataclass(frozen=True)
class Not:
    """The nodes that do not meet all of ``conditions``."""

    conditions: tuple[Test, ...]
    at: int = _at()

    def __str__(self) -> str:
        return f"not ({', '.join(map(str, self.conditions))})"


Test: TypeAlias = Condition | Comparison | Superlative | Not
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
    """A relation in a step; ``inverse`` for ``^``; ``closure`` is empty, ``*`` or ``+``.

    Of its edges, those that meet all of ``conditions`` on their attributes.
    """

    relation: str
    inverse: bool = False
    closure: str = ""
    at: int = _at()
    conditions: tuple[Test, ...] = ()

    def __str__(self) -> str:
        name = self.relation
        if not _PLAIN_RELATION.fullmatch(name) or "->" in name:
            name = in_backticks(name)
        tests = f"{{{', '.join(map(str, self.conditions))}}}" if self.conditions else ""
        return f"{'^' * self.inverse}{name}{self.closure}{tests}"


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
class ValueColumn:
    """A measure in a value expression."""

    measure: Measure
    at: int = _at()

    def __str__(self) -> str:
        return _measure(self.measure)


@dataclass(frozen=True)
class GroupTest:
    """A comparison of a column of groups with a number; ``op`` is one of = != < <= > >=."""

    column: str | DateFunction
    op: str
    value: int | float
    at: int = _at()

    def __str__(self) -> str:
        return f"{_measure(self.column)} {self.op} {self.value}"


@dataclass(frozen=True)
class Order:
    """A measure, or for groups a column of the result, by which rows are sorted."""

    measure: Measure
    descending: bool = False
    at: int = _at()

    def __str__(self) -> str:
        return f"{_measure(self.measure)}{' desc' * self.descending}"


@dataclass(frozen=True)
class Aggregate:
    """A value of a whole set: ``op`` is exists, count, values, sum, avg, min or max, mostly of ``columns``.

    Or op is fraction or percentage: the share of the set that is in ``part``. Several of sum, avg, min and max, as in
    ``min, max``, are of one column or of one each. With ``groups`` there is a row for each group that passes all tests
    of ``having``. ``limit`` keeps the first rows and those that tie with the last one.
    """

    op: str
    source: Expression
    columns: tuple[ValueColumn, ...] = ()
    groups: tuple[Group, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    having: tuple[GroupTest, ...] = ()
    at: int = _at()
    part: Expression | None = None

    @property
    def ops(self) -> tuple[str, ...]:
        """The functions."""
        return tuple(self.op.split(", "))

    def __str__(self) -> str:
        columns = "".join(f", {column}" for column in self.columns)
        groups = f" by {', '.join(map(str, self.groups))}" if self.groups else ""
        having = f" having {', '.join(map(str, self.having))}" if self.having else ""
        order = f" order by {', '.join(map(str, self.order))}" if self.order else ""
        limit = f" limit {self.limit}" if self.limit is not None else ""
        part = "" if self.part is None else f"{self.part} of "
        return f"{self.op}({part}{self.source}{columns}{groups}{having}{order}{limit})"


Expression: TypeAlias = Nodes | SavedSet | Filter | Path | Combine | Aggregate

PRECEDENCE = {"-": 1, "&": 2, "|": 3}
"""Precedence of operators, 1 is tightest; a path binds tighter than all."""


def _element(element: Expression | Step) -> str:
    """Return the text of an element of a path."""
    return f"({element})" if isinstance(element, (Combine, Path)) else str(element)


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)


_WORDS = {"missing", "not"}
"""Names of attributes that are written in backticks at the start of a condition."""


def _attribute(name: str) -> str:
    """Return an attribute at the start of a condition."""
    return in_backticks(name) if name in _WORDS else identifier(name)


def _measure(measure: Measure) -> str:
    return identifier(measure) if isinstance(measure, str) else str(measure)
