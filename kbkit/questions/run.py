"""Entry points: searches of any mode, including ``relational``, and SPARQL with ``SERVICE kb:search``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from kbkit.answers.session import Session
from kbkit.questions.link import link
from kbkit.questions.proofs import explained
from kbkit.questions.relational import relational
from kbkit.search.filters import Scope
from kbkit.search.hits import positions
from kbkit.search.ranking import QueryResult
from kbkit.search.rerank import Reranker
from kbkit.search.retrievers import QueryBatch
from kbkit.search.run import Search
from kbkit.search.settings import Options, Settings
from kbkit.sparql import run
from kbkit.stores import Stores
from kbkit.stores.text_query import TextQuery

if TYPE_CHECKING:
    from kbkit.sparql.rewrite import Rewritten


class RelationalSearch(Search):
    """A hybrid search that also scores candidates by their connections to the nodes named in the query."""

    def rank(self, batch: QueryBatch, settings: Settings) -> list[QueryResult]:
        """Combine the hybrid ranking with connections in the graph."""
        return relational(self.session, batch, settings, super().rank(batch, replace(settings, mode="hybrid")))

    def explained(self, query: TextQuery, result: QueryResult, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the columns ``linked`` and ``why`` (with the triples of the paths)."""
        return explained(self.session, link(self.session, query.text), positions(result, frame), frame)


def search(
    stores: Stores,
    mode: str = "hybrid",
    k: int = 20,
    within: Scope = None,
    node_type: str | None = None,
    reranker: str | Reranker | None = None,
    options: Options | None = None,
) -> Search:
    """Return a search of any mode with validated arguments; see :meth:`kbkit.kb.KnowledgeBase.search`."""
    kind = RelationalSearch if mode == "relational" else Search
    return kind.of(Session.of(stores), mode, k, within, node_type, reranker, options or {})


# -- SPARQL -----------------------------------------------------------------------------------------------------------


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
    found = search(stores, mode, limit, node_type=node_type).one(words)
    rows = found.select("type", "key", "score").iter_rows()
    return [(stores.schema.node_iri(kind, key), float(score)) for kind, key, score in rows]
