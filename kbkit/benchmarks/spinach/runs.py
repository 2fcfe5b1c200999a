"""Files of what agents gave: kbkit's runs, which take up where they stopped, and the authors' published outputs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit.benchmarks.spinach.files import result
from kbkit.benchmarks.stages import Row, Stage
from kbkit.directory import systems
from kbkit.errors import BadInputError, KbError
from kbkit.llm import threads
from kbkit.measures.records import JsonRecord, content, load
from kbkit.measures.rows import Result

PREDICTED, GOLD = "predicted_answer_tuple", "gold_answer_tuple"
"""What the authors' files call the results, and ours too."""
_COUNTS = ("actions", "rolled_back", "input_tokens", "output_tokens")


class RunFile(Stage):
    """A run's file: a first line with the settings, then a record for each question, in the order they are done."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        super().__init__(path.parent, path.stem, settings)
        self.path = path

    def each(
        self,
        todo: Sequence[Row],
        work: Callable[[Row], Row],
        workers: int,
        progress: Callable[[int, int], None],
    ) -> None:
        """Do what is not done yet, or ``failed``, ``workers`` at once; each record is written as it comes.

        Raises :class:`KbError` if the file is there and was made with other settings.
        """
        try:
            done = {row["id"] for row in self._kept() if not row.get("failed")}
            left = [row for row in todo if row["id"] not in done]
            guard, finished = threading.Lock(), len(todo) - len(left)
            progress(finished, len(todo))

            def tell() -> None:
                nonlocal finished
                finished += 1
                progress(finished, len(todo))

            with self.path.open("a", encoding="utf-8", newline="\n") as file:

                def one(row: Row) -> None:
                    line = json.dumps(work(row), ensure_ascii=False) + "\n"
                    with guard:
                        file.write(line)
                        file.flush()

                threads.each(one, left, min(workers, len(left)), tell)
                systems.sync(file.fileno())
        except OSError as error:
            raise KbError(f"{self.path} cannot be written: {error.strerror or error}") from None


# -- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """What an agent gave for a question. Numbers are None where the file does not say them.

    ``actions`` are those that stand, ``rolled_back`` those that do not; tokens and ``cost`` are of all calls. ``asked``
    is whether the agent was asked at all; ``error`` says why there is no prediction, or no gold.
    """

    id: str
    question: str
    predicted_sparql: str
    predicted: Result
    gold_sparql: str
    gold: Result
    asked: bool = True
    error: str = ""
    gold_error: str = ""
    cut: bool = False
    actions: int | None = None
    rolled_back: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Run:
    """The records of a file, and the ``settings`` that its first line says (empty for the authors' files)."""

    path: Path
    settings: Mapping[str, Any]
    records: tuple[Record, ...]


def read(path: Path) -> Run:
    """A run: JSON lines that ``spinach run`` wrote, the last of them perhaps half, or a JSON list or lines of records
    with ``predicted_answer_tuple`` or ``predicted_sparql``. Raises :class:`BadInputError` that names the record.
    """
    settings: dict[str, Any] = {}
    found: dict[str, Record] = {}
    seen: dict[str, str] = {}
    for item in _items(path):
        if not found and not settings and isinstance(item.fields.get("settings"), dict):
            settings = item.fields["settings"]
            continue
        record = _record(item, len(found) + 1)
        if record.id in seen and not settings:
            raise BadInputError(f"{item.where} is a second record of {record.id!r}", f"the first is {seen[record.id]}")
        seen[record.id] = item.where
        found[record.id] = record  # in a run's own file, a question that failed may have been asked again
    if not found:
        raise BadInputError(f"{path} holds no record", "kbkit spinach run writes such files")
    return Run(path, settings, tuple(found.values()))


def _items(path: Path) -> Iterator[JsonRecord]:
    try:
        text = content(path).decode()
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}") from None
    if text.lstrip().startswith("["):
        listed = [(value, f"{path}, record {place}") for place, value in enumerate(load(text, str(path)), 1)]
    else:
        lines = [(line, f"{path}, line {place}") for place, line in enumerate(text.split("\n"), 1) if line.strip()]
        if lines[0][0].startswith('{"settings"') and not text.endswith("\n"):
            lines.pop()  # of a run that goes on, or was killed
        listed = [(load(line, where), where) for line, where in lines]
    for value, where in listed:
        if not isinstance(value, dict):
            raise BadInputError(f"{where} is no record", f'a record is an object: {{"id": ..., "{PREDICTED}": [...]}}')
        yield JsonRecord(value, where)


def _record(item: JsonRecord, place: int) -> Record:
    fields = item.fields
    if PREDICTED not in fields and "predicted_sparql" not in fields:
        raise BadInputError(f"{item.where} has no {PREDICTED}", "kbkit spinach run writes it, as the authors' files do")
    text = _text(item, "question")
    name = fields.get("id")
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int)):
        raise BadInputError(f"{item.where}: id is {name!r}", "it should be a text or a whole number")
    return Record(
        str(name) if name is not None else text or str(place),
        text,
        _text(item, "predicted_sparql"),
        result(fields.get(PREDICTED), f"{item.where}, {PREDICTED}"),
        _text(item, "gold_sparql"),
        result(fields.get(GOLD), f"{item.where}, {GOLD}"),
        asked=fields.get("asked") is not False,
        error=_text(item, "error"),
        gold_error=_text(item, "gold_error"),
        cut=fields.get("cut") is True,
        cost=_number(item, "cost"),
        **{name: _whole(item, name) for name in _COUNTS},
    )


def _text(item: JsonRecord, name: str) -> str:
    value = item.fields.get(name)
    if value is not None and not isinstance(value, str):
        raise BadInputError(f"{item.where}: {name} is {value!r}", "it should be a text")
    return value or ""


def _number(item: JsonRecord, name: str) -> float | None:
    value = item.fields.get(name)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0):
        return value
    raise BadInputError(f"{item.where}: {name} is {value!r}", "it should be a number, 0 or more, or null")


def _whole(item: JsonRecord, name: str) -> int | None:
    value = _number(item, name)
    if value is not None and not isinstance(value, int):
        raise BadInputError(f"{item.where}: {name} is {value!r}", "it should be a whole number")
    return value
