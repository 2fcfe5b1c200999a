"""Review: what an inferred recipe makes of files, corrections, the build, and then the explorer of the new KB."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
from starlette.responses import JSONResponse, Response

from kbkit.display.drawing import page
from kbkit.display.drawing.model import Drawing
from kbkit.errors import KbError, plural, shortage, system_error
from kbkit.ingestion import review as reviews
from kbkit.web.explore.site import said

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from kbkit.display.progress import Event
    from kbkit.ingestion.review import IngestReview
    from kbkit.web.explore.site import Pages

log = logging.getLogger("kbkit.web")

_CHOICES = {
    reviews.ATTRIBUTE: "attribute",
    reviews.TEXT: "text to search",
    reviews.NODES: "nodes of its own",
    reviews.OMIT: "left out",
}
_DATES = {"dmy": "date, 3/4 is 3 April", "mdy": "date, 3/4 is 4 March", "year": "year"}
_OFFERS = {
    "column": "link to",
    "key": "use as key:",
    "name": "use as name:",
    reviews.MERGE: "merge rows with the same key",
}
_FIXED = {reviews.KEY: "key", reviews.NAME: "name", reviews.OTHER: "type, relation or other names"}


def routes(pages: Pages, review: IngestReview, built: Callable[[Path], None]) -> list[Route]:
    """Return the routes of a review; ``built`` is called once, with the directory of the KB."""
    screen = _Review(pages, review, built)
    return [
        pages.route("/", screen.page),
        pages.route("/review/data", screen.data),
        pages.route("/review/correct", screen.correct, method="POST"),
        pages.route("/review/undo", screen.undo, method="POST"),
        pages.route("/review/build", screen.build, method="POST"),
        pages.route("/review/progress", screen.progress),
    ]


class _Review:
    def __init__(self, pages: Pages, review: IngestReview, built: Callable[[Path], None]) -> None:
        self._pages, self._review, self._built = pages, review, built
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stages: dict[str, Event] = {}
        self._problem: KbError | None = None
        self._done = False

    def page(self, request: Request) -> Response:
        """Show the review, or the progress of the build."""
        return self._pages.page("review.html", request, **self._values(""))

    def _values(self, problem: str) -> dict[str, Any]:
        tables = [] if self._is_building() else self._review.tables()
        return {
            "review": self._review,
            "tables": tables,
            "targets": [table.name for table in tables if table.type],
            "guesses": [] if self._is_building() else self._review.guesses(),
            "offers": _OFFERS,
            "choices": _CHOICES,
            "dates": _DATES,
            "fixed": _FIXED,
            "problem": problem or said(self._problem),
            "building": self._is_building(),
            **self._progress(),
        }

    def data(self, _: Request) -> Response:
        """Return the drawing of types and relations as the scripts read it."""
        drawing = _drawing(self._review)
        shown = page.content(drawing)
        shown.update(title=drawing.title, summary=drawing.summary)
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    def correct(self, request: Request) -> Response:
        """Apply a correction; return the review with it, or with the reason why not."""
        form, problem, self._problem = request.state.form, "", None
        what, table, column, value = (form.get(name, "") for name in ("what", "table", "column", "value"))
        try:
            self._review.correct(what, table, column, value)
        except KbError as error:
            problem = said(error)
        return self._pages.page("review_tables.html", request, **self._values(problem))

    def undo(self, request: Request) -> Response:
        """Take the last correction back."""
        self._problem = None
        self._review.undo()
        return self._pages.page("review_tables.html", request, **self._values(""))

    # -- the build ----------------------------------------------------------------------------------------------------

    def build(self, request: Request) -> Response:
        """Start the build, unless it runs."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stages, self._problem = {}, None
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
        return self._pages.page("review_tables.html", request, **self._values(""))

    def progress(self, request: Request) -> Response:
        """Return the progress of the build as a part of the page; at its end, lead to the explorer."""
        values = self._values("")
        answer = self._pages.page(
            "review_tables.html" if not values["building"] else "review_progress.html", request, **values
        )
        if not values["building"]:  # it failed: the tables fill the part of the page that the progress is in
            answer.headers.update({"HX-Retarget": "#review", "HX-Reswap": "innerHTML"})
        return answer

    def _is_building(self) -> bool:
        return self._done or (self._thread is not None and self._thread.is_alive())

    def _progress(self) -> dict[str, Any]:
        stages = [(name, event.done, event.total) for name, event in self._stages.copy().items()]
        return {"stages": stages}

    def _work(self) -> None:
        def heard(event: Event) -> None:
            self._stages[event.stage] = event

        try:
            self._review.build(heard)
            self._built(self._review.out)
        except KbError as error:
            self._problem = error
        except BaseException as error:  # the thread ends with it, and the page would say nothing
            log.exception("build failed")
            other = system_error(error) if isinstance(error, OSError) else None
            internal = KbError(f"Internal error: {type(error).__name__}", "Please report it")
            self._problem = shortage(error) or other or internal
        else:
            self._done = True


def _drawing(review: IngestReview) -> Drawing:
    types = review.types()
    order = {name: number for number, name in enumerate(types)}
    counted = {name: f"{name} {count:,}" if count else name for name, count in types.items()}
    nodes = [(number, name, name, counted[name], 1, "") for name, number in order.items()]
    edges = [
        (order[head], relation, order[tail]) for head, relation, tail in review.edges() if {head, tail} <= set(order)
    ]
    node_kinds = {
        "id": pl.Int64,
        "key": pl.String,
        "type": pl.String,
        "name": pl.String,
        "hop": pl.Int64,
        "line": pl.String,
    }
    edge_kinds = {"head": pl.Int64, "relation": pl.String, "tail": pl.Int64}
    return Drawing(
        review.out.stem,
        f"{plural(len(nodes), 'type')} with the numbers of their nodes, {plural(len(edges), 'link')}",
        0,
        pl.DataFrame(nodes, node_kinds, orient="row"),
        pl.DataFrame(edges, edge_kinds, orient="row"),
        tuple(types),
        frozenset(),
        {},
    )


class Switch:
    """An application that another one replaces while the server runs, from any thread."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._lifespan: Any = None
        self._is_replaced = False

    def serve(self, app: Any) -> None:
        """Serve the requests that come from now on with another application."""
        self._lifespan = app.router.lifespan_context(app)
        self._app, self._is_replaced = app, True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        started, self._lifespan = self._lifespan, None
        if started is not None:
            await started.__aenter__()
        if self._is_replaced and scope["type"] == "http" and scope["path"].startswith("/review/"):
            await Response(headers={"HX-Redirect": "/"})(scope, receive, send)  # a page that still waits
            return
        await self._app(scope, receive, send)
