"""Resolve the tests in braces and the values of whole expressions: attributes, measures, conditions, totals."""

from __future__ import annotations

import functools
import itertools
import math
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeGuard

from kbkit.answers import syntax
from kbkit.answers.algebra import (
    AllNodes,
    AttributeCondition,
    AttributeFilter,
    AttributeMeasure,
    Difference,
    EdgeMeasure,
    Extreme,
    GroupKey,
    HavingTest,
    Hop,
    Measure,
    MeasureFilter,
    MeasureStep,
    Operator,
    Parameter,
    PathMeasure,
    ReachedAttribute,
    Scalar,
    SortKey,
    Total,
    Union,
    ValueOf,
    aggregate_type,
)
from kbkit.answers.columns import group_columns
from kbkit.answers.last_steps import back
from kbkit.answers.periods import Period, dated, period_of
from kbkit.answers.resolve_attributes import AttributeOf, AttributeResolver, is_number
from kbkit.answers.syntax import Key, Name, Slot
from kbkit.schema import Relation

Within: TypeAlias = Callable[..., Operator]
"""Returns the nodes of a set that pass comparisons (sign, value)."""

_MAX_ALTERNATIVES = 1_000
"""Limit on the moves of one relation of a step: its edges are not in ten years in 1,024 ways."""


def is_about_set(test: syntax.Test) -> bool:
    """Return whether a test depends on the whole set that it is applied to, as superlatives do."""
    if isinstance(test, syntax.Not):
        return any(is_about_set(inner) for inner in test.conditions)
    return isinstance(test, syntax.Superlative)


def is_of_attributes(test: syntax.Test) -> TypeGuard[syntax.Comparison]:
    """Return whether a test compares an attribute with another one."""
    return (
        isinstance(test, syntax.Comparison)
        and isinstance(test.measure, str)
        and isinstance(test.value, syntax.OtherAttribute)
    )


