"""Files of people's judgements: ``annotations/RATER.jsonl`` in the folder of a dataset, one line per judgement.

Each judgement is saved at once, so that a session can stop anywhere; of several judgements of one item the last counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from kbkit.benchmarks.dataset import writing
from kbkit.directory.files import append_json, whole_lines
from kbkit.directory.typed_json import from_json, to_json
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.measures.records import content, records

FOLDER = "annotations"
_NAME = re.compile(r"[\w.-]{1,64}")

T = TypeVar("T")


@dataclass(frozen=True)
class RaterFiles(Generic[T]):
    """The files of all raters in a ``folder``: judgements of the dataclass ``kind``, by the ``item`` they are of.

    ``problem`` returns what is wrong with a judgement, or "".
    """

    folder: Path
    kind: type[T]
    item: Callable[[T], Hashable]
    problem: Callable[[T], str] = lambda _: ""

    def path(self, rater: str) -> Path:
        """Return the file of a rater. Raises :class:`KbError` for a name that is not one word."""
        if not _NAME.fullmatch(rater) or rater.startswith("."):
            raise KbError(f"Invalid rater {rater!r}", "Use letters, digits, '-', '_' and '.'")
        return self.folder / f"{rater}.jsonl"

    def append(self, rater: str, judgement: T) -> None:
        """Add a judgement, written to disk before returning."""
        path = self.path(rater)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            append_json(path, to_json(judgement))

    def of(self, rater: str) -> dict[Hashable, T]:
        """Return the judgements of a rater, the last one of each item; empty without a file.

        An incomplete last line, which a killed process left, is skipped. Raises :class:`BadInputError` for any other
        invalid line.
        """
        path = self.path(rater)
        if not path.is_file():
            return {}
        found: dict[Hashable, T] = {}
        for record in records(path, whole_lines(content(path))):
            where = f"{path}, line {record.position}"
            judgement: T = from_json(self.kind, record.fields, where)
            if problem := self.problem(judgement):
                raise BadInputError(f"Invalid judgement in {where}: {problem}")
            found[self.item(judgement)] = judgement
        return found

    def all(self, names: Sequence[str] = ()) -> dict[str, dict[Hashable, T]]:
        """Return the judgements of some raters, or of all. Raises :class:`UnknownNameError` for an unknown rater."""
        known = [path.stem for path in sorted(self.folder.glob("*.jsonl"))]
        for name in names:
            if name not in known:
                raise UnknownNameError("rater", name, known)
        return {name: self.of(name) for name in names or known}
