"""Scores of runs: row-major exact match and F1, and Tables 5, 10 and 11, compared with the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from kbkit.benchmarks.dataset import bin_counts, run_names
from kbkit.benchmarks.report import PAPER, beside
from kbkit.benchmarks.spinach import paper
from kbkit.benchmarks.spinach.execute import Executed, gold_problem, plain
from kbkit.benchmarks.spinach.files import QuestionFile, SparqlQuestion
from kbkit.benchmarks.spinach.paper import Published
from kbkit.benchmarks.spinach.run_files import AgentRecord, Run
from kbkit.benchmarks.spinach.stats import known
from kbkit.errors import KbError, Option, plural
from kbkit.measures import rows

BINS = ((0, 2), (3, 5), (6, 8), (9, 11), (12, 14), (15, None))
"""Bins of Table 5; the paper has no question with fewer than three actions."""
TOKEN_BINS = 10
_LISTED = 3
_COUNTS = ("actions", "input_tokens", "output_tokens", "cost")


@dataclass(frozen=True)
class Scored:
    """A run with the scores of its questions: ``query``, ``em`` and ``f1`` in percent, or null.

    ``printed``: exact match and F1 of the paper for it, if any.
    """

    name: str
    run: Run
    scores: pl.DataFrame
    printed: tuple[float, float] | None


# -- gold -------------------------------------------------------------------------------------------------------------


def with_gold(run: Run, gold: QuestionFile, execute: Callable[[str], Executed] | None = None) -> Run:
    """Return the run with the gold answers of a file; with ``execute``, with the results of its queries.

    Records are joined by id, or else by question. The questions are those of the gold file; one that the run does not
    have counts as asked without an answer. If predictions are cells without types, as in runs of kbkit, gold answers
    are compared by their text only. Raises :class:`KbError` if no record matches, and for a question that has neither
    answers nor, with ``execute``, a query.
    """
    by_id = {record.id: record for record in run.rows.values()}
    by_text = {record.question: record for record in run.rows.values() if record.question}
    pairs = [
        (question, by_id.get(question.id) or (by_text.get(question.text) if question.text else None))
        for question in gold.questions
    ]
    if not any(record for _, record in pairs):
        mine, theirs = next(iter(run.rows)), gold.questions[0].id
        raise KbError(
            f"No question of {gold.path} is in {run.path}: {theirs!r} and {mine!r} differ",
            "Records are matched by id, or by question",
        )
    untyped = bool(run.settings) or execute is not None
    records = [_with_gold(question, record, gold, execute) for question, record in pairs]
    if untyped:  # gold answers of a file may have other kinds and datatypes
        records = [
            replace(
                r, predicted_answer_tuple=plain(r.predicted_answer_tuple), gold_answer_tuple=plain(r.gold_answer_tuple)
            )
            for r in records
        ]
    return replace(run, rows={r.id: r for r in records})


def outside(run: Run, gold: QuestionFile) -> list[str]:
    """Return a line about the records of a run that are not in a gold file."""
    ids, texts = (
        {question.id for question in gold.questions},
        {question.text for question in gold.questions if question.text},
    )
    outside_records = [record for record in run.rows.values() if record.id not in ids and record.question not in texts]
    return [f"{run.path}: {_listed(outside_records)} not in {gold.path}, left out"] if outside_records else []


def _with_gold(
    question: SparqlQuestion, record: AgentRecord | None, gold: QuestionFile, execute: Callable[[str], Executed] | None
) -> AgentRecord:
    known = record or AgentRecord(
        question.id,
        question.text,
        "",
        None,
        question.sparql,
        None,
        "",
        asked=True,
        error="the run does not have the question",
    )
    if execute and question.sparql:
        executed = execute(question.sparql)
        return replace(
            known,
            id=question.id,
            gold_answer_tuple=executed.result,
            gold_sparql=question.sparql,
            gold_error=gold_problem(executed),
        )
    if question.answers is None:
        raise KbError(
            f"Missing answers in {question.where}", "Use ", Option("kb"), f" to run the queries of {gold.path}"
        )
    return replace(
        known, id=question.id, gold_answer_tuple=question.answers, gold_sparql=question.sparql, gold_error=""
    )


def rerun(run: Run, execute: Callable[[str], Executed], *, gold: bool) -> Run:
    """Return the run with its predicted queries, and with ``gold`` the gold ones, executed again."""
    return replace(run, rows={name: _rerun(record, execute, gold) for name, record in run.rows.items()})


def _rerun(record: AgentRecord, execute: Callable[[str], Executed], gold: bool) -> AgentRecord:
    if record.predicted_sparql:
        executed = execute(record.predicted_sparql)
        record = replace(record, predicted_answer_tuple=executed.result, error=executed.error, cut=executed.cut)
    if gold and record.gold_sparql:
        executed = execute(record.gold_sparql)
        record = replace(record, gold_answer_tuple=executed.result, gold_error=gold_problem(executed))
    return replace(
        record,
        predicted_answer_tuple=plain(record.predicted_answer_tuple),
        gold_answer_tuple=plain(record.gold_answer_tuple),
    )


# -- scores -----------------------------------------------------------------------------------------------------------


def score_all(runs: Sequence[Run], published: str | None = None) -> list[Scored]:
    """Score runs; if files have the same stem, their runs are named by paths.

    ``published`` names their dataset in the paper (``none``: no figures of the paper); the default is the one in their
    settings, or in the names of their files.
    """
    names = run_names([run.path for run in runs])
    return [score(run, _published(run, published), name) for run, name in zip(runs, names, strict=True)]


def _published(run: Run, name: str | None) -> Published | None:
    recorded = run.settings.get("dataset")
    return known(run.path, name or recorded or ("none" if run.settings else None))


def score(run: Run, published: Published | None, name: str = "") -> Scored:
    """Score a run; ``published`` are the paper's figures for its dataset. The default ``name`` is the file's."""
    scores = rows.measure([_record(record) for record in run.rows.values()])
    percent = scores.with_columns(pl.col("em", "f1") * 100)
    return Scored(name or run.path.stem, run, percent, _printed(run, published))


def _record(record: AgentRecord) -> rows.RowsPrediction:
    return rows.RowsPrediction(
        record.id, record.predicted_answer_tuple, record.gold_answer_tuple if _is_scorable(record) else None, {}
    )


def _is_scorable(record: AgentRecord) -> bool:
    """Return whether the gold result has rows and is complete."""
    return record.gold_answer_tuple not in (None, []) and not record.gold_error


def _printed(run: Run, published: Published | None) -> tuple[float, float] | None:
    """Return the paper's figures for the dataset, split and ablation of a run."""
    if published is None:
        return None
    split = run.settings.get("split") or paper.split(run.path)
    if run.settings.get("baseline"):
        return published.scores.get(f"{split} {run.settings['baseline']}")
    without = run.settings.get("without") or []
    if without:
        return published.ablations.get(without[0]) if len(without) == 1 and split == "dev" else None
    return published.scores.get(split or ("test" if len(published.scores) == 1 else ""))


