"""Prove that nodes are answers: one search, from the last step backward, for all derivations or for a shortest one.

Each operator passes the nodes that it needs to its inputs. All derivations of a set of nodes are found at once; for a
closure they are all edges on any walk from the source to the wanted nodes. A shortest proof is found for one node at a
time: of the edges and of the parts of a union, one with the fewest triples is chosen, and every side of an intersection
has its own. Attribute values and counts are not read here: evidence notes the operators whose nodes have them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple, TypeAlias

import numpy as np

from kbkit.answers.algebra import (
    AttributeCondition,
    AttributeFilter,
    Difference,
    Extreme,
    Hop,
    Intersection,
    MeasureFilter,
    Move,
    Operator,
    Plan,
    SavedNodes,
    Union,
)
from kbkit.answers.bind import Bindings
from kbkit.answers.evaluate import SMALL, SingleEvaluator
from kbkit.answers.operator_tree import operators
from kbkit.answers.pairs import closure, ids_of, pack
from kbkit.answers.session import Session
from kbkit.errors import KbError
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask, distinct, is_in

Edges: TypeAlias = tuple[Ids, Ids]
"""Nodes before and after a step, of the same length."""


class Triples(NamedTuple):
    """Triples of one relation, as stored in the KB."""

    relation: str
    heads: Ids
    tails: Ids
    conditions: tuple[AttributeCondition, ...] = ()
    """What an edge of each triple meets."""


class Note(NamedTuple):
    """Nodes with a value that an operator requires, or, if ``absent``, nodes that are not in the operator's set."""

    operator: Operator
    nodes: Ids
    absent: bool = False


@dataclass(frozen=True)
class Evidence:
    """Triples, those of the first step first, and notes; both may be repeated."""

    triples: tuple[Triples, ...] = ()
    notes: tuple[Note, ...] = ()

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.triples + other.triples, self.notes + other.notes)

    @cached_property
    def rows(self) -> list[tuple[int, str, int]]:
        """The distinct triples (head, relation, tail), in order."""
        rows = (
            (head, relation, tail)
            for relation, heads, tails, _ in self.triples
            for head, tail in zip(heads.tolist(), tails.tolist(), strict=True)
        )
        return list(dict.fromkeys(rows))


