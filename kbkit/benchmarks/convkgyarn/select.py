"""Stage 2: which predicates are asked for (section 2.3 of the paper), by a model or by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.convkgyarn.predicates import Predicate
from kbkit.benchmarks.fit_nodes import head_nouns, is_function
from kbkit.benchmarks.incomplete import is_known_in_part, is_sample, is_short_cast, open_properties
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.benchmarks.predicates import CONSTANT
from kbkit.benchmarks.requirements.work_years import WorkYears
from kbkit.english.askable import DATE, LABELS, MONEY, RATER, UNIT, lacks_currency, lacks_rater, lacks_unit, unfit
from kbkit.english.markers import is_marker
from kbkit.english.relations import known_phrase
from kbkit.english.roles import is_untyped
from kbkit.english.types import type_noun

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

PROMPT = "conv_predicates"
MAX_PREDICATES = 50
"""Predicates in one call, as in section 3 of the paper."""
ATTEMPTS = 3
_UNIQUE, _ENOUGH = 0.9, 10
_RARE = 0.25
"""Number of values, relative to those of the most frequent relation, below which a relation tells of exceptions: the
language of films that are not in English."""
_PARTIAL = "only some values are known"
_ORDINAL = re.compile(r"(?i)(?:series )?ordinal|billing|order|rank|position|index|number|sourcing .*|reason .*|of")


@dataclass(frozen=True)
class Selection(Row):
    """Whether a predicate is asked for: ``dropped`` has the reason if not. ``qualifiers`` that are asked for."""

    label: str
    qualifiers: list[str] = field(default_factory=list)


SELECTION = Stage("2_selection", Selection)


def by_rule(rows: Sequence[Predicate], *, max_answers: int, min_coverage: float) -> list[Selection]:
    """Select predicates by rule."""
    return [
        Selection(
            row.id,
            row.label,
            [qualifier.name for qualifier in row.qualifiers if not _ORDINAL.fullmatch(qualifier.label)],
            dropped=reason(row, max_answers=max_answers, min_coverage=min_coverage),
        )
        for row in rows
    ]


def reason(row: Predicate, *, max_answers: int, min_coverage: float) -> str:
    """Return why a predicate is not asked for, or ""."""
    label, is_common = row.label, row.entities >= _ENOUGH
    is_text = row.kind == "text"
    reasons = {
        f"low coverage ({row.coverage:.1%})": row.coverage < min_coverage,
        f"too many values ({row.mean:.0f} on average)": row.mean > max_answers and not row.qualifiers,
        f"nearly constant ({row.top:.0%})": is_common and row.top >= CONSTANT and row.shape != "qualified",
        MONEY: row.kind == "number" and lacks_currency(label, row.unit),
        UNIT: row.kind == "number" and lacks_unit(label, row.unit),
        RATER: row.kind == "number" and lacks_rater(label),
        DATE: is_text and label.rpartition(" ")[2].casefold() == "date",
        LABELS: is_marker(row.target) and row.kind == "entity",
        "nearly unique texts": is_common and is_text and row.distinct > _UNIQUE * row.entities * row.mean,
    }
    return unfit(label, row.kind) or next((text for text, holds in reasons.items() if holds), "")


def unknown(kb: KnowledgeBase, row: Predicate) -> str:
    """Return why a question names the values of a predicate, or why they are not known well enough, or ""."""
    years = WorkYears(kb)
    if row.predicate in years.predicates(row.type) and years.noun(row.type):
        return "the year that a question says with a title"
    if not row.relation:
        is_list = row.origin == "statement" and row.kind == "entity" and row.predicate in open_properties(kb)
        return _PARTIAL * (is_list or is_short_cast(known_phrase(row.label, of_head=True), row.mean))
    forward = row.origin != "backward"
    is_dated = any(one.kind == "date" for one in row.qualifiers)
    is_dated |= bool(row.target) and type_noun(row.target) == "year"  # so many people in the year 2000
    if not is_dated and is_known_in_part(kb, row.type, row.target, [(row.relation, forward)]):
        return _PARTIAL
    if not forward and is_sample(kb, row.target) and not is_function(kb, row.type, [(row.relation, False)]):
        return f"the KB has only some nodes of type {row.target}"
    heads = head_nouns(kb) or {}
    if row.relation in heads and is_untyped(row.type):
        like = [name for name, noun in heads.items() if noun == heads[row.relation]]
        counts = {name: kb.schema.relation(name).pairs for name in like}
        if counts[row.relation] < _RARE * max(counts.values()):
            return "most nodes have no value, so that it may be said of the others only"
    return ""


# -- by a model -------------------------------------------------------------------------------------------------------


def by_model(calls: Calls, rows: Sequence[Predicate]) -> list[Selection]:
    """Let a model select predicates, at most ``MAX_PREDICATES`` of a type a call.

    Ids that were not given are reported to the model, which is asked again; after ``ATTEMPTS`` calls its predicates are
    dropped.
    """
    batches = list(_batches(rows))
    chosen: dict[int, set[str]] = {}
    problems = dict.fromkeys(range(len(batches)), "")
    for attempt in range(ATTEMPTS):
        asked = [number for number in range(len(batches)) if number not in chosen]
        answers = calls.ask(PROMPT, [_inputs(batches[n], problems[n]) for n in asked], sample=attempt)
        for number, answer in zip(asked, answers, strict=True):
            known = {one["id"] for one in _listed(batches[number])}
            selected = [] if answer.value is None else list(answer.value["selected"])
            unknown = [one for one in selected if one not in known]
            problems[number] = answer.problem or (f"{unknown[0]!r} is not one of the ids" if unknown else "")
            if not problems[number]:
                chosen[number] = set(selected)
    selections = []
    for number, batch in enumerate(batches):
        for row in batch:
            names = chosen.get(number)
            invalid = f"the model's selection is invalid: {problems[number]}"
            dropped = invalid if names is None else "" if row.predicate in names else "not selected by the model"
            own = [q.name for q in row.qualifiers if names is not None and f"{row.predicate}/{q.name}" in names]
            if own and dropped == "not selected by the model":
                dropped = ""
            selections.append(Selection(row.id, row.label, own, dropped=dropped))
    return selections


def _batches(rows: Sequence[Predicate]) -> Iterator[list[Predicate]]:
    """Yield the predicates of one type, as many as fit in a call, with their qualifiers."""
    for _, group in groupby(rows, key=lambda row: row.type):
        batch: list[Predicate] = []
        size = 0
        for row in group:
            need = 1 + len(row.qualifiers)
            if batch and size + need > MAX_PREDICATES:
                yield batch
                batch, size = [], 0
            batch.append(row)
            size += need
        yield batch


def _listed(batch: Sequence[Predicate]) -> list[dict[str, str]]:
    """Return ids and names; a qualifier follows its predicate, whose relationship it is."""
    listed = []
    for row in batch:
        listed.append({"id": row.predicate, "name": row.described})
        listed += [
            {"id": f"{row.predicate}/{qualifier.name}", "name": row.described, "relationship": qualifier.label}
            for qualifier in row.qualifiers
        ]
    return listed[:MAX_PREDICATES]


def _inputs(batch: Sequence[Predicate], problem: str) -> Mapping[str, Any]:
    return {"type": batch[0].type, "predicates": _listed(batch), "problem": problem}
