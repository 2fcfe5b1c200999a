"""How a screen runs: in a thread, until the browser leaves or the time limit is over."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kbkit.errors import Option, QueryError, QueryTimeoutError
from kbkit.stores.threads import Cancelled, cancellable
from kbkit.web.sparql import unless_gone

Handler = Callable[[Request], Response]
_GRACE = 1.0
"""Seconds after its time limit in which a query may still report it in its own words."""
_AT_ONCE = 20
_THREADS = anyio.CapacityLimiter(math.inf)


def route(
    path: str,
    handler: Handler,
    seconds: float | None,
    turns: anyio.CapacityLimiter | None = None,
    method: str = "GET",
) -> Route:
    """Return a route. The engines that the handler calls stop when the browser leaves or after ``seconds``.

    ``turns`` limits how many handlers run at once; without it, 20 handlers of this route do. Handlers of the method
    POST find the form in ``request.state.form``, by name.
    """
    limiter = turns or anyio.CapacityLimiter(_AT_ONCE)

    async def endpoint(request: Request) -> Response:
        cancel, answers = threading.Event(), []
        if method == "POST":
            request.state.form = _form(await request.body())

        def work() -> Response:
            with cancellable(cancel):
                try:
                    return handler(request)
                except Cancelled:
                    raise QueryError("The query was cancelled") from None

        async def run() -> None:
            async with limiter:  # the time limit begins after the wait
                with anyio.fail_after(None if seconds is None else seconds + _GRACE):
                    answers.append(await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=_THREADS))

        try:
            if not await unless_gone(request, run):
                raise HTTPException(499, "The browser is gone.")
        except TimeoutError:
            message = f"The request exceeded the time limit of {seconds:g} s"
            raise QueryTimeoutError(message, "Raise ", Option("timeout")) from None
        finally:
            cancel.set()
        return answers[0]

    return Route(path, endpoint, methods=[method])


def _form(body: bytes) -> dict[str, str]:
    """Return the fields of a form, the last of each name. Raises :class:`HTTPException` for anything else."""
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=2_000))
    except ValueError:
        raise HTTPException(400, "The request has no valid form.") from None
