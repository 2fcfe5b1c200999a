"""The explorer as tests open it: in this process without a port, and at a port of the loopback."""

from __future__ import annotations

import contextlib
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from typing import Any

from starlette import testclient

from kbkit.kb import KnowledgeBase
from kbkit.web import server
from kbkit.web.explore.app import application
from kbkit.web.explore.site import Limits

HOST, TOKEN = "http://127.0.0.1", "the-token"


def opened(kb: KnowledgeBase, limits: Limits | None = None) -> Any:
    """A browser that opened the address with the token."""
    client = testclient.TestClient(application(kb, TOKEN, limits), base_url=HOST, raise_server_exceptions=False)
    assert client.get("/", params={"token": TOKEN}).status_code == 200
    return client


@contextlib.contextmanager
def served(kb: KnowledgeBase) -> Iterator[tuple[urllib.parse.SplitResult, str]]:
    """A server of this process at a port: its address, and the cookie of a browser."""
    with server.listen(0) as listening:
        running = server.server(application(kb, TOKEN, Limits(timeout=20)))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        address = urllib.parse.urlsplit(server.url(listening))
        jar = CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        browser.open(f"{address.geturl()}/?token={TOKEN}").close()
        try:
            yield address, "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)
        finally:
            running.should_exit = True
            thread.join(20)
        assert not thread.is_alive()
