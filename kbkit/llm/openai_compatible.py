"""Any server that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, and many more.

The official client (extra ``openai``) sends, and tries again after transient errors (408, 409, 429, 5xx, broken
connections), with growing pauses or those that the server asks for. It is imported with the first call.
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

from kbkit.errors import KbError, MissingExtraError, QueryTimeoutError
from kbkit.llm.client import Reply, Request, Tool, Usage
from kbkit.stores import endpoint

TIMEOUT = 120.0
RETRIES = 5

_MOST_BYTES = 1 << 24
_NO_KEY = "none"
_SET_KEY = f"set {endpoint.KEY_VARIABLES[0]} to its key"
_IS_IT = "is it an OpenAI-compatible endpoint? Addresses mostly end with /v1"
_OPTIONAL = ("response_format", "seed", "temperature", "top_p", "tools")
"""Parameters that a call goes without where a model or server does not take them."""
_NO_TOOLS = (400, 404, 422, 500, 501)
"""What servers answer that have no function calling, or would have it only when they are started otherwise."""
_THOUGHT = "thought"
_UNKNOWN = ("support", "unknown", "unrecognized", "permitted", "unexpected")


class OpenAIModel:
    """The model ``model`` at ``url``, e.g. ``http://localhost:11434/v1``.

    ``timeout`` is in seconds, for one try; ``retries`` are the tries after the first. Raises :class:`KbError` for an
    address that is none.
    """

    def __init__(self, model: str, url: str, *, timeout: float = TIMEOUT, retries: int = RETRIES) -> None:
        endpoint.check(url, "e.g. llama3.2@http://localhost:11434/v1")
        if {"?", "#"} & set(url):
            raise KbError(f"{url.partition('?')[0]!r} is followed by ? or #", "an address ends with its path, e.g. /v1")
        self.name = model
        self.url = url
        self.timeout, self.retries = timeout, retries
        self._key = _key()
        self._refused: frozenset[str] = frozenset()
        self._guard = threading.Lock()
        self._opened: Any = None

    def complete(self, request: Request) -> Reply:
        """See :class:`kbkit.llm.client.Model`."""
        client = self._client()
        while True:
            refused = self._refused
            try:
                return self._reply(client.chat.completions.with_raw_response.create(**self._body(request, refused)))
            except _library().OpenAIError as error:
                name = self._names_refused(error, request, refused)
                if not name:
                    self._fail(error)
                self._refused |= {name}

    def _client(self) -> Any:
        with self._guard:  # several threads may come first
            if self._opened is None:
                library = _library()
                self._opened = library.OpenAI(
                    api_key=self._key or _NO_KEY,
                    base_url=self.url,
                    max_retries=self.retries,
                    timeout=self.timeout,
                    http_client=_bounded()(
                        self.timeout, lambda: KbError(f"{self} answered with more than {_MOST_BYTES:,} bytes", _IS_IT)
                    ),
                )
                if urllib.parse.urlsplit(self.url).hostname != "api.openai.com":
                    # What the environment says of an account with OpenAI is nobody else's business.
                    self._opened.organization = self._opened.project = None
            return self._opened

    def __str__(self) -> str:
        return f"{self.name} at {self.url}"

    def _body(self, request: Request, refused: frozenset[str]) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [message._asdict() for message in request.messages],
            "temperature": request.temperature,
            limit: request.max_tokens,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.temperature > 0:  # so that samples differ, and come again
            body["seed"] = request.sample
        if request.schema is not None:
            form = {"name": "answer", "schema": dict(request.schema), "strict": False}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if tools := request.tools:
            body["tools"] = [_function(tool) for tool in tools]
        return {name: value for name, value in body.items() if name not in refused}

    def _names_refused(self, error: Any, request: Request, refused: frozenset[str]) -> str:
        """The parameter that an answer 400 or 422 complains of, and that the call can go without; else empty."""
        status = getattr(error, "status_code", 0)
        if status not in _NO_TOOLS:
            return ""
        said = f"{error.param or ''} {error.message}".lower().replace("json_schema", "response_format")
        sent = self._body(request, refused)
        if "tools" in sent and re.search(r"\btools?\b|\btool[_ -]choice|\bfunction[ -]call", said):
            return "tools"
        if status not in (400, 422):
            return ""
        if "max_completion_tokens" in said and "max_tokens" in sent:
            return "max_tokens"
        unknown = "response_format" in said or any(word in said for word in _UNKNOWN)
        return next((name for name in _OPTIONAL if unknown and name in said and name in sent), "")

    def _reply(self, answer: Any) -> Reply:
        """The reply in an answer 200. A null content (a refusal, a filter, nothing but thoughts) is an empty text."""
        try:
            found = json.loads(answer.http_response.content)
        except (ValueError, RecursionError):
            raise KbError(f"{self} did not answer with JSON", _IS_IT) from None
        try:
            choice = found["choices"][0]
            message = choice["message"]
            text = message.get("content") or message.get("refusal") or ""
            if isinstance(text, list):  # of parts
                text = "".join(part["text"] for part in text if part.get("type") == "text")
            if not isinstance(text, str):
                raise TypeError
            text = _called(message.get("tool_calls"), text) or text
        except (LookupError, TypeError, AttributeError):
            error = found.get("error") if isinstance(found, dict) else None
            said = f": {self._clean(json.dumps(error, ensure_ascii=False))}" if error else ""
            raise KbError(f"{self} answered without choices{said}", _IS_IT) from None
        whole = text.encode("utf-8", "replace").decode()  # no half characters, which no file can hold
        if self._key:  # which no file shall hold
            whole = whole.replace(self._key, "...")
        return Reply(whole, _usage(found.get("usage")), choice.get("finish_reason") == "length")

    def _fail(self, error: Any) -> NoReturn:
        """One line in the place of the library's error."""
        library = _library()
        tries = _tries(error)
        if isinstance(error, library.APITimeoutError):
            hint = "a larger model takes longer to load: is it the first call?"
            raise QueryTimeoutError(f"{self} did not answer within {self.timeout:g} s{tries}", hint) from None
        if isinstance(error, library.APIConnectionError):
            reason = self._clean(str(error.__cause__ or error.message)) or type(error.__cause__).__name__
            raise KbError(f"{self} does not answer: {reason}{tries}", "is the server running?") from None
        if isinstance(error, library.APIStatusError):
            status = f"{error.status_code} {error.response.reason_phrase}".strip()
            said = self._clean(_said(error))
            message = f"{self} answered {status}{': ' + said if said else ''}{tries}"
            raise KbError(message, self._hint(error.status_code, error.response.headers)) from None
        raise KbError(f"{self}: {self._clean(str(error))}") from None

    def _hint(self, status: int, headers: Mapping[str, str]) -> str:
        if status in (401, 403):
            return _SET_KEY
        if status == 404:
            return "is that one of its models? Addresses mostly end with /v1"
        if status == 429:
            return "its limit: try later, or with fewer --workers; what was answered is kept"
        if 300 <= status < 400 and (place := headers.get("location")):
            return f"it points to {ascii(self._clean(place))[1:-1]}, which is not followed"
        return ""

    def _clean(self, text: str) -> str:
        """One short line, without the key, which some servers repeat."""
        return " ".join((text.replace(self._key, "...") if self._key else text).split())[:200]


