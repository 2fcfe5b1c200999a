"""The folder of a training, with its checkpoints: an interrupted training continues after its last complete epoch.

It is ``.NAME.training`` beside the folder ``NAME`` of the model, and deleted when the model is finished.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit.directory import systems
from kbkit.directory.files import parse_json, write_files
from kbkit.errors import KbError, Option
from kbkit.search import model_folder

SETTINGS, STARTED, SECONDS = "settings.json", "start.json", "seconds.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_STATE = "trainer_state.json"
_WEIGHTS = ("*.safetensors", "*.bin")


@dataclass(frozen=True)
class TrainingWork:
    """The folder of a training, and the folder ``out`` of its model."""

    folder: Path
    out: Path

    def checkpoint(self) -> Path | None:
        """Return the last complete checkpoint, None without one.

        One without a state was being written when the training was killed, and is skipped. Raises :class:`KbError` for
        a state that cannot be read, or if its weights are missing.
        """
        checkpoints = {
            int(match[1]): path
            for path in self.folder.glob("checkpoint-*")
            if (match := _CHECKPOINT.fullmatch(path.name))
        }
        for number in sorted(checkpoints, reverse=True):
            if (checkpoints[number] / _STATE).is_file():
                _check(checkpoints[number])
                return checkpoints[number]
        return None

    def measures(self, checkpoint: Path | None) -> list[dict[str, Any]]:
        """Return the rows of the curve up to a checkpoint: epoch, and the measures of validation."""
        start = self._start()
        rows = [] if start is None else [start]
        if checkpoint is not None:
            rows += curve(json.loads((checkpoint / _STATE).read_text(encoding="utf-8"))["log_history"])
        return rows

    def _start(self) -> dict[str, Any] | None:
        path = self.folder / STARTED
        started: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        return started

    def seconds(self) -> float:
        """Return how long the training took before it was interrupted, without its last incomplete epoch."""
        path = self.folder / SECONDS
        return float(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else 0.0

    def write_seconds(self, seconds: float) -> None:
        """Keep how long the training took so far."""
        write_files({self.folder / SECONDS: f"{seconds:.3f}\n"})

    def write_start(self, measures: Mapping[str, float]) -> None:
        """Keep the measures before the first epoch."""
        write_files({self.folder / STARTED: json.dumps({"epoch": 0, **measures}) + "\n"})


def _check(checkpoint: Path) -> None:
    hint = ("Delete it to continue from the one before, or use ", Option("replace"), " to start over")
    try:
        state = parse_json((checkpoint / _STATE).read_text(encoding="utf-8"))
        valid = isinstance(state, dict) and isinstance(state.get("log_history"), list)
    except (OSError, ValueError):
        valid = False
    if not valid:
        raise KbError(f"Broken checkpoint {checkpoint}: {_STATE} cannot be read", *hint)
    if not any(path.stat().st_size for pattern in _WEIGHTS for path in checkpoint.rglob(pattern)):
        raise KbError(f"Broken checkpoint {checkpoint}: it has no weights", *hint)


def curve(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per epoch of the log of a training: epoch, and the measures of validation, loss included."""
    rows: dict[int, dict[str, Any]] = {}
    for entry in log:
        row = rows.setdefault(round(entry.get("epoch", 0)), {})
        row |= {name.removeprefix("eval_"): value for name, value in entry.items() if name in _logged(entry)}
    return [{"epoch": epoch, **rows[epoch]} for epoch in sorted(rows) if len(rows[epoch]) > bool("loss" in rows[epoch])]


def _logged(entry: Mapping[str, Any]) -> list[str]:
    times = ("runtime", "samples_per_second", "steps_per_second", "epoch")
    measures = [name for name in entry if name.startswith("eval_") and not name.endswith(times)]
    return [*measures, *(["loss"] if "loss" in entry else [])]


@contextlib.contextmanager
def opened(out: Path, settings: Mapping[str, Any], *, replace: bool = False) -> Iterator[TrainingWork]:
    """Open the folder of a training for one process, and delete it after the block if a model was written.

    ``settings`` are all that the model depends on. Raises :class:`KbError` if ``out`` exists or an interrupted training
    has other settings, unless ``replace`` discards them, and :class:`LockedError` while another process trains it.
    """
    out = out.absolute()
    check_out(out, replace=replace)
    folder = out.with_name(f".{out.name}.training")
    with systems.exclusive(out.with_name(f".{out.name}.lock"), f"Another process trains {out}", "Wait for it to end"):
        if replace:
            systems.remove_tree(folder)
        known = folder / SETTINGS
        text = json.dumps(settings, indent=1, sort_keys=True) + "\n"
        if known.is_file() and known.read_text(encoding="utf-8") != text:
            hint = ("Use the same settings to continue, or ", Option("replace"), " to start over")
            raise KbError(f"{folder} has an interrupted training with other settings", *hint)
        folder.mkdir(exist_ok=True)
        write_files({known: text})
        yield TrainingWork(folder, out)
        systems.remove_tree(folder)


def check_out(out: Path, *, replace: bool) -> None:
    """Raise :class:`KbError` for a folder that cannot become that of a model."""
    if not out.absolute().parent.is_dir():
        raise KbError(f"{out.absolute().parent} does not exist", "Create the folder first")
    if out.exists() and not (replace and (out / model_folder.ABOUT).is_file()):
        hint = ("Use another folder, or ", Option("replace"), " to replace a model of kbkit train")
        raise KbError(f"{out} exists", *hint)
