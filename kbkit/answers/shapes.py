"""Sets of answers as rows of sparse Boolean matrices, and what set operations make of random pairs of them.

The product of two such matrices counts what any two rows have in common; with the rows' sizes that gives the size of
their intersection, union and difference, so that no pair has to be tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import And, Hop, Minus, Operator, Or, Parameter, Pick, Plan, Where, operators, parameters
from kbkit.answers.constraints import Request
from kbkit.answers.many import share
from kbkit.answers.session import Session
from kbkit.answers.syntax import Slot
from kbkit.answers.walk_many import Answers, walk_many
from kbkit.errors import KbError
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import scipy.sparse as sp

_MOST_PAIRS = 20_000_000
"""A part's matrix holds at most so many answers: a random choice of its rows beyond."""
_POOL = 20_000
"""Groundings drawn of an inner operation, for the outer one to build on."""
_ENOUGH = 200
"""So many times as many pairs are looked at as are wanted, from blocks of rows in random order."""
_WORK = 5_000_000
"""Multiplications in one block of a product."""


@dataclass
class Chance:
    """One draw: from which KB and plan, what was asked for, and the random numbers."""

    session: Session
    plan: Plan
    request: Request
    rng: np.random.Generator

    def in_range(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """A mask of the counts that were asked for."""
        return (counts >= self.request.min_answers) & (counts <= self.request.max_answers)

    def keys(self, popularity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Random keys: the largest are a sample without replacement, uniform or in proportion to ``popularity``
        (Efraimidis and Spirakis 2006, in logarithms).
        """
        uniform = self.rng.random(len(popularity))
        return self.weighted(uniform, popularity)

    def weighted(self, uniform: NDArray[np.float64], popularity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Keys in proportion to ``popularity``, if that is asked for, from uniform ones."""
        if self.request.weight == "uniform":
            return uniform
        return np.log(np.maximum(uniform, 1e-300)) / np.maximum(popularity, 1e-9)

    def settled(self, identity: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Uniform keys that depend on the seed and on what is drawn: the same grounding, found twice, has one key."""
        return _mixed(identity ^ np.uint64(self.request.seed * 0x9E3779B97F4A7C15 & (1 << 64) - 1)) / 2.0**64


def candidates_of(session: Session, operator: Operator, slot: Parameter) -> tuple[Ids, NDArray[np.float64]]:
    """The nodes a slot may stand for, and their degrees in the relations followed from them."""
    ids = session.members(slot.type)
    degrees = np.zeros(len(ids))
    hops = [op for op in operators(operator) if isinstance(op, Hop) and op.source == Pick(slot.type, slot.name)]
    for hop in dict.fromkeys(hops):
        for move in hop.moves:
            degrees += session.move(move.relation, move.forward).ranges(ids)[1]
    if not hops:
        degrees += 1
    return ids, degrees


@dataclass
class Sets:
    """Sets as rows of a sparse matrix: ``values[i]`` are the slots' nodes of the i-th, ``kinds[i]`` the numbers of the
    parts they came from, ``weight[i]`` its popularity, ``answers[i]`` its size, ``identity[i]`` tells groundings apart
    that mean the same. ``truncated`` when there are more.
    """

    slots: tuple[str, ...]
    values: NDArray[np.int32]
    kinds: NDArray[np.int32]
    weight: NDArray[np.float64]
    answers: NDArray[np.int64]
    identity: NDArray[np.uint64]
    matrix: sp.csr_array | None
    truncated: bool = False

    def keep(self, rows: NDArray[np.int64], *, truncated: bool = False) -> Sets:
        """Some of the rows."""
        return Sets(
            self.slots,
            self.values[rows],
            self.kinds[rows],
            self.weight[rows],
            self.answers[rows],
            self.identity[rows],
            None if self.matrix is None else self.matrix[rows],
            truncated,
        )


@dataclass
class Shapes:
    """Takes an operator apart into set operations between parts of one slot each."""

    chance: Chance

    def of(self, operator: Operator) -> Shape:
        """The shape of an operator with slots."""
        slots = self.slots(operator)
        if len(slots) == 1:
            return Part(self.chance, slots[0].name, [(self.chance.plan, operator, slots[0])])
        match operator:
            case And() | Or():
                return self.joined(operator, "&" if isinstance(operator, And) else "|")
            case Minus():
                return self.without(operator)
            case Hop() | Where():
                return Inner(self.chance, operator, self.of(operator.source))
        raise AssertionError(operator)

    def joined(self, operator: And | Or, op: str) -> Shape:
        """Pairs of the parts with slots, one after the other."""
        free = [part for part in operator.parts if not self.slots(part)]
        bound = [part for part in operator.parts if self.slots(part)]
        whole = self.of(bound[0])
        for part in bound[1:]:
            whole = self.pair(op, whole, self.of(part))
        return Inner(self.chance, operator, whole) if free else whole

    def without(self, operator: Minus) -> Shape:
        """Pairs of the left side and each set taken from it that has slots of its own."""
        left = {p.name for p in self.slots(operator.left)}
        if not left:
            return Inner(self.chance, operator, self.of(operator.right))
        taken = operator.right.parts if isinstance(operator.right, Or) else (operator.right,)
        paired = [part for part in taken if not {p.name for p in self.slots(part)} <= left]
        whole = self.of(operator.left)
        for part in paired:
            whole = self.pair("-", whole, self.of(part))
        return whole if len(paired) == len(taken) else Inner(self.chance, operator, whole)

    def pair(self, op: str, left: Shape, right: Shape) -> Pair:
        """Two sides that share no slot."""
        if set(left.slots) & set(right.slots):
            raise KbError(
                "slots that several parts share cannot be drawn together with others", "give some of the slots a value"
            )
        return Pair(self.chance, op, left, right)

    def slots(self, operator: Operator) -> list[Parameter]:
        """The slots that an operator uses."""
        used = parameters(operator)
        return [p for p in self.chance.plan.parameters if p.name in used and isinstance(p.given, Slot)]


@dataclass
class Part:
    """One slot: a set for each value of it, in each of the ``choices`` (plan, operator, its slot)."""

    chance: Chance
    name: str
    choices: list[tuple[Plan, Operator, Parameter]]

    @property
    def slots(self) -> tuple[str, ...]:
        """Its one slot."""
        return (self.name,)

    @cached_property
    def sets(self) -> Sets:
        """All its sets that are not empty; a random choice of them where they would take too much room."""
        session = self.chance.session
        found = [candidates_of(session, operator, slot) for _, operator, slot in self.choices]
        kind = np.repeat(np.arange(len(found), dtype=np.int32), [len(ids) for ids, _ in found])
        ids, degrees = (np.concatenate(columns) for columns in zip(*found, strict=True))
        order = self.chance.rng.permutation(len(ids))
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
        packed = (kind[used].astype(np.uint64) << np.uint64(32)) | ids[used].astype(np.uint64)
        return Sets(
            self.slots,
            ids[used][:, None],
            kind[used][:, None],
            degrees[used],
            sizes,
            _mixed(packed),
            _matrix(sizes, node, session.schema.nodes),
            done < len(order),
        )

    def answers(self, number: int, values: Ids) -> Answers:
        """The sets of some values, in one of the choices."""
        session = self.chance.session
        plan, operator, slot = self.choices[number]
        return walk_many(replace(plan, root=operator), session, share(session, plan), {slot.name: values}, len(values))

    def draw(self, wanted: int, final: bool) -> Sets:
        """Up to ``wanted`` of its sets with ``final``, else all."""
        if not final:
            return self.sets
        rows = np.flatnonzero(self.chance.in_range(self.sets.answers))
        order = np.argsort(-self.chance.keys(self.sets.weight[rows]), kind="stable")
        return self.sets.keep(rows[order[:wanted]], truncated=self.sets.truncated or len(rows) > wanted)


@dataclass
class Pair:
    """A set operation of two sides; ``exchangeable`` when both draw from the same sets."""

    chance: Chance
    op: str
    left: Shape
    right: Shape
    exchangeable: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        """Those of both sides."""
        return (*self.left.slots, *self.right.slots)

    def draw(self, wanted: int, final: bool) -> Sets:
        """Up to ``wanted`` pairs of sets that meet the constraints; with ``final`` also the range of answers."""
        left, right = self.left.draw(_POOL, final=False), self.right.draw(_POOL, final=False)
        i, j, answers, more = self.choose(left, right, wanted, final)
        return Sets(
            self.slots,
            np.hstack([left.values[i], right.values[j]]),
            np.hstack([left.kinds[i], right.kinds[j]]),
            left.weight[i] * right.weight[j],
            answers,
            self.identity(left, right, i, j),
            None if final else self.combined(left, right, i, j),
            more or left.truncated or right.truncated,
        )

    def identity(self, left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The same for pairs that mean the same: ``&`` and ``|`` do not care for order or parentheses."""
        if self.op == "-":
            return _mixed(left.identity[i] * np.uint64(3) + right.identity[j])
        sides = []
        for side, sets, rows in ((self.left, left, i), (self.right, right, j)):
            same = isinstance(side, Pair) and side.op == self.op
            sides.append(sets.identity[rows] if same else _mixed(sets.identity[rows] + np.uint64(ord(self.op))))
        return sides[0] + sides[1]

    def choose(
        self, left: Sets, right: Sets, wanted: int, final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], bool]:
        """Rows of both sides in random order, the sizes of what they make, and whether there are more: every pair gets
        a random key, and the largest keys stay.
        """
        none = np.empty(0, np.int64)
        best: list[Any] = [np.empty(0), none, none, none]
        seen = 0
        for start, common in _products(left.matrix, right.matrix):
            i, j = common.row.astype(np.int64) + start, common.col.astype(np.int64)
            number, mask = self.allowed(left.answers[i], right.answers[j], common.data.astype(np.int64), final)
            if self.exchangeable:
                mask &= ~_repeats(left, right, i, j)
            i, j = i[mask], j[mask]
            keys = self.keys(left, right, i, j)
            best = [np.concatenate(parts) for parts in zip(best, (keys, i, j, number[mask]), strict=True)]
            if self.exchangeable:  # one that was found in several ways has one key
                best = [values[np.unique(best[0], return_index=True)[1]] for values in best]
            seen += len(i)
            if len(best[0]) > wanted:
                top = np.sort(np.argpartition(-best[0], wanted - 1)[:wanted])
                best = [values[top] for values in best]
            if seen > _ENOUGH * wanted:
                break  # rows are in random order: those not looked at are no different
        order = np.argsort(-best[0], kind="stable")
        return best[1][order], best[2][order], best[3][order], seen > len(order)

    def keys(self, left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """The random keys of pairs."""
        weight = left.weight[i] * right.weight[j]
        if not self.exchangeable:
            return self.chance.keys(weight)
        return self.chance.weighted(self.chance.settled(self.identity(left, right, i, j)), weight)

    def allowed(
        self, left: NDArray[np.int64], right: NDArray[np.int64], common: NDArray[np.int64], final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The size of what each pair makes, and a mask of those that may be joined, from the sizes of both sides and
        of what they have in common.
        """
        number = {"&": common, "|": left + right - common, "-": left - common}[self.op]
        mask = self.chance.in_range(number) if final else number > 0
        if self.chance.request.constraints is not None:
            mask &= self.chance.request.constraints.allow(self.op, left, right, common)
        return number, mask

    def combined(self, left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> sp.csr_array:
        """The sets that the operation makes of rows of both sides."""
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
class Inner:
    """An operator that restricts a shape or leads on from it: the shape is drawn, then the operator runs on that."""

    chance: Chance
    operator: Operator
    shape: Shape

    @property
    def slots(self) -> tuple[str, ...]:
        """Those of the shape within."""
        return self.shape.slots

    def draw(self, wanted: int, final: bool) -> Sets:
        """What the operator makes of groundings of the shape; with ``final``, those in the range of answers."""
        session, plan = self.chance.session, self.chance.plan
        pool = self.shape.draw(max(8 * wanted, _POOL), final=False)
        columns = {name: np.ascontiguousarray(pool.values[:, i]) for i, name in enumerate(pool.slots)}
        found = walk_many(replace(plan, root=self.operator), session, share(session, plan), columns, len(pool.values))
        sizes = np.bincount(found.rows, minlength=len(pool.values))
        pool.matrix, pool.answers = _matrix(sizes, found.nodes, session.schema.nodes), sizes
        rows = np.flatnonzero(self.chance.in_range(sizes) if final else sizes > 0)
        return pool.keep(rows, truncated=pool.truncated)


Shape: TypeAlias = Part | Pair | Inner


def _matrix(sizes: NDArray[np.int64], nodes: Ids, width: int) -> sp.csr_array:
    """Sets as a sparse matrix: ``sizes`` of its rows, whose nodes stand end to end."""
    import scipy.sparse as sp

    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    return sp.csr_array((np.ones(len(nodes), np.int32), nodes, offsets), shape=(len(sizes), width))


def _repeats(left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A mask of the pairs of which both sides have a part in common."""
    mask = np.zeros(len(i), bool)
    for a in range(left.values.shape[1]):
        for b in range(right.values.shape[1]):
            same = left.values[i, a] == right.values[j, b]
            mask |= same & (left.kinds[i, a] == right.kinds[j, b])
    return mask


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Well-mixed bits (the finalizer of SplitMix64, Steele et al. 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


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
