"""Paths between two nodes, listed and drawn."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from kbkit.display.render import clean
from kbkit.english.headings import relation_label, relation_verb
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.errors import KbError
from kbkit.graph.nodes import hub_degree
from kbkit.stores.folding import caseless
from kbkit.web.explore import links
from kbkit.web.explore.graph import PALETTE, drawn_values, graphml
from kbkit.web.explore.site import said, status_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.graph.paths import GraphPath, Paths, PathStep, Place
    from kbkit.schema import Schema
    from kbkit.stores.node_directory import NodeRow
    from kbkit.web.explore.site import Site

_KEPT = 20
"""Results in memory."""
_LIMIT = 10
"""Default number of paths."""
_CLOSE = 5
"""Names like one that is unknown."""
_MOST_WORDS = 20
"""Words of an unknown name in which names are looked for."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Paths(site)
    return [
        site.route("/paths", screen.page),
        site.route("/paths/data", screen.data),
        site.route("/paths/file", screen.file),
    ]


class _Paths:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._kept = lru_cache(_KEPT)(self._searched)  # the page, its drawing and its files are three requests

    def page(self, request: Request) -> Response:
        """Show the form, and the paths if both ends are given."""
        asked = _asked(request)
        found, problem = None, None
        if asked["start"] and asked["end"]:
            try:
                found = self._found(asked)
            except KbError as error:  # with the form, where it can be mended
                problem = error
        schema, meant = self._site.kb.schema, self._meant(asked) if problem else {}
        status = status_of(problem) if problem else 200
        return self._site.page(
            "paths.html",
            request,
            status,
            **{**asked, **{end: self._site.reference(asked[end]) for end in ("start", "end")}},
            found=found,
            # Without a hint if the names in it are links below.
            problem=said(KbError(problem.message) if problem and meant and all(meant.values()) else problem),
            meant=meant,
            all_relations=list(self._site.relation_headings.items()),
            all_types=[(t.name, t.members) for t in schema.node_types if t.members],
            hub=hub_degree(self._site.kb.stores),
            in_words=lambda path: _in_words(schema, path),
            lacks=_lacks(request, asked),
            farther=links.page("/paths", **_address({**asked, "steps": 10})),
            longer=links.page("/paths", **_address(asked)) if found is not None and asked["shortest"] else "",
            fewer=links.page("/paths", **_address(asked), shortest=1) if found and _leaves_out(found) else "",
            only=found and asked["alone"] and min(asked["alone"], len(found)),
            page_of=lambda number: links.page("/paths", **_address(asked), **_shortest(asked), path_=number),
            markdown=f"/paths/file?format=md&{request.url.query}",
        )

    def _meant(self, asked: dict[str, Any]) -> dict[str, list[tuple[str, str, str, str]]]:
        """Return for each unknown end the nodes with similar names: type, key, name, address of the page with it."""
        meant = {}
        for end, name in (("start", "from_"), ("end", "to")):
            try:
                self._site.kb.find(asked[end])
            except KbError:
                nodes = self._site.kb.stores.nodes
                same = {row.id: row for found in (nodes.by_key, nodes.by_name) for row in found(None, [asked[end]])[0]}
                close = list(same.values())[:_CLOSE] or nodes.closest(asked[end], limit=_CLOSE)
                close = close or self._inside(asked[end])
                given = _address(asked) | _shortest(asked)
                meant[asked[end]] = [
                    (row.type, row.key, row.name, links.page("/paths", **{**given, name: f"{row.type}#{row.key}"}))
                    for row in close
                ]
        return meant

    def _inside(self, text: str) -> list[NodeRow]:
        """Return the nodes whose names a text contains, the longest first: *Germany* for *Germany's neighbours*."""
        words = re.findall(r"[\w.&-]+", re.sub(r"['\u2019]s\b", "", text))[:_MOST_WORDS]
        spans = [(at, at + size) for size in range(len(words), 0, -1) for at in range(len(words) - size + 1)]
        named = [" ".join(words[start:end]) for start, end in spans]
        named = [name for name in named if caseless(name) not in FUNCTION_WORDS]
        found = {row.id: row for rows in self._site.kb.stores.nodes.by_name(None, named) for row in rows}
        return list(found.values())[:_CLOSE]

    def data(self, request: Request) -> Response:
        """Return the drawing as the scripts read it."""
        asked = _asked(request)
        found, chosen = self._found(asked), asked["alone"]
        drawing = _only(found, chosen).drawing()
        shown = self._site.drawn(drawing, found.start.name, found.end.name, *([str(chosen)] if chosen else []))
        if chosen:
            shown["title"] = f"{found.start.name} to {found.end.name}: path {chosen} of {len(found)}"
        for node, (kind, key) in zip(shown["nodes"], drawing.nodes.select("type", "key").iter_rows(), strict=True):
            node.update(command="", page=links.node(kind, key), graph=links.page("/graph", node=f"{kind}#{key}"))
        values = drawn_values(self._site, drawing, links.texts(request, "rank"))
        shown.update(values=values, palette=PALETTE, places={}, graphml=f"/paths/file?{request.url.query}")
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    def file(self, request: Request) -> Response:
        """Return all paths, or the one with a number, as GraphML or Markdown."""
        asked = _asked(request)
        found, chosen = self._found(asked), asked["alone"]
        words = (found.start.name, found.end.name, *([str(chosen)] if chosen else []))
        drawn = _only(found, chosen)
        if links.text(request, "format") != "md":
            return graphml(self._site, drawn, *words)
        headers = self._site.attachment("md", *words)
        text = self._markdown(found, self._command(found, asked), chosen)
        return Response(text.encode("utf-8", "replace"), media_type="text/markdown", headers=headers)

    def _command(self, found: Paths, asked: dict[str, Any]) -> str:
        """Return the command that finds the same paths."""
        given = ["kbkit", "path", self._site.kb.directory.path.name, found.start.reference, found.end.reference]
        given += ["--max-steps", str(asked["steps"]), "--limit", str(asked["limit"])]
        given += [word for name in asked["relations"] for word in ("--relation", name)]
        given += [word for name in asked["types"] for word in ("--type", name)]
        given += ["--max-degree", str(hub_degree(self._site.kb.stores))] if asked["nohubs"] else []
        given += [] if asked["shortest"] else ["--longer"]
        return re.sub(r"\s", " ", clean(shlex.join(given)))

    def _markdown(self, found: Paths, command: str, chosen: int) -> str:
        """Return the paths in words (0: all, or the ``chosen`` one), what they are from, and the nodes' references."""
        lines: list[str] = []
        places: dict[int, Place] = {}
        for number, path in enumerate(found, 1):
            if chosen not in (0, number):
                continue
            onward = _in_words(self._site.kb.schema, path)
            said = "".join(f" {words} {self._named(node)}" for words, node in onward)
            weight = f" (weight {path.weight:.1f})" if len(path) > 1 else ""
            lines.append(f"{number}. {self._named(path.start)}{said}{weight}")
            places |= {node.id: node for node in path.nodes}
        nodes = [f"- {self._named(node)}: `{node.reference.replace('`', '')}`" for node in places.values()]
        title = f"# {_escaped(found.start.name)} to {_escaped(found.end.name)}"
        note = "The weight is the sum of log₂ of the numbers of neighbours of the nodes between the ends."
        listed = ["", "## Nodes", "", *nodes, "", "## Source", "", f"{_escaped(self._site.source())}.", ""]
        summary = f"Path {chosen} of {len(found)} that the command below lists" if chosen else found.summary
        return "\n".join([title, "", f"{summary}. {note}", "", *lines, *listed, f"    {command}", ""])

    def _named(self, node: Place) -> str:
        return _escaped(self._site.titled(node.id, node.name))

    def _found(self, asked: dict[str, Any]) -> Paths:
        given = (asked["start"], asked["end"], asked["steps"], asked["limit"])
        return self._kept(*given, tuple(asked["relations"]), tuple(asked["types"]), asked["shortest"], asked["nohubs"])

    def _searched(
        self,
        start: str,
        end: str,
        steps: int,
        limit: int,
        relations: tuple[str, ...],
        types: tuple[str, ...],
        shortest: bool,
        nohubs: bool,
    ) -> Paths:
        kb = self._site.kb
        most = hub_degree(kb.stores) if nohubs else None
        return kb.paths(
            start, end, steps, limit, relations or None, types or None, longer=not shortest, max_degree=most
        )


