"""The protocol of language models: requests of messages, replies of text, usage in tokens."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kbkit.errors import Command, KbError, Option

VARIABLE = "KBKIT_LLM"
"""Environment variable with the default models of the command line, separated by spaces."""
EXAMPLE = "llama3.2@http://localhost:11434/v1"
"""A model of Ollama on this machine."""


def missing_model(problem: str = "No language model given", option: str = "llm", kind: str = "") -> KbError:
    """Return the error of a command that needs a language model, with an example to copy.

    ``option`` names the model, in which ``kind`` precedes it.
    """
    return KbError(
        problem,
        "For example ",
        Option(option, kind + EXAMPLE),
        " (Ollama), or ",
        Option(option, f"{kind}MODEL@URL"),
        f" of any OpenAI-compatible server. The environment variable {VARIABLE} sets a default; see ",
        Command("docs llm"),
    )


class Message(NamedTuple):
    """A message; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


class Usage(NamedTuple):
    """Input and output tokens of a call, as counted by the model."""

    input: int = 0
    output: int = 0


_NONE = Usage()


class ModelTool(NamedTuple):
    """A function that a model may call; ``argument`` is the name of its string parameter (empty: none)."""

    name: str
    argument: str
    does: str


@dataclass(frozen=True)
class ModelRequest:
    """A call: messages and parameters.

    ``schema`` is the JSON schema of the answer (None: plain text). ``sample`` numbers several answers to the same
    messages (votes). ``tools`` repeats the functions listed in the messages for servers with function calling; it is
    not part of the key.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    sample: int = 0
    tools: tuple[ModelTool, ...] = ()

    def content(self) -> dict[str, Any]:
        """Return messages and parameters as plain data, as stored in recordings and hashed in keys."""
        return {
            "messages": [list(message) for message in self.messages],
            "schema": self.schema,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "sample": self.sample,
        }

    def key(self, model: str) -> str:
        """Return the key in the cache: a hash of model, messages and parameters."""
        content = {"model": model, **self.content()}
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def asked(self) -> str:
        """Return the user message, which has the data of the call."""
        return next((message.content for message in self.messages if message.role == "user"), "")

    def followed(self, *messages: Message) -> ModelRequest:
        """Return the call with messages appended."""
        return dataclasses.replace(self, messages=(*self.messages, *messages))


@dataclass(frozen=True)
class Reply:
    """The text of a model; ``cut`` if it was truncated at ``max_tokens`` or the end of the model's context."""

    text: str
    usage: Usage = _NONE
    cut: bool = False


NO_ROOM = Reply("", cut=True)
"""The reply to messages that exceed the model's context: no token, and truncated."""


class Model(Protocol):
    """A language model; calls are cached by its ``name``."""

    name: str

    def complete(self, request: ModelRequest) -> Reply:
        """Return the model's reply; raise :class:`kbkit.errors.KbError` if the call fails."""
        ...
