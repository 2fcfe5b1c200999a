"""Run SPARQL on a KB: rewrite the dialect, send the query to the engine, convert the result."""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.errors import QueryError, QuerySyntaxError, ResultTooLargeError, UnknownNameWarning
from kbkit.schema import KB_NAMESPACE
from kbkit.sparql.engines import COLUMNS, ColumnResults, EngineChoice, Serialized, choose, explained, rows
from kbkit.sparql.names import is_corrected
from kbkit.stores.sparql_formats import PLAIN
from kbkit.stores.sparql_text import bind, is_update, read_only, string_literal, term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from kbkit.sparql.context import Search, Traversal
    from kbkit.sparql.engines import CompiledRows, SparqlEngine
    from kbkit.sparql.rewrite import Rewritten
    from kbkit.sparql.view import View
    from kbkit.sparql.why_empty import EmptyResult
    from kbkit.stores import Stores
    from kbkit.stores.sparql_formats import Formats
    from kbkit.stores.sparql_process import Graphs, ResultColumn, Results
    from kbkit.stores.sql_results import ResultBounds

_STANDARD = "sparql"
_MANY = 100
"""Brackets of a kind above which their nesting is checked, which loads the grammar."""
REJECTED = "The engine rejected the rewritten query: "
_SELECTED = re.compile(r"\bselect\b([^{]*?)(?:\bfrom\b|\bwhere\b|\{)", re.IGNORECASE)
_VARIABLE, _IN_BRACKETS = re.compile(r"[?$](\w+)"), re.compile(r"\(.*\)", re.DOTALL)
_WITHOUT_EFFECT = re.compile(r"service\s+silent|\b(?:regex|replace)\s*\(", re.IGNORECASE)
_POSITION = re.compile(r"^error at \d+:\d+: ")


class _Sent(NamedTuple):
    """A query for the engine."""

    text: str
    limited: bool
    """Whether it has the limit: not if it is beyond our grammar."""
    columns: Sequence[ResultColumn] = ()
    """Columns of the result with labels (empty: those of the query)."""


def query(
    stores: Stores,
    text: str,
    timeout: float | None = 60.0,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    graphs: Graphs = (None, None),
    engine: SparqlEngine = "auto",
    bounds: ResultBounds | None = None,
) -> SparqlQuery:
    """Return a query with the values of its parameters, in which ``SERVICE kb:search`` searches this KB."""
    bound = bind(text, {name: term(value) for name, value in (params or {}).items()})
    return SparqlQuery(stores, bound, timeout, dialect, limit, graphs, partial(_service, stores), engine, bounds)


