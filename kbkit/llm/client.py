"""What callers and models say to each other: a request of messages, a reply of text, and what it used."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


class Message(NamedTuple):
    """One message; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


class Usage(NamedTuple):
    """Tokens that a call read and wrote, as the model counts them."""

    input: int = 0
    output: int = 0


_NONE = Usage()


class Tool(NamedTuple):
    """A function that a model may call where its server can: ``argument`` is the name of its text, empty for none."""

    name: str
    argument: str
    does: str


@dataclass(frozen=True)
class Request:
    """A call: messages and parameters.

    ``schema`` is the JSON schema of the answer; None where it is plain text. ``sample`` numbers answers to the same
    messages, where several are wanted (votes). ``tools`` are the functions that the messages list already, for servers
    that have calls of functions: the call is the same without them, and so is its key.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    sample: int = 0
    tools: tuple[Tool, ...] = ()

    def content(self) -> dict[str, Any]:
        """The messages and all parameters as plain data: what a recording holds, and what the key is made of."""
        return {
            "messages": [list(message) for message in self.messages],
            "schema": self.schema,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "sample": self.sample,
        }

    def key(self, model: str) -> str:
        """The call's name in the cache: a hash of the model, the messages and all parameters."""
        content = {"model": model, **self.content()}
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def asked(self) -> str:
        """The user's message: the data that the call is about."""
        return next((message.content for message in self.messages if message.role == "user"), "")

    def followed(self, *messages: Message) -> Request:
        """The same call with more messages behind."""
        return dataclasses.replace(self, messages=(*self.messages, *messages))


@dataclass(frozen=True)
class Reply:
    """What a model said; ``cut`` when it stopped at ``max_tokens``."""

    text: str
    usage: Usage = _NONE
    cut: bool = False


class Model(Protocol):
    """A language model; ``name`` is what its calls are cached under."""

    name: str

    def complete(self, request: Request) -> Reply:
        """The model's reply. Raises :class:`kbkit.errors.KbError` where none is to be had."""
        ...
