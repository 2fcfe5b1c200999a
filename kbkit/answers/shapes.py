"""Takes an expression with slots apart: the sets of each part of it, and the set operations that join them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    Difference,
    Filter,
    Hop,
    Intersection,
    Lookup,
    Operator,
    Parameter,
    Plan,
    Union,
    operators,
    parameters,
)
from kbkit.answers.many import share
from kbkit.answers.session import Session
from kbkit.answers.set_pairs import POOL, Given, Pair, Sampler, Sets, matrix_of, splitmix64
from kbkit.answers.syntax import Slot
from kbkit.answers.walk_many import Answers, walk_many
from kbkit.errors import KbError
from kbkit.stores.adjacency import Ids

_MOST_PAIRS = 20_000_000
"""A part's matrix holds at most so many answers: a random choice of its rows beyond."""


@dataclass
class Chance(Sampler):
    """A draw from a KB: the values of a plan's slots."""

    session: Session
    plan: Plan


def candidates_of(session: Session, operator: Operator, slot: Parameter) -> tuple[Ids, NDArray[np.float64]]:
    """The nodes a slot may stand for, and their degrees in the relations followed from them."""
    ids = session.members(slot.type)
    degrees = np.zeros(len(ids))
    hops = [op for op in operators(operator) if isinstance(op, Hop) and op.source == Lookup(slot.type, slot.name)]
    for hop in dict.fromkeys(hops):
        for move in hop.moves:
            degrees += session.move(move.relation, move.forward).ranges(ids)[1]
    if not hops:
        degrees += 1
    return ids, degrees


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
            case Intersection() | Union():
                return self.joined(operator, "&" if isinstance(operator, Intersection) else "|")
            case Difference():
                return self.without(operator)
            case Hop() | Filter():
                return Inner(self.chance, operator, self.of(operator.source))
        raise AssertionError(operator)

    def joined(self, operator: Intersection | Union, op: str) -> Shape:
        """Pairs of the parts with slots, one after the other."""
        free = [part for part in operator.parts if not self.slots(part)]
        bound = [part for part in operator.parts if self.slots(part)]
        whole = self.of(bound[0])
        for part in bound[1:]:
            whole = self.pair(op, whole, self.of(part))
        return Inner(self.chance, operator, whole) if free else whole

    def without(self, operator: Difference) -> Shape:
        """Pairs of the left side and each set taken from it that has slots of its own."""
        left = {p.name for p in self.slots(operator.left)}
        if not left:
            return Inner(self.chance, operator, self.of(operator.right))
        taken = operator.right.parts if isinstance(operator.right, Union) else (operator.right,)
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
            chosen = order[done : done + max(1_000, 200 * len(self.choices))]
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
            splitmix64(packed),
            matrix_of(sizes, node, session.schema.nodes),
            done < len(order),
        )

    def answers(self, number: int, values: Ids) -> Answers:
        """The sets of some values, in one of the choices."""
        session = self.chance.session
        plan, operator, slot = self.choices[number]
        return walk_many(replace(plan, root=operator), session, share(session, plan), {slot.name: values}, len(values))

    def draw(self, wanted: int, final: bool) -> Sets:
        """Up to ``wanted`` of its sets with ``final``, else all."""
        return Given(self.chance, self.sets).draw(wanted, final)


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
        pool = self.shape.draw(max(8 * wanted, POOL), final=False)
        columns = {name: np.ascontiguousarray(pool.values[:, i]) for i, name in enumerate(pool.slots)}
        found = walk_many(replace(plan, root=self.operator), session, share(session, plan), columns, len(pool.values))
        sizes = np.bincount(found.rows, minlength=len(pool.values))
        pool.matrix, pool.answers = matrix_of(sizes, found.nodes, session.schema.nodes), sizes
        rows = np.flatnonzero(self.chance.in_range(sizes) if final else sizes > 0)
        return pool.keep(rows, truncated=pool.truncated)


Shape: TypeAlias = Part | Given | Pair | Inner
