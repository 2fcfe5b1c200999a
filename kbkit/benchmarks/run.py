"""Run a system on the items of a dataset: a retriever, a reader, a language model or an agent.

A run is a file of JSON lines: the settings, then a row per item. Rows are appended as they are finished, so an
interrupted run keeps its work, and the next run with the same settings continues there. What the answers cost is in a
file beside it (:mod:`kbkit.benchmarks.costs`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from kbkit.benchmarks.costs import CostFile, CostSummary, summary, timed
from kbkit.benchmarks.dataset import run_names, writing
from kbkit.benchmarks.pipeline import HasId, Row, Table, busy
from kbkit.directory import systems
from kbkit.directory.systems import exclusive
from kbkit.directory.typed_json import from_json
from kbkit.errors import BadInputError, Command, KbError
from kbkit.measures.records import content, load_json

I = TypeVar("I", bound=HasId)  # noqa: E741 - an item
Q = TypeVar("Q")
P = TypeVar("P")
R = TypeVar("R", bound=Row)
Question_contra = TypeVar("Question_contra", contravariant=True)
Prediction_co = TypeVar("Prediction_co", covariant=True)


class System(Protocol[Question_contra, Prediction_co]):
    """Anything that answers the questions of a dataset: a retriever, a reader, a language model, an agent.

    ``settings`` hold everything of the system that its predictions depend on.
    """

    @property
    def name(self) -> str:
        """The name of its runs."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything of the system that its predictions depend on."""
        ...

    def answer(self, questions: Sequence[Question_contra], /) -> Sequence[Prediction_co]:
        """Return a prediction for each question."""
        ...


@dataclass(frozen=True)
class RunForm(Generic[I, Q, P, R]):
    """How a benchmark runs systems.

    * ``row``: type of the rows
    * ``question``: returns what a system sees of an item; called in the items' order
    * ``answered``: returns the row for a question and its prediction
    * ``batch``: number of items that are answered together and then written
    * ``workers``: if given, items are answered one by one in this many threads
    * ``retry``: whether the next run answers an item with this row again
    """

    row: type[R]
    question: Callable[[I], Q]
    answered: Callable[[Q, P], R]
    batch: int = 64
    workers: int | None = None
    retry: Callable[[R], bool] = lambda _: False


def row_form(
    row: type[R], *, batch: int = 64, workers: int | None = None, retry: Callable[[R], bool] = lambda _: False
) -> RunForm[Any, Any, R, R]:
    """Return the form of systems that see the items as they are and return the rows."""
    return RunForm(row, lambda item: item, lambda _, prediction: prediction, batch, workers, retry)


@dataclass(frozen=True)
class Timing(Generic[Q]):
    """Measure the time of the first ``count`` items, each ``answer`` alone, before they are answered in batches."""

    count: int
    answer: Callable[[Q], object]


@dataclass(frozen=True)
class Run(Generic[R]):
    """A run of a system: its rows by id, and its settings (empty for runs of other programs)."""

    name: str
    path: Path
    settings: Mapping[str, Any]
    rows: Mapping[str, R]

    @cached_property
    def costs(self) -> pl.DataFrame:
        """What the answers cost, see :data:`kbkit.benchmarks.costs.COSTS`; empty if unknown."""
        return CostFile(self.path).read()

    @property
    def summary(self) -> CostSummary:
        """The sums of the costs."""
        return summary(self.costs)


