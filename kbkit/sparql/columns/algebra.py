"""The algebra of SPARQL 1.1 (section 18.2): patterns, expressions and queries as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kbkit.sparql.columns.terms import ConstantTerm


@dataclass(frozen=True)
class QueryVariable:
    """A variable, or a blank node of a pattern, whose name starts with ``_:``."""

    name: str

    @property
    def is_blank(self) -> bool:
        """Whether the variable is a blank node, which SELECT * leaves out."""
        return self.name.startswith("_:")


Term: TypeAlias = QueryVariable | ConstantTerm


@dataclass(frozen=True)
class PathClosure:
    """The path ``step?``, ``step*`` or ``step+``; ``step`` is a pattern between the variables ``start`` and ``end``."""

    step: Pattern
    start: QueryVariable
    end: QueryVariable
    zero: bool
    many: bool


@dataclass(frozen=True)
class NegatedPredicates:
    """The path ``!(a|b)``: any predicate but these."""

    predicates: tuple[ConstantTerm, ...]


@dataclass(frozen=True)
class TriplePattern:
    """A triple pattern. A variable predicate is a :class:`Variable`."""

    subject: Term
    predicate: Term | NegatedPredicates
    object: Term


@dataclass(frozen=True)
class PathPattern:
    """A pattern of a closure between two terms."""

    subject: Term
    closure: PathClosure
    object: Term


@dataclass(frozen=True)
class BasicPattern:
    """A basic graph pattern; empty: one solution without bindings."""

    parts: tuple[TriplePattern | PathPattern | SelectPattern, ...] = ()


@dataclass(frozen=True)
class JoinPattern:
    """The join of two patterns."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class OptionalPattern:
    """OPTIONAL, with the filters of its group as a condition."""

    left: Pattern
    right: Pattern
    condition: Expression | None = None


@dataclass(frozen=True)
class UnionPattern:
    """The solutions of all branches."""

    branches: tuple[Pattern, ...]


@dataclass(frozen=True)
class MinusPattern:
    """The solutions of one pattern that no compatible one of another shares a variable with."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class FilterPattern:
    """The solutions that meet a condition."""

    condition: Expression
    pattern: Pattern


@dataclass(frozen=True)
class BindPattern:
    """BIND."""

    pattern: Pattern
    variable: QueryVariable
    value: Expression


@dataclass(frozen=True)
class ValuesPattern:
    """VALUES; None is UNDEF."""

    variables: tuple[QueryVariable, ...]
    rows: tuple[tuple[ConstantTerm | None, ...], ...]


@dataclass(frozen=True)
class GraphPattern:
    """A pattern that is matched in a named graph."""

    graph: Term
    pattern: Pattern


@dataclass(frozen=True)
class FunctionCall:
    """An operator or function: ``=``, ``!``, ``STRLEN``, or the IRI of a cast in angle brackets."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class ExistsCall:
    """EXISTS or NOT EXISTS."""

    pattern: Pattern
    negated: bool


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate; ``argument`` None is ``COUNT(*)``."""

    name: str
    argument: Expression | None
    distinct: bool = False
    separator: str = " "


Expression: TypeAlias = QueryVariable | ConstantTerm | FunctionCall | ExistsCall | AggregateCall


@dataclass(frozen=True)
class SelectPattern:
    """A query or subquery. ``columns`` are (variable, expression or None); ``order`` are (expression, descending)."""

    pattern: Pattern
    columns: tuple[tuple[QueryVariable, Expression | None], ...]
    distinct: bool = False
    group: tuple[tuple[QueryVariable | None, Expression], ...] | None = None
    having: tuple[Expression, ...] = ()
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def expressions(self) -> list[Expression]:
        """The expressions of its columns, of HAVING and of ORDER BY."""
        return [e for _, e in self.columns if e is not None] + [*self.having, *(key for key, _ in self.order)]


Pattern: TypeAlias = (
    BasicPattern
    | JoinPattern
    | OptionalPattern
    | UnionPattern
    | MinusPattern
    | FilterPattern
    | BindPattern
    | ValuesPattern
    | GraphPattern
    | SelectPattern
)


@dataclass(frozen=True)
class AlgebraQuery:
    """A whole query: ``kind`` is select, ask or triples. ``template`` is that of CONSTRUCT."""

    kind: str
    select: SelectPattern
    template: tuple[TriplePattern, ...] = ()
    graphs: tuple[tuple[str, ...] | None, tuple[str, ...] | None] = (None, None)


def conjuncts(condition: Expression | None) -> list[Expression]:
    """Return the conditions that ``&&`` joins; None has none."""
    if condition is None:
        return []
    if isinstance(condition, FunctionCall) and condition.name == "&&":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def filters_around(pattern: Pattern) -> list[Expression]:
    """Return the conditions of the filters around a pattern."""
    conditions = []
    while isinstance(pattern, FilterPattern):
        conditions.append(pattern.condition)
        pattern = pattern.pattern
    return conditions


def variables(expression: Expression) -> set[str]:
    """Return the variables of an expression outside aggregates; EXISTS counts as one that no pattern binds."""
    if isinstance(expression, QueryVariable):
        return {expression.name}
    if isinstance(expression, FunctionCall):
        return {name for part in expression.arguments for name in variables(part)}
    return {"\0exists"} if isinstance(expression, ExistsCall) else set()


def aggregate_calls(*expressions: Expression) -> Iterator[AggregateCall]:
    """Yield the aggregates in expressions."""
    for expression in expressions:
        if isinstance(expression, AggregateCall):
            yield expression
        elif isinstance(expression, FunctionCall):
            yield from aggregate_calls(*expression.arguments)


def walk_algebra(part: object) -> Iterator[object]:
    """Yield all parts of a query, pattern or expression."""
    stack = [part]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(top)
        elif dataclasses.is_dataclass(top):
            yield top
            stack.extend(getattr(top, field.name) for field in dataclasses.fields(top))


def all_variables(part: object) -> set[str]:
    """Return the names of all variables of a query, pattern or expression."""
    return {node.name for node in walk_algebra(part) if isinstance(node, QueryVariable)}
