"""Format hits as a frame, with snippets and explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from kbkit.display import html as html_pages
from kbkit.search.ranking import QueryResult
from kbkit.stores import Stores
from kbkit.stores.text_query import TextQuery, snippet

_DOCUMENTS = """
SELECT n.id, key, type, name, x.field::VARCHAR, x.position, x.text FROM nodes n LEFT JOIN texts x USING (id)
WHERE n.id IN (SELECT unnest($ids))"""
_NEEDED = {"key", "type", "name", "score", "snippet"}


def hits(stores: Stores, query: TextQuery, result: QueryResult) -> pl.DataFrame:
    """Return a frame: rank, id, key, type, name, score, a score per component, snippet."""
    ids = result.ranking.ids
    params = {"ids": ids.tolist()}
    rows = stores.tables.rows(_DOCUMENTS, params)
    known = {node: (key, kind, name) for node, key, kind, name, *_ in rows}
    documents: dict[int, str] = {}
    for node, _, _, _, _, _, text in sorted(row for row in rows if row[-1] is not None):
        documents[node] = f"{documents[node]} {text}" if node in documents else text
    snippets = _snippets(stores, query, [documents.get(node, "") for node in params["ids"]])
    columns = [
        pl.Series("rank", range(1, len(ids) + 1), dtype=pl.Int64),
        pl.Series("id", ids, dtype=pl.Int32),
        *(
            pl.Series(name, [known[node][column] for node in params["ids"]], dtype=pl.String)
            for column, name in enumerate(("key", "type", "name"))
        ),
        pl.Series("score", result.ranking.scores, dtype=pl.Float64),
        *(
            pl.Series(name, part.score_of(ids), dtype=pl.Float64).fill_nan(None)
            for name, part in result.components.items()
        ),
        pl.Series("snippet", snippets, dtype=pl.String),
    ]
    return pl.DataFrame(columns)


def _snippets(stores: Stores, query: TextQuery, documents: Sequence[str]) -> list[str]:
    """Return the passage of each document with most query words (without a text index: its beginning)."""
    if not stores.has("text"):
        return [snippet(document, (), ()) for document in documents]
    return stores.text.snippets(set(query.words or stores.text.words(query.text)), documents)


def positions(result: QueryResult, frame: pl.DataFrame) -> list[list[str]]:
    """Return the position of each hit in the ranking of each component."""
    return [_positions(node, result) for node in frame["id"].to_list()]


def _positions(node: int, result: QueryResult) -> list[str]:
    lines = []
    for name, part in result.components.items():
        position = np.flatnonzero(part.ids == node)
        if len(position):
            lines.append(f"{name}: {int(position[0]) + 1:,} of {len(part.ids):,}")
    return lines


class SearchResults(pl.DataFrame):
    """A polars frame that notebooks render as hits; without the columns of hits, it is rendered as a table."""

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        if not _NEEDED.issubset(self.columns):
            return super()._repr_html_(_from_series=_from_series)
        return html_pages.hits(self.columns, self.head(html_pages.HITS).rows(), self.height)
