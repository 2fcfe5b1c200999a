"""Check: data that may be wrong, each finding with a link to the query that lists its rows; similar nodes; files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from kbkit.graph.suspicions import KINDS, LISTED, suspicious_nodes
from kbkit.web.explore import links
from kbkit.web.explore.site import is_part

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.web.explore.site import Site


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Check(site)
    return [
        site.route("/check", screen.page),
        site.route("/check/duplicates", screen.duplicates),
        site.route("/check/file", screen.file),
    ]


class _Check:
    def __init__(self, site: Site) -> None:
        self._site = site

    def page(self, request: Request) -> Response:
        """Show the findings by kind."""
        found = self._found
        total = sum(map(len, found.values()))
        return self._site.page("check.html", request, kinds=KINDS, found=found, total=total, listed=LISTED)

    def duplicates(self, request: Request) -> Response:
        """Show pairs of nodes that may be the same, of all types or of one."""
        kind = links.text(request, "type")
        if not is_part(request):
            return self._site.page("duplicates.html", request, type=kind)
        return self._site.page(
            "duplicates_table.html",
            request,
            type=kind,
            counts=self._pairs["type"].value_counts().sort("count", "type", descending=[True, False]).rows(),
            total=self._pairs.height,
            pairs=self._pairs_of(kind).rows(named=True),
        )

    def file(self, request: Request) -> Response:
        """Return the findings, their nodes or the pairs of similar nodes as CSV."""
        tables: dict[str, Callable[[], pl.DataFrame]] = {
            "findings": self._site.kb.suspicions,
            "nodes": lambda: suspicious_nodes(self._site.kb.stores, self._site.kb.suspicions()),
            "duplicates": lambda: self._pairs_of(links.text(request, "type")),
        }
        kind = links.text(request, "of")
        if kind not in tables:
            raise HTTPException(400, f"Unknown list. Use {', '.join(tables)}.")
        return Response(
            tables[kind]().write_csv(), media_type="text/csv", headers=self._site.attachment("csv", "check", kind)
        )

    def _pairs_of(self, kind: str) -> pl.DataFrame:
        """Return the pairs of a type ("": of all)."""
        return self._pairs.filter(self._pairs["type"] == kind) if kind else self._pairs

    @cached_property
    def _pairs(self) -> pl.DataFrame:
        return self._site.kb.duplicates()

    @cached_property
    def _found(self) -> dict[str, list[dict[str, Any]]]:
        """The findings by kind; the KB does not change while it is open."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._site.kb.suspicions().iter_rows(named=True):
            found.setdefault(row["kind"], []).append(row)
        return found
