"""A local server of OpenAI's chat completions for tests: scripted answers and faults."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

AT_ONCE = {"retry-after-ms": "1"}
"""Headers that make a client retry immediately."""


class Seen(NamedTuple):
    """A received request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def inputs(self) -> dict[str, Any]:
        """The JSON of the first user message."""
        return json.loads(next(m["content"] for m in self.body["messages"] if m["role"] == "user"))


class Sent(NamedTuple):
    """A response. ``length`` is the content length in the header (None: the actual length)."""

    status: int
    body: bytes
    headers: dict[str, str] = {}  # noqa: RUF012
    length: int | None = None
    drips: bool = False
    """Repeat the body slowly, without end; without a body, headers."""


Step = Callable[["Server", Seen], Sent]


def completion(text: str | None, input: int = 10, output: int = 5, finish: str = "stop", **more: Any) -> dict[str, Any]:  # noqa: A002
    message = {"role": "assistant", "content": text, **more}
    usage = {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def shape(content: Any) -> Step:
    """Respond with any JSON, status 200."""
    return lambda _, __: Sent(200, json.dumps(content).encode())


def reply(text: str | None, **more: Any) -> Step:
    return shape(completion(text, **more))


def raw(body: bytes, **more: Any) -> Step:
    return lambda _, __: Sent(200, body, **more)


def status(code: int, said: str = "no", **headers: str) -> Step:
    """Respond with an error; clients retry immediately."""
    body = json.dumps({"error": {"message": said, "type": "t", "param": None, "code": None}}).encode()
    return lambda _, __: Sent(code, body, {**AT_ONCE, **{k.replace("_", "-"): v for k, v in headers.items()}})


def truncated(text: str) -> Step:
    """Respond with a truncated body."""
    body = json.dumps(completion(text)).encode()
    return lambda _, __: Sent(200, body[: len(body) // 2], length=len(body))


def hang(server: Server, _: Seen) -> Sent:
    """Respond only when the test is over."""
    server.over.wait(60)
    return Sent(500, b"{}")


def drips(_: Server, __: Seen) -> Sent:
    """Respond with an endless, slow body."""
    return Sent(200, b" ", length=1 << 30, drips=True)


def drips_headers(_: Server, __: Seen) -> Sent:
    """Respond with a line of headers that does not end."""
    return Sent(200, b"", drips=True)


def by(function: Callable[[Seen], str]) -> Step:
    """Respond with a completion computed from the request."""
    return lambda _, seen: Sent(200, json.dumps(completion(function(seen))).encode())


class Server:
    """``with Server(step, step, otherwise=step) as server``: respond with the steps in turn, then with ``otherwise``.

    ``requests`` are the received requests, in order. Without ``otherwise``, further requests get an error 418.
    """

    def __init__(self, *script: Step, otherwise: Step | None = None) -> None:
        self.script = list(script)
        self.otherwise = otherwise or status(418, "not in the script")
        self.requests: list[Seen] = []
        self.over = threading.Event()
        self._guard = threading.Lock()

    def __enter__(self) -> Server:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, seen: Seen) -> Sent:
        with self._guard:
            self.requests.append(seen)
            step = self.script.pop(0) if self.script else self.otherwise
        return step(self, seen)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a body waits 40 ms for the receipt of its headers

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):  # the client disconnected
                super().handle()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            sent = server.answer(Seen(self.path, headers, json.loads(body)))
            try:
                self.send_response(sent.status)
                for name, value in ({"content-type": "application/json"} | sent.headers).items():
                    self.send_header(name, value)
                while sent.drips and not sent.body and not server.over.wait(0.05):
                    self.wfile.write(b"x")  # of one line without end
                self.send_header("content-length", str(len(sent.body) if sent.length is None else sent.length))
                self.end_headers()
                self.wfile.write(sent.body)
                while sent.drips and not server.over.wait(0.05):
                    self.wfile.write(sent.body)
            except OSError:  # the client disconnected
                self.close_connection = True
            if sent.length is not None:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
