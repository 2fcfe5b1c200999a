"""Query: SQL, SPARQL, answer expressions and searches in one box, run by the executor of the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import anyio
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from kbkit.answers.errors import ExpressionError
from kbkit.display.render import cell, clean
from kbkit.english.headings import LARGE, figure
from kbkit.english.types import type_plural
from kbkit.errors import KbError, QueryError
from kbkit.executor import languages
from kbkit.graph.titles import titles
from kbkit.web.explore import links, query_drawings, query_files
from kbkit.web.explore.graph import graphml
from kbkit.web.explore.query_drawings import ENDS, figures, node_columns
from kbkit.web.explore.query_files import FILES, sent
from kbkit.web.explore.query_results import (
    PAGE,
    VIEWS,
    KeptResult,
    KeptResults,
    ResultState,
    forms_of,
    iris_of,
    named_nodes,
)
from kbkit.web.explore.query_side import SidePane
from kbkit.web.explore.site import is_part, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.web.explore.site import Site

_AT_ONCE = 4
"""Queries that run at the same time; others wait."""
_LONGEST = 50_000
_COMPLETED = 12
_CHOICES = {
    "": "Any language",
    "sql": "SQL",
    "sparql": "SPARQL",
    "answers": "Expression",
    "search": "Search",
    "ask": "Question",
}


_READ_AS = {
    "sql": "as SQL",
    "sparql": "as SPARQL",
    "answers": "as an expression",
    "search": "as a search for words",
    "ask": "as a question",
}


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Query(site)
    turns = anyio.CapacityLimiter(_AT_ONCE)
    return [
        site.route("/query", screen.page),
        site.route("/query/run", screen.run, turns),
        site.route("/query/view", screen.view, turns),
        site.route("/query/graph", screen.graph, turns),
        site.route("/query/chart", screen.chart, turns),
        site.route("/query/file", screen.file, turns),
        site.route("/query/why", screen.why, turns),
        site.route("/query/complete", screen.complete),
        *screen.side.routes(),
    ]


class _Query:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._results = KeptResults(site)
        self.side = SidePane(site, _CHOICES)

    def page(self, request: Request) -> Response:
        """Show the box. The query of the address runs, unless another site led here."""
        text, language = _asked(request)
        state = ResultState.of(request, text, language)
        return self._site.page(
            "query.html",
            request,
            q=text,
            language=language,
            choices=_CHOICES,
            runs=state.url("/query/view") if text and not links.is_foreign(request) else "",
            **self.side.shown_names(""),
            **self.side.shown_queries(),
        )

    def run(self, request: Request) -> Response:
        """Run a query; return its result as a part of the page."""
        text, language = _asked(request)
        if not text:
            return Response("")
        state = ResultState(text, language)
        if not is_part(request):  # a link led here: the page shows the query, and does not run that of another site
            return RedirectResponse(state.url(), 303)
        try:
            answer = self._result(request, self._results.run(text, language), state)
        except KbError as error:  # its address can be kept, too
            answer = self._failed(request, error)
        self._remember(answer, state)
        return _addressed(answer, request, state)

    def view(self, request: Request) -> Response:
        """Return a part of a result, which is kept or runs again: a page of its table, statistics, a graph, a chart."""
        text, language = _asked(request)
        state = ResultState.of(request, text, language)
        if not text or not is_part(request):
            return RedirectResponse(state.url(), 303)
        try:
            answer = self._result(request, self._results.result(text, language), state)
        except KbError as error:
            answer = self._failed(request, error)
        self._remember(answer, state)
        return _addressed(answer, request, state)

    def _remember(self, answer: Response, state: ResultState) -> None:
        """Add a query with its view to the history, and let the page show it."""
        self.side.remember(state)
        answer.headers["HX-Trigger-After-Settle"] = "known"

    def graph(self, request: Request) -> Response:
        """Return the graph of a result as the scripts read it, or as GraphML."""
        _refuse_foreign(request)
        state, kept = self._asked_result(request)
        most = links.number(request, "nodes", query_drawings.FIRST_NODES, 1, query_drawings.MOST_NODES)
        if links.text(request, "format") == "graphml":
            return graphml(self._site, query_drawings.graph(self._site, kept, state, most), state.text)
        content = query_drawings.graph_content(self._site, kept, state, most, links.texts(request, "rank"))
        return JSONResponse(content, headers={"Cache-Control": "no-store"})

    def chart(self, request: Request) -> Response:
        """Return columns of a result for a chart."""
        _refuse_foreign(request)
        state, kept = self._asked_result(request)
        self.side.remember(state)
        columns = [int(text) for text in links.texts(request, "column", 3) if text.isdecimal() and len(text) < 5]
        return JSONResponse(
            query_drawings.chart_content(self._site, kept, state, columns), headers={"Cache-Control": "no-store"}
        )

    def _asked_result(self, request: Request) -> tuple[ResultState, KeptResult]:
        text, language = _asked(request)
        kept = self._results.result(text, language)
        if kept.frame is None:
            raise KbError("The statement has no rows")
        return ResultState.of(request, text, language), kept

    def file(self, request: Request) -> Response:
        """Run a query; return all its rows, or all that match the filters, as a file."""
        _refuse_foreign(request)
        text, language = _asked(request)
        kind = links.text(request, "format")
        if kind not in FILES:
            raise HTTPException(400, f"Unknown format. Use {', '.join(FILES)}.")
        state = ResultState.of(request, text, language)
        return sent(query_files.rows(self._results, state), kind, self._site.attachment(kind, text))

    def why(self, request: Request) -> Response:
        """Return the proof of an answer as a part of the page."""
        _refuse_foreign(request)
        text, _ = _asked(request)
        node = links.number(request, "node", -1, 0, 2**31)
        proof = self._site.kb.answers(text, timeout=self._site.limits.timeout).why(node)
        return self._site.page("why.html", request, lines=proof.lines())

    def complete(self, request: Request) -> Response:
        """Return completions at the cursor, which is after ``at`` characters, for the editor."""
        from kbkit.executor.completion import complete  # it would delay the first page

        text, language = request.query_params.get("q", ""), links.text(request, "language")
        at = links.number(request, "at", len(text), 0, len(text))
        known = language or self._results.executor().language(text[:at])
        found = complete(text, at, self._site.vocabulary, known)[:_COMPLETED] if len(text) < _LONGEST else []
        shown = [
            {"text": one.text, "start": one.start, "display": clean(one.display or one.text), "meta": clean(one.meta)}
            for one in found
        ]
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    # -- results ------------------------------------------------------------------------------------------------------

    def _result(self, request: Request, kept: KeptResult, state: ResultState) -> Response:
        outcome, frame, problem = kept.outcome, kept.frame, ""
        expression = state.text
        if outcome.language == "answers" and outcome.value is not None:
            expression = outcome.value.expression  # of a question, what it was read as
        view = state.view if frame is not None else "code"
        values: dict[str, Any] = {"rows": [], "found": 0, "pages": 1, "ids": []}
        try:
            if state.filters and frame is not None:
                values["found"] = len(kept.rows(state))
            if view == "table":
                values |= self._table(kept, state)
            elif view == "columns":
                values["statistics"] = kept.statistics(state)
            elif view == "chart":
                values["fields"] = query_drawings.chart_fields(kept)
                values["saved_as"] = self._site.file_name(state.text)
        except KbError as error:  # a filter, which is mended where it is
            problem = said(error)
        total = 0 if frame is None else frame.height
        return self._site.page(
            "result.html",
            request,
            state=state,
            view=view,
            views=VIEWS,
            q=state.text,
            expression=expression,
            language=outcome.language,
            seconds=outcome.seconds,
            columns=kept.columns,
            numeric=[] if frame is None else [name for name in kept.columns if frame.schema[name].is_numeric()],
            figures=lambda name, text: figures(name, text, kept.separated.get(name, LARGE)),
            has_rows=frame is not None,
            total=total,
            many=kept.is_cut,
            forms=forms_of(outcome, expression),
            files=list(FILES),
            note=outcome.note,
            read_as="" if state.language else _READ_AS.get(outcome.language, ""),
            answered=_answered(expression, kept),
            problem=problem,
            **values,
        )

    def _table(self, kept: KeptResult, state: ResultState) -> dict[str, Any]:
        assert kept.frame is not None
        rows = kept.rows(state)
        pages = max(1, -(-len(rows) // PAGE))
        page = min(state.page, pages)
        shown = rows[(page - 1) * PAGE : page * PAGE]
        part = kept.frame[shown]
        nodes = [kept.nodes[row] for row in shown] if kept.nodes else named_nodes(self._site.kb.stores, part)
        has_proofs = kept.outcome.language == "answers" and not self._is_type(state.text)
        return {
            "rows": self._rows(part, kept, nodes),
            "ids": nodes if has_proofs else [],
            "found": len(rows),
            "pages": pages,
            "page_number": page,
            "start": (page - 1) * PAGE,
        }

    def _is_type(self, expression: str) -> bool:
        """Return whether an expression is the name of a type, whose members need no proof."""
        return expression.strip().strip("`") in {kind.name for kind in self._site.kb.schema.node_types}

    def _rows(
        self, frame: pl.DataFrame, kept: KeptResult, nodes: Sequence[int | None]
    ) -> list[list[tuple[str, str, str]]]:
        """Return each value as (text, address of its node or nothing, type of the node).

        ``nodes`` are the nodes that the rows describe, if they do.
        """
        shown = kept.columns
        named = next((name for name in ("name", "key", "id") if name in shown), "") if nodes else ""
        ends = {"head", "tail"} if kept.outcome.language == "sql" else set()
        linked = ends.intersection(node_columns(self._site, frame))
        others = {node for name in linked for node in frame[name].to_list()}
        known = self._site.kb.stores.nodes.rows({node for node in {*nodes, *others} if node is not None})
        iris = iris_of(self._site, frame) if kept.outcome.language == "sparql" else {}
        titled = titles(self._site.kb.stores, [*known, *(node for node, *_ in iris.values())])
        result = []
        for number, row in enumerate(frame.iter_rows(named=True)):
            cells = []
            for name in shown:
                value, kind, key = row[name], "", ""
                text = cell(value if name in ENDS else figure(name, value, kept.separated.get(name, LARGE)))
                if name == named and (node := nodes[number]) is not None:
                    kind, key = known[node].type, known[node].key
                    text = titled.get(node, text) if name == "name" else text
                elif name in linked and value is not None:
                    kind, key = known[value].type, known[value].key
                    text = f"{value} {titled.get(value, known[value].name or key)}"
                elif isinstance(value, str) and value in iris:
                    node, kind, key, text = iris[value]
                    text = titled.get(node, text)
                cells.append((text, links.node(kind, key) if kind else "", kind))
            result.append(cells)
        return result

    def _failed(self, request: Request, error: KbError) -> Response:
        """Return the message about a query, with the place of the error in its text."""
        answer = self._site.failed(request, error)
        text, language = _asked(request)
        line, column = _place(error, request.query_params.get("q", ""))
        read_as = "" if language else _READ_AS.get(self._results.executor().language(text), "")
        values = {"message": said(error), "line": line, "column": column, "read_as": read_as}
        return self._site.page("query_error.html", request, answer.status_code, **values)


def _answered(expression: str, kept: KeptResult) -> str:
    """Return which part of an expression with steps the answers are; nothing for others."""
    if kept.outcome.language != "answers" or kept.frame is None or not re.search(r"->|<-", expression):
        return ""
    types = kept.frame["type"].unique(maintain_order=True).to_list() if "type" in kept.frame.columns else []
    named = ", ".join(map(type_plural, types[:5]))
    where = "where the arrows of the expression meet" if "<-" in expression else "the last part of the expression"
    return f"The answers are {where}{': ' * bool(named)}{named}"


def _place(error: KbError, text: str) -> tuple[int, int]:
    """Return the line and the column of an error in a text, from 1; (0, 0) if they are unknown."""
    query = text.lstrip()  # what ran: positions count from its start, of expressions after the comments before it
    before = len(text) - len(query)
    if isinstance(error, QueryError) and error.line:
        first = before - (text.rfind("\n", 0, before) + 1)
        return error.line + text[:before].count("\n"), max(error.column, 1) + (first if error.line == 1 else 0)
    if isinstance(error, ExpressionError):
        at = min(before + len(query) - len(languages.body(query)) + error.at, len(text))
        return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    return 0, 0


def _addressed(answer: Response, request: Request, state: ResultState) -> Response:
    """Give the browser the address of a result, which the button Back leaves for the one before.

    While a person types a filter, each text replaces the one before. What a page shows when it opens has its address.
    """
    if request.headers.get("hx-trigger") == "result":
        return answer
    before = dict(parse_qsl(urlsplit(request.headers.get("hx-current-url", "")).query))
    after = dict(parse_qsl(urlsplit(state.url()).query))
    differ = {name for name in before | after if before.get(name) != after.get(name)}
    typed = all(name in before and name in after and name[0] == "f" and name[1:].isdecimal() for name in differ)
    answer.headers["HX-Replace-Url" if typed else "HX-Push-Url"] = state.url()
    return answer


def _refuse_foreign(request: Request) -> None:
    if links.is_foreign(request):
        raise HTTPException(403, "Another site led here. Open the query on the page, and run it there.")


def _asked(request: Request) -> tuple[str, str]:
    language = links.text(request, "language")
    if language not in _CHOICES:
        raise HTTPException(400, f"Unknown language. Use {', '.join(filter(None, _CHOICES))}.")
    return links.text(request, "q", _LONGEST), language