def _key() -> str:
    """The key in the environment, empty where there is none."""
    variables = endpoint.KEY_VARIABLES
    key = next((os.environ[name].strip() for name in variables if os.environ.get(name, "").strip()), "")
    if not (key.isascii() and (key.isprintable() or not key)):
        raise KbError(f"the key in {' or '.join(variables)} is not plain text", "was it copied whole?")
    return key


def _library() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtraError("A language model", "openai") from None
    return openai


@functools.cache
def _bounded() -> Any:
    """The library's HTTP client, that follows no redirect and takes answers of bounded length in bounded time."""
    library = _library()
    base: Any = library.DefaultHttpxClient

    class Bounded(base):  # type: ignore[misc]
        def __init__(self, seconds: float, too_long: Any) -> None:
            super().__init__(follow_redirects=False, timeout=seconds)
            self.seconds, self.too_long = seconds, too_long

        def send(self, request: Any, **options: Any) -> Any:
            """Read the whole answer, up to the limits; the library's own timeout is for each part of it."""
            limit = time.monotonic() + self.seconds
            response = super().send(request, **{**options, "stream": True})
            body = bytearray()
            try:
                for part in response.iter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES:
                        raise self.too_long()
                    if time.monotonic() > limit:
                        raise library.APITimeoutError(request=request)
            finally:
                response.close()
            lost = ("content-encoding", "content-length", "transfer-encoding")  # of the body as it was sent
            headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in lost]
            return type(response)(response.status_code, headers=headers, content=bytes(body), request=request)

    return Bounded


def _function(tool: Tool) -> dict[str, Any]:
    """A function as the API has it; with a parameter for the thought, because most models say nothing beside a call."""
    properties = {_THOUGHT: "what was learned, and what this is to try"}
    if tool.argument:
        properties[tool.argument] = f"the {tool.argument}"
    parameters = {
        "type": "object",
        "properties": {name: {"type": "string", "description": said} for name, said in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": tool.name, "description": tool.does, "parameters": parameters}}


def _called(calls: Any, said: str) -> str:
    """The first call of a function as JSON ``{"thought", "action", "argument"}``; empty where there is none, or none
    that names one.

    Arguments that are no JSON are the argument as they stand.
    """
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not (isinstance(function, dict) and isinstance(name, str) and name):
        return ""
    given = function.get("arguments") or "{}"
    try:
        arguments = json.loads(given, strict=False) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        arguments = {"argument": given}
    if not isinstance(arguments, dict):
        arguments = {"argument": arguments}
    thought = arguments.pop(_THOUGHT, "") or said
    values = list(arguments.values())
    argument = values[0] if len(values) == 1 else arguments or ""
    return json.dumps({"thought": thought, "action": name, "argument": argument}, ensure_ascii=False)


def _usage(found: Any) -> Usage:
    """What a server says that a call used; 0 where it says nothing, or nothing that is a number of tokens."""
    if not isinstance(found, dict):
        return Usage()
    counts = [found.get("prompt_tokens"), found.get("completion_tokens")]
    return Usage(*(count if type(count) is int and 0 <= count < 1 << 40 else 0 for count in counts))


def _tries(error: Any) -> str:
    """How often a call was tried, where that is more than once: the library counts them in a header."""
    count = error.request.headers.get("x-stainless-retry-count", "0") if hasattr(error, "request") else "0"
    return f" ({int(count) + 1} tries)" if count.isdigit() and int(count) else ""


def _said(error: Any) -> str:
    """What a server says of an error: its message, or the beginning of its page."""
    body = error.body
    if isinstance(body, dict):
        found = body.get("message") or body.get("detail") or body.get("error") or body
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return str(body or "")
