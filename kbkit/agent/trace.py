"""Traces: JSON Lines with one record per step of an agent, and the answer or the error last.

A later question can continue from such a file: the answer's record has the question, its query and rows, and the
earlier turns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.agent.agent import AgentAnswer, EarlierQuestion
from kbkit.agent.state import AgentState
from kbkit.directory.files import parse_json, write_files
from kbkit.errors import BadInputError, Command, KbError, Option
from kbkit.llm.account import Account
from kbkit.llm.client import Usage

_MOST_BYTES = 1 << 28
_HINT = ("Write a trace with ", Option("trace"), " of ", Command("ask"))


class Trace:
    """The trace file of one question. It is rewritten atomically after each step, so nothing is lost; ``before`` are
    lines that stay at the top. ``limits`` are those of the session, and ``account`` knows what its calls cost.
    """

    def __init__(
        self,
        path: Path,
        question: str,
        history: Sequence[EarlierQuestion] = (),
        before: str = "",
        limits: Mapping[str, Any] | None = None,
        account: Account | None = None,
    ) -> None:
        self._path, self._before = path, before
        self._limits, self._account = limits or {}, account
        self._turn = {"question": question, "history": [turn._asdict() for turn in history]}
        self._state = AgentState()

    def step(self, state: AgentState) -> None:
        """Write the steps so far; the first call also checks that the file can be written."""
        self._state = state
        self._write()

    def answer(self, answer: AgentAnswer) -> None:
        """Write the answer: question, query, all rows, sentence, outcome, counts, tokens, and the conversation."""
        record = {
            "answer": {
                **self._turn,
                "sparql": answer.sparql,
                "columns": answer.rows.columns,
                "rows": [[_plain(value) for value in row] for row in answer.rows.rows()],
                "shown": answer.shown,
                "sentence": answer.sentence,
                "cut": answer.cut,
                "outcome": answer.outcome,
                "actions": answer.actions,
                "rolled_back": answer.rolled_back,
                "tokens": list(answer.usage),
                **self._session(),
            }
        }
        self._write(record)

    def error(self, message: str) -> None:
        """Write the error, and the best query so far."""
        best = self._state.best
        usage: Usage = self._state.usage
        record = {"message": message, "sparql": best.query if best else "", "tokens": list(usage), **self._session()}
        self._write({"error": {**self._turn, **record}})

    def _session(self) -> dict[str, Any]:
        """Return the limits of the session, and its calls: how many, the tokens paid for, and their cost."""
        session: dict[str, Any] = {"limits": dict(self._limits)} if self._limits else {}
        if self._account is not None:
            spent = {name: getattr(self._account, name) for name in ("calls", "cached", "input", "output", "cost")}
            session["spent"] = spent | {"budget": self._account.budget}
        return session

    def _write(self, *last: dict[str, Any]) -> None:
        records = [*(step.record() for step in self._state.trace), *last]
        text = "".join(json.dumps(record, ensure_ascii=False, default=str) + "\n" for record in records)
        write_files({self._path: (self._before + text).encode("utf-8", "replace")})


def read(path: Path) -> tuple[list[EarlierQuestion], str]:
    """Return the conversation at the end of a trace, latest turn last, and the file's text.

    Raises :class:`KbError` if there is no answer, and :class:`BadInputError` with the line of an invalid record.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise KbError(f"Cannot read {path}: {error.strerror or error}", *_HINT) from None
    if len(content) > _MOST_BYTES:
        raise BadInputError(f"{path} is larger than {_MOST_BYTES:,} bytes", *_HINT)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BadInputError(f"Invalid UTF-8 in {path}", *_HINT) from None
    turns: list[EarlierQuestion] | None = None
    for number, row in enumerate(text.split("\n"), 1):
        if row.strip():
            turns = _turns(row, f"{path}:{number}") or turns
    if not turns:
        raise KbError(f"{path} has no answer to continue from", *_HINT)
    return turns, text if text.endswith("\n") else text + "\n"


def _turns(row: str, where: str) -> list[EarlierQuestion] | None:
    """Return the conversation up to an answer's record, or None for another record."""
    try:
        record = parse_json(row)
        if not isinstance(record, dict):
            raise TypeError
        answer = record.get("answer")
        if answer is None:
            return None
        return [*(_turn(turn) for turn in answer["history"]), _turn({**answer, "rows": answer["shown"]})]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise BadInputError(f"{where} is not a record of a trace", *_HINT) from None


def _turn(turn: Any) -> EarlierQuestion:
    question, sparql, rows = turn["question"], turn["sparql"], turn["rows"]
    if not (isinstance(question, str) and isinstance(sparql, str) and all(isinstance(row, str) for row in rows)):
        raise TypeError
    return EarlierQuestion(question, sparql, list(rows))


def _plain(value: Any) -> Any:
    """Return a value for JSON, which has no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
