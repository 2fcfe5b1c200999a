"""Positive units annotated by people (section 3.2.2 and Figure 10 of the paper), their agreement, and its result.

Each of three people reads the question, its answers and a list of units, and names the units that the answers need, or
one of the paper's reasons to leave the question out. The list holds the present positive units and the noise that
shares most words with the question, in random order, so that the list does not reveal which units are positive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.people.judgements import ANNOTATIONS, Judgement, RaterFolder, outside
from kbkit.benchmarks.people.tasks import Marking, Passage, Task, TaskItem, TaskQuestion
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.instances import Instance, KnowledgeUnit, numbered
from kbkit.errors import KbError
from kbkit.measures.agreement import agreement_table

USABLE = "usable"
VERDICTS = {
    USABLE: "",
    "wrong": "an answer is wrong",
    "incomplete": "an answer is missing",
    "arithmetic": "needs arithmetic on the whole table",
    "order": "depends on the order of the rows",
    "single source": "needs the structured units alone, or the texts alone",
}
"""The verdicts on a question and what they mean: the paper's five rules."""
VERDICT, NEEDED = "verdict", "needed"
"""The questions: which rule a question breaks, of an instance; whether the answers need it, of each shown unit."""
_RULES = {name[0]: name for name in VERDICTS if name != USABLE}
_VERDICT = TaskQuestion(VERDICT, "", {entered: VERDICTS[name] for entered, name in _RULES.items()}, _RULES)
UNITS = 30
"""Number of units shown."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Annotation:
    """An annotator's verdict on an instance, the ids of the ``units`` that the answers need, and the time taken."""

    verdict: str
    units: frozenset[str] = frozenset()
    seconds: float = 0.0


Annotations = Mapping[str, Mapping[str, Annotation]]
"""The annotations of each annotator by instance."""


def annotator_files(folder: Path) -> RaterFolder:
    """Return the files of the annotators of a dataset."""
    return RaterFolder(folder / ANNOTATIONS, _problem)


def _problem(judgement: Judgement) -> str:
    parts = 1 if judgement.question == VERDICT else 2
    wrong = outside({VERDICT: list(_RULES.values()), NEEDED: (True, False)}, judgement)
    return wrong or ("" if len(judgement.item) == parts else "its item is not an instance, or an instance and a unit")


def annotations_of(judgements: Mapping[str, Sequence[Judgement]], instances: Sequence[Instance]) -> Annotations:
    """Return the annotations of instances by their judgements, without those of other instances and incomplete ones.

    Raises :class:`KbError` for a unit that its instance does not have.
    """
    known = {instance.id: instance for instance in instances}
    return {who: dict(_annotations(own, known)) for who, own in judgements.items()}


def _annotations(judgements: Sequence[Judgement], known: Mapping[str, Instance]) -> Iterator[tuple[str, Annotation]]:
    verdicts: dict[str, Judgement] = {}
    marks: dict[str, dict[str, Judgement]] = {}
    for judgement in judgements:
        if judgement.item[0] in known and judgement.mark is not None:
            marks.setdefault(judgement.item[0], {})
            if judgement.question == VERDICT:
                verdicts[judgement.item[0]] = judgement
            else:
                marks[judgement.item[0]][judgement.item[1]] = judgement
    for name, own in marks.items():
        if unknown := own.keys() - {unit.id for unit in known[name].units}:
            message = f"Instance {name} has no unit {min(unknown)!r}"
            raise KbError(message, "The annotations are of another version of the dataset")
        if name in verdicts:
            yield name, Annotation(str(verdicts[name].mark), seconds=verdicts[name].seconds)
        elif own.keys() >= {unit.id for unit in shown(known[name])}:
            needed = frozenset(unit for unit, judgement in own.items() if judgement.mark)
            yield name, Annotation(USABLE, needed, max(judgement.seconds for judgement in own.values()))


def tasks(instances: Sequence[Instance], limit: int = 0, seed: int = 0) -> list[Instance]:
    """Return the instances to annotate in random order, the same for all annotators; ``limit`` 0 means all."""
    check_range("seed", seed, 0)
    order = np.random.default_rng(seed).permutation(len(instances)).tolist()
    return [instances[at] for at in (order[:limit] if limit else order)]


def shown(instance: Instance) -> list[KnowledgeUnit]:
    """Return the units to show: all positive ones, and noise up to ``UNITS``, in an order that depends on the id."""
    asked = _words([instance.question, *instance.answers, *instance.provenance.topics])
    noise = [unit for unit in instance.noise if not unit.synthesized] or instance.noise
    ranked = sorted(noise, key=lambda unit: -len(asked & _words(unit.content)))
    units = [*instance.positive, *ranked[: max(0, UNITS - len(instance.positive))]]
    rng = np.random.default_rng(list(instance.id.encode()))
    return [units[at] for at in rng.permutation(len(units)).tolist()]


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold())}


