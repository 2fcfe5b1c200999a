"""STaRK's rerankers (section 3.1): the best hits of a search, scored again from their texts and relations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import polars as pl

from kbkit.answers.session import Session
from kbkit.assets.arguments import check_range
from kbkit.benchmarks.stark.dataset import HUMAN
from kbkit.benchmarks.stark.evaluate import Latency, Result, Runner
from kbkit.errors import KbError, Option
from kbkit.llm.calls import Calls
from kbkit.search.rerank import RerankCandidate, Reranker, candidates, load

DEPTH, HUMAN_DEPTH = 20, 10
"""Number of hits that the paper reranks, for synthesized and for human-written queries."""
TIMED = 10
"""Number of queries whose reranking is timed: a query can take a model several seconds."""
_BATCH = 200
"""Number of queries whose candidates are held in memory at once."""
_STEP = 1e-9
"""Amount subtracted per rank, so that equal scores keep the order of the search."""
_EMPTY = pl.DataFrame(schema={"query": pl.String, "id": pl.Int32, "model": pl.Float64})


class Pair(NamedTuple):
    """The text of a query and one of its hits."""

    query: str
    candidate: RerankCandidate


Scorer = Callable[[Sequence[Pair]], list[float | None]]
"""Returns a number for each pair, higher is better; None without a score."""


class System(NamedTuple):
    """A reranker; ``calls`` if it is a language model, whose cached answers are not timed."""

    name: str
    scorer: Scorer
    calls: Calls | None = None


def systems(reranker: str | None, calls: Calls | None) -> list[System]:
    """Return the reranker of that name (``cross-encoder:MODEL``), and one for each model of ``calls``."""
    found = []
    if reranker is not None:
        if reranker.startswith("llm:"):
            hint = ("Use ", Option("llm", reranker.removeprefix("llm:")), " for it")
            raise KbError(f"Reranker {reranker!r} is a language model", *hint)
        loaded = load(reranker)
        found.append(System(loaded.name, reranker_scorer(loaded)))
    return found + ([System(name, model_scorer(calls, name), calls) for name in calls.models] if calls else [])


def model_scorer(calls: Calls, model: str) -> Scorer:
    """Return a scorer by a language model, from 0 to 1; None for an invalid answer."""

    def scores(pairs: Sequence[Pair]) -> list[float | None]:
        answers = calls.ask("rerank", [candidate.prompt_inputs(query) for query, candidate in pairs], model)
        return [None if answer.problem else float(answer.value["score"]) for answer in answers]

    return scores


def reranker_scorer(reranker: Reranker) -> Scorer:
    """Return a scorer by any other reranker, which takes the pairs query by query."""

    def scores(pairs: Sequence[Pair]) -> list[float | None]:
        result: list[float | None] = []
        for query, group in groupby(pairs, key=lambda pair: pair.query):
            result += reranker.score(query, [pair.candidate for pair in group])
        return result

    return scores


def depth(split: str, wanted: int | None = None) -> int:
    """Return the number of hits to rerank: ``wanted``, or else the paper's number."""
    if wanted is not None:
        check_range("number of hits to rerank", wanted)
    return wanted or (HUMAN_DEPTH if split == HUMAN else DEPTH)


def run_name(mode: str, system: System) -> str:
    """Return the name of the run that :func:`result` returns."""
    return f"{mode} + {system.name}"


def result(runner: Runner, mode: str, system: System, depth: int) -> tuple[Result, list[str]]:
    """Return the run of a mode with the first ``depth`` hits of each question reranked, and remarks on it.

    Hits without a score come after those with one, then all other hits in their old order.
    """
    found = runner.hits(mode)
    queries = runner.task.gold.queries.select("query", "text")
    top = found.filter(pl.col("rank") <= depth).join(queries, on="query", maintain_order="left")
    first = queries.head(min(TIMED, runner.timed))
    timed, taken = _timed(runner, mode, top, first, system)
    scored = pl.concat(
        [timed, _scored(runner.session, top.join(first, on="query", how="anti", maintain_order="left"), system.scorer)]
    )
    name = run_name(mode, system)
    without = scored["model"].null_count()
    remarks = [f"{name}: {without:,} of {top.height:,} hits got no valid score and rank last"] if without else []
    return Result(name, runner.task.run(merged(found, scored)), taken), remarks


def merged(found: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    """Return the hits of a search in their new order, by ``scored`` (query, id, model: null without a score)."""
    below = pl.col("model").min().over("query").fill_null(1.0) - 1
    score = pl.coalesce("model", below) - _STEP * pl.col("rank")
    both = found.join(scored, on=["query", "id"], how="left", maintain_order="left")
    return both.with_columns(score.alias("score")).drop("model")


def _timed(
    runner: Runner, mode: str, top: pl.DataFrame, first: pl.DataFrame, system: System
) -> tuple[pl.DataFrame, Latency | None]:
    """Return the scores of the ``first`` questions, and the time of searching and reranking each of them.

    Questions with cached answers of a model are not timed.
    """
    searching, calls = runner.search(mode), system.calls
    parts, seconds = [_EMPTY], []
    for query, text in first.iter_rows():
        known = calls.account.cached if calls else 0
        started = time.perf_counter()
        searching.one(text, explain=False)
        parts.append(_scores(runner.session, top.filter(pl.col("query") == query), system.scorer))
        if calls is None or calls.account.cached == known:
            seconds.append(time.perf_counter() - started)
    return pl.concat(parts), Latency.of(seconds)


def _scored(session: Session, top: pl.DataFrame, scorer: Scorer) -> pl.DataFrame:
    """Return query, id, model."""
    names = top["query"].unique(maintain_order=True)
    parts = [_EMPTY]
    for start in range(0, len(names), _BATCH):
        some = names[start : start + _BATCH].to_list()
        parts.append(_scores(session, top.filter(pl.col("query").is_in(some)), scorer))
    return pl.concat(parts)


def _scores(session: Session, hits: pl.DataFrame, scorer: Scorer) -> pl.DataFrame:
    """Return query, id, model of all these hits in one batch."""
    scores = pl.Series("model", scorer(_pairs(session, hits)), dtype=pl.Float64)
    return hits.select("query", "id").with_columns(scores)


def _pairs(session: Session, hits: pl.DataFrame) -> list[Pair]:
    ids = hits["id"].unique(maintain_order=True).to_list()
    known = dict(zip(ids, candidates(session, ids), strict=True))
    return [Pair(text, known[node]) for text, node in hits.select("text", "id").iter_rows()]
