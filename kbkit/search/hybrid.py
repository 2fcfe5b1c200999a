"""Searches by words and vectors: one query with its hits, or many queries as a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from kbkit.answers.scope import Scope
from kbkit.answers.session import Session
from kbkit.assets.arguments import invalid
from kbkit.directory import systems
from kbkit.errors import BadInputError, KbError, Option, UnknownNameError
from kbkit.llm.threads import each
from kbkit.search.answer_types import of_hits, predicted
from kbkit.search.features import DEPTH as LEARNED_DEPTH
from kbkit.search.filters import candidates
from kbkit.search.hits import SearchResults, hits, positions
from kbkit.search.names import named, names_first
from kbkit.search.ranking import EMPTY, QueryResult, Ranking, fuse, union, with_scores
from kbkit.search.retrievers import QueryBatch, build, corrected
from kbkit.search.sentences import DEPTH as SENTENCE_DEPTH
from kbkit.search.sentences import with_sentences
from kbkit.search.settings import RETRIEVERS, SearchOptions, SearchSettings, field_weights
from kbkit.search.type_words import DEPTH as TYPE_DEPTH
from kbkit.search.type_words import named_types, prefer
from kbkit.search.weak import has_known_word, weak
from kbkit.stores.arrays import Within, both, is_in
from kbkit.stores.text import NAME
from kbkit.stores.text_query import TextQuery, check_query_text, parse

if TYPE_CHECKING:
    from kbkit.search.learned import LearnedRanking
    from kbkit.search.rerank import Reranker

_BATCH = 200
"""Queries between two progress reports: each batch scans all vectors once."""

_SMALL = 100_000
"""Nodes up to which the retrievers of one query run in turn."""

Queries = Mapping[str, str] | Sequence[str] | pl.DataFrame


@dataclass(frozen=True)
class Search:
    """A search with validated settings, the reranker of its hits, and the learned ranking, if it is used."""

    session: Session
    settings: SearchSettings
    reranker: Reranker | None
    ranker: LearnedRanking | None = None

    @classmethod
    def of(
        cls,
        session: Session,
        mode: str,
        k: int,
        within: Scope,
        node_type: str | None,
        reranker: str | Reranker | None,
        options: SearchOptions,
    ) -> Self:
        """Validate the arguments of :meth:`kbkit.kb.KnowledgeBase.search`."""
        for name in options.keys() - SearchOptions.__annotations__.keys():
            raise UnknownNameError("option", name, SearchOptions.__annotations__)
        rest: SearchOptions = {**options}
        fields = rest.pop("fields", ())
        settings = SearchSettings(mode, k, **rest)  # type: ignore[arg-type] # which has no fields now
        if fields and not settings.uses("bm25"):
            raise KbError(f"Mode {mode!r} does not search fields", "Omit ", Option("fields"), ", or use mode bm25")
        settings = replace(
            settings,
            within=candidates(session, within, node_type),
            fields=field_weights(session.stores.text, fields) if fields else None,
        )
        if isinstance(reranker, str):
            from kbkit.llm.cache import FILE as CACHE_FILE
            from kbkit.search import rerank

            reranker = rerank.load_reranker(reranker, cache=session.stores.workspace.folder / CACHE_FILE)
        elif reranker is not None and not hasattr(reranker, "score"):
            raise invalid("rerank", reranker, "Use the name of a reranker, or an object with the method score")
        return cls(session, settings, reranker)

    def one(self, text: str, explain: bool = False) -> SearchResults:
        """Return the hits of one query; see :func:`kbkit.search.hits.hits`. ``explain`` adds the column ``why``."""
        query = self.parse(text)
        [result] = self._reranked([query])
        stores = self.session.stores
        known = has_known_word(stores, query)
        mask = weak(stores, query, result, known)
        if mask.any() and not known and not self.settings.include_weak:
            ids, scores = result.ranking
            result, mask = result._replace(ranking=Ranking(ids[~mask], scores[~mask])), mask[~mask]
        frame = hits(stores, query, result, mask)
        return SearchResults(self.explained(query, result, frame) if explain else frame)

    def many(self, queries: Queries, progress: Callable[[int, int], None] | None = None) -> pl.DataFrame:
        """Return the hits of many queries: query, rank, id, key, type, name, score.

        Rankings are complete: weak hits are neither left out nor marked. ``progress`` is called with (done, total).
        """
        names, texts = pairs(queries)
        rankings: list[Ranking] = []
        size = _BATCH if progress else len(texts)
        for start in range(0, len(texts), size):
            if progress:
                progress(start, len(texts))
            parsed = each(self.parse, texts[start : start + size], systems.cores())
            rankings += [result.ranking for result in self._reranked(parsed)]
        if progress:
            progress(len(texts), len(texts))
        counts = [len(ranking.ids) for ranking in rankings]
        ids = [ranking.ids.astype(np.int32) for ranking in rankings]
        columns = [
            pl.Series("query", np.repeat(np.array(names, object), counts), dtype=pl.String),
            pl.Series("rank", np.concatenate([np.arange(1, count + 1) for count in counts])),
            *self.session.stores.nodes.columns_of(np.concatenate(ids)),
            pl.Series("score", np.concatenate([ranking.scores for ranking in rankings])),
        ]
        return pl.DataFrame(columns)

    def parse(self, text: str) -> TextQuery:
        """Check and parse a query; correct its spelling if none of its words is in the index."""
        check_query_text(text)
        query = parse(text, self.settings.quotes)
        if not self.settings.uses("bm25") and not self.session.stores.has("text"):
            return query
        return corrected(self.session.stores, query, self.settings.fields)

    def retrieve(self, queries: Sequence[TextQuery], k: int | None = None) -> list[QueryResult]:
        """Return the ``k`` best nodes for each query, in one batch unless some queries require quoted words."""
        settings = self.settings.changed(k=min(k or self.settings.k, self.session.schema.nodes))
        batch = QueryBatch.of(self.session.stores, queries, settings)
        if not any(query.required for query in queries):
            results = self.rank(batch, settings)
            return [self._names_first(batch, i, settings, result) for i, result in enumerate(results)]
        retrieved = []
        for single in batch.split():
            narrowed = self._narrowed(single.queries[0], settings)
            retrieved.append(self._names_first(single, 0, narrowed, self.rank(single, narrowed)[0]))
        return retrieved

    def _names_first(
        self, batch: QueryBatch, position: int, settings: SearchSettings, result: QueryResult
    ) -> QueryResult:
        """Rank the nodes first that the query at a position of the batch names, unless names are not searched."""
        if settings.fields is not None and NAME not in settings.fields:
            return result

        def rank(within: Within) -> QueryResult:
            return self.rank(batch.one(position), settings.changed(within=within))[0]

        nodes = named(self.session.stores, batch.queries[position])
        return names_first(result, nodes, settings.within, settings.k, rank) if len(nodes) else result

    def _narrowed(self, query: TextQuery, settings: SearchSettings) -> SearchSettings:
        """Turn the required words of a query into a filter for all retrievers."""
        if not query.required:
            return settings
        required = self.session.stores.text.matching(query, settings.fields)
        return settings.changed(within=both(settings.within, required))

    def rank(self, batch: QueryBatch, settings: SearchSettings) -> list[QueryResult]:
        """Run the retrievers of the mode, fuse their rankings, and apply the learned ranking if there is one.

        Other packages add their own modes.
        """
        ranker = self.ranker
        if ranker is None:
            return self._fused_all(batch, settings)
        results = self._fused_all(batch, settings.changed(k=max(settings.k, LEARNED_DEPTH)))
        threads = systems.cores() if len(results) > 1 else 1
        both = list(zip(batch.queries, results, strict=True))
        return each(lambda pair: ranker.ranked(self.session, *pair, settings.k, settings.within), both, threads)

    def unnamed(self, queries: Sequence[TextQuery]) -> list[QueryResult]:
        """Return the ranking of each query, without the nodes that it names put first: what rankings learn from."""
        return self.rank(QueryBatch.of(self.session.stores, queries, self.settings), self.settings)

    def _fused_all(self, batch: QueryBatch, settings: SearchSettings) -> list[QueryResult]:
        assert settings.mode in (*RETRIEVERS, "hybrid"), settings.mode
        retrievers = build(self.session.stores, batch, settings)
        types = [named_types(self.session, query) for query in batch.queries]
        k = max(settings.k, TYPE_DEPTH) if any(types) else settings.k
        if settings.mode in retrievers:
            results = [QueryResult(ranking, {settings.mode: ranking}) for ranking in retrievers[settings.mode](k)]
            return self._preferred(results, types, settings.k)
        depth = max(settings.k, settings.depth)
        # For one query on a small KB, starting threads takes longer than the retrievers.
        threads = systems.cores() if len(batch.queries) > 1 or self.session.schema.nodes > _SMALL else 1
        rankings = each(lambda retrieve: retrieve(depth), list(retrievers.values()), threads)
        fusing = settings.changed(k=k)
        legs = [dict(zip(retrievers, parts, strict=True)) for parts in zip(*rankings, strict=True)]
        results = each(lambda at: self._fused(batch.one(at), legs[at], fusing), range(len(legs)), threads)
        return self._preferred(results, types, settings.k)

    def _fused(self, batch: QueryBatch, components: dict[str, Ranking], settings: SearchSettings) -> QueryResult:
        """Fuse the rankings of one query.

        Scores are fused after each retriever has also scored the nodes that only the others found: a node is not worse
        for being just below the depth of a retriever.
        """
        rankings = {name: ranking for name, ranking in components.items() if len(ranking.ids)}
        if settings.fusion != "rrf":
            ids = union(rankings.values())
            for name, ranking in rankings.items():
                rest = ids[~is_in(ids, np.sort(ranking.ids))]
                retrieve = build(self.session.stores, batch, settings.changed(within=rest))[name]
                [more] = retrieve(len(rest)) if len(rest) else [EMPTY]
                rankings[name] = with_scores(ranking, more, ids)
        weights = [settings.leg_weights[name] for name in rankings]
        k = max(settings.k, SENTENCE_DEPTH)
        ranking = fuse(list(rankings.values()), weights, k, settings.fusion, settings.rrf_k)
        if settings.fusion != "rrf" and "bm25" in rankings and settings.fields is None:
            ranking = with_sentences(self.session.stores, batch.queries[0], ranking)
        return QueryResult(ranking.cut(settings.k), components, scored=rankings)

    def _preferred(self, results: Sequence[QueryResult], types: Sequence[tuple[str, ...]], k: int) -> list[QueryResult]:
        """Prefer the types that each query names, and return the ``k`` best."""
        both = zip(results, types, strict=True)
        return [one._replace(ranking=prefer(self.session, one.ranking, names).cut(k)) for one, names in both]

    def explained(self, query: TextQuery, result: QueryResult, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the column ``why`` to the hits of a query."""
        return frame.with_columns(pl.Series("why", self.reasons(query, result, frame), dtype=pl.List(pl.String)))

    def reasons(self, query: TextQuery, result: QueryResult, frame: pl.DataFrame) -> list[list[str]]:
        """Return for each hit why it is where it is, with the probability that the query asks for its type."""
        if len(self.session.schema.primary_types) < 2 or not frame.height:
            return positions(result, frame)
        types = self._predicted_types(query, frame)
        asked = {name: f"type {name}: probably asked for ({share:.2f})" for name, share in types.items() if share > 0.5}
        return positions(result, frame, asked)

    def _predicted_types(self, query: TextQuery, frame: pl.DataFrame) -> dict[str, float]:
        hits = Ranking(frame["id"].to_numpy().astype(np.int64), frame["score"].to_numpy())
        shares = of_hits(hits, frame["type"].to_list())
        known = self.ranker
        examples = None
        if known is not None:
            stems = list(query.words or self.session.stores.text.words(query.text))
            names = [t.name for t in self.session.schema.primary_types]
            examples = known.examples.types.probabilities(stems, names)
        return predicted(shares, named_types(self.session, query), examples)

    def _reranked(self, queries: Sequence[TextQuery]) -> list[QueryResult]:
        if self.reranker is None:
            return self.retrieve(queries)
        from kbkit.search import rerank

        k = self.settings.k
        retrieved = zip(queries, self.retrieve(queries, max(k, self.settings.rerank_depth)), strict=True)
        return [rerank.rerank(self.session, query.text, result, self.reranker, k) for query, result in retrieved]


