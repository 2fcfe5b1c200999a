"""A SPARQL 1.1 endpoint that holds a KB's triples: QLever, Blazegraph, Oxigraph's server, or any other.

The protocol is W3C's SPARQL 1.1 Protocol, "query via POST with URL-encoded parameters"; results are SPARQL 1.1 Query
Results JSON. Neither a key nor a cookie is sent, and no redirection is followed.
"""

from __future__ import annotations

import json
import urllib.parse
from importlib.metadata import version
from typing import TYPE_CHECKING

from kbkit.errors import DISTRIBUTION, KbError, QueryError
from kbkit.stores import endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.session import Session
    from kbkit.stores.adjacency import Ids

_ACCEPT = "application/sparql-results+json"
_EXAMPLE = "e.g. http://localhost:7878/query"
_PASSWORD = ("a password in an address is not sent", "endpoints with passwords are not supported")


class Endpoint:
    """An engine for ``kb.answers``. ``user_agent`` is what the server is told: public ones want a way to reach you."""

    name = "endpoint"

    def __init__(self, url: str, user_agent: str = "") -> None:
        endpoint.check(url, _EXAMPLE, _PASSWORD)
        self.url = url
        self._agent = user_agent or f"kbkit/{version(DISTRIBUTION)}"
        if not (self._agent.isascii() and self._agent.isprintable()):
            raise KbError(f"{self._agent!r} is no user agent", "plain letters: 'my-study/1.0 (me@example.org)'")

    def ids(self, answers: AnswerSet, session: Session, timeout: float | None = None) -> Ids:
        """See :class:`kbkit.answers.engines.Engine`.

        Raises :class:`KbError` for an endpoint that does not answer as one, and for answers that the KB does not know,
        and :class:`kbkit.errors.QueryTimeoutError` at the limit.
        """
        return known(self.answers(answers.sparql, timeout), session, self.url)

    def answers(self, sparql: str, timeout: float | None = None) -> list[str]:
        """The IRIs (and whatever else) that a query of one variable gives, distinct."""
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": _ACCEPT,
            "User-Agent": self._agent,
        }
        body = urllib.parse.urlencode({"query": sparql}).encode()
        text, kind = endpoint.send(self.url, body, headers, timeout)
        return list(dict.fromkeys(_first_column(text, kind, self.url)))


def _first_column(text: bytes, kind: str, url: str) -> list[str]:
    """The values of the one variable of SPARQL results."""
    try:
        results = json.loads(text)
    except (ValueError, RecursionError):
        what = f"{kind}, not SPARQL results" if kind and "json" not in kind else "SPARQL results that are not whole"
        raise QueryError(f"{url} answered with {what}", f"is it the address of queries, {_EXAMPLE}?") from None
    try:
        [variable] = results["head"]["vars"]
        return [str(row[variable]["value"]) for row in results["results"]["bindings"]]
    except (KeyError, TypeError, ValueError):
        raise QueryError(f"{url} answered with JSON that is no SPARQL result", "is it a SPARQL endpoint?") from None


def known(iris: Sequence[str], session: Session, url: str) -> Ids:
    """The ids of the nodes with these IRIs; raises :class:`KbError` where the KB lacks some."""
    found, missing = session.by_iri(iris)
    if missing:
        shown = missing[0] + ", ..." * (len(missing) > 1)
        raise KbError(
            f"{url} gave {len(iris):,} answers, of which this KB does not know {len(missing):,}: {shown}",
            "kbkit export DIR --to ntriples writes the triples that it has to hold",
        )
    return found
