"""Check: data that may be wrong, each finding with a link to the query that lists its rows; similar nodes; files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from starlette.exceptions import HTTPException
from starlette.responses import Response

from kbkit.display.render import cell
from kbkit.display.reports import PageSection, ReportPage
from kbkit.graph.suspicions import KINDS
from kbkit.graph.suspicious_nodes import LISTED, suspicious_nodes
from kbkit.web.explore import links
from kbkit.web.explore.site import is_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.web.explore.site import Site

_ROWS = 20
"""Rows of a finding in a report."""
_DECISIONS = {"merge": "Merge", "apart": "Keep apart"}
"""The decisions on a pair, as files have them."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Check(site)
    return [
        site.route("/check", screen.page),
        site.route("/check/duplicates", screen.duplicates),
        site.route("/check/file", screen.file),
        site.route("/check/report", screen.report, method="POST"),
        site.route("/check/decisions", screen.decisions, method="POST"),
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
            decisions=_DECISIONS,
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

    def report(self, request: Request) -> Response:
        """Return the findings that a person chose with their notes, their first rows and queries, as one file."""
        form = request.state.form
        every = [one for own in self._found.values() for one in own]
        chosen = [(at, one) for at, one in enumerate(every) if f"pick{at}" in form]
        if not chosen:
            raise HTTPException(400, "No finding is chosen. Tick some on the page.")
        sections = [self._section(one, form.get(f"note{at}", "").strip()) for at, one in chosen]
        about = form.get("about", "").strip()
        page = ReportPage("Findings in the data", [*([about] if about else []), self._site.source()], sections)
        headers = self._site.attachment("md", "check", "report")
        return Response(page.to_markdown().encode("utf-8", "replace"), media_type="text/markdown", headers=headers)

    def _section(self, one: dict[str, Any], note: str) -> PageSection:
        """Return a finding with a note, its first rows, and the query of all."""
        heading = ": ".join(part for part in (one["type"], one["part"], one["finding"]) if part)
        rows = self._site.kb.tables.lookup(f"SELECT * FROM ({one['sql']}) LIMIT {_ROWS}")
        cells = {name: [cell(value) for value in rows[name]] for name in rows.columns}
        query = f"SQL: {' '.join(one['sql'].split())}"
        more = f"The first {_ROWS} of {one['number']:,} rows. " if one["number"] > _ROWS else ""
        return PageSection(heading, "\n\n".join(filter(None, (note, more + query))), pl.DataFrame(cells))

    def decisions(self, request: Request) -> Response:
        """Return the pairs with the decisions of a person, as the command that merges reads them."""
        form = request.state.form
        given = [form.get(f"pair{one}-{other}", "") for one, other in self._pairs.select("id", "other_id").iter_rows()]
        decided = self._pairs.with_columns(decision=pl.Series(given, dtype=pl.String)).filter(pl.col("decision") != "")
        if not decided.height or not set(decided["decision"]) <= set(_DECISIONS):
            raise HTTPException(400, "No pair is decided. Choose merge or apart for some on the page.")
        headers = self._site.attachment("csv", "check", "decisions")
        return Response(decided.write_csv(), media_type="text/csv", headers=headers)

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
