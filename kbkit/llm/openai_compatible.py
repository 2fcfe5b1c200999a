"""Models behind OpenAI's chat completions API: OpenAI, Ollama, vLLM, llama.cpp and others.

The official client (extra ``openai``) retries transient errors (408, 409, 429, 5xx, broken connections) with increasing
pauses, or those requested by the server. It is imported on the first call.
"""

from __future__ import annotations

import functools
import json
import os
import re
import threading
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any, NoReturn

from kbkit.errors import KbError, MissingExtraError, Option, Part, QueryTimeoutError
from kbkit.llm.client import NO_ROOM, ModelRequest, ModelTool, Reply, Usage
from kbkit.stores import endpoint, threads

TIMEOUT = 120.0
TIMEOUT_VARIABLE = "KBKIT_LLM_TIMEOUT"
"""Environment variable with the seconds of an attempt."""
RETRIES = 5

_MAX_BYTES = 1 << 24
_NO_KEY = "none"
_SET_KEY = f"Set {endpoint.KEY_VARIABLES[0]} to its key"
_CHECK_URL = "Check that it is an OpenAI-compatible endpoint; most addresses end in /v1"
_OPTIONAL = ("response_format", "seed", "temperature", "top_p", "tools")
"""Parameters that are omitted if the model or server does not support them."""
_NO_TOOLS = (400, 404, 422, 500, 501)
"""Status codes of servers without function calling, or started without it."""
_THOUGHT = "thought"
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context|(?:maximum|available|exceeds?\b.{0,40}) context"
    r"|(?:prompt|input) is too long",
    re.IGNORECASE,
)
"""What servers say of messages that are longer than the model's context."""
_UNKNOWN = ("support", "unknown", "unrecognized", "permitted", "unexpected")


