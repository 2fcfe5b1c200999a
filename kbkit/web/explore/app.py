"""The application: the routes of all screens behind the rules of every page."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from kbkit.errors import KbError
from kbkit.web.explore import complete, graph, home, node, paths, query, search
from kbkit.web.explore.access import Access
from kbkit.web.explore.site import Limits, Site
from kbkit.web.rules import Guard, Rules

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase


def application(kb: KnowledgeBase, token: str, limits: Limits | None = None) -> Starlette:
    """Return the application. The KB is only read; ``token`` is that of :mod:`kbkit.web.explore.access`."""
    site = Site(kb, limits or Limits())

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=site.warm, daemon=True).start()
        yield

    screens = [home, search, node, graph, paths, query, complete]
    return Starlette(
        routes=[
            *(route for screen in screens for route in screen.routes(site)),
            Route("/static/{name}", site.file),
            Route("/types.css", site.types_file),
        ],
        middleware=[Middleware(Guard, rules=Rules()), Middleware(Access, token=token)],
        lifespan=lifespan,
        exception_handlers={HTTPException: site.failed, KbError: site.failed},
    )
