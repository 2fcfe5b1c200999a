"""One request to an HTTP endpoint that the user named."""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from kbkit.errors import KbError, QueryTimeoutError

KEY_VARIABLES = ("KBKIT_API_KEY", "OPENAI_API_KEY")
"""Where a key for the endpoint is looked for, in this order; it is never written anywhere."""

_TIMEOUT = 120
_MOST_BYTES = 1 << 30
_CHUNK = 1 << 16


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Where the user did not send the key, it does not go."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


_PASSWORD = ("an address with a name and password in it would be kept in the KB", f"set {KEY_VARIABLES[0]}")


def check(url: str, example: str = "e.g. http://localhost:8080/v1", password: tuple[str, str] = _PASSWORD) -> None:
    """Raise :class:`KbError` for an address that is none of HTTP, or that holds a password.

    ``example`` is a good address, ``password`` the message and hint for one with a password.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # of the port, or of brackets
        parts, fine = urllib.parse.SplitResult("", "", "", "", ""), False
    if parts.username is not None or parts.password is not None:
        raise KbError(*password)
    if not fine or not url.isprintable() or " " in url:
        raise KbError(f"{url!r} is no address of an endpoint", example)


def post(url: str, body: dict[str, Any]) -> Any:
    """POST ``body`` as JSON and return the JSON of the answer; one line says what went wrong. Follows no redirect."""
    headers = {"Content-Type": "application/json"}
    key = next((os.environ[name].strip() for name in KEY_VARIABLES if os.environ.get(name, "").strip()), "")
    if key:
        if not (key.isascii() and key.isprintable()):
            raise KbError(f"the key in {' or '.join(KEY_VARIABLES)} is not plain text", "was it copied whole?")
        headers["Authorization"] = f"Bearer {key}"
    text, _ = send(url, json.dumps(body).encode(), headers, _TIMEOUT, f"set {KEY_VARIABLES[0]} to its key", _OPENAI)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise KbError(f"{url} did not answer with JSON", _OPENAI) from None


_OPENAI = "is it an OpenAI-compatible endpoint?"


def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout: float | None,
    unauthorized: str = "",
    too_long: str = "",
) -> tuple[bytes, str]:
    """POST ``body``; returns the answer and its content type (without parameters). Follows no redirect.

    ``timeout`` (seconds; None waits for ever) is for the whole answer. ``unauthorized`` and ``too_long`` are hints for
    status 401 or 403, and for an answer beyond 1 GiB. Raises :class:`QueryTimeoutError`, else :class:`KbError`.
    """
    try:
        request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - see check
        limit = None if timeout is None else time.monotonic() + timeout
        with _OPENER.open(request, timeout=timeout) as answer:
            return _read(answer, limit, url, too_long), answer.headers.get_content_type()
    except urllib.error.HTTPError as error:
        said = _said(error)
        hint = unauthorized if error.code in (401, 403) else ""
        if 300 <= error.code < 400 and (place := error.headers.get("Location")):
            hint = f"it points to {ascii(place)[1:-1][:200]}, which is not followed"
        raise KbError(f"{url} answered {error.code} {error.reason}{': ' + said if said else ''}", hint) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        if isinstance(error, TimeoutError) or isinstance(reason, TimeoutError):
            raise QueryTimeoutError(f"{url} did not answer within {timeout:g} s") from None
        raise KbError(f"{url} does not answer: {reason}", "is the server running?") from None


def _said(error: urllib.error.HTTPError) -> str:
    """The beginning of an error's page, on one line."""
    try:
        text = error.read(2000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""
    return " ".join(text.split())[:200]


def _read(answer: http.client.HTTPResponse, limit: float | None, url: str, too_long: str) -> bytes:
    """The whole answer; :class:`TimeoutError` when it drips past the limit."""
    text = bytearray()
    while chunk := answer.read1(_CHUNK):
        text += chunk
        if len(text) > _MOST_BYTES:
            raise KbError(f"{url} answered with more than {_MOST_BYTES:,} bytes", too_long)
        if limit is not None and time.monotonic() > limit:
            raise TimeoutError
    if answer.length:  # read1, unlike read, says nothing of an answer that ends early
        raise http.client.IncompleteRead(bytes(text[-1:]), answer.length)
    return bytes(text)
