"""Sample groundings of templates whose number of answers is in a range, by counting instead of trial and error.

A template with one slot is counted for candidates in random order. For set operations on parts of one slot each,
``sample_plans`` and ``sample_sets`` compute the intersection of any two sets by sparse products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.algebra import Parameter, Plan
from kbkit.answers.batch import count_up_to
from kbkit.answers.bind import bind_constants
from kbkit.answers.parse import parse
from kbkit.answers.sample_plans import Decomposer, PlanSampler, SlotSets, candidates_of
from kbkit.answers.sample_sets import AnswerSets, FixedSets, Sampler, SampleRequest, SetPairs
from kbkit.answers.session import Session
from kbkit.answers.syntax import Slot
from kbkit.answers.templates import Template
from kbkit.errors import KbError, Option
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl

_MAX_DRAWN = 2_000_000


@dataclass(frozen=True)
class Groundings:
    """``values[i, j]`` is the node of slot ``slots[j]`` in grounding i, ``answers[i]`` its number of answers.

    If the slots are parts, ``kinds[i, j]`` is the number of the chosen part.
    """

    slots: tuple[str, ...]
    values: NDArray[np.int32]
    answers: NDArray[np.int64]
    kinds: NDArray[np.int32]


# -- groundings as a frame --------------------------------------------------------------------------------------------


def sample(session: Session, template: Template, request: SampleRequest, parts: Sequence[str] = ()) -> pl.DataFrame:
    """Sample groundings of a template.

    Columns: for each slot its ``#key`` and its name, then expression, question, answers (their number).
    """
    if not template.letters:
        tree = template.tree()
        groundings = draw(session, session.resolved(tree, template.expression), request)
        return _frame(session, groundings, [tree], template)
    choices = [parse(part) for part in parts or template.parts]
    try:
        plans = [session.resolved(choice) for choice in choices]
    except KbError as error:
        if parts:
            raise
        message = f"The parts of template {template.id} do not fit this KB: {error.message}"
        raise KbError(message, "Set ", Option("parts", "'genre:<genre> -> movie'")) from None
    groundings = draw_parts(session, template.skeleton, plans, request)
    return _frame(session, groundings, choices, template)


def _frame(
    session: Session, groundings: Groundings, trees: Sequence[syntax.Expression], template: Template
) -> pl.DataFrame:
    import polars as pl

    frame = session.stores.nodes.frame(np.unique(groundings.values))
    nodes = {node: (key, name) for node, key, _, name in frame.iter_rows()}
    rows = []
    columns = (groundings.values.tolist(), groundings.kinds.tolist(), groundings.answers.tolist())
    for values, kinds, answers in zip(*columns, strict=True):
        named = [nodes[value] for value in values]
        filled = dict(zip(groundings.slots, named, strict=True))
        question = template.question
        for slot, (_, name) in filled.items():
            question = question.replace(f"<{slot}>", name)
        cells = [cell for key, name in named for cell in (f"#{key}", name)]
        rows.append((*cells, _expression(template, trees, kinds, filled), question, answers))
    names = (*_columns(groundings.slots), "expression", "question")
    schema = {**dict.fromkeys(names, pl.String), "answers": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def slot_columns(slots: Sequence[str]) -> list[str]:
    """Return the column of each slot in a frame of groundings; the column of its name has the suffix `` name``."""
    return _columns(slots)[::2]


def _columns(slots: Sequence[str]) -> list[str]:
    """Return the columns of each slot and its name; in angle brackets if the plain names are not unique."""
    columns = [column for slot in slots for column in (slot, f"{slot} name")]
    if len({*columns, "expression", "question", "answers"}) == len(columns) + 3:
        return columns
    return [column for slot in slots for column in (f"<{slot}>", f"<{slot}> name")]


def _expression(
    template: Template, trees: Sequence[syntax.Expression], kinds: Sequence[int], filled: dict[str, tuple[str, str]]
) -> str:
    """Return the expression with keys in place of slots."""
    if not template.letters:
        return str(syntax.fill(trees[0], {slot: f"#{key}" for slot, (key, _) in filled.items()}))
    parts = {}
    for (letter, (key, _)), kind in zip(filled.items(), kinds, strict=True):
        [slot] = syntax.slots(trees[kind])
        parts[letter] = syntax.fill(trees[kind], {slot: f"#{key}"})
    return str(syntax.substitute(template.skeleton, parts))


# -- groundings as arrays ---------------------------------------------------------------------------------------------


def draw(session: Session, plan: Plan, request: SampleRequest) -> Groundings:
    """Draw distinct groundings of ``plan`` with a number of answers in the range, in random order.

    There are fewer than requested if no more exist. The sides of ``|`` and ``-`` always overlap. Sampling is uniform
    over groundings, or with ``weight="popular"`` in proportion to the degrees of the slots' nodes.
    """
    slots = [p for p in plan.parameters if isinstance(p.source, Slot)]
    if not slots:
        raise KbError("The expression has no <slot>", "Add a slot to sample")
    for slot in slots:
        if slot.is_value:
            raise KbError(f"Slot <{_slot_name(slot)}> is a value, not a node", "Write a value instead of the slot")
    names = [p.name for p in slots]
    sampler = PlanSampler(request, np.random.default_rng(request.seed), session, plan)
    values, answers = _draw_one_slot(sampler, slots[0]) if len(slots) == 1 else _draw_several_slots(sampler, names)
    return Groundings(tuple(_slot_name(p) for p in slots), values, answers, np.zeros_like(values))


def draw_parts(
    session: Session, skeleton: syntax.Expression, parts: Sequence[Plan], request: SampleRequest
) -> Groundings:
    """Draw distinct groundings of a skeleton such as ``@A & @B``; each letter is one of ``parts``, plans of one slot.

    Groundings that differ only in the order of sides are duplicates.
    """
    for plan in parts:
        slots = [p for p in plan.parameters if isinstance(p.source, Slot)]
        if len(slots) != 1 or slots[0].is_value:
            raise KbError(f"Invalid part {plan.text!r}: {len(slots)} slots", "A part has one slot, for a node")
    subtrees = list(syntax.subtrees(skeleton))
    letters = [tree.name for tree in subtrees if isinstance(tree, syntax.SavedSet)]
    only_operations = all(isinstance(tree, (syntax.SavedSet, syntax.Combine, str)) for tree in subtrees)
    if not only_operations or len(letters) > len(set(letters)):
        message = "A template with parts may only combine its parts, each once, by & | and -"
        raise KbError(message, "Move everything else into a part")
    sampler = PlanSampler(request, np.random.default_rng(request.seed), session, parts[0])
    family = SlotSets(sampler, "", [(plan, plan.root, first_slot(plan)) for plan in parts])
    return _draw_skeleton(sampler, family.sets, skeleton)


def draw_sets(sets: AnswerSets, skeleton: syntax.Expression, request: SampleRequest) -> Groundings:
    """Draw groundings of a skeleton; each letter is one of ``sets``, which have one value each."""
    return _draw_skeleton(Sampler(request, np.random.default_rng(request.seed)), sets, skeleton)


def _draw_skeleton(sampler: Sampler, sets: AnswerSets, skeleton: syntax.Expression) -> Groundings:
    drawn = _sets_of(sampler, sets, skeleton).draw(sampler.request.count, final=True)
    return Groundings(drawn.slots, drawn.values, drawn.answers, drawn.kinds)


def first_slot(plan: Plan) -> Parameter:
    """Return the first slot of a plan."""
    return next(p for p in plan.parameters if isinstance(p.source, Slot))


def _sets_of(sampler: Sampler, sets: AnswerSets, skeleton: syntax.Expression) -> FixedSets | SetPairs:
    if isinstance(skeleton, syntax.SavedSet):
        return FixedSets(sampler, replace(sets, slots=(skeleton.name,)))
    assert isinstance(skeleton, syntax.Combine)
    combined, *rest = (_sets_of(sampler, sets, part) for part in skeleton.parts)
    for part in rest:
        combined = SetPairs(sampler, skeleton.op, combined, part, exchangeable=True)
    return combined


def _draw_one_slot(sampler: PlanSampler, slot: Parameter) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Count the answers of candidates in random order, until enough are in the range."""
    candidates, degrees = candidates_of(sampler.session, sampler.plan.root, slot)
    order = candidates[np.argsort(-sampler.keys(degrees), kind="stable")]
    selected: list[Ids] = [np.empty(0, np.int32)]
    counts: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    start, size, drawn = 0, max(2048, sampler.request.count), 0
    while start < len(order) and drawn < sampler.request.count:
        batch = order[start : start + size]
        number = _count(sampler, slot, batch)
        in_range = sampler.in_range(number)
        selected.append(batch[in_range])
        counts.append(number[in_range])
        start, size, drawn = start + size, min(2 * size, 100_000), drawn + int(in_range.sum())
    limit = sampler.request.count
    return np.concatenate(selected)[:limit, None], np.concatenate(counts)[:limit]


def _draw_several_slots(sampler: PlanSampler, names: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Draw by the sizes of intersections."""
    if sampler.request.min_answers < 1:
        raise KbError("Unsupported sample: groundings of several slots without answers", "Use a minimum of 1 answer")
    source = Decomposer(sampler).of(sampler.plan.root)
    count = sampler.request.count
    while True:
        sets = source.draw(count, final=True)
        if len(sets.answers) >= sampler.request.count or not sets.truncated or count > _MAX_DRAWN:
            break
        count *= 8
    columns = [sets.slots.index(name) for name in names]
    return sets.values[: sampler.request.count, columns], sets.answers[: sampler.request.count]


def _count(sampler: PlanSampler, slot: Parameter, values: Ids) -> NDArray[np.int64]:
    """Return the number of answers of each grounding, at most one more than the maximum."""
    shared = bind_constants(sampler.plan, sampler.session)
    columns = {slot.name: np.ascontiguousarray(values)}
    limit = sampler.request.max_answers
    return count_up_to(sampler.plan, sampler.session, shared, columns, len(values), limit)


def _slot_name(parameter: Parameter) -> str:
    assert isinstance(parameter.source, Slot)
    return parameter.source.name
