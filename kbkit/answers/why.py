"""Prove that a node is an answer: by triples, attribute values, and the sets that it is not in.

Each path in a proof is a shortest one; every side of an intersection has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers.algebra import (
    AllNodes,
    AttributeMeasure,
    Condition,
    CountFilter,
    Difference,
    Filter,
    Hop,
    Intersection,
    Lookup,
    Move,
    Operator,
    Plan,
    SavedSet,
    Superlative,
    Union,
    operators,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.evaluate import SingleEvaluator
from kbkit.answers.session import Session
from kbkit.answers.syntax import Edge, identifier, quoted
from kbkit.answers.to_sql import measure_sql
from kbkit.errors import KbError
from kbkit.schema import quote

if TYPE_CHECKING:
    import polars as pl

Triple = tuple[int, str, int]


@dataclass(frozen=True)
class Why:
    """A proof. ``triples`` has head, head_name, relation, tail, tail_name, as stored in the KB; ``facts`` are attribute
    values that met a filter; ``absent`` are the expressions of sets without the node.
    """

    node: int
    name: str
    triples: pl.DataFrame
    facts: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the proof as lines of text, one per step."""
        rows = self.triples.select("head_name", "relation", "tail_name").iter_rows()
        steps = [f"{head} -> [{relation}] -> {tail}" for head, relation, tail in rows]
        return [*steps, *self.facts, *(f"not in {text}" for text in self.absent)]

    def __str__(self) -> str:
        return "\n".join([self.name, *("  " + line for line in self.lines())])


@dataclass(frozen=True)
class _Proof:
    """A proof by ids. ``triples`` are in path order; ``facts`` and ``absent`` are (node, text)."""

    triples: tuple[Triple, ...] = ()
    facts: tuple[tuple[int, str], ...] = ()
    absent: tuple[tuple[int, str], ...] = ()

    def nodes(self) -> set[int]:
        """Return the nodes of the proof."""
        ends = {n for head, _, tail in self.triples for n in (head, tail)}
        return ends | {n for n, _ in (*self.facts, *self.absent)}

    def __add__(self, other: _Proof) -> _Proof:
        def joined(name: str) -> tuple[object, ...]:
            return tuple(dict.fromkeys(getattr(self, name) + getattr(other, name)))

        return _Proof(joined("triples"), joined("facts"), joined("absent"))  # type: ignore[arg-type]


def explain(plan: Plan, session: Session, bound: Bindings, nodes: Sequence[int]) -> list[Why]:
    """Return a proof for each of ``nodes`` that it is an answer of the plan; raise :class:`KbError` if one is not."""
    prover = _Prover(session, bound, SingleEvaluator(session, bound))
    is_answer = prover.evaluator.contains(plan.root, np.array(nodes, np.int32))
    for node in np.array(nodes)[~is_answer].tolist():
        row = session.stores.nodes.rows([node])[node]
        raise KbError(f"{row.name} ({row.reference}) is not an answer of {' '.join(plan.text.split())}")
    proofs = [prover.prove(plan.root, node) for node in nodes]
    involved = {n for proof in proofs for n in proof.nodes()} | set(nodes)
    names = {node: row.name for node, row in session.stores.nodes.rows(sorted(involved)).items()}
    return [_with_names(node, proof, names) for node, proof in zip(nodes, proofs, strict=True)]


def _with_names(node: int, proof: _Proof, names: Mapping[int, str]) -> Why:
    """Return a proof with the names of its nodes."""
    import polars as pl

    rows = [(head, names[head], relation, tail, names[tail]) for head, relation, tail in proof.triples]
    schema = {"head": pl.Int32, "head_name": pl.String, "relation": pl.String, "tail": pl.Int32, "tail_name": pl.String}
    facts = tuple(f"{names[n]}: {fact}" if n != node else fact for n, fact in proof.facts)
    absent = tuple(f"{text}" if n == node else f"{text}: {names[n]}" for n, text in proof.absent)
    return Why(node, names[node], pl.DataFrame(rows, schema=schema, orient="row"), facts, absent)


