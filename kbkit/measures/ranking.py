"""Measures of ranked runs, computed by trec_eval (through pytrec_eval)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl
import pytrec_eval

from kbkit.errors import KbError, UnknownNameError
from kbkit.measures.frames import MAX_K, Gold, ordered

DEFAULT = ("hit@1", "hit@5", "recall@20", "mrr", "map", "ndcg@10")
"""STaRK's four (section 3.1 of the paper), average precision and nDCG."""

_CUT = {"hit": "success", "recall": "recall", "ndcg": "ndcg_cut", "precision": "P", "mrr": "recip_rank"}
_WHOLE = {"mrr": "recip_rank", "map": "map", "ndcg": "ndcg", "r-precision": "Rprec"}
_ALIASES = {"success": "hit", "r": "recall", "p": "precision", "rprec": "r-precision"}
CHOICES = ("hit@K", "recall@K", "mrr", "mrr@K", "map", "ndcg", "ndcg@K", "precision@K", "r-precision")


class Measure(NamedTuple):
    """A measure as kbkit calls it, as trec_eval calls it, and where the ranking is cut (0: nowhere)."""

    name: str
    trec: str
    cut: int


def parse_measure(text: str) -> Measure:
    """The measure of a name (``recall@20``, ``R@20``, ``mrr``); raises :class:`UnknownNameError` with all there are."""
    base, at, k = text.strip().lower().partition("@")
    base = _ALIASES.get(base, base)
    if not at and base in _WHOLE:
        return Measure(base, _WHOLE[base], 0)
    if not at or base not in _CUT or not re.fullmatch("[0-9]{1,20}", k):
        raise UnknownNameError("measure", text, CHOICES, "", f"there are {', '.join(CHOICES)}, for a number K")
    if not 1 <= int(k) <= MAX_K:
        raise KbError(f"measure {text}: K is {int(k)}", f"it is from 1 to {MAX_K:,}")
    trec = _CUT[base] if base == "mrr" else f"{_CUT[base]}_{int(k)}"
    return Measure(f"{base}@{int(k)}", trec, int(k))


def measure(run: pl.DataFrame, gold: Gold, measures: Iterable[str] = DEFAULT) -> pl.DataFrame:
    """Scores of a run: a row a query of ``gold``, a column a measure, in the order asked.

    A query with answers but without results counts 0, for its ranking is empty; a query without a relevant node has
    null in all measures. Queries that ``gold`` lacks are left out. ``hit@K``: 1 if a relevant node is among the first
    K; ``recall@K``: the share of the relevant nodes among them; ``mrr``: 1 / rank of the first relevant node, 0 if it
    lies beyond K (STaRK, section 3.1); the others as trec_eval defines them, gain being the relevance. Ranks are those
    of :func:`kbkit.measures.frames.ordered`. Raises :class:`KbError` if run and gold have no query in common.
    """
    wanted = list({m.name: m for m in map(parse_measure, measures)}.values())
    if not wanted:
        raise KbError("no measure", f"there are {', '.join(CHOICES)}")
    refuse_strangers(run, gold)
    found = _evaluate(run, gold, sorted({m.trec for m in wanted}))
    answered = set(gold.relevant["query"])
    queries = gold.queries["query"].to_list()

    def value(query: str, m: Measure) -> float | None:
        if query not in answered:
            return None
        score = found[query][m.trec] if query in found else 0.0
        return score if m.trec != "recip_rank" or not m.cut or score * m.cut > 1 - 1e-9 else 0.0

    columns = {m.name: [value(query, m) for query in queries] for m in wanted}
    return pl.DataFrame(
        {"query": queries, **columns}, schema={"query": pl.String, **dict.fromkeys(columns, pl.Float64)}
    )


def _evaluate(run: pl.DataFrame, gold: Gold, keys: list[str]) -> dict[str, dict[str, Any]]:
    """trec_eval's values for each query that has results and answers.

    A node is handed over under its rank, as text, with a score that falls with it: trec_eval breaks ties in its own
    way, and cuts names at a NUL. Rankings of one length are then one and the same.
    """
    relevant = gold.relevant
    ranked = ordered(run.join(relevant, on="query", how="semi")).with_columns(
        rank=pl.int_range(1, pl.len() + 1).over("query")
    )
    lengths = dict(ranked.group_by("query", maintain_order=True).len().iter_rows())
    missed = pl.format("-{}", pl.int_range(pl.len()))
    judged = relevant.join(ranked, on=["query", "node"], how="left").select(
        "query", pl.coalesce(pl.col("rank").cast(pl.String), missed).alias("name"), "relevance"
    )
    lists = judged.group_by("query").agg("name", "relevance")
    qrels = {
        query: dict(zip(names, levels, strict=True)) for query, names, levels in lists.iter_rows() if query in lengths
    }
    rankings = {n: {str(rank): -float(rank) for rank in range(1, n + 1)} for n in set(lengths.values())}
    number = {query: str(i) for i, query in enumerate(qrels)}
    evaluator = pytrec_eval.RelevanceEvaluator({number[q]: levels for q, levels in qrels.items()}, set(keys))
    found = evaluator.evaluate({number[query]: rankings[lengths[query]] for query in qrels})
    return {query: found[number[query]] for query in qrels}


def refuse_strangers(run: pl.DataFrame, gold: Gold) -> None:
    """Raise if no query of a run that has any is among the gold's."""
    if run.height and run.join(gold.queries, on="query", how="semi").is_empty():
        ours, theirs = run["query"][0], gold.queries["query"].head(1).to_list()
        raise KbError(
            f"the run and the gold have no query in common: the run has {ours!r}"
            + (f", the gold {theirs[0]!r}" if theirs else ", the gold none"),
            "do they belong together?",
        )


def remarks(run: pl.DataFrame, gold: Gold) -> list[str]:
    """What a reader of the scores should know, a line each; nothing if all is well."""
    result = []
    relevant = gold.relevant
    of_gold = gold.queries.select("query")
    silent = of_gold.join(relevant, on="query", how="semi").join(run, on="query", how="anti").height
    if silent:
        result.append(f"{_some(silent)} of the gold without results: counted as nothing found")
    strange = run.select("query").unique().join(of_gold, on="query", how="anti").height
    if strange:
        result.append(f"{_some(strange)} of the run that the gold lacks: left out")
    without = of_gold.join(relevant, on="query", how="anti").height
    if without:
        result.append(f"{_some(without)} without relevant nodes: no measure can be computed")
    theirs = gold.judgements.join(run, on="query", how="semi")
    ours = run.join(of_gold, on="query", how="semi")
    if ours.height and theirs.height and ours.join(theirs, on="node", how="semi").is_empty():
        result.append(
            f"no node of the run is in the gold: do names differ? the run has {ours['node'][0]!r},"
            f" the gold {theirs['node'][0]!r}"
        )
    return result


def _some(count: int) -> str:
    return f"{count:,} quer{'y' if count == 1 else 'ies'}"
