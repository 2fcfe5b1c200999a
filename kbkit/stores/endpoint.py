"""HTTP requests to endpoints that the user configures."""

from __future__ import annotations

import functools
import http.client
import json
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from typing import Any

from kbkit.directory.files import parse_json
from kbkit.errors import KbError, QueryTimeoutError
from kbkit.stores import threads

KEY_VARIABLES = ("KBKIT_API_KEY", "OPENAI_API_KEY")
"""Environment variables with the API key, in order of priority; the key is never stored."""

_TIMEOUT = 120
_MAX_BYTES = 1 << 30
_SHORTEST_KEY = 8
"""Characters of a key that is masked: a shorter one is no secret, but part of many words."""
_CHUNK = 1 << 16


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects are not followed, so that the key is sent to no other host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


_PASSWORD = (
    "The address has a user name and password, which the KB would store",
    f"Remove them, and set {KEY_VARIABLES[0]} to the API key",
)


def check_url(
    url: str, hint: str = "For example http://localhost:8080/v1", password: tuple[str, str] = _PASSWORD
) -> None:
    """Raise :class:`KbError` for an invalid HTTP address, or one with a user name or password.

    ``hint`` is a valid example, ``password`` message and hint for an address with a password.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # invalid port or brackets
        parts, fine = urllib.parse.SplitResult("", "", "", "", ""), False
    if parts.username is not None or parts.password is not None:
        raise KbError(*password)
    if not fine or not url.isprintable() or " " in url:
        raise KbError(f"Invalid address of an endpoint: {url!r}", hint)


def check_base(url: str, hint: str = "For example http://localhost:8080/v1") -> None:
    """Raise :class:`KbError` for an address that :func:`check_url` refuses, or one that does not end with its path."""
    check_url(url, hint)
    if {"?", "#"} & set(url):
        base = re.split(r"[?#]", url, maxsplit=1)[0]
        raise KbError(f"Invalid address {base!r}: contains ? or #", "End the address with its path, such as /v1")


def api_key() -> str:
    """Return the key in the environment (empty: none). Raises :class:`KbError` if no header can have it."""
    key = next((os.environ[name].strip() for name in KEY_VARIABLES if os.environ.get(name, "").strip()), "")
    if not (key.isascii() and (key.isprintable() or not key)):
        raise KbError(f"Invalid API key in {' or '.join(KEY_VARIABLES)}", "It must be printable ASCII")
    return key


def masked(text: str, key: str) -> str:
    """Return a message on one line, without the key, which some servers repeat, also as a part of a longer word."""
    if len(key) >= _SHORTEST_KEY:
        for form in (key, urllib.parse.quote(key, safe=""), json.dumps(key)[1:-1]):
            text = text.replace(form, "...")
    return " ".join(text.split())


class StatusError(KbError):
    """A response with another ``status`` than 200; ``wait`` is how many seconds the server asks to wait, if it does."""

    def __init__(self, message: str, hint: str, status: int, wait: float | None = None) -> None:
        super().__init__(message, hint)
        self.status, self.wait = status, wait


def post(url: str, body: dict[str, Any], final: Callable[[StatusError], bool] = lambda _: False) -> Any:
    """POST ``body`` as JSON and return the JSON response. Raises :class:`KbError`; follows no redirects.

    Status 408, 409, 429 and 5xx are tried again after growing pauses, or those that the server asks for, unless an
    error is ``final``.
    """
    headers = {"Content-Type": "application/json"}
    if key := api_key():
        headers["Authorization"] = f"Bearer {key}"
    hint = f"Set {KEY_VARIABLES[0]} to the API key"
    for pause in (*PAUSES, None):
        try:
            text, _ = send(url, json.dumps(body).encode(), headers, _TIMEOUT, hint, _OPENAI)
            break
        except StatusError as error:
            if pause is None or final(error) or not (error.status in _TRANSIENT or 500 <= error.status != _UNABLE):
                raise
            seconds = pause if error.wait is None else min(error.wait, _LONGEST_PAUSE)
            threads.run(functools.partial(threading.Event().wait, seconds), None)
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        raise KbError(f"{url} did not return JSON", _OPENAI) from None


PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before a request is sent again, unless the server asks for others."""
_LONGEST_PAUSE = 60.0
_TRANSIENT, _UNABLE = (408, 409, 429), 501
_OPENAI = "Check that it is an OpenAI-compatible endpoint"


def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout: float | None,
    unauthorized: str = "",
    too_long: str = "",
) -> tuple[bytes, str]:
    """POST ``body`` and return the response and its content type (without parameters); follows no redirects.

    ``timeout`` (seconds, None: no limit) is for the entire response. ``unauthorized`` and ``too_long`` are hints for
    status 401 or 403, and for a response of more than 1 GiB. Raises :class:`QueryTimeoutError` or :class:`KbError`.
    """
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - see check
    try:
        return threads.run(lambda: _exchange(request, timeout, unauthorized, too_long), None, timeout)
    except threads.Expired:
        raise QueryTimeoutError(f"{url} did not respond within {timeout:g} s") from None


def _exchange(
    request: urllib.request.Request, timeout: float | None, unauthorized: str, too_long: str
) -> tuple[bytes, str]:
    """Send a request. A request that was abandoned ends with the next part of its response."""
    limit = None if timeout is None else time.monotonic() + timeout
    url, key = request.full_url, request.get_header("Authorization", "").removeprefix("Bearer ")
    try:
        with _OPENER.open(request, timeout=timeout) as response:
            return _read(response, limit, url, too_long), response.headers.get_content_type()
    except urllib.error.HTTPError as error:
        details = masked(f"{error.code} {error.reason}: {_error_text(error)}", key)[:240].removesuffix(":")
        hint = unauthorized if error.code in (401, 403) else ""
        if 300 <= error.code < 400 and (location := error.headers.get("Location")):
            hint = f"It redirects to {ascii(masked(location, key))[1:-1][:200]}; use that address if you trust it"
        raise StatusError(f"{url} returned {details}", hint, error.code, _wait(error.headers)) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        if isinstance(error, TimeoutError) or isinstance(reason, TimeoutError):
            raise threads.Expired from None
        raise KbError(
            f"Cannot reach {url}: {masked(str(reason), key)[:200]}", "Check that the server is running"
        ) from None


def _wait(headers: Message) -> float | None:
    """Return the pause that a response asks for, in seconds (None: none; a date is not read)."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        if text.isascii() and text.isdigit():
            return int(text) / scale
    return None


def _error_text(error: urllib.error.HTTPError) -> str:
    """Return the beginning of an error's page."""
    try:
        return error.read(2000).decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException):
        return ""


def _read(response: http.client.HTTPResponse, limit: float | None, url: str, too_long: str) -> bytes:
    """Return the entire response, or raise :class:`TimeoutError` at the limit."""
    text = bytearray()
    while chunk := response.read1(_CHUNK):
        text += chunk
        if len(text) > _MAX_BYTES:
            raise KbError(f"{url} returned more than {_MAX_BYTES:,} bytes", too_long)
        if limit is not None and time.monotonic() > limit:
            raise TimeoutError
    if response.length:  # unlike read, read1 does not report a truncated response
        raise http.client.IncompleteRead(bytes(text[-1:]), response.length)
    return bytes(text)
