"""Label: queries that people write, and their grades of the pooled hits."""

from __future__ import annotations

import re
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from kbkit.answers.parse import parse
from kbkit.answers.syntax_tree import Path as AnswerPath
from kbkit.benchmarks.people.labels import GRADES, LONGEST, Labels
from kbkit.benchmarks.people.pools import MOST_ANSWERS, LabelledQuery, PoolNode
from kbkit.english.types import type_plural
from kbkit.errors import KbError
from kbkit.measures.files import write_gold
from kbkit.web.explore import disagreements, links
from kbkit.web.explore.disagreements import ANNOTATOR, YEAR, annotator_of, given_of, grade_of
from kbkit.web.explore.reading import first_type
from kbkit.web.explore.site import is_part, said, status_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.benchmarks.people.judgements import Judgement
    from kbkit.web.explore.site import Site

_PATH = "/label"
_FILES = {
    "qrels": "text/plain",
    "tsv": "text/tab-separated-values",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
}
_DEPTHS = (10, 20, 50)
"""Hits of each retriever that are pooled."""
_MOST_QUERIES = 200
"""Queries that are saved at once."""
_TYPE = "kbkit_answers"
"""The cookie with the type of the answers of the last query."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Label(site)
    return [
        *disagreements.routes(site),
        site.route(_PATH, screen.queries),
        site.route(_PATH, screen.write, method="POST"),
        site.route("/label/many", screen.write_many, method="POST"),
        site.route("/label/draw", screen.draw),
        site.route("/label/file", screen.file),
        site.route("/label/{number}", screen.query),
        site.route("/label/{number}", screen.grade, method="POST"),
        site.route("/label/{number}/add", screen.add, method="POST"),
        site.route("/label/{number}/rest", screen.rest, method="POST"),
        site.route("/label/{number}/undo", screen.undo, method="POST"),
        site.route("/label/{number}/edit", screen.edit, method="POST"),
        site.route("/label/{number}/delete", screen.delete, method="POST"),
    ]


class _Label:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._labels = Labels(site.kb)

    def queries(self, request: Request) -> Response:
        """Show all queries with their progress, and the form for a new one."""
        given = {name: links.text(request, name) for name in ("node", "q", "note", "type", "answers")}
        problem = None
        try:
            kind = self._type(given["answers"])
        except KbError as error:  # with the form, where it can be mended
            kind, problem, given["answers"] = "", error, ""
        if "type" not in request.query_params:
            given["type"] = kind or unquote(request.cookies.get(_TYPE, ""))
        who = annotator_of(request)
        page = self._form(request, {**given, "annotator": who, "k": _DEPTHS[0]}, problem)
        return page if links.is_foreign(request) else _remembered(page, who)

    def _type(self, expression: str) -> str:
        """Return the type of the answers of an expression, if they have one."""
        if not expression:
            return ""
        types = {node.partition("#")[0] for node in self._answers(expression)[0]}
        return types.pop() if len(types) == 1 else ""

    def _answers(self, expression: str) -> tuple[list[str], int]:
        """Return the first answers of an expression, and how many there are; none of no expression.

        Raises :class:`KbError` for one that reads as if its last part were the answers, but leads to its first.
        """
        if not expression:
            return [], 0
        path = parse(expression)
        if isinstance(path, AnswerPath) and set(path.arrows) == {"<-"}:
            found, _ = self._labels.answers(expression)
            named = ", ".join(type_plural(kind) for kind in dict.fromkeys(node.partition("#")[0] for node in found))
            raise KbError(
                f"The arrows lead to the first part of the expression: its answers are {named or 'none'}",
                f"For those of the last part: {expression.replace('<-', '->')}",
            )
        return self._labels.answers(expression)

    def _form(self, request: Request, given: dict[str, Any], problem: KbError | None, many: str = "") -> Response:
        row = None
        if given["node"]:
            node = self._labels.pool_node(given["node"])
            row = node._asdict()
            self._site.describe([row], "text", "")
        return self._site.page(
            "label.html",
            request,
            status_of(problem) if problem else 200,
            **given,
            row=row,
            many=many,
            problem=said(problem),
            progress=self._progress(),
            agreement=self._labels.agreement().rows(named=True),
            open=self._labels.next_open(given["annotator"]) if given["annotator"] else None,
            apart=[one.decision is not None for one in self._labels.disagreements()],
            incomplete=self._labels.incomplete(),
            saved=links.number(request, "saved", 0, 0, _MOST_QUERIES),
            depths=_DEPTHS,
            types=self._types(),
            longest=LONGEST,
            most=(_MOST_QUERIES, MOST_ANSWERS),
        )

    def _types(self) -> list[str]:
        return [kind.name for kind in self._site.kb.schema.node_types if kind.members]

    def _progress(self) -> dict[str, list[dict[str, Any]]]:
        """Return the progress of all annotators by query."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._labels.progress().iter_rows(named=True):
            found.setdefault(row["query"], []).append(row)
        return found

    def draw(self, request: Request) -> Response:
        """Draw a node to write a query for."""
        node = self._labels.draw(secrets.randbelow(2**31), links.text(request, "type"))
        typed = {name: links.text(request, name) for name in ("annotator", "q", "note", "type", "answers")}
        typed["type"] = typed["type"] or node.partition("#")[0]
        return RedirectResponse(links.page(_PATH, node=node, **typed), 303, {"Cache-Control": "no-store"})

    def write(self, request: Request) -> Response:
        """Save a new query, and lead to its hits."""
        given = _given(request.state.form)
        try:
            nodes, count = self._answers(given["answers"])
            known = self._known(given["q"], given)
            query = self._labels.add(known.id, nodes) if known else self._labels.write(
                given["q"], given["annotator"], given["node"], given["note"], given["k"], given["type"], nodes
            )  # fmt: skip
        except KbError as error:  # with the form, where it can be mended
            return self._form(request, given, error)
        return _remembered(_to_query(query.id, count), given["annotator"], given["type"])

    def _known(self, text: str, given: dict[str, Any]) -> LabelledQuery | None:
        """Return the same query, if the annotator wrote it before: it was sent twice, or forgotten."""
        asked = (" ".join(text.split()), given["annotator"], given["node"], given["type"])
        same = (one for one in self._labels.queries() if (one.text, one.annotator, one.node, one.type) == asked)
        return next(same, None)

    def write_many(self, request: Request) -> Response:
        """Save a query for each line, without those that the annotator wrote before."""
        form = request.state.form
        given = {**_given(form), "node": "", "answers": ""}
        lines = [line.strip() for line in form.get("queries", "").splitlines() if line.strip()]
        problems: dict[str, KbError] = {}
        types = self._types()
        before = len(self._labels.queries())
        if not given["annotator"]:
            return self._form(request, given, KbError("Write your name as the annotator"), "\n".join(lines))
        if not lines:
            problems[""] = KbError("There are no queries", "Write one per line")
        elif len(lines) > _MOST_QUERIES:
            hint = f"Send at most {_MOST_QUERIES} at once"
            return self._form(request, given, KbError(f"{len(lines)} queries are too many", hint), "\n".join(lines))
        for number, line in enumerate(lines, 1):
            try:
                *texts, kind = re.split(r"\t|\s\|\s", line)
                text = line.removesuffix(kind).rstrip("\t |")
                if not texts:
                    text, kind = line, given["type"]
                elif kind not in types:
                    named = f"Line {number}, {text!r}: unknown type {kind!r}"
                    raise KbError(named, f"The types are {', '.join(types)}")
                if self._known(text, {**given, "type": kind}) is None:
                    self._labels.write(text, given["annotator"], "", given["note"], given["k"], kind)
            except KbError as error:
                problems[line] = error
        if problems:  # with the lines that were not saved, where they can be mended
            first = next(iter(problems.values()))
            return self._form(request, given, first, "\n".join(problems))
        saved = len(self._labels.queries()) - before
        return _remembered(RedirectResponse(links.page(_PATH, saved=saved), 303), given["annotator"], given["type"])

    def query(self, request: Request) -> Response:
        """Show the hits of a query with an annotator's grades."""
        return self._query(request, annotator_of(request), {}, None)

    def _query(self, request: Request, annotator: str, given: dict[str, str], problem: KbError | None) -> Response:
        """Show a query. What was ``given`` in one of the forms, whose problem is shown, can be mended there."""
        query = self._labels.query(request.path_params["number"])
        grades = self._labels.grades(annotator) if annotator else {}
        found = [self._shown(one, grades.get((query.id, one.reference))) for one in self._labels.candidates(query)]
        self._site.describe(found, "text", self._labels.asked(query))
        answers, added = links.number(request, "answers", 0, 0, 2**31), self._labels.last_added(query.id)
        for one in found:
            one["added"] = bool(answers) and one["reference"] in added
        own = [one for one in self._labels.progress().iter_rows(named=True) if one["query"] == query.id]
        page = self._site.page(
            "label_query.html",
            request,
            status_of(problem) if problem else 200,
            query=query,
            annotator=annotator,
            given=given,
            problem=said(problem),
            found=found,
            graded=sum(one["grade"] is not None for one in found),
            lost=sum(one["graded"] for one in own),
            agreement=self._labels.agreement(query.id).rows(named=True),
            grades=GRADES,
            longest=LONGEST,
            most=MOST_ANSWERS,
            types=self._types(),
            reading=self._labels.reading(query),
            named_type="" if any(one["grade"] is not None for one in found) else self._named_type(query),
            answers=answers,
            added=added,
            open=self._labels.next_open(annotator, query.id) if annotator else None,
        )
        return page if links.is_foreign(request) else _remembered(page, annotator)

    def _named_type(self, query: LabelledQuery) -> str:
        """Return the type that a query for answers of any type names before all else; "" for none."""
        if query.type or not self._site.kb.has("adjacency"):
            return ""
        return first_type(self._site.kb.ask(query.text))

    def add(self, request: Request) -> Response:
        """Add a node or the answers of an expression to the pool."""
        form, number = request.state.form, request.path_params["number"]
        given = {name: form.get(name, "").strip() for name in ("node", "answers")}
        try:
            if not any(given.values()):
                raise KbError("Nothing to add", "Name a node, or write an expression")
            nodes, count = self._answers(given["answers"])
            query = self._labels.query(number)
            if given["answers"] == query.reading and (reading := self._labels.reading(query)):
                nodes, count = reading.missing, reading.total  # of the type of the query
            if given["node"]:
                row = self._site.kb.stores.nodes.row(self._site.kb.find(given["node"]))
                nodes.append(f"{row.type}#{row.key}")
            self._labels.add(number, nodes)
        except KbError as error:
            return self._query(request, form.get("annotator", ""), given, error)
        return _to_query(number, count + bool(given["node"]))

    def rest(self, request: Request) -> Response:
        """Grade the hits that an annotator has not graded, or those of them that answer the reading of the query."""
        form, number = request.state.form, request.path_params["number"]
        annotator, given = form.get("annotator", ""), grade_of(form)
        if given is None:
            raise HTTPException(400, "No grade is chosen.")
        read = self._labels.read_answers(self._labels.query(number)) if form.get("of") == "reading" else None
        self._labels.grade_rest(number, given, annotator, read)
        return _remembered(_to_query(number), annotator)

    def undo(self, request: Request) -> Response:
        """Take back the nodes that were added last."""
        self._labels.undo(request.path_params["number"])
        return _to_query(request.path_params["number"])

    def edit(self, request: Request) -> Response:
        """Change the text, the note and the type of the answers of a query."""
        form, number = request.state.form, request.path_params["number"]
        given = {name: form[name] for name in ("q", "note", "type") if name in form}
        try:
            self._labels.edit(number, given.get("q", ""), given.get("note", ""), _depth(form), given.get("type"))
        except KbError as error:
            return self._query(request, form.get("annotator", ""), given, error)
        return _to_query(number)

    def delete(self, request: Request) -> Response:
        """Delete a query, whose page asked whether to."""
        self._labels.delete(request.path_params["number"])
        return RedirectResponse(_PATH, 303)

    def grade(self, request: Request) -> Response:
        """Save a grade or a note; return the hit as a part of the page, or that the note is saved."""
        form = request.state.form
        number, annotator, node = request.path_params["number"], form.get("annotator", ""), form.get("node", "")
        given, problem = given_of(form), None
        try:
            self._labels.give(number, node, annotator, given)
        except KbError as error:
            if not is_part(request) or "mark" not in given or node not in self._labels.query(number).pool:
                raise
            problem = error
        if not is_part(request):
            return _remembered(_to_query(number), annotator)
        if "mark" not in given:
            return self._site.page("noted.html", request)
        query = self._labels.query(number)
        [one] = [one for one in self._labels.candidates(query) if one.reference == node]
        known = None if problem else self._labels.grades(annotator).get((number, node))
        shown = self._shown(one, known)
        self._site.describe([shown], "text", self._labels.asked(query))
        return self._site.page(
            "label_hit.html",
            request,
            status_of(problem) if problem else 200,
            query=query,
            annotator=annotator,
            agreement=self._labels.agreement(number).rows(named=True),
            hit={**shown, "problem": said(problem)} | ({"note": given.get("note", "")} if problem else {}),
            grades=GRADES,
        )

    def file(self, request: Request) -> Response:
        """Return all grades as a file: judgements for TREC's programs or with the texts, or a table with the notes."""
        kind = links.text(request, "format")
        if kind not in _FILES:
            raise HTTPException(400, f"Unknown format. Use {', '.join(_FILES)}.")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"labels.{kind}"
            if kind == "csv":
                self._labels.table().write_csv(path)
            elif kind == "tsv":
                self._labels.gold().queries.write_csv(path, include_header=False, separator="\t", quote_style="never")
            else:
                write_gold(self._labels.gold(), path)
            content = path.read_bytes()
        words = "queries" if kind == "tsv" else "labels"
        return Response(content, media_type=_FILES[kind], headers=self._site.attachment(kind, words))

    def _shown(self, one: PoolNode, given: Judgement | None) -> dict[str, Any]:
        """Return a hit as the template shows it."""
        known = {"grade": given.mark, "note": given.note} if given else {"grade": None, "note": ""}
        return {**one._asdict(), **known, "problem": "", "added": False}


def _given(form: dict[str, str]) -> dict[str, Any]:
    """Return the fields of the form for a new query."""
    names = ("q", "annotator", "node", "note", "type", "answers")
    return {**{name: form.get(name, "").strip() for name in names}, "k": _depth(form)}


def _depth(form: dict[str, str]) -> int:
    depth = form.get("k", "")
    return int(depth) if depth in map(str, _DEPTHS) else _DEPTHS[0]


def _to_query(number: str, answers: int = 0) -> Response:
    """Lead to a query, whose page tells how many of the ``answers`` of an expression were added."""
    return RedirectResponse(links.page(f"{_PATH}/{number}", answers=answers or None), 303)


def _remembered(answer: Response, annotator: str, type: str | None = None) -> Response:  # noqa: A002
    """Let the browser remember the annotator, and the type of the answers (None: as before)."""
    given = {ANNOTATOR: annotator or None, _TYPE: type}
    for name, value in given.items():
        if value is not None:
            answer.set_cookie(name, quote(value), YEAR, httponly=True, samesite="lax")
    return answer