def pairs(queries: Queries) -> tuple[list[str], list[str]]:
    """Return ids and texts; queries without ids are numbered from 1."""
    names, texts = _pairs(queries)
    if not names:
        raise BadInputError("No queries", "Add at least one query")
    seen: set[str] = set()
    for name, text in zip(names, texts, strict=True):
        if not isinstance(name, str) or any("\ud800" <= c <= "\udfff" for c in name):
            raise BadInputError(f"Invalid query id {name!r}", "Use a string or an integer")
        if name in seen:
            raise BadInputError(f"Duplicate query {name!r}", "Rename one of them")
        seen.add(name)
        if not isinstance(text, str) or not text.strip():
            raise BadInputError(f"Empty query {name!r}", "Add words, or remove the query")
        try:
            check_query_text(text)
        except KbError as error:
            raise BadInputError(f"Query {name!r}: {error.message}", *error.hints) from None
    return names, texts


def _pairs(queries: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(queries, pl.DataFrame):
        missing = {"query", "text"} - set(queries.columns)
        if missing:
            raise BadInputError(
                f"Missing column {min(missing)!r} in the queries", "Columns are query (the id) and text"
            )
        return _ids(queries["query"].to_list()), queries["text"].to_list()
    if isinstance(queries, Mapping):
        return _ids(queries), list(queries.values())
    if isinstance(queries, Sequence) and not isinstance(queries, str):
        return _ids(range(1, len(queries) + 1)), list(queries)
    raise BadInputError(f"Invalid queries: {queries!r:.40}", "Use a list of texts, texts by id, or a frame")


def _ids(values: Iterable[Any]) -> list[Any]:
    return [str(value) if isinstance(value, int) else value for value in values]
