"""Query: SQL, SPARQL, answer expressions and searches in one box, run by the executor of the shell."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections import deque
from typing import IO, TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import anyio
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from kbkit.display.bars import bars
from kbkit.display.render import cell, chunks_of, clean
from kbkit.errors import KbError, QueryError
from kbkit.executor import languages
from kbkit.executor.executor import Executor, PromptSettings, StatementOutcome
from kbkit.stores.sql_results import ResultBounds
from kbkit.stores.threads import run
from kbkit.web.explore import links
from kbkit.web.explore.site import is_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.web.explore.site import Site

_AT_ONCE = 4
"""Queries that run at the same time; others wait."""
_LONGEST = 50_000
_PAGE_BYTES = 32 * 10**6
"""Maximum size of the rows of a page."""
_FILE = ResultBounds(1_000_000, 256 * 10**6)
"""Maximum rows of a file, and their size in memory."""
_SLICE = 10_000
"""Rows that are written to a file at once."""
_CHUNK = 1 << 20
_COMPLETED = 12
_REMEMBERED = 30
_FILES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}
_CHOICES = {
    "": "Any language",
    "sql": "SQL",
    "sparql": "SPARQL",
    "answers": "Expression",
    "search": "Search",
    "ask": "Question",
}


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Query(site)

    turns = anyio.CapacityLimiter(_AT_ONCE)
    return [
        site.route("/query", screen.page),
        site.route("/query/run", screen.run, turns),
        site.route("/query/file", screen.file, turns),
        site.route("/query/why", screen.why, turns),
        site.route("/query/complete", screen.complete),
    ]


class _Query:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._history: deque[tuple[str, str]] = deque(maxlen=_REMEMBERED)

    def page(self, request: Request) -> Response:
        """Show the box. The query of the address runs, unless another site led here."""
        text, language = _asked(request)
        return self._site.page(
            "query.html",
            request,
            q=text,
            language=language,
            choices=_CHOICES,
            runs=bool(text) and not _is_foreign(request),
            history=[known for known in reversed(self._history) if known[1] != text],
            saved=self._site.kb.workspace.queries.all(),
            examples=[] if text else self._site.kb.examples(3).rows(),
        )

    def run(self, request: Request) -> Response:
        """Run a query; return its result as a part of the page."""
        text, language = _asked(request)
        if not text:
            return Response("")
        address = links.page("/query", language=language, q=text)
        if not is_part(request):  # a link led here: the page shows the query, and does not run that of another site
            return RedirectResponse(address, 303)
        try:
            answer = self._result(request, text, language)
        except KbError as error:  # its address can be kept, too
            answer = self._site.failed(request, error)
            self._remember(language, text)
        shown = parse_qs(urlsplit(request.headers.get("hx-current-url", "")).query)
        if [text] != shown.get("q"):  # else the page shows the query already
            answer.headers["HX-Push-Url"] = address
        return answer

    def file(self, request: Request) -> Response:
        """Run a query; return all its rows as a file."""
        _refuse_foreign(request)
        text, language = _asked(request)
        kind = links.text(request, "format")
        if kind not in _FILES:
            raise HTTPException(400, f"Unknown format. Use {', '.join(_FILES)}.")
        return self._file(text, language, kind)

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
        executor = self._executor()
        known = language or executor.language(text[:at])
        found = complete(text, at, self._site.vocabulary, known)[:_COMPLETED] if len(text) < _LONGEST else []
        shown = [
            {"text": one.text, "start": one.start, "display": clean(one.display or one.text), "meta": clean(one.meta)}
            for one in found
        ]
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    # -- running ------------------------------------------------------------------------------------------------------

    def _executor(self, bounds: ResultBounds | None = None) -> Executor:
        return Executor(self._site.kb, PromptSettings(timeout=self._site.limits.timeout), bounds=bounds)

    def _outcome(self, text: str, language: str, most: ResultBounds) -> tuple[StatementOutcome, Sequence[int]]:
        """Return the result, and the nodes that its rows describe, if they do.

        Of SQL and SPARQL, one row more than ``most`` is read: a result can have more rows than memory holds.
        """
        executor = self._executor(most._replace(rows=most.rows + 1))
        known = language or executor.language(text)
        if known == languages.COMMAND:
            raise KbError("Commands of the shell do not run here", "Use SQL, SPARQL, an expression or words")
        outcome = executor.timed(lambda: self._bounded(executor, text, known, most.rows + 1))
        describes = outcome.frame is not None and "id" in outcome.frame.columns
        return outcome, [int(node) for node in executor.links] if describes else []

    def _bounded(self, executor: Executor, text: str, language: str, limit: int) -> StatementOutcome:
        if language == "sql":  # with LIMIT, DuckDB does not sort all rows to find the first ones
            query = languages.without_end(text, "sql")
            with contextlib.suppress(QueryError):  # several statements, or an error whose position is that in the text
                self._site.kb.tables.check_one_query(query)
                return executor.run(f"SELECT * FROM (\n{query}\n) LIMIT {limit}", language)
        return executor.run(text, language)

    def _result(self, request: Request, text: str, language: str) -> Response:
        outcome, nodes = self._outcome(text, language, ResultBounds(self._site.limits.rows, _PAGE_BYTES))
        self._remember(outcome.language, text)
        frame, most = outcome.frame, self._site.limits.rows
        if outcome.language == "answers" and outcome.value is not None:
            text = outcome.value.expression  # of a question, what it was read as
        rows = None if frame is None else self._rows(frame.head(most), nodes[:most], outcome.language)
        return self._site.page(
            "result.html",
            request,
            q=text,
            language=outcome.language,
            seconds=outcome.seconds,
            columns=[] if frame is None else _shown(frame, outcome.language),
            numeric=[] if frame is None else [name for name, kind in frame.schema.items() if kind.is_numeric()],
            rows=rows,
            ids=nodes if outcome.language == "answers" else [],
            total=0 if frame is None else frame.height,
            many=outcome.language in ("sql", "sparql") and frame is not None and frame.height > most,
            chart=None if frame is None else bars(frame.select(_shown(frame, outcome.language))),
            forms=_forms(outcome, text),
            files=list(_FILES),
            note=outcome.note,
        )

    def _remember(self, language: str, text: str) -> None:
        entry = (language, text)
        if entry in self._history:
            self._history.remove(entry)
        self._history.append(entry)

    def _file(self, text: str, language: str, kind: str) -> Response:
        outcome, _ = self._outcome(text, language, _FILE)
        frame = outcome.frame
        if frame is None:
            raise KbError("The statement has no rows to save")
        if frame.height > _FILE.rows:
            hint = f"Use LIMIT, or save it with kbkit {outcome.language} KB QUERY -o FILE"
            raise KbError(f"The result has more than {_FILE.rows:,} rows", hint)
        file = _written(frame, kind)
        headers = {
            "Content-Disposition": f'attachment; filename="result.{kind}"',
            "Content-Length": str(file.seek(0, os.SEEK_END)),
            "Cache-Control": "no-store",
        }
        file.seek(0)
        chunks = iter(lambda: file.read(_CHUNK), b"")
        return StreamingResponse(
            chunks, media_type=_FILES[kind], headers=headers, background=BackgroundTask(file.close)
        )

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _rows(self, frame: pl.DataFrame, nodes: Sequence[int], language: str) -> list[list[tuple[str, str, str]]]:
        """Return each value as (text, address of its node or nothing, type of the node).

        ``nodes`` are the nodes that the rows describe, if they do.
        """
        shown = _shown(frame, language)
        named = next((name for name in ("name", "key", "id") if name in shown), "") if nodes else ""
        known = self._site.kb.stores.nodes.rows(list(set(nodes)))
        iris = self._iris(frame) if language == "sparql" else {}
        result = []
        for number, row in enumerate(frame.iter_rows(named=True)):
            cells = []
            for name in shown:
                value, text, kind, key = row[name], cell(row[name]), "", ""
                if name == named:
                    kind, key = known[nodes[number]].type, known[nodes[number]].key
                elif isinstance(value, str) and value in iris:
                    kind, key, text = iris[value]
                cells.append((text, links.node(kind, key) if kind else "", kind))
            result.append(cells)
        return result

    def _iris(self, frame: pl.DataFrame) -> dict[str, tuple[str, str, str]]:
        """Return (type, key, name) of the nodes whose IRIs are among the values."""
        import polars as pl

        columns = frame.select(pl.col(pl.String))
        iris = sorted({value for column in columns.iter_columns() for value in column if value and ":" in value})
        if not iris:
            return {}
        ids, _ = self._site.kb.stores.nodes.by_iri(iris)
        rows = self._site.kb.stores.nodes.rows(ids.tolist()).values()
        return {self._site.kb.schema.node_iri(row.type, row.key): (row.type, row.key, row.name) for row in rows}


def _written(frame: pl.DataFrame, kind: str) -> IO[bytes]:
    """Return a temporary file with all rows, so that a slow reader holds no memory."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    stopped = threading.Event()

    def write_slices() -> None:
        for chunk in chunks_of(frame, kind, _SLICE):
            if stopped.is_set():
                return
            file.write(chunk)

    run(write_slices, stopped.set)
    return file


