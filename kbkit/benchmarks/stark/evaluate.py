"""Scores of runs on a STaRK dataset: Tables 6 to 8 of the paper.

Scores over the candidates of a KB are computed as the ``Evaluator`` of the package stark-qa computes them. In
stark_qa/evaluator.py, answers and results that are not candidates do not count, neither as wrong nor in the number
of answers, and a query without an answer among the candidates scores 0.

It differs in answers that a run does not return. Here they have no rank. The evaluator ranks all candidates, those not
returned after the results and with equal scores, which torch orders arbitrarily. So its reciprocal rank of a query
without a returned answer is between 0 and 1 / (results + 1); Hit@5 and R@20 can differ only for runs with fewer
results. With torchmetrics 1.9, whose recall and reciprocal rank skip scores of 0 and below, it differs for such scores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks import run as runs
from kbkit.benchmarks.costs import CostFile, summary
from kbkit.benchmarks.dataset import writing
from kbkit.benchmarks.stark.run import MEASURES, Result
from kbkit.errors import KbError
from kbkit.measures.files import read_run, write_run
from kbkit.measures.frames import RUN, Gold, count_queries
from kbkit.measures.ranking import check_overlap, measure

_TABLE = pl.Schema(
    {
        "run": pl.String,
        "queries": pl.Int64,
        **dict.fromkeys(MEASURES, pl.Float64),
        "ms_median": pl.Float64,
        "ms_mean": pl.Float64,
    }
)


def table(results: Sequence[Result], gold: Gold, candidates: pl.Series | None = None) -> pl.DataFrame:
    """Return Table 6 in percent and Table 8 in milliseconds.

    The columns are run, queries, Hit@1, Hit@5, R@20, MRR, ms_median and ms_mean. With the names of all ``candidates``,
    only these count, as in STaRK's evaluator (:func:`official`); without, all answers do.
    """
    return pl.DataFrame([_row(result, gold, candidates) for result in results], schema=_TABLE, orient="row")


def _row(result: Result, gold: Gold, candidates: pl.Series | None) -> dict[str, Any]:
    try:
        check_overlap(result.run, gold)
        if candidates is None:
            scores = measure(result.run, gold, MEASURES.values())
        else:
            scores = official(result.run, gold, candidates, MEASURES.values())
    except KbError as error:
        raise KbError(f"{result.name}: {error.message}", *error.hints) from None
    means = {label: scores[name].mean() for label, name in MEASURES.items()}
    return {
        "run": result.name,
        "queries": scores.height,
        **{name: None if mean is None else round(100 * mean, 2) for name, mean in means.items()},  # type: ignore[operator, arg-type]
        "ms_median": result.latency and round(result.latency.median, 3),
        "ms_mean": result.latency and round(result.latency.mean, 3),
    }


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


# -- files ------------------------------------------------------------------------------------------------------------


def check_folder(folder: Path, names: Sequence[str] = ()) -> None:
    """Raise :class:`KbError` if :func:`write_result` could not write to ``folder``, or if runs share a file."""
    for name, count in Counter(runs.run_file(folder, name).stem for name in names).items():
        if count > 1:
            raise KbError(f"Two runs have the same file {folder / name}", "List each mode and model once")
    runs.make_folder(folder)


def write_result(result: Result, folder: Path) -> Path:
    """Write a run to ``folder``, in TREC's format if the names allow it, else as JSON lines."""
    spaced = any(result.run[name].str.contains(r"\s").any() for name in ("query", "node"))
    path = runs.run_file(folder, result.name)
    path = path if spaced else path.with_suffix(".trec")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_run(result.run, path, re.sub(r"\s+", "", result.name))
    return path


def read_result(path: Path) -> Result:
    """Read a run of :func:`write_result` or of any other system, named by its path.

    An empty file is a run without hits if its predictions are beside it; otherwise it is invalid.
    """
    predictions = runs.predictions_file(path.parent, path.stem)
    latency = summary(CostFile(predictions).read()).latency
    if path.is_file() and not path.stat().st_size and predictions.is_file():
        return Result(str(path), pl.DataFrame(schema=RUN), latency)
    return Result(str(path), read_run(path), latency)
