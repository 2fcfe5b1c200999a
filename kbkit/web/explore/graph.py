"""Graph: a neighbourhood that a person grows by clicks, its files, and saved views."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from kbkit.directory.saved_views import SavedView
from kbkit.display.drawing.colours import of_types
from kbkit.errors import UnknownNameError
from kbkit.graph.titles import titles
from kbkit.graph.values import NEIGHBOURS, PAGERANK, node_values
from kbkit.web.explore import links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.display.drawing.model import Drawing
    from kbkit.graph.drawn import Drawable
    from kbkit.graph.grown import GrownGraph, Rest
    from kbkit.web.explore.site import Site

_PATH = "/graph"
_STEP, _FEW = 25, 6
"""Neighbours that a click on "+N more" adds, and how few it leaves for no other click."""
_KNOWN = 12
_MOST = 40
"""Maximum number of opened nodes, and of relations with more neighbours than at first."""
PALETTE = [*of_types([str(place) for place in range(10)]).values()][:10]
"""Colours of values, apart from those of types."""


@dataclass(frozen=True)
class _State:
    """What an address asks for: the node, the opened nodes, and (node, relation, direction, number) of more.

    How the graph looks (layout, size, colour, what is hidden) is in the address, too, but only the script reads it.
    """

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
        known[group] = known.get(group, 0) + (rest.neighbours if rest.neighbours < _STEP + _FEW else _STEP)
        return _State(self.node, self.opened, tuple((*entry, count) for entry, count in known.items()))


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Graph(site)
    return [
        site.route(_PATH, screen.page),
        site.route("/graph/data", screen.data),
        site.route("/graph/file", screen.file),
        site.route("/graph/views", screen.save, method="POST"),
        site.route("/graph/views/delete", screen.delete, method="POST"),
    ]


class _Graph:
    def __init__(self, site: Site) -> None:
        self._site = site

    def page(self, request: Request) -> Response:
        """Show the page; its script fetches the graph."""
        state = _state(request)
        kb = self._site.kb
        if state.node:
            node = kb.find(state.node)
            row = kb.stores.nodes.row(node)
            title = titles(kb.stores, [node]).get(node, row.name or row.key)
            return self._site.page("graph.html", request, row=row, title=title, known=(), views=(), node=state.node)
        known = kb.well_known(_KNOWN).select("id", "type", "key", "name").rows()
        titled = titles(kb.stores, [node for node, _, _, _ in known])
        shown = [(kind, key, titled.get(node, name)) for node, kind, key, name in known]
        return self._site.page(
            "graph.html", request, row=None, title="", known=shown, views=kb.workspace.views.all(), node=""
        )

    def data(self, request: Request) -> Response:
        """Return the graph as the scripts read it, with the addresses that clicks lead to."""
        state = _state(request)
        graph = self._grown(state)
        shown = self._site.drawn(graph.graph, graph.graph.title)
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
        view = self._view(request)
        shown.update(
            values=drawn_values(self._site, graph.graph, links.texts(request, "rank")),
            palette=PALETTE,
            places=view.places if view else {},
        )
        shown["graphml"] = state.url("/graph/file")
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    def file(self, request: Request) -> Response:
        """Return the graph as GraphML; the page makes pictures of what it shows."""
        grown = self._grown(_state(request))
        return graphml(self._site, grown, grown.graph.title)

    def save(self, request: Request) -> Response:
        """Save a view: the parameters of an address, and the positions of the nodes."""
        form = request.state.form
        try:
            places = json.loads(form.get("places", "{}"))
        except (ValueError, RecursionError):
            raise HTTPException(400, "Invalid positions of a view.") from None
        if not isinstance(places, dict):
            raise HTTPException(400, "Invalid positions of a view.")
        name, address = form.get("name", "").strip(), form.get("address", "").removeprefix("?")
        kept = [pair for pair in parse_qsl(address) if pair[0] != "view"]
        self._site.kb.workspace.views.save(name, urlencode(kept), places)
        return JSONResponse({"address": links.page(_PATH, view=name) + "&" + urlencode(kept)})

    def delete(self, request: Request) -> Response:
        """Delete a view, and return to the list."""
        self._site.kb.workspace.views.drop(request.state.form.get("name", ""))
        return RedirectResponse(_PATH, 303)

    def _view(self, request: Request) -> SavedView | None:
        name = links.text(request, "view")
        if not name:
            return None
        views = self._site.kb.workspace.views
        found = views.find(name)
        if found is None:
            raise UnknownNameError("saved view", name, [view.name for view in views.all()])
        return found

    def _grown(self, state: _State) -> GrownGraph:
        if not state.node:
            raise HTTPException(400, "No node given. Send it as the parameter 'node'.")
        more: dict[tuple[str | int, str, int], int] = {entry[:3]: entry[3] for entry in state.more}
        return self._site.kb.grow(state.node, state.opened, more=more)


def drawn_values(site: Site, drawing: Drawing, ranks: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the values by which the nodes of a drawing can be sized and coloured, by their positions in the drawing.

    PageRank has no values unless ``ranks`` asks for it.
    """
    place = {node: i for i, node in enumerate(drawing.nodes["id"].to_list())}
    found = node_values(site.kb.stores, drawing.nodes, ranks=bool(ranks))
    shown = [
        {
            "name": one.name,
            "heading": one.heading,
            "numbers": one.are_numbers,
            "values": {place[node]: value for node, value in one.values.items()},
        }
        for one in found
    ]
    if not ranks:
        at = 1 + [one.name for one in found].index(NEIGHBOURS)
        shown.insert(at, {"name": PAGERANK, "heading": "PageRank", "numbers": True, "values": {}})
    return shown


def graphml(site: Site, graph: Drawable, *words: str) -> Response:
    """Return a graph as a file of GraphML, named after the KB and some words."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.graphml"
        graph.write(path)
        content = path.read_bytes()
    headers = site.attachment("graphml", *words)
    return Response(content, media_type="application/graphml+xml", headers=headers)


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
