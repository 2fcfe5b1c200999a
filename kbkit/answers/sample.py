"""Draws groundings of a template whose answers meet constraints on their number: by counting, not by trial and error.

A template with one slot is counted over the candidates in random order. Where set operations join parts of one slot
each, ``shapes`` counts what any two of their sets have in common, by sparse products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.algebra import Parameter, Plan
from kbkit.answers.constraints import Request
from kbkit.answers.many import share
from kbkit.answers.session import Session
from kbkit.answers.set_pairs import Given, Pair, Sampler, Sets
from kbkit.answers.shapes import Chance, Part, Shapes, candidates_of
from kbkit.answers.syntax import Slot
from kbkit.answers.walk_many import count_up_to
from kbkit.errors import KbError
from kbkit.stores.adjacency import Ids

_MOST_WANTED = 2_000_000


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
    chance = Chance(request, np.random.default_rng(request.seed), session, plan)
    values, answers = _one_slot(chance, slots[0]) if len(slots) == 1 else _several(chance, names)
    return Drawn(tuple(_slot(p) for p in slots), values, answers, np.zeros_like(values))


def draw_parts(session: Session, shape: syntax.Expression, parts: Sequence[Plan], request: Request) -> Drawn:
    """Distinct groundings of a shape such as ``@A & @B``, whose letters may be any of ``parts``, each a plan of one
    slot; distinct also when sides are exchanged.
    """
    for plan in parts:
        slots = [p for p in plan.parameters if isinstance(p.given, Slot)]
        if len(slots) != 1 or slots[0].value:
            raise KbError(f"{plan.text} has {len(slots)} slots", "a part has one slot, for a node")
    letters = [part.name for part in syntax.walk(shape) if isinstance(part, syntax.Saved)]
    plain = all(isinstance(part, (syntax.Saved, syntax.Combine, str)) for part in syntax.walk(shape))
    if not plain or len(letters) > len(set(letters)):
        raise KbError(
            "a template with parts joins each of them once, by & | and -", "whatever else it says belongs into a part"
        )
    chance = Chance(request, np.random.default_rng(request.seed), session, parts[0])
    family = Part(chance, "", [(plan, plan.root, only_slot(plan)) for plan in parts])
    return _drawn(chance, family.sets, shape)


def draw_sets(sets: Sets, shape: syntax.Expression, request: Request) -> Drawn:
    """The same of a shape whose letters may be any of ``sets``, which have one value each."""
    return _drawn(Sampler(request, np.random.default_rng(request.seed)), sets, shape)


def _drawn(lots: Sampler, sets: Sets, shape: syntax.Expression) -> Drawn:
    drawn = _of_letters(lots, sets, shape).draw(lots.request.count, final=True)
    return Drawn(drawn.slots, drawn.values, drawn.answers, drawn.kinds)


def only_slot(plan: Plan) -> Parameter:
    """The first slot of a plan."""
    return next(p for p in plan.parameters if isinstance(p.given, Slot))


def _of_letters(lots: Sampler, sets: Sets, shape: syntax.Expression) -> Given | Pair:
    if isinstance(shape, syntax.Saved):
        return Given(lots, replace(sets, slots=(shape.name,)))  # the same sets under another name
    assert isinstance(shape, syntax.Combine)
    whole, *rest = (_of_letters(lots, sets, part) for part in shape.parts)
    for part in rest:
        whole = Pair(lots, shape.op, whole, part, exchangeable=True)
    return whole


def _one_slot(chance: Chance, slot: Parameter) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Count candidates in random order, until there are enough in the range."""
    candidates, degrees = candidates_of(chance.session, chance.plan.root, slot)
    order = candidates[np.argsort(-chance.keys(degrees), kind="stable")]
    kept: list[Ids] = []
    counts: list[NDArray[np.int64]] = []
    start, size, found = 0, max(2048, chance.request.count), 0
    while start < len(order) and found < chance.request.count:
        part = order[start : start + size]
        number = _count(chance, [slot.name], part[:, None])
        inside = chance.in_range(number)
        kept.append(part[inside])
        counts.append(number[inside])
        start, size, found = start + size, min(2 * size, 100_000), found + int(inside.sum())
    values = np.concatenate(kept) if kept else np.empty(0, np.int32)
    answers = np.concatenate(counts) if counts else np.empty(0, np.int64)
    return values[: chance.request.count, None], answers[: chance.request.count]


def _several(chance: Chance, names: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Draw by counting what parts have in common."""
    if chance.request.min_answers < 1:
        raise KbError("groundings of several slots without answers are not drawn", "ask for 1 answer or more")
    shape = Shapes(chance).of(chance.plan.root)
    wanted = chance.request.count
    while True:
        sets = shape.draw(wanted, final=True)
        if len(sets.answers) >= chance.request.count or not sets.truncated or wanted > _MOST_WANTED:
            break
        wanted *= 8
    columns = [sets.slots.index(name) for name in names]
    return sets.values[: chance.request.count, columns], sets.answers[: chance.request.count]


def _count(chance: Chance, names: list[str], values: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many answers each grounding has; beyond the range, that it has more."""
    columns = {name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)}
    shared = share(chance.session, chance.plan)
    limit = chance.request.max_answers
    return count_up_to(chance.plan, chance.session, shared, columns, len(values), limit)


def _slot(parameter: Parameter) -> str:
    assert isinstance(parameter.given, Slot)
    return parameter.given.name
