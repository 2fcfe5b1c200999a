"""Positive units by a model, with the loop of section 3.2.2 of the paper.

A model is asked whether the positive units derive none, some or all of the answers (Figure 11). Where it is not all,
the units are chosen again, and the check is repeated, until more than 95% of the instances pass or the rounds are used
up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.ska.instances import ROW, Instance, KnowledgeUnit, numbered

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

CHECK, CHOOSE = "ska_positive_check", "ska_positive_units"
NONE, SOME, ALL = "none", "some", "all"
ENOUGH = 0.95
ROUNDS = 3
SHOWN = 200
"""Units that a model chooses from: the positive ones and the first of the noise."""


@dataclass(frozen=True)
class Round:
    """Numbers of instances by what their positive units derive; ``invalid`` counts answers that were not valid."""

    number: int
    none: int
    some: int
    all: int
    invalid: int

    @property
    def share(self) -> float:
        """The share of instances whose positive units derive all answers."""
        total = self.none + self.some + self.all + self.invalid
        return self.all / total if total else 0.0


def check_positives(calls: Calls, instances: Sequence[Instance]) -> list[str]:
    """Return for each instance whether its positive units derive ``none``, ``some`` or ``all`` of its answers.

    Without positive units the answer is ``none``, without a call. Empty: the model gave no valid answer.
    """
    asked = [instance for instance in instances if instance.positive]
    answers = iter(calls.ask(CHECK, [_inputs(instance, instance.positive) for instance in asked]))
    verdicts = []
    for instance in instances:
        if not instance.positive:
            verdicts.append(NONE)
            continue
        answer = next(answers)
        verdicts.append("" if answer.problem else str(answer.value["derivable"]))
    return verdicts


def choose(calls: Calls, instances: Sequence[Instance], derived: Sequence[str]) -> list[Instance]:
    """Return the instances with the positive units that a model chooses; unchanged where its answer is not valid.

    ``derived`` is what the present positive units derive: ``none``, ``some`` or ``all``.
    """
    inputs = []
    for instance, verdict in zip(instances, derived, strict=True):
        units = _offered(instance)
        tried = list(range(1, len(instance.positive) + 1))
        inputs.append({**_inputs(instance, units), "tried": tried, "derived": verdict if tried else ""})
    answers = calls.ask(CHOOSE, inputs)
    return [
        instance if answer.problem else _with(instance, answer.value["units"])
        for instance, answer in zip(instances, answers, strict=True)
    ]


def annotate(calls: Calls, instances: Sequence[Instance]) -> tuple[list[Instance], list[Round]]:
    """Return the instances whose positive units derive all answers, and a report of each round.

    The first round checks the units as they are, so that they can come from cells, traces or nowhere.
    """
    current = list(instances)
    reports: list[Round] = []
    verdicts: list[str] = []
    for number in range(1, ROUNDS + 1):
        verdicts = check_positives(calls, current)
        reports.append(Round(number, *(verdicts.count(one) for one in (NONE, SOME, ALL, ""))))
        open_ones = [i for i, verdict in enumerate(verdicts) if verdict != ALL]
        if reports[-1].share > ENOUGH or not open_ones or number == ROUNDS:
            break
        again = choose(calls, [current[i] for i in open_ones], [verdicts[i] for i in open_ones])
        for i, instance in zip(open_ones, again, strict=True):
            current[i] = instance
    return [instance for instance, verdict in zip(current, verdicts, strict=True) if verdict == ALL], reports


def _inputs(instance: Instance, units: Sequence[KnowledgeUnit]) -> dict[str, Any]:
    is_table = any(unit.kind == ROW for unit in units)
    return {
        "question": instance.question,
        "answers": instance.answers,
        "header": instance.header if is_table else [],
        "units": [unit.content for unit in units],
    }


def _offered(instance: Instance) -> list[KnowledgeUnit]:
    return [*instance.positive, *instance.noise[: max(0, SHOWN - len(instance.positive))]]


def _with(instance: Instance, numbers: Sequence[int]) -> Instance:
    """Return an instance with the positive units of these numbers (from 1); the others are noise, the former first."""
    offered = _offered(instance)
    chosen = {offered[number - 1].id for number in numbers if 1 <= number <= len(offered)}
    positive = [unit for unit in instance.units if unit.id in chosen]
    noise = [unit for unit in instance.units if unit.id not in chosen]
    provenance = replace(instance.provenance, evidence="model", sql="")
    return replace(instance, positive=numbered(positive, "p"), noise=numbered(noise, "n"), provenance=provenance)
