"""Compile a plan to SQL over the units of an instance: ``triples`` and ``passages`` (see ``solve.py``).

It is independent of the engines of the KB and of the derivations, so that running it on the units checks them. Types
are those in the triples (``head_type``, ``tail_type``).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from kbkit.answers.algebra import (
    AllNodes,
    AttributeCondition,
    AttributeFilter,
    Difference,
    Hop,
    Intersection,
    Lookup,
    Move,
    Operator,
    Plan,
    Union,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.operator_tree import inputs, operators
from kbkit.answers.sql_parts import constant_sql
from kbkit.schema import Schema, literal

_SEPARATOR = r"[^\pL\pN]+"
"""The characters between words (a regular expression)."""
_WORDS = f"' ' || regexp_replace(lower(text), '{_SEPARATOR}', ' ', 'g') || ' '"
_NUMBERS = ("BIGINT", "INTEGER", "DOUBLE", "FLOAT")


def unsupported(plan: Plan, schema: Schema) -> str:
    """Return why a plan cannot be answered from units alone, or ""."""
    if plan.total is not None:
        return "it asks for a value of all answers"
    problems = (_problem(operator, schema) for operator in operators(plan.root))
    bare = "it asks for all nodes of a type" if isinstance(plan.root, AllNodes) else ""
    return bare or next(filter(None, problems), "")


def _problem(operator: Operator, schema: Schema) -> str:
    """Return why an operator cannot be evaluated on units alone, or ""."""
    if not isinstance(operator, (AllNodes, Lookup, Hop, AttributeFilter, Intersection, Union, Difference)):
        return "it needs all candidates: a count, a superlative or a saved set"
    if isinstance(operator, (AllNodes, Hop)) and operator.type and schema.type(operator.type).others:
        return "it has a type that is a secondary type of some nodes"
    if isinstance(operator, AttributeFilter):
        pairs = any(test.other is not None for test in operator.conditions)
        names = any(test.attribute in ("name", "key") for test in operator.conditions)
        missing = any(test.op == "missing" for test in operator.conditions)
        reasons = {"it asks for missing values": missing, "it has a condition on names or keys": names}
        return next((reason for reason, holds in {**reasons, "it compares attributes": pairs}.items() if holds), "")
    moves = operator.moves if isinstance(operator, Hop) else ()
    if any(move.conditions for move in moves):
        return "it has a condition on the edges of a step"
    if (any(move.closure == "*" for move in moves) or isinstance(operator, (Intersection, Union, Difference))) and any(
        isinstance(part, AllNodes) for part in inputs(operator)
    ):
        return "it asks for all nodes of a type"
    return ""


def triples_sql(plan: Plan, bound: Bindings, two_way: Collection[str], mentions: Sequence[Sequence[str]] = ()) -> str:
    """Return a query whose rows are the shown names of the answers.

    ``two_way`` are relations whose triples hold in both directions. ``mentions`` are phrases as words that a text of an
    answer contains in this order.
    """
    text = _Sql(bound, frozenset(two_way))
    answers = text.table(plan.root)
    for words in mentions:
        text.steps[f"mention_{len(text.steps)}"] = _mention(words)
    kept = [name for name in text.steps if name.startswith("mention_")]
    text.steps["names"] = (
        "SELECT head AS id, head_name AS name FROM triples\n"
        "  UNION SELECT tail, tail_name FROM triples WHERE tail IS NOT NULL"
    )
    steps = ",\n".join(f"{name} AS (\n  {body}\n)" for name, body in text.steps.items())
    where = "".join(f"\n  AND id IN (SELECT id FROM {name})" for name in kept)
    comment = "".join(f"-- {line}\n" for line in textwrap.wrap(" ".join(plan.text.split()), 110))
    start = f"WITH {'RECURSIVE ' * text.is_recursive}{steps}\n"
    return f"{comment}{start}SELECT DISTINCT name FROM names WHERE id IN (SELECT id FROM {answers}){where}"


def _mention(words: Sequence[str]) -> str:
    phrase = literal(f" {' '.join(words).lower()} ")
    return f"SELECT node AS id FROM passages WHERE contains({_WORDS}, {phrase})"


@dataclass
class _Sql:
    bound: Bindings
    two_way: frozenset[str]
    steps: dict[str, str] = field(default_factory=dict)
    known: dict[Operator, str] = field(default_factory=dict)
    is_recursive: bool = False

    def table(self, operator: Operator) -> str:
        """Return the name of a step whose column ``id`` has the operator's nodes."""
        if operator not in self.known:
            body = self.body(operator)
            self.known[operator] = self.add(operator.type or "node", body)
        return self.known[operator]

    def add(self, subject: str, body: str) -> str:
        stem = re.sub(r"\W+", "_", subject.lower(), flags=re.ASCII).strip("_") or "node"
        name = f"s_{stem}_{len(self.steps) + 1}"
        self.steps[name] = body
        return name

    def body(self, operator: Operator) -> str:
        match operator:
            case Lookup():
                nodes = self.bound[operator.parameter]
                assert not isinstance(nodes, Constant)
                return "\n  UNION ".join(f"SELECT {literal(node.reference)} AS id" for node in nodes)
            case Hop():
                return "\n  UNION ".join(part for move in operator.moves for part in self.move(operator, move))
            case Intersection():
                return self.combined("INTERSECT", operator.parts)
            case Union():
                return self.combined("UNION", operator.parts)
            case Difference():
                return self.combined("EXCEPT", (operator.left, operator.right))
            case AttributeFilter():
                tests = [self.test(operator, condition) for condition in operator.conditions]
                if not isinstance(operator.source, AllNodes):
                    tests.insert(0, f"SELECT id FROM {self.table(operator.source)}")
                return "\n  INTERSECT ".join(tests)
        raise AssertionError(operator)

    def combined(self, word: str, parts: Sequence[Operator]) -> str:
        return f"\n  {word} ".join(f"SELECT id FROM {self.table(part)}" for part in parts)

    # -- steps --------------------------------------------------------------------------------------------------------

    def move(self, hop: Hop, move: Move) -> list[str]:
        """Return the queries of a move: one, or one for each direction of the triples."""
        ways = [("head", "tail"), ("tail", "head")] if move.relation in self.two_way else [_way(move)]
        if move.closure:
            return [self.closure(hop, move, ways)]
        queries = []
        for near, far in ways:
            conditions = [f"relation = {literal(move.relation)}", *self.source(hop.source, near), f"{far} IS NOT NULL"]
            conditions += [f"{far}_type = {literal(hop.type)}"] if hop.type else []
            queries.append(f"SELECT {far} AS id FROM triples WHERE {' AND '.join(conditions)}")
        return queries

    def source(self, source: Operator, near: str) -> list[str]:
        """Return the conditions on the near end of a triple."""
        if isinstance(source, AllNodes):
            return [f"{near}_type = {literal(source.type)}"] if source.type else []
        return [f"{near} IN (SELECT id FROM {self.table(source)})"]

    def closure(self, hop: Hop, move: Move, ways: Sequence[tuple[str, str]]) -> str:
        """Add the steps of a repeated relation; return the query of the nodes that it reaches."""
        relation = f"relation = {literal(move.relation)} AND tail IS NOT NULL"
        edges = self.add("edge", "\n  UNION ".join(_edge(near, far, relation) for near, far in ways))
        first = f"SELECT far AS id, far_type AS type FROM {edges}"
        if not isinstance(hop.source, AllNodes):
            first += f" WHERE near IN (SELECT id FROM {self.table(hop.source)})"
        elif hop.source.type:
            first += f" WHERE near_type = {literal(hop.source.type)}"
        self.is_recursive = True
        name = f"s_reached_{len(self.steps) + 1}"
        self.steps[name] = f"{first}\n  UNION SELECT far, far_type FROM {edges} JOIN {name} ON near = {name}.id"
        where = f" WHERE type = {literal(hop.type)}" if hop.type else ""
        reached = f"SELECT id FROM {name}{where}"
        if move.closure == "+":
            return reached
        of_type = f" WHERE starts_with(id, {literal(hop.type + '#')})" if hop.type else ""
        return f"{reached}\n  UNION SELECT id FROM {self.table(hop.source)}{of_type}"

    # -- values -------------------------------------------------------------------------------------------------------

    def test(self, operator: AttributeFilter, condition: AttributeCondition) -> str:
        """Return the nodes with a value that meets a condition."""
        values = [constant_sql(self.bound[name], condition.sql_type) for name in condition.parameters]
        kind = condition.sql_type.removesuffix("[]")
        value = "tail_name" if kind == "VARCHAR" else f"try_cast(tail_name AS {'DOUBLE' if kind in _NUMBERS else kind})"
        if condition.op == "contains":
            met = f"regexp_matches(tail_name, regexp_escape({values[0]}), 'i')"
        elif condition.op == "in":
            met = f"{value} IN ({', '.join(values)})"
        else:
            met = f"{value} {'<>' if condition.op == '!=' else condition.op} {values[0]}"
        of_type = f"head_type = {literal(operator.type)} AND " if operator.type else ""
        relation = f"relation = {literal(condition.attribute)} AND tail IS NULL"
        return f"SELECT head AS id FROM triples WHERE {of_type}{relation} AND {met}"


def _way(move: Move) -> tuple[str, str]:
    return ("head", "tail") if move.forward else ("tail", "head")


def _edge(near: str, far: str, condition: str) -> str:
    return (
        f"SELECT {near} AS near, {near}_type AS near_type, {far} AS far, {far}_type AS far_type FROM triples"
        f" WHERE {condition}"
    )
