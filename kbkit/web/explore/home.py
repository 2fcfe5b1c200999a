"""Home: what the KB holds, with samples, and examples to run.

The page itself needs the schema only, so that it opens at once; its parts with samples open the stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbkit.web.explore import links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.web.explore.site import Site

_TYPES, _RELATIONS = 40, 60
"""Maximum number of types and relations on the first page; the others are on request."""
_SAMPLES, _EXAMPLES = 3, 6


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    schema = site.kb.schema
    filled = [t for t in schema.node_types if t.members]
    signatures = [(r, s) for r in schema.relations for s in r.signatures]

    def home(request: Request) -> Response:
        whole = links.flag(request, "all")
        return site.page(
            "home.html",
            request,
            title=site.kb.manifest.recipe["title"],
            licence=site.kb.manifest.recipe["licence"],
            texts=sum(field.texts for field in schema.text_fields),
            types=filled if whole else filled[:_TYPES],
            samples=None,
            signatures=signatures if whole else signatures[:_RELATIONS],
            whole=whole,
            more=not whole and (len(filled) > _TYPES or len(signatures) > _RELATIONS),
        )

    def types(request: Request) -> Response:
        """Return the table of types with the nodes that have the most neighbours."""
        from kbkit.graph.nodes import noticed  # it would delay the first page

        known = filled if links.flag(request, "all") else filled[:_TYPES]
        samples = {t.name: noticed(site.kb.stores, t, _SAMPLES).select("key", "type", "name").rows() for t in known}
        return site.page("home_types.html", request, types=known, samples=samples)

    def examples(request: Request) -> Response:
        return site.page("examples.html", request, examples=site.kb.examples(_EXAMPLES).rows())

    return [site.route("/", home), site.route("/types", types), site.route("/examples", examples)]
