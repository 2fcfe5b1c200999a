"""Measures of ranked runs, computed by trec_eval (through pytrec_eval)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl
import pytrec_eval

from kbkit.errors import KbError, UnknownNameError
from kbkit.measures.frames import MAX_K, Gold, count_queries, ordered

DEFAULT = ("hit@1", "hit@5", "recall@20", "mrr", "map", "ndcg@10")
"""The four measures of STaRK (section 3.1 of the paper), average precision and nDCG."""

_CUT = {"hit": "success", "recall": "recall", "ndcg": "ndcg_cut", "precision": "P", "mrr": "recip_rank"}
_WHOLE = {"mrr": "recip_rank", "map": "map", "ndcg": "ndcg", "r-precision": "Rprec"}
_ALIASES = {"success": "hit", "r": "recall", "p": "precision", "rprec": "r-precision"}
CHOICES = ("hit@K", "recall@K", "mrr", "mrr@K", "map", "ndcg", "ndcg@K", "precision@K", "r-precision")


class Measure(NamedTuple):
    """A measure: its name in kbkit and in trec_eval, and the cutoff of the ranking (0: none)."""

    name: str
    trec: str
    cut: int


def parse_measure(text: str) -> Measure:
    """Parse a name such as ``recall@20``, ``R@20`` or ``mrr``; raise :class:`UnknownNameError` that lists all."""
    base, at, k = text.strip().lower().partition("@")
    base = _ALIASES.get(base, base)
    if not at and base in _WHOLE:
        return Measure(base, _WHOLE[base], 0)
    if not at or base not in _CUT or not re.fullmatch("[0-9]{1,20}", k):
        raise UnknownNameError("measure", text, CHOICES, "", f"Valid names: {', '.join(CHOICES)}, with a number K")
    if not 1 <= int(k) <= MAX_K:
        raise KbError(f"Invalid cutoff in the measure {text!r}", f"Use 1 to {MAX_K:,}")
    trec = _CUT[base] if base == "mrr" else f"{_CUT[base]}_{int(k)}"
    return Measure(f"{base}@{int(k)}", trec, int(k))


def measure(run: pl.DataFrame, gold: Gold, measures: Iterable[str] = DEFAULT) -> pl.DataFrame:
    """Score a run: a row per query of ``gold``, a column per measure.

    A query with answers but without results scores 0; a query without relevant nodes has null in all measures. Queries
    not in ``gold`` are ignored. Ranks are those of :func:`kbkit.measures.frames.ordered`.

    * ``hit@K``: 1 if a relevant node is among the first K, else 0
    * ``recall@K``: fraction of the relevant nodes among the first K
    * ``mrr``: 1 / rank of the first relevant node; ``mrr@K``: 0 if that rank is beyond K (STaRK, section 3.1)
    * others as defined by trec_eval, with the relevance as gain

    Raises :class:`KbError` if run and gold have no query in common.
    """
    selected = list({m.name: m for m in map(parse_measure, measures)}.values())
    if not selected:
        raise KbError("No measure selected", f"Valid names: {', '.join(CHOICES)}")
    check_overlap(run, gold)
    scores = _evaluate(run, gold, sorted({m.trec for m in selected}))
    answered = set(gold.relevant["query"])
    queries = gold.queries["query"].to_list()

    def value(query: str, m: Measure) -> float | None:
        if query not in answered:
            return None
        score = scores[query][m.trec] if query in scores else 0.0
        return score if m.trec != "recip_rank" or not m.cut or score * m.cut > 1 - 1e-9 else 0.0

    columns = {m.name: [value(query, m) for query in queries] for m in selected}
    return pl.DataFrame(
        {"query": queries, **columns}, schema={"query": pl.String, **dict.fromkeys(columns, pl.Float64)}
    )


def _evaluate(run: pl.DataFrame, gold: Gold, keys: list[str]) -> dict[str, dict[str, Any]]:
    """Return trec_eval's values for each query with results and answers.

    Nodes are passed as their rank in text, with scores that decrease by rank: trec_eval breaks ties differently, and
    truncates names at NUL. All rankings of one length are then equal, and shared.
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
    scores = evaluator.evaluate({number[query]: rankings[lengths[query]] for query in qrels})
    return {query: scores[number[query]] for query in qrels}


def check_overlap(run: pl.DataFrame, gold: Gold) -> None:
    """Raise :class:`KbError` if a non-empty run and the gold answers have no query in common."""
    if run.height and run.join(gold.queries, on="query", how="semi").is_empty():
        ours, theirs = run["query"][0], gold.queries["query"].head(1).to_list()
        raise KbError(
            "Run and gold answers have no query in common: the run has "
            + f"{ours!r}, the gold answers {repr(theirs[0]) if theirs else 'none'}",
            "Check that the two files belong together",
        )


def remarks(run: pl.DataFrame, gold: Gold) -> list[str]:
    """Return notes on queries without results or answers, and on names that do not match."""
    lines = []
    relevant = gold.relevant
    of_gold = gold.queries.select("query")
    silent = of_gold.join(relevant, on="query", how="semi").join(run, on="query", how="anti").height
    if silent:
        lines.append(f"{count_queries(silent)} without results: scored as empty")
    unknown = run.select("query").unique().join(of_gold, on="query", how="anti").height
    if unknown:
        lines.append(f"{count_queries(unknown)} of the run without gold answers: ignored")
    without = of_gold.join(relevant, on="query", how="anti").height
    if without:
        lines.append(f"{count_queries(without)} without relevant nodes: all measures are undefined")
    theirs = gold.judgements.join(run, on="query", how="semi")
    ours = run.join(of_gold, on="query", how="semi")
    if ours.height and theirs.height and ours.join(theirs, on="node", how="semi").is_empty():
        lines.append(
            f"No node of the run is in the gold answers: the run has {ours['node'][0]!r}, the gold answers"
            f" {theirs['node'][0]!r}. Check the node names"
        )
    return lines
