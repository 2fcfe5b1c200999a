"""The HTTP rules of every page and endpoint: which requests are served, and with which headers.

The server listens on the loopback only, but any web page that the user visits can send requests there. Therefore,

- ``Host`` must name the loopback, so that no other site's name can be pointed at it (DNS rebinding);
- requests that a browser sends for a page of another origin are refused, unless the user allows the origin;
- answers may not be framed, embedded or guessed to be of another type.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from kbkit.errors import KbError, is_panic, shortage

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
"""The only address that a server listens on."""
LOCALHOST = "localhost"
"""As an allowed origin: any page that this machine serves."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{1,5})?")
_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PREFLIGHT_SECONDS = 600

log = logging.getLogger("kbkit.web")


@dataclass(frozen=True)
class Rules:
    """What is allowed: ``origins`` of foreign pages (such as ``https://yasgui.triply.cc``, or ``localhost`` for any
    page of this machine), and the size of a request's body in bytes.
    """

    origins: frozenset[str] = frozenset()
    body: int = 1 << 20

    @classmethod
    def of(cls, origins: Iterable[str]) -> Rules:
        """Return the rules that allow some origins. Raises :class:`KbError` for an invalid one."""
        return cls(frozenset(map(_origin, origins)))

    def allows(self, origin: str) -> bool:
        """Return whether pages of a foreign origin may send requests and read the answers."""
        return origin in self.origins or (LOCALHOST in self.origins and _is_local(origin))


def _origin(text: str) -> str:
    """Return an origin in the form in which browsers send it."""
    parts = urlsplit(text)
    if text == LOCALHOST:
        return text
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise KbError(f"Invalid origin {text!r}", f"Use {LOCALHOST}, or an origin such as https://yasgui.triply.cc")
    return f"{parts.scheme}://{parts.netloc}".lower()


def _is_local(origin: str) -> bool:
    scheme, _, authority = origin.partition("://")
    return scheme in ("http", "https") and _is_loopback(authority)


def _is_loopback(authority: str) -> bool:
    """Return whether ``host:port`` names the loopback. The port may differ: a tunnel to this machine has its own."""
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and match[1].lower() in _LOOPBACK


class Guard:
    """The middleware that applies the rules; errors of all kinds become plain text."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, begun = Headers(scope=scope), False
        origin = headers.get("origin")
        allowed = origin if origin is not None and self._rules.allows(origin) else None

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                _add_headers(MutableHeaders(scope=message), allowed)
            await send(message)

        try:
            self._check(scope, headers, allowed)
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await _preflight(headers, allowed)(scope, receive, guarded)
                return
            await self._app(scope, self._limited(receive), guarded)
        except HTTPException as error:
            if begun:
                raise
            await refusal(error)(scope, receive, guarded)
        except BaseException as error:
            if not (isinstance(error, Exception) or is_panic(error)):
                raise
            log.exception("request failed")
            if begun:
                raise
            if short := shortage(error):
                await plain(str(short), 503)(scope, receive, guarded)
                return
            message = f"Internal error: {type(error).__name__}. Please report it."
            await plain(message, 500)(scope, receive, guarded)

    def _check(self, scope: Scope, headers: Headers, allowed: str | None) -> None:
        """Raise :class:`HTTPException` for a request that may not be served."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not _is_loopback(hosts[0]):
            raise HTTPException(403, "Unknown host. This server answers to http://127.0.0.1 and http://localhost only.")
        origin = headers.get("origin")
        if origin is not None and allowed is None and origin.lower() != f"{scope['scheme']}://{hosts[0]}".lower():
            raise HTTPException(403, f"Requests of pages of {_shown(origin)} are not allowed (see --allow-origin).")
        # A link of another page is followed; an image or a script in it is not served.
        link = scope["method"] in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
        if origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site") and not link:
            raise HTTPException(403, "Requests of pages of another origin are not allowed (see --allow-origin).")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._rules.body:
            raise _too_large(self._rules.body)

    def _limited(self, receive: Receive) -> Receive:
        """Return a ``receive`` that raises when the body is too large."""
        size = 0

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._rules.body:
                raise _too_large(self._rules.body)
            return message

        return limited


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"The request is too large: at most {limit:,} bytes are allowed.")


def _shown(text: str) -> str:
    return json.dumps(text[:100])


def _add_headers(headers: MutableHeaders, allowed: str | None) -> None:
    for name, value in _SECURITY.items():
        headers.setdefault(name, value)
    headers.add_vary_header("Origin")
    if allowed is not None:
        headers["Access-Control-Allow-Origin"] = allowed
        headers["Access-Control-Expose-Headers"] = "*"
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"


def _preflight(headers: Headers, allowed: str | None) -> Response:
    """Answer the question of a browser whether a page may send a request."""
    if allowed is None:
        return plain("Requests of pages of another origin are not allowed.", 403)
    answer = {"Access-Control-Allow-Methods": "GET, POST", "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS)}
    if wanted := headers.get("access-control-request-headers"):
        answer["Access-Control-Allow-Headers"] = wanted
    if "access-control-request-private-network" in headers:
        answer["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=204, headers=answer)


def plain(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    """Return a message as plain text, without control characters."""
    from kbkit.display.render import clean

    return PlainTextResponse(clean(text) + "\n", status, {"Cache-Control": "no-store", **(headers or {})})


def refusal(error: HTTPException) -> Response:
    """Return the answer to a request that is refused."""
    return plain(error.detail, error.status_code, dict(error.headers or {}))


async def refused(_: Request, error: Exception) -> Response:
    """Handle :class:`HTTPException`."""
    assert isinstance(error, HTTPException)
    return refusal(error)
