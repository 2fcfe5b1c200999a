"""The web application of a KB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from kbkit.web import sparql
from kbkit.web.rules import Guard, Rules, refused

if TYPE_CHECKING:
    from starlette.requests import Request

    from kbkit.kb import KnowledgeBase


def application(
    kb: KnowledgeBase,
    limits: sparql.EndpointLimits | None = None,
    rules: Rules | None = None,
    dialect: str | None = None,
) -> Starlette:
    """Return the application: the SPARQL endpoint at ``/sparql``, to which ``/`` leads.

    Raises :class:`kbkit.errors.KbError` if the KB has no RDF store, and for an unknown dialect.
    """
    kb.rewrite("ASK {}", dialect)
    assert kb.triples  # opened here, before requests arrive
    endpoint = sparql.KbEndpoint(kb, limits or sparql.EndpointLimits(), dialect)

    async def home(_: Request) -> Response:
        return RedirectResponse(sparql.PATH)

    async def answer(request: Request) -> Response:
        return await endpoint(request)

    return Starlette(
        routes=[Route("/", home), Route(sparql.PATH, answer, methods=list(sparql.METHODS))],
        middleware=[Middleware(Guard, rules=rules or Rules())],
        exception_handlers={HTTPException: refused},
    )