def run(
    path: Path,
    system: System[Q, P],
    items: Sequence[I],
    form: RunForm[I, Q, P, R],
    settings: Mapping[str, Any],
    *,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
    timing: Timing[Q] | None = None,
) -> Run[R]:
    """Answer the items with a system, and write each batch of rows to ``path`` when it is finished.

    ``settings`` are those of the dataset; the first line of the file records them with those of the system. An
    interrupted run continues with the items that are missing; with ``replace`` it starts over. The rows of the returned
    run are those of ``items``, in their order. Raises :class:`KbError` for a file of another run,
    :class:`LockedError` while another process writes to it.
    """
    recorded = {"system": system.name, **settings, **system.settings}
    costs = CostFile(path)
    with _locked(path):
        if replace:
            costs.remove()
            systems.remove(path)
        table = Table(path, form.row, recorded)
        costs.repair()
        if timing is not None:
            table.resume()  # raises for other settings before anything is measured
            _measure(timing, [(item.id, form.question(item)) for item in items[: timing.count]], costs)
        rows = _answer(table, system, items, form, costs, progress)
    return Run(system.name, path, recorded, {row.id: row for row in rows})


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a run during the block."""
    check_parent(path)
    with ExitStack() as stack:
        with writing(path):
            stack.enter_context(exclusive(path.with_name(f".{path.name}.lock"), *busy(path)))
        yield


def _measure(timing: Timing[Q], questions: Sequence[tuple[str, Q]], costs: CostFile) -> None:
    known = set(timed(costs.read())["id"])
    for name, question in questions:
        if name not in known:
            costs.measure([name], lambda question=question: timing.answer(question), alone=True)  # type: ignore[misc]


def _answer(
    table: Table[R],
    system: System[Q, P],
    items: Sequence[I],
    form: RunForm[I, Q, P, R],
    costs: CostFile,
    progress: Callable[[int, int], None],
) -> list[R]:
    """Return the rows of all items; those that are missing are computed."""

    def work(batch: Sequence[I]) -> list[R]:
        questions = [form.question(item) for item in batch]
        names = [item.id for item in batch]
        predictions = costs.measure(names, lambda: system.answer(questions), alone=form.workers is not None)
        return [form.answered(*both) for both in zip(questions, predictions, strict=True)]

    if form.workers is None:
        return table.fill(items, work, form.batch, progress)
    return table.fill_concurrently(items, lambda item: work([item])[0], form.workers, progress, form.retry)


# -- files ------------------------------------------------------------------------------------------------------------


def run_file(folder: Path, name: str) -> Path:
    """Return the file of a system's run in a folder of runs."""
    stem = re.sub(r"[^\w.+-]+", "-", name.replace(" ", ""))
    return folder / f"{stem}.jsonl"


PREDICTIONS = "predictions"
"""The folder of runs beside files that are written from them for other programs."""


def predictions_file(folder: Path, name: str) -> Path:
    """Return the file of a system's run beside files for other programs in ``folder``."""
    return run_file(folder / PREDICTIONS, name)


def check_parent(path: Path) -> None:
    """Raise :class:`KbError` unless the folder of a run exists."""
    if not path.absolute().parent.is_dir():
        raise KbError(f"{path.absolute().parent} does not exist", "Create the folder first")


def make_folder(folder: Path) -> None:
    """Create a folder for runs. Raises :class:`KbError` if that fails."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def read_runs(paths: Sequence[Path], row: type[R], command: str) -> list[Run[R]]:
    """Read runs of :func:`run`, or rows of another program without settings.

    If files have the same stem, their runs are named by paths. An incomplete last line, of a run that is active, is
    skipped; of duplicate ids, the last row counts. ``command`` writes such runs. Raises :class:`BadInputError` that
    names the line, or if there are no rows.
    """
    return [
        Run(name, path, *_read(path, row, ("Run ", Command(command), " to write runs")))
        for name, path in zip(run_names(paths), paths, strict=True)
    ]


def _read(path: Path, row: type[R], hint: tuple[str | Command, ...]) -> tuple[dict[str, Any], dict[str, R]]:
    """Return the settings and the rows by id."""
    if not path.is_file():
        raise BadInputError(f"{path} does not exist", *hint)
    settings: dict[str, Any] = {}
    rows: dict[str, R] = {}
    for number, line in enumerate(content(path, whole=True).decode().split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            value = load_json(line, where)
            if number == 1 and isinstance(value, dict) and isinstance(value.get("settings"), dict):
                settings = value["settings"]
                continue
            try:
                one: R = from_json(row, value, where)
            except BadInputError as error:
                raise error if rows or settings else BadInputError(f"Not a run: {error.message}", *hint) from None
            rows[one.id] = one
    if not rows:
        raise BadInputError(f"No predictions in {path}", *hint)
    return settings, rows
