"""Train any model of sentence-transformers or PyLate with the trainer of that library, and write its folder."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kbkit.directory.files import replacing, write_files
from kbkit.search import model_folder
from kbkit.search.ranking import Ranking
from kbkit.search.training import card
from kbkit.search.training.settings import RANDOM, TrainingSettings
from kbkit.search.training.work import TrainingWork, curve

RATE, RANDOM_RATE = 2e-5, 5e-4
"""Learning rates of the start from a model, and from random weights."""
_WARM_UP = 0.1
"""Fraction of the steps during which the learning rate rises."""


@dataclass(frozen=True)
class TrainingEvents:
    """What a training reports: ``step`` is called with (done, total), ``line`` with a line for the user."""

    step: Callable[[int, int], None] = lambda *_: None
    line: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class TrainingParts:
    """What a system trains.

    * ``trainer``, ``arguments``: classes of the library
    * ``rows``: the columns of the training set
    * ``rank``: returns the rankings of the validation questions by the model as it is
    * ``further``: more arguments of the trainer
    """

    trainer: Any
    arguments: Any
    model: Any
    loss: Any
    rows: Mapping[str, Sequence[Any]]
    rank: Callable[[Any], Sequence[Ranking]]
    further: Mapping[str, Any] = field(default_factory=dict)
    has_duplicates: bool = False
    """Whether a text may occur twice in a batch: with in-batch negatives, it may not."""
    rate: float = RATE
    """Learning rate of the start from a model."""
    saved: Sequence[Any] = ()
    """What is written to the folder beside the model, such as a tokenizer."""


@dataclass(frozen=True)
class TrainedModel:
    """A trained model: its folder, a row of measures per epoch (0: the start), the best epoch, and the seconds."""

    folder: Path
    curve: Sequence[Mapping[str, Any]]
    best: int
    seconds: float
    measure: str
    """The measure by which the epoch is the best."""

    @property
    def before(self) -> float:
        """The measure before training."""
        return float(self.curve[0][self.measure])

    @property
    def after(self) -> float:
        """The measure of the best epoch."""
        return next(float(row[self.measure]) for row in self.curve if row["epoch"] == self.best)


def run(
    work: TrainingWork,
    parts: TrainingParts,
    settings: TrainingSettings,
    score: Callable[[Sequence[Ranking]], Mapping[str, float]],
    about: Mapping[str, Any],
    events: TrainingEvents,
) -> TrainedModel:
    """Train to the best epoch by the first measure of ``score``, and write the folder of the model.

    An interrupted training continues after its last complete epoch. ``about`` is recorded with the model.
    """
    started, before = time.perf_counter(), work.seconds()
    checkpoint = work.checkpoint()
    if not work.measures(None):
        work.write_start(score(parts.rank(parts.model)))
    for row in work.measures(checkpoint):
        events.line(_line(row))
    main = next(iter(name for name in work.measures(None)[0] if name != "epoch"))
    trainer = _trainer(work, parts, settings, score, main)

    def spent() -> float:
        return before + time.perf_counter() - started

    trainer.add_callback(_callback(events, work, spent))
    if checkpoint is not None:
        events.line(f"Continued after {checkpoint.name.replace('-', ' ')}")
    with model_folder.loading_checkpoint(checkpoint):
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    rows = [*work.measures(None), *curve(trainer.state.log_history)]
    rows = [{name: row[name] for name in [*rows[0], "loss"] if name in row} for row in rows]  # a checkpoint sorts them
    best = max((row for row in rows[1:] if main in row), key=lambda row: row[main])
    seconds = spent()
    record = {
        **about,
        "version": model_folder.VERSION,
        "settings": asdict(settings),
        "device": str(parts.model.device),
        "precision": _precision(trainer.args),
        "seconds": round(seconds, 1),
        "best_epoch": best["epoch"],
        "curve": rows,
        "libraries": _versions(),
    }
    _write(work.out, parts, record)
    return TrainedModel(work.out, rows, int(best["epoch"]), seconds, main)


def _precision(arguments: Any) -> str:
    return "bfloat16" if arguments.bf16 else "float16" if arguments.fp16 else "float32"


def _trainer(
    work: TrainingWork,
    parts: TrainingParts,
    settings: TrainingSettings,
    score: Callable[[Sequence[Ranking]], Mapping[str, float]],
    main: str,
) -> Any:
    from datasets import Dataset
    from sentence_transformers.evaluation import SentenceEvaluator
    from transformers import EarlyStoppingCallback
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    class Validation(SentenceEvaluator):  # type: ignore[misc]
        primary_metric = main

        def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
            return dict(score(parts.rank(model)))

    if hasattr(parts.model, "model_card_data"):
        parts.model.model_card_data.widget = [{"text": ""}]  # else the library draws examples, with a bar
    trainer = parts.trainer(
        model=parts.model,
        args=parts.arguments(**_arguments(work, parts, settings, main)),
        train_dataset=Dataset.from_dict(dict(parts.rows)),
        loss=parts.loss,
        evaluator=Validation(),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=settings.patience)],
        **parts.further,
    )
    for callback in [type(one) for one in trainer.callback_handler.callbacks]:
        if callback in (PrinterCallback, ProgressCallback) or callback.__name__.endswith("ModelCardCallback"):
            trainer.remove_callback(callback)  # which print, or look for models in the hub
    return trainer


def _arguments(work: TrainingWork, parts: TrainingParts, settings: TrainingSettings, main: str) -> dict[str, Any]:
    """Return the arguments of the library's trainer."""
    import torch
    from sentence_transformers.training_args import BatchSamplers

    count = len(next(iter(parts.rows.values())))
    steps = settings.epochs * -(-count // settings.batch)
    on_gpu = settings.device != "cpu" and torch.cuda.is_available()
    sixteen = "bfloat16" if on_gpu and torch.cuda.is_bf16_supported() else "float16" if on_gpu else "float32"
    numbers = sixteen if settings.precision == "auto" else settings.precision
    return {
        "output_dir": str(work.folder),
        "num_train_epochs": settings.epochs,
        "per_device_train_batch_size": settings.batch,
        "learning_rate": settings.rate or (RANDOM_RATE if settings.initial == RANDOM else parts.rate),
        "warmup_steps": int(_WARM_UP * steps),
        "fp16": numbers == "float16",
        "bf16": numbers == "bfloat16",
        "use_cpu": not on_gpu and settings.device in ("", "cpu"),
        "seed": settings.seed,
        "data_seed": settings.seed,
        "batch_sampler": BatchSamplers.BATCH_SAMPLER if parts.has_duplicates else BatchSamplers.NO_DUPLICATES,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "logging_strategy": "epoch",
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": f"eval_{main}",
        "greater_is_better": True,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": on_gpu,
    }


def _callback(events: TrainingEvents, work: TrainingWork, spent: Callable[[], float]) -> Any:
    from transformers import TrainerCallback

    class Reported(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            events.step(state.global_step, state.max_steps)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            work.write_seconds(spent())
            rows = curve(state.log_history)
            if rows:
                events.line(_line(rows[-1]))

    return Reported()


def _line(row: Mapping[str, Any]) -> str:
    figures = ", ".join(f"{name} {row[name]:.3f}" for name in sorted(row) if name != "epoch")
    return f"epoch {row['epoch']}: {figures}"


def _versions() -> dict[str, str]:
    import importlib.metadata

    versions = {}
    for name in ("kbkit-kg", "torch", "transformers", "sentence-transformers", "pylate"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


# -- the folder of the model ------------------------------------------------------------------------------------------


def _write(out: Path, parts: TrainingParts, record: Mapping[str, Any]) -> None:
    """Write the folder of a model: as its library does, with a record, a curve and a card."""
    with replacing(out) as new_folder:
        new_folder.mkdir()
        for part in (parts.model, *parts.saved):
            part.save_pretrained(str(new_folder), **card.without_card(part))
        texts = {
            new_folder / model_folder.ABOUT: json.dumps(record, indent=1, ensure_ascii=False) + "\n",
            new_folder / card.CURVE: "".join(json.dumps(row) + "\n" for row in record["curve"]),
            new_folder / model_folder.CARD: card.text(out.name, record),
        }
        write_files(texts)
        card.draw(record["curve"], out.name, new_folder)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide the warnings and bars of the libraries during the block."""
    import logging
    import warnings

    names = ("transformers", "sentence_transformers", "accelerate", "datasets", "pylate")
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
