"""Measures and values of whole expressions in SPARQL: counts, superlatives, comparisons, totals."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from kbkit.answers.algebra import (
    AllNodes,
    AttributeFilter,
    AttributeMeasure,
    DateMeasure,
    EdgeMeasure,
    Extreme,
    GroupKey,
    Measure,
    MeasureFilter,
    MeasureStep,
    Move,
    Operator,
    PathMeasure,
    ReachedAttribute,
    Total,
    ValueOf,
    edges_of,
)
from kbkit.answers.date_functions import NUMBER_FUNCTIONS
from kbkit.schema import Schema

_FLAT = 2
"""Steps of a count that are one pattern; before a further step, repeated pairs of its ends are removed."""


class SparqlMeasures(ABC):
    """The part of the SPARQL compiler for measures and totals; the rest is in :mod:`kbkit.answers.to_sparql`."""

    schema: Schema

    @abstractmethod
    def pattern(self, operator: Operator, node: str) -> list[str]:
        """Return lines that bind ``node`` to each of the operator's nodes, possibly repeated."""

    @abstractmethod
    def distinct(self, operator: Operator, node: str) -> list[str]:
        """Return a sub-select of the operator's nodes."""

    @abstractmethod
    def also(self, part: Operator, node: str) -> list[str]:
        """Return lines that restrict ``node`` to the nodes of ``part``."""

    @abstractmethod
    def attribute(self, name: str, node: str) -> tuple[str, str]:
        """Return a line that binds a new variable to each value of an attribute, and the variable."""

    @abstractmethod
    def edge_attribute(self, name: str, edge: str) -> tuple[str, str]:
        """Return a line that binds a new variable to each value of an edge's attribute, and the variable."""

    @abstractmethod
    def statement(self, edge: str, start: str, move: Move, node: str) -> list[str]:
        """Return the lines of a move that bind ``edge`` to the statement of each of its edges."""

    @abstractmethod
    def variable(self, subject: str | None) -> str:
        """Return a new variable."""

    @abstractmethod
    def union(self, groups: Sequence[Sequence[str]]) -> list[str]:
        """Return the union of patterns."""

    @abstractmethod
    def step(self, start: str, move: Move, node: str) -> list[str]:
        """Return the lines of a move."""

    @abstractmethod
    def is_a(self, node: str, node_type: str | None) -> str:
        """Return the triple that a node has a type."""

    @abstractmethod
    def number(self, parameter: str) -> str:
        """Return an integer parameter."""

    @abstractmethod
    def value(self, name: str, sql_type: str) -> str:
        """Return a parameter with a constant of a DuckDB type."""

    # -- superlatives and comparisons ---------------------------------------------------------------------------------

    def superlative(self, operator: Extreme, node: str) -> list[str]:
        """Return a pattern of the nodes with the greatest or least values."""
        if operator.per is not None:
            return self.best_per_group(operator, operator.per, node)
        best, other = self.variable("best"), self.variable(operator.type)
        greatest = "MAX" if operator.greatest else "MIN"
        inner, value = self.measured(operator.source, operator.measure, other)
        lines, own = self.measured(operator.source, operator.measure, node)
        if operator.number is None:
            return [
                f"{{ SELECT ({greatest}({value}) AS {best}) WHERE {{",
                *indented(inner),
                "} }",
                *lines,
                f"FILTER({own} = {best})",
            ]
        each = self.variable("value")
        order = f"DESC({each})" if operator.greatest else each
        return [
            f"{{ SELECT ({'MIN' if operator.greatest else 'MAX'}({each}) AS {best}) WHERE {{",
            f"  {{ SELECT {other} ({greatest}({value}) AS {each}) WHERE {{",
            *indented(indented(inner)),
            f"  }} GROUP BY {other} ORDER BY {order} LIMIT {self.number(operator.number)} }}",
            "} }",
            *lines,
            f"FILTER({own} {'>=' if operator.greatest else '<='} {best})",
        ]

    def best_per_group(self, operator: Extreme, per: GroupKey, node: str) -> list[str]:
        """Return a pattern of the nodes that fewer than ``number`` others of a group of theirs surpass."""
        other = self.variable(operator.type)
        mine, own = self.best_values(operator, node)
        theirs, value = self.best_values(operator, other)
        groups, group = self.groups(operator.source, per, node)
        others, same = self.groups(operator.source, per, other)
        others = [re.sub(rf"{re.escape(same)}\b", group, line) for line in others]
        surpass = f"FILTER({value} {'>' if operator.greatest else '<'} {own})"
        number = "1" if operator.number is None else self.number(operator.number)
        return [
            f"{{ SELECT {node} {group} WHERE {{",
            *indented([*mine, *groups, "OPTIONAL {", *indented([*theirs, *others, surpass]), "}"]),
            f"}} GROUP BY {node} {group} HAVING (COUNT(DISTINCT {other}) < {number}) }}",
        ]

    def best_values(self, operator: Extreme, node: str) -> tuple[list[str], str]:
        """Return lines with the value of each node of a superlative, of a list the best element; and its variable."""
        lines, value = self.measured(operator.source, operator.measure, node)
        best = self.variable("value")
        greatest = "MAX" if operator.greatest else "MIN"
        return [
            f"{{ SELECT {node} ({greatest}({value}) AS {best}) WHERE {{",
            *indented(lines),
            f"}} GROUP BY {node} }}",
        ], best

    def groups(self, root: Operator, group: GroupKey, node: str) -> tuple[list[str], str]:
        """Return lines with a row for each node and each group of it, and the variable of the group."""
        if isinstance(group, AttributeMeasure):
            lines, value = self.item(group, node)
            variable = plain_variable(value)
            inner = [*self.nodes(root, node), *lines]
        else:
            starts = self.nodes(root, node)
            path = group.path if isinstance(group, ReachedAttribute) else group
            steps, variable = self.reached(starts, path, node)
            inner = [*starts, *steps]
            if isinstance(group, ReachedAttribute):
                lines, value = self.item(group.attribute, variable)
                variable = plain_variable(value)
                inner += lines
        return [f"{{ SELECT DISTINCT {node} {variable} WHERE {{", *indented(inner), "} }"], variable

    def compared(self, operator: MeasureFilter, node: str) -> list[str]:
        """Return a pattern of the nodes whose measure compares with a constant, another measure, or a value."""
        value, measure = operator.other, operator.measure
        lines, mine = self.measured(operator.source, measure, node)
        if isinstance(value, str):
            constant = self.value(value, measure.sql_type.removesuffix("[]"))
            other = f"xsd:integer({constant})" if measure.sql_type == "BOOLEAN" else constant
            return [*lines, f"FILTER({mine} {operator.op} {other})"]
        if isinstance(value, ValueOf):
            return self.compared_with_value(operator, value, lines, mine)
        more, theirs = self.measured(operator.source, value, node)
        return [*lines, *more, f"FILTER({mine} {operator.op} {theirs})"]

    def compared_with_value(self, operator: MeasureFilter, value: ValueOf, lines: list[str], mine: str) -> list[str]:
        """Return a pattern of the nodes of which ``mine``, bound by ``lines``, compares with a value of other nodes."""
        measure, total, other = operator.measure, value.total, self.variable(value.root.type)
        if total.op != "values":
            variable = self.variable(total.op)
            return [
                *self.aggregated(value.root, total, other, variable),
                *lines,
                f"FILTER({mine} {operator.op} {variable})",
            ]
        inner, theirs = self.values_of(value.root, total.measures[0], other)
        if operator.op == "=":
            variable = self.variable("value")
            same = [f"{{ SELECT DISTINCT ({theirs} AS {variable}) WHERE {{", *indented(inner), "} }"]
            if _same_terms(measure, total.measures[0]) and mine.startswith("?"):
                return [*(line.replace(variable, mine) for line in same), *lines]
            return [*same, *lines, f"FILTER({mine} = {variable})"]
        least, greatest = self.variable("least"), self.variable("greatest")
        return [
            f"{{ SELECT (MIN({theirs}) AS {least}) (MAX({theirs}) AS {greatest}) WHERE {{",
            *indented(inner),
            "} }",
            *lines,
            f"FILTER({mine} != {least} || {mine} != {greatest})",
        ]

    def measured(self, source: Operator, measure: Measure, node: str) -> tuple[list[str], str]:
        """Return lines that bind ``node`` to the nodes of the source, and the expression of their value."""
        if isinstance(measure, PathMeasure):
            number = self.variable(measure.op)
            return self.counted(measure, source, node, number), number
        lines, value = self.item(measure, node)
        return [*self.pattern(source, node), *lines], value

    def item(self, measure: AttributeMeasure, node: str, *, of_edges: bool = False) -> tuple[list[str], str]:
        """Return lines that bind a new variable to each value of an attribute but NaN, and an expression of it."""
        if isinstance(measure, DateMeasure):
            return self.of_dates(measure, node, of_edges=of_edges)
        line, value = (self.edge_attribute if of_edges else self.attribute)(measure.name, node)
        element = measure.sql_type.removesuffix("[]")
        known = [f"FILTER({value} = {value})"] if element in ("DOUBLE", "FLOAT") else []
        return [
            line,
            *known,
        ], f"xsd:integer({value})" if element == "BOOLEAN" else value  # engines do not order booleans

    def of_dates(self, measure: DateMeasure, node: str, *, of_edges: bool) -> tuple[list[str], str]:
        """Return lines that bind a new variable to each value of a function of dates, and the variable."""
        lines, dates = [], []
        for date in measure.dates:
            inner, variable = self.item(date, node, of_edges=of_edges)
            lines += inner
            dates.append(variable)
        value = self.variable(measure.op)
        if measure.op in NUMBER_FUNCTIONS:
            number = f"xsd:double({dates[0]}) {NUMBER_FUNCTIONS[measure.op]} xsd:double({dates[1]})"
            return [*lines, f"BIND({number} AS {value})", f"FILTER({value} = {value})"], value
        if measure.op == "year":
            return [*lines, f"BIND(YEAR({dates[0]}) AS {value})", f"FILTER(BOUND({value}))"], value
        if measure.op == "month":  # infinity has none, but a text
            text = f'REPLACE(STR({dates[0]}), "^(-?[0-9]+-[0-9]+).*", "$1")'
            return [*lines, f"FILTER(MONTH({dates[0]}) > 0)", f"BIND({text} AS {value})"], value
        days = []
        for variable in dates:
            inner, day = self.day_number(variable)
            lines += inner
            days.append(day)
        lines.append(f"BIND(xsd:integer({days[1]} - {days[0]}) AS {value})")
        return [*lines, f"FILTER(BOUND({value}))"], value

    def day_number(self, date: str) -> tuple[list[str], str]:
        """Return lines that number the days of all dates, because SPARQL 1.1 has no difference; and the number.

        A year of this number starts in March, so that the last of its months is the one whose length varies.
        """
        early, year, day = (self.variable(name) for name in ("early", "years", "day"))
        months = f"(153 * (MONTH({date}) + 12 * {early} - 3) + 2) / 5"
        leap = f"FLOOR({year} / 4) - FLOOR({year} / 100) + FLOOR({year} / 400)"
        return [
            f"BIND(IF(MONTH({date}) < 3, 1, 0) AS {early})",
            f"BIND(YEAR({date}) + 4800 - {early} AS {year})",
            f"BIND(DAY({date}) + FLOOR({months}) + 365 * {year} + {leap} AS {day})",
        ], day

    def counted(self, measure: PathMeasure, source: Operator, node: str, number: str) -> list[str]:
        """Return a sub-select of the source's nodes with a value, and the value of a measure along a path."""
        starts = self.nodes(source, node)
        lines, end = self.reached(starts, measure, node)
        value = end
        if measure.attribute is not None:
            item, value = self.item(measure.attribute, end, of_edges=measure.of_edges)
            if measure.op != "count":
                pairs = [f"{{ SELECT DISTINCT {node} {end} WHERE {{", *indented([*starts, *lines]), "} }"]
                return [
                    f"{{ SELECT {node} ({measure.op.upper()}({value}) AS {number}) WHERE {{",
                    *indented([*pairs, *item]),
                    f"}} GROUP BY {node} }}",
                ]
            lines += item
            value = plain_variable(value)
        return [
            f"{{ SELECT {node} (COUNT(DISTINCT {value}) AS {number}) WHERE {{",
            *indented(starts),
            "  OPTIONAL {",
            *indented(indented(lines)),
            f"  }} }} GROUP BY {node} }}",
        ]

    def reached(self, starts: list[str], count: PathMeasure, node: str) -> tuple[list[str], str]:
        """Return lines that lead from ``node`` to the nodes that a count reaches, and their variable."""
        lines: list[str] = []
        here = node
        for i, step in enumerate(count.steps):
            if i >= _FLAT:
                inner = indented([*starts, *lines])
                lines = [f"{{ SELECT DISTINCT {node} {here} WHERE {{", *inner, "} }"]
            there = self.variable(step.type)
            is_last = i == len(count.steps) - 1
            end = there
            if count.of_edges and is_last:
                end = self.variable(step.moves[0].relation)
                lines += self.statement(end, here, step.moves[0], there)
            else:
                lines += self.union([self.step(here, move, there) for move in step.moves])
            if isinstance(step.within, AllNodes):
                lines.append(self.is_a(there, step.within.type))
            elif isinstance(step.within, AttributeFilter) and isinstance(step.within.source, AllNodes):
                lines += self.distinct(step.within, there)  # found once and joined, faster than a test of each node
            elif step.within is not None:
                lines += self.also(step.within, there)
            here = end
        return lines, here

    # -- totals -------------------------------------------------------------------------------------------------------

    def values_of(
        self, root: Operator, measure: Measure, node: str, edges: MeasureStep | None = None
    ) -> tuple[list[str], str]:
        """Return lines with a row for each node and value of a measure, and the expression of the value.

        With ``edges``, a step back from the nodes, there is a row for each edge instead.
        """
        rows, edge = self.edge_rows(root, edges, node) if edges is not None else ([], "")
        if isinstance(measure, EdgeMeasure):
            item, value = self.item(measure.attribute, edge, of_edges=True)
            return [*rows, *item], value
        if rows:
            inner, value = self.values_of(root, measure, node)
            return [*rows, *inner], value
        if isinstance(measure, PathMeasure):
            return self.measured(root, measure, node)
        lines, value = self.item(measure, node)
        return [*self.nodes(root, node), *lines], value

    def edge_rows(self, root: Operator, step: MeasureStep, node: str) -> tuple[list[str], str]:
        """Return lines with a row for each edge of a step back from nodes, and the variable of the edge."""
        starts = self.nodes(root, node)
        lines, edge = self.reached(starts, edges_of(step), node)
        return [f"{{ SELECT DISTINCT {node} {edge} WHERE {{", *indented([*starts, *lines]), "} }"], edge

    def nodes(self, root: Operator, node: str) -> list[str]:
        """Return lines with a row for each node."""
        typed = isinstance(root, AllNodes) and root.type is not None
        return self.pattern(root, node) if typed else self.distinct(root, node)

    def aggregated(self, root: Operator, total: Total, node: str, variable: str) -> list[str]:
        """Return a sub-select of the variable ``variable`` with a value of the operator's nodes."""
        inner, value = (
            (self.nodes(root, node), node)
            if not total.measures
            else self.values_of(root, total.measures[0], node, total.edges)
        )
        having = f" HAVING (COUNT({value}) > 0)" if total.op == "avg" else ""
        return [f"{{ SELECT ({aggregate(total, value)} AS {variable}) WHERE {{", *indented(inner), f"}}{having} }}"]


def aggregate(total: Total, value: str) -> str:
    """Return an aggregate of an expression."""
    return f"{total.op.upper()}({'DISTINCT ' * (total.op == 'count')}{value})"


def plain_variable(value: str) -> str:
    """Return the variable of a value, of a boolean too, which is otherwise compared as an integer."""
    return value.removeprefix("xsd:integer(").removesuffix(")") if value.startswith("xsd:") else value


def indented(lines: Sequence[str]) -> list[str]:
    """Return lines with two spaces before them."""
    return ["  " + line for line in lines]


def _same_terms(measure: Measure, other: Measure) -> bool:
    """Return whether equal values of two measures are the same RDF terms."""
    if not isinstance(measure, AttributeMeasure) or not isinstance(other, AttributeMeasure):
        return False
    if isinstance(measure, DateMeasure):  # its variable is bound in the end, and cannot be before
        return False
    kinds = {m.sql_type.removesuffix("[]") for m in (measure, other)}
    return len(kinds) == 1 and not kinds & {"DOUBLE", "FLOAT", "BOOLEAN"}
