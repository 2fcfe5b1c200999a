"""The search mode ``relational``: hybrid, with connections to the nodes that the query names."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from kbkit.questions.link import link
from kbkit.questions.proofs import explained
from kbkit.questions.relational import relational
from kbkit.search.hits import positions
from kbkit.search.ranking import QueryResult
from kbkit.search.retrievers import QueryBatch
from kbkit.search.run import Search
from kbkit.search.settings import Settings
from kbkit.stores.text_query import TextQuery


class RelationalSearch(Search):
    """A hybrid search that also scores candidates by their connections to the nodes named in the query."""

    def rank(self, batch: QueryBatch, settings: Settings) -> list[QueryResult]:
        """Combine the hybrid ranking with connections in the graph."""
        return relational(self.session, batch, settings, super().rank(batch, replace(settings, mode="hybrid")))

    def explained(self, query: TextQuery, result: QueryResult, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the columns ``linked`` and ``why`` (with the triples of the paths)."""
        return explained(self.session, link(self.session, query.text), positions(result, frame), frame)
