"""Run systems on testbeds: a language model, the oracle, the baseline. A record per record of the testbeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks import run as runs
from kbkit.benchmarks.pipeline import Row
from kbkit.benchmarks.ska import prompts
from kbkit.benchmarks.ska.instances import Instance, KnowledgeUnit, file_of, scan
from kbkit.benchmarks.ska.rendering import inputs
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.testbeds import REJECTION, Report, TestbedRecord
from kbkit.directory.generations import fingerprint
from kbkit.errors import Command, KbError, QueryError

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

ORACLE, BASELINE = "oracle", "baseline"
FOLDER, FOLDER_OF_RUNS = "testbeds", "runs"
"""Folders of the testbeds and of the runs in the folder of a dataset."""
BATCH = 64
"""Number of records that are answered together and then written."""


@dataclass(frozen=True)
class Answered(Row):
    """The answer of a system to a record of a testbed.

    ``gold`` is empty for negative rejection. ``predicted`` is None without an answer, for the reason in ``error``.
    ``reply`` is the whole reply of a model, ``reading`` how a system without a model found its answer.
    """

    instance: str
    form: str
    testbed: str
    setting: str
    positive: int
    gold: list[str]
    predicted: list[str] | None = None
    reply: str = ""
    reading: str = ""
    error: str = ""
    tokens: int = field(default=0)


@dataclass(frozen=True)
class UnitsPrediction:
    """The prediction of a system for a record; see :class:`Answered`."""

    predicted: list[str] | None
    reply: str = ""
    reading: str = ""
    error: str = ""


Asked = tuple[TestbedRecord, Instance]
"""A record with its instance."""

System = runs.System[Asked, UnitsPrediction | None]
"""Answers the questions of records. A record without a prediction is skipped."""


# -- systems ----------------------------------------------------------------------------------------------------------


class PromptedModel:
    """A language model: the knowledge is in its prompt."""

    def __init__(self, calls: Calls, name: str) -> None:
        self._calls, self.name = calls, name
        self.settings = {"model": name, "prompts": {prompt: calls.prompt(prompt).digest for prompt in prompts.PROMPTS}}

    def answer(self, asked: Sequence[Asked]) -> list[UnitsPrediction | None]:
        """See :class:`System`. Equal inputs of several settings are sent once."""
        predictions: dict[int, UnitsPrediction | None] = {}
        for prompt in prompts.PROMPTS:
            places = [at for at, (record, _) in enumerate(asked) if prompts.name_of(record.testbed) == prompt]
            values = [
                inputs(instance, instance.chosen(record.units)) for record, instance in map(asked.__getitem__, places)
            ]
            replies = self._calls.ask(prompt, values, self.name) if values else []
            for at, reply in zip(places, replies, strict=True):
                predictions[at] = self._prediction(prompt, reply.value, reply.problem)
        return [predictions[at] for at in range(len(asked))]

    @staticmethod
    def _prediction(prompt: str, reply: str | None, problem: str) -> UnitsPrediction:
        if reply is None:
            return UnitsPrediction(None, error=problem)
        parsed = (prompts.verdict if prompt == prompts.REJECT else prompts.answers)(reply)
        return UnitsPrediction(parsed or None, reply, error="" if parsed else "the reply has no answer")


class Oracle:
    """Runs the query of an instance on the given units: it shows whether the data is right."""

    name = ORACLE

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self.settings: dict[str, Any] = {}

    def answer(self, asked: Sequence[Asked]) -> list[UnitsPrediction | None]:
        """See :class:`System`. Instances without a query are skipped."""
        known: dict[tuple[str, frozenset[str]], UnitsPrediction] = {}
        predictions: list[UnitsPrediction | None] = []
        for record, instance in asked:
            key = instance.id, frozenset(record.units)
            if instance.provenance.sql and key not in known:
                known[key] = self._run(instance, instance.chosen(record.units))
            predictions.append(known.get(key))
        return predictions

    def _run(self, instance: Instance, units: Sequence[KnowledgeUnit]) -> UnitsPrediction:
        try:
            return UnitsPrediction(sorted(self._solver.answers(instance, units)))
        except QueryError as error:
            return UnitsPrediction(None, error=error.message)


# -- runs -------------------------------------------------------------------------------------------------------------


class Instances:
    """The instances of a dataset, read one at a time: all of them can take more than a gigabyte."""

    def __init__(self, dataset: Path) -> None:
        self._scanned = scan(dataset)
        self._latest: Instance | None = None

    def get(self, name: str) -> Instance:
        """Return an instance that does not precede the last one in the file."""
        while self._latest is None or self._latest.id != name:
            try:
                self._latest = next(self._scanned)
            except StopIteration:
                raise _other_instances(name) from None
        return self._latest


def _other_instances(what: str) -> KbError:
    return KbError(f"The testbeds were made from other instances: {what}", *_MAKE)


_MAKE = "Run ", Command("ska testbed DATASET"), " again"


def check_testbeds(dataset: Path, report: Report) -> None:
    """Raise :class:`KbError` if the instances of a dataset are not those that the testbeds were made from."""
    if report.dataset and report.dataset != digest(dataset):
        raise _other_instances(f"{dataset} has changed")


def digest(dataset: Path) -> str:
    """Return a hash of the instances of a dataset. Raises :class:`KbError` if there are none."""
    return str(fingerprint(file_of(dataset))["sha256"])


def run(
    dataset: Path,
    records: Sequence[TestbedRecord],
    report: Report,
    system: System,
    folder: Path,
    *,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> runs.Run[Answered]:
    """Answer records, in the order of the instances; see :func:`kbkit.benchmarks.run.run`.

    The run is written to ``folder/NAME.jsonl``. Raises :class:`KbError` if the testbeds were made from other instances.
    """
    check_testbeds(dataset, report)
    instances = Instances(dataset)
    form = runs.RunForm(Answered, lambda record: (record, instances.get(record.instance)), _answered, BATCH)
    settings = {"dataset": report.dataset, "tokenizer": report.tokenizer}
    runs.make_folder(folder)
    path = runs.run_file(folder, system.name)
    return runs.run(path, system, records, form, settings, replace=replace, progress=progress)


def _answered(asked: Asked, said: UnitsPrediction | None) -> Answered:
    record, instance = asked
    gold = [] if record.testbed == REJECTION else instance.answers
    about = (record.id, instance.id, record.form, record.testbed, record.setting, len(instance.positive), list(gold))
    if said is None:
        return Answered(*about, tokens=record.tokens, dropped="the instance has no query")
    return Answered(*about, said.predicted, said.reply, said.reading, said.error, record.tokens)
