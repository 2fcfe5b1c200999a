"""Draws groundings of a template whose answers meet constraints on their number: by counting, not by trial and error.

A template with one slot is counted over the candidates in random order. Where set operations join parts of one slot
each, every part becomes a sparse Boolean matrix, a row for each value of its slot; the product of two such matrices
counts what any two rows have in common, and with the rows' sizes that gives the size of union and difference too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.algebra import (
    And,
    Hop,
    Minus,
    Operator,
    Or,
    Parameter,
    Pick,
    Plan,
    Where,
    conjunction,
    operators,
    parameters,
)
from kbkit.answers.constraints import Request
from kbkit.answers.many import share
from kbkit.answers.session import Session
from kbkit.answers.syntax import Slot
from kbkit.answers.walk_many import Answers, count_up_to, walk_many
from kbkit.errors import KbError
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import scipy.sparse as sp

Rng: TypeAlias = np.random.Generator
_MOST_PAIRS = 20_000_000
"""A part's matrix holds at most so many answers: a random choice of its rows beyond."""
_POOL = 20_000
_ENOUGH = 200
"""So many times as many pairs are looked at as are wanted, from blocks of rows in random order."""
_WORK = 5_000_000
"""Multiplications in one block of a product."""
"""Groundings drawn of an inner operation, for the outer one to build on."""


@dataclass(frozen=True)
class Drawn:
    """Groundings: ``values[i, j]`` is the node of slot ``slots[j]`` in the i-th, ``answers[i]`` counts its answers.

    Where slots are parts of a shape, ``kinds[i, j]`` is the number of the part that was chosen.
    """

    slots: tuple[str, ...]
    values: NDArray[np.int32]
    answers: NDArray[np.int64]
    kinds: NDArray[np.int32]


def draw(session: Session, plan: Plan, request: Request) -> Drawn:
    """Distinct groundings of ``plan`` with a number of answers in the range, in random order; fewer where there are
    no more. Sides of ``|`` and ``-`` have something in common, or the operation would say nothing.

    Uniform over groundings, or with ``weight="popular"`` in proportion to the degree of the nodes in the slots.
    """
    slots = [p for p in plan.parameters if isinstance(p.given, Slot)]
    if not slots:
        raise KbError("the expression has no <slot>", "there is nothing to draw")
    for slot in slots:
        if slot.value:
            raise KbError(
                f"slot <{_slot(slot)}> stands for a value, not a node", "give it one: a slot of a filter is not drawn"
            )
    names = [p.name for p in slots]
    sampler = _Sampler(session, plan, request, np.random.default_rng(request.seed))
    values, answers = sampler.one_slot(slots[0]) if len(slots) == 1 else sampler.several(names)
    return Drawn(tuple(_slot(p) for p in slots), values, answers, np.zeros_like(values))


def draw_parts(session: Session, shape: syntax.Expression, parts: Sequence[Plan], request: Request) -> Drawn:
    """Distinct groundings of a shape such as ``@A & @B``, whose letters may be any of ``parts``, each a plan of one
    slot; distinct also when sides are exchanged.
    """
    for plan in parts:
        if len(plan.slots) != 1 or any(p.value for p in plan.parameters):
            raise KbError(f"{plan.text} has {len(plan.slots)} slots", "a part has one slot, for a node")
    sampler = _Sampler(session, parts[0], request, np.random.default_rng(request.seed))
    family = _Part(sampler, "", [(plan, plan.root, _only_slot(plan)) for plan in parts])
    drawn = _of_letters(sampler, family, shape).draw(request.count, final=True)
    return Drawn(drawn.slots, drawn.values, drawn.answers, drawn.kinds)


def _only_slot(plan: Plan) -> Parameter:
    return next(p for p in plan.parameters if isinstance(p.given, Slot))


def _of_letters(sampler: _Sampler, family: _Part, shape: syntax.Expression) -> _Part | _Pair:
    if isinstance(shape, syntax.Saved):
        return replace(family, name=shape.name)
    assert isinstance(shape, syntax.Combine)
    whole, *rest = (_of_letters(sampler, family, part) for part in shape.parts)
    for part in rest:
        whole = _Pair(sampler, shape.op, whole, part, exchangeable=True)
    return whole


def _slot(parameter: Parameter) -> str:
    assert isinstance(parameter.given, Slot)
    return parameter.given.name


