"""Run SPARQL on a KB: bind parameters, rewrite the dialect, send the query to the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kbkit.errors import QueryError
from kbkit.schema import KB_NAMESPACE
from kbkit.stores.sparql_formats import PLAIN
from kbkit.stores.sparql_text import bind, is_update, term

if TYPE_CHECKING:
    import polars as pl

    from kbkit.sparql.context import Search, Traversal
    from kbkit.sparql.rewrite import Rewritten
    from kbkit.sparql.view import View
    from kbkit.stores import Stores
    from kbkit.stores.sparql_formats import Formats
    from kbkit.stores.sparql_process import Graphs, Results

_STANDARD = "sparql"
_MANY = 100
"""Brackets of a kind above which their nesting is checked, which loads the grammar."""
REJECTED = "The engine rejected the rewritten query: "
_POSITION = re.compile(r"^error at \d+:\d+: ")


def rewrite(
    stores: Stores,
    text: str,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> Rewritten:
    """Return the query as sent to the engine; see :meth:`kbkit.kb.KnowledgeBase.rewrite`."""
    from kbkit.sparql.rewrite import rewrite as run

    bound = _bound(text, params)
    return run(
        bound,
        dialect or stores.schema.dialect or _STANDARD,
        search=search,
        walk=partial(_walk, stores),
        languages=languages(stores),
        limit=limit,
        prefixes=stores.schema.prefixes(),
        types_apart=_types_apart(stores, bound),
    )


def frame(
    stores: Stores,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> pl.DataFrame:
    """Run a query; see :meth:`kbkit.kb.KnowledgeBase.sparql`."""
    from kbkit.stores.sparql_results import values

    bound = _bound(text, params)
    with _started(stores, bound, _sent(stores, bound, dialect, limit, search)[0], PLAIN, timeout) as found:
        rows = values(found.kind, found.read())
    return rows if limit is None else rows.head(limit)


def terms(
    stores: Stores,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> pl.DataFrame:
    """Run a query; see :meth:`kbkit.kb.KnowledgeBase.sparql_terms`."""
    from kbkit.stores.sparql_results import terms

    bound = _bound(text, params)
    with _started(stores, bound, _sent(stores, bound, dialect, limit, search)[0], PLAIN, timeout) as found:
        rows = terms(found.kind, found.read())
    return rows if limit is None else rows.head(limit)


def view(
    stores: Stores,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
) -> View:
    """Run a query and return the view that it asks for; see :meth:`kbkit.kb.KnowledgeBase.sparql_view`."""
    from kbkit.sparql.view import wanted
    from kbkit.stores import sparql_results

    chosen, bound = wanted(text), _bound(text, params)
    with _started(stores, bound, _sent(stores, bound, dialect, limit, search)[0], PLAIN, timeout) as found:
        body = found.read()
    rows, terms = sparql_results.values(found.kind, body), sparql_results.terms(found.kind, body)
    most = rows.height if limit is None else limit
    return chosen.of(rows.head(most), terms.head(most), edges=found.kind == "triples")


def results(
    stores: Stores,
    text: str,
    formats: Formats,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    search: Search | None = None,
    graphs: Graphs = (None, None),
) -> Results:
    """Return the serialized result of a query; see :meth:`kbkit.kb.KnowledgeBase.sparql_results`.

    ``graphs`` are the IRIs of the default graphs and of the named graphs that replace the dataset of the query.
    """
    bound = _bound(text, params)
    sent, limited = _sent(stores, bound, dialect, limit, search)
    if not limited:
        raise QueryError("The number of rows of this query cannot be limited", "Write LIMIT in the query")
    return _started(stores, bound, sent, formats, timeout, graphs)


def _started(
    stores: Stores, bound: str, sent: str, formats: Formats, timeout: float | None, graphs: Graphs = (None, None)
) -> Results:
    """Return the result of ``sent``; its errors are located in the user's text, ``bound``."""

    def rejected(message: str) -> None:
        _check(stores, bound)
        if sent != bound:  # the position is that of another text
            raise QueryError(REJECTED + _POSITION.sub("", message))

    return stores.triples.results(sent, formats, timeout, graphs, rejected)


def _sent(
    stores: Stores, bound: str, dialect: str | None, limit: int | None, search: Search | None
) -> tuple[str, bool]:
    """Return the query for the engine, and whether it has the limit: not if it is beyond our grammar."""
    standard = (dialect or stores.schema.dialect or _STANDARD) == _STANDARD
    if any(bound.count(sign) > _MANY for sign in "({[!"):
        from kbkit.sparql.parse import check_nesting

        check_nesting(bound)
    apart = _types_apart(stores, bound)
    if standard and limit is None and not apart and "service" not in bound.lower():  # skips loading the grammar
        return bound, True
    sent = rewrite(stores, bound, dialect, limit, search=search)
    return sent.text, limit is None or sent.text != bound or not sent.notes


def _types_apart(stores: Stores, text: str) -> bool:
    """Return whether a query may use ``kb:type``, and the KB has it in a graph of its own."""
    return stores.schema.types_apart and ("kb:" in text or KB_NAMESPACE in text)


def _bound(text: str, params: Mapping[str, Any] | None) -> str:
    return bind(text, {name: term(value) for name, value in (params or {}).items()})


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
