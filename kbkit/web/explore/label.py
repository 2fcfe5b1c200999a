"""Label: queries that people write, and their grades of the pooled hits."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from kbkit.benchmarks.people.labels import GRADES, LONGEST, Labels, PoolNode
from kbkit.errors import KbError
from kbkit.measures.files import write_gold
from kbkit.web.explore import links
from kbkit.web.explore.site import is_part, said, status_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.benchmarks.people.judgements import Judgement
    from kbkit.web.explore.site import Site

_PATH = "/label"
_FILES = {"qrels": "text/plain", "jsonl": "application/x-ndjson", "csv": "text/csv"}
_DEPTHS = (10, 20, 50)
"""Hits of each retriever that are pooled."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Label(site)
    return [
        site.route(_PATH, screen.queries),
        site.route(_PATH, screen.write, method="POST"),
        site.route("/label/draw", screen.draw),
        site.route("/label/file", screen.file),
        site.route("/label/disagreements", screen.disagreements),
        site.route("/label/disagreements", screen.decide, method="POST"),
        site.route("/label/{number}", screen.query),
        site.route("/label/{number}", screen.grade, method="POST"),
    ]


class _Label:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._labels = Labels(site.kb)

    def queries(self, request: Request) -> Response:
        """Show all queries with their progress, and the form for a new one."""
        given = {name: links.text(request, name) for name in ("annotator", "node", "q", "note")}
        return self._form(request, {**given, "k": _DEPTHS[0]}, None)

    def _form(self, request: Request, given: dict[str, Any], problem: KbError | None) -> Response:
        kb = self._site.kb
        row = None
        if given["node"]:
            row = kb.stores.nodes.row(kb.find(given["node"]))
        return self._site.page(
            "label.html",
            request,
            status_of(problem) if problem else 200,
            **given,
            row=row,
            problem=said(problem),
            progress=self._progress(),
            agreement=self._labels.agreement().rows(named=True),
            apart=[one.decision is not None for one in self._labels.disagreements()],
            depths=_DEPTHS,
            longest=LONGEST,
        )

    def _progress(self) -> dict[str, list[dict[str, Any]]]:
        """Return the progress of all annotators by query."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._labels.progress().iter_rows(named=True):
            found.setdefault(row["query"], []).append(row)
        return found

    def draw(self, request: Request) -> Response:
        """Draw a node to write a query for."""
        node = self._labels.draw(secrets.randbelow(2**31))
        typed = {name: links.text(request, name) for name in ("annotator", "q", "note")}
        address = links.page(_PATH, node=node, **typed)
        return RedirectResponse(address, 303, {"Cache-Control": "no-store"})

    def write(self, request: Request) -> Response:
        """Save a new query, and lead to its hits."""
        form = request.state.form
        given = {name: form.get(name, "").strip() for name in ("q", "annotator", "node", "note")}
        depth = form.get("k", "")
        k = int(depth) if depth in map(str, _DEPTHS) else _DEPTHS[0]
        asked = (" ".join(given["q"].split()), given["annotator"], given["node"])
        known = (one for one in self._labels.queries() if (one.text, one.annotator, one.node) == asked)
        if (same := next(known, None)) is not None:  # sent twice, or forgotten
            return RedirectResponse(links.page(f"{_PATH}/{same.id}", annotator=given["annotator"]), 303)
        try:
            query = self._labels.write(given["q"], given["annotator"], given["node"], given["note"], k)
        except KbError as error:  # with the form, where it can be mended
            return self._form(request, {**given, "k": k}, error)
        return RedirectResponse(links.page(f"{_PATH}/{query.id}", annotator=given["annotator"]), 303)

    def query(self, request: Request) -> Response:
        """Show the hits of a query with an annotator's grades."""
        query = self._labels.query(request.path_params["number"])
        annotator = links.text(request, "annotator")
        grades = self._labels.grades(annotator) if annotator else {}
        found = [self._shown(one, grades.get((query.id, one.reference))) for one in self._labels.candidates(query)]
        self._site.describe(found, "text")
        return self._site.page(
            "label_query.html",
            request,
            query=query,
            annotator=annotator,
            found=found,
            graded=sum(one["grade"] is not None for one in found),
            agreement=self._labels.agreement(query.id).rows(named=True),
            grades=GRADES,
        )

    def grade(self, request: Request) -> Response:
        """Save a grade; return the hit as a part of the page."""
        form = request.state.form
        number, annotator, node = request.path_params["number"], form.get("annotator", ""), form.get("node", "")
        given = form.get("grade", "")
        if given not in ("", *map(str, GRADES)):
            raise HTTPException(400, f"Unknown grade. Use {', '.join(map(str, GRADES))}.")
        note, problem = form.get("note", ""), None
        try:
            self._labels.grade(number, node, int(given) if given else None, annotator, note)
        except KbError as error:
            if not is_part(request) or node not in self._labels.query(number).pool:
                raise
            problem = error
        if not is_part(request):
            return RedirectResponse(links.page(f"{_PATH}/{number}", annotator=annotator), 303)
        query = self._labels.query(number)
        [one] = [one for one in self._labels.candidates(query) if one.reference == node]
        known = None if problem else self._labels.grades(annotator).get((number, node))
        shown = self._shown(one, known)
        self._site.describe([shown], "text")
        return self._site.page(
            "label_hit.html",
            request,
            status_of(problem) if problem else 200,
            query=query,
            annotator=annotator,
            agreement=self._labels.agreement(number).rows(named=True),
            hit={**shown, "problem": said(problem)} | ({"note": note} if problem else {}),
            grades=GRADES,
        )

    def disagreements(self, request: Request) -> Response:
        """Show the nodes that annotators graded differently, to decide."""
        who = links.text(request, "who")
        found = self._labels.disagreements()
        return self._site.page("label_apart.html", request, who=who, found=found, grades=GRADES)

    def decide(self, request: Request) -> Response:
        """Save a decision, and return to the list."""
        form = request.state.form
        given, who = form.get("grade", ""), form.get("who", "")
        if given not in ("", *map(str, GRADES)):
            raise HTTPException(400, f"Unknown grade. Use {', '.join(map(str, GRADES))}.")
        self._labels.decide(
            form.get("query", ""), form.get("node", ""), int(given) if given else None, who, form.get("note", "")
        )
        return RedirectResponse(links.page("/label/disagreements", who=who), 303)

    def file(self, request: Request) -> Response:
        """Return all grades as a file: judgements for TREC's programs or with the texts, or a table with the notes."""
        kind = links.text(request, "format")
        if kind not in _FILES:
            raise HTTPException(400, f"Unknown format. Use {', '.join(_FILES)}.")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"labels.{kind}"
            if kind == "csv":
                self._labels.table().write_csv(path)
            else:
                write_gold(self._labels.gold(), path)
            content = path.read_bytes()
        headers = {"Content-Disposition": f'attachment; filename="labels.{kind}"', "Cache-Control": "no-store"}
        return Response(content, media_type=_FILES[kind], headers=headers)

    def _shown(self, one: PoolNode, given: Judgement | None) -> dict[str, Any]:
        """Return a hit as the template shows it."""
        known = {"grade": given.mark, "note": given.note} if given else {"grade": None, "note": ""}
        return {**one._asdict(), **known, "problem": ""}
