"""The folder of a trained model: its library's files, a card, and ``kbkit.json``, which says how it was trained."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from kbkit.directory.files import parse_json
from kbkit.errors import KbError, Option
from kbkit.search.system_kinds import SystemName
from kbkit.stores.embedders import first_line
from kbkit.stores.model_files import revision

ABOUT = "kbkit.json"
CARD = "README.md"
VERSION = 1
_OWN = {
    "PyLate": "late",
    "SparseEncoder": "splade",
    "CrossEncoder": "cross-encoder",
    "SentenceTransformer": "biencoder",
    "ColBERT": "late",
}
"""Kinds by ``model_type`` in the configuration of sentence-transformers."""


@dataclass(frozen=True)
class ModelFolder:
    """A model, its ``revision``, and what ``kbkit.json`` says of it (empty for other models)."""

    model: str
    revision: str
    about: Mapping[str, Any]

    @property
    def relations(self) -> bool:
        """Whether the texts that it reads have the names of neighbours: as trained, else yes, as in STaRK."""
        settings = self.about.get("settings")
        return bool(settings.get("neighbours", True)) if isinstance(settings, dict) else True

    def settings(self, system: SystemName) -> dict[str, Any]:
        """Return what the rankings of a system with this model depend on."""
        known = {name: value for name, value in system.settings.items() if name not in ("batch", "device")}
        return {"model": self.model, "revision": self.revision, "relations": self.relations, **known}


def opened(system: SystemName) -> ModelFolder:
    """Return the model of a system. Raises :class:`KbError` for a model folder of another kind of system."""
    path = Path(system.model)
    if not path.is_dir():
        return ModelFolder(system.model, revision(system.model), {})
    about = read_about(path)
    kind = about.get("system") or _OWN.get(str(_configuration(path).get("model_type")))
    if kind is not None and kind != system.kind.name:
        raise KbError(f"{path} is a model for {kind}, not for {system.kind.name}", f"Use {kind}:{path}")
    return ModelFolder(str(path.resolve()), revision(system.model), about)


def read_about(folder: Path) -> dict[str, Any]:
    """Return what ``kbkit.json`` says; empty without one. Raises :class:`KbError` for an invalid file."""
    path = folder / ABOUT
    if not path.is_file():
        return {}
    try:
        about = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KbError(f"Invalid file {path}: {first_line(error)}", "Train the model again") from None
    if not isinstance(about, dict) or about.get("version") != VERSION:
        raise KbError(f"Invalid file {path}: not of version {VERSION}", "Train the model again")
    return about


def _configuration(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        configuration = json.loads((folder / "config_sentence_transformers.json").read_text(encoding="utf-8"))
        return configuration if isinstance(configuration, dict) else {}
    return {}


def loading(system: SystemName) -> contextlib.AbstractContextManager[None]:
    """Turn the errors of a library that loads the model of a system into a :class:`KbError`."""
    return loading_start(system.kind.name, system.model)


@contextlib.contextmanager
def loading_start(kind: str, model: str) -> Iterator[None]:
    """Turn the errors of a library that loads a model for a kind of systems into a :class:`KbError`."""
    try:
        yield
    except KbError:
        raise
    except Exception as error:  # noqa: BLE001 - libraries raise errors of many kinds for broken files
        raise KbError(
            f"Cannot load the model {model!r} for {kind}: {first_line(error)}",
            "Name the folder of a model, or download it first (hf download)",
        ) from None


@contextlib.contextmanager
def loading_checkpoint(path: Path | None) -> Iterator[None]:
    """Turn the errors of a library that continues from a checkpoint into a :class:`KbError`."""
    try:
        yield
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, UnpicklingError) as error:
        if path is None:
            raise
        hint = ("Delete it to continue from the one before, or use ", Option("replace"), " to start over")
        raise KbError(f"Broken checkpoint {path}: {first_line(error)}", *hint) from None
