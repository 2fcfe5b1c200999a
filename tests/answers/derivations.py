"""All derivations of nodes by brute force, straight from the syntax tree and the oracle's graph."""

from __future__ import annotations

from typing import Any

from kbkit.answers import syntax
from tests.answers import oracle
from tests.answers.oracle import Ref, Triple


class Deriver:
    """Collects the triples of all derivations of nodes of an expression."""

    def __init__(self, graph: oracle.Graph, slots: dict[str, Any]) -> None:
        self.graph, self.oracle = graph, oracle.Oracle(graph, slots)
        self.found: set[Triple] = set()

    def derive(self, tree: syntax.Expression, wanted: frozenset[Ref]) -> None:
        """Add the triples of all derivations of ``wanted``, members of the expression's set."""
        if isinstance(tree, syntax.Filter):
            self.derive(tree.source, wanted)
        elif isinstance(tree, syntax.Combine) and tree.op == "-":
            self.derive(tree.parts[0], wanted)
        elif isinstance(tree, syntax.Combine):
            for part in tree.parts:
                self.derive(part, wanted & self.oracle.set(part).nodes)
        elif isinstance(tree, syntax.Path):
            for arm in self.oracle.arms(tree):
                self.arm(arm, wanted)

    def arm(self, elements: list[Any], wanted: frozenset[Ref]) -> None:
        """Follow an arm backward from the wanted nodes at its end."""
        *before, last = elements
        self.derive(last, wanted)
        if not before:
            return
        step = before.pop() if isinstance(before[-1], syntax.Step) else None
        source = self.oracle.arm(before) if len(before) > 1 else self.oracle.set(before[0])
        starts: set[Ref] = set()
        if step is None or not step.negated:
            target = self.oracle.set(last).type
            for edge in self.oracle.edges_of(step, source.type, target):
                way = self.oracle.way(edge, source.type, target)
                starts |= self.step(edge, way, source.nodes, wanted)
        self.arm(before, frozenset(starts))

    def step(self, edge: syntax.Edge, way: str, source: frozenset[Ref], wanted: frozenset[Ref]) -> set[Ref]:
        """Add the triples of one relation; return the nodes of the source that they start from."""
        relation = self.oracle.name_of(edge.relation, self.graph.relations)
        pairs = self.oracle.pairs(edge, way)
        ends = {(a, relation, b) if way == "forward" else (b, relation, a): (a, b) for a, b in pairs}
        reach, reaching = set(source), set(wanted)
        while edge.closure:
            more = {b for a, b in ends.values() if a in reach} - reach
            back = {a for a, b in ends.values() if b in reaching} - reaching
            if not more and not back:
                break
            reach |= more
            reaching |= back
        kept = {t for t, (a, b) in ends.items() if a in reach and b in reaching}
        self.found |= kept
        starts = {ends[t][0] for t in kept} & source
        return starts | (source & wanted) if edge.closure == "*" else starts


def derivations(
    graph: oracle.Graph, tree: syntax.Expression, slots: dict[str, Any], wanted: frozenset[Ref]
) -> set[Triple]:
    """The triples of all derivations of ``wanted``."""
    deriver = Deriver(graph, slots)
    deriver.derive(tree, wanted)
    return deriver.found