def _is_foreign(request: Request) -> bool:
    """Whether a link of another site leads here."""
    return request.headers.get("sec-fetch-site") in ("cross-site", "same-site")


def _refuse_foreign(request: Request) -> None:
    if _is_foreign(request):
        raise HTTPException(403, "Another site led here. Open the query on the page, and run it there.")


def _asked(request: Request) -> tuple[str, str]:
    language = links.text(request, "language")
    if language not in _CHOICES:
        raise HTTPException(400, f"Unknown language. Use {', '.join(filter(None, _CHOICES))}.")
    return links.text(request, "q", _LONGEST), language


def _shown(frame: pl.DataFrame, language: str) -> list[str]:
    """Return the columns that a person sees."""
    hidden = {"answers": ("id",), "search": ("id", "why", "linked")}.get(language, ())
    return [name for name in frame.columns if name not in hidden]


def _forms(outcome: StatementOutcome, text: str) -> dict[str, str]:
    """Return the query in other languages."""
    quoted = f'"""{text}"""' if "\n" in text or '"' in text else f'"{text}"'
    if '"""' in text or "\\" in text or text.endswith('"'):
        quoted = repr(text)
    method = outcome.language
    forms = {"Python": f"kb.{method}({quoted})"}
    if method == "answers":
        for name, compiled in (("SQL", "sql"), ("SPARQL", "sparql")):
            try:
                forms[name] = getattr(outcome.value, compiled)
            except KbError as error:
                forms[name] = str(error)
    return forms
