"""Answer expressions by brute force: sets and loops over plain data, straight from the specification.

It takes the tree of ``kbkit.answers.parse`` and nothing else of kbkit: types, directions and inferred relations are
worked out here once more, so that a mistake in kbkit's resolver does not hide. A node is named by ``(primary type,
key)``.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kbkit.answers import syntax
from kbkit.answers.parse import parse

Ref = tuple[str, str]
Triple = tuple[Ref, str, Ref]
Made = str | syntax.DateFunction
"""An attribute, or a function of dates, which is made of several."""


_SIGNS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class RefusedError(Exception):
    """The expression has no meaning in this graph."""


@dataclass(frozen=True)
class Node:
    """A node; ``types`` are those beside ``type``."""

    type: str
    key: str
    name: str
    aliases: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ref(self) -> Ref:
        return (self.type, self.key)

    def has(self, wanted: str | None) -> bool:
        return wanted is None or wanted == self.type or wanted in self.types


class Typed(NamedTuple):
    """A set of nodes and the type that all of them have (None: any)."""

    type: str | None
    nodes: frozenset[Ref]


@dataclass(frozen=True)
class Graph:
    """Nodes, distinct triples (symmetric relations both ways), DuckDB types of attributes, and saved sets.

    ``signatures`` are (head's primary type, relation, tail's primary type) of all triples; :func:`only` keeps them.
    """

    nodes: Mapping[Ref, Node]
    edges: frozenset[Triple]
    kinds: Mapping[str, str]
    symmetric: frozenset[str] = frozenset()
    saved: Mapping[str, Typed] = field(default_factory=dict)
    signatures: frozenset[tuple[str, str, str]] = frozenset()
    order: Mapping[Ref, int] = field(default_factory=dict)
    """The position of each node in the KB: tables are in this order."""
    rows: Mapping[Triple, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """The attributes of the parallel edges of each triple, of relations with attributes."""
    edge_kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """DuckDB types of the attributes of edges, by relation and name."""

    @property
    def types(self) -> set[str]:
        return {t for n in self.nodes.values() for t in (n.type, *n.types)}

    @property
    def relations(self) -> set[str]:
        return {r for _, r, _ in self.signatures}


def graph(
    nodes: Iterable[Node],
    edges: Iterable[Triple],
    kinds: Mapping[str, str] | None = None,
    symmetric: Iterable[str] = (),
    rows: Mapping[Triple, tuple[Mapping[str, Any], ...]] | None = None,
    edge_kinds: Mapping[str, Mapping[str, str]] | None = None,
) -> Graph:
    """A graph; mirrors the edges of symmetric relations, with their attributes (``rows``)."""
    mirrored = frozenset(symmetric)
    both = {e for h, r, t in edges for e in ([(h, r, t), (t, r, h)] if r in mirrored else [(h, r, t)])}
    known = {n.ref: n for n in nodes}
    signatures = frozenset((h[0], r, t[0]) for h, r, t in both)
    mine = dict(rows or {})
    for (h, r, t), several in list(mine.items()):
        if r in mirrored and h != t:
            mine[t, r, h] = (*mine.get((t, r, h), ()), *several)
    for triple, several in mine.items():  # equal edges are one
        mine[triple] = tuple({str(sorted(row.items())): row for row in several}.values())
    return Graph(known, frozenset(both), dict(kinds or {}), mirrored, {}, signatures, {}, mine, dict(edge_kinds or {}))


def only(whole: Graph, edges: Iterable[Triple]) -> Graph:
    """``whole`` with these triples and no others, symmetric ones both ways; its schema stays."""
    kept = {e for h, r, t in edges for e in ([(h, r, t), (t, r, h)] if r in whole.symmetric else [(h, r, t)])}
    return replace(whole, edges=frozenset(kept))


def answers(whole: Graph, text: str, slots: Mapping[str, Any] | None = None) -> frozenset[Ref]:
    """The answers; raises :class:`RefusedError` where the specification gives the expression no meaning."""
    tree = parse(text)
    if set(slots or {}) - set(syntax.slots(tree)):
        raise RefusedError("unknown slot")
    oracle = Oracle(whole, slots or {})
    if not isinstance(tree, syntax.Aggregate):
        return oracle.set(tree).nodes
    oracle.value(tree)  # refuses what has no value
    return oracle.set(tree.source).nodes


def value(whole: Graph, text: str, slots: Mapping[str, Any] | None = None) -> Any:
    """The value of ``count(...)`` and so on; None for any other expression."""
    tree = parse(text)
    return Oracle(whole, slots or {}).value(tree) if isinstance(tree, syntax.Aggregate) else None


@dataclass
class Oracle:
    graph: Graph
    slots: Mapping[str, Any]

    # -- sets ---------------------------------------------------------------------------------------------------------

    def set(self, tree: syntax.Expression) -> Typed:
        if isinstance(tree, syntax.Nodes):
            return self.source(tree)
        if isinstance(tree, syntax.SavedSet):
            if tree.name not in self.graph.saved:
                raise RefusedError(f"no set {tree.name}")
            return self.graph.saved[tree.name]
        if isinstance(tree, syntax.Filter):
            found = self.set(tree.source)
            for test in tree.conditions:
                found = self.kept(found, test)
            return found
        if isinstance(tree, syntax.Aggregate):
            raise RefusedError("not the whole expression")
        if isinstance(tree, syntax.Path):
            return self.path(tree)
        return self.combined(tree)

    def all(self, wanted: str | None) -> frozenset[Ref]:
        return frozenset(n.ref for n in self.graph.nodes.values() if n.has(wanted))

    def source(self, tree: syntax.Nodes) -> Typed:
        wanted = None if tree.type is None else self.name_of(tree.type, self.graph.types)
        pick = tree.selector
        if isinstance(pick, syntax.Slot):
            value = str(self.filled(pick))
            pick = syntax.Key(value[1:]) if value.startswith("#") else syntax.Name(value)
        if pick is None:
            return Typed(wanted, self.all(wanted))
        candidates = [n for n in self.graph.nodes.values() if n.has(wanted)]
        if isinstance(pick, syntax.Key):
            found = [n for n in candidates if n.key == pick.text]
            found = [n for n in found if n.type == wanted] or found  # a key belongs to its primary type
        else:
            text, low = pick.text, pick.text.lower()
            found = (
                [n for n in candidates if n.name == text]
                or [n for n in candidates if n.name.lower() == low]
                or [n for n in candidates if low in [alias.lower() for alias in n.aliases]]
            )
        if not found or (len(found) > 1 and not (isinstance(pick, syntax.Name) and pick.all)):
            raise RefusedError(f"{len(found)} nodes are {tree}")
        return Typed(wanted, frozenset(n.ref for n in found))

    def combined(self, tree: syntax.Combine) -> Typed:
        found, *rest = (self.set(part) for part in tree.parts)
        for part in rest:  # left-associative
            if None not in (found.type, part.type) and found.type != part.type:
                raise RefusedError("two types")
            if tree.op == "&":
                found = Typed(found.type or part.type, found.nodes & part.nodes)
            elif tree.op == "|":
                found = Typed(found.type if found.type == part.type else None, found.nodes | part.nodes)
            else:
                found = Typed(found.type, found.nodes - part.nodes)
        return found

    # -- paths --------------------------------------------------------------------------------------------------------

    def path(self, tree: syntax.Path) -> Typed:
        arms = [self.arm(arm) for arm in self.arms(tree)]
        return Typed(arms[0].type, frozenset.intersection(*(arm.nodes for arm in arms)))

    def arms(self, tree: syntax.Path) -> list[list[Any]]:
        """The elements of each arm, the answer's last."""
        elements: list[Any] = list(tree.elements)
        answer = tree.arrows.index("<-") if "<-" in tree.arrows else len(elements) - 1
        for i in range(1, len(elements) - 1):
            if i != answer and self.is_bare_relation(elements, i):
                elements[i] = syntax.Step((syntax.Edge(elements[i].type),))
        return [arm for arm in (elements[: answer + 1], elements[answer:][::-1]) if len(arm) > 1]

    def is_bare_relation(self, elements: list[Any], i: int) -> bool:
        element = elements[i]
        bare = isinstance(element, syntax.Nodes) and element.selector is None and element.type is not None
        if not bare or isinstance(elements[i - 1], syntax.Step) or isinstance(elements[i + 1], syntax.Step):
            return False
        folded = element.type.casefold()
        is_type = any(t.casefold() == folded for t in self.graph.types)
        return not is_type and any(r.casefold() == folded for r in self.graph.relations)

    def arm(self, elements: list[Any]) -> Typed:
        here = self.set(elements[0])
        step = None
        for element in elements[1:]:
            if isinstance(element, syntax.Step):
                step = element
                continue
            there = self.set(element)
            reached = self.step(here, step, there.type) & there.nodes
            here, step = Typed(there.type, reached), None
        return here

    def step(self, source: Typed, step: syntax.Step | None, target: str | None) -> frozenset[Ref]:
        """All nodes of type ``target`` that a step reaches, or with ``!`` all that it does not."""
        reached: set[Ref] = set()
        for edge in self.edges_of(step, source.type, target):
            reached |= self.reach(source.nodes, edge, self.way(edge, source.type, target))
        everything = self.all(target)
        return everything - reached if step is not None and step.negated else everything & reached

    def edges_of(self, step: syntax.Step | None, source: str | None, target: str | None) -> tuple[syntax.Edge, ...]:
        """The relations of a step; where none is written, the only one that fits."""
        if step is not None:
            return step.edges
        fitting = [r for r in self.graph.relations if self.direction(r, source, target)]
        if len(fitting) != 1:
            raise RefusedError(f"{len(fitting)} relations join {source} and {target}")
        return (syntax.Edge(fitting[0]),)

    def way(self, edge: syntax.Edge, source: str | None, target: str | None) -> str:
        """``forward`` or ``backward``."""
        relation = self.name_of(edge.relation, self.graph.relations)
        if edge.closure and not any(r == relation and h == t for h, r, t in self.graph.signatures):
            raise RefusedError(f"{relation} cannot repeat")
        if edge.inverse:
            found = "backward" if self.fits(relation, target, source) else ""
        else:
            found = self.direction(relation, source, target)
        if not found:
            raise RefusedError(f"{relation} does not join {source} and {target}")
        return found

    def reach(self, start: frozenset[Ref], edge: syntax.Edge, way: str) -> set[Ref]:
        """What a relation leads to from any node of ``start``."""
        pairs = self.pairs(edge, way)
        reached: set[Ref] = set(start) if edge.closure == "*" else set()
        border = set(start)
        while border:
            border = {far for near, far in pairs if near in border} - reached
            reached |= border
            if not edge.closure:
                break
        return reached

    def pairs(self, edge: syntax.Edge, way: str) -> list[tuple[Ref, Ref]]:
        """The ends of the edges of a relation that meet the conditions."""
        return list(dict.fromkeys((near, far) for near, far, _ in self.followed_edges(edge, way)))

    def followed_edges(self, edge: syntax.Edge, way: str) -> list[tuple[Ref, Ref, Mapping[str, Any]]]:
        """The edges of a relation, parallel ones too, that meet all conditions: their ends and attributes."""
        relation = self.name_of(edge.relation, self.graph.relations)
        known = self.graph.edge_kinds.get(relation, {})
        if edge.conditions and edge.closure:
            raise RefusedError("repeated, with conditions")
        tests: list[Callable[[Mapping[str, Any]], bool]] = []
        for condition in edge.conditions:
            if isinstance(condition, syntax.Comparison) and isinstance(condition.value, syntax.OtherAttribute):
                tests.append(self.passing_pair(condition, known))
                continue
            if not isinstance(condition, syntax.Condition):
                raise RefusedError("no condition on an attribute")
            name = self.name_of(condition.attribute, known)
            passes = self.passing(name, known[name], condition)
            tests.append(lambda row, name=name, passes=passes: passes(values(row.get(name))))  # type: ignore[misc]
        return [
            ((h, t) if way == "forward" else (t, h)) + (row,)
            for h, r, t in self.graph.edges
            for row in (self.graph.rows.get((h, r, t), ({},)) if r == relation else ())
            if all(passes(row) for passes in tests)
        ]

    def passing_pair(self, test: syntax.Comparison, known: Mapping[str, str]) -> Callable[[Mapping[str, Any]], bool]:
        """Whether the attributes of an edge compare with each other."""
        assert isinstance(test.measure, str)
        assert isinstance(test.value, syntax.OtherAttribute)
        names = [self.name_of(name, known) for name in (test.measure, test.value.name)]
        kinds = [known[name].removesuffix("[]") for name in names]
        days = kinds_by_day(*kinds)
        check_comparable(*([] if days else kinds))

        def passes(row: Mapping[str, Any]) -> bool:
            mine, theirs = ([by_day(v, days) for v in values(row.get(name))] for name in names)
            return any(compares(a, test.op, [b]) for a in mine for b in theirs)

        return passes

    def direction(self, relation: str, source: str | None, target: str | None) -> str:
        if self.fits(relation, source, target):
            return "forward"
        return "backward" if self.fits(relation, target, source) else ""

    def fits(self, relation: str, head: str | None, tail: str | None) -> bool:
        """Whether some signature leads from nodes that may be ``head`` to nodes that may be ``tail``."""
        return any(r == relation and self.may_be(h, head) and self.may_be(t, tail) for h, r, t in self.graph.signatures)

    def may_be(self, primary: str, wanted: str | None) -> bool:
        if wanted is None or primary == wanted:
            return True
        return any(n.type == primary and wanted in n.types for n in self.graph.nodes.values())

    # -- conditions ---------------------------------------------------------------------------------------------------

    def kept(self, source: Typed, test: syntax.Test) -> Typed:
        """What a test in braces keeps of a set."""
        if isinstance(test, syntax.Condition):
            passes = self.test(source.type, test)
            return Typed(source.type, frozenset(ref for ref in source.nodes if passes(self.graph.nodes[ref])))
        if isinstance(test, syntax.Comparison):
            return self.compared(source, test)
        if isinstance(test, syntax.Not):
            rest = source
            for inner in test.conditions:
                rest = self.kept(rest, inner)
            return Typed(source.type, source.nodes - rest.nodes)
        best = max if test.op in ("max", "top") else min
        each = self.measured(source, test.measure)
        values = {ref: best(items) for ref, items in each.items() if items}
        if test.per is not None:
            return Typed(source.type, self.best_per_group(source, test, test.per, values, best))
        if test.number is None:
            return Typed(source.type, frozenset(r for r, v in values.items() if v == best(values.values())))
        number = cast(self.filled(test.number), "BIGINT")
        surpass = {r: sum(v != w and best(v, w) == w for w in values.values()) for r, v in values.items()}
        return Typed(source.type, frozenset(r for r, others in surpass.items() if others < number))

    def measured(self, source: Typed, measure: syntax.Measure) -> dict[Ref, list[Any]]:
        """The values of an attribute, or of a function of a path, of each node."""
        if isinstance(measure, syntax.PathFunction):
            self.reached(None, source.type, measure)  # refuses a path that fits no schema, for an empty set too
            name, kind = self.measured_attribute(source.type, measure)
            return {ref: self.along(ref, source.type, measure, name, kind) for ref in source.nodes}
        name = self.attribute(source.type, measure)[0]
        return {ref: present(self.graph.nodes[ref], name) for ref in source.nodes}

    def kind(self, wanted: str | None, measure: syntax.Measure) -> str:
        if not isinstance(measure, syntax.PathFunction):
            return self.attribute(wanted, measure)[1]
        kind = "BIGINT" if measure.op == "count" else self.measured_attribute(wanted, measure)[1].removesuffix("[]")
        return "DOUBLE" if measure.op == "avg" else kind

    def measured_attribute(self, wanted: str | None, measure: syntax.PathFunction) -> tuple[Made, str]:
        """The attribute of which a function of a path is, and its DuckDB type; two empty texts for nodes."""
        if measure.attribute is None:
            return "", ""
        self.reached(None, wanted, measure)
        if (of_edges := self.measured_edges(None, wanted, measure)) is not None:
            name, kind, _ = of_edges
        else:
            name, kind = self.attribute(self.set(measure.elements[-1]).type, measure.attribute)  # type: ignore[arg-type]
        if measure.op in ("sum", "avg") and kind not in ("BIGINT", "DOUBLE"):
            raise RefusedError(f"{kind} is no number")
        return name, kind.removesuffix("[]")

    def measured_edges(
        self, ref: Ref | None, wanted: str | None, measure: syntax.PathFunction
    ) -> tuple[Made, str, list[Any]] | None:
        """The attribute of the edges of the last step and their values, if the nodes at its end have no such one."""
        *_, (here, edges, ways, there) = self.followed(ref, wanted, measure)
        try:
            self.attribute(there.type, dates_of(measure.attribute)[0])
            return None
        except RefusedError:
            pass
        if len({*dates_of(measure.attribute)}) > 1 and self.has(there.type, dates_of(measure.attribute)[1]):
            return None
        relation = self.name_of(edges[0].relation, self.graph.relations)
        known = self.graph.edge_kinds.get(relation, {})
        if len({*edges}) > 1 or edges[0].closure or not {*dates_of(measure.attribute)} <= {*known}:
            return None
        if any(has_periods(condition, known) for condition in edges[0].conditions):
            raise RefusedError("edges of several periods")
        found = [
            item
            for near, far, row in self.followed_edges(edges[0], ways[0])
            if near in here.nodes and far in there.nodes
            for item in set(made(lambda name, row=row: values(row.get(name)), measure.attribute))  # type: ignore[misc,arg-type]
        ]
        return measure.attribute, made_kind(measure.attribute, known), found  # type: ignore[return-value,arg-type]

    def along(self, ref: Ref, wanted: str | None, measure: syntax.PathFunction, name: Made, kind: str) -> list[Any]:
        """The value of a function of a path from a node; none where no node at its end has a value."""
        ends = self.reached(ref, wanted, measure)
        if not name:
            return [len(ends)]
        of_edges = self.measured_edges(ref, wanted, measure)
        items = [item for end in ends for item in set(present(self.graph.nodes[end], name))]
        items = items if of_edges is None else of_edges[2]
        if measure.op == "count":
            return [len(set(items))]
        return [self.result(measure.op, items, kind)] if items else []

    def result(self, op: str, items: list[Any], kind: str) -> Any:
        """The sum, average, least or greatest of values."""
        if op in ("min", "max"):
            return (min if op == "min" else max)(items, default=None)
        if op == "sum":
            return math.fsum(items) if kind == "DOUBLE" else sum(items)
        return math.fsum(items) / len(items) if items else None

    def compared(self, source: Typed, test: syntax.Comparison) -> Typed:
        """The nodes of which some value compares with a constant, a value of theirs or one of the other expression."""
        each, other = self.measured(source, test.measure), test.value
        kinds = {self.kind(source.type, test.measure).removesuffix("[]")}
        if isinstance(other, syntax.OtherAttribute):
            kinds.add(self.kind(source.type, other.name).removesuffix("[]"))
            theirs = self.measured(source, other.name)
            days = isinstance(test.measure, str) and kinds_by_day(*kinds)
            if days:
                kinds = {"DATE"}
                each, theirs = (
                    {ref: [by_day(item, days) for item in items] for ref, items in side.items()}
                    for side in (each, theirs)
                )
        elif isinstance(other, (syntax.DateFunction, syntax.PathFunction)):
            kinds.add(self.kind(source.type, other).removesuffix("[]"))
            theirs = self.measured(source, other)
        elif isinstance(other, syntax.Aggregate):
            found = self.of_rows(other, self.set(other.source))  # whose rows are nodes
            theirs = dict.fromkeys(each, found if other.op == "values" else [] if found is None else [found])
            kinds.add("BIGINT" if other.op in ("count", "avg") else self.column_kind(other))
        else:
            return self.compared_with_constant(source, test, each, *kinds)
        check_comparable(*kinds)
        passing = (r for r, items in each.items() if any(compares(i, test.op, [v]) for i in items for v in theirs[r]))
        return Typed(source.type, frozenset(passing))

    def column_kind(self, total: syntax.Aggregate) -> str:
        """The DuckDB type of the values of which a value is."""
        return self.kind(self.set(total.source).type, total.columns[0].measure).removesuffix("[]")

    def compared_with_constant(
        self, source: Typed, test: syntax.Comparison, each: Mapping[Ref, list[Any]], kind: str
    ) -> Typed:
        """The nodes whose value of a path compares with a constant, or with a year, month or day."""
        given: Any = test.value
        span = starts_of(given, kind) if kind in ("DATE", "TIMESTAMP") else None
        if span:
            condition = syntax.Condition("", test.op, (given,))
            ends = [(cast(span[0], kind), cast(span[1], kind))]
            passing = [r for r, items in each.items() if any(during(item, condition, ends) for item in items)]
        else:
            value = cast(self.filled(given), kind)
            if (
                is_month(test.measure)
                and not isinstance(given, syntax.Slot)
                and not re.fullmatch(r"\d{4}-(0[1-9]|1[012])", str(value))
            ):
                raise RefusedError(f"{value} is no month")
            passing = [r for r, items in each.items() if any(compares(item, test.op, [value]) for item in items)]
        return Typed(source.type, frozenset(passing))

    def count(self, start: Ref | None, wanted: str | None, count: syntax.PathFunction) -> int:
        """How many nodes the path of a count reaches from a node."""
        return len(self.reached(start, wanted, count))

    def followed(
        self, start: Ref | None, wanted: str | None, count: syntax.PathFunction
    ) -> Iterator[tuple[Typed, tuple[syntax.Edge, ...], list[str], Typed]]:
        """For each step of a path from a node: the nodes before it, its edges with their ways, the nodes at its end."""
        elements: list[Any] = [syntax.Nodes(wanted), *count.elements]
        for i in range(1, len(elements) - 1):
            if self.is_bare_relation(elements, i):
                elements[i] = syntax.Step((syntax.Edge(elements[i].type),))
        here = Typed(wanted, frozenset() if start is None else frozenset({start}))
        step = None
        for element in elements[1:]:
            if isinstance(element, syntax.Step):
                step = element
                continue
            there = self.set(element)
            ends = (here.type, there.type) if count.arrows[0] == "->" else (there.type, here.type)
            edges = self.edges_of(step, *ends)
            ways = [self.way(edge, *ends) for edge in edges]
            if count.arrows[0] == "<-":
                ways = ["backward" if way == "forward" else "forward" for way in ways]
            yield here, edges, ways, there
            reached = {n for edge, way in zip(edges, ways, strict=True) for n in self.reach(here.nodes, edge, way)}
            here, step = Typed(there.type, there.nodes & reached), None

    def reached(self, start: Ref | None, wanted: str | None, count: syntax.PathFunction) -> frozenset[Ref]:
        """The nodes that a path reaches from a node."""
        *_, (here, edges, ways, there) = self.followed(start, wanted, count)
        reached = {n for edge, way in zip(edges, ways, strict=True) for n in self.reach(here.nodes, edge, way)}
        return there.nodes & reached

    def value(self, tree: syntax.Aggregate) -> Any:
        """The value of a function of a whole set."""
        from tests.answers.oracle_edges import with_edges

        oracle, rows = with_edges(self, tree, self.set(tree.source))
        return oracle.of_rows(tree, rows)

    def of_rows(self, tree: syntax.Aggregate, source: Typed) -> Any:
        """The value of rows: nodes, or copies of them."""
        part = None if tree.part is None else self.set(tree.part)
        if part is not None and None not in (part.type, source.type) and part.type != source.type:
            raise RefusedError("two types")
        columns = [self.measured(source, column.measure) for column in tree.columns]
        kinds = [self.kind(source.type, column.measure) for column in tree.columns]
        for op, kind in zip(tree.ops, kinds * (len(tree.ops) if len(kinds) == 1 else 1), strict=False):
            if op in ("sum", "avg") and kind not in ("BIGINT", "DOUBLE"):
                raise RefusedError(f"{kind} is no number")
        if tree.groups:
            return self.grouped(tree, source)
        if tree.op == "values" and (tree.order or len({str(column) for column in tree.columns}) > 1):
            return self.rows(tree, source)
        if len(tree.ops) > 1:
            return [tuple(self.several(tree, source.nodes, columns, kinds))]
        return self.aggregate(tree, source.nodes, columns[0] if columns else {}, kinds[0] if kinds else "")

    def several(
        self, tree: syntax.Aggregate, nodes: Iterable[Ref], columns: list[Mapping[Ref, list[Any]]], kinds: list[str]
    ) -> list[Any]:
        """The value of each function, of the only column or of its own."""
        refs, last = list(nodes), len(columns) - 1
        return [
            self.aggregate(replace(tree, op=op), refs, columns[min(n, last)], kinds[min(n, last)])
            for n, op in enumerate(tree.ops)
        ]

    def aggregate(
        self, tree: syntax.Aggregate, nodes: Iterable[Ref], values: Mapping[Ref, list[Any]], kind: str
    ) -> Any:
        """The value of some nodes, each with its values."""
        refs = list(nodes)
        if tree.op == "exists":
            return bool(refs)
        if tree.part is not None:
            share = len(self.set(tree.part).nodes & set(refs)) / len(refs) if refs else None
            return share * 100 if share is not None and tree.op == "percentage" else share
        if not tree.columns:
            return len(refs)
        items = [item for ref in refs for item in values[ref]]
        if tree.op in ("values", "count"):
            return sorted(set(items)) if tree.op == "values" else len(set(items))
        return self.result(tree.op, items, kind)

    def rows(self, tree: syntax.Aggregate, source: Typed) -> list[tuple[Any, ...]]:
        """A row for each node: its reference and its values; sorted by the keys, then as the nodes are."""
        names = list(dict.fromkeys(column.measure for column in tree.columns))
        cells = [(self.measured(source, name), self.kind(source.type, name).endswith("[]")) for name in names]
        found = []
        for ref in sorted(source.nodes, key=self.position):
            row = [f"{ref[0]}#{ref[1]}"]
            for values, is_list in cells:
                row.append((sorted(set(values[ref])) or None) if is_list else next(iter(values[ref]), None))
            found.append((ref, tuple(row)))
        keys = []
        for order in tree.order:
            values, best = self.measured(source, order.measure), max if order.descending else min
            keys.append({ref: best(values[ref], default=None) for ref, _ in found})
        made = [(tuple(key[ref] for key in keys), row) for ref, row in found]
        return self.ordered(tree, made)

    def grouped(self, tree: syntax.Aggregate, source: Typed) -> list[tuple[Any, ...]]:
        """A row for each group: what it is grouped by, and the value of its nodes, if it is not only listed."""
        kinds = [self.kind(source.type, column.measure) for column in tree.columns]
        columns = [self.measured(source, column.measure) for column in tree.columns]
        if len({column.measure for column in tree.columns}) > 1 and any(kind.endswith("[]") for kind in kinds):
            raise RefusedError("several functions of lists")
        groups: dict[tuple[Any, ...], list[Ref]] = {}
        by = list(dict.fromkeys(tree.groups))
        measures = [group.measure if group.attribute is None else group.attribute for group in by]
        written = [self.grouping(source.type, group) for group in by]
        for ref in source.nodes:
            choices = [
                sorted(self.reached(ref, source.type, group.measure))
                if isinstance(group.measure, syntax.PathFunction) and group.attribute is None
                else sorted(self.group_values(ref, source.type, group, name))
                for group, name in zip(by, written, strict=True)
            ]
            for chosen in itertools.product(*choices):
                groups.setdefault(chosen, []).append(ref)
        names = []
        for measure, name in zip(measures, written, strict=True):
            is_path = isinstance(measure, syntax.PathFunction)
            names += ["node", "name"] if is_path else [name]
        names = [str(name).casefold() for name in [*names, *(tree.ops if tree.op != "values" else ())]]
        made = []
        for chosen in sorted(groups, key=lambda c: self.group_positions(measures, c)):
            row: list[Any] = []
            sorting: list[Any] = []
            for measure, value in zip(measures, chosen, strict=True):
                is_path = isinstance(measure, syntax.PathFunction)
                name = [self.graph.nodes[value].name] if is_path else []
                row += [f"{value[0]}#{value[1]}", *name] if is_path else [value]
                sorting += [self.position(value), *name] if is_path else [value]
            if tree.op != "values":
                results = self.several(tree, groups[chosen], columns or [{}], kinds or [""])
                sorting += results
                row += results
            tested = [(test, sorting[names.index(str(test.column).casefold())]) for test in tree.having]
            if not all(value is not None and _SIGNS[test.op](value, test.value) for test, value in tested):
                continue
            keys = []
            for order in tree.order:
                if isinstance(order.measure, syntax.PathFunction) or str(order.measure).casefold() not in names:
                    raise RefusedError("not a column")
                keys.append(sorting[names.index(str(order.measure).casefold())])
            made.append((tuple(keys), tuple(row)))
        for order in tree.order:
            if isinstance(order.measure, syntax.PathFunction) or str(order.measure).casefold() not in names:
                raise RefusedError("not a column")
        return self.ordered(tree, made)

    def grouping(self, wanted: str | None, group: syntax.Group) -> Made:
        """The name of the attribute that nodes are grouped by; empty if it is a path."""
        if not isinstance(group.measure, syntax.PathFunction):
            return self.attribute(wanted, group.measure)[0]
        self.count(None, wanted, group.measure)
        end = group.measure.elements[-1]
        return "" if group.attribute is None else self.attribute(self.set(end).type, group.attribute)[0]

    def best_per_group(
        self, source: Typed, test: syntax.Superlative, per: syntax.Group, values: Mapping[Ref, Any], best: Any
    ) -> frozenset[Ref]:
        """The nodes that fewer than so many others of a group of theirs surpass."""
        number = 1 if test.number is None else cast(self.filled(test.number), "BIGINT")
        name = self.grouping(source.type, per)
        groups: dict[Any, list[Ref]] = {}
        for ref in values:
            is_path = not name and isinstance(per.measure, syntax.PathFunction)
            found = (
                self.reached(ref, source.type, per.measure)
                if is_path
                else self.group_values(ref, source.type, per, name)
            )
            for group in found:
                groups.setdefault(group, []).append(ref)
        return frozenset(
            ref
            for members in groups.values()
            for ref in members
            if sum(values[w] != values[ref] and best(values[ref], values[w]) == values[w] for w in members) < number
        )

    def group_values(self, ref: Ref, wanted: str | None, group: syntax.Group, name: Made) -> set[Any]:
        """The values of an attribute of a node, or of the nodes that a path reaches from it."""
        is_own = not isinstance(group.measure, syntax.PathFunction)
        refs = [ref] if is_own else self.reached(ref, wanted, group.measure)
        return {value for end in refs for value in present(self.graph.nodes[end], name)}

    def group_positions(self, measures: list[Any], chosen: tuple[Any, ...]) -> list[Any]:
        pairs = zip(measures, chosen, strict=True)
        return [self.position(value) if isinstance(measure, syntax.PathFunction) else value for measure, value in pairs]

    def ordered(self, tree: syntax.Aggregate, made: list[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> list[Any]:
        """Rows with their keys, sorted by them, the missing ones last; a limit keeps those tied with the last."""
        for number, order in reversed(list(enumerate(tree.order))):
            known = [pair for pair in made if pair[0][number] is not None]
            known.sort(key=lambda pair, number=number: pair[0][number], reverse=order.descending)  # type: ignore[misc]
            made = known + [pair for pair in made if pair[0][number] is None]
        if tree.limit is not None and len(made) > tree.limit:
            last = made[tree.limit - 1][0]
            made = [pair for i, pair in enumerate(made) if i < tree.limit or pair[0] == last]
        return [row for _, row in made]

    def position(self, ref: Ref) -> Any:
        """Where a node is among all: its id, if known, else its name."""
        return self.graph.order.get(ref, ref)

    def has(self, wanted: str | None, written: str) -> bool:
        """Whether a type has an attribute."""
        try:
            self.attribute(wanted, written)
        except RefusedError:
            return False
        return True

    def attribute(self, wanted: str | None, written: Made) -> tuple[Any, str]:
        """The name, or function of names, and DuckDB type of an attribute of a type."""
        if isinstance(written, syntax.DateFunction):
            both = [self.attribute(wanted, name) for name in written.dates]
            function = replace(written, dates=tuple(name for name, _ in both))
            return function, made_kind(function, dict(both))
        known = {"name": "VARCHAR", "key": "VARCHAR"}
        if wanted is not None:
            members = [n for n in self.graph.nodes.values() if n.has(wanted)]
            known |= {
                a: k for a, k in self.graph.kinds.items() if any(n.attributes.get(a) is not None for n in members)
            }
        name = self.name_of(written, known)
        return name, known[name]

    def test(self, wanted: str | None, condition: syntax.Condition) -> Callable[[Node], bool]:
        name, kind = self.attribute(wanted, condition.attribute)
        passes = self.passing(name, kind, condition)
        return lambda node: passes(present(node, name))

    def passing(self, name: str, whole_kind: str, condition: syntax.Condition) -> Callable[[list[Any]], bool]:
        """Whether the values of an attribute meet a condition."""
        kind = whole_kind.removesuffix("[]")
        if condition.op == "contains" and kind != "VARCHAR":
            raise RefusedError(f"{name} is no text")
        if condition.op == "missing":
            return lambda items: bool(items) == condition.negated
        is_date = kind in ("DATE", "TIMESTAMP")
        if is_date and any(starts_of(v, kind) for v in condition.values):
            if whole_kind.endswith("[]"):
                raise RefusedError("several dates")
            spans = [starts_of(v, kind) or (str(self.filled(v)), "") for v in condition.values]
            ends = [(cast(start, kind), cast(end, kind) if end else None) for start, end in spans]
            return lambda items: any(during(item, condition, ends) for item in items)
        constants = [cast(self.filled(v), kind) for v in condition.values]
        return lambda items: any(compares(item, condition.op, constants) != condition.negated for item in items)

    def filled(self, given: Any) -> Any:
        if not isinstance(given, syntax.Slot):
            return given
        if given.name not in self.slots:
            raise RefusedError(f"slot {given.name}")
        return self.slots[given.name]

    def name_of(self, name: str, known: Iterable[str]) -> str:
        """``name`` as it is, else the only one that differs in case."""
        choices = list(known)
        if name in choices:
            return name
        folded = [choice for choice in choices if choice.casefold() == name.casefold()]
        if len(folded) != 1:
            raise RefusedError(f"unknown {name}")
        return folded[0]


def dates_of(attribute: Made | None) -> tuple[str, ...]:
    """The names of an attribute or of those in a function."""
    return attribute.dates if isinstance(attribute, syntax.DateFunction) else (str(attribute),)


OPERATORS: dict[str, Callable[[float, float], float]] = {
    "times": lambda one, other: float(one) * other,
    "plus": lambda one, other: float(one) + other,
    "minus": lambda one, other: float(one) - other,
}


def made_kind(attribute: Made, known: Mapping[str, str]) -> str:
    """The DuckDB type of an attribute or a function of dates; refuses a function of what is no date."""
    kinds = [known[name] for name in dates_of(attribute)]
    if isinstance(attribute, str):
        return kinds[0]
    plain = {kind.removesuffix("[]") for kind in kinds}
    if attribute.op in OPERATORS:
        if not plain <= {"DOUBLE", "FLOAT", "INTEGER", "BIGINT"} or any(kind.endswith("[]") for kind in kinds):
            raise RefusedError("no numbers")
        return "DOUBLE"
    if not plain <= {"DATE", "TIMESTAMP"} or (len(kinds) > 1 and any(kind.endswith("[]") for kind in kinds)):
        raise RefusedError("no dates")
    return f"{'VARCHAR' if attribute.op == 'month' else 'BIGINT'}{'[]' * kinds[0].endswith('[]')}"


def made(values_of: Callable[[str], list[Any]], attribute: Made) -> list[Any]:
    """The values of an attribute or a function of dates, from those of the attributes of a name."""
    if isinstance(attribute, str):
        return values_of(attribute)
    items = [values_of(name) for name in attribute.dates]
    if attribute.op in OPERATORS:
        return [OPERATORS[attribute.op](one, other) for one, other in itertools.product(*items)]
    if attribute.op == "days":
        days = [[dt.date(item.year, item.month, item.day) for item in each] for each in items]
        return [(end - start).days for start, end in itertools.product(*days)]
    return [item.year if attribute.op == "year" else f"{item.year:04}-{item.month:02}" for item in items[0]]


def present(node: Node, attribute: Made) -> list[Any]:
    """The values of an attribute: none where it is missing, several for a list."""
    if isinstance(attribute, syntax.DateFunction):
        return made(lambda name: present(node, name), attribute)
    own = {"name": node.name, "key": node.key}
    return values(
        own.get(attribute, node.attributes.get(attribute)) if attribute in own else node.attributes.get(attribute)
    )


def values(value: Any) -> list[Any]:
    """The values in a cell: none where it is missing, several for a list."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [item for item in items if item is not None and not (isinstance(item, float) and math.isnan(item))]


def is_month(measure: syntax.Measure) -> bool:
    """Whether a measure is a month, or the least or greatest of several."""
    if isinstance(measure, syntax.PathFunction):
        return measure.op != "count" and measure.attribute is not None and is_month(measure.attribute)
    return isinstance(measure, syntax.DateFunction) and measure.op == "month"


def check_comparable(*kinds: str) -> None:
    """Refuse to compare values of different kinds."""
    if len({*kinds}) > 1 and not {*kinds} <= {"BIGINT", "DOUBLE"}:
        raise RefusedError("not comparable")


def kinds_by_day(*kinds: str) -> bool:
    """Whether a date compares with a time."""
    return {*kinds} == {"DATE", "TIMESTAMP"}


def by_day(item: Any, days: bool) -> Any:
    """The day of a time."""
    return item.date() if days and isinstance(item, dt.datetime) else item


def compares(item: Any, op: str, values: list[Any]) -> bool:
    if op == "contains":
        return values[0].lower() in item.lower()
    if op == "in":
        return item in values
    other = values[0]
    return {
        "=": item == other,
        "!=": item != other,
        "<": item < other,
        "<=": item <= other,
        ">": item > other,
        ">=": item >= other,
    }[op]


def starts_of(value: Any, kind: str) -> tuple[str, str] | None:
    """The first day of a year or month, and of the next one; a day and the next one, of times."""
    text = str(value)
    if kind == "TIMESTAMP" and isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return text, (cast(text, "DATE") + dt.timedelta(1)).isoformat()
    if isinstance(value, (bool, float, syntax.Slot)) or not re.fullmatch(r"\d{4}(-\d\d)?", text):
        return None
    if len(text) > 4 and not 1 <= int(text[5:]) <= 12:
        raise RefusedError(f"no month {text}")
    months = int(text[:4]) * 12 + (int(text[5:]) - 1 if len(text) > 4 else 0)
    after = months + (1 if len(text) > 4 else 12)
    return tuple(f"{n // 12:04}-{n % 12 + 1:02}-01" for n in (months, after))  # type: ignore[return-value]


def has_periods(condition: syntax.Test, known: Mapping[str, str]) -> bool:
    """Whether a date of an edge may be in any of several periods: in one of a list, or before or after one."""
    if not isinstance(condition, syntax.Condition):
        return False
    kind = known.get(condition.attribute, "")
    is_several = condition.op == "!=" or condition.negated or (condition.op == "in" and len(condition.values) > 1)
    return is_several and kind in ("DATE", "TIMESTAMP") and any(starts_of(v, kind) for v in condition.values)


def during(item: Any, condition: syntax.Condition, spans: list[tuple[Any, Any]]) -> bool:
    """Whether a date compares with periods (start, first day after it) and with dates (date, None)."""

    def inside(start: Any, end: Any) -> bool:
        return item == start if end is None else start <= item < end

    start, end = spans[0]
    if condition.op in ("<", ">="):
        return (item < start) == (condition.op == "<")
    if condition.op in ("<=", ">"):
        return (item <= start if end is None else item < end) == (condition.op == "<=")
    return any(inside(*span) for span in spans) != (condition.op == "!=" or condition.negated)


def cast(value: Any, kind: str) -> Any:
    """A constant as a value of an attribute's type; refuses what is none."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, bool) and kind not in ("BOOLEAN", "VARCHAR"):
        raise RefusedError(f"{value} is no {kind}")
    if not isinstance(value, (bool, str)) and kind == "BOOLEAN":
        raise RefusedError(f"{value} is no truth value")
    try:
        return _CASTS[kind](text)
    except (ValueError, OverflowError, KeyError) as error:
        raise RefusedError(f"{value!r} is no {kind}") from error


def _whole(text: str) -> int:
    number = float(text)
    if number != int(number):
        raise ValueError(text)
    whole = int(text) if text.lstrip("+-").isdigit() else int(number)
    if not -(2**63) <= whole < 2**63:
        raise ValueError(text)
    return whole


def _real(text: str) -> float:
    number = float(text)
    if math.isnan(number):  # counts as missing, so there is nothing to compare with
        raise ValueError(text)
    return number


def _date(text: str) -> dt.date:
    return dt.date.min if text.endswith("(BC)") else dt.date.fromisoformat(text)


_CASTS: dict[str, Callable[[str], Any]] = {
    "VARCHAR": str,
    "BIGINT": _whole,
    "DOUBLE": _real,
    "BOOLEAN": lambda text: {"true": True, "false": False}[text],
    "DATE": _date,
    "TIMESTAMP": dt.datetime.fromisoformat,
}


def from_kb(kb: Any) -> Graph:
    """The graph that an open KB's tables hold, saved sets left out."""
    others: dict[int, set[str]] = {}
    for number, name in kb.sql("SELECT id, type FROM node_types").iter_rows():
        others.setdefault(number, set()).add(name)
    attributes: dict[int, dict[str, Any]] = {}
    kinds: dict[str, str] = {}
    for node_type in kb.schema.node_types:
        kinds |= {a.name: a.type for a in node_type.attributes}
        table = '"' + node_type.table.replace('"', '""') + '"'
        columns = ", ".join('"' + a.name.replace('"', '""') + '"' for a in node_type.attributes)
        for number, *values in kb.sql(f"SELECT id{', ' if columns else ''}{columns} FROM {table}").iter_rows():
            found = {a.name: v for a, v in zip(node_type.attributes, values, strict=True) if v is not None}
            attributes.setdefault(number, {}).update(found)
    nodes: dict[int, Node] = {}
    for number, kind, key, name, aliases in kb.sql(
        "SELECT id, type::VARCHAR, key, name, aliases FROM nodes"
    ).iter_rows():
        mine = attributes.get(number, {})
        nodes[number] = Node(kind, key, name, tuple(aliases or ()), frozenset(others.get(number, ())), mine)
    rows = kb.sql("SELECT DISTINCT head, relation::VARCHAR, tail FROM edges").iter_rows()
    edges = [(nodes[head].ref, relation, nodes[tail].ref) for head, relation, tail in rows]
    order = {nodes[number].ref: number for number in nodes}
    found_rows: dict[Triple, tuple[Mapping[str, Any], ...]] = {}
    edge_kinds = {r.name: {a.name: a.type for a in r.attributes} for r in kb.schema.relations if r.attributes}
    for relation in (r for r in kb.schema.relations if r.attributes):
        table = '"' + relation.table.replace('"', '""') + '"'
        columns = ", ".join('"' + a.name.replace('"', '""') + '"' for a in relation.attributes)
        for head, tail, *cells in kb.sql(f"SELECT head, tail, {columns} FROM {table}").iter_rows():
            row = dict(zip([a.name for a in relation.attributes], cells, strict=True))
            triple = (nodes[head].ref, relation.name, nodes[tail].ref)
            found_rows[triple] = (*found_rows.get(triple, ()), row)
    return replace(graph(nodes.values(), edges, kinds, (), found_rows, edge_kinds), order=order)
