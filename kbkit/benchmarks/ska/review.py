"""Review of synthesized rows by people (section 3.2.3 of the paper): rows that are unsafe are deleted.

A row is unsafe if the answers of the question change with it. The file of a reviewer is ``review/NAME.jsonl`` in the
folder of the dataset.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.people.judgements import Judgement, RaterFolder, outside
from kbkit.benchmarks.people.tasks import Marking, Passage, Task, TaskItem
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.instances import Instance, KnowledgeUnit
from kbkit.errors import Command, KbError

FOLDER = "review"


UNSAFE = "unsafe"
"""The question about each row."""


def reviewer_files(folder: Path) -> RaterFolder:
    """Return the files of the reviewers of a dataset."""
    return RaterFolder(folder / FOLDER, _problem)


def _problem(judgement: Judgement) -> str:
    if len(judgement.item) != 2:
        return "its item is not an instance and a row"
    return outside({UNSAFE: (True, False)}, judgement)


def sampled(
    instances: Sequence[Instance], count: int, rows: int, seed: int
) -> list[tuple[Instance, list[KnowledgeUnit]]]:
    """Return ``count`` instances with synthesized rows at random (0: all), each with up to ``rows`` of these rows."""
    check_range("seed", seed, 0)
    fit = [instance for instance in instances if any(unit.synthesized for unit in instance.noise)]
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(fit)).tolist()[: count or len(fit)]
    drawn = []
    for at in chosen:
        units = [unit for unit in fit[at].noise if unit.synthesized]
        kept = sorted(rng.choice(len(units), min(rows, len(units)), replace=False).tolist())
        drawn.append((fit[at], [units[i] for i in kept]))
    return drawn


class Reviewing(Task):
    """A reviewer's task: the synthesized rows of each instance that are unsafe.

    Raises :class:`KbError` for an invalid name, and if the dataset has no synthesized rows.
    """

    title = "Mark the synthesized rows that change answers"
    noun = ("instance", "instances")

    def __init__(self, folder: Path, rater: str, limit: int = 0, rows: int = 10, seed: int = 0) -> None:
        files = reviewer_files(folder)
        super().__init__(files.path(rater), rater, files.problem)
        self._tasks = {
            instance.id: (instance, units)
            for instance, units in sampled(instances.read_instances(folder), limit, rows, seed)
        }
        if not self._tasks:
            message = f"No synthesized rows in {folder}"
            raise KbError(message, "Run ", Command("ska make"), " with a form that has tables")

    @property
    def keys(self) -> list[str]:
        """The ids of the instances."""
        return list(self._tasks)

    def item(self, key: Hashable) -> TaskItem:
        """Return an instance with its positive units and synthesized rows."""
        instance, units = self._tasks[str(key)]
        lines = [f"answers: {'; '.join(instance.answers)}"]
        positive = Passage([unit.content for unit in instance.positive], f"{instance.title}: positive", instance.header)
        rows = Passage([unit.content for unit in units], "Synthesized rows", instance.header, numbered=True)
        marking = Marking(UNSAFE, "unsafe rows", rows, [unit.id for unit in units], empty=True)
        return TaskItem(instance.question, lines, [positive], marking)


def judged(instances: Sequence[Instance], given: Iterable[Judgement]) -> dict[tuple[str, str], bool]:
    """Return whether each judged row, by instance and unit, is safe: whether no reviewer marked it as unsafe.

    Raises :class:`KbError` for a row that no instance has, or that is not synthesized.
    """
    known = {(instance.id, unit.id) for instance in instances for unit in instance.noise if unit.synthesized}
    safe: dict[tuple[str, str], bool] = {}
    for judgement in given:
        instance, unit = key = judgement.item[0], judgement.item[1]
        if key not in known:
            message = f"Instance {instance!r} has no synthesized row {unit!r}"
            raise KbError(message, "The rows were reviewed in another version of the dataset: review them again")
        if judgement.mark is not None:
            safe[key] = safe.get(key, True) and not judgement.mark
    return safe


def without_unsafe(instances: Sequence[Instance], verdicts: dict[tuple[str, str], bool]) -> list[Instance]:
    """Return the instances without the rows that are unsafe; the ids of other units stay the same."""
    return [
        replace(instance, noise=[unit for unit in instance.noise if verdicts.get((instance.id, unit.id), True)])
        for instance in instances
    ]
