"""Check: data that may be wrong, each finding with a link to the query that lists its rows; similar nodes; files."""

from __future__ import annotations

import contextlib
import re
import threading
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from kbkit.benchmarks.people.data_review import DECISIONS, DataReview
from kbkit.display.render import cell
from kbkit.display.reports import PageSection, ReportPage
from kbkit.english.headings import figure
from kbkit.errors import KbError, plural
from kbkit.graph.nodes import degrees_of_all
from kbkit.graph.suspicions import KINDS
from kbkit.graph.suspicious_nodes import LISTED, suspicious_nodes
from kbkit.web.explore import links
from kbkit.web.explore.site import is_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.web.explore.site import Site

_ROWS = 20
"""Rows of a finding in a report."""
_JUDGED, _TOLD = 100, 3
"""Rows of a finding that can be judged one by one, and columns that are shown of each."""
_PAIR = ("type", "key", "other_key")
"""The columns that name a pair."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Check(site)
    return [
        site.route("/check", screen.page),
        site.route("/check/duplicates", screen.duplicates),
        site.route("/check/duplicates", screen.decide, method="POST"),
        site.route("/check/file", screen.file),
        site.route("/check/report", screen.report, method="POST"),
        site.route("/check/chosen", screen.choose, method="POST"),
        site.route("/check/rows", screen.rows),
        site.route("/check/rows", screen.judge, method="POST"),
    ]


class _Check:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._review = DataReview(site.kb.workspace.folder / "check")
        self._comparing = threading.Lock()
        self._compared: pl.DataFrame | None = None

    def page(self, request: Request) -> Response:
        """Show the findings by kind; pairs of nodes, which take seconds, are compared meanwhile."""
        threading.Thread(target=self._compare, daemon=True).start()
        return self._site.page(
            "check.html",
            request,
            kinds=KINDS,
            found=self._found,
            total=sum(map(len, self._found.values())),
            saved=self._saved(),
            listed=LISTED,
            notes=self._review.findings(),
            count=self._chosen(),
            about=self._review.about,
            judged=self._judged(),
        )

    def choose(self, request: Request) -> Response:
        """Save whether a finding is chosen, with its note, or the note on all."""
        form = request.state.form
        if "about" in form:
            self._review.about = form["about"]
        for at, one in self._all():
            if f"note{at}" in form:
                self._review.choose(_name(one), form[f"note{at}"], chosen=f"pick{at}" in form)
        return self._site.page("chosen.html", request, count=self._chosen())

    def rows(self, request: Request) -> Response:
        """Return the first rows of a finding with what a person judged of them, as a part of the page."""
        at, one = self._finding(links.text(request, "of"))
        frame = self._site.kb.sql(f"SELECT * FROM ({one['sql']}) LIMIT {_JUDGED}")
        given, nodes = self._review.findings(), self._site.kb.stores.nodes.rows(frame["id"].to_list())
        told = [name for name in frame.columns if name not in ("id", "name", "key")][:_TOLD]
        rows = []
        for values in frame.iter_rows(named=True):
            node = nodes[values["id"]]
            known = given.get((*_stem(one), f"{node.type}#{node.key}"))
            rows.append((node, [cell(figure(name, values[name])) for name in told], known))
        numeric = [name for name in told if frame.schema[name].is_numeric()]
        return self._site.page(
            "check_rows.html", request, of=at, one=one, rows=rows, told=told, numeric=numeric, most=_JUDGED
        )

    def judge(self, request: Request) -> Response:
        """Save whether a row of a finding is fine, with its note."""
        form = request.state.form
        at, (_, one) = form.get("at", ""), self._finding(form.get("of", ""))
        self._site.kb.find(form.get("row", ""))
        name = (*_stem(one), form["row"])
        self._review.choose(name, form.get(f"note{at}", ""), chosen=f"pick{at}" in form)
        return self._site.page("noted.html", request)

    def _finding(self, at: str) -> tuple[str, dict[str, Any]]:
        """Return a finding by what names it in forms. Raises :class:`HTTPException` if there is none."""
        found = next(((name, one) for name, one in self._all() if name == at and one["kind"] != "query"), None)
        if found is None:
            raise HTTPException(404, "There is no such finding.")
        return found

    def _chosen(self) -> int:
        """Return how many findings are chosen."""
        notes = self._review.findings()
        return sum(_name(one) in notes and bool(notes[_name(one)].mark) for _, one in self._all())

    def _all(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the findings in the order of the page, with what names them in its forms."""
        return [*((str(at), one) for at, one in enumerate(self._every)), *self._saved()]

    def _saved(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the SQL queries that a person saved, as findings of that person."""
        queries = [one for one in self._site.kb.workspace.queries.all() if one.language == "sql"]
        return [
            (
                f"q{zlib.crc32(one.name.encode()):x}",
                {"kind": "query", "type": "", "part": "", "finding": one.name, "number": 0, "sql": one.statement},
            )
            for one in queries
        ]

    def duplicates(self, request: Request) -> Response:
        """Show pairs of nodes that may be the same, of all types or of one."""
        kind = links.text(request, "type")
        if not is_part(request):
            return self._site.page("duplicates.html", request, type=kind)
        return self._site.page(
            "duplicates_table.html",
            request,
            type=kind,
            counts=self._pairs["type"].value_counts().sort("count", "type", descending=[True, False]).rows(),
            total=self._pairs.height,
            pairs=self._shown(self._pairs_of(kind)),
            decisions=DECISIONS,
        )

    def decide(self, request: Request) -> Response:
        """Save a decision on a pair; return its row of the table, or lead to the list."""
        form = request.state.form
        if "rest" in form:
            return self._decide_rest(form["rest"], form.get("type", ""))
        given, pair = form.get("decision", ""), tuple(form.get(name, "") for name in _PAIR)
        row = self._pairs.filter(pl.concat_list(_PAIR) == pl.lit(list(pair), pl.List(pl.String)))
        if given not in ("", *DECISIONS) or row.is_empty():
            raise HTTPException(400, f"Choose a pair of the page, and {' or '.join(DECISIONS)}.")
        self._review.decide([pair], given or None)
        if not is_part(request):
            return RedirectResponse("/check/duplicates", 303)
        [one] = self._shown(row)
        return self._site.page("duplicates_decided.html", request, one=one, decisions=DECISIONS)

    def _decide_rest(self, given: str, kind: str) -> Response:
        """Save one decision on all pairs of a type ("": of all) that have none, and lead to the list."""
        if given not in DECISIONS:
            raise HTTPException(400, f"Choose {' or '.join(DECISIONS)}.")
        decided = self._review.pairs()
        left = [pair for pair in self._pairs_of(kind).select(_PAIR).iter_rows() if pair not in decided]
        self._review.decide(left, given)
        return RedirectResponse(links.page("/check/duplicates", type=kind), 303)

    def _shown(self, pairs: pl.DataFrame) -> list[dict[str, Any]]:
        """Return pairs with their decisions, and what their nodes link to: it may be all there is to judge."""
        rows, decided = pairs.to_dicts(), self._review.pairs()
        nodes = [{"id": row[name], "name": ""} for row in rows for name in ("id", "other_id")]
        self._site.describe(nodes, "text")
        degrees = self._site.kb.stores.shared(degrees_of_all)
        for row, one, other in zip(rows, nodes[::2], nodes[1::2], strict=True):
            row["decision"] = decided.get(tuple(row[name] for name in _PAIR))
            row["sides"] = [(side["glimpse"], int(degrees[side["id"]])) for side in (one, other)]
        return rows

    def file(self, request: Request) -> Response:
        """Return the findings, their nodes or the pairs of similar nodes as CSV."""
        tables: dict[str, Callable[[], pl.DataFrame]] = {
            "findings": self._noted,
            "nodes": self._nodes,
            "duplicates": lambda: self._decided(self._pairs_of(links.text(request, "type"))),
        }
        kind = links.text(request, "of")
        if kind not in tables:
            raise HTTPException(400, f"Unknown list. Use {', '.join(tables)}.")
        return Response(
            tables[kind]().write_csv(), media_type="text/csv", headers=self._site.attachment("csv", "check", kind)
        )

    def _noted(self) -> pl.DataFrame:
        """Return the findings with what a person chose and noted."""
        given = self._review.findings()
        known = [given.get(_name(one)) for one in self._site.kb.suspicions().iter_rows(named=True)]
        return self._site.kb.suspicions().with_columns(
            chosen=pl.Series([bool(one and one.mark) for one in known], dtype=pl.Boolean),
            note=pl.Series([one.note or None if one else None for one in known], dtype=pl.String),
        )

    def _nodes(self) -> pl.DataFrame:
        """Return the nodes of all findings with what a person judged of them."""
        frame = suspicious_nodes(self._site.kb.stores, self._site.kb.suspicions())
        given = self._review.findings()
        rows = frame.iter_rows(named=True)
        no_type = {"contradiction": {"type": ""}}  # it is of several types
        known = [given.get((*_stem(row | no_type.get(row["kind"], {})), f"{row['type']}#{row['key']}")) for row in rows]
        return frame.with_columns(
            fine=pl.Series([bool(one and one.mark) for one in known], dtype=pl.Boolean),
            note=pl.Series([one.note or None if one else None for one in known], dtype=pl.String),
        )

    def _judged(self) -> dict[str, str]:
        """Return how many rows of findings are judged, in words, by what names the findings in forms."""
        given = self._review.findings()
        stems: dict[tuple[str, ...], list[bool]] = {}
        for name, known in given.items():
            if known.mark or known.note:
                stems.setdefault(name[:-1], []).append(bool(known.mark))
        found = ((at, stems.get(_stem(one), [])) for at, one in self._all() if one["kind"] != "query")
        return {
            at: ", ".join(
                f"{count} {word}" for count, word in ((sum(own), "fine"), (len(own) - sum(own), "with a note")) if count
            )
            for at, own in found
            if own
        }

    def report(self, request: Request) -> Response:
        """Return the findings that a person chose with their notes, their first rows and queries, as one file."""
        form = request.state.form
        chosen = [(at, one) for at, one in self._all() if f"pick{at}" in form]
        if not chosen:
            raise HTTPException(400, "No finding is chosen. Tick some on the page.")
        sections = [self._section(one, form.get(f"note{at}", "").strip()) for at, one in chosen]
        about = form.get("about", "").strip()
        page = ReportPage("Findings in the data", [*([about] if about else []), self._site.source()], sections)
        headers = self._site.attachment("md", "check", "report")
        return Response(page.to_markdown().encode("utf-8", "replace"), media_type="text/markdown", headers=headers)

    def _section(self, one: dict[str, Any], note: str) -> PageSection:
        """Return a finding with a note, its first rows, and the query of all."""
        heading = ": ".join(part for part in (one["type"], one["part"], one["finding"]) if part)
        given = {name[-1]: known for name, known in self._review.findings().items() if name[:-1] == _stem(one)}
        fine = [self._site.kb.find(node) for node, known in given.items() if known.mark]
        try:
            rows = self._site.kb.sql(f"SELECT * FROM (\n{one['sql'].rstrip('; ')}\n) LIMIT {_ROWS + len(fine)}")
        except KbError as error:  # of a saved query
            return PageSection(heading, "\n\n".join(filter(None, (note, error.message))), pl.DataFrame())
        if given:
            nodes = self._site.kb.stores.nodes.rows(rows["id"].to_list())
            notes = {node: given.get(f"{row.type}#{row.key}") for node, row in nodes.items()}
            rows = rows.filter(~rows["id"].is_in(fine)).head(_ROWS)
            rows = rows.with_columns(
                note=pl.Series([known.note if (known := notes[node]) else "" for node in rows["id"]], dtype=pl.String)
            )
            note = "\n\n".join(
                filter(None, (note, f"{plural(len(fine), 'row')} judged fine left out." if fine else ""))
            )
        cells = {name: [cell(value) for value in rows[name].to_list()] for name in rows.columns}
        if one["kind"] != "query":  # numbers of nodes say nothing outside this KB
            keys = self._site.kb.stores.nodes.rows(rows["id"].to_list())
            cells = {"key": [keys[node].key for node in rows["id"]], **cells}
            del cells["id"]
        query = f"SQL: {' '.join(one['sql'].split())}"
        if one["kind"] == "query" and rows.height == _ROWS:
            query = f"The first {_ROWS} rows. {query}"
        left = one["number"] - len(fine)
        more = f"The first {_ROWS} of {left:,}{' other' if fine else ''} rows. " if left > _ROWS else ""
        return PageSection(heading, "\n\n".join(filter(None, (note, more + query))), pl.DataFrame(cells))

    def _pairs_of(self, kind: str) -> pl.DataFrame:
        """Return the pairs of a type ("": of all)."""
        return self._pairs.filter(self._pairs["type"] == kind) if kind else self._pairs

    def _decided(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return pairs with the decisions on them, as the command that merges reads them."""
        decided = self._review.pairs()
        given = [decided.get(pair) for pair in pairs.select(_PAIR).iter_rows()]
        return pairs.with_columns(decision=pl.Series(given, dtype=pl.String))

    @property
    def _pairs(self) -> pl.DataFrame:
        with self._comparing:  # once for all requests
            if self._compared is None:
                self._compared = self._site.kb.duplicates()
            return self._compared

    def _compare(self) -> None:
        with contextlib.suppress(KbError):  # which the page of the pairs shows
            _ = self._pairs

    @cached_property
    def _found(self) -> dict[str, list[dict[str, Any]]]:
        """The findings by kind; the KB does not change while it is open."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._site.kb.suspicions().iter_rows(named=True):
            found.setdefault(row["kind"], []).append(row)
        return found

    @cached_property
    def _every(self) -> list[dict[str, Any]]:
        """The findings in the order of the page."""
        return [one for own in self._found.values() for one in own]


def _stem(finding: dict[str, Any]) -> tuple[str, ...]:
    """Return what a finding and the same one of other data have in common, under which judgements of rows are saved."""
    return (*_name(finding)[:3], re.sub(r"\d[\d,.%]*", "N", finding["finding"]))


def _name(finding: dict[str, Any]) -> tuple[str, ...]:
    """Return the name under which the choice of a finding is saved."""
    return tuple(finding[part] for part in ("kind", "type", "part", "finding"))
