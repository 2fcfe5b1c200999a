"""Entry point: SPARQL in which ``SERVICE kb:search`` searches the KB."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kbkit.sparql import run

if TYPE_CHECKING:
    import polars as pl

    from kbkit.sparql.rewrite import Rewritten
    from kbkit.sparql.view import View
    from kbkit.stores import Stores
    from kbkit.stores.sparql_formats import Formats
    from kbkit.stores.sparql_process import Graphs, Results


def sparql(
    stores: Stores,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Run SPARQL in which ``SERVICE kb:search`` searches this KB; see :meth:`kbkit.kb.KnowledgeBase.sparql`."""
    return run.frame(stores, text, timeout, dialect, limit, params, search=partial(_service, stores))


def terms(
    stores: Stores,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Run the same SPARQL; see :meth:`kbkit.kb.KnowledgeBase.sparql_terms`."""
    return run.terms(stores, text, timeout, dialect, limit, params, search=partial(_service, stores))


def view(
    stores: Stores,
    text: str,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> View:
    """Run the same SPARQL; see :meth:`kbkit.kb.KnowledgeBase.sparql_view`."""
    return run.view(stores, text, timeout, dialect, limit, params, search=partial(_service, stores))


def results(
    stores: Stores,
    text: str,
    formats: Formats,
    timeout: float | None,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
    graphs: Graphs = (None, None),
) -> Results:
    """Return the serialized result of the same SPARQL; see :meth:`kbkit.kb.KnowledgeBase.sparql_results`."""
    search = partial(_service, stores)
    return run.results(stores, text, formats, timeout, dialect, limit, params, search, graphs)


def rewrite(
    stores: Stores,
    text: str,
    dialect: str | None = None,
    limit: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> Rewritten:
    """Return the query as sent to the engine; see :meth:`kbkit.kb.KnowledgeBase.rewrite`."""
    return run.rewrite(stores, text, dialect, limit, params, search=partial(_service, stores))


def _service(
    stores: Stores, words: str, limit: int = 100, mode: str = "bm25", node_type: str | None = None
) -> list[tuple[str, float]]:
    """Answer ``SERVICE kb:search``: IRIs with their scores, best first."""
    from kbkit.questions.run import search  # loads the search stack, which other queries do not need

    found = search(stores, mode, limit, node_type=node_type).one(words)
    rows = found.select("type", "key", "score").iter_rows()
    return [(stores.schema.node_iri(kind, key), float(score)) for kind, key, score in rows]
