"""Scores over the candidates of a KB, as the ``Evaluator`` of the package stark-qa computes them.

In stark_qa/evaluator.py, answers and results that are not candidates do not count, neither as wrong nor in the number
of answers, and a query without an answer among the candidates scores 0.

It differs in answers that a run does not return. Here they have no rank. The evaluator ranks all candidates, those not
returned after the results and with equal scores, which torch orders arbitrarily. So its reciprocal rank of a query
without a returned answer is between 0 and 1 / (results + 1); Hit@5 and R@20 can differ only for runs with fewer
results. With torchmetrics 1.9, whose recall and reciprocal rank skip scores of 0 and below, it differs for such scores.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from kbkit.measures.frames import Gold, count_queries
from kbkit.measures.ranking import measure


def official(run: pl.DataFrame, gold: Gold, candidates: pl.Series, measures: Iterable[str]) -> pl.DataFrame:
    """Score a run over ``candidates``, given by name: a row per query of ``gold``, a column per measure."""
    names = pl.DataFrame({"node": candidates})
    judged = gold.judgements.join(names, on="node", how="semi", maintain_order="left")
    scores = measure(
        run.join(names, on="node", how="semi", maintain_order="left"), Gold(judged, gold.queries), measures
    )
    return scores.with_columns(pl.exclude("query").fill_null(0.0))


def remarks(run: pl.DataFrame, gold: Gold, candidates: pl.Series) -> list[str]:
    """Return notes on queries that score 0 for want of results or answers, and on results that do not count."""
    names = pl.DataFrame({"node": candidates})
    asked = gold.queries.select("query")
    silent = asked.join(run, on="query", how="anti").height
    without = asked.join(gold.relevant.join(names, on="node", how="semi"), on="query", how="anti").height
    others = run.join(asked, on="query", how="semi").join(names, on="node", how="anti").height
    return [
        *([f"{count_queries(silent)} without results: scored as empty"] if silent else []),
        *([f"{count_queries(without)} without an answer among the candidates: scored 0"] if without else []),
        *([f"{others:,} results are not candidates and are left out"] if others else []),
    ]