@dataclass
class _Prover:
    session: Session
    bound: Bindings
    evaluator: SingleEvaluator
    proofs: dict[tuple[int, int], _Proof] = field(default_factory=dict)
    superlatives: dict[int, str] = field(default_factory=dict)

    def holds(self, operator: Operator, node: int) -> bool:
        return bool(self.evaluator.contains(operator, np.array([node], np.int32))[0])

    def prove(self, operator: Operator, node: int) -> _Proof:
        """Return the shortest proof, in triples, that ``node``, a member of the operator's set, belongs to it."""
        key = (id(operator), node)
        if key not in self.proofs:
            self.proofs[key] = self._prove(operator, node)
        return self.proofs[key]

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
            case CountFilter():
                [number] = self.evaluator.count(operator.count, np.array([node], np.int32)).tolist()
                return self.prove(operator.source, node) + _Proof(facts=((node, f"{operator.count.text} = {number}"),))
            case Superlative():
                return self.prove(operator.source, node) + _Proof(facts=((node, self.superlative(operator)),))
            case SavedSet():
                return _Proof(facts=((node, f"in @{operator.name}"),))
            case _:
                return _Proof()

    def step(self, hop: Hop, move: Move, node: int) -> tuple[float, _Proof]:
        """Return the length and the shortest proof that ends with a move, by a breadth-first search backward."""
        best: tuple[float, _Proof] = (float("inf"), _Proof())
        back = self.session.move(move.relation, not move.forward)
        frontier: dict[int, tuple[Triple, ...]] = {node: ()}
        seen = set(frontier)
        if move.closure == "*" and self.holds(hop.source, node):
            proof = self.prove(hop.source, node)
            best = (len(proof.triples), proof)
        steps = 0
        while frontier and steps + 1 < best[0]:
            steps += 1
            following: dict[int, tuple[Triple, ...]] = {}
            for there, path in frontier.items():
                before = back.neighbors(there)
                for n in before[self.evaluator.contains(hop.source, before)].tolist():
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
            frontier = following
        return best

    def varies(self, operator: Operator) -> bool:
        """Return whether proofs of an operator may differ in length."""
        return any(
            isinstance(op, (Union, Difference)) or (isinstance(op, Hop) and any(m.closure for m in op.moves))
            for op in operators(operator)
        )

    def facts(self, operator: Filter, node: int) -> list[tuple[int, str]]:
        table = self.session.table(operator.type)
        columns = ", ".join(quote(test.attribute) for test in operator.conditions)
        [row] = self.session.stores.tables.rows(f"SELECT {columns} FROM {table} WHERE id = $id", {"id": node})
        values = zip(operator.conditions, row, strict=True)
        return [(node, f"{t.attribute} is missing" if v is None else f"{t.attribute} = {_cell(v)}") for t, v in values]

    def superlative(self, operator: Superlative) -> str:
        """Return the greatest or least value with the number of nodes that have one; computed once."""
        if id(operator) not in self.superlatives:
            self.superlatives[id(operator)] = self._superlative(operator)
        return self.superlatives[id(operator)]

    def _superlative(self, operator: Superlative) -> str:
        import polars as pl

        members = self.evaluator.members(operator.source)
        which, measure = ("greatest" if operator.greatest else "least"), operator.measure
        if isinstance(measure, AttributeMeasure):
            op = "max" if operator.greatest else "min"
            value, known = measure_sql(measure, op)
            among = f"FROM {self.session.table(operator.type)} WHERE id IN (SELECT member FROM kbkit_batch) AND {known}"
            sql = f"SELECT {op}({value}) AS value, count(*) AS nodes {among}"
            frames = {"kbkit_batch": pl.DataFrame({"member": members})}
            [(best, nodes)] = self.session.stores.tables.lookup(sql, frames=frames).rows()
            text = f"{measure.name} = {_cell(best)}"
        else:
            counts, nodes = self.evaluator.count(measure, members), len(members)
            text = f"{measure.text} = {counts.max() if operator.greatest else counts.min()}"
        return f"{text}, the {which} of {nodes:,} node{'s' if nodes != 1 else ''}"

    def disprove(self, operator: Operator, node: int) -> _Proof:
        """Return a proof that ``node`` is not in the operator's set; it has triples if a nested set is subtracted."""
        proof = _Proof(absent=((node, describe(operator, self.bound)),))
        return proof + self._triples_against(operator, node)

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
            case Filter() | CountFilter() | Superlative() if not self.holds(operator.source, node):
                return self._triples_against(operator.source, node)
            case Hop() if any(isinstance(op, Difference) for op in operators(operator.source)):
                return self._no_source(operator, node)
            case _:
                return _Proof()

    def _no_source(self, hop: Hop, node: int) -> _Proof:
        """Return a proof that no predecessor of ``node`` is in the source, which contains a difference."""
        proof = _Proof()
        for move in hop.moves:
            back = self.session.move(move.relation, not move.forward)
            frontier, seen = [node], {node} if move.closure == "*" else set()
            while frontier:
                before = {n for there in frontier for n in back.neighbors(there).tolist()} - seen
                seen |= before
                frontier = sorted(before) if move.closure else []
            for n in sorted(seen):
                proof += self._triples_against(hop.source, n)
        return proof


