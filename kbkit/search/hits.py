"""Format hits as a frame, with snippets and explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from kbkit.display import html as html_pages
from kbkit.search.ranking import QueryResult
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids
from kbkit.stores.text_query import TextQuery, snippet

_NEEDED = {"key", "type", "name", "score", "snippet"}


def hits(stores: Stores, query: TextQuery, result: QueryResult) -> pl.DataFrame:
    """Return a frame: rank, id, key, type, name, score, a score per component, snippet."""
    ids = result.ranking.ids.astype(np.int32)
    scores = {"score": result.ranking.scores}
    scores |= {name: part.score_of(result.ranking.ids) for name, part in result.components.items()}
    return pl.DataFrame(
        [
            pl.Series("rank", np.arange(1, len(ids) + 1)),
            *stores.nodes.rows_of(ids).get_columns(),
            *(pl.Series(name, values, dtype=pl.Float64, nan_to_null=True) for name, values in scores.items()),
            pl.Series("snippet", _snippets(stores, query, _documents(stores, ids)), dtype=pl.String),
        ]
    )


def _documents(stores: Stores, ids: Ids) -> list[str]:
    """Return the texts of each node, by field and position, joined by a space."""
    if not len(ids):
        return []
    # A list of numbers takes DuckDB half as long as a list parameter.
    listed = ", ".join(map(str, ids.tolist()))
    rows = stores.tables.rows(f"SELECT id, field::VARCHAR, position, text FROM texts WHERE id IN ({listed})")
    texts: dict[int, list[str]] = {}
    for node, _, _, text in sorted(rows):
        texts.setdefault(node, []).append(text)
    return [" ".join(texts.get(node, ())) for node in ids.tolist()]


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