@dataclass
class Prover:
    """Searches for derivations: all of them, or with ``shortest`` one for each node."""

    session: Session
    bound: Bindings
    shortest: bool
    evaluator: SingleEvaluator = field(init=False)
    proofs: dict[tuple[int, int], Evidence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.evaluator = SingleEvaluator(self.session, self.bound)

    def check(self, plan: Plan, nodes: Ids) -> None:
        """Raise :class:`KbError` if one of the nodes, in any order, is not an answer of the plan."""
        for node in nodes[~self.contains(plan.root, nodes)][:1].tolist():
            row = self.session.stores.nodes.rows([node])[node]
            raise KbError(f"{row.name} ({row.reference}) is not an answer of {' '.join(plan.text.split())}")

    def contains(self, operator: Operator, ids: Ids) -> Mask:
        """Return a mask of the ids, in any order, that are in the operator's set."""
        if len(ids) < 2:
            return self.evaluator.contains(operator, ids)
        members, position = np.unique(ids, return_inverse=True)
        mask: Mask = self.evaluator.contains(operator, members)[position]
        return mask

    def derive(self, operator: Operator, wanted: Ids) -> Evidence:
        """Return the evidence for ``wanted``, sorted members of the operator's set; a single one with ``shortest``."""
        if not len(wanted):
            return Evidence()
        if not self.shortest:
            return self._derive(operator, wanted)
        [node] = wanted.tolist()
        proof = self.proofs.get((id(operator), node))
        if proof is None:
            proof = self.proofs[id(operator), node] = self._derive(operator, wanted)
        return proof

    def _derive(self, operator: Operator, wanted: Ids) -> Evidence:
        match operator:
            case Hop():
                return self._shortest_hop(operator, wanted) if self.shortest else self._all_hops(operator, wanted)
            case Intersection():
                return _sum(self.derive(part, wanted) for part in operator.parts)
            case Union():
                members = [(part, wanted[self.contains(part, wanted)]) for part in operator.parts]
                proofs = [self.derive(part, mine) for part, mine in members if len(mine)]
                return min(proofs, key=_length) if self.shortest else _sum(proofs)
            case Difference():
                return self.derive(operator.left, wanted) + self._absence(operator.right, wanted)
            case AttributeFilter() | MeasureFilter() | Extreme():
                return self.derive(operator.source, wanted) + Evidence(notes=(Note(operator, wanted),))
            case SavedNodes():
                return Evidence(notes=(Note(operator, wanted),))
            case _:
                return Evidence()

    # -- all derivations ----------------------------------------------------------------------------------------------

    def _all_hops(self, hop: Hop, wanted: Ids) -> Evidence:
        steps: list[Triples] = []
        starts: list[Ids] = []
        for move in hop.moves:
            edges, sources = (self._walks if move.closure else self._edges)(hop, move, wanted)
            steps.append(_triples(move, *edges))
            starts.append(sources)
        return self.derive(hop.source, distinct(np.concatenate(starts))) + Evidence(tuple(steps))

    def _edges(self, hop: Hop, move: Move, wanted: Ids) -> tuple[Edges, Ids]:
        """Return the edges of a move from the source to the wanted nodes, and their starts.

        The edges are those of the wanted nodes, or of the source if it has fewer.
        """
        back = self.evaluator.arrays(move, back=True)
        start, count = back.ranges(wanted)
        many = int(count.sum())
        if many > SMALL and self.evaluator.cost(hop) < many:
            source = self.evaluator.members(hop.source)
            before, after = _expanded(self.evaluator.arrays(move), source)
            keep = is_in(after, wanted)
        else:
            before, after = back.expand(start, count), np.repeat(wanted, count)
            keep = self.contains(hop.source, before)
        before, after = before[keep], after[keep]
        return (before, after), distinct(before)

    def _walks(self, hop: Hop, move: Move, wanted: Ids) -> tuple[Edges, Ids]:
        """Return the edges on all walks of a repeated move from the source to the wanted nodes, and their starts."""
        back = self.evaluator.arrays(move, back=True)
        reaching = np.sort(ids_of(closure(back, pack(np.zeros(len(wanted), np.int64), wanted), zero=True)))
        after, before = _expanded(back, reaching)
        sources = distinct(before)
        sources = sources[self.evaluator.contains(hop.source, sources)]
        reached = np.zeros(self.session.schema.nodes, bool)
        reached[sources] = True
        count = 0
        while count != (count := int(reached.sum())):  # one round per step of the longest walk
            reached[after[reached[before]]] = True
        keep = reached[before]
        if move.closure == "*":
            sources = distinct(np.concatenate((sources, wanted[self.evaluator.contains(hop.source, wanted)])))
        return (before[keep], after[keep]), sources

    # -- a shortest one -----------------------------------------------------------------------------------------------

    def _shortest_hop(self, hop: Hop, wanted: Ids) -> Evidence:
        [node] = wanted.tolist()
        return min((self._shortest_walk(hop, move, node) for move in hop.moves), key=lambda walk: walk[0])[1]

    def _shortest_walk(self, hop: Hop, move: Move, node: int) -> tuple[float, Evidence]:
        """Return the length and the shortest proof that ends with a move, by a breadth-first search backward."""
        best: tuple[float, Evidence] = (float("inf"), Evidence())
        back = self.evaluator.arrays(move, back=True)
        frontier: dict[int, tuple[Triples, ...]] = {node: ()}
        seen = set(frontier)
        if move.closure == "*" and self._holds(hop.source, node):
            proof = self.derive(hop.source, _one(node))
            best = (_length(proof), proof)
        varies, steps = _varies(hop.source), 0
        while frontier and steps + 1 < best[0]:
            steps += 1
            following: dict[int, tuple[Triples, ...]] = {}
            for there, path in frontier.items():
                before = back.neighbors(there)
                for n in before[self.evaluator.contains(hop.source, before)].tolist():
                    proof = self.derive(hop.source, _one(n))
                    length = _length(proof) + steps
                    if length < best[0]:
                        best = (length, proof + Evidence((_triples(move, _one(n), _one(there)), *path)))
                    if not varies:
                        break
                if move.closure:
                    for n in before.tolist():
                        if n not in seen:
                            following[n] = (_triples(move, _one(n), _one(there)), *path)
                            seen.add(n)
            frontier = following
        return best

    # -- absence ------------------------------------------------------------------------------------------------------

    def _absence(self, operator: Operator, wanted: Ids) -> Evidence:
        """Return the evidence that nodes are not in the operator's set: a note, and in a shortest proof also the
        triples that decide it if a nested set is subtracted. All of these are found by ``exclusions``.
        """
        note = Evidence(notes=(Note(operator, wanted, absent=True),))
        return note + self._against(operator, int(wanted[0])) if self.shortest else note

    def _against(self, operator: Operator, node: int) -> Evidence:
        match operator:
            case Difference():
                if not self._holds(operator.left, node):
                    return self._against(operator.left, node)
                return self.derive(operator.right, _one(node))
            case Intersection():
                part = next(part for part in operator.parts if not self._holds(part, node))
                return self._against(part, node)
            case Union():
                return _sum(self._against(part, node) for part in operator.parts)
            case AttributeFilter() | MeasureFilter() | Extreme() if not self._holds(operator.source, node):
                return self._against(operator.source, node)
            case Hop() if any(isinstance(op, Difference) for op in operators(operator.source)):
                return _sum(self._against(operator.source, n) for n in self._before(operator, node))
            case _:
                return Evidence()

    def _before(self, hop: Hop, node: int) -> list[int]:
        """Return the nodes from which a hop could reach ``node``, of each move in turn."""
        sources: list[int] = []
        for move in hop.moves:
            back = self.evaluator.arrays(move, back=True)
            frontier, seen = [node], {node} if move.closure == "*" else set()
            while frontier:
                before = {n for there in frontier for n in back.neighbors(there).tolist()} - seen
                seen |= before
                frontier = sorted(before) if move.closure else []
            sources += sorted(seen)
        return sources

    def _holds(self, operator: Operator, node: int) -> bool:
        return bool(self.evaluator.contains(operator, _one(node))[0])


def _one(node: int) -> Ids:
    return np.array([node], np.int32)


def _sum(parts: Iterable[Evidence]) -> Evidence:
    return reduce(Evidence.__add__, parts, Evidence())


def _length(proof: Evidence) -> int:
    return len(proof.rows)


def _triples(move: Move, before: Ids, after: Ids) -> Triples:
    heads, tails = (before, after) if move.forward else (after, before)
    return Triples(move.relation, heads, tails, move.conditions)


def _varies(operator: Operator) -> bool:
    """Return whether proofs of an operator may differ in length."""
    return any(
        isinstance(op, (Union, Difference)) or (isinstance(op, Hop) and any(m.closure for m in op.moves))
        for op in operators(operator)
    )


def _expanded(csr: Csr, nodes: Ids) -> Edges:
    """Return the nodes, repeated, with each of their neighbours."""
    start, count = csr.ranges(nodes)
    return np.repeat(nodes, count), csr.expand(start, count)
