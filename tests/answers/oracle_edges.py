"""The values of which the rows are the edges of the last step, by brute force: each edge is a copy of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kbkit.answers import syntax
from tests.answers.oracle import Made, Node, Oracle, Ref, RefusedError, Typed, dates_of, has_periods, made, values


class Copy(Node):
    """A copy of a node, which is in no set but the rows."""

    def has(self, wanted: str | None) -> bool:
        return False


@dataclass
class EdgeOracle(Oracle):
    """An oracle for which some attributes of edges are ones of nodes of the type ``row_type``."""

    row_type: str | None = None
    of_edges: dict[str, str] | None = None

    def attribute(self, wanted: str | None, written: Made) -> tuple[Any, str]:
        known = self.of_edges or {}
        plain = Oracle(self.graph, self.slots)
        if wanted != self.row_type or any(plain.has(wanted, name) for name in dates_of(written)):
            return plain.attribute(wanted, written)
        if isinstance(written, syntax.DateFunction):
            return super().attribute(wanted, written)
        name = self.name_of(written, known)
        return name, known[name]

    def grouping(self, wanted: str | None, group: syntax.Group) -> Made:
        if isinstance(group.measure, syntax.PathFunction):
            return Oracle(self.graph, self.slots).grouping(wanted, group)
        return super().grouping(wanted, group)

    def aggregate(
        self, tree: syntax.Aggregate, nodes: Iterable[Ref], values: Mapping[Ref, list[Any]], kind: str
    ) -> Any:
        refs = list(nodes)
        if tree.part is None or not refs:
            return super().aggregate(tree, refs, values, kind)
        part = self.set(tree.part).nodes
        return sum(ref[:2] in part for ref in refs) / len(refs) * (100 if tree.op == "percentage" else 1)


def last_steps(oracle: Oracle, tree: syntax.Expression) -> list[tuple[Typed, list[tuple[syntax.Edge, str]]]]:
    """The last step of each path to the answers: the nodes before it, and its edges with their ways."""
    if isinstance(tree, syntax.Filter):
        return last_steps(oracle, tree.source)
    if isinstance(tree, syntax.Combine):
        parts = {"&": tree.parts, "-": tree.parts[:1], "|": ()}[tree.op]
        return [found for part in parts for found in last_steps(oracle, part)]
    if not isinstance(tree, syntax.Path):
        return []
    found = []
    for *before, end in oracle.arms(tree):
        step = before.pop() if isinstance(before[-1], syntax.Step) else None
        if step is None or not step.negated:
            here = oracle.arm(before) if len(before) > 1 else oracle.set(before[0])
            ends = here.type, oracle.set(end).type
            found.append((here, [(edge, oracle.way(edge, *ends)) for edge in oracle.edges_of(step, *ends)]))
    return [one for number, one in enumerate(found) if one not in found[:number]]


def chosen_step(oracle: Oracle, tree: syntax.Aggregate, names: set[str]) -> tuple[Typed, str, syntax.Edge, str] | None:
    """The step whose edges have the attributes ``names``: the nodes before it, its relation, edge and way."""
    steps = []
    for here, edges in last_steps(oracle, tree.source):
        relations = [oracle.name_of(edge.relation, oracle.graph.relations) for edge, _ in edges]
        known = [{name.casefold() for name in oracle.graph.edge_kinds.get(one, {})} for one in relations]
        if names & set.union(*known):
            steps.append((here, edges, relations, names <= known[0]))
    having_all = [step for step in steps if step[-1]] if len(steps) > 1 else steps
    if not steps:
        return None
    if len(having_all) != 1 or len(having_all[0][1]) > 1 or not having_all[0][-1]:
        raise RefusedError("several steps")
    here, [(edge, way)], [relation], _ = having_all[0]
    if edge.closure or any(has_periods(test, oracle.graph.edge_kinds[relation]) for test in edge.conditions):
        raise RefusedError("several edges")
    return here, relation, edge, way


def with_edges(oracle: Oracle, tree: syntax.Aggregate, source: Typed) -> tuple[Oracle, Typed]:
    """The oracle and the rows of a value: its nodes, or if it is one of edges, a copy of a node for each edge."""
    parts = [*tree.columns, *tree.groups, *(() if tree.groups else tree.order)]
    plain = [part.measure for part in parts if not isinstance(part.measure, syntax.PathFunction)]
    asked = [m for m in plain if not any(oracle.has(source.type, name) for name in dates_of(m))]
    names = {name.casefold() for measure in asked for name in dates_of(measure)}
    step = chosen_step(oracle, tree, names) if names else None
    if step is None:
        return oracle, source
    here, relation, edge, way = step
    kinds = {name: kind for name, kind in oracle.graph.edge_kinds[relation].items() if name.casefold() in names}
    if any(kind.endswith("[]") for kind in kinds.values()):
        raise RefusedError("a list of each edge")
    written = {name: oracle.name_of(name, kinds) for measure in asked for name in dates_of(measure)}
    order, nodes, edges = dict(oracle.graph.order), dict(oracle.graph.nodes), set(oracle.graph.edges)
    parallel, rows = dict(oracle.graph.rows), list[Ref]()
    for near, far, row in oracle.followed_edges(edge, way):
        if near not in here.nodes or far not in source.nodes:
            continue
        copy: Any = (*far, len(rows))
        node, own = oracle.graph.nodes[far], {name: row.get(name) for name in kinds}
        nodes[copy] = Copy(node.type, node.key, node.name, attributes={**node.attributes, **own})
        for h, r, t in oracle.graph.edges:
            for mine in [(copy, r, t)] * (h == far) + [(h, r, copy)] * (t == far):
                edges.add(mine)
                parallel |= {mine: parallel[h, r, t]} if (h, r, t) in parallel else {}
        cells = [made(lambda name, row=row: values(row.get(written[name])), measure) for measure in asked]
        order[copy] = (oracle.position(far), *((not cell, cell) for cell in cells))  # type: ignore[assignment]
        rows.append(copy)
    whole = replace(oracle.graph, nodes=nodes, edges=frozenset(edges), order=order, rows=parallel)
    return EdgeOracle(whole, oracle.slots, source.type, kinds), Typed(source.type, frozenset(rows))