@dataclass(frozen=True)
class SparqlQuery:
    """A SPARQL query on a KB; :func:`query` makes one.

    ``dialect`` is the KB's by default, ``limit`` a maximum number of rows, ``timeout`` is in seconds (None: no limit).
    ``graphs`` are the IRIs of the default graphs and of the named graphs that replace the dataset of the query.
    ``search`` answers ``SERVICE kb:search``. ``engine`` is ``columns``, ``oxigraph`` or ``auto``
    (:mod:`kbkit.sparql.engines`). ``bounds`` limit what :meth:`frame` reads of a result.
    """

    stores: Stores
    text: str
    timeout: float | None = 60.0
    dialect: str | None = None
    limit: int | None = None
    graphs: Graphs = (None, None)
    search: Search | None = None
    engine: SparqlEngine = "auto"
    bounds: ResultBounds | None = None

    def frame(self) -> pl.DataFrame:
        """Run the query; see :meth:`kbkit.kb.KnowledgeBase.sparql`."""
        answer = self._answer()
        return self._first(answer.values(), answer.kind)

    def terms(self) -> pl.DataFrame:
        """Run the query; see :meth:`kbkit.kb.KnowledgeBase.sparql_terms`."""
        answer = self._answer()
        return self._first(answer.terms(), answer.kind)

    def values_and_terms(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Run the query once and return its result as values and as terms."""
        answer = self._answer()
        return self._first(answer.values(), answer.kind), self._first(answer.terms(), answer.kind)

    def view(self) -> View:
        """Run the query and return the view that it asks for; see :meth:`kbkit.kb.KnowledgeBase.sparql_view`."""
        from kbkit.sparql.view import wanted

        chosen, answer = wanted(self.text), self._answer()
        rows, as_terms = self._first(answer.values(), answer.kind), self._first(answer.terms(), answer.kind)
        return chosen.of(rows, as_terms, edges=answer.kind == "triples")

    def results(self, formats: Formats) -> Results:
        """Return the serialized result; see :meth:`kbkit.kb.KnowledgeBase.sparql_results`."""
        sent = self._sent(formats)
        if not sent.limited:
            raise QueryError("The number of rows of this query cannot be limited", "Write LIMIT in the query")
        compiled = self._choice(sent).compiled
        if compiled is None:
            return self._started(sent, formats)
        other = partial(self._started, sent, formats) if self._has_other else None
        return ColumnResults(self.stores, compiled, formats, self.timeout, other)

    def printed(self) -> str:
        """Return the query as its engine receives it, SQL or SPARQL, after notes on the changes as comments."""
        compiled, sent = self._choice(self._sent(PLAIN)).compiled, self.rewritten()
        if compiled is None:
            return str(sent).rstrip("\n")
        return "".join(f"-- {' '.join(note.split())}\n" for note in sent.notes) + compiled.sql

    def _named(self, term: dict[str, Any]) -> dict[str, Any]:
        """Return a term with the name of its node, if it is one."""
        ids = self.stores.nodes.by_iri([term["value"]])[0].tolist() if term["type"] == "uri" else []
        rows = [self.stores.nodes.row(node) for node in ids]
        return term | {"name": next((row.name for row in rows if row.name != row.key), "")}

    def explained(self) -> str:
        """Run the query and return its plan, or why Oxigraph answers it, which has no plan to show.

        If there are no rows, the patterns that exclude each other follow.
        """
        plan, reason = explained(self.stores, self._choice(self._sent(PLAIN)), self.timeout), self.why_empty()
        return plan if reason is None else "\n".join([plan, *reason.lines])

    def why_empty(self) -> EmptyResult | None:
        """Return why the query has no rows, from queries of its parts; None if it has some, or that is unknown.

        A row of an aggregate of no solutions, and a negative answer of ASK, are explained too.
        """
        from kbkit.sparql.why_empty import SECONDS, explain

        found = self.frame()
        if not is_nothing(found):
            return None

        def part(text: str, seconds: float) -> SparqlQuery:
            return SparqlQuery(self.stores, text, seconds, self._dialect, None, self.graphs, self.search, self.engine)

        def value(text: str, seconds: float) -> int:
            return int(part(text, seconds).frame().item(0, 0))

        def sample(text: str, seconds: float) -> list[dict[str, Any]]:
            return [self._named(term) for term in part(text, seconds).terms().to_series() if term is not None]

        limit = SECONDS if self.timeout is None else min(SECONDS, self.timeout)
        return explain(self.text, value, self.stores.schema.prefixes(), limit, sample, has_row=found.height > 0)

    def rewritten(self, *, add_columns: bool = False) -> Rewritten:
        """Return the query as sent to the engine; see :meth:`kbkit.kb.KnowledgeBase.rewrite`.

        With ``add_columns``, it lacks labels that are only shown, which are added to its result.
        """
        from kbkit.sparql.rewrite import rewrite

        return rewrite(
            self.text,
            self._dialect,
            search=self.search,
            walk=partial(_walk, self.stores),
            languages=languages(self.stores),
            limit=self.limit,
            prefixes=self.stores.schema.prefixes(),
            types_apart=self._types_apart,
            add_columns=add_columns,
            find=partial(_find, self.stores),
            values=self._values,
        )

    def _values(self, text: str) -> list[tuple[str, str]]:
        """Return the terms of the first column of a query, which is a part of this one, as texts and in SPARQL."""
        subquery = SparqlQuery(self.stores, text, self.timeout, self._dialect, graphs=self.graphs, search=self.search)
        terms = subquery.terms()
        return [(cell["value"], _written(cell)) for cell in terms[terms.columns[0]] if cell and cell["type"] != "bnode"]

    @property
    def _dialect(self) -> str:
        return self.dialect or self.stores.schema.dialect or _STANDARD

    @property
    def _types_apart(self) -> bool:
        """Whether the query may use ``kb:type``, and the KB has it in a graph of its own."""
        return self.stores.schema.types_apart and ("kb:" in self.text or KB_NAMESPACE in self.text)

    def unknown_names(self) -> list[str]:
        """Return a sentence for each name that the query uses and the KB lacks, and for each part without effect."""
        from kbkit.sparql.names import unknown_names

        return unknown_names(self.stores, self.text) + self._unused() + self._without_effect()

    def _unused(self) -> list[str]:
        """Return a sentence for each variable that occurs only after the first SELECT: services may give it values."""
        head = _SELECTED.search(self.text) if "service" not in self.text.lower() else None
        names = _VARIABLE.findall(_IN_BRACKETS.sub("", head[1])) if head else []
        once = [name for name in dict.fromkeys(names) if len(re.findall(rf"[?$]{name}\b", self.text)) == 1]
        return [f"?{name} occurs only after SELECT, so it has no values" for name in once]

    def _without_effect(self) -> list[str]:
        """Return a sentence for each service that is left out and for each invalid regular expression."""
        if not _WITHOUT_EFFECT.search(self.text):
            return []
        from kbkit.sparql.services import SKIPPED
        from kbkit.sparql.standard import INVALID

        return [note for note in self.rewritten().notes if note.startswith((SKIPPED, INVALID))]

    def warned(self) -> SparqlQuery:
        """Return the query after a Python warning for each of its unknown names, located at the caller's caller."""
        for message in self.unknown_names():
            warnings.warn(message, UnknownNameWarning, stacklevel=4)  # the method of a checked class is two frames
        return self

    def _first(self, rows: pl.DataFrame, kind: str) -> pl.DataFrame:
        """Return at most ``limit`` rows; the columns of ``SELECT *``, which the engine does not order, as written."""
        if kind not in ("ask", "triples") and rows.width > 1 and "*" in self.text:
            from kbkit.sparql.names import star_columns

            first = [name for name in star_columns(self.text) if name in rows.columns]
            if first:
                rows = rows.select(*first, *(name for name in rows.columns if name not in first))
        return rows if self.limit is None else rows.head(self.limit)

    @property
    def _has_other(self) -> bool:
        """Whether Oxigraph may answer the query if the columns do not."""
        return self.engine != COLUMNS and self.stores.has("triples")

    def _choice(self, sent: _Sent) -> EngineChoice:
        """Choose the engine; errors of syntax are located in the user's text."""
        try:
            return choose(self.stores, self.engine, sent.text, self.graphs, sent.columns)
        except QuerySyntaxError as error:
            if is_update(self.text):
                raise read_only() from None
            _check(self.stores, self.text)
            raise error if sent.text == self.text else QueryError(REJECTED + error.message) from None

    def _answer(self) -> CompiledRows | Serialized:
        """Run the query on its engine."""
        sent, started = self._sent(PLAIN), time.monotonic()
        compiled = self._choice(sent).compiled
        if compiled is not None:
            try:
                return rows(self.stores, compiled, self.timeout, self.bounds)
            except QueryError:
                if not self._has_other:
                    raise
        with self._started(sent, PLAIN, time.monotonic() - started if compiled else 0.0) as results:
            return Serialized(results.kind, self._read(results))

    def _read(self, results: Results) -> bytes:
        """Return the lines of a result as far as the bounds allow: its rows, after the names of a table.

        Raises :class:`ResultTooLargeError`.
        """
        if self.bounds is None or results.kind == "ask":
            return results.read()
        lines = self.bounds.rows + (results.kind == "select")
        body = bytearray()
        for chunk in results:
            body += chunk
            lines -= chunk.count(b"\n")
            if len(body) > self.bounds.bytes:
                raise ResultTooLargeError(self.bounds.bytes)
            if lines <= 0:
                break
        kept = bytes(body)
        return kept if lines >= 0 else kept.rsplit(b"\n", 1 - lines)[0] + b"\n"

    def _started(self, sent: _Sent, formats: Formats, spent: float = 0.0) -> Results:
        """Return Oxigraph's result of ``sent``, for which ``spent`` seconds have passed.

        Its errors are located in the user's text.
        """

        def rejected(message: str) -> None:
            _check(self.stores, self.text)
            if sent.text != self.text:  # the position is that of another text
                raise QueryError(REJECTED + _POSITION.sub("", message))

        return self.stores.triples.results(sent.text, formats, self.timeout, self.graphs, rejected, sent.columns, spent)

    def _sent(self, formats: Formats) -> _Sent:
        """Return the query for the engine."""
        if any(self.text.count(sign) > _MANY for sign in "({[!"):
            from kbkit.sparql.parse import check_nesting

            check_nesting(self.text)
        plain = self._dialect == _STANDARD and "service" not in self.text.lower() and not is_corrected(self.text)
        if plain and self.limit is None and not self._types_apart:  # skips loading the grammar
            return _Sent(self.text, limited=True)
        sent = self.rewritten(add_columns=formats.solutions == PLAIN.solutions and self._has_other)
        limited = self.limit is None or sent.text != self.text or not sent.notes
        return _Sent(sent.text, limited, sent.columns)


def _service(
    stores: Stores, words: str, limit: int = 100, mode: str = "bm25", node_type: str | None = None
) -> list[tuple[str, float]]:
    """Answer ``SERVICE kb:search``: IRIs with their scores, best first."""
    from kbkit.search.run import search  # loads the search stack, which other queries do not need

    hits = search(stores, mode, limit, node_type=node_type).one(words)
    rows = hits.select("type", "key", "score").iter_rows()
    return [(stores.schema.node_iri(kind, key), float(score)) for kind, key, score in rows]


def _written(value: Mapping[str, str | None]) -> str:
    """Return an RDF term in SPARQL."""
    text, datatype, language = value["value"] or "", value["datatype"], value["language"]
    if value["type"] == "uri":
        return f"<{text}>"
    return string_literal(text) + (f"@{language}" if language else f"^^<{datatype}>" if datatype else "")


def _find(stores: Stores, words: str, limit: int, letter: str) -> list[str]:
    from kbkit.search.entities import entities

    rows = [stores.nodes.row(node) for node in entities(stores, words, limit, letter)]
    return [stores.schema.node_iri(row.type, row.key) for row in rows]


def _walk(stores: Stores, traversal: Traversal) -> list[tuple[str, int, str | None]]:
    from kbkit.sparql.traversal import walk  # loads the grammar, which most queries do not need

    return walk(stores, traversal)


def _check(stores: Stores, text: str) -> None:
    """Raise the syntax error of a rejected query, with its position in the user's text."""
    from kbkit.sparql.rewrite import check_query

    if not is_update(text):
        check_query(text, stores.schema.prefixes())


def is_nothing(rows: pl.DataFrame) -> bool:
    """Return whether a result has no rows, or only one of zeros, false and missing values, as without solutions."""
    return not rows.height or (rows.height == 1 and all(value in (None, 0, False, "") for value in rows.row(0)))


def languages(stores: Stores) -> tuple[str, ...]:
    """Return the languages of the KB, best first (default: English)."""
    option: str = stores.manifest.recipe.get("options", {}).get("language", "")
    codes = tuple(code.strip() for code in option.split(",") if code.strip() not in ("", "all"))
    return codes or ("en",)
