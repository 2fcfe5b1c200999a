"""Why a node is an answer: the triples of a proof, the attributes that passed, and what it was not in.

Each path of the proof is a shortest one; sides of an intersection are proved one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers.algebra import (
    All,
    Difference,
    Filter,
    Hop,
    Intersection,
    Lookup,
    Move,
    Operator,
    Plan,
    Stored,
    Union,
    operators,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.session import Session
from kbkit.answers.syntax import Edge, identifier, quoted
from kbkit.answers.walk import Walk
from kbkit.errors import KbError
from kbkit.schema import quote

if TYPE_CHECKING:
    import polars as pl

Triple = tuple[int, str, int]


@dataclass(frozen=True)
class Why:
    """A proof. ``triples`` holds head, head_name, relation, tail, tail_name in the direction they are stored;
    ``facts`` the attributes that passed a filter, ``absent`` the expressions that the node was not found in.
    """

    node: int
    name: str
    triples: pl.DataFrame
    facts: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The proof as text, a line a step."""
        rows = self.triples.select("head_name", "relation", "tail_name").iter_rows()
        steps = [f"{head} -> [{relation}] -> {tail}" for head, relation, tail in rows]
        return [*steps, *self.facts, *(f"not in {text}" for text in self.absent)]

    def __str__(self) -> str:
        return "\n".join([self.name, *("  " + line for line in self.lines())])


@dataclass(frozen=True)
class _Proof:
    """``triples`` keep the order of the path; ``facts`` are (node, statement)."""

    triples: tuple[Triple, ...] = ()
    facts: tuple[tuple[int, str], ...] = ()
    absent: tuple[tuple[int, str], ...] = ()

    def nodes(self) -> set[int]:
        """The nodes it speaks of."""
        ends = {n for head, _, tail in self.triples for n in (head, tail)}
        return ends | {n for n, _ in (*self.facts, *self.absent)}

    def __add__(self, other: _Proof) -> _Proof:
        def joined(name: str) -> tuple[object, ...]:
            return tuple(dict.fromkeys(getattr(self, name) + getattr(other, name)))

        return _Proof(joined("triples"), joined("facts"), joined("absent"))  # type: ignore[arg-type]


def explain(plan: Plan, session: Session, bound: Bindings, nodes: Sequence[int]) -> list[Why]:
    """A proof for each of ``nodes`` that it is an answer of the plan; raises :class:`KbError` for one that is none.

    They share what the plan's operators gave, and the look-up of names.
    """
    prover = _Prover(session, bound, Walk(session, bound))
    held = prover.walk.contains(plan.root, np.array(nodes, np.int32))
    for node in np.array(nodes)[~held].tolist():
        [(name, reference)] = _names(session, [node])
        raise KbError(f"{name} ({reference}) is no answer", f"of {' '.join(plan.text.split())}")
    proofs = [prover.prove(plan.root, node) for node in nodes]
    involved = {n for proof in proofs for n in proof.nodes()} | set(nodes)
    ids = sorted(involved)
    names = dict(zip(ids, (name for name, _ in _names(session, ids)), strict=True))
    return [_shown(node, proof, names) for node, proof in zip(nodes, proofs, strict=True)]


def _shown(node: int, proof: _Proof, names: Mapping[int, str]) -> Why:
    """A proof with names in the place of ids."""
    import polars as pl

    rows = [(head, names[head], relation, tail, names[tail]) for head, relation, tail in proof.triples]
    kinds = {"head": pl.Int32, "head_name": pl.String, "relation": pl.String, "tail": pl.Int32, "tail_name": pl.String}
    said = tuple(f"{names[n]}: {fact}" if n != node else fact for n, fact in proof.facts)
    absent = tuple(f"{text}" if n == node else f"{text}: {names[n]}" for n, text in proof.absent)
    return Why(node, names[node], pl.DataFrame(rows, schema=kinds, orient="row"), said, absent)


def _names(session: Session, ids: list[int]) -> list[tuple[str, str]]:
    """(name, type#key) of ids, in their order."""
    rows = session.stores.tables.rows(
        "SELECT name, type || '#' || key FROM nodes WHERE id IN (SELECT unnest($ids)) ORDER BY id", {"ids": ids}
    )
    return [(name, reference) for name, reference in rows]


