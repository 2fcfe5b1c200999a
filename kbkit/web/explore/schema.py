"""Schema: types and relations, drawn and in tables, with links to their nodes and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from kbkit.answers import syntax
from kbkit.display.drawing import page
from kbkit.graph.nodes import noticed
from kbkit.graph.schema_drawing import schema_drawing
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier
from kbkit.web.explore import links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.display.drawing.model import Drawing
    from kbkit.schema import Relation, Signature
    from kbkit.web.explore.site import Site

_SAMPLES = 5
_LISTED = 500
"""Maximum number of types and of pairs of types of relations in the tables."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Schema(site)
    return [
        site.route("/schema", screen.page),
        site.route("/schema/data", screen.data),
        site.route("/schema/type", screen.type),
    ]


class _Schema:
    def __init__(self, site: Site) -> None:
        self._site = site

    def page(self, request: Request) -> Response:
        """Show the drawing and the tables; a text in the address filters the tables."""
        schema, find = self._site.kb.schema, links.text(request, "find", 200)
        wanted = find.lower()
        types = sorted((t for t in schema.node_types if t.members), key=lambda t: -t.members)
        pairs = [(r, s) for r in schema.relations for s in r.signatures]
        types = [t for t in types if any(wanted in name.lower() for name in (t.name, *(a.name for a in t.attributes)))]
        pairs = [(r, s) for r, s in pairs if any(wanted in name.lower() for name in (r.name, r.label, s.head, s.tail))]
        return self._site.page(
            "schema.html",
            request,
            find=find,
            types=types[:_LISTED],
            pairs=pairs[:_LISTED],
            more=(max(0, len(types) - _LISTED), max(0, len(pairs) - _LISTED)),
            sql_of_type=links.sql_of_type,
            sql_of_edges=self._sql_of_edges,
            expression_of=_expression_of,
        )

    def data(self, _: Request) -> Response:
        """Return the drawing as the scripts read it."""
        drawing = schema_drawing(self._site.kb.schema)
        shown = page.content(drawing)
        for node, name in zip(shown["nodes"], drawing.nodes["key"], strict=True):
            node.update(command="", type_name=name, about=links.page("/schema/type", name=name))
        shown.update(title=drawing.title, summary=drawing.summary, **self._counted(drawing, shown))
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    def _counted(self, drawing: Drawing, shown: dict[str, Any]) -> dict[str, Any]:
        """Return the lines of a drawing, each with relations of its own, whose labels have the numbers of edges."""
        names = drawing.nodes["key"].to_list()
        edges = {(r.name, s.head, s.tail): s.edges for r in self._site.kb.schema.relations for s in r.signatures}
        relations: list[dict[str, Any]] = []
        lines = []
        for drawn, ((a, b), pairs) in zip(shown["edges"], drawing.pairs().items(), strict=True):
            own = []
            for (relation, way), (number, _) in zip(pairs, drawn["relations"], strict=True):
                count = edges.get((relation, names[a], names[b]) if way >= 0 else (relation, names[b], names[a]), 0)
                own.append((len(relations), way))
                known = shown["relations"][number]
                relations.append({**known, "label": f"{known['label']} {count:,}"})
            lines.append({**drawn, "relations": own})
        return {"relations": relations, "edges": lines}

    def type(self, request: Request) -> Response:
        """Return the description of a type as a part of the page, with nodes that have the most neighbours."""
        schema = self._site.kb.schema
        kind = schema.type(links.text(request, "name"))
        pairs = [(r, s) for r in schema.relations for s in r.signatures if kind.name in (s.head, s.tail)]
        return self._site.page(
            "schema_type.html",
            request,
            type=kind,
            pairs=sorted(pairs, key=lambda pair: -pair[1].edges),
            samples=noticed(self._site.kb.stores, kind, _SAMPLES).select("key", "type", "name").rows(),
            sql_of_type=links.sql_of_type,
            sql_of_edges=self._sql_of_edges,
        )

    def _sql_of_edges(self, relation: Relation, signature: Signature) -> str:
        """Return SQL for edges of a relation between two types, with the names of their ends."""
        ends = [("h", signature.head), ("t", signature.tail)] if len(relation.signatures) > 1 else []
        where = " AND ".join(f"{end}.type = {literal(kind)}" for end, kind in ends)
        own = "".join(f", r.{identifier(a.name)}" for a in relation.attributes)
        return (
            f"SELECT h.id AS head, h.name AS head_name, t.id AS tail, t.name AS tail_name{own}\n"
            f"FROM {identifier(relation.table)} r JOIN nodes h ON h.id = r.head JOIN nodes t ON t.id = r.tail\n"
            + (f"WHERE {where}\n" if where else "")
        ).rstrip()


def _expression_of(relation: Relation, signature: Signature) -> str:
    names = [syntax.identifier(name) for name in (signature.head, relation.name, signature.tail)]
    return f"{names[0]} -> [{names[1]}] -> {names[2]}"
