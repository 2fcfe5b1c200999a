"""Who may see the pages: a browser that opened the address with the token, which gets a cookie."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from typing import TYPE_CHECKING

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from kbkit.directory import systems

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN = "token"  # noqa: S105 - the name of the parameter
_BYTES = 24
_VALID = re.compile(r"[\w-]{32}")
_KEPT = 30 * 24 * 3600
"""Seconds for which a browser keeps the cookie of a token that is kept."""
_REFUSED = "Not allowed. Open the address with the token that kbkit printed."
_PAGE = Markup(
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>kbkit</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"></head><body><main><h1>Not allowed</h1>'
    "<p>Open the address with the token that kbkit printed, or paste it here to see this page.</p><form>{hidden}"
    '<label>Address or token <input name="{name}" size="40" required autofocus autocomplete="off"></label> '
    "<button>Open</button></form></main></body></html>\n"
)
_HIDDEN = Markup('<input type="hidden" name="{}" value="{}">')


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(_BYTES)


def kept_token(kb: Path, *, new: bool = False) -> str:
    """Return the token of a KB that the user keeps, so that bookmarks work after a restart; ``new`` replaces it.

    The file is not in the KB, which may be copied or shared, but in the user's settings. A file that others can read or
    that belongs to another user is replaced. Where no file can be written, the token is that of the process.
    """
    name = hashlib.sha256(str(kb.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    path, token = systems.settings_folder() / "explore" / name, new_token()
    with contextlib.suppress(OSError):
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        known = None if new else _private_text(path)
        if known is not None and _VALID.fullmatch(known):
            return known
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(token)
    return token


def _private_text(path: Path) -> str | None:
    """Return the text of a file that only the user can read or write; None for another one, or for none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
        known = os.fstat(file.fileno())
        return file.read(100) if systems.is_private(known) and stat.S_ISREG(known.st_mode) else None


class Access:
    """The middleware that serves only requests with the cookie; one with the token gets the cookie.

    Other users of the machine can reach the port, but do not know the token. They can see the address with which a
    browser was started; so that is another token, ``once``, which the first request uses up. The cookie's name depends
    on the token, because a browser sends the cookies of one server to the servers at all ports. A browser keeps the
    cookie of a token that is ``kept`` after it ends.
    """

    def __init__(self, app: ASGIApp, token: str, once: str = "", kept: bool = False) -> None:
        self._app, self._token, self._once, self._kept = app, token, once, kept
        self._cookie = "kbkit_" + hashlib.sha256(token.encode()).hexdigest()[:12]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        given = _token_of(request.query_params.get(TOKEN))
        if _equal(given, self._token) or _equal(given, self._once):
            if not _equal(given, self._token):
                self._once = ""
            # To an address without the token, which is safe to share and to leave in the history.
            url = request.url.remove_query_params(TOKEN)
            answer = RedirectResponse(url.path + (f"?{url.query}" if url.query else ""), 303)
            # Lax, not strict: a link to a page in another program's window opens it.
            age = _KEPT if self._kept else None
            answer.set_cookie(self._cookie, self._token, age, httponly=True, samesite="lax")
            answer.headers["Cache-Control"] = "no-store"
            await answer(scope, receive, send)
            return
        if not _equal(request.cookies.get(self._cookie), self._token):
            if "text/html" not in request.headers.get("accept", "") or request.method != "GET":
                raise HTTPException(403, _REFUSED)
            await _form(request)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _token_of(given: str | None) -> str | None:
    """Return the token of what was given: a token, or the address with it."""
    return given.rpartition(f"{TOKEN}=")[2].strip() if given else given


def _form(request: Request) -> HTMLResponse:
    """Return the page that asks for the token, and leads to the page that was asked for."""
    given = [(name, value) for name, value in request.query_params.multi_items() if name != TOKEN]
    hidden = Markup("").join(_HIDDEN.format(*one) for one in given)
    body = _PAGE.format(hidden=hidden, name=TOKEN).encode("utf-8", "replace")
    return HTMLResponse(body, 403, {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"})


def _equal(given: str | None, token: str) -> bool:
    return token != "" and secrets.compare_digest((given or "").encode("utf-8", "replace"), token.encode())
