"""What a person taught about the questions of a KB: synonyms, chosen readings, and weights learned from examples.

It is a file of the workspace, so that it outlives generations, and deleting the file undoes it. Threads and processes
change it one after another.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kbkit.directory import systems
from kbkit.directory.files import parse_json, write_files
from kbkit.errors import KbError, system_error
from kbkit.stores import Stores

FILE = "questions.json"
_LOCK = "questions.lock"
_PATIENCE = 10.0
"""Seconds for which a change waits for those of others."""


@dataclass(frozen=True)
class Learned:
    """Weights learned from examples: of the features, and of (stem, label, place) for the words of questions.

    ``examples`` is the number of pairs, ``topics`` that of the nodes they are about. ``before`` and ``after`` are the
    fractions of held-out questions with the right answers, the second with the 95% interval from ``low`` to ``high``
    for as many independent outcomes as there are topics.
    """

    weights: dict[str, float]
    words: list[tuple[str, str, int, float]]
    examples: int = 0
    before: float = 0.0
    after: float = 0.0
    topics: int = 0
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class ChosenReading:
    """A reading that a person chose for a question: its answer ``expression``, and ``when`` (UTC, ISO 8601)."""

    question: str
    expression: str
    when: str


@dataclass(frozen=True)
class Taught:
    """Synonyms by the name of the relation or attribute, what was learned, and chosen readings, the last one last."""

    synonyms: dict[str, list[str]] = field(default_factory=dict)
    learned: Learned | None = None
    choices: list[ChosenReading] = field(default_factory=list)

    @staticmethod
    def of(stores: Stores) -> Taught:
        """Return what was taught about a KB; raise :class:`KbError` if the file is invalid."""
        return read(stores.workspace.folder)

    def with_synonym(self, name: str, word: str) -> Taught:
        """Return it with one more synonym."""
        return replace(self, synonyms={**self.synonyms, name: sorted({*self.synonyms.get(name, []), word})})


def read(workspace: Path) -> Taught:
    """Return what the file of a workspace says."""
    path = workspace / FILE
    if not path.is_file():
        return Taught()
    try:
        data: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        json.dumps(data, ensure_ascii=False).encode()  # an unpaired surrogate, which cannot be written, is a ValueError
        learned = data.get("learned")
        return Taught(
            {str(name): [str(word) for word in more] for name, more in data.get("synonyms", {}).items()},
            None if learned is None else _learned(learned),
            [_choice(row) for row in data.get("choices", ())],
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise KbError(
            f"Invalid file {path}: {error}", "Delete it to forget synonyms, chosen readings and learned weights"
        ) from None


def _learned(data: dict[str, Any]) -> Learned:
    """Return what was learned; raise :class:`ValueError` or :class:`TypeError` if it is something else."""
    found = Learned(
        **{
            **data,
            "weights": {str(name): float(weight) for name, weight in data["weights"].items()},
            "words": [(str(stem), str(name), int(place), float(weight)) for stem, name, place, weight in data["words"]],
        }
    )
    if not all(math.isfinite(weight) for weight in [*found.weights.values(), *(row[3] for row in found.words)]):
        raise ValueError("weights must be finite numbers")
    return found


def _choice(row: dict[str, Any]) -> ChosenReading:
    """Return a chosen reading; raise :class:`ValueError` or :class:`TypeError` if it is something else."""
    found = ChosenReading(**row)
    if not all(isinstance(text, str) for text in (found.question, found.expression)):
        raise ValueError("questions and expressions must be texts")
    datetime.fromisoformat(found.when)
    return found


def change(stores: Stores, changed: Callable[[Taught], Taught]) -> None:
    """Replace what was taught by ``changed`` of it, atomically; it may be changed by one thread or process at a time.

    Nothing is written if it stays the same.
    """
    workspace = stores.workspace.folder
    path, lock = workspace / FILE, workspace / _LOCK
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        with systems.exclusive(lock, f"Another process changes {path}", "Wait for it to end", _PATIENCE):
            before = read(workspace)
            after = changed(before)
            if after != before:
                write_files({path: (json.dumps(asdict(after), ensure_ascii=False, indent=1) + "\n").encode()})
    except OSError as error:
        raise system_error(error, f"Cannot write {path}") from None


def forget(stores: Stores) -> None:
    """Delete the file, also an invalid one."""
    systems.remove_tree(stores.workspace.folder / FILE)
