"""Completion of names in the search boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbkit.web.explore import links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.web.explore.site import Site

_SHOWN = 10
_BOXES = ("q", "from", "to", "node")


def _told_apart(site: Site, references: list[str]) -> list[dict[str, Any]]:
    """Return the titles and some facts of nodes with namesakes; nothing of others."""
    rows: list[dict[str, Any]] = [{"id": site.kb.find(one), "name": "", "glimpse": ""} for one in references]
    alike = [row for row in rows if site.kb.stores.nodes.has_namesake(row["id"])]
    site.describe(alike, "text", "")
    return rows


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""

    def complete(request: Request) -> Response:
        """Return the nodes whose names match what was typed; the parameter is the only one of the box."""
        typed = next((links.text(request, name) for name in _BOXES if name in request.query_params), "")
        found = site.vocabulary.names(typed, None, _SHOWN) if typed else ()
        own = [f"{row.type}#{row.key}" for row in found]
        fills = "q" not in request.query_params  # else a choice leads to the page of the node
        references = map(site.reference, own) if fills else own
        shown = zip(found, references, _told_apart(site, own), strict=True)
        missing = fills and bool(typed)  # other texts may be words to search for
        return site.page("complete.html", request, found=list(shown), missing=missing)

    return [site.route("/complete", complete)]