def _lacks(request: Request, asked: dict[str, Any]) -> str:
    """Return what a form that was sent lacks."""
    if not {"from", "to"} & set(request.query_params) or (asked["start"] and asked["end"]):
        return ""
    ends = [name for name, end in (("From", "start"), ("To", "end")) if not asked[end]]
    return "Enter a node in both fields." if len(ends) == 2 else f"Now enter the other node, in the field {ends[0]}."


def _leaves_out(found: Paths) -> bool:
    """Return whether longer paths are listed instead of some of the shortest ones, which pass hubs."""
    longer = [path for path in found if len(path) > found.steps]
    return bool(longer) and len(found) - len(longer) < found.total


def _only(found: Paths, chosen: int) -> Paths:
    """Return the path with a number alone (0: all). Raises :class:`HTTPException` if there is none."""
    if chosen > len(found):
        raise HTTPException(404, f"There is no path {chosen}.")
    return replace(found, listed=(found[chosen - 1],)) if chosen else found


def _shortest(asked: dict[str, Any]) -> dict[str, Any]:
    return {"shortest": 1} if asked["shortest"] else {}


def _address(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the address of a search, for longer paths as well."""
    given = {"from_": asked["start"], "to": asked["end"], "steps": asked["steps"]}
    given |= {"limit": asked["limit"]} if asked["limit"] != _LIMIT else {}
    given |= {"relation": asked["relations"], "type": asked["types"]}
    return given | ({"nohubs": 1} if asked["nohubs"] else {})


def _escaped(text: str) -> str:
    """Return a text for Markdown, on one line."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", " ".join(clean(text).split()))


