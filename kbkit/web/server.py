"""Serve an application on the loopback until Ctrl-C."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from kbkit.directory import systems
from kbkit.errors import KbError, Option
from kbkit.web.rules import HOST

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_SHUTDOWN = 1
"""Seconds that running requests have to end."""
_LONGEST_HEAD = 1 << 20
"""Maximum number of bytes of a request's address and headers: as long as a query may be."""


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
        http="h11",
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
