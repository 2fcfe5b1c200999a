"""Run SPARQL on a KB: rewrite the dialect, send the query to the engine, convert the result."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.errors import QueryError, UnknownNameWarning
from kbkit.schema import KB_NAMESPACE
from kbkit.stores.sparql_formats import PLAIN
from kbkit.stores.sparql_text import bind, is_update, term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from kbkit.sparql.context import Search, Traversal
    from kbkit.sparql.rewrite import Rewritten
    from kbkit.sparql.view import View
    from kbkit.stores import Stores
    from kbkit.stores.sparql_formats import Formats
    from kbkit.stores.sparql_process import Graphs, ResultColumn, Results

_STANDARD = "sparql"
_MANY = 100
"""Brackets of a kind above which their nesting is checked, which loads the grammar."""
REJECTED = "The engine rejected the rewritten query: "
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
) -> SparqlQuery:
    """Return a query with the values of its parameters, in which ``SERVICE kb:search`` searches this KB."""
    bound = bind(text, {name: term(value) for name, value in (params or {}).items()})
    return SparqlQuery(stores, bound, timeout, dialect, limit, graphs, partial(_service, stores))


@dataclass(frozen=True)
class SparqlQuery:
    """A SPARQL query on a KB; :func:`query` makes one.

    ``dialect`` is the KB's by default, ``limit`` a maximum number of rows, ``timeout`` is in seconds (None: no limit).
    ``graphs`` are the IRIs of the default graphs and of the named graphs that replace the dataset of the query.
    ``search`` answers ``SERVICE kb:search``.
    """

    stores: Stores
    text: str
    timeout: float | None = 60.0
    dialect: str | None = None
    limit: int | None = None
    graphs: Graphs = (None, None)
    search: Search | None = None

    def frame(self) -> pl.DataFrame:
        """Run the query; see :meth:`kbkit.kb.KnowledgeBase.sparql`."""
        from kbkit.stores.sparql_results import values

        kind, body = self._read()
        return self._first(values(kind, body), kind)

    def terms(self) -> pl.DataFrame:
        """Run the query; see :meth:`kbkit.kb.KnowledgeBase.sparql_terms`."""
        from kbkit.stores.sparql_results import terms

        kind, body = self._read()
        return self._first(terms(kind, body), kind)

    def view(self) -> View:
        """Run the query and return the view that it asks for; see :meth:`kbkit.kb.KnowledgeBase.sparql_view`."""
        from kbkit.sparql.view import wanted
        from kbkit.stores.sparql_results import terms, values

        chosen, (kind, body) = wanted(self.text), self._read()
        rows, as_terms = self._first(values(kind, body), kind), self._first(terms(kind, body), kind)
        return chosen.of(rows, as_terms, edges=kind == "triples")

    def results(self, formats: Formats) -> Results:
        """Return the serialized result; see :meth:`kbkit.kb.KnowledgeBase.sparql_results`."""
        sent = self._sent(formats)
        if not sent.limited:
            raise QueryError("The number of rows of this query cannot be limited", "Write LIMIT in the query")
        return self._started(sent, formats)

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
        )

    @property
    def _dialect(self) -> str:
        return self.dialect or self.stores.schema.dialect or _STANDARD

    @property
    def _types_apart(self) -> bool:
        """Whether the query may use ``kb:type``, and the KB has it in a graph of its own."""
        return self.stores.schema.types_apart and ("kb:" in self.text or KB_NAMESPACE in self.text)

    def unknown_names(self) -> list[str]:
        """Return a sentence for each name of the KB's vocabulary and nodes that the query uses and the KB lacks."""
        from kbkit.sparql.names import unknown_names

        return unknown_names(self.stores, self.text)

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

    def _read(self) -> tuple[str, bytes]:
        with self._started(self._sent(PLAIN), PLAIN) as found:
            return found.kind, found.read()

    def _started(self, sent: _Sent, formats: Formats) -> Results:
        """Return the result of ``sent``; its errors are located in the user's text."""

        def rejected(message: str) -> None:
            _check(self.stores, self.text)
            if sent.text != self.text:  # the position is that of another text
                raise QueryError(REJECTED + _POSITION.sub("", message))

        return self.stores.triples.results(sent.text, formats, self.timeout, self.graphs, rejected, sent.columns)

    def _sent(self, formats: Formats) -> _Sent:
        """Return the query for the engine."""
        if any(self.text.count(sign) > _MANY for sign in "({[!"):
            from kbkit.sparql.parse import check_nesting

            check_nesting(self.text)
        plain = self._dialect == _STANDARD and "service" not in self.text.lower()
        if plain and self.limit is None and not self._types_apart:  # skips loading the grammar
            return _Sent(self.text, limited=True)
        sent = self.rewritten(add_columns=formats.solutions == PLAIN.solutions)
        limited = self.limit is None or sent.text != self.text or not sent.notes
        return _Sent(sent.text, limited, sent.columns)


def _service(
    stores: Stores, words: str, limit: int = 100, mode: str = "bm25", node_type: str | None = None
) -> list[tuple[str, float]]:
    """Answer ``SERVICE kb:search``: IRIs with their scores, best first."""
    from kbkit.search.run import search  # loads the search stack, which other queries do not need

    found = search(stores, mode, limit, node_type=node_type).one(words)
    rows = found.select("type", "key", "score").iter_rows()
    return [(stores.schema.node_iri(kind, key), float(score)) for kind, key, score in rows]


def _walk(stores: Stores, traversal: Traversal) -> list[tuple[str, int, str | None]]:
    from kbkit.sparql.traversal import walk  # loads the grammar, which most queries do not need

    return walk(stores, traversal)


def _check(stores: Stores, text: str) -> None:
    """Raise the syntax error of a rejected query, with its position in the user's text."""
    from kbkit.sparql.rewrite import check

    if not is_update(text):
        check(text, stores.schema.prefixes())


def languages(stores: Stores) -> tuple[str, ...]:
    """Return the languages of the KB, best first (default: English)."""
    option: str = stores.manifest.recipe.get("options", {}).get("language", "")
    codes = tuple(code.strip() for code in option.split(",") if code.strip() not in ("", "all"))
    return codes or ("en",)
