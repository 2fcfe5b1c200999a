"""Read requests of the SPARQL 1.1 protocol (https://www.w3.org/TR/sparql11-protocol/)."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.requests import Request

FORM, QUERY, UPDATE = "application/x-www-form-urlencoded", "application/sparql-query", "application/sparql-update"
MOST_FIELDS = 1_000
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_TIMEOUT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s)?")
_GRAPHS = ("default-graph-uri", "named-graph-uri")


@dataclass(frozen=True)
class QueryRequest:
    """A request to run a query.

    ``graphs`` are the IRIs of the default and of the named graphs, None for those of the query; ``format`` is the name
    of a format, ``timeout`` is in seconds; None: not given.
    """

    query: str
    graphs: tuple[Sequence[str] | None, Sequence[str] | None]
    format: str | None
    timeout: float | None


async def read(request: Request) -> QueryRequest | None:
    """Return what a request asks for, None if it has no query. Raises :class:`HTTPException`."""
    fields = parsed(request.scope.get("query_string", b""), "the address")
    if request.method == "POST":
        fields += await _posted(request)
    if any(name in ("update", "using-graph-uri", "using-named-graph-uri") for name, _ in fields):
        raise _update()
    queries = [value for name, value in fields if name == "query"]
    if len(queries) > 1:
        raise HTTPException(400, "More than one query given. Send one.")
    if not queries:
        if request.method == "POST":
            raise HTTPException(400, "No query given. Send it as the parameter 'query'.")
        return None
    default, named = ([value for name, value in fields if name == graph] for graph in _GRAPHS)
    form = next((value for name, value in fields if name in ("format", "output") and value), None)
    timeout = next((_seconds(value) for name, value in fields if name == "timeout" and value), None)
    return QueryRequest(queries[0], (default, named) if default or named else (None, None), form, timeout)


async def _posted(request: Request) -> list[tuple[str, str]]:
    """Return the fields of the body; a body that is a query is the field ``query``."""
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if kind == UPDATE:
        raise _update()
    if kind not in (FORM, QUERY):
        if not await request.body():  # some clients name a type, and have the query in the address
            return []
        raise HTTPException(415, f"Unsupported content type. Use {FORM} or {QUERY}.")
    charset = re.search(r'charset\s*=\s*"?([^\s";]+)', parameters, re.IGNORECASE)
    if charset and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise HTTPException(415, "Unsupported character set. Use UTF-8.")
    body = await request.body()
    if kind == FORM:
        return parsed(body, "the body")
    try:
        return [("query", body.decode())]
    except UnicodeDecodeError:
        raise HTTPException(400, "Invalid UTF-8 in the body.") from None


def parsed(text: bytes, where: str) -> list[tuple[str, str]]:
    """Parse fields with percent-encoding. Raises :class:`HTTPException` for invalid ones."""
    try:
        decoded = text.decode()
        if _BAD_PERCENT.search(decoded):
            raise HTTPException(400, f"Invalid percent-encoding in {where}.")
        return urllib.parse.parse_qsl(decoded, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except UnicodeDecodeError:
        raise HTTPException(400, f"Invalid UTF-8 in {where}.") from None
    except ValueError:
        raise HTTPException(400, f"Too many parameters in {where}: at most {MOST_FIELDS:,} are allowed.") from None


def _seconds(text: str) -> float:
    """Parse a time limit: seconds (``30``, ``30s``) or milliseconds (``500ms``)."""
    match = _TIMEOUT.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise HTTPException(400, "Invalid timeout. Use a number of seconds, such as 30.")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


def _update() -> HTTPException:
    return HTTPException(403, "Updates are not allowed: a KB is read-only. Change the source and ingest it again.")
