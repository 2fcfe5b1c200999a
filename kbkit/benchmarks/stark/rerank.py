"""STaRK's rerankers (section 3.1): the best hits of a search, scored again from their texts and relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from kbkit.answers.session import Session
from kbkit.assets.arguments import check_range
from kbkit.benchmarks import run as runs
from kbkit.benchmarks.retrieval import DatasetQuery, lists_of
from kbkit.benchmarks.stark.dataset import HUMAN
from kbkit.benchmarks.stark.run import Hits, ModeRunner, Result
from kbkit.errors import KbError, Option
from kbkit.llm.calls import Calls
from kbkit.search.rerank import RerankCandidate, Reranker, candidates, load_reranker

DEPTH, HUMAN_DEPTH = 20, 10
"""Number of hits that the paper reranks, for synthesized and for human-written queries."""
TIMED = 10
"""Number of queries whose reranking is timed: a query can take a model several seconds."""
PROMPT = "rerank"
_STEP = 1e-9
"""Amount subtracted per rank, so that equal scores keep the order of the search."""
_EMPTY = pl.DataFrame(schema={"query": pl.String, "id": pl.Int32, "model": pl.Float64})


class QueryHit(NamedTuple):
    """The text of a query and one of its hits."""

    query: str
    candidate: RerankCandidate


Scorer = Callable[[Sequence[QueryHit]], list[float | None]]
"""Returns a number for each pair, higher is better; None without a score."""


class Scoring(NamedTuple):
    """A reranker, and the ``settings`` that its scores depend on."""

    name: str
    scorer: Scorer
    settings: Mapping[str, Any] = MappingProxyType({})


def scorings(reranker: str | None, calls: Calls | None) -> list[Scoring]:
    """Return the reranker of that name (``cross-encoder:MODEL``), and one for each model of ``calls``."""
    scorers = []
    if reranker is not None:
        if reranker.startswith("llm:"):
            hint = ("Use ", Option("llm", reranker.removeprefix("llm:")), " for it")
            raise KbError(f"Reranker {reranker!r} is a language model", *hint)
        loaded = load_reranker(reranker)
        scorers.append(Scoring(loaded.name, reranker_scorer(loaded), getattr(loaded, "settings", {})))
    if calls is None:
        return scorers
    prompts = {"prompts": {PROMPT: calls.prompt(PROMPT).digest}}
    return scorers + [Scoring(name, model_scorer(calls, name), prompts) for name in calls.models]


def model_scorer(calls: Calls, model: str) -> Scorer:
    """Return a scorer by a language model, from 0 to 1; None for an invalid answer."""

    def scores(pairs: Sequence[QueryHit]) -> list[float | None]:
        answers = calls.ask(PROMPT, [candidate.prompt_inputs(query) for query, candidate in pairs], model)
        return [None if answer.problem else float(answer.value["score"]) for answer in answers]

    return scores


def reranker_scorer(reranker: Reranker) -> Scorer:
    """Return a scorer by any other reranker, which takes the pairs query by query."""

    def scores(pairs: Sequence[QueryHit]) -> list[float | None]:
        all_scores: list[float | None] = []
        for query, group in groupby(pairs, key=lambda pair: pair.query):
            all_scores += reranker.score(query, [pair.candidate for pair in group])
        return all_scores

    return scores


def depth(split: str, wanted: int | None = None) -> int:
    """Return the number of hits to rerank: ``wanted``, or else the paper's number."""
    if wanted is not None:
        check_range("number of hits to rerank", wanted)
    return wanted or (HUMAN_DEPTH if split == HUMAN else DEPTH)


def run_name(mode: str, scoring: Scoring) -> str:
    """Return the name of the run that :func:`result` returns."""
    return f"{mode} + {scoring.name}"


def result(
    runner: ModeRunner,
    mode: str,
    scoring: Scoring,
    depth: int,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> tuple[Result, list[str]]:
    """Return the run of a mode with the first ``depth`` hits of each question reranked, and remarks on it.

    Hits without a score come after those with one, then all other hits in their old order. Its latency is that of
    searching and reranking, without questions that a model answered from the cache.
    """
    system = Reranking(runner, mode, scoring, depth)
    run, rows = runner.run(system, system.timing(), progress)
    without, total = sum(row.unscored for row in rows), sum(row.reranked for row in rows)
    remarks = [f"{run.name}: {without:,} of {total:,} hits got no valid score and rank last"] if without else []
    return run, remarks


class Reranking:
    """A search mode whose first ``depth`` hits are reranked."""

    def __init__(self, runner: ModeRunner, mode: str, scoring: Scoring, depth: int) -> None:
        self._runner, self._mode, self._scoring, self._depth = runner, mode, scoring, depth
        self._known: dict[str, pl.DataFrame] = {}
        self.name = run_name(mode, scoring)
        self.settings = {"mode": mode, "reranker": scoring.name, "depth": depth, **scoring.settings}

    def answer(self, queries: Sequence[DatasetQuery]) -> list[Hits]:
        """Return the hits of each question."""
        hits = self._runner.hits(self._mode, queries)
        new = [query for query in queries if query.id not in self._known]
        known = [self._known[query.id] for query in queries if query.id in self._known]
        scored = pl.concat([_EMPTY, *known, self._scores(new)])
        ranked = merged(hits, scored).sort("score", descending=True, maintain_order=True)
        lists = lists_of(self._runner.task.run(ranked), [query.id for query in queries])
        counts = scored.group_by("query").agg(pl.len(), pl.col("model").null_count().alias("unscored"))
        numbers = {query: (total, without) for query, total, without in counts.iter_rows()}
        return [Hits(name, nodes, scores, *numbers.get(name, (0, 0))) for name, (nodes, scores) in lists.items()]

    def timing(self) -> runs.Timing[DatasetQuery]:
        """Return how the first questions are timed; their scores are kept for :meth:`answer`."""
        searching = self._runner.search(self._mode)
        count = min(TIMED, self._runner.timed)
        if count:
            self._runner.hits(self._mode, self._runner.queries[:count])  # all searches of reranking but the timed one

        def alone(query: DatasetQuery) -> None:
            searching.one(query.text, explain=False)
            self._known[query.id] = self._scores([query])

        return runs.Timing(count, alone)

    def _scores(self, queries: Sequence[DatasetQuery]) -> pl.DataFrame:
        """Return query, id, model of the first hits of questions, scored in one batch."""
        if not queries:
            return _EMPTY
        texts = pl.DataFrame(queries, schema={"query": pl.String, "text": pl.String}, orient="row")
        hits = self._runner.hits(self._mode, queries).filter(pl.col("rank") <= self._depth)
        hits = hits.join(texts, on="query", maintain_order="left")
        scores = pl.Series("model", self._scoring.scorer(_pairs(self._runner.session, hits)), dtype=pl.Float64)
        return hits.select("query", "id").with_columns(scores)


def merged(hits: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    """Return the hits of a search in their new order, by ``scored`` (query, id, model: null without a score)."""
    below = pl.col("model").min().over("query").fill_null(1.0) - 1
    score = pl.coalesce("model", below) - _STEP * pl.col("rank")
    both = hits.join(scored, on=["query", "id"], how="left", maintain_order="left")
    return both.with_columns(score.alias("score")).drop("model")


def _pairs(session: Session, hits: pl.DataFrame) -> list[QueryHit]:
    ids = hits["id"].unique(maintain_order=True).to_list()
    known = dict(zip(ids, candidates(session, ids), strict=True))
    return [QueryHit(text, known[node]) for text, node in hits.select("text", "id").iter_rows()]
