"""The side pane of the screen Query: the names of the KB, examples, saved queries and the history."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from kbkit.directory.query_history import PastQuery, QueryHistory
from kbkit.errors import KbError
from kbkit.executor.examples import OWN_COLUMNS, ExampleStatement, NamedPart, examples, schema_parts
from kbkit.executor.executor import Executor
from kbkit.web.explore import links
from kbkit.web.explore.site import said

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.directory.saved_queries import SavedQuery
    from kbkit.web.explore.query_results import ResultState
    from kbkit.web.explore.site import Site

_NAMES = 60
"""Types and relations that the pane lists."""
_LONGEST = 50_000
"""Maximum number of characters of a query that is saved."""
_OF_VIEW = re.compile(r"view|order|desc|f\d{1,3}|mark|x|y|colour|total|log")
"""Parameters that say how a result is shown."""


class SidePane:
    """The side pane. ``choices`` are the names of the languages."""

    def __init__(self, site: Site, choices: Mapping[str, str]) -> None:
        self._site, self._choices = site, choices
        self.history = QueryHistory(site.kb.workspace.folder)

    def routes(self) -> list[Route]:
        """Return the routes of the pane."""
        site = self._site
        return [
            site.route("/query/names", self.names),
            site.route("/query/examples", self.examples),
            site.route("/query/known", self.known),
            site.route("/query/save", self.save, method="POST"),
            site.route("/query/forget", self.forget, method="POST"),
        ]

    def names(self, request: Request) -> Response:
        """Return the types and relations whose names, attributes or ends contain a text, as a part of the page."""
        return self._site.page("query_names.html", request, **self.shown_names(links.text(request, "find", 200)))

    def shown_names(self, find: str) -> dict[str, Any]:
        """Return what the list of names shows."""
        types, relations = schema_parts(self._site.kb.schema)
        wanted = find.lower()
        found = [[part for part in parts if _mentions(part, wanted)] for parts in (types, relations)]
        return {
            "find": find,
            "types": found[0][:_NAMES],
            "relations": found[1][:_NAMES],
            "more": [max(0, len(parts) - _NAMES) for parts in found],
        }

    def examples(self, request: Request) -> Response:
        """Return examples in each language as a part of the page."""
        groups: dict[str, list[ExampleStatement]] = {}
        for example in examples(self._site.kb):
            groups.setdefault(example.language, []).append(example)
        return self._site.page("query_examples.html", request, examples=groups, choices=self._choices)

    def known(self, request: Request) -> Response:
        """Return the saved queries and the history as a part of the page."""
        return self._site.page("query_known.html", request, **self.shown_queries())

    def shown_queries(self) -> dict[str, Any]:
        """Return what the lists of queries show."""
        saved = [(known, _address(known)) for known in self._site.kb.workspace.queries.all()]
        return {"saved": saved, "history": [(known, _address(known)) for known in self.history.all()], "problem": ""}

    def remember(self, state: ResultState) -> None:
        """Add a query to the history, with how its result is shown."""
        self.history.add(state.language, state.text, _view(state.url()))

    def save(self, request: Request) -> Response:
        """Save a query by a name, or delete it."""
        form, problem = request.state.form, ""
        queries = self._site.kb.workspace.queries
        try:
            if name := form.get("delete", ""):
                queries.drop(name)
            else:
                text = form.get("q", "").strip()[:_LONGEST]
                if not text:
                    raise KbError("There is no query to save", "Write one first")
                language = form.get("language", "") or Executor(self._site.kb).language(text)
                queries.save(
                    form.get("name", "").strip(), language, text, _view(request.headers.get("hx-current-url", ""))
                )
        except KbError as error:
            problem = said(error)
        return self._site.page("query_known.html", request, **{**self.shown_queries(), "problem": problem})

    def forget(self, request: Request) -> Response:
        """Delete the history."""
        self.history.clear()
        return self.known(request)


def _view(address: str) -> str:
    """Return how the page at an address shows its result: the parameters but the query."""
    shown = parse_qsl(urlsplit(address).query)
    return urlencode([(name, value) for name, value in shown if _OF_VIEW.fullmatch(name)])[:_LONGEST]


def _address(known: SavedQuery | PastQuery) -> str:
    """Return the address of a query, shown as it was."""
    view = {name: value for name, value in parse_qsl(known.view) if _OF_VIEW.fullmatch(name)}
    return links.page("/query", **{**view, "q": known.statement, "language": known.language})


def _mentions(part: NamedPart, wanted: str) -> bool:
    own = (one.name for one in part.parts if one.about != OWN_COLUMNS.get(one.name))
    names = (part.name, part.about, *own, *(end for ends in part.ends for end in ends[:2]))
    return any(wanted in name.lower() for name in names)
