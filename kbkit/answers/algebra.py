"""The operators of a resolved expression; immutable.

Every operator is a set of nodes; ``type`` is a type that all of them have (None: any). To add an operator, add a class
here and its cases to ``evaluate.py``, ``to_sql.py``, ``to_sparql.py`` and ``why.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kbkit.answers.syntax import Key, Name, Slot

Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class AllNodes:
    """All nodes of a type, primary or secondary."""

    type: str | None


@dataclass(frozen=True)
class Lookup:
    """The nodes that a parameter is bound to."""

    type: str | None
    parameter: str


@dataclass(frozen=True)
class SavedSet:
    """The members of a saved set."""

    type: str | None
    name: str


@dataclass(frozen=True)
class Condition:
    """A test ``attribute op parameters``; ``sql_type`` is the attribute's DuckDB type; only ``missing`` can be
    ``negated``.
    """

    attribute: str
    sql_type: str
    op: str
    parameters: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class Filter:
    """The nodes of ``source`` that meet all conditions."""

    source: Operator
    conditions: tuple[Condition, ...]

    @property
    def type(self) -> str | None:
        """The type of the source."""
        return self.source.type


@dataclass(frozen=True)
class Move:
    """A relation followed from head to tail (``forward``) or back; ``closure`` is empty, ``*`` or ``+``."""

    relation: str
    forward: bool
    closure: str = ""


@dataclass(frozen=True)
class Hop:
    """The nodes that any of ``moves`` reaches from ``source``; ``check`` if some may not have ``type``."""

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
    """The nodes in at least one part."""

    type: str | None
    parts: tuple[Operator, ...]


@dataclass(frozen=True)
class Difference:
    """The nodes of ``left`` that are not in ``right``."""

    left: Operator
    right: Operator

    @property
    def type(self) -> str | None:
        """The type of the left side."""
        return self.left.type


@dataclass(frozen=True)
class AttributeMeasure:
    """A measure: an attribute of a DuckDB type; of a list, its greatest or least element."""

    name: str
    sql_type: str


@dataclass(frozen=True)
class CountStep:
    """A step of a count, to nodes that any of ``moves`` reaches and that are in ``within`` (None: all of them)."""

    moves: tuple[Move, ...]
    type: str | None
    within: Operator | None = None


@dataclass(frozen=True)
class Count:
    """A measure: the number of distinct nodes that ``steps`` reach from a node; ``text`` is the expression."""

    steps: tuple[CountStep, ...]
    text: str


@dataclass(frozen=True)
class CountFilter:
    """The nodes of ``source`` whose count compares with a parameter; ``op`` is one of = != < <= > >=."""

    source: Operator
    count: Count
    op: str
    parameter: str

    @property
    def type(self) -> str | None:
        """The type of the source."""
        return self.source.type


@dataclass(frozen=True)
class Superlative:
    """The nodes of ``source`` with the greatest (or least) value of a measure; nodes without a value are left out."""

    source: Operator
    measure: AttributeMeasure | Count
    greatest: bool

    @property
    def type(self) -> str | None:
        """The type of the source."""
        return self.source.type


Operator: TypeAlias = (
    AllNodes | Lookup | SavedSet | Filter | Hop | Intersection | Union | Difference | CountFilter | Superlative
)


@dataclass(frozen=True)
class Total:
    """A value of all answers: ``op`` is count, or values, sum or avg of an attribute of a DuckDB type."""

    op: str
    attribute: str = ""
    sql_type: str = ""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a plan: nodes of ``type`` (None: any), or if ``is_value`` a constant of the DuckDB type ``type``.

    ``source`` is the slot, name, key or constant in the expression; ``at`` its position.
    """

    name: str
    type: str | None
    source: Slot | Name | Key | Scalar
    is_value: bool = False
    at: int = 0


@dataclass(frozen=True)
class Plan:
    """A resolved expression. Names of ``parameters`` are valid in SQL and SPARQL; ``text`` is the expression. ``total``
    is what ``count(...)``, ``values(...)`` and so on compute from the answers.
    """

    root: Operator
    parameters: tuple[Parameter, ...]
    text: str
    total: Total | None = None

    @property
    def type(self) -> str | None:
        """The type of the answers (None: any)."""
        return self.root.type

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots, in the order of their first appearance."""
        return tuple(p.source.name for p in self.parameters if isinstance(p.source, Slot))


def conjunction(parts: list[Operator]) -> Operator:
    """Return the intersection, without redundant parts: ``T & (all of T - X)`` becomes ``T - X``."""
    typed = [part.type for part in parts if not _is_all_or_complement(part)]
    node_type = next((t for t in [*typed, *(p.type for p in parts)] if t is not None), None)
    selected: list[Operator] = []
    removed: list[Operator] = []
    for part in dict.fromkeys(parts):
        if isinstance(part, Difference) and isinstance(part.left, AllNodes) and part.left.type in typed:
            removed.append(part.right)
        elif not (isinstance(part, AllNodes) and (part.type is None or part.type in typed)):
            selected.append(part)
    if not selected:
        return parts[0] if len(set(parts)) == 1 else _complements_only(parts, removed)
    found = selected[0] if len(selected) == 1 else Intersection(node_type, tuple(selected))
    if not removed:
        return found
    return Difference(found, removed[0] if len(removed) == 1 else Union(node_type, tuple(removed)))


def _is_all_or_complement(part: Operator) -> bool:
    return isinstance(part, AllNodes) or (isinstance(part, Difference) and isinstance(part.left, AllNodes))


def _complements_only(parts: list[Operator], removed: list[Operator]) -> Operator:
    if not removed:
        return next(part for part in [*parts, AllNodes(None)] if part.type is not None or part == AllNodes(None))
    return Intersection(parts[0].type, tuple(dict.fromkeys(parts)))


def count_of(operator: Operator) -> Count | None:
    """Return the count that an operator computes of its nodes, if any."""
    if isinstance(operator, CountFilter):
        return operator.count
    return operator.measure if isinstance(operator, Superlative) and isinstance(operator.measure, Count) else None


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """Return the direct inputs of an operator."""
    if isinstance(operator, (CountFilter, Superlative)):
        count = count_of(operator)
        return (operator.source, *(step.within for step in (count.steps if count else ()) if step.within is not None))
    if isinstance(operator, (Intersection, Union)):
        return operator.parts
    if isinstance(operator, (Filter, Hop)):
        return (operator.source,)
    if isinstance(operator, Difference):
        return (operator.left, operator.right)
    return ()


def operators(operator: Operator) -> Iterator[Operator]:
    """Yield an operator and all operators below it."""
    yield operator
    for part in inputs(operator):
        yield from operators(part)


def parameters(operator: Operator) -> set[str]:
    """Return the names of the parameters that an operator and its inputs use."""
    found: set[str] = set()
    for part in operators(operator):
        if isinstance(part, Lookup):
            found.add(part.parameter)
        elif isinstance(part, Filter):
            found.update(name for condition in part.conditions for name in condition.parameters)
        elif isinstance(part, CountFilter):
            found.add(part.parameter)
    return found