@dataclass
class _Prover:
    session: Session
    bound: Bindings
    walk: Walk
    known: dict[tuple[int, int], _Proof] = field(default_factory=dict)

    def holds(self, operator: Operator, node: int) -> bool:
        return bool(self.walk.contains(operator, np.array([node], np.int32))[0])

    def prove(self, operator: Operator, node: int) -> _Proof:
        """A proof with the fewest triples that ``node``, which is in the operator's set, is in it."""
        place = (id(operator), node)
        if place not in self.known:
            self.known[place] = self._prove(operator, node)
        return self.known[place]

    def _prove(self, operator: Operator, node: int) -> _Proof:
        match operator:
            case Hop():
                return min((self.step(operator, move, node) for move in operator.moves), key=_length)[1]
            case Intersection():
                return reduce(_Proof.__add__, (self.prove(part, node) for part in operator.parts))
            case Union():
                proofs = [self.prove(part, node) for part in operator.parts if self.holds(part, node)]
                return min(proofs, key=lambda proof: len(proof.triples))
            case Difference():
                return self.prove(operator.left, node) + self.disprove(operator.right, node)
            case Filter():
                return self.prove(operator.source, node) + _Proof(facts=tuple(self.facts(operator, node)))
            case Stored():
                return _Proof(facts=((node, f"in @{operator.name}"),))
            case _:
                return _Proof()

    def step(self, hop: Hop, move: Move, node: int) -> tuple[float, _Proof]:
        """The shortest proof whose last steps are this move: breadth first backwards, one step unless it repeats."""
        best: tuple[float, _Proof] = (float("inf"), _Proof())
        back = self.session.move(move.relation, not move.forward)
        border: dict[int, tuple[Triple, ...]] = {node: ()}
        seen = set(border)
        if move.closure == "*" and self.holds(hop.source, node):
            proof = self.prove(hop.source, node)
            best = (len(proof.triples), proof)
        steps = 0
        while border and steps + 1 < best[0]:
            steps += 1
            following: dict[int, tuple[Triple, ...]] = {}
            for there, path in border.items():
                before = back.neighbors(there)
                for n in before[self.walk.contains(hop.source, before)].tolist():
                    proof = self.prove(hop.source, n)
                    if len(proof.triples) + steps < best[0]:
                        best = (len(proof.triples) + steps, proof + _Proof((_triple(move, n, there), *path)))
                    if not self.varies(hop.source):
                        break
                if move.closure:
                    for n in before.tolist():
                        if n not in seen:
                            following[n] = (_triple(move, n, there), *path)
                            seen.add(n)
            border = following
        return best

    def varies(self, operator: Operator) -> bool:
        """Whether proofs of an operator may differ in length."""
        return any(
            isinstance(op, (Union, Difference)) or (isinstance(op, Hop) and any(m.closure for m in op.moves))
            for op in operators(operator)
        )

    def facts(self, where: Filter, node: int) -> list[tuple[int, str]]:
        table = "nodes" if where.type is None else quote(self.session.schema.type(where.type).table)
        columns = ", ".join(quote(test.attribute) for test in where.tests)
        [row] = self.session.stores.tables.rows(f"SELECT {columns} FROM {table} WHERE id = $id", {"id": node})
        values = zip(where.tests, row, strict=True)
        return [
            (node, f"{t.attribute} is missing" if v is None else f"{t.attribute} = {_shown_value(v)}")
            for t, v in values
        ]

    def disprove(self, operator: Operator, node: int) -> _Proof:
        """What shows that ``node`` is not in the operator's set; it needs triples where a set within was taken away."""
        told = _Proof(absent=((node, describe(operator, self.bound)),))
        return told + self._triples_against(operator, node)

    def _triples_against(self, operator: Operator, node: int) -> _Proof:
        match operator:
            case Difference():
                if not self.holds(operator.left, node):
                    return self._triples_against(operator.left, node)
                return self.prove(operator.right, node)
            case Intersection():
                part = next(part for part in operator.parts if not self.holds(part, node))
                return self._triples_against(part, node)
            case Union():
                return reduce(_Proof.__add__, (self._triples_against(part, node) for part in operator.parts))
            case Filter() if not self.holds(operator.source, node):
                return self._triples_against(operator.source, node)
            case Hop() if any(isinstance(op, Difference) for op in operators(operator.source)):
                return self._no_source(operator, node)
            case _:
                return _Proof()

    def _no_source(self, hop: Hop, node: int) -> _Proof:
        """That no node before ``node`` is in the source, which itself takes sets away."""
        proof = _Proof()
        for move in hop.moves:
            back = self.session.move(move.relation, not move.forward)
            border, seen = [node], {node} if move.closure == "*" else set()
            while border:
                before = {n for there in border for n in back.neighbors(there).tolist()} - seen
                seen |= before
                border = sorted(before) if move.closure else []
            for n in sorted(seen):
                proof += self._triples_against(hop.source, n)
        return proof


def _triple(move: Move, before: int, after: int) -> Triple:
    return (before, move.relation, after) if move.forward else (after, move.relation, before)


def _length(found: tuple[float, _Proof]) -> float:
    return found[0]


def _shown_value(value: object) -> str:
    from kbkit.display.render import cell

    return cell(value)


def describe(operator: Operator, bound: Bindings) -> str:
    """An operator as an expression, with names in the place of parameters."""
    match operator:
        case All():
            return _type(operator.type)
        case Lookup():
            nodes = bound[operator.parameter]
            assert not isinstance(nodes, Constant)
            name = quoted(nodes[0].name)
            return f"{_type(operator.type)}:{name if len(nodes) == 1 else f'all({name})'}"
        case Stored():
            return f"@{identifier(operator.name)}"
        case Filter():
            tests = ", ".join(_described_test(test, bound) for test in operator.tests)
            return f"{_inside(operator.source, bound)}{{{tests}}}"
        case Hop():
            edges = "|".join(str(Edge(m.relation, not m.forward, m.closure)) for m in operator.moves)
            return f"{_inside(operator.source, bound)} -> [{edges}] -> {_type(operator.type)}"
        case Difference():
            return f"{_inside(operator.left, bound)} - {_inside(operator.right, bound)}"
        case _:
            sign = " & " if isinstance(operator, Intersection) else " | "
            return sign.join(_inside(part, bound) for part in operator.parts)


def _type(node_type: str | None) -> str:
    return "*" if node_type is None else identifier(node_type)


def _inside(operator: Operator, bound: Bindings) -> str:
    text = describe(operator, bound)
    return text if isinstance(operator, (All, Lookup, Stored, Filter)) else f"({text})"


def _described_test(test: object, bound: Bindings) -> str:
    from kbkit.answers.algebra import Test

    assert isinstance(test, Test)
    values = [value.text for name in test.parameters if isinstance(value := bound[name], Constant)]
    if test.op == "missing":
        return f"{'not ' if test.negated else ''}missing({identifier(test.attribute)})"
    shown = f"[{', '.join(values)}]" if test.op == "in" else values[0]
    return f"{identifier(test.attribute)} {test.op} {shown}"
