"""Recorded calls as JSON lines: what ``kbkit llm export`` writes, ``import`` takes in and ``replay:FILE`` answers from.

A line is ``{"key", "model", "request": {"messages": [[role, text], ...], "schema", "temperature", "top_p",
"max_tokens", "sample"}, "reply": {"text", "input", "output", "cut"}}``; ``key`` is :meth:`Request.key` of the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kbkit.directory.files import replacing
from kbkit.errors import BadInputError, KbError
from kbkit.llm.client import Message, Reply, Request, Usage

_LONGEST_LINE = 1 << 26
_MOST_TOKENS = 1 << 40
_ROLES = ("system", "user", "assistant")


class Recorded(NamedTuple):
    """One call and its reply."""

    key: str
    model: str
    request: Request
    reply: Reply


def line(call: Recorded) -> str:
    """A call as one line of JSON."""
    reply = call.reply
    said = {"text": reply.text, "input": reply.usage.input, "output": reply.usage.output, "cut": reply.cut}
    content = {"key": call.key, "model": call.model, "request": call.request.content(), "reply": said}
    return json.dumps(content, ensure_ascii=False) + "\n"


def write(calls: Iterable[Recorded], file: Path) -> int:
    """Write calls to ``file``, aside first and then renamed; returns their number."""
    if not file.name or file.is_dir():
        raise KbError(f"{file} is a folder", "name a file")
    count = 0
    with replacing(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        for call in calls:
            stream.write(line(call))
            count += 1
    return count


def read(file: Path) -> Iterator[Recorded]:
    """The calls of a recording, in its order. Raises :class:`BadInputError` with file and line."""
    try:
        with file.open("rb") as stream:
            number = 0
            while text := stream.readline(_LONGEST_LINE + 1):
                number += 1
                if text.strip():
                    yield _call(text, f"{file}:{number}")
    except OSError as error:
        raise KbError(f"{file} cannot be read: {error.strerror or error}") from None


def _call(text: bytes, where: str) -> Recorded:
    if len(text) > _LONGEST_LINE:
        raise BadInputError(f"{where} has more than {_LONGEST_LINE:,} bytes", _HINT)
    try:
        found = json.loads(text)
        call = Recorded(_text(found["key"]), _text(found["model"]), _request(found["request"]), _reply(found["reply"]))
        key = call.request.key(call.model)
        json.dumps(call.request.content(), ensure_ascii=False).encode()  # half characters, which no file can hold
    except KeyError as error:
        raise BadInputError(f"{where} has no {error.args[0]!r}", _HINT) from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadInputError(f"{where} is no recorded call", _HINT) from None
    if key != call.key:
        raise BadInputError(f"{where}: the key is not that of the call beside it", "was the line edited?")
    return call


_HINT = "kbkit llm export writes such files"


def _request(found: Any) -> Request:
    schema, top_p = found["schema"], found["top_p"]
    if not (schema is None or isinstance(schema, dict)):
        raise TypeError
    return Request(
        tuple(_message(*message) for message in found["messages"]),
        schema,
        _number(found["temperature"]),
        None if top_p is None else _number(top_p),
        _count(found["max_tokens"]),
        _count(found["sample"]),
    )


def _message(role: Any, content: Any) -> Message:
    if role not in _ROLES:
        raise ValueError
    return Message(role, _text(content))


def _reply(found: Any) -> Reply:
    if not isinstance(found["cut"], bool):
        raise TypeError
    text = _text(found["text"])
    usage = Usage(_count(found["input"], _MOST_TOKENS), _count(found["output"], _MOST_TOKENS))
    return Reply(text, usage, found["cut"])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # a half of a surrogate pair is no text
    return value


def _count(value: Any, limit: int = 1 << 53) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e9:
        raise TypeError
    return float(value)