def _triple(move: Move, before: int, after: int) -> Triple:
    return (before, move.relation, after) if move.forward else (after, move.relation, before)


def _length(found: tuple[float, _Proof]) -> float:
    return found[0]


def _cell(value: object) -> str:
    from kbkit.display.render import cell

    return cell(value)


def describe(operator: Operator, bound: Bindings) -> str:
    """Return an operator as an expression, with names in place of parameters."""
    match operator:
        case AllNodes():
            return _type(operator.type)
        case Lookup():
            nodes = bound[operator.parameter]
            assert not isinstance(nodes, Constant)
            name = quoted(nodes[0].name)
            return f"{_type(operator.type)}:{name if len(nodes) == 1 else f'all({name})'}"
        case SavedSet():
            return f"@{identifier(operator.name)}"
        case Filter():
            conditions = ", ".join(_describe_condition(test, bound) for test in operator.conditions)
            return f"{_nested(operator.source, bound)}{{{conditions}}}"
        case CountFilter():
            number = bound[operator.parameter]
            assert isinstance(number, Constant)
            return f"{_nested(operator.source, bound)}{{{operator.count.text} {operator.op} {number.text}}}"
        case Superlative():
            measure = operator.measure
            text = identifier(measure.name) if isinstance(measure, AttributeMeasure) else measure.text
            return f"{_nested(operator.source, bound)}{{{'max' if operator.greatest else 'min'} {text}}}"
        case Hop():
            edges = "|".join(str(Edge(m.relation, not m.forward, m.closure)) for m in operator.moves)
            return f"{_nested(operator.source, bound)} -> [{edges}] -> {_type(operator.type)}"
        case Difference():
            return f"{_nested(operator.left, bound)} - {_nested(operator.right, bound)}"
        case Intersection() | Union():
            sign = " & " if isinstance(operator, Intersection) else " | "
            return sign.join(_nested(part, bound) for part in operator.parts)


def _type(node_type: str | None) -> str:
    return "*" if node_type is None else identifier(node_type)


def _nested(operator: Operator, bound: Bindings) -> str:
    text = describe(operator, bound)
    return text if isinstance(operator, (AllNodes, Lookup, SavedSet, Filter, CountFilter, Superlative)) else f"({text})"


def _describe_condition(test: Condition, bound: Bindings) -> str:
    values = [value.text for name in test.parameters if isinstance(value := bound[name], Constant)]
    if test.op == "missing":
        return f"{'not ' if test.negated else ''}missing({identifier(test.attribute)})"
    text = f"[{', '.join(values)}]" if test.op == "in" else values[0]
    return f"{identifier(test.attribute)} {test.op} {text}"
