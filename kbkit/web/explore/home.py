"""Home: what the KB holds, with samples, and examples to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from kbkit.graph.drawn import labels_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kbkit.web.explore.site import Site

_TYPES, _RELATIONS = 40, 60
"""Maximum number of types and relations on the first page; the others are on request."""
_SAMPLES, _EXAMPLES = 3, 6


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""

    def home(request: Request) -> Response:
        schema = site.kb.schema
        whole = bool(request.query_params.get("all"))
        types = [t for t in schema.node_types if t.members]
        signatures = [(r, s) for r in schema.relations for s in r.signatures]
        return site.page(
            "home.html",
            request,
            title=site.kb.manifest.recipe["title"],
            licence=site.kb.manifest.recipe["licence"],
            texts=sum(field.texts for field in schema.text_fields),
            labels=labels_of(schema),
            types=types if whole else types[:_TYPES],
            signatures=signatures if whole else signatures[:_RELATIONS],
            more=not whole and (len(types) > _TYPES or len(signatures) > _RELATIONS),
            samples=lambda kind: site.kb.popular(kind, _SAMPLES).select("key", "type", "name").rows(),
        )

    def examples(request: Request) -> Response:
        return site.page("examples.html", request, examples=site.kb.examples(_EXAMPLES).rows())

    return [Route("/", home), Route("/examples", examples)]
