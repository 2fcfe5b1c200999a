"""Format hits as a frame, with snippets and explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.display import html as html_pages
from kbkit.search.ranking import QueryResult
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids
from kbkit.stores.text_query import TextQuery, snippet

_FEW_CALLS = 4
_HELD_BYTES = 20_000_000
"""Size of all texts up to which they are held in memory. A query to DuckDB takes about a millisecond."""
# Of 500,000 texts, DuckDB finds twenty in 1.6 ms by a join with the ids, and in 60 ms by a list of numbers in SQL.
_OF = "WHERE id IN (SELECT unnest($ids))"
_NAMED, _WEAK = "named by the query", "weak: has no word of the query and is no more similar than chance"
_NEEDED = {"key", "type", "name", "score", "snippet"}


def hits(stores: Stores, query: TextQuery, result: QueryResult, weak: NDArray[np.bool_]) -> pl.DataFrame:
    """Return a frame: rank, id, key, type, name, score, a score per component, snippet, weak (a mask)."""
    ids = result.ranking.ids.astype(np.int32)
    scores = {"score": result.ranking.scores}
    scores |= {name: part.score_of(result.ranking.ids) for name, part in result.components.items()}
    return pl.DataFrame(
        [
            pl.Series("rank", np.arange(1, len(ids) + 1)),
            *stores.nodes.columns_of(ids),
            *(pl.Series(name, values, dtype=pl.Float64, nan_to_null=True) for name, values in scores.items()),
            pl.Series("snippet", _snippets(stores, query, stores.shared(Documents).of(ids)), dtype=pl.String),
            pl.Series("weak", weak, dtype=pl.Boolean),
        ]
    )


class Documents:
    """The joined texts of nodes, by field and position. After some calls, those of a small KB are held in memory."""

    def __init__(self, stores: Stores) -> None:
        self._stores, self._calls = stores, 0
        self._held: dict[int, str] | None = None
        self._last: dict[int, str] = {}

    def of(self, ids: Ids) -> list[str]:
        """Return the document of each node."""
        nodes: list[int] = ids.tolist()
        self._calls += 1
        if self._calls == _FEW_CALLS and self._is_small():
            self._held = self._read()
        documents = self._held
        if documents is None:
            documents = self._last  # snippets are made of texts that the ranking has read
            if unread := [node for node in nodes if node not in documents]:
                documents = documents | self._read(_OF, unread)
            self._last = {node: documents.get(node, "") for node in nodes}
        return [documents.get(node, "") for node in nodes]

    def _is_small(self) -> bool:
        if 2 * sum(field.tokens for field in self._stores.schema.text_fields) > _HELD_BYTES:
            return False  # without reading them: a word and its space take two bytes at least
        [(size,)] = self._stores.tables.rows("SELECT coalesce(sum(strlen(text)), 0)::BIGINT FROM texts")
        return int(size) <= _HELD_BYTES

    def _read(self, where: str = "", ids: Sequence[int] = ()) -> dict[int, str]:
        sql = f"SELECT id, field::VARCHAR, position, text FROM texts {where}"
        rows = self._stores.tables.rows(sql, {"ids": ids} if where else {})
        texts: dict[int, list[str]] = {}
        for node, _, _, text in sorted(rows):
            texts.setdefault(node, []).append(text)
        return {node: " ".join(parts) for node, parts in texts.items()}


def _snippets(stores: Stores, query: TextQuery, documents: Sequence[str]) -> list[str]:
    """Return the passage of each document with most query words (without a text index: its beginning)."""
    if not stores.has("text"):
        return [snippet(document) for document in documents]
    return stores.text.snippets(set(query.words or stores.text.words(query.text)), documents)


def positions(result: QueryResult, frame: pl.DataFrame, asked: Mapping[str, str] | None = None) -> list[list[str]]:
    """Return for each hit why it is where it is: named by the query, weak, its position in each component's ranking.

    ``asked`` has a line for a type that the query probably asks for.
    """
    named, types = set(result.named.tolist()), asked or {}
    rows = frame.select("id", "weak", "type").iter_rows()
    return [_positions(node, result, node in named, weak, types.get(kind, "")) for node, weak, kind in rows]


def _positions(node: int, result: QueryResult, named: bool, weak: bool, asked: str) -> list[str]:
    lines = [_NAMED] * named + [_WEAK] * weak + [asked] * bool(asked)
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
