"""The application: the routes of all screens behind the rules of every page."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount, Route, Router

from kbkit.errors import KbError
from kbkit.web.explore import home
from kbkit.web.explore.access import Access
from kbkit.web.explore.site import PageLimits, Pages, Site
from kbkit.web.rules import Guard, Rules

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

    from kbkit.benchmarks.people.tasks import Task
    from kbkit.ingestion.review import IngestReview
    from kbkit.kb import KnowledgeBase

_PATIENCE = 1.0
"""Seconds that preparations wait for the first page, which they would slow down."""


def application(
    kb: KnowledgeBase, token: str, limits: PageLimits | None = None, once: str = "", *, kept: bool = False
) -> Starlette:
    """Return the application. It writes nothing but the KB's workspace.

    ``token``, ``once`` and ``kept`` are those of :class:`kbkit.web.explore.access.Access`.
    """
    kb.stores.spare_memory()
    site = Site(kb, limits or PageLimits())
    others = _Others(site)

    def prepare() -> None:
        site.first_page.wait(_PATIENCE)
        with contextlib.suppress(KbError):  # which the pages show
            others.load()
            site.warm()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=prepare, daemon=True).start()
        yield

    routes = [*home.routes(site), Route("/types.css", site.types_file), Mount("", others)]
    return _guarded(site, (token, once), routes, lifespan, kept=kept)


def judging(task: Task, token: str, once: str = "") -> Starlette:
    """Return the application for a person's task. It writes the answers to the task's file."""
    from kbkit.web.explore import judge

    pages = Pages(None)
    return _guarded(pages, (token, once), judge.routes(pages, task))


def reviewing(review: IngestReview, token: str, opened: Callable[[Path], KnowledgeBase], once: str = "") -> ASGIApp:
    """Return the application of a review, which becomes the explorer of the KB when this is built.

    ``opened`` opens the KB, which the caller closes.
    """
    from kbkit.web.explore import review as screen

    pages = Pages(None)

    def built(path: Path) -> None:
        switch.serve(application(opened(path), token))

    switch = screen.Switch(_guarded(pages, (token, once), screen.routes(pages, review, built)))
    return switch


def _guarded(
    pages: Pages,
    tokens: tuple[str, str],
    routes: Sequence[BaseRoute],
    lifespan: Lifespan[Starlette] | None = None,
    *,
    kept: bool = False,
) -> Starlette:
    return Starlette(
        routes=[Route("/static/{name}", pages.file), *routes],
        middleware=[Middleware(Guard, rules=Rules()), Middleware(Access, token=tokens[0], once=tokens[1], kept=kept)],
        lifespan=lifespan,
        exception_handlers={HTTPException: pages.failed, KbError: pages.failed},
    )


class _Others:
    """All screens except the first, whose modules are imported after the first page."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._lock = threading.Lock()
        self._routes: Router | None = None

    def load(self) -> Router:
        """Import the screens; return their routes."""
        from kbkit.web.explore import check, complete, graph, label, node, paths, query, saved, schema, search

        with self._lock:  # a screen has state: it is made once
            if self._routes is None:
                screens = [search, node, graph, paths, query, schema, check, label, complete, saved]
                self._routes = Router([route for screen in screens for route in screen.routes(self._site)])
            return self._routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        routes = self._routes
        if routes is None:
            routes = await anyio.to_thread.run_sync(self.load)
        await routes(scope, receive, send)
