"""Searches of any mode, with ``relational`` among them; also as ``SERVICE kb:search`` of SPARQL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from kbkit.answers.session import Session
from kbkit.questions.link import link
from kbkit.questions.proofs import explained
from kbkit.questions.relational import relational
from kbkit.search.filters import Given
from kbkit.search.hits import positions
from kbkit.search.ranking import Ranked
from kbkit.search.rerank import Reranker
from kbkit.search.retrievers import Asked
from kbkit.search.run import Search
from kbkit.search.settings import Options, Settings
from kbkit.sparql import run
from kbkit.stores import Stores
from kbkit.stores.text_query import TextQuery

if TYPE_CHECKING:
    from kbkit.sparql.rewrite import Rewritten


class RelationalSearch(Search):
    """A hybrid search whose candidates also score by how the graph joins them to the nodes the query names."""

    def rank(self, asked: Asked, settings: Settings) -> list[Ranked]:
        """Add what the graph says to the ranking by words and meaning."""
        return relational(self.session, asked, settings, super().rank(asked, settings))

    def explained(self, query: TextQuery, ranked: Ranked, frame: pl.DataFrame) -> pl.DataFrame:
        """Add ``linked`` and ``why``, which names the joining triples."""
        return explained(self.session, link(self.session, query.text), positions(ranked, frame), frame)


def search(
    stores: Stores,
    mode: str = "hybrid",
    k: int = 20,
    within: Given = None,
    node_type: str | None = None,
    reranker: str | Reranker | None = None,
    options: Options | None = None,
) -> Search:
    """Return a search of any mode, its arguments checked; see :meth:`kbkit.kb.KnowledgeBase.search`."""
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
    """Return the query as the engine receives it; see :meth:`kbkit.kb.KnowledgeBase.rewrite`."""
    return run.rewrite(stores, text, dialect, limit, params, search=partial(_service, stores))


def _service(
    stores: Stores, words: str, limit: int = 100, mode: str = "bm25", node_type: str | None = None
) -> list[tuple[str, float]]:
    """Answer ``SERVICE kb:search``: IRIs with their scores, best first."""
    found = search(stores, mode, limit, node_type=node_type).one(words)
    rows = found.select("type", "key", "score").iter_rows()
    return [(stores.schema.node_iri(kind, key), float(score)) for kind, key, score in rows]
