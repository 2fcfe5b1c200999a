"""Results of queries as the screen Query shows them: run once, kept for a while, and shown part by part.

A result is kept, so that its pages, orders, filters and drawings need no second run. Its address repeats the run where
the result is gone.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kbkit.english.headings import least_separated
from kbkit.errors import KbError, QueryError, ResultTooLargeError
from kbkit.executor import languages
from kbkit.executor.executor import Executor
from kbkit.executor.outcomes import StatementOutcome
from kbkit.executor.prompt_settings import PromptSettings
from kbkit.executor.result_views import ColumnStatistics, chosen_rows, statistics
from kbkit.stores.sql_results import ResultBounds
from kbkit.web.explore import links

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from starlette.requests import Request

    from kbkit.stores import Stores
    from kbkit.web.explore.site import Site

PAGE = 100
"""Rows of a page."""
_FEW = 1_000
"""Rows that are read of a result whose rows are large."""
_BYTES = 32 * 10**6
"""Maximum size of the rows of a kept result."""
_KEPT = 6
_FILTERS = 100
VIEWS = {"table": "Table", "columns": "Columns", "graph": "Graph", "chart": "Chart", "code": "Code"}


@dataclass(frozen=True)
class ResultState:
    """What an address asks for: the query, the view of its result, and of a table the page, the order and filters.

    ``order`` is the position of a column (-1: none); ``filters`` are texts by position.
    """

    text: str
    language: str
    view: str = "table"
    page: int = 1
    order: int = -1
    descending: bool = False
    filters: tuple[tuple[int, str], ...] = ()
    chart: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, request: Request, text: str, language: str) -> ResultState:
        """Return the state of an address. Raises :class:`starlette.exceptions.HTTPException`."""
        view = links.text(request, "view")
        filters = tuple(
            (int(name[1:]), value.strip()[:200])
            for name, value in request.query_params.items()
            if name[:1] == "f" and name[1:].isdecimal() and len(name) < 5 and value.strip()
        )
        return cls(
            text,
            language,
            view if view in VIEWS else "table",
            links.number(request, "page", 1, 1, 10**6),
            links.number(request, "order", -1, 0, 10**4),
            links.flag(request, "desc"),
            filters[:_FILTERS],
            tuple((name, links.text(request, name)) for name in ("mark", "x", "y", "colour", "total", "log")),
        )

    def url(self, path: str = "/query", **changes: Any) -> str:
        """Return the address of the state with changes; another order or filter starts at the first page."""
        page = changes.pop("page", self.page if not changes else 1)
        state = replace(self, page=page, **changes)
        return links.page(
            path,
            q=state.text,
            language=state.language,
            view=state.view if state.view != "table" else None,
            page=state.page if state.page > 1 else None,
            order=str(state.order) if state.order >= 0 else None,
            desc=1 if state.descending else None,
            **{f"f{position}": text for position, text in state.filters},
            **(dict(state.chart) if state.view == "chart" else {}),
        )

    def sorted_by(self, position: int) -> ResultState:
        """Return the state after a click on a column's name: ascending, then descending, then as the engine returns."""
        if position != self.order:
            return replace(self, order=position, descending=False, page=1)
        return (
            replace(self, descending=True, page=1)
            if not self.descending
            else replace(self, order=-1, descending=False, page=1)
        )

    def cleared(self, position: int = -1) -> ResultState:
        """Return the state without the filter of a column (-1: without any filter)."""
        others = tuple((place, known) for place, known in self.filters if place != position and position >= 0)
        return replace(self, page=1, filters=others)

    def filtered(self, position: int, text: str) -> ResultState:
        """Return the state with another filter of a column, as a table."""
        others = tuple((place, known) for place, known in self.filters if place != position)
        return replace(self, view="table", page=1, filters=((*others, (position, text)) if text else others))


