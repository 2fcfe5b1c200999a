"""Traces: JSON lines of what an agent did for a question, a record a step; the last is the answer, or the error.

A later question goes on from such a file: the answer's record has the question, its query and rows, and those before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kbkit.agent.agent import Answer, Turn
from kbkit.agent.state import State
from kbkit.directory.files import write_files
from kbkit.errors import BadInputError, KbError
from kbkit.llm.client import Usage

_MOST_BYTES = 1 << 28
_HINT = "kbkit ask --trace writes such files"


class Trace:
    """The file of one question. It is written anew, whole, after each step, so that what was found is kept whatever
    happens; ``before`` are lines that stay in front.
    """

    def __init__(self, path: Path, question: str, history: Sequence[Turn] = (), before: str = "") -> None:
        self._path, self._before = path, before
        self._turn = {"question": question, "history": [turn._asdict() for turn in history]}
        self._state = State()

    def step(self, state: State) -> None:
        """Keep the steps so far; before the first, see that the file can be written."""
        self._state = state
        self._write()

    def answer(self, answer: Answer) -> None:
        """Keep the answer: question, query, all rows, how it ended, counts, tokens, and the conversation before."""
        record = {
            "answer": {
                **self._turn,
                "sparql": answer.sparql,
                "columns": answer.rows.columns,
                "rows": [[_plain(value) for value in row] for row in answer.rows.rows()],
                "shown": answer.shown,
                "cut": answer.cut,
                "outcome": answer.outcome,
                "actions": answer.actions,
                "rolled_back": answer.rolled_back,
                "tokens": list(answer.usage),
            }
        }
        self._write(record)

    def error(self, message: str) -> None:
        """Keep what went wrong, and the best query so far."""
        best = self._state.best
        usage: Usage = self._state.usage
        self._write(
            {"error": {**self._turn, "message": message, "sparql": best.query if best else "", "tokens": list(usage)}}
        )

    def _write(self, *last: dict[str, Any]) -> None:
        records = [*(step.record() for step in self._state.trace), *last]
        text = "".join(json.dumps(record, ensure_ascii=False, default=str) + "\n" for record in records)
        write_files({self._path: (self._before + text).encode("utf-8", "replace")})


def read(path: Path) -> tuple[list[Turn], str]:
    """The conversation that a trace ends with, the latest turn last, and the file's text.

    Raises :class:`KbError` where there is no answer, and :class:`BadInputError` with the line that is no record.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise KbError(f"{path} cannot be read: {error.strerror or error}", _HINT) from None
    if len(content) > _MOST_BYTES:
        raise BadInputError(f"{path} has more than {_MOST_BYTES:,} bytes", _HINT)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BadInputError(f"{path} is not UTF-8", _HINT) from None
    turns: list[Turn] | None = None
    for number, row in enumerate(text.split("\n"), 1):
        if row.strip():
            turns = _turns(row, f"{path}:{number}") or turns
    if not turns:
        raise KbError(f"{path} holds no answer to go on from", _HINT)
    return turns, text if text.endswith("\n") else text + "\n"


def _turns(row: str, where: str) -> list[Turn] | None:
    """The conversation up to an answer's record; None for another record."""
    try:
        record = json.loads(row)
        if not isinstance(record, dict):
            raise TypeError
        answer = record.get("answer")
        if answer is None:
            return None
        return [*(_turn(turn) for turn in answer["history"]), _turn({**answer, "rows": answer["shown"]})]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise BadInputError(f"{where} is no record of a trace", _HINT) from None


def _turn(found: Any) -> Turn:
    question, sparql, rows = found["question"], found["sparql"], found["rows"]
    if not (isinstance(question, str) and isinstance(sparql, str) and all(isinstance(row, str) for row in rows)):
        raise TypeError
    return Turn(question, sparql, list(rows))


def _plain(value: Any) -> Any:
    """JSON has no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
