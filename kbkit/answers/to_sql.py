"""Compile a plan to readable DuckDB SQL.

Each operator is a common table expression with a column ``id``. Parameters are ``$named`` or literals.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kbkit.answers.algebra import (
    AllNodes,
    AttributeFilter,
    AttributeMeasure,
    DateMeasure,
    Difference,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    Measure,
    MeasureFilter,
    MeasureStep,
    Move,
    Operator,
    PathMeasure,
    Plan,
    SavedNodes,
    Total,
    Union,
    ValueOf,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.columns import columns
from kbkit.answers.sql_parts import (
    PLAIN,
    attribute_values,
    column_sql,
    condition_sql,
    constant_sql,
    identifier,
    known_column,
    measure_sql,
    sql_sign,
)
from kbkit.answers.total_sql import TotalSql, best_per_group, edge_rows
from kbkit.schema import Schema, literal


def to_sql(plan: Plan, schema: Schema, bound: Bindings | None = None, *, nodes_by_id: bool = False) -> str:
    """Return SQL whose rows (id, type, key, name) are the answers, sorted by id.

    With ``bound``, parameters are literals. Without, they are ``$name``: constants, and nodes by key, or by id with
    ``nodes_by_id``.
    """
    text = _Sql(schema, bound, nodes_by_id)
    answers = text.table(plan.root)
    where = "" if answers == "nodes" else f"\nWHERE id IN (SELECT id FROM {answers})"
    return f"{_comment(plan.text)}{text.start()}SELECT id, type, key, name\nFROM nodes{where}\nORDER BY id"


def value_sql(plan: Plan, schema: Schema, bound: Bindings | None = None, *, nodes_by_id: bool = False) -> str:
    """Return SQL for the value of a plan; parameters as in :func:`to_sql`."""
    text = _Sql(schema, bound, nodes_by_id)
    assert plan.total is not None
    value = text.total(plan.root, plan.total)
    return f"{_comment(plan.text)}{text.start()}{value}"


@dataclass
class _Sql:
    schema: Schema
    bound: Bindings | None
    nodes_by_id: bool
    steps: dict[str, str] = field(default_factory=dict)
    known: dict[Operator, str] = field(default_factory=dict)
    measured: dict[tuple[Operator, AttributeMeasure | PathMeasure, str], str] = field(default_factory=dict)
    paths: dict[tuple[str, tuple[MeasureStep, ...]], str] = field(default_factory=dict)
    relations: dict[Move, str] = field(default_factory=dict)
    recursive: bool = False

    def start(self) -> str:
        """Return the WITH clause of the steps."""
        steps = ",\n".join(f"{name} AS (\n  {body}\n)" for name, body in self.steps.items())
        return f"WITH {'RECURSIVE ' if self.recursive else ''}{steps}\n" if steps else ""

    def table(self, operator: Operator) -> str:
        """Return the name of a table whose column ``id`` has the operator's nodes."""
        if isinstance(operator, AllNodes):
            return "nodes" if operator.type is None else identifier(self.schema.type(operator.type).table)
        if operator not in self.known:
            body = self.body(operator)
            self.known[operator] = name = self.new_name(operator.type or "node")
            self.steps[name] = body
        return self.known[operator]

    def new_name(self, subject: str) -> str:
        """Return a name for a step, different from all tables."""
        stem = re.sub(r"\W+", "_", subject.lower(), flags=re.ASCII).strip("_")
        stem = stem if PLAIN.fullmatch(stem) else f"n_{stem}"
        taken = {t.table.lower() for t in self.schema.node_types} | {r.table.lower() for r in self.schema.relations}
        number = 1
        while f"{stem}_{number}" in self.steps or f"{stem}_{number}" in taken:
            number += 1
        return f"{stem}_{number}"

    def body(self, operator: Operator) -> str:
        match operator:
            case Lookup():
                return self.lookup(operator)
            case SavedNodes():
                return (
                    "SELECT n.id FROM answer_members m JOIN nodes n ON n.type = m.type AND n.key = m.key"
                    f" WHERE m.answer_set = {literal(operator.name)}"
                )
            case AttributeFilter():
                return self.filter(operator)
            case Hop():
                return self.hop(operator)
            case MeasureFilter():
                return self.compared(operator)
            case Extreme():
                op = "max" if operator.greatest else "min"
                values = self.values(operator.source, operator.measure, op)
                if operator.per is not None:
                    groups = self.total_sql(operator.source).group_values(operator.per)
                    number = "1" if operator.number is None else self.constant(operator.number, "BIGINT")
                    return best_per_group(values, groups, operator.greatest, number)
                computed = isinstance(operator.measure, PathMeasure) and not operator.measure.is_number_of_nodes
                if operator.number is not None or computed:  # computed twice, a sum of fractions may differ
                    number = "1" if operator.number is None else self.constant(operator.number, "BIGINT")
                    order = f"ORDER BY value {'DESC' if operator.greatest else 'ASC'}"
                    return f"SELECT id FROM {values} QUALIFY rank() OVER ({order}) <= {number}"
                return f"SELECT id FROM {values} WHERE value = (SELECT {op}(value) FROM {values})"
            case Intersection():
                first, *rest = (self.table(part) for part in operator.parts)
                return f"SELECT id FROM {first} WHERE " + _all([f"id IN (SELECT id FROM {t})" for t in rest])
            case Union():
                return "\n  UNION ".join(f"SELECT id FROM {self.table(part)}" for part in operator.parts)
            case Difference():
                left, right = self.table(operator.left), self.table(operator.right)
                return f"SELECT l.id FROM {left} l ANTI JOIN {right} r ON r.id = l.id"
        raise AssertionError(operator)

    def lookup(self, operator: Lookup) -> str:
        name = operator.parameter
        table = self.table(AllNodes(operator.type))
        nodes = None if self.bound is None else self.bound[name]
        assert not isinstance(nodes, Constant)
        if self.nodes_by_id:
            return f"SELECT id FROM {table} WHERE id = ${name}"
        if nodes is None:
            return f"SELECT id FROM {table} WHERE key = ${name}"
        shared = operator.type is None or bool(self.schema.type(operator.type).others)
        note = "  -- " + " ".join(nodes[0].name.split())[:60] if len(nodes) == 1 else ""
        if not shared:
            keys = ", ".join(literal(node.key) for node in nodes)
            return f"SELECT id FROM {table} WHERE key " + (f"= {keys}" if len(nodes) == 1 else f"IN ({keys})") + note
        rows = " OR ".join(f"(type = {literal(n.type)} AND key = {literal(n.key)})" for n in nodes)
        return f"SELECT id FROM nodes WHERE {rows}{note}"

    def filter(self, operator: AttributeFilter) -> str:
        table = self.table(AllNodes(operator.type))
        conditions = [
            condition_sql(condition, [self.constant(name, condition.sql_type) for name in condition.parameters])
            for condition in operator.conditions
        ]
        if not isinstance(operator.source, AllNodes):
            conditions.insert(0, f"id IN (SELECT id FROM {self.table(operator.source)})")
        return f"SELECT id FROM {table} WHERE " + _all(conditions)

    def constant(self, name: str, sql_type: str) -> str:
        """Return a constant for an attribute of a type."""
        kind = sql_type.removesuffix("[]")
        if self.bound is None:
            return f"${name}" if kind == "VARCHAR" else f"${name}::{kind}"
        return constant_sql(self.bound[name], sql_type)

    # -- measures -----------------------------------------------------------------------------------------------------

    def values(self, source: Operator, measure: AttributeMeasure | PathMeasure, op: str = "") -> str:
        """Return the name of a step with the columns ``id`` and ``value``, a row for each source node with a value."""
        key = (source, measure, op)
        if key not in self.measured:
            if isinstance(measure, AttributeMeasure):
                name, body = measure.name, self.attribute(source, measure, op)
            elif measure.is_number_of_nodes:
                name, body = "counts", self.counts(source, measure)
            else:
                name, body = f"{measure.op}_values", self.total_sql(source).path_values(measure)
            self.measured[key] = name = self.new_name(name)
            self.steps[name] = body
        return self.measured[key]

    def attribute(self, source: Operator, attribute: AttributeMeasure, op: str) -> str:
        value, known = measure_sql(attribute, op)
        conditions = [] if isinstance(source, AllNodes) else [f"id IN (SELECT id FROM {self.table(source)})"]
        table = self.table(AllNodes(source.type))
        return f"SELECT id, {value} AS value FROM {table} WHERE " + _all([*conditions, known])

    def compared(self, operator: MeasureFilter) -> str:
        """Return the query of the nodes whose measure compares with a constant, another measure, or a value."""
        mine, value, op = self.items(operator.source, operator.measure), operator.other, sql_sign(operator.op)
        distinct = "DISTINCT " if operator.measure.sql_type.endswith("[]") else ""
        if isinstance(value, str):
            other = self.constant(value, operator.measure.sql_type)
            return f"SELECT {distinct}id FROM {mine} WHERE value {op} {other}"
        if not isinstance(value, ValueOf):
            theirs = self.items(operator.source, value)
            return f"SELECT {distinct}m.id FROM {mine} m JOIN {theirs} o ON o.id = m.id WHERE m.value {op} o.value"
        body = self.total(value.root, value.total)  # it may need steps of the same name
        other = self.new_name(value.total.op)
        self.steps[other] = body
        select = f"SELECT DISTINCT id FROM {mine} WHERE"
        if value.total.op != "values":
            return f"{select} value {op} (SELECT * FROM {other})"
        column = identifier(columns(value.total)[0].name)
        if op == "=":
            return f"{select} value IN (SELECT {column} FROM {other})"
        ends = (f"value <> (SELECT {end}({column}) FROM {other})" for end in ("min", "max"))
        return f"{select} {' OR '.join(ends)}"

    def items(self, source: Operator, measure: Measure) -> str:
        """Return the name of a step (id, value) with the values of nodes; a row for each element of a list."""
        if not isinstance(measure, AttributeMeasure) or not measure.sql_type.endswith("[]"):
            return self.values(source, measure, "max")
        key = (source, measure, "items")
        if key not in self.measured:
            items = attribute_values(self.table(AllNodes(source.type)), measure)
            within = "" if isinstance(source, AllNodes) else f" WHERE id IN (SELECT id FROM {self.table(source)})"
            self.measured[key] = name = self.new_name(measure.name)
            self.steps[name] = f"SELECT id, value FROM {items}{within}"
        return self.measured[key]

    def total(self, root: Operator, total: Total) -> str:
        """Return the query of a value of an operator's nodes."""
        return self.total_sql(root, total).select(total)

    def total_sql(self, root: Operator, total: Total | None = None) -> TotalSql:
        """Return what compiles values of an operator's nodes."""
        nodes = self.table(root)
        if total is not None and (step := total.edges) is not None:
            within = "" if step.within is None else self.table(step.within)
            rows = edge_rows(self.schema, total, self.edge_tests(step.moves[0]), nodes, within)
            nodes = self.new_name("edge")
            self.steps[nodes] = rows
        return TotalSql(
            self.table(AllNodes(root.type)),
            nodes,
            lambda count: self.values(root, count),
            lambda path: self.reached(nodes, path),
            lambda node_type: self.table(AllNodes(node_type)),
            lambda measure: self.edge_values(nodes, measure),
            self.table,
        )

    def edge_values(self, starts: str, measure: PathMeasure) -> tuple[str, str]:
        """Return a table (start, id) of the nodes from which the last step of a measure is followed, and a table (id,
        value) of the values of the edges that it follows from each.
        """
        *before, step = measure.steps
        [move] = step.moves
        near, far = ("head", "tail") if move.forward else ("tail", "head")
        reached = f"(SELECT id AS start, id FROM {starts})"
        if before:
            reached = self.reached(starts, replace(measure, steps=tuple(before)))
        assert measure.attribute is not None
        tests = self.edge_tests(move)
        if step.within is not None:
            tests.append(f"{far} IN (SELECT id FROM {self.table(step.within)})")
        attribute = measure.attribute
        column, kind = column_sql(attribute), attribute.sql_type
        tests += [known_column(attribute)] if not kind.endswith("[]") else []
        where = f" WHERE {_all(tests)}" if tests else ""
        stored = attribute.dates[0] if isinstance(attribute, DateMeasure) else attribute
        shown = column_sql(stored) if kind.endswith("[]") else f"{column} AS value"
        edges = f"(SELECT {near} AS id, {shown} FROM {identifier(self.schema.relation(move.relation).table)}{where})"
        return reached, attribute_values(edges, measure.attribute) if kind.endswith("[]") else edges

    def reached(self, starts: str, path: PathMeasure) -> str:
        """Return the name of a step with the distinct pairs of a node and a node that a path reaches from it."""
        key = (starts, path.steps)
        if key not in self.paths:
            first, *rest = path.steps
            reached = self.pairs(first, starts, "id")
            for step in rest:
                reached = self.pairs(step, reached, "start")
            self.paths[key] = reached
        return self.paths[key]

    def counts(self, source: Operator, count: PathMeasure) -> str:
        starts = self.table(source)
        reached = self.reached(starts, count)
        return (
            f"SELECT s.id, coalesce(r.value, 0) AS value FROM {starts} s"
            f"\n  LEFT JOIN (SELECT start, count(*) AS value FROM {reached} GROUP BY start) r ON r.start = s.id"
        )

    def pairs(self, step: MeasureStep, before: str, start: str) -> str:
        """Add a step with the distinct pairs of a start node and a node that it reaches: columns ``start``, ``id``."""
        within = "" if step.within is None else f" IN (SELECT id FROM {self.table(step.within)})"
        parts = []
        for move in step.moves:
            near, far = ("head", "tail") if move.forward else ("tail", "head")
            table = self.relation(move)
            if move.closure:
                table = self.pair_closure(move, table, before, start)
                where = f" WHERE id{within}" if within else ""
                parts.append(f"SELECT start, id FROM {table}{where}")
                continue
            where = f" WHERE r.{far}{within}" if within else ""
            parts.append(
                f"SELECT DISTINCT b.{start} AS start, r.{far} AS id FROM {before} b"
                f" JOIN {table} r ON r.{near} = b.id{where}"
            )
        name = self.new_name("reached")
        self.steps[name] = "\n  UNION ".join(parts)
        return name

    def pair_closure(self, move: Move, table: str, before: str, start: str) -> str:
        """Add a recursive step with the pairs that a repeated relation reaches (``*``: or the pairs before)."""
        self.recursive = True
        near, far = ("head", "tail") if move.forward else ("tail", "head")
        first = f"SELECT {start} AS start, id FROM {before}"
        if move.closure == "+":
            first = f"SELECT b.{start} AS start, r.{far} AS id FROM {before} b JOIN {table} r ON r.{near} = b.id"
        name = self.new_name("reached")
        self.steps[name] = f"{first}\n  UNION SELECT {name}.start, {far} FROM {table} JOIN {name} ON {near} = {name}.id"
        return name

    # -- hops ---------------------------------------------------------------------------------------------------------

    def hop(self, hop: Hop) -> str:
        source = self.table(hop.source)
        parts = [self.move(move, source, hop) for move in hop.moves]
        return "\n  UNION ".join(parts) if len(parts) > 1 else parts[0].replace("SELECT ", "SELECT DISTINCT ", 1)

    def edge_tests(self, move: Move) -> list[str]:
        """Return the conditions on the edges of a move."""
        return [condition_sql(c, [self.constant(name, c.sql_type) for name in c.parameters]) for c in move.conditions]

    def relation(self, move: Move) -> str:
        """Return the name of the table with the edges that a move follows: the relation's, or a step with some."""
        table = self.schema.relation(move.relation).table
        if not move.conditions:
            return identifier(table)
        chosen = replace(move, forward=True)
        if chosen not in self.relations:
            tests = self.edge_tests(move)
            self.relations[chosen] = name = self.new_name(table)
            self.steps[name] = f"SELECT head, tail FROM {identifier(table)} WHERE {_all(tests)}"
        return self.relations[chosen]

    def move(self, move: Move, source: str, hop: Hop) -> str:
        relation = self.schema.relation(move.relation)
        table = self.relation(move)
        near, far = ("head", "tail") if move.forward else ("tail", "head")
        within = f"{{}} IN (SELECT id FROM {self.table(AllNodes(hop.type))})"
        if move.closure:
            table, near, far = self.closure(move, source, near, far), "", "id"
        conditions = []
        ends = {s.head if move.forward else s.tail for s in relation.signatures}
        all_sources = isinstance(hop.source, AllNodes) and (hop.source.type is None or ends == {hop.source.type})
        if near and not all_sources:
            conditions.append(f"{near} IN (SELECT id FROM {source})")
        if hop.check:
            conditions.append(within.format(far))
        where = " WHERE " + _all(conditions) if conditions else ""
        return f"SELECT {far if far == 'id' else f'{far} AS id'} FROM {table}{where}"

    def closure(self, move: Move, source: str, near: str, far: str) -> str:
        """Add a recursive step with all nodes that the relation reaches (``*``: or the source); return its name."""
        self.recursive = True
        table = identifier(self.schema.relation(move.relation).table)
        name = self.new_name("reached")
        first = (
            f"SELECT id FROM {source}"
            if move.closure == "*"
            else f"SELECT {far} AS id FROM {table} WHERE {near} IN (SELECT id FROM {source})"
        )
        self.steps[name] = f"{first}\n  UNION SELECT {far} FROM {table} JOIN {name} ON {near} = {name}.id"
        return name


def _all(conditions: Sequence[str]) -> str:
    """Join conditions by AND, one per line if they are long."""
    return ("\n    AND " if sum(map(len, conditions)) > 60 else " AND ").join(conditions)


def _comment(text: str) -> str:
    return "".join(f"-- {line}\n" for line in wrapped(text))


def wrapped(text: str) -> list[str]:
    """Split an expression into lines for a comment."""
    return [part for line in text.splitlines() for part in textwrap.wrap(line, 115, break_long_words=False)]
