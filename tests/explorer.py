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
from kbkit.web.explore.site import PageLimits

HOST, TOKEN = "http://127.0.0.1", "the-token"


def opened(kb: KnowledgeBase, limits: PageLimits | None = None) -> Any:
    """A browser that opened the address with the token."""
    client = testclient.TestClient(application(kb, TOKEN, limits), base_url=HOST, raise_server_exceptions=False)
    assert client.get("/", params={"token": TOKEN}).status_code == 200
    return client


def served(kb: KnowledgeBase) -> contextlib.AbstractContextManager[tuple[urllib.parse.SplitResult, str]]:
    """The explorer at a port."""
    return serving(application(kb, TOKEN, PageLimits(timeout=20)))


@contextlib.contextmanager
def serving(app: Any) -> Iterator[tuple[urllib.parse.SplitResult, str]]:
    """A server of this process at a port: its address, and the cookie of a browser."""
    with server.listen(0) as listening:
        running = server.server(app)
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


_OVERTAKEN = ("htmx:sendAbort", "htmx:afterRequest")


class Tab:
    """A tab of a browser at the explorer, which notes errors and requests to other servers."""

    def __init__(self, browser: Any, address: str, width: int = 1200, scheme: str = "light") -> None:
        self.address, self.wrong = address, []
        self.context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "request",
            lambda sent: sent.url.startswith((address, "data:", f"blob:{address}")) or self.wrong.append(sent.url),
        )
        self.page.goto(f"{address}/?token={TOKEN}")

    def _heard(self, message: Any) -> None:
        """Note an error of the console: not that a request is overtaken by the next one; a failed one says more."""
        if message.type == "error" and not message.text.startswith(_OVERTAKEN):
            self.wrong.append(message.text)

    def go(self, path: str) -> None:
        """Open a page, and wait for its parts."""
        self.page.goto(self.address + path)
        self.page.wait_for_load_state("networkidle")

    def drawn(self, nodes: str = "n > 1") -> list[str]:
        """Wait until the graph has enough nodes; return their names."""
        self.page.wait_for_function(
            f"() => {{ const n = globalThis.kbkit?.drawn?.data.nodes.length; return {nodes}; }}"
        )
        names: list[str] = self.page.evaluate("kbkit.drawn.data.nodes.map(({ name }) => name)")
        return names
