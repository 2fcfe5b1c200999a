"""A server on the loopback, for what calls the network and for what must not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Asked(NamedTuple):
    """A received request."""

    path: str
    headers: dict[str, str]
    body: bytes


class Loopback:
    """Answers requests of all kinds as ``reply`` says: (status, content, headers); status 0 hangs up after the content.

    ``asked`` are the requests, in order; ``base`` is the address, without a path.
    """

    def __init__(self, reply: Callable[[Asked], tuple[int, bytes, dict[str, str]]]) -> None:
        self.asked: list[Asked] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.asked.append(Asked(self.path, dict(self.headers), body))
                status, content, headers = reply(server.asked[-1])
                if status:
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(content)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                self.wfile.write(content)
                self.close_connection = True

            do_GET = do_HEAD = do_POST  # noqa: N815 - GET is where a redirection leads

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.base = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