def _in_words(schema: Schema, path: GraphPath) -> list[tuple[str, Place]]:
    """Return what each node of a path has to do with the next one, in words, and the next one."""
    return [
        (_words(schema, before.type, step), step.node) for before, step in zip(path.nodes, path.steps, strict=False)
    ]


def _words(schema: Schema, subject: str, step: PathStep) -> str:
    """Return the relations of a step as verbs (*was directed by*); without verbs, as names between arrows."""
    verbs = [
        relation_verb(schema, move.relation, subject, step.node.type, of_head=move.forward) for move in step.relations
    ]
    if all(verbs):
        return " and ".join(dict.fromkeys(verbs))
    onward = any(move.forward for move in step.relations)
    names = dict.fromkeys(relation_label(schema, move.relation) for move in step.relations)
    arrow = "\N{RIGHTWARDS ARROW}" if onward else "\N{LEFTWARDS ARROW}"
    return f"{arrow} {' | '.join(names)} {arrow}"


def _asked(request: Request) -> dict[str, Any]:
    return {
        "start": links.text(request, "from"),
        "end": links.text(request, "to"),
        "steps": links.number(request, "steps", 6, 1, 10),
        "limit": links.number(request, "limit", _LIMIT, 1, 100),
        "alone": links.number(request, "path", 0, 0, 100),
        "relations": links.texts(request, "relation", 200),
        "types": links.texts(request, "type", 200),
        "shortest": links.flag(request, "shortest"),
        "nohubs": links.flag(request, "nohubs"),
    }