@dataclass
class KeptResult:
    """A result: its outcome, whether there are more rows than were read, and the nodes that its rows describe."""

    outcome: StatementOutcome
    frame: pl.DataFrame | None
    nodes: Sequence[int]
    is_cut: bool
    _orders: dict[Any, pl.Series] = field(default_factory=dict)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that a person sees; of answers, no keys that are the names."""
        hidden = {"answers": ("id",), "search": ("id", "why", "linked")}.get(self.outcome.language, ())
        if self.outcome.language == "answers" and self.frame is not None and {"key", "name"} <= {*self.frame.columns}:
            hidden = (*hidden, *(["key"] if (self.frame["key"] == self.frame["name"]).all() else []))
        return [] if self.frame is None else [name for name in self.frame.columns if name not in hidden]

    @cached_property
    def separated(self) -> dict[str, int]:
        """The number from which those of each column of numbers have separators."""
        if self.frame is None:
            return {}
        ranges = {
            column.name: (column.min(), column.max())
            for column in self.frame.select(self.columns).iter_columns()
            if column.dtype.is_numeric()
        }
        return {
            name: least_separated(name, float(low), float(high))
            for name, (low, high) in ranges.items()
            if isinstance(low, int | float) and isinstance(high, int | float)
        }

    def rows(self, state: ResultState) -> pl.Series:
        """Return the numbers of the rows that match the filters, in order. Raises :class:`KbError`."""
        assert self.frame is not None
        filters = {self.columns[place]: text for place, text in state.filters if place < len(self.columns)}
        order = self.columns[state.order] if 0 <= state.order < len(self.columns) else ""
        known = (tuple(filters.items()), order, state.descending)
        if known not in self._orders:
            found = chosen_rows(self.frame, filters, order, descending=state.descending)
            self._orders = {known: found}
        return self._orders[known]

    def statistics(self, state: ResultState) -> list[ColumnStatistics]:
        """Return the statistics of the columns in the rows that match the filters."""
        assert self.frame is not None
        frame = self.frame.select(self.columns)
        part = frame[self.rows(state)] if state.filters else frame
        return [statistics(part[name]) for name in part.columns]


class KeptResults:
    """Runs queries and keeps the last results."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._kept: OrderedDict[tuple[str, str], KeptResult] = OrderedDict()
        self._lock = threading.Lock()

    def executor(self, bounds: ResultBounds | None = None) -> Executor:
        """Return an executor with the limits of the site."""
        return Executor(self._site.kb, PromptSettings(timeout=self._site.limits.timeout), bounds=bounds)

    def run(self, text: str, language: str) -> KeptResult:
        """Run a query and keep its result. Raises :class:`KbError`."""
        most = self._site.limits.rows
        try:
            outcome, nodes = self.outcome(text, language, ResultBounds(most, _BYTES))
        except ResultTooLargeError:
            most = min(most, _FEW)
            outcome, nodes = self.outcome(text, language, ResultBounds(most, _BYTES))
        frame = outcome.frame
        is_cut = frame is not None and frame.height > most and outcome.language in ("sql", "sparql")
        if frame is not None and is_cut:
            frame, nodes = frame.head(most), nodes[:most]
        result = KeptResult(outcome, frame, nodes, is_cut)
        with self._lock:
            self._kept[text, language] = result
            self._kept.move_to_end((text, language))
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return result

    def result(self, text: str, language: str) -> KeptResult:
        """Return the kept result of a query; run it if there is none."""
        with self._lock:
            known = self._kept.get((text, language))
            if known is not None:
                self._kept.move_to_end((text, language))
        return known or self.run(text, language)

    def outcome(self, text: str, language: str, most: ResultBounds) -> tuple[StatementOutcome, Sequence[int]]:
        """Return a result, and the nodes that its rows describe, if they do.

        Of SQL and SPARQL, one row more than ``most`` is read: a result can have more rows than memory holds.
        """
        executor = self.executor(most._replace(rows=most.rows + 1))
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


def iris_of(site: Site, frame: pl.DataFrame) -> Mapping[str, tuple[int, str, str, str]]:
    """Return (id, type, key, name) of the nodes whose IRIs are among the values of a frame."""
    import polars as pl

    columns = frame.select(pl.col(pl.String))
    iris = sorted({value for column in columns.iter_columns() for value in column if value and ":" in value})
    if not iris:
        return {}
    ids, _ = site.kb.stores.nodes.by_iri(iris)
    rows = site.kb.stores.nodes.rows(ids.tolist())
    return {
        site.kb.schema.node_iri(row.type, row.key): (node, row.type, row.key, row.name) for node, row in rows.items()
    }


def named_nodes(stores: Stores, frame: pl.DataFrame) -> list[int | None]:
    """Return the node that each row of a frame without ids names by its type and key, or by its name and one of these.

    None for a row that names none or several; nothing if the frame lacks the columns.
    """
    import polars as pl

    texts = [name for name in ("type", "key", "name") if frame.schema.get(name) == pl.String]
    if len(texts) < 2:
        return []
    types = {kind.name for kind in stores.schema.node_types}
    found: list[int | None] = []
    for row in frame.select(texts).iter_rows(named=True):
        kind, key, name = row.get("type"), row.get("key"), row.get("name")
        if any(row[column] is None for column in texts) or ("type" in texts and kind not in types):
            found.append(None)
            continue
        same = stores.nodes.by_key(kind, [key])[0] if key is not None else stores.nodes.by_name(kind, [str(name)])[0]
        same = [node for node in same if name in (None, node.name)]
        found.append(same[0].id if len(same) == 1 else None)
    return found if any(node is not None for node in found) else []


def forms_of(outcome: StatementOutcome, text: str) -> dict[str, str]:
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
