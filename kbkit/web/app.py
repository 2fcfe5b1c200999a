"""The web application of a KB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from kbkit.web import sparql, wikibase
from kbkit.web.rules import Guard, Rules, refused

if TYPE_CHECKING:
    from starlette.requests import Request

    from kbkit.kb import KnowledgeBase

_BLAZEGRAPH = "/bigdata/namespace/wdq/sparql"
"""Where the Wikidata Query Service has its endpoint."""


def application(
    kb: KnowledgeBase,
    limits: sparql.EndpointLimits | None = None,
    rules: Rules | None = None,
    dialect: str | None = None,
) -> Starlette:
    """Return the application: the SPARQL endpoint at ``/sparql``, to which ``/`` leads, and Wikidata's own addresses.

    Raises :class:`kbkit.errors.KbError` if the KB has no RDF store, and for an unknown dialect.
    """
    kb.stores.spare_memory()
    kb.rewrite("ASK {}", dialect)
    assert kb.triples  # opened here, before requests arrive
    endpoint = sparql.KbEndpoint(kb, limits or sparql.EndpointLimits(), dialect)

    async def home(_: Request) -> Response:
        return RedirectResponse(sparql.PATH)

    is_wikidata = kb.schema.dialect == "wikidata"

    async def answer(request: Request) -> Response:
        found = await endpoint(request)
        return wikibase.named_as_by_blazegraph(found) if is_wikidata else found

    paths = [sparql.PATH, *([_BLAZEGRAPH] if is_wikidata else [])]
    return Starlette(
        routes=[
            Route("/", home),
            *(Route(path, answer, methods=list(sparql.METHODS)) for path in paths),
            *wikibase.routes(kb),
        ],
        middleware=[Middleware(Guard, rules=rules or Rules())],
        exception_handlers={HTTPException: refused},
    )
