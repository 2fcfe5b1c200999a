"""Decompose a plan with slots into sets of one slot each and the set operations that combine them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    AttributeFilter,
    Difference,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    MeasureFilter,
    Operator,
    Parameter,
    Plan,
    Union,
)
from kbkit.answers.batch import BatchAnswers, evaluate_batch
from kbkit.answers.bind import bind_constants
from kbkit.answers.operator_tree import operators, parameters
from kbkit.answers.sample_sets import POOL, AnswerSets, FixedSets, Sampler, SetPairs, matrix_of, splitmix64
from kbkit.answers.session import Session
from kbkit.answers.syntax import Slot
from kbkit.errors import KbError
from kbkit.stores.adjacency import Ids

_MAX_ANSWERS = 20_000_000
"""Maximum number of answers in the matrix of a part; beyond it, a random sample of the rows is used."""


@dataclass
class PlanSampler(Sampler):
    """A request for values of a plan's slots."""

    session: Session
    plan: Plan


def candidates_of(session: Session, operator: Operator, slot: Parameter) -> tuple[Ids, NDArray[np.float64]]:
    """Return the candidate nodes of a slot, and their degrees in the relations followed from them."""
    ids = session.members(slot.type)
    degrees = np.zeros(len(ids))
    hops = [op for op in operators(operator) if isinstance(op, Hop) and op.source == Lookup(slot.type, slot.name)]
    for hop in dict.fromkeys(hops):
        for move in hop.moves:
            degrees += session.move(move.relation, move.forward).ranges(ids)[1]  # of all edges, whatever the conditions
    if not hops:
        degrees += 1
    return ids, degrees


@dataclass
class Decomposer:
    """Decomposes an operator into set operations between operators of one slot each."""

    sampler: PlanSampler

    def of(self, operator: Operator) -> PlanSets:
        """Return the sets of an operator with slots."""
        slots = self.slots(operator)
        if len(slots) == 1:
            return SlotSets(self.sampler, slots[0].name, [(self.sampler.plan, operator, slots[0])])
        match operator:
            case Intersection() | Union():
                return self.joined(operator, "&" if isinstance(operator, Intersection) else "|")
            case Difference():
                return self.without(operator)
            case Hop() | AttributeFilter() | MeasureFilter() | Extreme() if self.slots(operator.source):
                return OperatorSets(self.sampler, operator, self.of(operator.source))
        raise KbError("Unsupported sample: slots in a count", "Set some of the slots to a value")

    def joined(self, operator: Intersection | Union, op: str) -> PlanSets:
        """Combine the parts with slots in pairs, from left to right."""
        free = [part for part in operator.parts if not self.slots(part)]
        bound = [part for part in operator.parts if self.slots(part)]
        combined = self.of(bound[0])
        for part in bound[1:]:
            combined = self.pair(op, combined, self.of(part))
        return OperatorSets(self.sampler, operator, combined) if free else combined

    def without(self, operator: Difference) -> PlanSets:
        """Pair the left side with each subtracted set that has slots of its own."""
        left = {p.name for p in self.slots(operator.left)}
        if not left:
            return OperatorSets(self.sampler, operator, self.of(operator.right))
        subtracted = operator.right.parts if isinstance(operator.right, Union) else (operator.right,)
        paired = [part for part in subtracted if not {p.name for p in self.slots(part)} <= left]
        combined = self.of(operator.left)
        for part in paired:
            combined = self.pair("-", combined, self.of(part))
        return combined if len(paired) == len(subtracted) else OperatorSets(self.sampler, operator, combined)

    def pair(self, op: str, left: PlanSets, right: PlanSets) -> SetPairs:
        """Return pairs of two sides; raise an error if they share a slot."""
        if set(left.slots) & set(right.slots):
            raise KbError("Unsupported sample: several parts share a slot", "Set some of the slots to a value")
        return SetPairs(self.sampler, op, left, right)

    def slots(self, operator: Operator) -> list[Parameter]:
        """Return the slots that an operator uses."""
        used = parameters(operator)
        return [p for p in self.sampler.plan.parameters if p.name in used and isinstance(p.source, Slot)]


