"""A node: its texts, attributes and neighbours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from kbkit.display.node_data import edge_attributes, shown_name
from kbkit.display.places import coordinates
from kbkit.display.render import cell
from kbkit.english.headings import attribute_heading, figure, relation_heading
from kbkit.stores.folding import caseless
from kbkit.web.explore import links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.display.node_data import Neighbor, NodeData
    from kbkit.web.explore.site import Site

_FIRST, _NEXT = 10, 50
"""Neighbours of a group that are shown at first, and that are added on request."""
_TEXTS = 20
_SIMILAR = 8
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]+")


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Node(site)
    return [
        site.route("/node", screen.named),
        site.route("/node/{rest:path}", screen.page),
        site.route("/group", screen.group),
    ]


class _Node:
    def __init__(self, site: Site) -> None:
        self._site = site

    def named(self, request: Request) -> Response:
        """Lead to the page of a node that a person named; show it here if it has no address of its own."""
        row = self._site.kb.stores.nodes.row(self._site.kb.find(links.reference(request)))
        address = links.node(row.type, row.key)
        return self.page(request) if "?" in address else RedirectResponse(address, 303)

    def page(self, request: Request) -> Response:
        """Show a node."""
        kb, whole = self._site.kb, bool(request.query_params.get("all"))
        data = kb.page(links.reference(request), _FIRST).data
        for group in data["relations"]:
            if group["count"] <= _FIRST:  # all are shown
                group["neighbors"] = _ordered(group["neighbors"])
        kind, key = _parts(data["reference"], kb.stores.nodes.row(data["id"]).type)
        related = kb.related(data["id"], _SIMILAR).select("type", "key", "name").rows() if kb.has("embeddings") else []
        texts = data["texts"]
        return self._site.page(
            "node.html",
            request,
            node=data,
            kind=kind,
            key=key,
            attributes=_attributes(data),
            heading=attribute_heading,
            figure=figure,
            headings=[
                relation_heading(kb.schema, one["relation"], kind, one["type"], of_head=one["direction"] == "out")
                for one in data["relations"]
            ],
            place=coordinates(data["attributes"]),
            marked=self._marked(links.text(request, "q")),
            texts=texts if whole else texts[:_TEXTS],
            omitted=0 if whole else max(0, len(texts) - _TEXTS),
            related=related,
            first=_FIRST,
        )  # fmt: skip

    def _marked(self, query: str) -> Callable[[str], str]:
        """Return a function that puts the words of a query in a text between ``**``."""
        if not query or not self._site.kb.has("text"):
            return lambda text: text
        text = self._site.kb.text
        words = set(text.words(query))
        return lambda given: text.snippets(words, [given], len(given))[0]

    def group(self, request: Request) -> Response:
        """Return the next neighbours of a group as a part of a page."""
        offset = links.number(request, "offset", 0, 0, 2**31)
        given = {name: links.text(request, name) for name in ("relation", "direction", "type")}
        reference = links.reference(request)
        group = self._site.kb.page_group(reference, **given, limit=_NEXT, offset=offset)
        return self._site.page(
            "group.html",
            request,
            group=group,
            reference=reference,
            shown=offset + _NEXT,
            heading=attribute_heading,
            figure=figure,
        )


def _ordered(neighbors: list[Neighbor]) -> list[Neighbor]:
    """Return neighbours by an attribute of their edges that numbers them from 1, or else by name."""
    for name in edge_attributes(neighbors[0]):
        if all(type(one.get(name)) is int for one in neighbors):
            ordered = sorted(neighbors, key=lambda one: one[name])
            if [one[name] for one in ordered] == list(range(1, len(ordered) + 1)):
                return ordered
    return sorted(neighbors, key=lambda one: caseless(shown_name(one)))


def _parts(reference: str, kind: str) -> tuple[str, str]:
    return kind, reference[len(kind) + 1 :]


def _attributes(data: NodeData) -> list[tuple[str, str, Any, str]]:
    """Return (name, heading, value, address on the web or "") of each attribute."""
    labels = data.get("attribute_labels", {})
    return [
        (name, attribute_heading(labels.get(name, name)), figure(name, value), _address(value))
        for name, value in data["attributes"].items()
    ]


def _address(value: object) -> str:
    """Return a value that is an address on the web, else nothing."""
    text = cell(value)
    return text if _ADDRESS.fullmatch(text) else ""
