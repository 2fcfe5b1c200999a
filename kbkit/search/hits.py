"""Hits as a frame, with snippets and explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from kbkit.display import html as html_pages
from kbkit.search.ranking import Ranked
from kbkit.stores import Stores
from kbkit.stores.nodes import DOCUMENTS_SQL
from kbkit.stores.text_query import TextQuery, snippet

_NEEDED = {"key", "type", "name", "score", "snippet"}


def hits(stores: Stores, query: TextQuery, ranked: Ranked) -> pl.DataFrame:
    """The frame: rank, id, key, type, name, score, a score per component, snippet."""
    ids = ranked.ranking.ids
    params = {"ids": ids.tolist()}
    rows = stores.tables.rows(DOCUMENTS_SQL, params)
    known = {node: (key, kind, name) for node, key, kind, name, *_ in rows}
    documents: dict[int, str] = {}
    for node, _, _, _, _, _, text in sorted(row for row in rows if row[-1] is not None):
        documents[node] = f"{documents[node]} {text}" if node in documents else text
    snippets = _snippets(stores, query, [documents.get(node, "") for node in params["ids"]])
    columns = [
        pl.Series("rank", range(1, len(ids) + 1), dtype=pl.Int64),
        pl.Series("id", ids, dtype=pl.Int32),
        *(
            pl.Series(name, [known[node][place] for node in params["ids"]], dtype=pl.String)
            for place, name in enumerate(("key", "type", "name"))
        ),
        pl.Series("score", ranked.ranking.scores, dtype=pl.Float64),
        *(pl.Series(name, part.score_of(ids), dtype=pl.Float64).fill_nan(None) for name, part in ranked.parts.items()),
        pl.Series("snippet", snippets, dtype=pl.String),
    ]
    return pl.DataFrame(columns)


def _snippets(stores: Stores, query: TextQuery, documents: Sequence[str]) -> list[str]:
    """Where each document holds most of the query's words; its beginning in a KB without full text."""
    if not stores.has("text"):
        return [snippet(document, (), ()) for document in documents]
    return stores.text.snippets(set(query.words or stores.text.words(query.text)), documents)


def positions(ranked: Ranked, frame: pl.DataFrame) -> list[list[str]]:
    """For each hit, its position in the ranking of each component."""
    return [_places(node, ranked) for node in frame["id"].to_list()]


def _places(node: int, ranked: Ranked) -> list[str]:
    result = []
    for name, part in ranked.parts.items():
        place = np.flatnonzero(part.ids == node)
        if len(place):
            result.append(f"{name}: {int(place[0]) + 1:,} of {len(part.ids):,}")
    return result


class SearchResults(pl.DataFrame):
    """A polars frame in every respect; where columns of a hit are gone, a notebook shows polars' own table."""

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        if not _NEEDED.issubset(self.columns):
            return super()._repr_html_(_from_series=_from_series)
        return html_pages.hits(self.columns, self.head(html_pages.HITS).rows(), self.height)