@dataclass
class SlotSets:
    """The sets of one slot: one per value, for each of the ``choices`` (plan, operator, slot)."""

    sampler: PlanSampler
    name: str
    choices: list[tuple[Plan, Operator, Parameter]]

    @property
    def slots(self) -> tuple[str, ...]:
        """Name of the slot."""
        return (self.name,)

    @cached_property
    def sets(self) -> AnswerSets:
        """All non-empty sets, or a random sample if there are too many."""
        session = self.sampler.session
        candidates = [candidates_of(session, operator, slot) for _, operator, slot in self.choices]
        kind = np.repeat(np.arange(len(candidates), dtype=np.int32), [len(ids) for ids, _ in candidates])
        ids, degrees = (np.concatenate(columns) for columns in zip(*candidates, strict=True))
        order = self.sampler.rng.permutation(len(ids))
        counts, nodes, positions = [], [], []
        done = total = 0
        while done < len(order) and total < _MAX_ANSWERS:
            chosen = order[done : done + max(1_000, 200 * len(self.choices), done)]
            for number in np.unique(kind[chosen]).tolist():
                mine = chosen[kind[chosen] == number]
                answers = self.answers(number, ids[mine])
                number_of = np.bincount(answers.rows, minlength=len(mine))
                counts.append(number_of[number_of > 0])
                nodes.append(answers.nodes)
                positions.append(mine[number_of > 0])
                total += len(answers.nodes)
            done += len(chosen)
        used = np.concatenate([np.empty(0, np.int64), *positions])
        sizes = np.concatenate([np.empty(0, np.int64), *counts])
        node = np.concatenate([np.empty(0, np.int32), *nodes])
        packed = (kind[used].astype(np.uint64) << np.uint64(32)) | ids[used].astype(np.uint64)
        return AnswerSets(
            self.slots,
            ids[used][:, None],
            kind[used][:, None],
            degrees[used],
            sizes,
            splitmix64(packed),
            matrix_of(sizes, node, session.schema.nodes),
            done < len(order),
        )

    def answers(self, number: int, values: Ids) -> BatchAnswers:
        """Evaluate one of the choices for some values."""
        session = self.sampler.session
        plan, operator, slot = self.choices[number]
        shared = bind_constants(plan, session)
        return evaluate_batch(replace(plan, root=operator), session, shared, {slot.name: values}, len(values))

    def draw(self, count: int, final: bool) -> AnswerSets:
        """Draw up to ``count`` sets with ``final``, else return all."""
        return FixedSets(self.sampler, self.sets).draw(count, final)


@dataclass
class OperatorSets:
    """An operator on top of other sets: groundings come from ``source``, and the operator is evaluated for them."""

    sampler: PlanSampler
    operator: Operator
    source: PlanSets

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots of the source."""
        return self.source.slots

    def draw(self, count: int, final: bool) -> AnswerSets:
        """Evaluate the operator for groundings of the source; with ``final`` keep those in the range of answers."""
        session, plan = self.sampler.session, self.sampler.plan
        pool = self.source.draw(max(8 * count, POOL), final=False)
        columns = {name: np.ascontiguousarray(pool.values[:, i]) for i, name in enumerate(pool.slots)}
        shared = bind_constants(plan, session)
        answers = evaluate_batch(replace(plan, root=self.operator), session, shared, columns, len(pool.values))
        sizes = np.bincount(answers.rows, minlength=len(pool.values))
        pool.matrix, pool.answers = matrix_of(sizes, answers.nodes, session.schema.nodes), sizes
        rows = np.flatnonzero(self.sampler.in_range(sizes) if final else sizes > 0)
        return pool.take(rows, truncated=pool.truncated)


PlanSets: TypeAlias = SlotSets | FixedSets | SetPairs | OperatorSets