def table(scored: Sequence[Scored]) -> pl.DataFrame:
    """Return Table 3 (2 for other datasets than SPINACH, 4 for runs without an action).

    The columns are run, figures, questions, em and f1 in percent, and the means of actions, input_tokens, output_tokens
    and cost over the questions that were asked.
    """
    rows = []
    for scored_run in scored:
        means = scored_run.scores.select(pl.col("em", "f1").mean()).row(0)
        asked = [record for record in scored_run.run.rows.values() if record.asked]
        counts = [_mean([getattr(record, name) for record in asked]) for name in _COUNTS]
        rows.append((scored_run.name, len(scored_run.scores.drop_nulls()), *means, *counts))
    numbers = dict.fromkeys(("em", "f1", *_COUNTS), pl.Float64)
    ours = pl.DataFrame(rows, schema={"run": pl.String, "questions": pl.Int64, **numbers}, orient="row")
    known = {scored_run.name: scored_run.printed for scored_run in scored if scored_run.printed}
    dev = paper.datasets()[paper.SPINACH].scores["dev"]

    def printed(name: str) -> tuple[object, ...] | None:
        if name not in known:
            return None
        return (None, *known[name], None, None, None, paper.cost() if known[name] == dev else None)

    return beside(ours, ["run"], printed, difference=True)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def per_query(scored: Sequence[Scored]) -> pl.DataFrame:
    """Return a row per question.

    The columns are run, query, em and f1 in percent, actions, rolled_back, input_tokens, output_tokens, cost,
    predicted_rows, gold_rows, error.
    """
    parts = []
    for scored_run in scored:
        details = pl.DataFrame(
            [_details(record) for record in scored_run.run.rows.values()],
            schema={
                "query": pl.String,
                **dict.fromkeys(("actions", "rolled_back", "input_tokens", "output_tokens"), pl.Int64),
                "cost": pl.Float64,
                **dict.fromkeys(("predicted_rows", "gold_rows"), pl.Int64),
                "error": pl.String,
            },
            orient="row",
        )
        frame = scored_run.scores.join(details, on="query", maintain_order="left")
        parts.append(frame.select(pl.lit(scored_run.name).alias("run"), pl.all()))
    return pl.concat(parts)


