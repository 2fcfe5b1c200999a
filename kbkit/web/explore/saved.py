"""Pages as one file for a colleague, in Markdown or HTML: a node, the answers of an expression with their proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl
from starlette.exceptions import HTTPException
from starlette.responses import Response

from kbkit.answers.totals import spoken
from kbkit.display.node_data import edge_attributes, neighbors_shown, shown_name
from kbkit.display.render import cell
from kbkit.display.reports import PageSection, ReportPage
from kbkit.english.headings import attribute_heading, figure, relation_heading
from kbkit.errors import plural
from kbkit.web.explore import links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.display.node_data import Neighbor
    from kbkit.web.explore.site import Site

FORMATS = {"md": "text/markdown", "html": "text/html"}
_NEIGHBOURS, _ANSWERS = 100, 200
"""Maximum number of neighbours of a group, and of answers, in a file."""
_NAME = 80
"""Maximum number of characters of a file's name."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _SavedPage(site)
    return [site.route("/save/node", screen.node), site.route("/save/answers", screen.answers)]


def page_file(request: Request, page: ReportPage) -> Response:
    """Return a page as a file in the format that the address names."""
    kind = links.text(request, "format")
    if kind not in FORMATS:
        raise HTTPException(400, f"Unknown format. Use {', '.join(FORMATS)}.")
    text = page.to_markdown() if kind == "md" else page.to_html(whole=True)
    name = quote(f"{' '.join(page.title.split())[:_NAME]}.{kind}", safe="", errors="replace")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Cache-Control": "no-store"}
    return Response(text.encode("utf-8", "replace"), media_type=FORMATS[kind], headers=headers)


class _SavedPage:
    def __init__(self, site: Site) -> None:
        self._site = site

    def node(self, request: Request) -> Response:
        """Return a node: attributes, texts and neighbours."""
        kb = self._site.kb
        data = kb.page(links.text(request, "ref"), _NEIGHBOURS).data
        kind = kb.stores.nodes.row(data["id"]).type
        labels = data.get("attribute_labels", {})
        rows = [
            (attribute_heading(labels.get(name, name)), cell(figure(name, value)))
            for name, value in data["attributes"].items()
        ]
        sections = [PageSection("Attributes", "", _table(("attribute", "value"), rows))] if rows else []
        sections += [PageSection(one["field"], one["text"], pl.DataFrame()) for one in data["texts"]]
        for group in data.get("relations", []):
            heading = relation_heading(
                kb.schema, group["relation"], kind, group["type"], of_head=group["direction"] == "out"
            )
            more = group["count"] - neighbors_shown(group)
            names = ", ".join(map(_neighbour, group["neighbors"])) + (f" and {more:,} more" if more else "")
            sections.append(PageSection(f"{heading} ({group['type']}, {group['count']:,})", names, pl.DataFrame()))
        called = [f"Also called {', '.join(data['aliases'])}"] if data["aliases"] else []
        title = data.get("title") or data["name"] or data["reference"]
        return page_file(request, ReportPage(title, [self._source(data["reference"]), *called], sections))

    def answers(self, request: Request) -> Response:
        """Return the answers of an expression with their proofs."""
        expression, question = links.text(request, "q", 50_000), links.text(request, "question")
        found = self._site.kb.answers(expression, timeout=self._site.limits.timeout)
        first = found.ids[:_ANSWERS].tolist()
        nodes = self._site.kb.stores.nodes.rows(first)
        rows = []
        for node, proof in zip(first, found.proofs(first), strict=True):
            row, lines = nodes[node], [self._site.in_words(line) for line in proof.lines()] or [""]
            rows += [(row.name or row.key, f"{row.type}#{row.key}", lines[0])]
            rows += [("", "", line) for line in lines[1:]]
        count = plural(len(found), "answer") + (f", the first {len(first)} below" if len(first) < len(found) else "")
        value = [f"Value: {spoken(found.value)}"] if found.value is not None else []
        section = PageSection("Answers", count, _table(("answer", "reference", "proof"), rows))
        remarks = [self._source("Answers"), f"Expression: {expression}", *value]
        return page_file(request, ReportPage(question or expression, remarks, [section]))

    def _source(self, what: str) -> str:
        manifest = self._site.kb.manifest
        return f"{what} in the KB {self._site.kb.schema.name}, built on {manifest.created[:10]}"


def _neighbour(one: Neighbor) -> str:
    extra = ", ".join(f"{name} {cell(value)}" for name, value in edge_attributes(one).items())
    return shown_name(one) + (f" ({extra})" if extra else "")


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, dict.fromkeys(columns, pl.String), orient="row")
