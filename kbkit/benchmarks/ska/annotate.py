"""Positive units annotated by people (section 3.2.2 and Figure 10 of the paper), their agreement, and its result.

Each of three people reads the question, its answers and a list of units, and names the units that the answers need, or
one of the paper's reasons to leave the question out. The list holds the present positive units and the noise that
shares most words with the question, in random order, so that the list does not reveal which units are positive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.judging import Answers, Item, Marking, Passage, Task
from kbkit.benchmarks.raters import FOLDER, RaterFiles
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.instances import Instance, Unit, numbered
from kbkit.errors import KbError
from kbkit.measures.agreement import cohen, fleiss

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
_RULES = {name[0]: meaning for name, meaning in VERDICTS.items() if name != USABLE}
UNITS = 30
"""Number of units shown."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Annotation:
    """An annotation of an instance: a verdict, the ids of the ``units`` that the answers need, the time taken."""

    instance: str
    verdict: str
    units: list[str] = field(default_factory=list)
    seconds: float = 0.0


def files(folder: Path) -> RaterFiles[Annotation]:
    """Return the files of the annotators of a dataset."""
    return RaterFiles(folder / FOLDER, Annotation, lambda one: one.instance, _problem)


def _problem(annotation: Annotation) -> str:
    if annotation.verdict not in VERDICTS:
        return f"verdict {annotation.verdict!r} is not {', '.join(VERDICTS)}"
    return "no units" if annotation.verdict == USABLE and not annotation.units else ""


def tasks(instances: Sequence[Instance], limit: int = 0, seed: int = 0) -> list[Instance]:
    """Return the instances to annotate in random order, the same for all annotators; ``limit`` 0 means all."""
    check_range("seed", seed, 0)
    order = np.random.default_rng(seed).permutation(len(instances)).tolist()
    return [instances[at] for at in (order[:limit] if limit else order)]


def shown(instance: Instance) -> list[Unit]:
    """Return the units to show: all positive ones, and noise up to ``UNITS``, in an order that depends on the id."""
    asked = _words([instance.question, *instance.answers, *instance.provenance.topics])
    noise = [unit for unit in instance.noise if not unit.synthesized] or instance.noise
    ranked = sorted(noise, key=lambda unit: -len(asked & _words(unit.content)))
    units = [*instance.positive, *ranked[: max(0, UNITS - len(instance.positive))]]
    rng = np.random.default_rng(list(instance.id.encode()))
    return [units[at] for at in rng.permutation(len(units)).tolist()]


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold())}


class Annotating(Task):
    """An annotator's task: the units that the answers of each instance need, or the rule that its question breaks.

    Raises :class:`KbError` for an invalid name.
    """

    title = "Mark the units that answers need"
    noun = ("instance", "instances")

    def __init__(self, folder: Path, rater: str, limit: int = 0, seed: int = 0) -> None:
        self._files, self._rater = files(folder), rater
        self.path = self._files.path(rater)
        self._known = self._files.of(rater)
        self._instances = {one.id: one for one in tasks(instances.read(folder), limit, seed)}

    @property
    def keys(self) -> list[str]:
        """The ids of the instances."""
        return list(self._instances)

    def item(self, key: Hashable) -> Item:
        """Return an instance with its units."""
        instance = self._instances[str(key)]
        units = Passage([unit.content for unit in shown(instance)], instance.title, instance.header, numbered=True)
        marking = Marking("units or rule", units)
        return Item(instance.question, [f"answers: {'; '.join(instance.answers)}"], marking=marking, instead=_RULES)

    def given(self, key: Hashable) -> Answers | None:
        """Return the annotation of an instance."""
        one = self._known.get(key)
        if one is None:
            return None
        if one.verdict != USABLE:
            return Answers(instead=one.verdict[0])
        return Answers(rows=[at for at, unit in enumerate(shown(self._instances[str(key)])) if unit.id in one.units])

    def save(self, key: Hashable, answers: Answers) -> int:
        """Save an annotation."""
        units = shown(self._instances[str(key)])
        verdict = next((name for name in VERDICTS if name[0] == answers.instead), USABLE)
        one = Annotation(str(key), verdict, [units[at].id for at in answers.rows], round(answers.seconds, 1))
        self._files.append(self._rater, one)
        self._known[key] = one
        return 1


# -- agreement --------------------------------------------------------------------------------------------------------


def agreement(raters: Mapping[str, Mapping[Hashable, Annotation]], instances: Sequence[Instance]) -> pl.DataFrame:
    """Return how annotators agree: on, raters, measure, items, agreement, kappa, for all and for each two.

    ``verdict`` is per instance; ``units`` per shown unit of the instances that all of them found usable.
    """
    names = sorted(raters)
    verdicts = {name: {item: one.verdict for item, one in raters[name].items()} for name in names}
    units = {name: _marks(raters[name], instances) for name in names}
    rows: list[tuple[str, str, str, int, float | None, float | None]] = []
    for on, ratings in (("verdict", verdicts), ("units", units)):
        rows.append((on, "all", "fleiss", *fleiss([ratings[name] for name in names])))
        pairs = [(one, two) for at, one in enumerate(names) for two in names[at + 1 :]]
        rows += [(on, f"{one}, {two}", "cohen", *cohen(ratings[one], ratings[two])) for one, two in pairs]
    schema = {"on": pl.String, "raters": pl.String, "measure": pl.String, "items": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, "agreement": pl.Float64, "kappa": pl.Float64}, orient="row")


def _marks(annotations: Mapping[Hashable, Annotation], instances: Sequence[Instance]) -> dict[Hashable, bool]:
    """Return which units an annotator marked, of all that were shown."""
    usable = {item: set(one.units) for item, one in annotations.items() if one.verdict == USABLE}
    return {
        (instance.id, unit.id): unit.id in usable[instance.id]
        for instance in instances
        if instance.id in usable
        for unit in shown(instance)
    }


def expert_minutes(raters: Mapping[str, Mapping[Hashable, Annotation]], instances: Sequence[Instance]) -> pl.DataFrame:
    """Return the median time per instance, as in Table 1: form, annotations, minutes."""
    forms = {instance.id: instance.form for instance in instances}
    times: dict[str, list[float]] = {}
    for own in raters.values():
        for item, one in own.items():
            if str(item) in forms:
                times.setdefault(forms[str(item)], []).append(one.seconds / 60)
    rows = [(form, len(minutes), median(minutes)) for form, minutes in times.items()]
    return pl.DataFrame(rows, schema={"form": pl.String, "annotations": pl.Int64, "minutes": pl.Float64}, orient="row")


# -- result -----------------------------------------------------------------------------------------------------------


def apply(
    instances: Sequence[Instance], raters: Mapping[str, Mapping[Hashable, Annotation]]
) -> tuple[list[Instance], dict[str, int]]:
    """Return the instances with the positive units that most annotators named, and counts of those left out by reason.

    An instance without annotations stays as it is. One that most annotators did not find usable, or without a unit that
    most named, is left out. Raises :class:`KbError` if the annotators' units are not those of the instances.
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
        if unknown := marked.keys() - {unit.id for unit in instance.units}:
            message = f"Instance {instance.id} has no unit {min(unknown)!r}"
            raise KbError(message, "The annotations are of another version of the dataset")
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
