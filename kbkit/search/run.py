"""Searches, from what a user says to a frame: one query with its hits laid out, or many as a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from kbkit.answers.session import Session
from kbkit.errors import BadInputError, KbError, unpaired_surrogate
from kbkit.llm.cache import FILE as CACHE_FILE
from kbkit.search import rerank
from kbkit.search.filters import Given, candidates
from kbkit.search.hits import SearchResults, hits, positions
from kbkit.search.ranking import Ranked, Ranking, fuse
from kbkit.search.rerank import Reranker
from kbkit.search.retrievers import Asked, corrected, legs
from kbkit.search.settings import Options, Settings, field_weights
from kbkit.stores.arrays import both
from kbkit.stores.nodes import NODES_SQL
from kbkit.stores.text_query import TextQuery, check, parse
from kbkit.stores.threads import parallel

_AT_ONCE = 200
"""Queries between two words of how many are done: each such part reads all vectors once."""

Queries = Mapping[str, str] | Sequence[str] | pl.DataFrame


@dataclass(frozen=True)
class Search:
    """A search, checked before anything runs: its settings, and what reranks its hits."""

    session: Session
    settings: Settings
    reranker: Reranker | None

    @classmethod
    def of(
        cls,
        session: Session,
        mode: str,
        k: int,
        within: Given,
        node_type: str | None,
        reranker: str | Reranker | None,
        options: Options,
    ) -> Self:
        """Read what a user says; see :meth:`kbkit.kb.KnowledgeBase.search`."""
        rest: Options = {**options}
        fields = rest.pop("fields", ())
        settings = Settings(mode, k, **rest)  # type: ignore[arg-type] # which has no fields now
        if fields and not settings.uses("bm25"):
            raise KbError(f"fields are for full text, which mode {mode} does not use", "leave them out")
        settings = replace(
            settings,
            within=candidates(session, within, node_type),
            fields=field_weights(session.stores.text, fields) if fields else None,
        )
        if isinstance(reranker, str):
            reranker = rerank.load(reranker, cache=session.stores.workspace.folder / CACHE_FILE)
        return cls(session, settings, reranker)

    def one(self, text: str, explain: bool = False) -> SearchResults:
        """The hits of one query: rank, id, key, type, name, score, a score per component, snippet; ``why`` if asked."""
        query = self.read(text)
        [ranked] = self._reranked([query])
        frame = hits(self.session.stores, query, ranked)
        return SearchResults(self.explained(query, ranked, frame) if explain else frame)

    def many(self, queries: Queries, progress: Callable[[int, int], None] | None = None) -> pl.DataFrame:
        """The hits of many queries: query, rank, id, key, type, name, score; ``progress`` hears how many are done."""
        names, texts = _named(queries)
        rankings: list[Ranking] = []
        for start in range(0, len(texts), _AT_ONCE if progress else len(texts)):
            if progress:
                progress(start, len(texts))
            part = texts[start : start + _AT_ONCE] if progress else texts
            asked = list(parallel(self.read, part))
            rankings += [ranked.ranking for ranked in self._reranked(asked)]
        if progress:
            progress(len(texts), len(texts))
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

    def read(self, text: str) -> TextQuery:
        """Check and parse a query, and correct it where none of its words is in the index."""
        check(text)
        query = parse(text, self.settings.quotes)
        if not self.settings.uses("bm25"):
            return query
        return corrected(self.session.stores, query, self.settings.fields)

    def retrieve(self, queries: Sequence[TextQuery], k: int | None = None) -> list[Ranked]:
        """Rank the ``k`` best nodes for each query, all queries at once unless quotations restrict some of them."""
        settings = replace(self.settings, k=min(k or self.settings.k, self.session.schema.nodes))
        asked = Asked.of(self.session.stores, queries, settings)
        if not any(query.required for query in queries):
            return self.rank(asked, settings)
        return [self.rank(one, self._narrowed(one.queries[0], settings))[0] for one in asked.one_by_one()]

    def _narrowed(self, query: TextQuery, settings: Settings) -> Settings:
        """Turn what a query requires into a filter, which holds for every retriever."""
        if not query.required:
            return settings
        required = self.session.stores.text.matching(query, settings.fields)
        return replace(settings, within=both(settings.within, required))

    def rank(self, asked: Asked, settings: Settings) -> list[Ranked]:
        """Run the mode's retrievers, and fuse what they find."""
        found = legs(self.session.stores, asked, settings)
        if settings.mode in found:
            return [Ranked(ranking, {settings.mode: ranking}) for ranking in found[settings.mode](settings.k)]
        depth = max(settings.k, settings.depth)
        rankings = list(parallel(lambda leg: leg(depth), list(found.values())))
        return [fused(dict(zip(found, parts, strict=True)), settings) for parts in zip(*rankings, strict=True)]

    def explained(self, query: TextQuery, ranked: Ranked, frame: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002
        """Add a column ``why`` to the hits of a query."""
        return frame.with_columns(pl.Series("why", positions(ranked, frame), dtype=pl.List(pl.String)))

    def _reranked(self, queries: Sequence[TextQuery]) -> list[Ranked]:
        if self.reranker is None:
            return self.retrieve(queries)
        k = self.settings.k
        found = zip(queries, self.retrieve(queries, max(k, self.settings.rerank_depth)), strict=True)
        return [rerank.rerank(self.session, query.text, ranked, self.reranker, k) for query, ranked in found]


def fused(parts: dict[str, Ranking], settings: Settings) -> Ranked:
    """Fuse the rankings of one query."""
    weights = [settings.weights[leg] for leg in parts]
    return Ranked(fuse(list(parts.values()), weights, settings.k, settings.fusion, settings.rrf_k), parts)


def _named(queries: Queries) -> tuple[list[str], list[str]]:
    """Ids and texts; queries without ids are numbered from 1."""
    names, texts = _pairs(queries)
    if not names:
        raise BadInputError("there are no queries", "give one or more")
    seen: set[str] = set()
    for name, text in zip(names, texts, strict=True):
        if not isinstance(name, str) or unpaired_surrogate(name) is not None:
            raise BadInputError(f"a query is called {name!r}", "ids are texts or whole numbers")
        if name in seen:
            raise BadInputError(f"two queries are called {name!r}", "each needs an id of its own")
        seen.add(name)
        if not isinstance(text, str) or not text.strip():
            raise BadInputError(f"query {name!r} is empty", "give it some words, or leave it out")
        try:
            check(text)
        except KbError as error:
            raise BadInputError(f"query {name!r}: {error.message}", *error.hints) from None
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
