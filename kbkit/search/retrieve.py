"""Runs a search mode and lays out its hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.errors import KbError, UnknownNameError
from kbkit.lookup import SNIPPET_SQL
from kbkit.search.bm25 import bm25
from kbkit.search.dense import dense
from kbkit.search.hybrid import hybrid
from kbkit.search.ranking import Ranking
from kbkit.stores import Stores

MODES = ("bm25", "dense", "hybrid")
MAX_K = 1_000_000


def search(stores: Stores, query: str, k: int, mode: str, type_name: str | None) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.search`."""
    if mode not in MODES:
        raise UnknownNameError("mode", mode, MODES)
    if not 1 <= k <= MAX_K:
        raise KbError(f"k is {k}", f"it is from 1 to {MAX_K:,}")
    if not query.strip():
        raise KbError("the query is empty", "give some words")
    if not query.isprintable() and any("\ud800" <= c <= "\udfff" for c in query):
        raise KbError("the query is not valid text", "it holds bytes that are not UTF-8")
    legs = _legs(stores, query, type_name)
    k = min(k, stores.schema.nodes)
    if mode == "hybrid":
        ranking, parts = hybrid(legs, k)
    else:
        ranking = legs[mode](k)
        parts = {mode: ranking}
    return _hits(stores, query, ranking, parts)


def _legs(stores: Stores, query: str, type_name: str | None) -> dict[str, Callable[[int], Ranking]]:
    """The retrievers, each from a depth to its ranking."""
    node_type = stores.schema.type(type_name) if type_name else None
    within = members(stores, type_name) if type_name else None
    return {
        "bm25": lambda depth: bm25(stores.text, query, depth, node_type),
        "dense": lambda depth: dense(stores.vectors, stores.embedder, query, depth, within),
    }


def members(stores: Stores, type_name: str) -> NDArray[np.int64] | slice:
    """Ids of the nodes that have a type: a range, or sorted ids where some have it besides another."""
    node_type = stores.schema.type(type_name)
    if not node_type.others:
        return slice(node_type.first, node_type.last + 1)
    rows = stores.tables.rows("SELECT id FROM node_types WHERE type = $type", {"type": node_type.name})
    primary = np.arange(node_type.first, node_type.last + 1)
    return np.union1d(primary, np.array([row[0] for row in rows], np.int64))


def _hits(stores: Stores, query: str, ranking: Ranking, parts: Mapping[str, Ranking]) -> pl.DataFrame:
    """The frame: rank, id, key, type, name, score, a score per component, snippet."""
    ids = ranking.ids.tolist()
    found = stores.tables.lookup(SNIPPET_SQL, {"ids": ids})
    schema = {"rank": pl.Int64, "id": pl.Int32, "score": pl.Float64}
    frame = pl.DataFrame({"rank": range(1, len(ids) + 1), "id": ids, "score": ranking.scores}, schema=schema)
    frame = frame.join(found, on="id", how="left", maintain_order="left")
    components = [pl.Series(name, part.score_of(ranking.ids), dtype=pl.Float64) for name, part in parts.items()]
    snippets = stores.text.snippets(query, frame["text"].fill_null("").to_list())
    frame = frame.with_columns(*components, pl.Series("snippet", snippets, dtype=pl.String))
    return frame.select("rank", "id", "key", "type", "name", "score", *parts, "snippet")
