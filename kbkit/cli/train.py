"""Commands that train retrieval systems: train."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import Kb, Restart, Systems, Types, argument, note, option
from kbkit.errors import KbError, Option
from kbkit.search.training.settings import TrainingSettings

if TYPE_CHECKING:
    from kbkit.search.training.trainer import TrainedModel


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, train)


@dataclass(frozen=True)
class TrainingSplits:
    """The splits of a dataset that a training uses."""

    split: Annotated[str, option("--split NAME", "Split to train on.", rare=True)] = "train"
    validation: Annotated[str, option("--validation NAME", "Split to validate with.", rare=True)] = "val"


def train(
    context: typer.Context,
    system: Annotated[str, argument("SYSTEM", "System to train (--systems lists them).")],
    kb: Kb,
    dataset: Annotated[Path, argument("DATASET", "STaRK or QUEST dataset, or a file of questions with splits.")],
    output: Annotated[Path | None, option("--output -o FOLDER", "Folder of the model.")] = None,
    export: Annotated[
        Path | None,
        option("--export FILE", "Write the pairs with hard negatives (JSON lines)."),
    ] = None,
    types: Types = None,
    *,
    splits: TrainingSplits,
    replace: Restart = False,
    systems: Systems = False,  # noqa: ARG001 - exits by itself
    settings: TrainingSettings,
) -> None:
    """Train a retrieval system on a dataset.

    After each epoch, the model is validated; the best one is kept. An interrupted training is continued. The folder is
    one of sentence-transformers or PyLate; kbkit run -m SYSTEM:MODEL uses it.
    """
    from kbkit.assets.operations import check_settings
    from kbkit.benchmarks import training_data
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event
    from kbkit.kb import KnowledgeBase
    from kbkit.search.training import fit, work
    from kbkit.search.training.trainer import TrainingEvents

    if output is None and export is None:
        raise KbError("Nothing to write", "Use ", Option("output", "FOLDER"), " or ", Option("export", "FILE"))
    kind = fit.trained_kind(system)
    check_settings(settings)
    if output is not None:
        fit.require(kind)
        work.check_out(output, replace=replace)
    quiet = context.obj.quiet
    with (
        KnowledgeBase(kb) as opened,
        bars(quiet) as listen,
        training_data.opened(opened, dataset, (splits.split, splits.validation), types or (), listen) as questions,
    ):
        note(context, questions.remarks())
        if export is not None:
            count = fit.export(system, questions, export, settings)
            note(context, [f"{export}: {count:,} pairs"])
        if output is None:
            return
        events = TrainingEvents(
            lambda done, total: listen(Event("train", done, total, "steps")) if listen else None,
            lambda line: note(context, [line]),
        )
        found = fit.fit(system, questions, output, settings, dataset=dataset.name, replace=replace, events=events)
    note(context, _outcome(output, found))


def _outcome(output: Path, found: TrainedModel) -> Iterator[str]:
    epochs = f"epoch {found.best} of {found.curve[-1]['epoch']}"
    yield f"{output}: {epochs}, {found.measure} {found.before:.3f} before, {found.after:.3f} after"
    if found.after <= found.before:
        yield "Training has not improved the model that it started from"