class UnitsTask(Task):
    """An annotator's task: the units that the answers of each instance need, or the rule that its question breaks.

    Raises :class:`KbError` for an invalid name.
    """

    title = "Mark the units that answers need"
    noun = ("instance", "instances")

    def __init__(self, folder: Path, rater: str, limit: int = 0, seed: int = 0) -> None:
        files = annotator_files(folder)
        super().__init__(files.path(rater), rater, files.problem)
        self._instances = {instance.id: instance for instance in tasks(instances.read_instances(folder), limit, seed)}

    @property
    def keys(self) -> list[str]:
        """The ids of the instances."""
        return list(self._instances)

    def item(self, key: Hashable) -> TaskItem:
        """Return an instance with its units."""
        instance = self._instances[str(key)]
        units = shown(instance)
        passage = Passage([unit.content for unit in units], instance.title, instance.header, numbered=True)
        marking = Marking(NEEDED, "units or rule", passage, [unit.id for unit in units])
        lines = [f"answers: {'; '.join(instance.answers)}"]
        return TaskItem(instance.question, lines, marking=marking, instead=_VERDICT)


# -- agreement --------------------------------------------------------------------------------------------------------


def agreement(raters: Annotations, instances: Sequence[Instance]) -> pl.DataFrame:
    """Return how annotators agree, as :func:`~kbkit.measures.agreement.agreement_table`, ``on`` verdicts and units.

    ``verdict`` is per instance; ``units`` per shown unit of the instances that all of them found usable.
    """
    verdicts = {name: {item: one.verdict for item, one in own.items()} for name, own in raters.items()}
    units = {name: _marks(own, instances) for name, own in raters.items()}
    return agreement_table("on", {"verdict": verdicts, "units": units})


def _marks(own: Mapping[str, Annotation], instances: Sequence[Instance]) -> dict[Hashable, bool]:
    """Return which units an annotator marked, of all that were shown."""
    usable = {item: one.units for item, one in own.items() if one.verdict == USABLE}
    return {
        (instance.id, unit.id): unit.id in usable[instance.id]
        for instance in instances
        if instance.id in usable
        for unit in shown(instance)
    }


def expert_minutes(raters: Annotations, instances: Sequence[Instance]) -> pl.DataFrame:
    """Return the median time per instance, as in Table 1: form, annotations, minutes."""
    forms = {instance.id: instance.form for instance in instances}
    times: dict[str, list[float]] = {}
    for own in raters.values():
        for item, one in own.items():
            times.setdefault(forms[item], []).append(one.seconds / 60)
    rows = [(form, len(minutes), median(minutes)) for form, minutes in times.items()]
    return pl.DataFrame(rows, schema={"form": pl.String, "annotations": pl.Int64, "minutes": pl.Float64}, orient="row")


# -- result -----------------------------------------------------------------------------------------------------------


def apply(instances: Sequence[Instance], raters: Annotations) -> tuple[list[Instance], dict[str, int]]:
    """Return the instances with the positive units that most annotators named, and counts of those left out by reason.

    An instance without annotations stays as it is. One that most annotators did not find usable, or without a unit that
    most named, is left out.
    """
    kept: list[Instance] = []
    left_out: Counter[str] = Counter()
    for instance in instances:
        given = [own[instance.id] for own in raters.values() if instance.id in own]
        if not given:
            kept.append(instance)
            continue
        verdicts = Counter(one.verdict for one in given)
        if verdicts[USABLE] * 2 <= len(given):
            reason, _ = max(((v, n) for v, n in verdicts.items() if v != USABLE), key=lambda pair: pair[1])
            left_out[VERDICTS[reason]] += 1
            continue
        usable = [one for one in given if one.verdict == USABLE]
        marked = Counter(unit for one in usable for unit in one.units)
        chosen = {unit for unit, count in marked.items() if count * 2 > len(usable)}
        if not chosen:
            left_out["no agreement on the units"] += 1
            continue
        kept.append(_with_positive(instance, chosen))
    return kept, dict(left_out)


def _with_positive(instance: Instance, chosen: set[str]) -> Instance:
    """Return an instance with other positive units; the query stays, because the question has the same meaning."""
    positive = [unit for unit in instance.units if unit.id in chosen]
    noise = [unit for unit in instance.units if unit.id not in chosen]
    provenance = replace(instance.provenance, evidence="people")
    return replace(instance, positive=numbered(positive, "p"), noise=numbered(noise, "n"), provenance=provenance)
