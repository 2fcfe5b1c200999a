"""The SPARQL endpoint: runs queries, a few at a time, and streams their results."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from kbkit.errors import DamagedError, KbError, Option, PythonSpeller, QueryError, QueryTimeoutError, ShortageError
from kbkit.sparql.run import query
from kbkit.stores.sparql_process import MOST, WrongFormatError
from kbkit.web import description, protocol
from kbkit.web.negotiation import Choice, best, choose, ranges
from kbkit.web.protocol import QueryRequest
from kbkit.web.rules import plain
from kbkit.web.turns import QueueFullError, Turns

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from kbkit.kb import KnowledgeBase
    from kbkit.stores.sparql_process import Results

T = TypeVar("T")

PATH = "/sparql"
METHODS = ("GET", "HEAD", "POST", "OPTIONS")
_WAITING = 100
"""Maximum number of requests that wait for others, of one client half of them."""
_LONGEST_WARNING = 1_000
_NO_STORE = {"Cache-Control": "no-store", "Vary": "Accept"}


@dataclass(frozen=True)
class EndpointLimits:
    """Limits of a query (None: no limit): seconds before it is cancelled, in which the client has to read the result,
    and number of rows.
    """

    timeout: float | None = 60.0
    rows: int | None = None


class KbEndpoint:
    """The endpoint of a KB, a handler of Starlette."""

    def __init__(self, kb: KnowledgeBase, limits: EndpointLimits, dialect: str | None = None) -> None:
        self._kb, self._limits, self._dialect = kb, limits, dialect
        self._turns = Turns(MOST, _WAITING)

    async def __call__(self, request: Request) -> Response:
        """Answer a request."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": ", ".join(METHODS)})
        asked = await protocol.read(request)
        if asked is None:
            return await self._describe(request)
        choice = choose(request.headers.get("accept"), asked.format)
        if choice is None:
            raise HTTPException(400, "Unknown format. Use json, xml, csv, tsv, turtle, ntriples or jsonld.")
        return await self._answer(request, asked, choice)

    async def _answer(self, request: Request, asked: QueryRequest, choice: Choice) -> Response:
        run = _Run(self._kb, asked, choice, self._limits, self._dialect)
        client = _client(request)
        held = False

        async def open_() -> None:
            nonlocal held
            await self._turns.acquire(client)
            held = True
            run.started = anyio.current_time()
            await anyio.to_thread.run_sync(run.start, abandon_on_cancel=True)

        try:
            if not await unless_gone(request, open_):
                raise HTTPException(499, "The client is gone.")
        except BaseException as error:
            run.close()
            if held:
                self._turns.release(client)
            if isinstance(error, KbError):
                return failed(error, self._limits)
            if isinstance(error, QueueFullError):
                raise HTTPException(503, "Too many requests at once. Try again.", {"Retry-After": "1"}) from None
            raise
        if request.method == "HEAD":
            run.close()
            self._turns.release(client)
            answer = Response(headers=run.headers())
            del answer.headers["content-length"]  # unknown: the result has not been read
            return answer
        return _ResultStream(run, functools.partial(self._turns.release, client))

    async def _describe(self, request: Request) -> Response:
        """Return what the endpoint is: a page for a person, RDF for a program."""
        accepted = ranges(request.headers.get("accept"))
        graph = best(accepted, description.OFFERS)
        if graph is None:
            raise HTTPException(406, "The service description is available as Turtle, N-Triples, JSON-LD and RDF/XML.")
        url = str(request.url.replace(query="", fragment=""))
        if graph[0] == description.PAGE:
            return HTMLResponse(description.page(self._kb, url, self._limits.timeout, self._limits.rows))
        asked = QueryRequest(description.query(self._kb, url), (None, None), graph[0], None)
        chosen = choose(graph[1], graph[0])
        assert chosen is not None
        return await self._answer(request, asked, chosen)


def _client(request: Request) -> str:
    """Return what tells clients apart: on the loopback, the program, and the address that a proxy passes on."""
    return "\n".join(request.headers.get(name, "") for name in ("user-agent", "x-forwarded-for"))


