"""Stage 1: relational requirements. Templates, their groundings, and the candidates of each grounding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers import templates as catalogue
from kbkit.answers.algebra import Difference, Hop, Intersection, Lookup, Plan
from kbkit.answers.operator_tree import operators
from kbkit.answers.sample import slot_columns
from kbkit.answers.templates import Template
from kbkit.answers.wording import noun_of, noun_phrase, role_of, shared_middles, slot_nouns
from kbkit.benchmarks.evidence import are_named_after
from kbkit.benchmarks.fit_nodes import (
    head_nouns,
    is_function,
    left_out_markers,
    unnamed,
)
from kbkit.benchmarks.incomplete import Unlisted, doubtful_nodes, is_sample, rivals
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.benchmarks.requirements.choose import AMOUNT, CLAUSE, DATE, ITEM, OPEN, STORY
from kbkit.benchmarks.requirements.suggested import SUGGEST, suggested
from kbkit.benchmarks.requirements.unfit_bindings import unfit_bindings
from kbkit.english.markers import is_marker
from kbkit.english.noun_phrases import NounPhrase, given
from kbkit.english.readable import name_problem
from kbkit.english.relations import roles, roles_of
from kbkit.english.stems import shares_stem
from kbkit.english.types import WORKS, are_people, type_noun
from kbkit.english.words import YEARS, is_person
from kbkit.errors import Command, KbError, Option
from kbkit.kb import KnowledgeBase

Ints = NDArray[np.int64]
_ROUNDS = 4
_USES, _SHARE = 2, 100
"""An entity is named in at most 2 queries, or in 1 of 100 queries of a large dataset; see :func:`_spread`."""
_SPARE = 5
"""Groundings to draw for each that is needed: some have ambiguous names, or were drawn before."""
_TIERS = (60, 20, 6)
"""Minimum numbers of candidates, from which half as many answers can be wanted."""
_SLOT = re.compile("<([^<>]+)>")


@dataclass(frozen=True)
class NamedEntity:
    """A node that a query or a record names."""

    type: str
    key: str
    name: str


@dataclass(frozen=True)
class Grounding(Row):
    """A template with entities in its ``slots``.

    ``candidates`` are the ids of the nodes that satisfy it, of which about ``wanted`` should be answers.
    """

    template: str
    expression: str
    question: str
    slots: dict[str, NamedEntity]
    candidates: list[int]
    wanted: int = 1


RELATIONAL = Stage("1_relational", Grounding)


def templates(
    kb: KnowledgeBase, names: Sequence[str] = (), seed: int = 0, least: int = 1, *, with_texts: bool = False
) -> list[Template]:
    """Return templates by ``names``: ids, catalogues (``mag``), TOML files, or ``suggest``.

    Without names: the templates of STaRK's catalogues that fit the KB, or templates suggested by its schema if none
    fits, preferably such as have groundings with ``least`` answers; ``with_texts`` as in :func:`suggested`. Raises
    :class:`KbError` for a template that does not fit.
    """
    shipped = [t for t in catalogue.shipped() if not t.letters]
    if not names:
        fitting = [t for t in shipped if not catalogue.misfit(t, kb.schema)]
        return fitting or suggested(kb, seed, least, with_texts=with_texts)
    chosen: list[Template] = []
    for name in names:
        if name == SUGGEST:
            chosen += suggested(kb, seed, least, with_texts=with_texts)
        elif name.endswith(".toml"):
            chosen += catalogue.load(Path(name))
        else:
            chosen += _catalogue(kb, [t for t in shipped if t.id.split("/")[0] == name], name) or [catalogue.find(name)]
    for template in chosen:
        _check(kb, template)
    return list({template.id: template for template in chosen}.values())


def _check(kb: KnowledgeBase, template: Template) -> None:
    """Raise :class:`KbError` for a template that does not fit the KB or whose question does not name its slots."""
    if template.letters:
        raise KbError(f"Template {template.id} combines sets", "Use ", Command("quest make"), " for such templates")
    if problem := catalogue.misfit(template, kb.schema):
        hint = ("Run ", Command("template list KB"), " for a list of templates that fit")
        raise KbError(f"Template {template.id} does not fit this KB: {problem}", *hint)
    slots = syntax.slots(template.tree())
    if set(_SLOT.findall(template.question)) != set(slots):
        message = f"The question of template {template.id} does not match its slots: {template.question!r}"
        raise KbError(message, f"Mention each slot once: {', '.join(f'<{slot}>' for slot in slots)}")


def _catalogue(kb: KnowledgeBase, group: list[Template], name: str) -> list[Template]:
    """Return the templates of a catalogue that fit the KB."""
    problems = [catalogue.misfit(template, kb.schema) for template in group]
    if group and all(problems):
        hint = ("Use ", Option("template", SUGGEST), " for templates from the schema")
        raise KbError(f"No template of catalogue {name} fits this KB: {problems[0]}", *hint)
    return [template for template, problem in zip(group, problems, strict=True) if not problem]


def phrase(kb: KnowledgeBase, template: Template) -> NounPhrase | None:
    """Return the answers of a template in words, with ``<slot>`` for each slot; None if that would not read well."""
    if template.phrase:
        return given(template.phrase, is_other=template.exclude_start)
    return noun_phrase(kb.session.resolved(template.tree(), template.expression), kb.schema, head_nouns(kb))


def with_middles(
    kb: KnowledgeBase, template: Template, words: NounPhrase, slots: Mapping[str, NamedEntity]
) -> NounPhrase:
    """Return the phrase of a grounding, which says *one of the same people as X* where X is joined to several."""
    for slot, (kind, moves) in shared_middles(kb.session.resolved(template.tree(), template.expression)).items():
        entity = slots[slot]
        [node] = kb.stores.nodes.unique_ids(entity.type, [entity.key]).tolist()
        middles = {
            int(one) for relation, forward in moves for one in kb.session.move(relation, forward).neighbors(node)
        }
        several = len(middles) > 1
        told, only = roles_of(kind, are_several=several), roles() if are_people(kind) else {}
        words = words.sharing(type_noun(kind), f"<{slot}>", told, are_several=several, only=only)
    return _counting_middles(kb, template, words, slots)


def _counting_middles(
    kb: KnowledgeBase, template: Template, words: NounPhrase, slots: Mapping[str, NamedEntity]
) -> NounPhrase:
    """Return the phrase of a chain, which says *the country that ...* where the named node leads to one alone, and
    *actors in films* where it leads to several.
    """
    plan, heads = kb.session.resolved(template.tree(), template.expression), head_nouns(kb) or {}
    chain = plan.root.left if isinstance(plan.root, Difference) else plan.root
    for hop in chain.parts if isinstance(chain, Intersection) else (chain,):
        before = hop.source if isinstance(hop, Hop) else None
        if not isinstance(before, Hop) or not isinstance(before.source, Lookup) or not before.type:
            continue
        source = next(p.source for p in plan.parameters if p.name == before.source.parameter)
        if not isinstance(source, syntax.Slot):
            continue
        entity = slots[source.name]
        [node] = kb.stores.nodes.unique_ids(entity.type, [entity.key]).tolist()
        middles = np.unique(
            np.concatenate([kb.session.move(move.relation, move.forward).neighbors(node) for move in before.moves])
        )
        noun = role_of(before, kb.schema) or noun_of(before, kb.schema, heads) or type_noun(before.type)
        count = kb.session.has_type(middles, before.type).sum()
        if not any(move.closure for move in before.moves):
            ways = [(move.relation, move.forward) for move in before.moves]
            is_only = count == 1 and is_function(kb, before.source.type, ways)
            words = words.of_one(noun, is_only=is_only) if count == 1 else words.of_several(noun)
    return words


def steps_of(template: Template) -> int:
    """Return the number of steps from node to node in a template."""
    return sum(isinstance(part, syntax.Step) for part in syntax.subtrees(template.tree()))


def unasked(kb: KnowledgeBase, template: Template) -> set[str]:
    """Return the kinds of requirements that a question with a template does not have: three are contrived.

    They are items of lists, clauses and amounts beside two named things, labels or chains; years beside two named
    things, and of all works of a language, with a tag or the like; and what happens in a story, and tags, but of the
    works of a person, or of the person who made a named one; and all but statements of texts that name something, of
    types of which the KB has only some nodes.
    """
    plan = kb.session.resolved(template.tree(), template.expression)
    types = {operator.type or "" for operator in operators(plan.root)}
    is_pair = len(plan.slots) > 1 or steps_of(template) > 1
    is_by_person = _is_by_person(kb, plan)
    kinds = {ITEM, CLAUSE} if (is_pair and not is_by_person) or any(map(is_marker, types)) else set()
    nouns = slot_nouns(plan, kb.schema, head_nouns(kb) or {})
    named = [nouns.get(p.source.name, p.type or "") for p in plan.parameters if isinstance(p.source, syntax.Slot)]
    of_person = is_by_person or (steps_of(template) == 1 and all(are_people(name) for name in named))
    kinds |= {AMOUNT} if is_pair else set()
    kinds |= set() if of_person else {STORY}
    is_work = type_noun(plan.type or "").rpartition(" ")[2] in WORKS
    # Films from 2010 to 2016 in Korean: a reader would doubt that the list is complete.
    hops = [operator for operator in operators(plan.root) if isinstance(operator, Hop)]
    of_one = [is_function(kb, hop.type, [(move.relation, not move.forward) for move in hop.moves]) for hop in hops]
    is_open = is_work and steps_of(template) == 1 and not of_person and all(of_one)
    is_tagged = is_work and any(map(is_marker, types)) and not any(map(are_people, types))
    kinds |= {DATE, AMOUNT} if is_open or is_tagged or len(plan.slots) > 1 else set()
    kinds |= {ITEM} if is_work and not of_person else set()  # Danish films tagged 'earth'
    return kinds | ({OPEN} if template.id.startswith(SUGGEST) and is_sample(kb, plan.type or "") else set())


def _is_by_person(kb: KnowledgeBase, plan: Plan) -> bool:
    """Return whether an expression goes from a named thing to people, and on: *by the director of X*."""
    last = plan.root.left if isinstance(plan.root, Difference) else plan.root
    first = last.source if isinstance(last, Hop) else None
    if not isinstance(first, Hop) or not isinstance(first.source, Lookup):
        return False
    return is_person(noun_of(first, kb.schema, head_nouns(kb) or {}))


def relations_of(template: Template) -> set[str]:
    """Return the relations of a template."""
    steps = (part for part in syntax.subtrees(template.tree()) if isinstance(part, syntax.Step))
    return {edge.relation for step in steps for edge in step.edges}


def draw(
    kb: KnowledgeBase,
    chosen: Sequence[Template],
    wanted: Ints,
    seed: int,
    bounds: tuple[int, int],
    weight: str = "uniform",
    fewest: int | None = None,
) -> list[Grounding]:
    """Return a grounding for each of the ``wanted`` numbers of answers, as far as there are enough, in random order.

    Groundings are shared equally between the templates as far as possible, and the number of groundings that name the
    same entity is limited. ``bounds`` are the minimum and maximum number of candidates; where many answers are wanted,
    at least twice as many candidates are drawn if possible. If too few groundings reach the minimum, groundings with at
    least ``fewest`` candidates are added (None: no such groundings).
    """
    by_expression: dict[str, Grounding] = {}
    uses: Counter[tuple[str, str]] = Counter()
    most = max(_USES, len(wanted) // _SHARE)
    left = np.sort(wanted)[::-1]
    doubtful = doubtful_nodes(kb)
    tiers = [tier for tier in _TIERS if bounds[0] < tier <= bounds[1]]
    for tier in [*tiers, *sorted({bounds[0], min(fewest or bounds[0], bounds[0])}, reverse=True)]:
        if not len(left):
            break
        count = int((2 * left >= tier).sum()) if tier > bounds[0] else len(left)
        if not count:
            continue
        lowest = [_least(template, tier, bounds[0], fewest) for template in chosen]
        frames = _samples(kb, chosen, _SPARE * count, seed, [(low, bounds[1]) for low in lowest], weight)
        drawn = [
            grounding
            for template, frame in zip(chosen, frames, strict=True)
            for grounding in groundings(kb, template, frame)
        ]
        drawn = _without_given_names(kb, _with_named_answers(kb, unambiguous(kb, drawn)))
        order = np.random.default_rng((seed, tier)).permutation(len(drawn)).tolist()
        turns = _turns([drawn[at].template for at in order])
        order = [order[at] for at in np.argsort(turns, kind="stable").tolist()]  # templates in turn
        order.sort(key=lambda at: not doubtful.isdisjoint(drawn[at].candidates))  # they are dropped if they are answers
        new = _spread([drawn[at] for at in order if drawn[at].expression not in by_expression], count, uses, most)
        by_expression |= {grounding.expression: grounding for grounding in new}
        for grounding, number in zip(new, left.tolist(), strict=False):
            by_expression[grounding.expression] = replace(grounding, wanted=number)
        left = left[len(new) :]
    if not by_expression:
        message = f"No grounding of {len(chosen)} templates has {bounds[0]} to {bounds[1]} answers"
        are_small = bounds[0] > 1 and any(
            f.height for f in _samples(kb, chosen, 1, seed, [(1, bounds[0] - 1)] * len(chosen), weight)
        )
        raise KbError(message, "Use ", Option("min_candidates", "1") if are_small else Option("max_candidates", "1000"))
    rows = list(by_expression.values())
    order = np.random.default_rng(seed).permutation(len(rows)).tolist()
    return [replace(rows[at], id=str(number)) for number, at in enumerate(order)]


def _least(template: Template, tier: int, least: int, fewest: int | None) -> int:
    """Return the minimum number of candidates of a template; fewer for two named things, which need no requirement."""
    is_pair = len(syntax.slots(template.tree())) > 1
    return 1 if is_pair and tier <= least and fewest else tier


def _turns(names: Sequence[str]) -> list[int]:
    """Return for each name how often it occurs before."""
    seen: Counter[str] = Counter()
    turns = []
    for name in names:
        turns.append(seen[name])
        seen[name] += 1
    return turns


def _with_named_answers(kb: KnowledgeBase, drawn: Sequence[Grounding]) -> list[Grounding]:
    """Return the groundings all of whose candidates have names: no reader knows what *277* or *Q42* is."""
    unknown = unnamed(kb, {node for grounding in drawn for node in grounding.candidates})
    return [grounding for grounding in drawn if unknown.isdisjoint(grounding.candidates)]


def _without_given_names(kb: KnowledgeBase, drawn: Sequence[Grounding]) -> list[Grounding]:
    """Return the groundings whose named entities do not name the candidates: *cars of the make Honda*."""
    rows = kb.stores.nodes.rows({node for grounding in drawn for node in grounding.candidates})
    names = {node: row.name or row.key for node, row in rows.items()}

    def is_given(grounding: Grounding) -> bool:
        given = (entity.name for entity in grounding.slots.values())
        return are_named_after(given, [names[node] for node in grounding.candidates])

    return [grounding for grounding in drawn if not is_given(grounding)]


def _spread(drawn: Sequence[Grounding], count: int, uses: Counter[tuple[str, str]], most: int) -> list[Grounding]:
    """Return up to ``count`` groundings, each entity named at most ``most`` times, and add them to ``uses``.

    If that leaves too few groundings, the limit is doubled up to three times.
    """
    chosen: dict[str, Grounding] = {}
    for limit in (most, 2 * most, 4 * most, 8 * most):
        for grounding in drawn:
            named = [(entity.type, entity.key) for entity in grounding.slots.values()]
            is_new = len(chosen) < count and grounding.expression not in chosen
            if is_new and all(uses[entity] < limit for entity in named):
                uses.update(named)
                chosen[grounding.expression] = grounding
    return list(chosen.values())


def unambiguous(kb: KnowledgeBase, drawn: Sequence[Grounding]) -> list[Grounding]:
    """Return the groundings whose names are different and tell something, each of one node of its type.

    Row numbers, the labels of :func:`left_out_markers` and the nodes of :func:`doubtful_nodes` tell nothing.
    """
    names: dict[str, set[str]] = {}
    for grounding in drawn:
        for entity in grounding.slots.values():
            names.setdefault(entity.type, set()).add(entity.name)
    clear: set[tuple[str, str]] = set()
    left_out = {*left_out_markers(kb), *doubtful_nodes(kb)}
    for kind, of_kind in names.items():
        ordered = sorted(of_kind)
        ids = kb.stores.nodes.unique_ids_by_name(kind or None, ordered)
        clear |= {(kind, name) for name, node in zip(ordered, ids.tolist(), strict=True)
                  if node >= 0 and node not in left_out}  # fmt: skip

    def is_number(entity: NamedEntity) -> bool:
        return entity.name.isdigit() and not YEARS[0] <= int(entity.name) <= YEARS[1]

    def is_clear(slots: Collection[NamedEntity]) -> bool:
        are_different = len({entity.name.casefold() for entity in slots}) == len(slots)
        are_different &= not any(
            one.type != other.type and shares_stem(one.name, [other.name]) for one, other in combinations(slots, 2)
        )  # by Terry Gilliam, tagged 'gilliam'
        are_readable = not any(name_problem(entity.name, entity.key) or is_number(entity) for entity in slots)
        return are_different and are_readable and all((entity.type, entity.name) in clear for entity in slots)

    return [grounding for grounding in drawn if is_clear(grounding.slots.values())]


def _samples(
    kb: KnowledgeBase, chosen: Sequence[Template], count: int, seed: int, bounds: Sequence[tuple[int, int]], weight: str
) -> list[pl.DataFrame]:
    """Sample groundings of each template, with its bounds; templates with many make up for those with few."""
    share = -(-count // len(chosen))
    sizes = [share] * len(chosen)
    frames = [kb.sample(t, n, seed, *own, weight) for t, n, own in zip(chosen, sizes, bounds, strict=True)]
    for _ in range(_ROUNDS):
        missing = count - sum(frame.height for frame in frames)
        with_more = [i for i, frame in enumerate(frames) if frame.height >= sizes[i]]
        if missing <= 0 or not with_more:
            break
        for i in with_more:
            sizes[i] += -(-missing // len(with_more))
            frames[i] = kb.sample(chosen[i], sizes[i], seed, *bounds[i], weight)
    return frames


def groundings(kb: KnowledgeBase, template: Template, frame: pl.DataFrame) -> list[Grounding]:
    """Return the groundings of one template, without ids; their candidates are evaluated in one batch."""
    if frame.is_empty():
        return []
    plan = kb.session.resolved(template.tree(), template.expression)
    columns = dict(zip(plan.slots, slot_columns(plan.slots), strict=True))
    types = {p.source.name: p.type for p in plan.parameters if isinstance(p.source, syntax.Slot)}
    bindings = frame.select(pl.col(column).alias(slot) for slot, column in columns.items())
    answers = kb.answers_many(template, bindings).group_by("binding", maintain_order=True).agg("node")
    candidates = dict(answers.iter_rows())
    sizes = {binding: len(nodes) for binding, nodes in candidates.items()}
    unlisted = Unlisted(kb, plan.root)
    disputed = rivals(kb, plan.root) if steps_of(template) > 1 else frozenset()
    unfit = unfit_bindings(kb, template, phrase(kb, template), types, bindings, sizes)
    return [
        Grounding(
            "",
            template.id,
            row["expression"],
            row["question"],
            {s: NamedEntity(types[s] or "", row[c][1:], row[f"{c} name"]) for s, c in columns.items()},
            candidates.get(i, []),
        )
        for i, row in enumerate(frame.iter_rows(named=True))
        if i not in unfit
        and disputed.isdisjoint(candidates.get(i, []))
        and not unlisted.may_be_among(candidates.get(i, []))
    ]
