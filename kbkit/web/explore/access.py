"""Who may see the pages: a browser that opened the address with the token, which gets a cookie."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN = "token"  # noqa: S105 - the name of the parameter
_BYTES = 24


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(_BYTES)


class Access:
    """The middleware that serves only requests with the cookie; one with the token gets the cookie.

    Other users of the machine can reach the port, but do not know the token. They can see the address with which a
    browser was started; so that is another token, ``once``, which the first request uses up. The cookie's name depends
    on the token, because a browser sends the cookies of one server to the servers at all ports.
    """

    def __init__(self, app: ASGIApp, token: str, once: str = "") -> None:
        self._app, self._token, self._once = app, token, once
        self._cookie = "kbkit_" + hashlib.sha256(token.encode()).hexdigest()[:12]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        given = request.query_params.get(TOKEN)
        if _equal(given, self._token) or _equal(given, self._once):
            if not _equal(given, self._token):
                self._once = ""
            # To an address without the token, which is safe to share and to leave in the history.
            url = request.url.remove_query_params(TOKEN)
            answer = RedirectResponse(url.path + (f"?{url.query}" if url.query else ""), 303)
            # Lax, not strict: a link to a page in another program's window opens it.
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
            answer.headers["Cache-Control"] = "no-store"
            await answer(scope, receive, send)
            return
        if not _equal(request.cookies.get(self._cookie), self._token):
            raise HTTPException(403, "Not allowed. Open the address with the token that kbkit printed.")
        await self._app(scope, receive, send)


def _equal(given: str | None, token: str) -> bool:
    return token != "" and secrets.compare_digest((given or "").encode("utf-8", "replace"), token.encode())