@dataclass
class ConditionResolver(AttributeResolver):
    """The part of the resolver for tests and totals; the rest is in :mod:`kbkit.answers.resolve`."""

    saved: Mapping[str, str | None]
    parameters: dict[str, Parameter] = field(default_factory=dict)

    @abstractmethod
    def set(self, tree: syntax.Expression) -> Operator:
        """Resolve a set."""

    @abstractmethod
    def steps(self, node_type: str | None, path: syntax.PathFunction) -> tuple[MeasureStep, ...]:
        """Resolve a path from each node of a type."""

    # -- tests --------------------------------------------------------------------------------------------------------

    def filter(self, source: Operator, tests: Sequence[syntax.Test]) -> Operator:
        """Apply tests from left to right; neighbouring conditions on attributes are one filter."""
        conditions: list[AttributeCondition] = []
        for test in tests:
            if isinstance(test, syntax.Condition) and not (periods := self.attribute_periods(source.type, test)):
                conditions.append(self.condition(source.type, test))
                continue
            if is_of_attributes(test):
                conditions.append(self.pair(test, functools.partial(self.attribute, source.type)))
                continue
            source = AttributeFilter(source, tuple(conditions)) if conditions else source
            conditions = []
            if isinstance(test, syntax.Condition):
                source = self.dated_condition(source, test, periods)
            else:
                source = self.tested(source, test)
        return AttributeFilter(source, tuple(conditions)) if conditions else source

    def tested(self, source: Operator, test: syntax.Test) -> Operator:
        """Apply a test other than a condition on an attribute."""
        match test:
            case syntax.Superlative():
                measure = self.measure(source.type, test.measure, test.at)
                number = None if test.number is None else self.parameter(test.number, "BIGINT", test.at, True, "number")
                per = None if test.per is None else self.group(source.type, test.per)
                return Extreme(source, measure, test.op in ("max", "top"), number, per)
            case syntax.Comparison():
                return self.compared(source, test)
            case syntax.Not():
                # Tests of single nodes need not be repeated for the source, which may be long.
                whole = source if is_about_set(test) else AllNodes(source.type)
                return Difference(source, self.filter(whole, test.conditions))
        raise AssertionError(test)

    def compared(self, source: Operator, test: syntax.Comparison) -> Operator:
        """Return the nodes whose measure compares with a constant, another measure of theirs, or a value."""
        measure, other = self.measure(source.type, test.measure, test.at), test.value
        if isinstance(other, (syntax.DateFunction, syntax.PathFunction, syntax.OtherAttribute)):
            if not isinstance(other, syntax.OtherAttribute):
                mine = self.measure(source.type, other, other.at)
            else:
                mine = AttributeMeasure(*self.other_attribute(other, functools.partial(self.attribute, source.type)))
            self.check_comparable(test, measure, mine.sql_type)
            return MeasureFilter(source, measure, test.op, mine)
        if isinstance(other, syntax.Aggregate):
            root = self.set(other.source)
            total = self.total(other, root.type)
            value_type = aggregate_type(total.op, total.measures[0].sql_type if total.measures else "")
            self.check_comparable(test, measure, value_type)
            if total.op == "values" and test.op[0] in "<>":  # any value: the least or the greatest decides
                total = replace(total, op="max" if test.op[0] == "<" else "min")
            return MeasureFilter(source, measure, test.op, ValueOf(root, total, str(other)))

        self.check_month(measure, other, test.at)
        base = measure.op if isinstance(measure, PathMeasure) else measure.name

        def within(source: Operator, *tests: tuple[str, syntax.Value]) -> Operator:
            for op, value in tests:
                parameter = self.parameter(value, measure.sql_type.removesuffix("[]"), test.at, True, base)
                source = MeasureFilter(source, measure, op, parameter)
            return source

        periods = self.periods(measure.sql_type, test.op, (other,))
        return self.dated(source, test.op, (other,), periods, within) if periods else within(source, (test.op, other))

    def pair(self, test: syntax.Comparison, attribute: AttributeOf) -> AttributeCondition:
        """Resolve a comparison of two attributes of a node or of an edge, which ``attribute`` resolves."""
        assert isinstance(test.measure, str)
        assert isinstance(test.value, syntax.OtherAttribute)
        mine = AttributeMeasure(*attribute(test.measure, test.at))
        theirs = AttributeMeasure(*self.other_attribute(test.value, attribute))
        self.check_comparable(test, mine, theirs.sql_type, by_day=True)
        return AttributeCondition(mine.name, mine.sql_type, test.op, other=theirs)

    def measure(self, node_type: str | None, measure: syntax.Measure, at: int) -> Measure:
        """Resolve an attribute, or a function of dates or of a path."""
        if not isinstance(measure, syntax.PathFunction):
            return self.own_measure(measure, at, functools.partial(self.attribute, node_type))
        path = PathMeasure(self.steps(node_type, measure), str(measure), measure.op)
        if measure.attribute is None:
            return path
        of_edges = self.measured_edges(path, measure.attribute, measure.at)
        of_nodes = functools.partial(self.attribute, path.end)
        attribute = of_edges or self.own_measure(measure.attribute, measure.at, of_nodes)
        self.check_numbers(measure.op, attribute, measure.at)
        return replace(path, attribute=attribute, of_edges=of_edges is not None)

    def edge_test(self, relation: Relation, test: syntax.Test) -> list[tuple[AttributeCondition, ...]]:
        """Resolve a test of a relation's edges: alternatives, each of conditions that an edge must meet together."""
        if is_of_attributes(test):
            return [(self.pair(test, functools.partial(self.edge_attribute, relation)),)]
        if not isinstance(test, syntax.Condition):
            message = f"The edges of [{relation.name}] have conditions on attributes only"
            raise self.error(message, test.at, f"Write [{syntax.Edge(relation.name)}{{attribute = value}}]")
        attribute = self.edge_attribute(relation, test.attribute, test.at)
        periods = self.periods(attribute[1], test.op, test.values)
        if not periods:
            return [(self.condition_on(attribute, test),)]
        self.check_dated_list(attribute, test, periods)
        op = "not in" if test.negated else test.op
        of_values = [
            [
                tuple(
                    self.condition_on(attribute, replace(test, op=sign, values=(v,), negated=False)) for sign, v in one
                )
                for one in alternatives
            ]
            for alternatives in dated(op, test.values, periods)
        ]
        if op in ("!=", "not in"):  # none of the periods
            return self.together(of_values, test.at)
        return list(itertools.chain(*of_values))

    def together(
        self, parts: Sequence[Sequence[tuple[AttributeCondition, ...]]], at: int
    ) -> list[tuple[AttributeCondition, ...]]:
        """Return the conditions of each choice of one alternative of every part."""
        if math.prod(map(len, parts)) > _MAX_ALTERNATIVES:
            raise self.error("Too many years and months in the conditions of a step", at, "Use < and >= instead")
        return [tuple(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]

    def condition(self, node_type: str | None, condition: syntax.Condition) -> AttributeCondition:
        """Resolve a condition on an attribute of nodes of a type."""
        attribute = self.attribute(node_type, condition.attribute, condition.at)
        return self.condition_on(attribute, condition)

    def condition_on(self, attribute: tuple[str, str], condition: syntax.Condition) -> AttributeCondition:
        """Resolve a condition on an attribute, by its name and DuckDB type."""
        name, sql_type = attribute
        element = sql_type.removesuffix("[]")
        if condition.op == "contains" and element != "VARCHAR":
            raise self.error(f"contains needs a text, but {name} is {sql_type}", condition.at, "Use = < or >")
        values = tuple(self.parameter(v, element, condition.at, True, name) for v in condition.values)
        return AttributeCondition(name, sql_type, condition.op, values, condition.negated)

    def attribute_periods(self, node_type: str | None, condition: syntax.Condition) -> list[Period | None]:
        """Return the periods of a condition on a date or time; see :meth:`periods`."""
        sql_type = self.attribute(node_type, condition.attribute, condition.at)[1]
        return self.periods(sql_type, condition.op, condition.values)

    def dated_condition(self, source: Operator, test: syntax.Condition, periods: Sequence[Period | None]) -> Operator:
        """Compare the dates of an attribute with years and months."""

        def within(source: Operator, *tests: tuple[str, syntax.Value]) -> Operator:
            written = [syntax.Condition(test.attribute, op, (value,), at=test.at) for op, value in tests]
            return AttributeFilter(source, tuple(self.condition(source.type, condition) for condition in written))

        self.check_dated_list(self.attribute(source.type, test.attribute, test.at), test, periods)
        op = "not in" if test.negated else test.op
        return self.dated(source, op, test.values, periods, within)

    def check_dated_list(
        self, attribute: tuple[str, str], test: syntax.Condition, periods: Sequence[Period | None]
    ) -> None:
        """Raise an error for a list of dates that is compared with a year or month, from whose start to whose end."""
        if attribute[1].endswith("[]") and any(periods) and (test.op == "=" or (test.op == "in" and not test.negated)):
            raise self.error(f"{test.attribute} has several dates", test.at, "Write a full date: 2001-12-31")

    def periods(self, sql_type: str, op: str, values: Sequence[syntax.Value]) -> list[Period | None]:
        """Return the periods that a date or time is compared with (None: one of them), or nothing if there are none."""
        is_date = sql_type.startswith(("DATE", "TIMESTAMP")) and op in ("=", "!=", "<", "<=", ">", ">=", "in")
        periods = [period_of(value, sql_type) for value in values] if is_date else []
        return periods if any(periods) else []

    def dated(
        self,
        source: Operator,
        op: str,
        values: Sequence[syntax.Value],
        periods: Sequence[Period | None],
        within: Within,
    ) -> Operator:
        """Compare a date with years and months: with their first day, or the first day after them.

        ``op`` is a comparison, ``in`` or ``not in``; ``within`` makes a filter of comparisons with dates.
        """
        is_negative = op in ("!=", "not in")
        parts: list[Operator] = []
        for alternatives in dated(op, values, periods):
            each = [within(source, *tests) for tests in alternatives]
            one = each[0] if len(each) == 1 else Union(source.type, tuple(each))
            source = one if is_negative else source
            parts.append(one)
        return parts[-1] if is_negative or len(parts) == 1 else Union(source.type, tuple(dict.fromkeys(parts)))

    # -- totals -------------------------------------------------------------------------------------------------------

    def total(self, tree: syntax.Aggregate, node_type: str | None, steps: Sequence[Hop] = ()) -> Total:
        """Resolve a value of the nodes of a type, or of the edges of one of the last ``steps`` to them."""
        edges = self.edges(tree, node_type, steps)
        measures = tuple(self.of_row(node_type, edges, column.measure, column.at) for column in tree.columns)
        several = len(tree.ops) > 1
        measures = measures * len(tree.ops) if several and len(measures) == 1 else measures
        of = tree.ops if several else tree.ops * len(measures)
        for measure, op, number in zip(measures, of, range(len(measures)), strict=True):
            self.check_numbers(op, measure, tree.columns[min(number, len(tree.columns) - 1)].at)
        groups = tuple(self.group(node_type, group, edges) for group in tree.groups)
        measures = measures if several else tuple(dict.fromkeys(measures))
        lists = [m for m in measures if isinstance(m, AttributeMeasure) and m.sql_type.endswith("[]")]
        if groups and lists and len({*measures}) > 1:
            message = f"Groups have several functions of one list only, but {lists[0].name} is a list"
            raise self.error(message, tree.columns[0].at, "Write one expression for each attribute")
        part = None if tree.part is None else self.part(tree.op, tree.part, node_type)
        total = Total(tree.op, measures, tuple(dict.fromkeys(groups)), limit=tree.limit, part=part, edges=edges)
        having = tuple(self.having(total, test) for test in tree.having)
        order = tuple(
            SortKey(
                self.column(total, key.measure, key.at)
                if groups
                else self.of_row(node_type, edges, key.measure, key.at),
                key.descending,
            )
            for key in tree.order
        )
        return replace(total, having=having, order=order)

    def edges(self, tree: syntax.Aggregate, node_type: str | None, steps: Sequence[Hop]) -> MeasureStep | None:
        """Return the step back whose edges are the rows of a value: some attribute is one of them, not of the nodes."""
        parts: list[syntax.ValueColumn | syntax.Group | syntax.Order] = [*tree.columns, *tree.groups]
        parts += [] if tree.groups else tree.order
        written = [(part.measure, part.at) for part in parts if not isinstance(part.measure, syntax.PathFunction)]
        of_edges = {measure: at for measure, at in written if not self.has(node_type, measure)}
        having = [hop for hop in steps if any(self.has_edges(hop.moves[0].relation, name) for name in of_edges)]
        if not having:
            return None
        found = [hop for hop in having if all(self.has_edges(hop.moves[0].relation, name) for name in of_edges)]
        if not found and len(having) == 1:
            return None
        at, names = next(iter(of_edges.values())), ", ".join(map(str, of_edges))
        if len(found) != 1:
            message = f"Several steps lead to the answers by edges with {names}"
            raise self.error(message, at, "Ask for the values of each step in an expression of its own")
        if len(found[0].moves) > 1 or found[0].moves[0].closure:
            message = f"{names} is an attribute of edges, of which a step has one relation and one period"
            raise self.error(message, at, "Write [relation] without |, * and +, and dates as a range")
        return back(found[0], self.schema)

    def of_row(self, node_type: str | None, edges: MeasureStep | None, measure: syntax.Measure, at: int) -> Measure:
        """Resolve a measure of nodes of a type, or of the ``edges`` if only these have it."""
        if edges is None or isinstance(measure, syntax.PathFunction) or self.has(node_type, measure):
            return self.measure(node_type, measure, at)
        relation = self.schema.relation(edges.moves[0].relation)
        found = self.own_measure(measure, at, functools.partial(self.edge_attribute, relation))
        if found.sql_type.endswith("[]"):
            message = f"{found.name} is a list of each edge, which has no value of its own"
            raise self.error(message, at, f"Measure it from the nodes: count(-> ..., {found.written})")
        return EdgeMeasure(found.name, found.sql_type, found)

    def part(self, op: str, tree: syntax.Expression, node_type: str | None) -> Operator:
        """Resolve the set of which a fraction of nodes of a type is."""
        part = self.set(tree)
        if None not in (part.type, node_type) and part.type != node_type:
            message = f"{op} compares sets of different types, {part.type} and {node_type}"
            raise self.error(message, tree.at, "Both sides need the same type, or *")
        return part

    def group(self, node_type: str | None, group: syntax.Group, edges: MeasureStep | None = None) -> GroupKey:
        """Resolve what nodes of a type are grouped by, or the edges that lead to them."""
        measure = self.of_row(node_type, edges, group.measure, group.at)
        if group.attribute is None:
            return measure
        assert isinstance(measure, PathMeasure)
        attribute = self.own_measure(group.attribute, group.at, functools.partial(self.attribute, measure.end))
        return ReachedAttribute(measure, attribute, measure.end, str(group))

    def having(self, total: Total, test: syntax.GroupTest) -> HavingTest:
        """Resolve a test of groups."""
        number = self.column(total, test.column, test.at)
        column = group_columns(total)[number]
        if not is_number(column.sql_type):
            message = f"having compares numbers, but {column.name} is {column.sql_type}"
            raise self.error(message, test.at, "Put conditions on nodes in braces: type{attribute = value}")
        return HavingTest(number, test.op, test.value)

    def column(self, total: Total, name: syntax.Measure, at: int) -> int:
        """Return the number of a column of a table of groups, by which its rows are sorted or selected."""
        names = [column.name for column in group_columns(total)]
        folded = [name.casefold() for name in names]
        if isinstance(name, syntax.PathFunction) or str(name).casefold() not in folded:
            message = f"{name} is not a column of the groups"
            written = [
                c.measure.written if isinstance(c.measure, AttributeMeasure) else syntax.identifier(c.name)
                for c in group_columns(total)
            ]
            raise self.error(message, at, f"Use one of {', '.join(written)}")
        return folded.index(str(name).casefold())

    # -- parameters ---------------------------------------------------------------------------------------------------

    def parameter(
        self, source: Slot | Name | Key | Scalar, node_type: str | None, at: int, is_value: bool, base: str
    ) -> str:
        """Return the name of the parameter for ``source``; a slot used twice is one parameter."""
        if isinstance(source, Slot):
            for known in self.parameters.values():
                if known.source == source:
                    if (known.type, known.is_value) != (node_type, is_value):
                        message = (
                            f"Slot <{source.name}> is used as {_kind(known.type, known.is_value)} and as"
                            f" {_kind(node_type, is_value)}"
                        )
                        raise self.error(message, at, "Use two slots")
                    return known.name
            base = source.name
        clean = re.sub(r"\W+", "_", base, flags=re.ASCII).strip("_") or "value"
        stem = clean if not clean[0].isdecimal() else f"_{clean}"
        name, number = stem, 1
        while name in self.parameters:
            number += 1
            name = f"{stem}_{number}"
        self.parameters[name] = Parameter(name, node_type, source, is_value, at)
        return name


def _kind(node_type: str | None, is_value: bool) -> str:
    return f"a value ({node_type})" if is_value else f"a node ({node_type or '*'})"