def _details(record: AgentRecord) -> tuple[object, ...]:
    counts = (record.actions, record.rolled_back, record.input_tokens, record.output_tokens, record.cost)
    wrong = "; ".join(filter(None, [record.error, record.gold_error and f"gold: {record.gold_error}"]))
    return (
        record.id,
        *counts,
        _height(record.predicted_answer_tuple),
        _height(record.gold_answer_tuple),
        wrong or None,
    )


def _height(result: rows.Result) -> int | None:
    return len(result) if isinstance(result, list) else None if result is None else 1


def actions(scored: Sequence[Scored]) -> pl.DataFrame:
    """Return Table 5: run, actions (a bin), questions, percent (of those asked), paper.

    Actions that were rolled back do not count. Runs without such data are left out, here and in :func:`tokens`.
    """
    parts = []
    for scored_run in scored:
        counts = _known(scored_run.run, "actions")
        if not counts:
            continue
        for label, count, fraction in bin_counts(counts, BINS):
            name = label.removesuffix("+")  # the paper's limit is 15 actions
            parts.append((scored_run.name, name, count, 100 * (fraction or 0.0), paper.actions().get(name, 0.0)))
    schema = {"run": pl.String, "actions": pl.String, "questions": pl.Int64, "percent": pl.Float64, PAPER: pl.Float64}
    return pl.DataFrame(parts, schema=schema, orient="row")


def tokens(scored: Sequence[Scored], name: str) -> pl.DataFrame:
    """Return Table 10 (``input_tokens``) or Table 11 (``output_tokens``), with the paper's bins.

    The columns are run, from, to, questions, percent. Ten bins of equal width cover the minimum to the maximum of a
    question; all but the last exclude their upper end. The paper's bins are those of its own run: paper_from, paper_to,
    paper.
    """
    parts = []
    for scored_run in scored:
        counts = _known(scored_run.run, name)
        if not counts:
            continue
        low = min(counts)
        span = (low, max(counts) if max(counts) > low else low + TOKEN_BINS)  # for one number, bins of one token
        counted, edges = np.histogram(np.array(counts, np.float64), TOKEN_BINS, span)
        for i, printed in enumerate(paper.tokens(name)):
            share = 100 * int(counted[i]) / len(counts)
            parts.append((scored_run.name, float(edges[i]), float(edges[i + 1]), int(counted[i]), share, *printed))
    numbers = dict.fromkeys(("percent", "paper_from", "paper_to", PAPER), pl.Float64)
    schema = {"run": pl.String, "from": pl.Float64, "to": pl.Float64, "questions": pl.Int64, **numbers}
    return pl.DataFrame(parts, schema=schema, orient="row")


def _known(run: Run, name: str) -> list[int]:
    numbers = (getattr(record, name) for record in run.rows.values() if record.asked)
    return [value for value in numbers if value is not None]


# -- remarks ----------------------------------------------------------------------------------------------------------


def remarks(scored: Scored) -> list[str]:
    """Return remarks on the scores: which questions have none and why, which are scored 0."""
    records = list(scored.run.rows.values())
    missing = set(scored.scores.filter(pl.col("f1").is_null())["query"])
    counted = [record for record in records if record.id not in missing]
    lines = [
        f"left out of the means, as in the paper: {_listed(of_reason)}: {reason}"
        for reason, of_reason in _grouped([r for r in records if not _is_scorable(r)], _no_gold).items()
    ]
    if labels := [r for r in records if r.id in missing and _is_scorable(r)]:
        lines.append(
            f"left out of the means: {_listed(labels)}: the gold query returns only labels, which are not scored (the"
            " authors' program scores 0)"
        )
    wrong = [r for r in counted if r.asked and r.predicted_answer_tuple is None]
    lines += [f"scored 0: {_listed(of_reason)}: {reason}" for reason, of_reason in _grouped(wrong, _no_answer).items()]
    if cut := [r for r in counted if r.cut]:
        lines.append(f"only the first rows of the prediction were scored: {_listed(cut)}")
    return [f"{scored.name}: {line}" for line in lines]


def _grouped(records: Sequence[AgentRecord], reason: Callable[[AgentRecord], str]) -> dict[str, list[AgentRecord]]:
    groups: dict[str, list[AgentRecord]] = {}
    for record in records:
        groups.setdefault(reason(record), []).append(record)
    return groups


def _no_gold(record: AgentRecord) -> str:
    return record.gold_error or (
        "the gold query returns no rows" if record.gold_answer_tuple == [] else "there is no gold answer"
    )


def _no_answer(record: AgentRecord) -> str:
    return record.error or "there is no prediction"


def _listed(records: Sequence[AgentRecord]) -> str:
    names = ", ".join(record.id for record in records[:_LISTED])
    return f"{plural(len(records), 'question')} ({names}{', ...' * (len(records) > _LISTED)})"
