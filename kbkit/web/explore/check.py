"""Check: data that may be wrong, each finding with a link to the query that lists its rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kbkit.graph.suspicions import KINDS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.web.explore.site import Site


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Check(site)
    return [site.route("/check", screen.page)]


class _Check:
    def __init__(self, site: Site) -> None:
        self._site = site

    def page(self, request: Request) -> Response:
        """Show the findings by kind."""
        found = self._found
        return self._site.page("check.html", request, kinds=KINDS, found=found, total=sum(map(len, found.values())))

    @cached_property
    def _found(self) -> dict[str, list[dict[str, Any]]]:
        """The findings by kind; the KB does not change while it is open."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._site.kb.suspicions().iter_rows(named=True):
            found.setdefault(row["kind"], []).append(row)
        return found