class OpenAIModel:
    """The model ``model`` at ``url``, for example ``http://localhost:11434/v1``.

    ``timeout`` is in seconds per attempt (default: that of the environment, or 120); ``retries`` is the number of
    attempts after the first. Raises :class:`KbError` for an invalid address.
    """

    def __init__(self, model: str, url: str, *, timeout: float | None = None, retries: int = RETRIES) -> None:
        endpoint.check_base(url, "Use an address such as llama3.2@http://localhost:11434/v1")
        self.name = model
        self.url = url
        self.timeout, self.retries = _seconds() if timeout is None else timeout, retries
        self._key = endpoint.api_key()
        self._refused: frozenset[str] = frozenset()
        self._guard = threading.Lock()
        self._opened: Any = None

    def complete(self, request: ModelRequest) -> Reply:
        """See :class:`kbkit.llm.client.Model`."""
        client = self._client()
        while True:
            refused = self._refused
            try:
                # The library takes 8 ms to check a body that is passed as arguments.
                body = self._body(request, refused)
                create = client.chat.completions.with_raw_response.create
                return self._reply(create(model=self.name, messages=[], extra_body=body))
            except _library().OpenAIError as error:
                if _is_too_long(error):
                    return NO_ROOM
                name = self._names_refused(error, request, refused)
                if not name:
                    self._fail(error)
                self._refused |= {name}

    def _client(self) -> Any:
        with self._guard:  # several threads may make the first call
            if self._opened is None:
                library = _library()
                self._opened = library.OpenAI(
                    api_key=self._key or _NO_KEY,
                    base_url=self.url,
                    max_retries=self.retries,
                    timeout=self.timeout,
                    http_client=_bounded()(
                        self.timeout,
                        lambda: KbError(f"More than {_MAX_BYTES:,} bytes in the answer of {self}", _CHECK_URL),
                    ),
                )
                if urllib.parse.urlsplit(self.url).hostname != "api.openai.com":
                    # Other servers must not learn the OpenAI account named in the environment.
                    self._opened.organization = self._opened.project = None
            return self._opened

    def __str__(self) -> str:
        return f"{self.name} at {self.url}"

    def _body(self, request: ModelRequest, refused: frozenset[str]) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [message._asdict() for message in request.messages],
            "temperature": request.temperature,
            limit: request.max_tokens,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.temperature > 0:  # so that samples differ, and are reproducible
            body["seed"] = request.sample
        if request.schema is not None:
            form = {"name": "answer", "schema": dict(request.schema), "strict": False}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if tools := request.tools:
            body["tools"] = [_function(tool) for tool in tools]
        return {name: value for name, value in body.items() if name not in refused}

    def _names_refused(self, error: Any, request: ModelRequest, refused: frozenset[str]) -> str:
        """Return the optional parameter that an error rejects (empty: none)."""
        status = getattr(error, "status_code", 0)
        if status not in _NO_TOOLS:
            return ""
        text = f"{error.param or ''} {error.message}".lower().replace("json_schema", "response_format")
        sent = self._body(request, refused)
        if "tools" in sent and re.search(r"\btools?\b|\btool[_ -]choice|\bfunction[ -]call", text):
            return "tools"
        if status not in (400, 422):
            return ""
        if "max_completion_tokens" in text and "max_tokens" in sent:
            return "max_tokens"
        unknown = "response_format" in text or any(word in text for word in _UNKNOWN)
        return next((name for name in _OPTIONAL if unknown and name in text and name in sent), "")

    def _reply(self, answer: Any) -> Reply:
        """Return the reply of a response 200. Null content (a refusal, a filter, only thoughts) is empty text."""
        try:
            body = json.loads(answer.http_response.content)
        except (ValueError, RecursionError):
            raise KbError(f"Invalid JSON in the answer of {self}", _CHECK_URL) from None
        try:
            choice = body["choices"][0]
            message = choice["message"]
            text = message.get("content") or message.get("refusal") or ""
            if isinstance(text, list):  # of parts
                text = "".join(part["text"] for part in text if part.get("type") == "text")
            if not isinstance(text, str):
                raise TypeError
            text = _called(message.get("tool_calls"), text) or text
        except (LookupError, TypeError, AttributeError):
            error = body.get("error") if isinstance(body, dict) else None
            details = f": {self._clean(json.dumps(error, ensure_ascii=False))}" if error else ""
            raise KbError(f"No choices in the answer of {self}{details}", _CHECK_URL) from None
        text = text.encode("utf-8", "replace").decode()  # replaces unpaired surrogates, which no file can store
        return Reply(text, _usage(body.get("usage")), choice.get("finish_reason") == "length")

    def _fail(self, error: Any) -> NoReturn:
        """Raise a :class:`KbError` of one line for an error of the library."""
        library = _library()
        attempts = _attempts(error)
        if isinstance(error, library.APITimeoutError):
            hint = f"{TIMEOUT_VARIABLE} sets the seconds of an attempt: long answers of slow models take more"
            raise QueryTimeoutError(f"{self} did not respond within {self.timeout:g} s{attempts}", hint) from None
        if isinstance(error, library.APIConnectionError):
            reason = self._clean(str(error.__cause__ or error.message)) or type(error.__cause__).__name__
            raise KbError(f"Cannot reach {self}: {reason}{attempts}", "Check that the server is running") from None
        if isinstance(error, library.APIStatusError):
            status = f"{error.status_code} {error.response.reason_phrase}".strip()
            details = self._clean(_details(error))
            message = f"{self} answered {status}{': ' + details if details else ''}{attempts}"
            raise KbError(message, *self._hints(error.status_code, error.response.headers)) from None
        raise KbError(f"{self}: {self._clean(str(error))}") from None

    def _hints(self, status: int, headers: Mapping[str, str]) -> tuple[Part, ...]:
        if status in (401, 403):
            return (_SET_KEY,)
        if status == 404:
            return ("Check the model's name and the address; most addresses end in /v1",)
        if status == 429:
            return ("Try again later, or with fewer ", Option("workers"), "; replies so far are cached")
        if 300 <= status < 400 and (location := headers.get("location")):
            return (f"Redirects are not followed: use {ascii(self._clean(location))[1:-1]}",)
        return ()

    def _clean(self, text: str) -> str:
        """Shorten text to one line, without the key."""
        return endpoint.masked(text, self._key)[:200]


def _library() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtraError("A language model", "openai") from None
    return openai


