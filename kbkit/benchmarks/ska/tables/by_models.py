"""New rows of tables from language models, checked by a model (section 3.2.3 and Figures 12 to 14 of the paper).

Models take turns in writing rows. For each question a model states the conditions under which a row is used; a model
checks each new row against them, and rows that meet them are written again, for a limited number of rounds. The rows
replace rows that were made by rule, which fill the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kbkit.benchmarks.ska.instances import PASSAGE, ROW, Instance, KnowledgeUnit
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.tables.noise import safe
from kbkit.llm.calls import Calls

PROMPTS = ("ska_rows", "ska_conditions", "ska_check")
PER_CALL = 20
"""Rows that a model writes at once, as in the paper."""
ROUNDS = 3
"""Further rounds in which rejected rows are written again."""
_SHOWN = 20
"""Rows of the table that a model reads."""
_MAX_CELL = 300


@dataclass
class _Work:
    """An instance, the number of rows it still needs, and the accepted rows, each with its model and check."""

    instance: Instance
    missing: int
    conditions: str = ""
    accepted: list[tuple[list[str], str, str]] = field(default_factory=list)

    @property
    def original(self) -> list[KnowledgeUnit]:
        """The rows of the table, in order."""
        rows = [unit for unit in self.instance.units if unit.kind == ROW and not unit.synthesized]
        return sorted(rows, key=lambda unit: unit.position)


def with_models(
    instances: Sequence[Instance], calls: Calls, rows: int, solver: Solver, rounds: int = ROUNDS
) -> list[Instance]:
    """Return instances in which up to ``rows`` synthesized rows are from the models of ``calls``, in turn.

    Rows made by rule stay where models give too few. ``Unit.synthesized`` names the model, ``Unit.check`` the result.
    """
    work = [
        _Work(instance, min(rows, sum(bool(unit.synthesized) for unit in instance.noise))) for instance in instances
    ]
    asked = [one for one in work if one.missing]
    inputs = [_positive(one.instance) for one in asked]
    for one, answer in zip(asked, calls.ask("ska_conditions", inputs, calls.second), strict=True):
        one.conditions = "" if answer.problem else answer.value["conditions"].strip()
    asked = [one for one in asked if one.conditions]  # without conditions no row can be checked
    calls_needed = -(-rows // PER_CALL)
    for number in range(calls_needed + rounds):
        left = [one for one in asked if one.missing > 0]
        if not left:
            break
        writer = calls.models[number % len(calls.models)]
        _round(left, calls, writer, number, solver)
    return [_replaced(one) for one in work]


def _round(work: Sequence[_Work], calls: Calls, writer: str, number: int, solver: Solver) -> None:
    """Let a model write rows for some instances, and accept those that pass both checks."""
    inputs = [_request(one) for one in work]
    drafts: list[list[list[str]]] = []
    for one, answer in zip(work, calls.ask("ska_rows", inputs, writer, sample=number), strict=True):
        drafts.append([] if answer.problem else _new(one, answer.value["rows"]))
    waiting = [(one, rows) for one, rows in zip(work, drafts, strict=True) if rows]
    checks = [
        {
            "header": one.instance.header,
            "question": one.instance.question,
            "answers": one.instance.answers,
            "conditions": one.conditions,
            "rows": [{"number": i, "cells": row} for i, row in enumerate(rows)],
        }
        for one, rows in waiting
    ]
    for (one, rows), answer in zip(waiting, calls.ask("ska_check", checks, calls.second), strict=True):
        meeting = set() if answer.problem else set(answer.value["meet"])
        if answer.problem or not meeting <= set(range(len(rows))):
            continue  # a check of rows that do not exist is none of those that do
        passed = [row for i, row in enumerate(rows) if i not in meeting]
        fit = safe(one.instance, passed, solver)
        kept = [row for row, is_safe in zip(passed, fit, strict=True) if is_safe][: one.missing]
        one.accepted += [(row, writer, f"{calls.second}: does not meet: {one.conditions}") for row in kept]
        one.missing -= len(kept)


def _positive(instance: Instance) -> dict[str, Any]:
    return {
        "header": instance.header,
        "question": instance.question,
        "answers": instance.answers,
        "positive": [
            {"title": unit.content[0], "text": unit.content[1]} if unit.kind == PASSAGE else unit.content
            for unit in instance.positive
        ],
    }


def _request(work: _Work) -> dict[str, Any]:
    """Return the inputs of the prompt for new rows: the positive rows and some others."""
    instance = work.instance
    positive = {unit.id for unit in instance.positive}
    chosen = sorted(work.original, key=lambda unit: (unit.id not in positive, unit.position))[:_SHOWN]
    rows = [unit.content for unit in sorted(chosen, key=lambda unit: unit.position)]
    rows += [row for row, _, _ in work.accepted[-_SHOWN:]]  # so that they are not written again
    return {
        "title": instance.title,
        "header": instance.header,
        "rows": [[cell[:_MAX_CELL] for cell in row] for row in rows],
        "question": instance.question,
        "answers": instance.answers,
        "count": min(PER_CALL, work.missing),
    }


def _new(work: _Work, rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows of the right length that neither repeat a row nor the first cell that names one."""
    known = {tuple(unit.content) for unit in work.instance.units if unit.kind == ROW}
    known |= {tuple(row) for row, _, _ in work.accepted}
    keys = _keys(work)
    new_rows = []
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        is_new = len(cells) == len(work.instance.header) and tuple(cells) not in known
        if is_new and any(cells) and not (keys and cells[keys[0]].casefold() in keys[1]):
            known.add(tuple(cells))
            if keys:
                keys[1].add(cells[keys[0]].casefold())
            new_rows.append(cells)
    return new_rows


def _keys(work: _Work) -> tuple[int, set[str]] | None:
    """Return the position of the first column whose cells differ in all original rows, and its cells."""
    rows = [unit.content for unit in work.original]
    for position in range(len(work.instance.header)):
        cells = [row[position].casefold() for row in rows]
        if len(cells) > 1 and len(set(cells)) == len(cells) and all(any(map(str.isalpha, cell)) for cell in cells):
            every = [unit.content[position].casefold() for unit in work.instance.units if unit.kind == ROW]
            return position, {*every, *(row[position].casefold() for row, _, _ in work.accepted)}
    return None


def _replaced(work: _Work) -> Instance:
    """Return the instance with accepted rows in place of rows made by rule."""
    new = iter(work.accepted)
    noise = []
    for unit in work.instance.noise:
        if unit.synthesized and (row := next(new, None)) is not None:
            noise.append(replace(unit, content=row[0], synthesized=row[1], check=row[2]))
        else:
            noise.append(unit)
    return replace(work.instance, noise=noise)
