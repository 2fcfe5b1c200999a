"""The SPARQL of values of whole expressions.

A query returns IRIs for nodes, a row for each element of a list, and nodes with equal keys in any order;
:func:`kbkit.answers.totals.read_sparql` makes the table of it. Groups are selected by ``having`` there, and ties of a
``limit`` are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kbkit.answers.algebra import (
    AttributeMeasure,
    EdgeMeasure,
    GroupKey,
    Measure,
    Operator,
    PathMeasure,
    ReachedAttribute,
    SortKey,
    Total,
)
from kbkit.answers.sparql_measures import SparqlMeasures, aggregate, indented, plain_variable


@dataclass
class TotalSparql:
    """Compiles the value of the nodes of ``root``; ``answer`` is the variable of a node."""

    text: SparqlMeasures
    root: Operator
    total: Total
    answer: str
    lines: list[str] = field(default_factory=list)
    """The lines of the pattern."""
    known: dict[tuple[Measure, str], str] = field(default_factory=dict)
    """The variable of each value of the nodes."""
    row: str = field(init=False)
    """The variable of a row: of a node, or of an edge."""

    def __post_init__(self) -> None:
        self.row = self.answer

    def query(self) -> str:
        """Return the query without prefixes."""
        total, text = self.total, self.text
        if total.groups:
            return self.grouped()
        if total.op == "exists":
            return f"ASK {{\n{_body(text.pattern(self.root, self.answer))}\n}}"
        if total.part is not None:
            share, variable = self.share(total), text.variable(total.op)
            body = _body([*text.nodes(self.root, self.answer), *self.lines])
            return f"SELECT ({share} AS {variable}) WHERE {{\n{body}\n}} HAVING (COUNT({self.answer}) > 0)"
        if total.op == "count" and not total.measures:
            body = _body(text.pattern(self.root, self.answer))
            return f"SELECT (COUNT(DISTINCT {self.answer}) AS {text.variable('count')}) WHERE {{\n{body}\n}}"
        if len(total.parts) > 1:
            several = [text.variable(part.op) for part in total.parts]
            parts = zip(total.parts, several, strict=True)
            each = (text.aggregated(self.root, part, self.answer, name) for part, name in parts)
            lines = [line for inner in each for line in ("OPTIONAL {", *indented(inner), "}")]  # no average of nothing
            return f"SELECT {' '.join(several)} WHERE {{\n{_body(lines)}\n}}"
        if total.is_table:
            return self.listed()
        if total.op == "values":
            lines, value = self.values(total.measures[0])
            variable = text.variable("value")
            return f"SELECT DISTINCT ({value} AS {variable}) WHERE {{\n{_body(lines)}\n}}\nORDER BY {variable}"
        start, *inner, end = text.aggregated(self.root, total, self.answer, text.variable(total.op))
        lines = [line.removeprefix("  ") for line in inner]
        return "\n".join([start.removeprefix("{ "), _body(lines), end.removesuffix(" }")])

    def rows(self) -> list[str]:
        """Return lines with a row for each node, or for each edge that leads to one."""
        if self.total.edges is None:
            return self.text.nodes(self.root, self.answer)
        lines, self.row = self.text.edge_rows(self.root, self.total.edges, self.answer)
        return lines

    def item(self, measure: AttributeMeasure) -> tuple[list[str], str]:
        """Return lines that bind a new variable to each value of an attribute of a row, and an expression of it."""
        if isinstance(measure, EdgeMeasure):
            return self.text.item(measure.attribute, self.row, of_edges=True)
        return self.text.item(measure, self.answer)

    def share(self, total: Total) -> str:
        """Add the nodes in the part of a fraction, if they are; return the fraction or percentage."""
        assert total.part is not None
        part = self.text.variable("part")
        inner = [*self.text.distinct(total.part, self.answer), f"BIND({self.answer} AS {part})"]
        self.lines += ["OPTIONAL {", *indented(inner), "}"]
        each = "DISTINCT " if total.edges is None else ""  # a node counts with each of its edges
        times = "100 * " if total.op == "percentage" else ""
        return f"{times}xsd:double(COUNT({each}{part})) / COUNT({each}{self.answer})"

    def values(self, measure: Measure) -> tuple[list[str], str]:
        """Return lines with a row for each node and value, and the value as a term."""
        lines, value = self.text.values_of(self.root, measure, self.answer, self.total.edges)
        return lines, plain_variable(value)

    # -- a row for each node ------------------------------------------------------------------------------------------

    def listed(self) -> str:
        """Return the query of a table with a row for each node, its cells, and the keys for sorting."""
        self.lines = self.rows()
        cells = [self.cell(measure) for measure in self.total.measures]
        keys = [self.key(order) for order in self.total.order]
        selected = " ".join(dict.fromkeys([self.answer, *cells, *keys, self.row]))
        return f"SELECT {selected} WHERE {{\n{_body(self.lines)}\n}}{self.sorted(keys, self.answer)}"

    def cell(self, measure: Measure, best: str = "") -> str:
        """Add the values of a measure; return their variable. With ``best`` (MAX or MIN), one value of a list."""
        if (measure, best) in self.known:
            return self.known[measure, best]
        if isinstance(measure, PathMeasure):
            inner, value = self.text.measured(self.root, measure, self.answer)
            self.lines += inner if measure.is_number_of_nodes else ["OPTIONAL {", *indented(inner), "}"]
        else:
            inner, item = self.item(measure)
            value = plain_variable(item)
            if best:
                value = self.text.variable(best.lower())
                inner = [
                    f"{{ SELECT {self.answer} ({best}({item}) AS {value}) WHERE {{",
                    *indented(inner),
                    f"}} GROUP BY {self.answer} }}",
                ]
            self.lines += ["OPTIONAL {", *indented(inner), "}"]
        self.known[measure, best] = value
        return value

    def key(self, order: SortKey) -> str:
        """Return the variable of a key for sorting."""
        assert not isinstance(order.key, int)
        is_list = isinstance(order.key, AttributeMeasure) and order.key.sql_type.endswith("[]")
        return self.cell(order.key, ("MAX" if order.descending else "MIN") if is_list else "")

    def sorted(self, keys: list[str], *last: str) -> str:
        """Return the clause that sorts rows; missing values are last."""
        parts = []
        for order, key in zip(self.total.order, keys, strict=True):
            parts += [f"(!BOUND({key}))", f"DESC({key})" if order.descending else key]
        return f"\nORDER BY {' '.join(dict.fromkeys([*parts, *last]))}"

    # -- a row for each group -----------------------------------------------------------------------------------------

    def grouped(self) -> str:
        """Return the query of a table with a row for each group."""
        total, text = self.total, self.text
        self.lines = self.rows()
        groups: list[str] = []
        for group in total.groups:
            groups += self.group(group)
        by = " ".join(groups)
        if total.op == "values":
            keys = [groups[order.key] for order in total.order if isinstance(order.key, int)]
            body = _body(self.lines)
            return f"SELECT DISTINCT {by} WHERE {{\n{body}\n}}{self.sorted(keys, *groups)}"
        variables = [text.variable(part.op) for part in total.parts]
        selected, grouped = [], ""
        if total.part is not None:
            selected, grouped = [f"({self.share(total)} AS {variables[0]})"], f"\nGROUP BY {by}"
        elif not total.measures:
            selected, grouped = [f"(COUNT(DISTINCT {self.row}) AS {variables[0]})"], f"\nGROUP BY {by}"
        else:  # apart, because in an aggregate a node without a value is an error
            members = self.lines
            lines = [f"{{ SELECT DISTINCT {by} WHERE {{", *indented(members), "} }"]
            for number, part in enumerate(total.parts):
                self.lines, name = list(members), variables[number]
                value = self.valued(part.measures[0])
                lines += [
                    "OPTIONAL {",
                    f"  {{ SELECT {by} ({aggregate(part, value)} AS {name}) WHERE {{",
                    *[*indented(indented(self.lines)), f"  }} GROUP BY {by} }}", "}"],
                ]
                if part.op in ("sum", "count"):
                    variables[number] = text.variable(part.op)
                    name = f"(COALESCE({name}, 0) AS {variables[number]})"
                selected.append(name)
            self.lines = lines
        keys = [[*groups, *variables][order.key] for order in total.order if isinstance(order.key, int)]
        body = _body(self.lines)
        return f"SELECT {by} {' '.join(selected)} WHERE {{\n{body}\n}}{grouped}{self.sorted(keys, *groups)}"

    def valued(self, measure: Measure) -> str:
        """Add the values of a measure to the lines; return the value."""
        if isinstance(measure, PathMeasure):
            inner, value = self.text.measured(self.root, measure, self.answer)
            self.lines = [*self.lines, *inner]
            return value
        inner, value = self.item(measure)
        self.lines = [*self.lines, *inner]
        return value

    def group(self, group: GroupKey) -> list[str]:
        """Add the groups of the nodes; return the variables of their columns."""
        if isinstance(group, AttributeMeasure):
            inner, value = self.item(group)
            self.lines += inner
            return [plain_variable(value)]
        lines, end = self.text.groups(self.root, group, self.answer)
        self.lines += lines
        if isinstance(group, ReachedAttribute):
            return [end]
        line, name = self.text.attribute("name", end)
        self.lines.append(line)
        return [end, name]


def key_columns(total: Total) -> list[int]:
    """Return for each key of :meth:`TotalSparql.listed` the number of its column."""
    columns: dict[tuple[object, bool], int] = {(measure, True): i for i, measure in enumerate(total.measures, 1)}
    numbers = []
    for order in total.order:
        is_list = isinstance(order.key, AttributeMeasure) and order.key.sql_type.endswith("[]")
        key = ((order.key, order.descending), False) if is_list else (order.key, True)
        numbers.append(columns.setdefault(key, len(columns) + 1))
    return numbers


def _body(lines: list[str]) -> str:
    return "\n".join(indented(lines))
