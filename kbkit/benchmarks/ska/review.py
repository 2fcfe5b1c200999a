"""Review of synthesized rows by people (section 3.2.3 of the paper): rows that are unsafe are deleted.

A verdict is whether a synthesized row is safe: whether the answers of the question stay the same with it. The
file of a reviewer is ``review/NAME.jsonl`` in the folder of the dataset.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.judging import Answers, Item, Marking, Passage, Task
from kbkit.benchmarks.raters import RaterFiles
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.instances import Instance, Unit
from kbkit.errors import Command, KbError

FOLDER = "review"


@dataclass(frozen=True)
class Verdict:
    """A reviewer's verdict on a synthesized row: the instance, the id of the unit, and whether it is safe."""

    instance: str
    unit: str
    safe: bool


def files(folder: Path) -> RaterFiles[Verdict]:
    """Return the files of the reviewers of a dataset."""
    return RaterFiles(folder / FOLDER, Verdict, lambda one: (one.instance, one.unit))


def sampled(instances: Sequence[Instance], count: int, rows: int, seed: int) -> list[tuple[Instance, list[Unit]]]:
    """Return ``count`` instances with synthesized rows at random (0: all), each with up to ``rows`` of these rows."""
    check_range("seed", seed, 0)
    fit = [one for one in instances if any(unit.synthesized for unit in one.noise)]
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(fit)).tolist()[: count or len(fit)]
    result = []
    for at in chosen:
        units = [unit for unit in fit[at].noise if unit.synthesized]
        kept = sorted(rng.choice(len(units), min(rows, len(units)), replace=False).tolist())
        result.append((fit[at], [units[i] for i in kept]))
    return result


class Reviewing(Task):
    """A reviewer's task: the synthesized rows of each instance that are unsafe.

    Raises :class:`KbError` for an invalid name, and if the dataset has no synthesized rows.
    """

    title = "Mark the synthesized rows that change answers"
    noun = ("instance", "instances")

    def __init__(self, folder: Path, rater: str, limit: int = 0, rows: int = 10, seed: int = 0) -> None:
        self._files, self._rater = files(folder), rater
        self.path = self._files.path(rater)
        self._known = self._files.of(rater)
        self._tasks = {one.id: (one, units) for one, units in sampled(instances.read(folder), limit, rows, seed)}
        if not self._tasks:
            message = f"No synthesized rows in {folder}"
            raise KbError(message, "Run ", Command("ska make"), " with a form that has tables")

    @property
    def keys(self) -> list[str]:
        """The ids of the instances."""
        return list(self._tasks)

    def item(self, key: Hashable) -> Item:
        """Return an instance with its positive units and synthesized rows."""
        instance, units = self._tasks[str(key)]
        lines = [f"answers: {'; '.join(instance.answers)}"]
        positive = Passage([unit.content for unit in instance.positive], f"{instance.title}: positive", instance.header)
        rows = Passage([unit.content for unit in units], "Synthesized rows", instance.header, numbered=True)
        return Item(instance.question, lines, [positive], Marking("unsafe rows", rows, empty=True))

    def given(self, key: Hashable) -> Answers | None:
        """Return the rows of an instance that the reviewer marked, once all have a verdict."""
        _, units = self._tasks[str(key)]
        verdicts = [self._known.get((key, unit.id)) for unit in units]
        if any(one is None for one in verdicts):
            return None
        return Answers(rows=[at for at, one in enumerate(verdicts) if one is not None and not one.safe])

    def save(self, key: Hashable, answers: Answers) -> int:
        """Save a verdict on each row."""
        instance, units = self._tasks[str(key)]
        for at, unit in enumerate(units):
            one = Verdict(instance.id, unit.id, at not in answers.rows)
            self._files.append(self._rater, one)
            self._known[one.instance, one.unit] = one
        return len(units)


def judged(instances: Sequence[Instance], given: Iterable[Verdict]) -> dict[tuple[str, str], bool]:
    """Return whether each judged row, by instance and unit, is safe: whether no reviewer marked it as unsafe.

    Raises :class:`KbError` for a row that no instance has, or that is not synthesized.
    """
    known = {(one.id, unit.id) for one in instances for unit in one.noise if unit.synthesized}
    result: dict[tuple[str, str], bool] = {}
    for verdict in given:
        key = (verdict.instance, verdict.unit)
        if key not in known:
            message = f"Instance {verdict.instance!r} has no synthesized row {verdict.unit!r}"
            raise KbError(message, "The rows were reviewed in another version of the dataset: review them again")
        result[key] = result.get(key, True) and verdict.safe
    return result


def without_unsafe(instances: Sequence[Instance], verdicts: dict[tuple[str, str], bool]) -> list[Instance]:
    """Return the instances without the rows that are unsafe; the ids of other units stay the same."""
    return [
        replace(one, noise=[unit for unit in one.noise if verdicts.get((one.id, unit.id), True)]) for one in instances
    ]