@dataclass
class _Sampler:
    session: Session
    plan: Plan
    request: Request
    rng: Rng

    def one_slot(self, slot: Parameter) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Count candidates in random order, until there are enough in the range."""
        candidates, degrees = candidates_of(self.session, self.plan.root, slot)
        order = candidates[np.argsort(-self.keys(degrees), kind="stable")]
        kept: list[Ids] = []
        counts: list[NDArray[np.int64]] = []
        start, size, found = 0, max(2048, self.request.count), 0
        while start < len(order) and found < self.request.count:
            part = order[start : start + size]
            number = self.count([slot.name], part[:, None])
            inside = self.in_range(number)
            kept.append(part[inside])
            counts.append(number[inside])
            start, size, found = start + size, min(2 * size, 100_000), found + int(inside.sum())
        values = np.concatenate(kept) if kept else np.empty(0, np.int32)
        answers = np.concatenate(counts) if counts else np.empty(0, np.int64)
        return values[: self.request.count, None], answers[: self.request.count]

    def several(self, names: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Draw by counting what parts have in common; then count the whole expression, which may say more."""
        shape = _Shapes(self).of(self.plan.root)
        wanted = 2 * self.request.count
        exact = not isinstance(shape, _Inner)
        while True:
            pool = shape.draw(wanted, final=exact)
            columns = [pool.slots.index(name) for name in names]
            values = pool.values[:, columns]
            answers = self.count(names, values)
            inside = np.flatnonzero(self.in_range(answers))[: self.request.count]
            if len(inside) == self.request.count or len(values) < wanted or wanted > 100 * _POOL:
                return values[inside], answers[inside]
            wanted *= 4

    def count(self, names: list[str], values: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many answers each grounding has; beyond the range, that it has more."""
        columns = {name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)}
        shared = share(self.session, self.plan)
        most = self.request.max_answers
        return count_up_to(self.plan, self.session, shared, columns, len(values), most)

    def in_range(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (counts >= self.request.min_answers) & (counts <= self.request.max_answers)

    def keys(self, popularity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Random keys: the largest are a sample without replacement, uniform or in proportion to ``popularity``
        (Efraimidis and Spirakis 2006, in logarithms).
        """
        uniform = self.rng.random(len(popularity))
        if self.request.weight == "uniform":
            return uniform
        return np.log(uniform) / np.maximum(popularity, 1e-9)


def candidates_of(session: Session, operator: Operator, slot: Parameter) -> tuple[Ids, NDArray[np.float64]]:
    """The nodes a slot may stand for that lead anywhere, and their degrees in the relations followed from them."""
    ids = session.members(slot.type)
    degrees = np.zeros(len(ids))
    hops = [op for op in operators(operator) if isinstance(op, Hop) and op.source == Pick(slot.type, slot.name)]
    for hop in dict.fromkeys(hops):
        for move in hop.moves:
            degrees += session.move(move.relation, move.forward).ranges(ids)[1]
    if not hops:
        degrees += 1
    lead = degrees > 0
    return ids[lead], degrees[lead]


# -- parts as matrices ------------------------------------------------------------------------------------------------


@dataclass
class _Sets:
    """Sets as rows of a sparse matrix: ``values[i]`` are the slots' nodes of the i-th, ``weight[i]`` its popularity,
    ``answers[i]`` its size.
    """

    slots: tuple[str, ...]
    values: NDArray[np.int32]
    kinds: NDArray[np.int32]
    weight: NDArray[np.float64]
    answers: NDArray[np.int64]
    matrix: sp.csr_array | None

    def keep(self, rows: NDArray[np.int64]) -> _Sets:
        """Some of the rows."""
        matrix = None if self.matrix is None else self.matrix[rows]
        return _Sets(self.slots, self.values[rows], self.kinds[rows], self.weight[rows], self.answers[rows], matrix)


@dataclass
class _Shapes:
    """Takes an operator apart into set operations between parts of one slot each."""

    sampler: _Sampler

    def of(self, operator: Operator) -> _Part | _Pair | _Inner:
        slots = self.slots(operator)
        if len(slots) == 1:
            return _Part(self.sampler, slots[0].name, [(self.sampler.plan, operator, slots[0])])
        match operator:
            case And() | Or():
                op = "&" if isinstance(operator, And) else "|"
                free = [part for part in operator.parts if not self.slots(part)]
                bound = [part for part in operator.parts if self.slots(part)]
                if free and op == "&":
                    bound[0] = conjunction([bound[0], *free])
                whole: _Part | _Pair | _Inner = self.of(bound[0])
                for part in bound[1:]:
                    whole = self.pair(op, whole, self.of(part))
                return _Inner(whole) if free and op == "|" else whole
            case Minus():
                if set(self.slots(operator.right)) <= set(self.slots(operator.left)):
                    return _Inner(self.of(operator.left))
                return self.pair("-", self.of(operator.left), self.of(operator.right))
            case Hop() | Where():
                return _Inner(self.of(operator.source))
        raise AssertionError(operator)

    def pair(self, op: str, left: _Part | _Pair | _Inner, right: _Part | _Pair | _Inner) -> _Pair:
        for side in (left, right):
            if isinstance(side, _Inner) and not isinstance(side.shape, (_Part, _Pair)):
                raise KbError("this expression is too intertwined to draw from", "give some of its slots a value")
        shared = set(left.slots) & set(right.slots)
        if shared:
            raise KbError(
                "slots that several parts share cannot be drawn together with others", "give some of the slots a value"
            )
        return _Pair(self.sampler, op, left, right)

    def slots(self, operator: Operator) -> list[Parameter]:
        used = parameters(operator)
        return [p for p in self.sampler.plan.parameters if p.name in used and isinstance(p.given, Slot)]


@dataclass
class _Part:
    """One slot: a set for each value of it, in each of the ``choices`` (plan, operator, its slot)."""

    sampler: _Sampler
    name: str
    choices: list[tuple[Plan, Operator, Parameter]]

    @property
    def slots(self) -> tuple[str, ...]:
        return (self.name,)

    @cached_property
    def sets(self) -> _Sets:
        """All its sets that are not empty; a random choice of them where they would take too much room."""
        import scipy.sparse as sp

        session = self.sampler.session
        found = [candidates_of(session, operator, slot) for _, operator, slot in self.choices]
        kind = np.repeat(np.arange(len(found), dtype=np.int32), [len(ids) for ids, _ in found])
        ids, degrees = (np.concatenate(columns) for columns in zip(*found, strict=True))
        order = self.sampler.rng.permutation(len(ids))
        counts, nodes, places = [], [], []
        done = total = 0
        while done < len(order) and total < _MOST_PAIRS:
            chosen = order[done : done + 1_000]
            for number in np.unique(kind[chosen]).tolist():
                mine = chosen[kind[chosen] == number]
                answers = self.answers(number, ids[mine])
                number_of = np.bincount(answers.rows, minlength=len(mine))
                counts.append(number_of[number_of > 0])
                nodes.append(answers.nodes)
                places.append(mine[number_of > 0])
                total += len(answers.nodes)
            done += len(chosen)
        used = np.concatenate([np.empty(0, np.int64), *places])
        sizes = np.concatenate([np.empty(0, np.int64), *counts])
        node = np.concatenate([np.empty(0, np.int32), *nodes])
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        matrix = sp.csr_array((np.ones(len(node), np.int32), node, offsets), shape=(len(used), session.schema.nodes))
        return _Sets(self.slots, ids[used][:, None], kind[used][:, None], degrees[used], sizes, matrix)

    def answers(self, number: int, values: Ids) -> Answers:
        session = self.sampler.session
        plan, operator, slot = self.choices[number]
        return walk_many(replace(plan, root=operator), session, share(session, plan), {slot.name: values}, len(values))

    def draw(self, wanted: int, final: bool) -> _Sets:
        """Up to ``wanted`` of its sets with ``final``, else all."""
        if not final:
            return self.sets
        rows = np.flatnonzero(self.sampler.in_range(self.sets.answers))
        order = np.argsort(-self.sampler.keys(self.sets.weight[rows]), kind="stable")
        return self.sets.keep(rows[order[:wanted]])


@dataclass
class _Pair:
    """A set operation of two sides; ``exchangeable`` when both draw from the same sets, so that order says nothing."""

    sampler: _Sampler
    op: str
    left: _Part | _Pair | _Inner
    right: _Part | _Pair | _Inner
    exchangeable: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        return (*self.left.slots, *self.right.slots)

    def draw(self, wanted: int, final: bool) -> _Sets:
        """Up to ``wanted`` pairs of sets that meet the constraints; with ``final`` also the range of answers."""
        left = self.left.draw(_POOL, final=False)
        same = self.exchangeable and isinstance(self.left, _Part)
        right = left if same else self.right.draw(_POOL, final=False)
        # Exchanged sides and repeated parts are dropped afterwards: draw enough for that.
        i, j, weight, answers = self.choose(left, right, 4 * wanted if self.exchangeable else wanted, final)
        pairs = _Sets(
            self.slots,
            np.hstack([left.values[i], right.values[j]]),
            np.hstack([left.kinds[i], right.kinds[j]]),
            weight,
            answers,
            None,
        )
        rows = self.distinct(pairs)[:wanted] if self.exchangeable else np.arange(len(i))
        if not final:
            pairs.matrix = self.combined(left, right, i, j)
        return pairs.keep(rows)

    def distinct(self, pairs: _Sets) -> NDArray[np.int64]:
        """The first rows of each grounding: no part twice, and sides of ``&`` and ``|`` in one order."""
        packed = (pairs.kinds.astype(np.int64) << 32) | pairs.values
        if self.op != "-":
            packed = np.sort(packed, axis=1)
        elif packed.shape[1] > 2:
            packed = np.hstack([np.sort(packed[:, :-1], axis=1), packed[:, -1:]])
        repeated = (np.diff(np.sort(packed, axis=1), axis=1) == 0).any(axis=1)
        _, first = np.unique(packed, axis=0, return_index=True)
        first = np.sort(first)
        kept: NDArray[np.int64] = first[~repeated[first]]
        return kept

    def choose(
        self, left: _Sets, right: _Sets, wanted: int, final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Rows of both sides in random order, their popularity and number of answers: every pair gets a random key,
        and the largest keys stay.
        """
        none = np.empty(0, np.int64)
        best: list[Any] = [np.empty(0), none, none, np.empty(0), none]
        seen = 0
        for start, common in _products(left.matrix, right.matrix):
            i, j = common.row.astype(np.int64) + start, common.col.astype(np.int64)
            number, mask = self.allowed(left.answers[i], right.answers[j], common.data.astype(np.int64), final)
            i, j = i[mask], j[mask]
            weight = left.weight[i] * right.weight[j]
            keys = self.sampler.keys(weight)
            best = [np.concatenate(parts) for parts in zip(best, (keys, i, j, weight, number[mask]), strict=True)]
            if len(best[0]) > wanted:
                top = np.sort(np.argpartition(-best[0], wanted - 1)[:wanted])
                best = [values[top] for values in best]
            seen += len(i)
            if seen > _ENOUGH * wanted:
                break  # rows are in random order: those not looked at are no different
        order = np.argsort(-best[0], kind="stable")
        return best[1][order], best[2][order], best[3][order], best[4][order]

    def allowed(
        self, left: NDArray[np.int64], right: NDArray[np.int64], common: NDArray[np.int64], final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        number = {"&": common, "|": left + right - common, "-": left - common}[self.op]
        mask = number > 0
        if final:
            mask &= self.sampler.in_range(number)
        if self.sampler.request.constraints is not None:
            mask &= self.sampler.request.constraints.allow(self.op, left, right, common)
        return number, mask

    def combined(self, left: _Sets, right: _Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> sp.csr_array:
        import scipy.sparse as sp

        assert left.matrix is not None
        assert right.matrix is not None
        a, b = left.matrix[i], right.matrix[j]
        common = a.multiply(b)
        whole = sp.csr_array({"&": common, "|": a + b, "-": a - common}[self.op])
        whole.eliminate_zeros()
        whole.data[:] = 1
        return whole


@dataclass
class _Inner:
    """Pairs of something that the whole expression restricts further; the whole is counted afterwards."""

    shape: _Part | _Pair | _Inner

    @property
    def slots(self) -> tuple[str, ...]:
        return self.shape.slots

    def draw(self, wanted: int, final: bool) -> _Sets:  # noqa: ARG002 - the whole is counted, whatever is final
        """Pairs of the inner shape, whatever the number of their answers."""
        return self.shape.draw(max(wanted, _POOL), final=False)


def _products(left: sp.csr_array | None, right: sp.csr_array | None) -> Iterator[tuple[int, sp.coo_array]]:
    """Blocks of ``left @ right.T``: what each two rows have in common; (first row, block)."""
    assert left is not None
    assert right is not None
    turned = right.T.tocsr()
    work = left.astype(np.int64) @ np.diff(turned.indptr)
    start = 0
    while start < left.shape[0]:
        stop = start + max(1, int(np.searchsorted(np.cumsum(work[start:]), _WORK)))
        yield start, (left[start:stop] @ turned).tocoo()
        start = stop
