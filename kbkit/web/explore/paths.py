"""Not yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import Route

    from kbkit.web.explore.site import Site


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    return []
