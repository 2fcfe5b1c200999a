"""Entry point: searches of any mode, including ``relational``."""

from __future__ import annotations

from dataclasses import replace

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
from kbkit.stores import Stores
from kbkit.stores.text_query import TextQuery


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
