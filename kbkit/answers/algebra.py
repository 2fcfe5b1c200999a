"""The operators that decide which nodes are answers: what an expression means once a schema has resolved it; immutable.

To add an operator: a class here, and a case in each of ``walk.py``, ``walk_many.py``, ``to_sql.py``, ``to_sparql.py``
and ``why.py``. Every operator stands for a set of nodes, and ``type`` is the type that all of them have (None: any).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kbkit.answers.syntax import Key, Name, Slot

Constant: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class All:
    """All nodes that have the type, as their primary one or besides."""

    type: str | None


@dataclass(frozen=True)
class Lookup:
    """The nodes that the parameter ``parameter`` names."""

    type: str | None
    parameter: str


@dataclass(frozen=True)
class Stored:
    """The members of a set saved in the workspace."""

    type: str | None
    name: str


@dataclass(frozen=True)
class Test:
    """``attribute op parameters``; ``sql_type`` is the attribute's type in DuckDB; only ``missing`` is ``negated``."""

    attribute: str
    sql_type: str
    op: str
    parameters: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class Filter:
    """The nodes of ``source`` that pass all tests."""

    source: Operator
    tests: tuple[Test, ...]

    @property
    def type(self) -> str | None:
        """That of its source."""
        return self.source.type


@dataclass(frozen=True)
class Move:
    """One relation followed from head to tail (``forward``) or back; ``closure`` is empty, ``*`` or ``+``."""

    relation: str
    forward: bool
    closure: str = ""


@dataclass(frozen=True)
class Hop:
    """The nodes that any of ``moves`` reaches from ``source``; ``check`` when they may lack ``type``."""

    source: Operator
    moves: tuple[Move, ...]
    type: str | None
    check: bool = False


@dataclass(frozen=True)
class Intersection:
    """The nodes in all parts."""

    type: str | None
    parts: tuple[Operator, ...]


@dataclass(frozen=True)
class Union:
    """The nodes in any part."""

    type: str | None
    parts: tuple[Operator, ...]


@dataclass(frozen=True)
class Difference:
    """The nodes of ``left`` that are not in ``right``."""

    left: Operator
    right: Operator

    @property
    def type(self) -> str | None:
        """That of its left side."""
        return self.left.type


Operator: TypeAlias = All | Lookup | Stored | Filter | Hop | Intersection | Union | Difference


@dataclass(frozen=True)
class Parameter:
    """What a plan needs to know before it runs: nodes of ``type`` (a node type, None for any), or with ``value`` a
    constant of ``type`` (a DuckDB type). ``given`` is the slot, name, key or constant of the expression.
    """

    name: str
    type: str | None
    given: Slot | Name | Key | Constant
    value: bool = False
    at: int = 0


@dataclass(frozen=True)
class Plan:
    """A resolved expression: ``parameters`` by their names, which are safe in SQL and SPARQL; ``text`` is its text."""

    root: Operator
    parameters: tuple[Parameter, ...]
    text: str

    @property
    def type(self) -> str | None:
        """The type of the answers; None for any."""
        return self.root.type

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots, in the order of their first appearance."""
        return tuple(p.given.name for p in self.parameters if isinstance(p.given, Slot))


def conjunction(parts: list[Operator]) -> Operator:
    """The nodes in all parts, without parts that say nothing: ``T & (all of T - X)`` is ``T - X``."""
    typed = [part.type for part in parts if not _whole(part)]
    node_type = next((t for t in [*typed, *(p.type for p in parts)] if t is not None), None)
    kept: list[Operator] = []
    removed: list[Operator] = []
    for part in dict.fromkeys(parts):
        if isinstance(part, Difference) and isinstance(part.left, All) and part.left.type in typed:
            removed.append(part.right)
        elif not (isinstance(part, All) and (part.type is None or part.type in typed)):
            kept.append(part)
    if not kept:
        return parts[0] if len(set(parts)) == 1 else _negated_only(parts, removed)
    whole = kept[0] if len(kept) == 1 else Intersection(node_type, tuple(kept))
    if not removed:
        return whole
    return Difference(whole, removed[0] if len(removed) == 1 else Union(node_type, tuple(removed)))


def _whole(part: Operator) -> bool:
    return isinstance(part, All) or (isinstance(part, Difference) and isinstance(part.left, All))


def _negated_only(parts: list[Operator], removed: list[Operator]) -> Operator:
    if not removed:
        return next(part for part in [*parts, All(None)] if part.type is not None or part == All(None))
    return Intersection(parts[0].type, tuple(dict.fromkeys(parts)))


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """The operators that it works on."""
    if isinstance(operator, (Intersection, Union)):
        return operator.parts
    if isinstance(operator, (Filter, Hop)):
        return (operator.source,)
    if isinstance(operator, Difference):
        return (operator.left, operator.right)
    return ()


def operators(operator: Operator) -> Iterator[Operator]:
    """An operator and all below it."""
    yield operator
    for part in inputs(operator):
        yield from operators(part)


def parameters(operator: Operator) -> set[str]:
    """Names of the parameters that an operator and those below it use."""
    found: set[str] = set()
    for part in operators(operator):
        if isinstance(part, Lookup):
            found.add(part.parameter)
        elif isinstance(part, Filter):
            found.update(name for test in part.tests for name in test.parameters)
    return found