@functools.cache
def _bounded() -> Any:
    """Return the library's HTTP client class, without redirects and with limits on the size and time of answers."""
    library = _library()
    base: Any = library.DefaultHttpxClient

    class Bounded(base):  # type: ignore[misc]
        def __init__(self, seconds: float, too_long: Any) -> None:
            super().__init__(follow_redirects=False, timeout=seconds)
            self.whole, self.too_long = 1.1 * seconds, too_long

        def send(self, request: Any, **options: Any) -> Any:
            """Read the answer up to the limits.

            The library's own timeout applies to each part of an answer. It is reached first if a server sends nothing,
            which the library tries again; an answer that is sent too slowly is not requested again.
            """
            try:
                return threads.run(lambda: self._whole(request, options), None, self.whole)
            except threads.Expired:
                raise library.APITimeoutError(request=request) from None

        def _whole(self, request: Any, options: dict[str, Any]) -> Any:
            limit = time.monotonic() + self.whole
            response = super().send(request, **{**options, "stream": True})
            body = bytearray()
            try:
                for part in response.iter_bytes():
                    body += part
                    if len(body) > _MAX_BYTES:
                        raise self.too_long()
                    if time.monotonic() > limit:
                        raise threads.Expired
            finally:
                response.close()
            encoding = ("content-encoding", "content-length", "transfer-encoding")  # no longer apply
            headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in encoding]
            return type(response)(response.status_code, headers=headers, content=bytes(body), request=request)

    return Bounded


def _function(tool: ModelTool) -> dict[str, Any]:
    """Return a function for the API. A parameter takes the thought, which most models omit when they call functions."""
    properties = {_THOUGHT: "what was learned, and what to try next"}
    if tool.argument:
        properties[tool.argument] = f"the {tool.argument}"
    parameters = {
        "type": "object",
        "properties": {name: {"type": "string", "description": text} for name, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": tool.name, "description": tool.does, "parameters": parameters}}


def _called(calls: Any, content: str) -> str:
    """Return the first function call as JSON ``{"thought", "action", "argument"}`` (empty: none).

    Arguments that are not JSON are used as the argument.
    """
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not (isinstance(function, dict) and isinstance(name, str) and name):
        return ""
    value = function.get("arguments") or "{}"
    try:
        arguments = json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        arguments = {"argument": value}
    if not isinstance(arguments, dict):
        arguments = {"argument": arguments}
    thought = arguments.pop(_THOUGHT, "") or content
    values = list(arguments.values())
    argument = values[0] if len(values) == 1 else arguments or ""
    return json.dumps({"thought": thought, "action": name, "argument": argument}, ensure_ascii=False)


def _usage(usage: Any) -> Usage:
    """Return the usage that a server reports (0: not reported, or invalid)."""
    if not isinstance(usage, dict):
        return Usage()
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    return Usage(*(count if type(count) is int and 0 <= count < 1 << 40 else 0 for count in counts))


def _seconds() -> float:
    """Return the seconds of an attempt that the environment sets, or the default."""
    text = os.environ.get(TIMEOUT_VARIABLE, "").strip()
    if not text:
        return TIMEOUT
    if not (re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text) and float(text) > 0):
        raise KbError(f"Invalid {TIMEOUT_VARIABLE}: {text!r}", "Use a number of seconds")
    return float(text)


def _attempts(error: Any) -> str:
    """Return the number of attempts if more than one, which the library counts in a header."""
    count = error.request.headers.get("x-stainless-retry-count", "0") if hasattr(error, "request") else "0"
    return f" ({int(count) + 1} attempts)" if count.isdigit() and int(count) else ""


def _is_too_long(error: Any) -> bool:
    """Return whether a server refuses messages because they exceed the model's context."""
    if getattr(error, "status_code", 0) not in (400, 413, 422, 500):
        return False
    return bool(_TOO_LONG.search(f"{error.code or ''} {error.type or ''} {error.message}"))


def _details(error: Any) -> str:
    """Return the message of a server's error, or its text."""
    body = error.body
    if isinstance(body, dict):
        message = body.get("message") or body.get("detail") or body.get("error") or body
        return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    return str(body or "")
