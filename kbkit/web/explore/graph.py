"""Graph: a neighbourhood that a person grows by clicks, and its files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from kbkit.display.drawing import page
from kbkit.web.explore import links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.graph.drawn import Drawable
    from kbkit.graph.grown import GrownGraph, Rest
    from kbkit.web.explore.site import Site

_PATH = "/graph"
_STEP = 25
"""Neighbours that a click on "+N more" adds."""
_KNOWN = 12
_MOST = 40
"""Maximum number of opened nodes, and of relations with more neighbours than at first."""
FILES = {"svg": "image/svg+xml", "png": "image/png", "graphml": "application/graphml+xml"}


@dataclass(frozen=True)
class _State:
    """What an address asks for: the node, the opened nodes, and (node, relation, direction, number) of more."""

    node: str
    opened: tuple[str, ...]
    more: tuple[tuple[str, str, int, int], ...]

    def url(self, path: str = _PATH) -> str:
        more = [json.dumps(entry, ensure_ascii=False) for entry in self.more]
        return links.page(path, node=self.node, open=list(self.opened), more=more)

    def toggled(self, reference: str) -> _State:
        opened = self.opened
        now = tuple(o for o in opened if o != reference) if reference in opened else (*opened, reference)
        return _State(self.node, now, self.more)

    def with_more(self, reference: str, rest: Rest) -> _State:
        known = {entry[:3]: entry[3] for entry in self.more}
        group = (reference, rest.relation, rest.direction)
        known[group] = known.get(group, 0) + min(_STEP, rest.neighbours)
        return _State(self.node, self.opened, tuple((*entry, count) for entry, count in known.items()))


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Graph(site)
    return [
        site.route(_PATH, screen.page),
        site.route("/graph/data", screen.data),
        site.route("/graph/file", screen.file),
    ]


class _Graph:
    def __init__(self, site: Site) -> None:
        self._site = site

    def page(self, request: Request) -> Response:
        """Show the page; its script fetches the graph."""
        state = _state(request)
        kb = self._site.kb
        known = [] if state.node else kb.popular(limit=_KNOWN).select("type", "key", "name").rows()
        row = kb.stores.nodes.row(kb.find(state.node)) if state.node else None
        return self._site.page("graph.html", request, row=row, known=known, node=state.node)

    def data(self, request: Request) -> Response:
        """Return the graph as the scripts read it, with the addresses that clicks lead to."""
        state = _state(request)
        graph = self._grown(state)
        shown = page.content(graph.graph)
        rows = graph.graph.nodes.select("id", "type", "key").rows()
        opened = set(graph.opened)
        for node, (number, kind, key) in zip(shown["nodes"], rows, strict=True):
            reference = f"{kind}#{key}"
            node.update(command="", page=links.node(kind, key), opened=number in opened)
            if node["hop"]:
                node.update(toggle=state.toggled(reference).url(), graph=links.page(_PATH, node=reference))
        place = {number: i for i, (number, _, _) in enumerate(rows)}
        shown["groups"] = [
            {
                "node": place[rest.node],
                "hidden": [],
                "missing": rest.neighbours,
                "more": state.with_more(f"{rows[place[rest.node]][1]}#{rows[place[rest.node]][2]}", rest).url(),
            }
            for rest in graph.rest
        ]
        shown.update(title=graph.graph.title, summary=graph.graph.summary)
        shown["files"] = {kind: links.page("/graph/file", format=kind) + "&" + state.url("")[1:] for kind in FILES}
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    def file(self, request: Request) -> Response:
        """Return the graph as a file."""
        return drawn_file(request, lambda: self._grown(_state(request)))

    def _grown(self, state: _State) -> GrownGraph:
        if not state.node:
            raise HTTPException(400, "No node given. Send it as the parameter 'node'.")
        more: dict[tuple[str | int, str, int], int] = {entry[:3]: entry[3] for entry in state.more}
        return self._site.kb.grow(state.node, state.opened, more=more)


def drawn_file(request: Request, graph: Callable[[], Drawable]) -> Response:
    """Return a graph as a file in the format that a request names."""
    kind = links.text(request, "format")
    if kind not in FILES:
        raise HTTPException(400, f"Unknown format. Use {', '.join(FILES)}.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graph.{kind}"
        graph().write(path)
        content = path.read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="graph.{kind}"', "Cache-Control": "no-store"}
    return Response(content, media_type=FILES[kind], headers=headers)


def _state(request: Request) -> _State:
    opened = tuple(dict.fromkeys(links.texts(request, "open", _MOST)))
    return _State(links.text(request, "node"), opened, tuple(map(_entry, links.texts(request, "more", _MOST))))


def _entry(text: str) -> tuple[str, str, int, int]:
    """Return a parsed ``more``. Raises :class:`HTTPException`."""
    try:
        entry: Any = json.loads(text)
    except (ValueError, RecursionError):
        entry = None
    kinds = (str, str, int, int)
    if not (isinstance(entry, list) and list(map(type, entry)) == list(kinds) and 0 < entry[3] <= 1_000):
        raise HTTPException(400, "Invalid parameter 'more'.")
    return entry[0], entry[1], entry[2], entry[3]
