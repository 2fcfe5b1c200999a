"""Serve an application on the loopback until Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kbkit.directory import systems
from kbkit.errors import KbError, Option
from kbkit.web.rules import HOST

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_SHUTDOWN = 1
"""Seconds that running requests have to end."""
_LONGEST_HEAD = 1 << 20
"""Maximum number of bytes of a request's address and headers: as long as a query may be."""
STALLED = 30.0
"""Seconds after which a connection is cut whose client has not read ``_FEWEST_READ`` bytes of what waits for it."""
_FEWEST_READ = 1 << 16


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of the loopback (0: any free one). Raises :class:`KbError`."""
    if not 0 <= port <= 65535:
        raise KbError(f"Invalid port: {port}", "Use 1 to 65535, or 0 for any free port")
    try:
        listening = socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        raise KbError(
            f"Port {port} cannot be used: {error.strerror or error}", "Use ", Option("port", "0"), " for any free port"
        ) from None
    # asyncio does this for its own sockets only; without it, the end of an answer waits 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def url(listening: socket.socket) -> str:
    """Return the address of a server."""
    return f"http://{HOST}:{listening.getsockname()[1]}"


def server(app: ASGIApp, started: Callable[[], None] = lambda: None, *, debug: bool = False) -> uvicorn.Server:
    """Return a server, whose ``run(sockets=[...])`` serves until SIGINT or SIGTERM.

    ``started`` is called when requests are served. ``debug`` prints tracebacks.
    """
    if not debug:
        for name in ("uvicorn", "kbkit.web"):  # without a handler, logging prints warnings
            logging.getLogger(name).addHandler(logging.NullHandler())
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        timeout_graceful_shutdown=_SHUTDOWN,
    )
    return _Server(config, started)


def open_browser(address: str) -> None:
    """Open an address in the user's browser, if the machine has a screen, without waiting for the browser."""
    if systems.has_screen():
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


class _Protocol(H11Protocol):
    """A connection that is cut if its client does not read: it would hold memory and a file descriptor forever."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the transport report all bytes that wait, also the last ones of an answer."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)

    def pause_writing(self) -> None:
        """Start the time of the client: bytes wait for it."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Stop the time of the client: it has read all bytes."""
        super().resume_writing()
        self._unwatch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time of the client: it is gone."""
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        waiting = self.transport.get_write_buffer_size()

        def check() -> None:
            if self.transport.get_write_buffer_size() > waiting - _FEWEST_READ:
                self.transport.abort()
            else:
                self._watch()

        self._timer = asyncio.get_running_loop().call_later(STALLED, check)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class _Server(uvicorn.Server):
    """A server that ends normally on Ctrl-C."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._listener = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve."""
        await super().startup(sockets)
        self._listener()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Stop; at a second Ctrl-C, without waiting for requests. The signal is not raised again afterwards."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