class _Run:
    """One query: its rewriting and its result. ``close``, from any thread, cancels it.

    ``timeout`` is in seconds (None: no limit), from ``started`` on, when the query got its turn.
    """

    def __init__(
        self, kb: KnowledgeBase, asked: QueryRequest, choice: Choice, limits: EndpointLimits, dialect: str | None
    ) -> None:
        self._kb, self._asked, self._choice, self._limits, self._dialect = kb, asked, choice, limits, dialect
        self._results: Results | None = None
        self._closed = False
        self._warnings: list[str] = []
        self.timeout = min((limit for limit in (limits.timeout, asked.timeout) if limit is not None), default=None)
        self.started = 0.0

    def start(self) -> None:
        """Run the query up to its first bytes. Raises :class:`KbError`."""
        asked, rows = self._asked, self._limits.rows
        sent = query(self._kb.stores, asked.query, self.timeout, self._dialect, rows, graphs=asked.graphs)
        self._warnings = sent.unknown_names()
        self._results = sent.results(self._choice.formats)
        if self._closed:
            raise QueryError("The query was cancelled")
        self._results.start()

    def chunk(self) -> bytes:
        """Return the next bytes of the result; none at the end."""
        assert self._results is not None
        return self._results.chunk()

    def headers(self) -> dict[str, str]:
        """Return the headers of the answer."""
        assert self._results is not None
        rows = self._limits.rows
        limited = {} if rows is None else {"X-SPARQL-MaxRows": str(rows)}
        said = " ".join(" ".join(self._warnings).split()).encode("ascii", "backslashreplace").decode()
        warned = {"X-SPARQL-Warning": said[:_LONGEST_WARNING]} if said else {}
        return {"Content-Type": self._choice.media_type(self._results.format), **_NO_STORE, **limited, **warned}

    def close(self) -> None:
        """Cancel the query, unless it is done."""
        self._closed = True
        if self._results is not None:
            self._results.close()


class _ResultStream(StreamingResponse):
    """The result of a query in chunks. Its end, also an early one, ends the query.

    The client reads within the time limit of the query, or the turns of all others would wait for it. If the time is
    over or the query fails after the first bytes, the connection is closed without the end of the answer, by which
    clients notice that it is incomplete.
    """

    def __init__(self, run: _Run, done: Callable[[], None]) -> None:
        super().__init__(self._chunks(), headers=run.headers())
        self._run, self._done = run, done

    async def _chunks(self) -> AsyncIterator[bytes]:
        while chunk := await anyio.to_thread.run_sync(self._run.chunk, abandon_on_cancel=True):
            yield chunk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        timeout = self._run.timeout
        try:
            with anyio.move_on_at(None if timeout is None else self._run.started + timeout):
                await super().__call__(scope, receive, send)
        except KbError:
            return  # the answer has no end
        finally:
            self._run.close()
            self._done()


async def unless_gone(request: Request, work: Callable[[], Awaitable[None]]) -> bool:
    """Run ``work`` unless the client disconnects; return whether it is done."""
    failure: list[Exception] = []
    done = False
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            try:
                while (await request.receive())["type"] != "http.disconnect":
                    pass
            except HTTPException as error:  # more of the body than is allowed
                failure.append(error)
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            await work()
            done = True
        except Exception as error:  # noqa: BLE001 - raised below, outside the group, which would wrap it
            failure.append(error)
        group.cancel_scope.cancel()
    if failure:
        raise failure[0]
    return done


class _RequestSpeller(PythonSpeller):
    """Options as parameters of the request."""

    def option(self, option: Option) -> str:
        return f"the parameter {super().option(option)}"


def failed(error: KbError, limits: EndpointLimits) -> Response:
    """Return the answer to a query that failed."""
    if isinstance(error, QueryTimeoutError):
        most = "" if limits.timeout is None else f" The limit of this server is {limits.timeout:g} s."
        return plain(f"{error.message}.{most}", 504)
    status = 406 if isinstance(error, WrongFormatError) else 400
    died = isinstance(error, QueryError) and error.__cause__ is not None
    if died or isinstance(error, (DamagedError, ShortageError)):
        status = 503
    return plain(error.text_for(_RequestSpeller()), status)
