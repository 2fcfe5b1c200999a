"""STaRK's rerankers (section 3.1): the best hits of a search, scored anew from their texts and relations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import polars as pl

from kbkit.answers.session import Session
from kbkit.benchmarks.stark.dataset import HUMAN
from kbkit.benchmarks.stark.evaluate import Latency, Result, Runner, as_run
from kbkit.errors import KbError
from kbkit.llm.calls import Calls
from kbkit.search.rerank import Candidate, Reranker, candidates, load

DEPTH, HUMAN_DEPTH = 20, 10
"""How many hits the paper reranks: of synthesized queries, and of those that people wrote."""
TIMED = 10
"""Queries whose reranking is timed: each may be some seconds of a model's work."""
_AT_ONCE = 200
"""Queries whose candidates are held in memory at once."""
_STEP = 1e-9
"""What a place costs, so that equal scores keep the order of the search when a run is sorted by scores."""


_NOTHING = pl.DataFrame(schema={"query": pl.String, "id": pl.Int32, "model": pl.Float64})


class Pair(NamedTuple):
    """A query's words and one of its hits."""

    query: str
    candidate: Candidate


Scorer = Callable[[Sequence[Pair]], list[float | None]]
"""A number for each pair, best highest; None where there is none."""


class System(NamedTuple):
    """What reranks; ``calls`` where it is a language model, whose known answers take no time."""

    name: str
    scorer: Scorer
    calls: Calls | None = None


def systems(reranker: str | None, calls: Calls | None) -> list[System]:
    """The reranker of that name (``cross-encoder:MODEL``), and each model of ``calls``."""
    found = []
    if reranker is not None:
        if reranker.startswith("llm:"):
            raise KbError(f"--rerank {reranker} is a language model", f"--llm {reranker.removeprefix('llm:')} names it")
        loaded = load(reranker)
        found.append(System(loaded.name, reranker_scorer(loaded)))
    return found + ([System(name, model_scorer(calls, name), calls) for name in calls.models] if calls else [])


def model_scorer(calls: Calls, model: str) -> Scorer:
    """A language model says from 0 to 1 how well a candidate satisfies the query; None where its answer is unfit."""

    def scores(pairs: Sequence[Pair]) -> list[float | None]:
        answers = calls.ask("rerank", [candidate.prompt_inputs(query) for query, candidate in pairs], model)
        return [None if answer.problem else float(answer.value["score"]) for answer in answers]

    return scores


def reranker_scorer(reranker: Reranker) -> Scorer:
    """Any other reranker, which takes the pairs query by query."""

    def scores(pairs: Sequence[Pair]) -> list[float | None]:
        result: list[float | None] = []
        for query, group in groupby(pairs, key=lambda pair: pair.query):
            result += reranker.score(query, [pair.candidate for pair in group])
        return result

    return scores


def depth(split: str, given: int | None = None) -> int:
    """How many hits are reranked: those that the user says, else the paper's number."""
    if given is not None and given < 1:
        raise KbError(f"{given} hits to rerank", "it is 1 or more")
    return given or (HUMAN_DEPTH if split == HUMAN else DEPTH)


def named(mode: str, system: System) -> str:
    """What the run is called that :func:`result` gives."""
    return f"{mode} + {system.name}"


def result(runner: Runner, mode: str, system: System, depth: int) -> tuple[Result, list[str]]:
    """The run of a mode with its first ``depth`` hits of each question in a new order, and remarks on it.

    Hits that got no score come after those that did, and then the rest, as they were.
    """
    found = runner.hits(mode)
    queries = runner.task.gold.queries.select("query", "text")
    top = found.filter(pl.col("rank") <= depth).join(queries, on="query", maintain_order="left")
    first = queries.head(min(TIMED, runner.timed))
    timed, taken = _timed(runner, mode, top, first, system)
    scored = pl.concat(
        [timed, _scored(runner.session, top.join(first, on="query", how="anti", maintain_order="left"), system.scorer)]
    )
    name = named(mode, system)
    without = scored["model"].null_count()
    remarks = (
        [f"{name}: {without:,} of {top.height:,} hits got no score that fits; they stand below"] if without else []
    )
    return Result(name, as_run(merged(found, scored), references=runner.task.references), taken), remarks


def merged(found: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    """The hits of a search in their new order, by ``scored`` (query, id, model: null where there is no score)."""
    below = pl.col("model").min().over("query").fill_null(1.0) - 1
    score = pl.coalesce("model", below) - _STEP * pl.col("rank")
    both = found.join(scored, on=["query", "id"], how="left", maintain_order="left")
    return both.with_columns(score.alias("score")).drop("model")


def _timed(
    runner: Runner, mode: str, top: pl.DataFrame, first: pl.DataFrame, system: System
) -> tuple[pl.DataFrame, Latency | None]:
    """The scores of the ``first`` questions, and the time of a search and of reranking its hits, one after the other.

    Those of which a model's answers were known already (from the cache or a recording) do not count.
    """
    searching, calls = runner.search(mode), system.calls
    parts, seconds = [_NOTHING], []
    for query, text in first.iter_rows():
        known = calls.account.cached if calls else 0
        started = time.perf_counter()
        searching.one(text, explain=False)
        parts.append(_scores(runner.session, top.filter(pl.col("query") == query), system.scorer))
        if calls is None or calls.account.cached == known:
            seconds.append(time.perf_counter() - started)
    return pl.concat(parts), Latency.of(seconds)


def _scored(session: Session, top: pl.DataFrame, scorer: Scorer) -> pl.DataFrame:
    """query, id, model."""
    names = top["query"].unique(maintain_order=True)
    parts = [_NOTHING]
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE].to_list()
        parts.append(_scores(session, top.filter(pl.col("query").is_in(some)), scorer))
    return pl.concat(parts)


def _scores(session: Session, hits: pl.DataFrame, scorer: Scorer) -> pl.DataFrame:
    """query, id, model, of all these hits at once."""
    scores = pl.Series("model", scorer(_pairs(session, hits)), dtype=pl.Float64)
    return hits.select("query", "id").with_columns(scores)


def _pairs(session: Session, hits: pl.DataFrame) -> list[Pair]:
    ids = hits["id"].unique(maintain_order=True).to_list()
    known = dict(zip(ids, candidates(session, ids), strict=True))
    return [Pair(text, known[node]) for text, node in hits.select("text", "id").iter_rows()]
