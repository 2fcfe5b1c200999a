"""Searches, from what a user says to a frame: one query with its hits laid out, or many as a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from kbkit.answers.session import Session
from kbkit.errors import BadInputError, KbError
from kbkit.llm.cache import FILE as CACHE_FILE
from kbkit.lookup import NODES_SQL
from kbkit.search import rerank
from kbkit.search.filters import Given, candidates
from kbkit.search.hits import explained, hits
from kbkit.search.parallel import each
from kbkit.search.ranking import Ranked, Ranking
from kbkit.search.rerank import Reranker
from kbkit.search.retrieve import read, retrieve
from kbkit.search.settings import Options, Settings, field_weights
from kbkit.stores.text_query import TextQuery, check

_AT_ONCE = 200
"""Queries between two words of how many are done: each such part reads all vectors once."""

Queries = Mapping[str, str] | Sequence[str] | pl.DataFrame


@dataclass(frozen=True)
class Search:
    """A search, checked before anything runs: its settings, and what reranks its hits."""

    session: Session
    settings: Settings
    reranker: Reranker | None

    @staticmethod
    def of(
        session: Session,
        mode: str,
        k: int,
        within: Given,
        node_type: str | None,
        reranker: str | Reranker | None,
        options: Options,
    ) -> Search:
        """Read what a user says; see :meth:`kbkit.kb.KnowledgeBase.search`."""
        rest: Options = {**options}
        fields = rest.pop("fields", ())
        settings = Settings(mode, k, **rest)  # type: ignore[arg-type] # which has no fields now
        if fields and not settings.uses("bm25"):
            raise KbError(f"fields are for full text, which mode {mode} does not use", "leave them out")
        settings = dataclasses.replace(
            settings,
            within=candidates(session, within, node_type),
            fields=field_weights(session.stores.text, fields) if fields else None,
        )
        if isinstance(reranker, str):
            reranker = rerank.load(reranker, cache=session.stores.workspace.folder / CACHE_FILE)
        return Search(session, settings, reranker)

    def one(self, text: str, explain: bool) -> pl.DataFrame:
        """The hits of one query: rank, id, key, type, name, score, a score per component, snippet; ``why`` if asked."""
        query = read(self.session, text, self.settings)
        [ranked] = self._ranked([query])
        frame = hits(self.session, query, ranked)
        return explained(self.session, query, self.settings, ranked, frame) if explain else frame

    def many(self, queries: Queries, tell: Callable[[int, int], None] | None = None) -> pl.DataFrame:
        """The hits of many queries: query, rank, id, key, type, name, score; ``tell`` hears how many are done."""
        names, texts = _named(queries)
        rankings: list[Ranking] = []
        for start in range(0, len(texts), _AT_ONCE if tell else len(texts)):
            if tell:
                tell(start, len(texts))
            part = texts[start : start + _AT_ONCE] if tell else texts
            asked = each(lambda text: read(self.session, text, self.settings), part)
            rankings += [ranked.ranking for ranked in self._ranked(asked)]
        if tell:
            tell(len(texts), len(texts))
        counts = [len(ranking.ids) for ranking in rankings]
        frame = pl.DataFrame(
            {
                "query": pl.Series(np.repeat(np.array(names, object), counts), dtype=pl.String),
                "rank": np.concatenate([np.arange(1, count + 1) for count in counts]),
                "id": np.concatenate([ranking.ids for ranking in rankings]).astype(np.int32),
                "score": np.concatenate([ranking.scores for ranking in rankings]),
            }
        )
        nodes = self.session.stores.tables.lookup(NODES_SQL, {"ids": frame["id"].unique().to_list()})
        return frame.join(nodes, on="id", how="left", maintain_order="left").select(
            "query", "rank", "id", "key", "type", "name", "score"
        )

    def _ranked(self, queries: Sequence[TextQuery]) -> list[Ranked]:
        if self.reranker is None:
            return retrieve(self.session, queries, self.settings)
        k = self.settings.k
        deeper = dataclasses.replace(self.settings, k=max(k, self.settings.rerank_depth))
        found = zip(queries, retrieve(self.session, queries, deeper), strict=True)
        return [rerank.rerank(self.session, query.text, ranked, self.reranker, k) for query, ranked in found]


def _named(queries: Queries) -> tuple[list[str], list[str]]:
    """Ids and texts; queries without ids are numbered from 1."""
    names, texts = _pairs(queries)
    if not names:
        raise BadInputError("there are no queries", "give one or more")
    seen: set[str] = set()
    for name, text in zip(names, texts, strict=True):
        if not isinstance(name, str) or any("\ud800" <= c <= "\udfff" for c in name):
            raise BadInputError(f"a query is called {name!r}", "ids are texts or whole numbers")
        if name in seen:
            raise BadInputError(f"two queries are called {name!r}", "each needs an id of its own")
        seen.add(name)
        if not isinstance(text, str) or not text.strip():
            raise BadInputError(f"query {name!r} is empty", "give it some words, or leave it out")
        try:
            check(text)
        except KbError as error:
            raise BadInputError(f"query {name!r}: {error.message}", error.hint) from None
    return names, texts


def _pairs(queries: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(queries, pl.DataFrame):
        missing = {"query", "text"} - set(queries.columns)
        if missing:
            raise BadInputError(f"the queries have no column {min(missing)!r}", "query is the id, text the words")
        return _ids(queries["query"].to_list()), queries["text"].to_list()
    if isinstance(queries, Mapping):
        return _ids(queries), list(queries.values())
    if isinstance(queries, Sequence) and not isinstance(queries, str):
        return _ids(range(1, len(queries) + 1)), list(queries)
    raise BadInputError(f"the queries are {queries!r:.40}", "give a list of texts, or texts by id, or a frame")


def _ids(given: Iterable[Any]) -> list[Any]:
    return [str(name) if isinstance(name, int) else name for name in given]
