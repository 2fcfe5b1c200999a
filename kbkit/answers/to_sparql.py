"""Compile a plan to readable SPARQL 1.1 for any engine.

An operator compiles to a *pattern*, which produces its nodes, or to a *condition*, which tests a bound node. In a
pattern, each hop starts from a sub-select of distinct nodes, because engines multiply rows along a plain path.
Conditions use EXISTS, which stops at the first match. Counts and superlatives are always patterns, so that they are
computed once and not for each node.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kbkit.answers.algebra import (
    AllNodes,
    AttributeCondition,
    AttributeFilter,
    Difference,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    MeasureFilter,
    Move,
    Operator,
    Plan,
    SavedNodes,
    Union,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.operator_tree import operators
from kbkit.answers.sparql_measures import SparqlMeasures, indented
from kbkit.answers.sql_parts import by_day
from kbkit.answers.to_sql import wrapped
from kbkit.answers.total_sparql import TotalSparql
from kbkit.errors import KbError
from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Schema, iri_escape
from kbkit.stores.ntriples import TABLES_GRAPH, datatype, lexical
from kbkit.stores.sparql_text import string_literal

_LOCAL = re.compile(r"(?:[A-Za-z0-9_]|%[0-9A-F]{2})(?:[A-Za-z0-9_-]|%[0-9A-F]{2})*")


def to_sparql(
    plan: Plan,
    schema: Schema,
    bound: Bindings | None = None,
    members: dict[str, list[str]] | None = None,
    *,
    prefixes: bool = True,
) -> str:
    """Return SPARQL whose column ``answer`` has the IRIs of the answers.

    With ``bound``, parameters are literals; without, nodes (IRIs) and constants are ``$name``. ``members`` has the IRIs
    of the saved sets of the plan. Without ``prefixes`` the engine must know the prefixes of the KB.
    """
    text, answer = _compiler(plan, schema, bound, members)
    body = "\n".join(indented(text.pattern(plan.root, answer)))
    return _declared(plan, schema, f"SELECT DISTINCT {answer} WHERE {{\n{body}\n}}", prefixes=prefixes)


def value_sparql(
    plan: Plan, schema: Schema, bound: Bindings | None = None, members: dict[str, list[str]] | None = None
) -> str:
    """Return SPARQL for the value of a plan; parameters as in :func:`to_sparql`."""
    assert plan.total is not None
    text, answer = _compiler(plan, schema, bound, members)
    return _declared(plan, schema, TotalSparql(text, plan.root, plan.total, answer).query())


def _compiler(
    plan: Plan, schema: Schema, bound: Bindings | None, members: dict[str, list[str]] | None
) -> tuple[_Sparql, str]:
    """Return a compiler for a plan, and the variable of its answers."""
    names = frozenset(p.name for p in plan.parameters if bound is None)
    text = _Sparql(schema, bound, members or {}, names)
    return text, "?answer" if "answer" not in names else text.variable("answer")


def _declared(plan: Plan, schema: Schema, query: str, *, prefixes: bool = True) -> str:
    """Return a query with the expression as a comment, and the prefixes that it uses."""
    used = {
        prefix: iri for prefix, iri in schema.prefixes().items() if re.search(rf"(?<![\w:]){re.escape(prefix)}:", query)
    }
    declared = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in used.items() if prefixes)
    comment = "".join(f"# {line}\n" for line in wrapped(plan.text))
    return f"{comment}{declared}{query}"


def _has_measure(operator: Operator) -> bool:
    return any(isinstance(part, (MeasureFilter, Extreme)) for part in operators(operator))


@dataclass
class _Sparql(SparqlMeasures):
    """Compiles the operators of a plan; names variables."""

    schema: Schema
    bound: Bindings | None
    members: dict[str, list[str]]
    parameters: frozenset[str]
    used: Counter[str] = field(default_factory=Counter)

    # -- as a pattern -------------------------------------------------------------------------------------------------

    def pattern(self, operator: Operator, node: str) -> list[str]:
        """Return lines that bind the variable ``node`` to each of the operator's nodes."""
        match operator:
            case AllNodes():
                return [self.is_a(node, operator.type)]
            case Lookup() | SavedNodes():
                return [self.values(operator, node)]
            case AttributeFilter():
                return [*self.pattern(operator.source, node), *self.tests(operator, node)]
            case Hop():
                return self.hop(operator, node)
            case Intersection():
                first, *rest = sorted(operator.parts, key=self.rank)
                return [*self.pattern(first, node), *(line for part in rest for line in self.also(part, node))]
            case Union():
                return self.union([self.pattern(part, node) for part in operator.parts])
            case MeasureFilter():
                return self.compared(operator, node)
            case Extreme():
                return self.superlative(operator, node)
            case Difference():
                left = self.pattern(operator.left, node)
                if _has_measure(operator.right):
                    return [*left, "MINUS {", *indented(self.pattern(operator.right, node)), "}"]
                return [*left, *self.filter(self.negation(operator.right, node))]
        raise AssertionError(operator)

    def also(self, part: Operator, node: str) -> list[str]:
        """Return lines that restrict the bound variable ``node`` to the nodes of ``part``."""
        if isinstance(part, SavedNodes):
            return [self.values(part, node)]
        if _has_measure(part):
            return self.distinct(part, node)
        return self.filter(self.condition(part, node))

    def distinct(self, operator: Operator, node: str) -> list[str]:
        """Return a sub-select of the operator's nodes."""
        return [f"{{ SELECT DISTINCT {node} WHERE {{", *indented(self.pattern(operator, node)), "} }"]

    def filter(self, condition: str) -> list[str]:
        bare = condition.startswith(("(", "EXISTS", "NOT EXISTS"))
        return (f"FILTER {condition}" if bare else f"FILTER({condition})").split("\n")  # literals contain no \n

    def rank(self, operator: Operator) -> int:
        """Return the position of an operator among the parts of an intersection: few start nodes first."""
        match operator:
            case Lookup() | SavedNodes():
                return 0
            case Hop() | AttributeFilter() | MeasureFilter() | Extreme():
                return min(90, 1 + self.rank(operator.source))
            case Intersection():
                return min(self.rank(part) for part in operator.parts)
            case Union():
                return max(self.rank(part) for part in operator.parts)
            case Difference():
                return self.rank(operator.left)
            case _:
                return 99

    def hop(self, hop: Hop, node: str) -> list[str]:
        start = self.term(hop.source)
        lines: list[str] = []
        if start is None:
            start = self.variable(hop.source.type)
            if not self.is_implied(hop):
                lines = self.distinct(hop.source, start)
        lines += self.union([self.step(start, move, node) for move in hop.moves])
        if hop.check:
            lines.append(self.is_a(node, hop.type))
        return lines

    def is_implied(self, hop: Hop) -> bool:
        """Return whether the source is all nodes of a type and includes every node that the moves can start from."""
        if not isinstance(hop.source, AllNodes) or any(move.closure for move in hop.moves):
            return False
        signatures = [(s, move.forward) for move in hop.moves for s in self.schema.relation(move.relation).signatures]
        return hop.source.type is None or {s.head if f else s.tail for s, f in signatures} == {hop.source.type}

    # -- as a condition -----------------------------------------------------------------------------------------------

    def condition(self, operator: Operator, node: str) -> str:
        """Return a boolean expression: ``node`` is one of the operator's nodes."""
        match operator:
            case Lookup():
                return f"({node} IN ({', '.join(self.iris(operator))}))"
            case Intersection() | Union():
                sign = " && " if isinstance(operator, Intersection) else " || "
                return f"({sign.join(self.condition(part, node) for part in operator.parts)})"
            case Difference():
                return f"({self.condition(operator.left, node)} && {self.negation(operator.right, node)})"
            case _:
                lines = self.exists(operator, node)
                return f"EXISTS {{ {lines[0]} }}" if len(lines) == 1 else "\n".join(["EXISTS {", *indented(lines), "}"])

    def negation(self, operator: Operator, node: str) -> str:
        """Return a boolean expression: ``node`` is not one of the operator's nodes."""
        if isinstance(operator, Lookup):
            return f"({node} NOT IN ({', '.join(self.iris(operator))}))"
        condition = self.condition(operator, node)
        return f"NOT {condition}" if condition.startswith("EXISTS") else f"(!{condition})"

    def exists(self, operator: Operator, node: str) -> list[str]:
        """Return the lines of an EXISTS that matches if ``node`` is one of the operator's nodes."""
        match operator:
            case AllNodes():
                return [self.is_a(node, operator.type)]
            case SavedNodes():
                return [self.values(operator, node)]
            case AttributeFilter():
                return [*self.exists(operator.source, node), *self.tests(operator, node)]
            case Hop():
                start = self.term(operator.source)
                lines = []
                if start is None:
                    start = self.variable(operator.source.type)
                    if not self.is_implied(operator):
                        lines = self.exists(operator.source, start)
                steps = self.union([self.step(start, move, node) for move in operator.moves])
                return [*steps, *([self.is_a(node, operator.type)] if operator.check else []), *lines]
            case _:
                return [self.is_a(node, operator.type), *self.filter(self.condition(operator, node))]

    # -- parts --------------------------------------------------------------------------------------------------------

    def union(self, groups: Sequence[Sequence[str]]) -> list[str]:
        if len(groups) == 1:
            return list(groups[0])
        lines: list[str] = []
        for group in groups:
            lines += [f"{'UNION ' if lines else ''}{{", *indented(group), "}"]
        return lines

    def step(self, start: str, move: Move, node: str) -> list[str]:
        """Return the lines of a move: a triple, or the statement of an edge that meets conditions."""
        if not move.conditions:
            return [self.triple(start, move, node)]
        return self.statement(self.variable(move.relation), start, move, node)

    def statement(self, edge: str, start: str, move: Move, node: str) -> list[str]:
        """Return the lines of a move that bind ``edge`` to the statement of each of its edges."""
        relation = self.schema.relation(move.relation)
        if self.schema.rdf_source:
            message = f"In a KB from RDF, SPARQL has no attributes of edges, such as those of [{move.relation}]"
            raise KbError(message, "Use the engine walk or sql")
        head, tail = (start, node) if move.forward else (node, start)
        ends = f"rdf:subject {head} ; rdf:predicate {self.short(relation.iri)} ; rdf:object {tail}"
        tests = [line for test in move.conditions for line in self.test(test, edge, self.edge_attribute)]
        return [f"{edge} {ends} .", *tests]

    def triple(self, start: str, move: Move, node: str) -> str:
        relation = self.short(self.schema.relation(move.relation).iri)
        if move.closure:
            triple = f"{start} {relation if move.forward else f'(^{relation})'}{move.closure} {node} ."
        else:
            triple = f"{start} {relation} {node} ." if move.forward else f"{node} {relation} {start} ."
        end, base = node if move.forward else start, self.schema.key_base
        if not base or not end.startswith("?"):
            return triple
        return f"{triple} FILTER(STRSTARTS(STR({end}), {string_literal(base)}))"  # excludes unknown values

    def is_a(self, node: str, node_type: str | None) -> str:
        type_term = self.variable("type") if node_type is None else self.short(self.schema.type(node_type).iri)
        triple = f"{node} kb:type {type_term} ."
        return f"GRAPH {self.short(TABLES_GRAPH)} {{ {triple} }}" if self.schema.types_apart else triple

    def values(self, operator: Lookup | SavedNodes, node: str) -> str:
        if isinstance(operator, SavedNodes):
            listed = " ".join(self.short(iri) for iri in self.members[operator.name])
            return f"VALUES {node} {{ {listed} }}"
        if self.bound is None:
            return f"BIND(${operator.parameter} AS {node})"
        return f"VALUES {node} {{ {' '.join(self.iris(operator))} }}"

    def term(self, operator: Operator) -> str | None:
        """Return the term for a single named node; None for any other set."""
        if not isinstance(operator, Lookup):
            return None
        iris = self.iris(operator)
        return iris[0] if len(iris) == 1 else None

    def iris(self, operator: Lookup) -> list[str]:
        if self.bound is None:
            return [f"${operator.parameter}"]
        nodes = self.bound[operator.parameter]
        assert not isinstance(nodes, Constant)
        return [self.short(self.schema.node_iri(node.type, node.key)) for node in nodes]

    def tests(self, operator: AttributeFilter, node: str) -> list[str]:
        return [line for test in operator.conditions for line in self.test(test, node, self.attribute)]

    def test(self, test: AttributeCondition, node: str, attribute: Callable[[str, str], tuple[str, str]]) -> list[str]:
        element = test.sql_type.removesuffix("[]")
        triple, value = attribute(test.attribute, node)
        real = f"{value} = {value}" if element in ("DOUBLE", "FLOAT") else ""  # NaN counts as missing
        if test.op == "missing":
            inside = f"{triple} FILTER({real})" if real else triple
            return [f"FILTER {'' if test.negated else 'NOT '}EXISTS {{ {inside} }}"]
        if test.other is not None:
            return self.pair(test, triple, value, *attribute(test.other.name, node))
        values = [self.value(name, element) for name in test.parameters]
        if test.op == "contains":
            condition = "!" * test.negated + self.contains(value, test.parameters[0])
        elif test.op == "in":
            condition = f"{value} {'NOT ' * test.negated}IN ({', '.join(values)})"
        elif element == "BOOLEAN" and test.op not in ("=", "!="):  # engines do not order booleans
            condition = f"xsd:integer({value}) {test.op} xsd:integer({values[0]})"
        else:
            condition = f"{value} {test.op} {values[0]}"
        return [triple, f"FILTER({f'{real} && ' if real else ''}{condition})"]

    def pair(self, test: AttributeCondition, triple: str, value: str, other_triple: str, other: str) -> list[str]:
        """Return the lines of a comparison of two attributes, whose values ``value`` and ``other`` are bound to."""
        assert test.other is not None
        kinds = [kind.removesuffix("[]") for kind in (test.sql_type, test.other.sql_type)]
        both = list(zip((value, other), kinds, by_day(kinds[0], kinds[1]), strict=True))
        conditions = [f"{variable} = {variable}" for variable, kind, _ in both if kind in ("DOUBLE", "FLOAT")]
        casts = ["xsd:date" if day else "xsd:integer" if kind == "BOOLEAN" else "" for _, kind, day in both]
        sides = [f"{cast}({side[0]})" if cast else side[0] for side, cast in zip(both, casts, strict=True)]
        conditions.append(f"{sides[0]} {test.op} {sides[1]}")
        return [triple, other_triple, f"FILTER({' && '.join(conditions)})"]

    def attribute(self, name: str, node: str) -> tuple[str, str]:
        """Return a line that binds a new variable to each value of an attribute, and the variable."""
        value = self.variable(name)
        if name == "key" and self.schema.rdf_source:
            base = self.schema.key_base
            text = f"STRAFTER(STR({node}), {string_literal(base)})" if base else f"STR({node})"
            return f"BIND({text} AS {value})", value
        triple = f"{node} {self.predicate(name)} {value} ."
        if self.schema.rdf_source:
            triple = f"GRAPH {self.short(TABLES_GRAPH)} {{ {triple} }}"
        return triple, value

    def edge_attribute(self, name: str, edge: str) -> tuple[str, str]:
        """Return a line that binds a new variable to each value of an edge's attribute, and the variable."""
        value = self.variable(name)
        return f"{edge} {self.short(self.attribute_iri(name))} {value} .", value

    def attribute_iri(self, name: str) -> str:
        return f"{self.schema.base}attr/{iri_escape(name)}"

    def predicate(self, attribute: str) -> str:
        builtin = {"name": KB_NAMESPACE + "name" if self.schema.rdf_source else STANDARD_PREFIXES["rdfs"] + "label"}
        builtin["key"] = KB_NAMESPACE + "key"
        return self.short(builtin.get(attribute) or self.attribute_iri(attribute))

    def value(self, name: str, sql_type: str) -> str:
        if self.bound is None:
            return f"${name}"
        constant = self.bound[name]
        assert isinstance(constant, Constant)
        kind = datatype(sql_type)
        if kind is None:
            return string_literal(constant.text)
        text = lexical(constant.text, kind)
        if kind in ("integer", "boolean"):
            return text
        return f'"{text}"^^xsd:{kind}'

    def number(self, parameter: str) -> str:
        """Return an integer parameter from 0."""
        if self.bound is None:
            return f"${parameter}"
        constant = self.bound[parameter]
        assert isinstance(constant, Constant)
        return str(max(0, int(constant.text)))

    def contains(self, value: str, name: str) -> str:
        if self.bound is None:
            return f"CONTAINS(LCASE({value}), LCASE(${name}))"
        constant = self.bound[name]
        assert isinstance(constant, Constant)
        pattern = re.sub(r"([\\.*+?^$|(){}\[\]-])", r"\\\1", constant.text)
        return f'REGEX({value}, {string_literal(pattern)}, "i")'  # the same case folding as DuckDB; LCASE differs

    def variable(self, subject: str | None) -> str:
        """Return a new variable named after a type or attribute."""
        stem = re.sub(r"\W+", "_", (subject or "node").lower(), flags=re.ASCII).strip("_") or "node"
        self.used[stem] += 1
        name = f"{stem}_{self.used[stem]}"
        return f"?{name}" if name not in self.parameters else self.variable(subject)

    def short(self, iri: str) -> str:
        """Return ``prefix:name`` if a prefix fits and the rest is a plain name, else ``<iri>``."""
        for prefix, start in self.schema.prefixes().items():
            if iri.startswith(start) and _LOCAL.fullmatch(iri[len(start) :]):
                return f"{prefix}:{iri[len(start) :]}"
        return f"<{iri}>"
