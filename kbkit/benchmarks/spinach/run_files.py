"""Read runs of agents: those of kbkit, and the authors' published outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.benchmarks import run as running
from kbkit.benchmarks.pipeline import Row
from kbkit.benchmarks.spinach.files import result
from kbkit.errors import BadInputError, Command
from kbkit.measures.records import JsonRecord, content, load_json

PREDICTED, GOLD = "predicted_answer_tuple", "gold_answer_tuple"
"""Fields of the results, in the authors' files and in kbkit's."""


@dataclass(frozen=True)
class AgentRecord(Row):
    """An agent's answer to a question; the results have the names that they have in the authors' files.

    ``asked``: whether the agent was asked at all. ``error`` and ``gold_error``: why there is no prediction or no gold
    result. A question that ``failed`` with an error of the model is asked again by the next run. ``outcome``: how the
    agent ended. Numbers are None if the file does not have them: ``actions`` excludes those that were ``rolled_back``,
    tokens and ``cost`` are of all calls.
    """

    question: str
    predicted_sparql: str
    predicted_answer_tuple: Any
    gold_sparql: str
    gold_answer_tuple: Any
    gold_error: str
    asked: bool
    failed: bool = False
    error: str = ""
    cut: bool = False
    outcome: str = ""
    actions: int | None = None
    rolled_back: int | None = None
    taken: dict[str, int] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    trace: list[dict[str, Any]] = field(default_factory=list)


Run = running.Run[AgentRecord]
"""The records of a file; the authors' files have no settings."""


def read_agent_run(path: Path) -> Run:
    """Read a run: JSON lines of ``spinach run``, or a JSON list or lines of other records.

    The last line of an active run can be incomplete. Other records need ``predicted_answer_tuple`` or
    ``predicted_sparql``. Raises :class:`BadInputError` that names the record.
    """
    settings: dict[str, Any] = {}
    records_by_id: dict[str, AgentRecord] = {}
    seen: dict[str, str] = {}
    for item in _items(path):
        if not records_by_id and not settings and isinstance(item.fields.get("settings"), dict):
            settings = item.fields["settings"]
            continue
        record = _record(item, len(records_by_id) + 1)
        if record.id in seen and not settings:
            hint = f"It is also in {seen[record.id]}. Each record needs its own id"
            raise BadInputError(f"Duplicate id {record.id!r} in {item.where}", hint)
        seen[record.id] = item.where
        records_by_id[record.id] = record  # a run of kbkit can repeat a question that failed
    if not records_by_id:
        raise BadInputError(f"No records in {path}", "Run ", Command("spinach run"), " to write runs")
    return Run(path.stem, path, settings, records_by_id)


def _items(path: Path) -> Iterator[JsonRecord]:
    try:
        text = content(path).decode()
    except OSError as error:
        raise BadInputError(f"Cannot read {path}: {error.strerror}") from None
    if text.lstrip().startswith("["):
        listed = [(value, f"{path}, record {position}") for position, value in enumerate(load_json(text, str(path)), 1)]
    else:
        lines = [
            (line, f"{path}, line {position}") for position, line in enumerate(text.split("\n"), 1) if line.strip()
        ]
        if lines[0][0].startswith('{"settings"') and not text.endswith("\n"):
            lines.pop()  # the run is still active, or was killed
        listed = [(load_json(line, where), where) for line, where in lines]
    for value, where in listed:
        if not isinstance(value, dict):
            hint = f'Use an object: {{"id": ..., "{PREDICTED}": [...]}}'
            raise BadInputError(f"Invalid record in {where}", hint)
        yield JsonRecord(value, where)


def _record(item: JsonRecord, position: int) -> AgentRecord:
    fields = item.fields
    if PREDICTED not in fields and "predicted_sparql" not in fields:
        raise BadInputError(f"Missing {PREDICTED} in {item.where}", "Runs of kbkit and of the authors have it")
    text = _text(item, "question")
    name = fields.get("id")
    if name is not None and (isinstance(name, bool) or not isinstance(name, str | int)):
        raise BadInputError(f"Invalid id {name!r} in {item.where}", "Use a string or an integer")
    return AgentRecord(
        str(name) if name is not None else text or str(position),
        text,
        _text(item, "predicted_sparql"),
        result(fields.get(PREDICTED), f"{item.where}, {PREDICTED}"),
        _text(item, "gold_sparql"),
        result(fields.get(GOLD), f"{item.where}, {GOLD}"),
        asked=fields.get("asked") is not False,
        error=_text(item, "error"),
        gold_error=_text(item, "gold_error"),
        cut=fields.get("cut") is True,
        outcome=_text(item, "outcome"),
        cost=_number(item, "cost"),
        actions=_integer(item, "actions"),
        rolled_back=_integer(item, "rolled_back"),
        input_tokens=_integer(item, "input_tokens"),
        output_tokens=_integer(item, "output_tokens"),
    )


def _text(item: JsonRecord, name: str) -> str:
    value = item.fields.get(name)
    if value is not None and not isinstance(value, str):
        raise BadInputError(f"Invalid {name} {value!r} in {item.where}", "Use a string")
    return value or ""


def _number(item: JsonRecord, name: str) -> float | None:
    value = item.fields.get(name)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0):
        return value
    raise BadInputError(f"Invalid {name} {value!r} in {item.where}", "Use a number, 0 or more, or null")


def _integer(item: JsonRecord, name: str) -> int | None:
    value = _number(item, name)
    if value is not None and not isinstance(value, int):
        raise BadInputError(f"Invalid {name} {value!r} in {item.where}", "Use an integer")
    return value
