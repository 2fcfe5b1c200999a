"""Recordings of calls as JSON lines, and the model that replays them.

A line is ``{"key", "model", "request": {"messages": [[role, text], ...], "schema", "temperature", "top_p",
"max_tokens", "sample"}, "reply": {"text", "input", "output", "cut"}}``; ``key`` is :meth:`ModelRequest.key` of
the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kbkit.directory.files import replacing
from kbkit.errors import BadInputError, Command, KbError
from kbkit.llm.client import Message, ModelRequest, Reply, Usage

_MAX_LINE = 1 << 26
_MAX_TOKENS = 1 << 40
_MAX_SHOWN = 600
_ROLES = ("system", "user", "assistant")


class Recorded(NamedTuple):
    """A call and its reply."""

    key: str
    model: str
    request: ModelRequest
    reply: Reply


def line(call: Recorded) -> str:
    """Return a call as one line of JSON."""
    reply = call.reply
    data = {"text": reply.text, "input": reply.usage.input, "output": reply.usage.output, "cut": reply.cut}
    content = {"key": call.key, "model": call.model, "request": call.request.content(), "reply": data}
    return json.dumps(content, ensure_ascii=False) + "\n"


def write(calls: Iterable[Recorded], file: Path) -> int:
    """Write calls to a file atomically; return their number."""
    if not file.name or file.is_dir():
        raise KbError(f"{file} is a folder", "Use a file")
    count = 0
    with replacing(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        for call in calls:
            stream.write(line(call))
            count += 1
    return count


def read(file: Path) -> Iterator[Recorded]:
    """Yield the calls of a recording. Raises :class:`BadInputError` with file and line."""
    try:
        with file.open("rb") as stream:
            number = 0
            while text := stream.readline(_MAX_LINE + 1):
                number += 1
                if text.strip():
                    yield _call(text, f"{file}, line {number}")
    except OSError as error:
        raise KbError(f"Cannot read {file}: {error.strerror or error}") from None


def _call(text: bytes, where: str) -> Recorded:
    if len(text) > _MAX_LINE:
        raise BadInputError(f"More than {_MAX_LINE:,} bytes in {where}", *_HINT)
    try:
        fields = json.loads(text)
        call = Recorded(
            _text(fields["key"]), _text(fields["model"]), _request(fields["request"]), _reply(fields["reply"])
        )
        key = call.request.key(call.model)
        json.dumps(call.request.content(), ensure_ascii=False).encode()  # fails for unpaired surrogates
    except KeyError as error:
        raise BadInputError(f"Missing {error.args[0]!r} in {where}", *_HINT) from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadInputError(f"Invalid call in {where}", *_HINT) from None
    if key != call.key:
        raise BadInputError(f"The key does not match the call in {where}", "Check whether the line was edited")
    return call


_HINT = ("Create recordings with ", Command("llm export"))


def _request(fields: Any) -> ModelRequest:
    schema, top_p = fields["schema"], fields["top_p"]
    if not (schema is None or isinstance(schema, dict)):
        raise TypeError
    return ModelRequest(
        tuple(_message(*message) for message in fields["messages"]),
        schema,
        _number(fields["temperature"]),
        None if top_p is None else _number(top_p),
        _count(fields["max_tokens"]),
        _count(fields["sample"]),
    )


def _message(role: Any, content: Any) -> Message:
    if role not in _ROLES:
        raise ValueError
    return Message(role, _text(content))


def _reply(fields: Any) -> Reply:
    if not isinstance(fields["cut"], bool):
        raise TypeError
    text = _text(fields["text"])
    usage = Usage(_count(fields["input"], _MAX_TOKENS), _count(fields["output"], _MAX_TOKENS))
    return Reply(text, usage, fields["cut"])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # fails for unpaired surrogates
    return value


def _count(value: Any, limit: int = 1 << 53) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e9:
        raise TypeError
    return float(value)


class Replay:
    """A model that returns recorded replies of the model ``name``, without network.

    ``calls`` are the calls of the file, if already read.
    """

    def __init__(self, name: str, file: Path, calls: Iterable[Recorded] | None = None) -> None:
        self.name = name
        self.file = file
        self._replies: dict[str, Reply] = {}
        for call in read(file) if calls is None else calls:
            if call.model == name:
                self._replies.setdefault(call.key, call.reply)  # the first of two counts, as in the cache

    def complete(self, request: ModelRequest) -> Reply:
        """See :class:`kbkit.llm.client.Model`. Raises :class:`KbError`, with the prompt, for a missing call."""
        reply = self._replies.get(request.key(self.name))
        if reply is None:
            data = " ".join(request.asked().split())
            message = f"No recorded call of {self.name} in {self.file} for: {data[:_MAX_SHOWN]}"
            raise KbError(
                message + ("..." if len(data) > _MAX_SHOWN else ""),
                "Record the run again with the same prompts and parameters: ",
                Command("llm export"),
            )
        return reply
