"""Run answers on a SPARQL 1.1 endpoint with the triples of a KB: QLever, Blazegraph, the Oxigraph server or any other.

The protocol is the W3C SPARQL 1.1 Protocol, "query via POST with URL-encoded parameters"; results are SPARQL 1.1 Query
Results JSON. No credentials or cookies are sent, and redirections are not followed.
"""

from __future__ import annotations

import urllib.parse
from importlib.metadata import version
from typing import TYPE_CHECKING

from kbkit.directory.files import parse_json
from kbkit.errors import DISTRIBUTION, Command, KbError, QueryError
from kbkit.stores import endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbkit.answers.engines import CompiledSet
    from kbkit.answers.session import Session
    from kbkit.stores.adjacency import Ids

_ACCEPT = "application/sparql-results+json"
_EXAMPLE = "e.g. http://localhost:7878/query"
_PASSWORD = ("Passwords in the address of an endpoint are not supported", "Use an endpoint without a password")


class Endpoint:
    """An engine for ``kb.answers``. Public servers expect a ``user_agent`` with contact information."""

    name = "endpoint"

    def __init__(self, url: str, user_agent: str = "") -> None:
        endpoint.check_url(url, _EXAMPLE, _PASSWORD)
        self.url = url
        self._agent = user_agent or f"kbkit/{version(DISTRIBUTION)}"
        if not (self._agent.isascii() and self._agent.isprintable()):
            raise KbError(f"Invalid user agent {self._agent!r}", "Use printable ASCII: 'my-study/1.0 (me@example.org)'")

    def ids(self, answers: CompiledSet, session: Session, timeout: float | None = None) -> Ids:
        """See :class:`kbkit.answers.engines.Engine`.

        Raises :class:`KbError` for invalid responses and for answers that are not in the KB, and
        :class:`kbkit.errors.QueryTimeoutError` at the time limit.
        """
        return ids_of_iris(self.answers(answers.sparql, timeout), session, self.url)

    def answers(self, sparql: str, timeout: float | None = None) -> list[str]:
        """Return the distinct values of a query with one variable."""
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": _ACCEPT,
            "User-Agent": self._agent,
        }
        body = urllib.parse.urlencode({"query": sparql}).encode()
        text, kind = endpoint.send(self.url, body, headers, timeout)
        return list(dict.fromkeys(_first_column(text, kind, self.url)))


def _first_column(text: bytes, kind: str, url: str) -> list[str]:
    """Return the values of the only variable in SPARQL results."""
    try:
        results = parse_json(text)
    except (ValueError, RecursionError):
        problem = f"{kind} instead of JSON" if kind and "json" not in kind else "incomplete JSON"
        message = f"Invalid response from {url}: {problem}"
        raise QueryError(message, f"Use the address for queries, {_EXAMPLE}") from None
    try:
        [variable] = results["head"]["vars"]
        return [str(row[variable]["value"]) for row in results["results"]["bindings"]]
    except (KeyError, TypeError, ValueError):
        raise QueryError(f"Invalid response from {url}: not SPARQL results", "Use a SPARQL endpoint") from None


def ids_of_iris(iris: Sequence[str], session: Session, url: str) -> Ids:
    """Return the ids of the nodes with these IRIs; raise :class:`KbError` if some do not exist."""
    ids, missing = session.stores.nodes.by_iri(iris)
    if missing:
        names = missing[0] + ", ..." * (len(missing) > 1)
        raise KbError(
            f"{url} returned {len(iris):,} answers, {len(missing):,} of them not in this KB: {names}",
            *("Load the triples of this KB: ", Command("export KB -f ntriples -o PATH")),
        )
    return ids
