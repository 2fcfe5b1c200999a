"""Scores of systems: Tables 3 to 7 of the QUEST paper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from kbkit.benchmarks.quest.stats import in_order
from kbkit.benchmarks.report import beside, published
from kbkit.errors import BadInputError, Command, KbError
from kbkit.measures import false_positives, ranking, sets
from kbkit.measures.frames import Gold, ordered
from kbkit.measures.records import content
from kbkit.measures.scores import ALL, summary

KS = (20, 50, 100, 1000)
"""The cutoffs of Table 4."""


@dataclass(frozen=True)
class ScoredSystem:
    """The ``run`` (query, node, score) of a system: a ranking, or if not ``ranked`` the predicted sets.

    ``threshold``: of a classifier's scores. ``k``: maximum length of a ranking, if known.
    """

    name: str
    run: pl.DataFrame
    ranked: bool
    threshold: float | None = None
    k: int = 0


def average_scores(systems: Sequence[ScoredSystem], gold: Gold, empty_precision: str = "zero") -> pl.DataFrame:
    """Return Table 3: system, threshold, queries, empty (queries without a prediction), precision, recall, f1 (means).

    A ranking is the set of its nodes. ``empty_precision``: precision of a query without a prediction, one of
    :data:`kbkit.measures.sets.EMPTY`; QUEST's own script (``eval/run_eval.py``) counts 0.
    """
    parts = []
    for system in systems:
        scores = sets.measure(system.run, gold, empty=empty_precision)
        answered = scores.filter(pl.col("recall").is_not_null()).join(system.run, on="query", how="semi").height
        empty = int(scores["recall"].is_not_null().sum()) - answered
        labels = {"system": system.name, "threshold": system.threshold, "empty": empty}
        parts.append(_labelled(summary(scores), labels))
    columns = ("system", "threshold", "queries", "empty", "precision", "recall", "f1")
    return pl.concat(parts).select(columns)


def recalls(systems: Sequence[ScoredSystem], gold: Gold) -> pl.DataFrame:
    """Return Table 4, for rankings: system, queries, then recall@K and mrecall@K for K of :data:`KS`.

    Null if a ranking ends before K for every query; a K that no ranking reaches is left out. Raises :class:`KbError` if
    no system is a ranking.
    """
    rankings = [system for system in systems if system.ranked]
    if not rankings:
        raise KbError("Table 4 needs a ranking, but all runs are sets")
    depths = [max(system.k, _longest(system.run)) for system in rankings]
    ks = [k for k in KS if k == KS[0] or k <= max(depths, default=0)]
    columns = [f"{name}@{k}" for name in ("recall", "mrecall") for k in ks]
    schema = {"system": pl.String, "queries": pl.Int64, **dict.fromkeys(columns, pl.Float64)}
    parts = [pl.DataFrame(schema=schema)]
    for system, depth in zip(rankings, depths, strict=True):
        own = [k for k in ks if k == KS[0] or k <= depth]
        means = _labelled(summary(sets.measure(system.run, gold, own)), {"system": system.name})
        parts.append(means.select(name for name in schema if name in means.columns))
    return pl.concat(parts, how="diagonal")


def cut_short(systems: Sequence[ScoredSystem]) -> list[str]:
    """Return a line for each ranking that was limited to less than the first K of Table 4."""
    first = KS[0]
    return [f"{s.name}: rankings end at {s.k}, so recall@{first} is recall@{s.k}" for s in systems if 0 < s.k < first]


def _longest(run: pl.DataFrame) -> int:
    longest = run.group_by("query").len()["len"].max()
    return longest if isinstance(longest, int) else 0


def by_template(systems: Sequence[ScoredSystem], gold: Gold) -> pl.DataFrame:
    """Return Table 5: the mean f1 by system, template and domain.

    It covers predicted sets, or rankings if there are none. Templates are in the paper's order, then all together.
    """
    parts = []
    for system in predicted(systems):
        scores = sets.measure(system.run, gold).select("query", "f1")
        frame = scores.join(gold.queries.select("query", "template", "domain"), on="query")
        parts.append(_labelled(_crossed(frame), {"system": system.name}))
    frame = pl.concat(parts, how="diagonal")
    return frame.select("system", "template", pl.exclude("system", "template", ALL), ALL)


def _crossed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the mean f1 by template (rows) and domain (columns), and for all."""
    names = frame["domain"].drop_nulls().unique().sort().to_list()
    taken = {"system", "template", ALL}
    columns = [
        pl.col("f1").filter(pl.col("domain") == name).mean().alias(f"domain {name}" if name in taken else name)
        for name in names
    ]
    columns.append(pl.col("f1").mean().alias(ALL))
    rows = in_order(frame.group_by("template").agg(columns))
    return pl.concat([rows, frame.select(pl.lit(ALL).alias("template"), *columns)])


def false_positives_of(
    systems: Sequence[ScoredSystem], gold: Gold, unmet: Callable[[pl.DataFrame], pl.DataFrame]
) -> tuple[pl.DataFrame, list[str]]:
    """Return Table 6 and remarks: system, template, and the columns of :func:`kbkit.measures.false_positives.table`.

    For predicted sets it covers false positives; for rankings the non-answers that precede an answer. ``unmet`` returns
    which constraints a run's false positives fail, as :func:`kbkit.measures.false_positives.unmet`.
    """
    if gold.queries["expression"].null_count() == gold.queries.height:
        hint = ("Use a dataset of ", Command("quest make"), "; the published files have no expressions")
        raise KbError("The queries have no expressions, so the constraints that errors fail are unknown", *hint)
    known = Gold(gold.judgements, gold.queries.filter(pl.col("expression").is_not_null()))
    runs = [ahead(system.run, gold) if system.ranked else system.run for system in systems]
    pairs = pl.concat([run.select("query", "node") for run in runs]).unique(maintain_order=True)
    every = unmet(pairs.with_columns(score=0.0))  # once for all systems, as they share many errors
    parts, remarks = [], []
    for system, run in zip(systems, runs, strict=True):
        failures = every.join(run, on=["query", "node"], how="semi", maintain_order="left")
        frame = false_positives.table(failures, known.queries, ["template"])
        labelled = _labelled(frame, {"system": system.name})
        parts += [in_order(labelled[:-1]), labelled[-1:]]  # the last row is for all
        remarks += [f"{system.name}: {line}" for line in false_positives.remarks(failures)]
    frame = pl.concat(parts, how="diagonal")
    unmet_columns = sorted((name for name in frame.columns if name.startswith("unmet_")), key=_number)
    columns = ("system", "template", "false_positives", "unknown", *unmet_columns, "negation_violated")
    return frame.select(columns), remarks


def _number(column: str) -> int:
    return int(column.removeprefix("unmet_"))


def ahead(run: pl.DataFrame, gold: Gold) -> pl.DataFrame:
    """Return the nodes of a ranking that precede an answer of their query."""
    ranked = ordered(run).with_columns(rank=pl.int_range(1, pl.len() + 1).over("query"))
    last = ranked.join(gold.relevant, on=["query", "node"], how="semi").group_by("query").agg(last=pl.col("rank").max())
    return ranked.join(last, on="query").filter(pl.col("rank") < pl.col("last")).select(run.columns)


def predicted(systems: Sequence[ScoredSystem]) -> list[ScoredSystem]:
    """Return the systems that predict sets, or all if none does."""
    return [system for system in systems if not system.ranked] or list(systems)


def _labelled(frame: pl.DataFrame, labels: Mapping[str, object]) -> pl.DataFrame:
    types = {"system": pl.String(), "threshold": pl.Float64(), "empty": pl.Int64()}
    return frame.with_columns(pl.lit(value, types[name]).alias(name) for name, value in labels.items())


# -- recall by the age of documents (appendix D) ----------------------------------------------------------------------

BEFORE, AFTER = "before", "after"
"""When documents were created: those from before a system was trained may be easier."""
_DEPTH = 100


def read_titles(path: Path) -> frozenset[str]:
    """Read the titles of documents that were created later: one per line. Raises :class:`BadInputError` for none."""
    titles = frozenset(line.strip() for line in content(path).decode().split("\n") if line.strip())
    if not titles:
        raise BadInputError(f"No titles in {path}", "Write the title of a document in each line")
    return titles


def recall_by_age(systems: Sequence[ScoredSystem], gold: Gold, later: Collection[str]) -> pl.DataFrame:
    """Return Table 7: system, documents (before, after), figures, queries, answers, recall@100.

    The recall of a part is that of the answers which belong to it, averaged over the queries with such answers.
    ``later`` are the titles of documents created after the date on which a system was trained.
    """
    is_later = pl.col("node").is_in(list(later))
    rows = []
    for system in systems:
        for part, holds in ((BEFORE, ~is_later), (AFTER, is_later)):
            judgements = gold.judgements.filter(holds)
            queries = gold.queries.join(judgements, on="query", how="semi", maintain_order="left")
            measured = None
            if queries.height:
                run = system.run.join(queries, on="query", how="semi", maintain_order="left")
                measured = ranking.measure(run, Gold(judgements, queries), [f"recall@{_DEPTH}"])[
                    f"recall@{_DEPTH}"
                ].mean()
            rows.append((system.name, part, queries.height, judgements.height, measured))
    schema = {
        "system": pl.String,
        "documents": pl.String,
        "queries": pl.Int64,
        "answers": pl.Int64,
        f"recall@{_DEPTH}": pl.Float64,
    }
    ours = pl.DataFrame(rows, schema=schema, orient="row")
    return beside(ours, ["system", "documents"], _printed)


def _printed(name: str, part: str) -> tuple[object, ...] | None:
    """Return the paper's cells for a system of that name: it has those of BM25 and of its dual encoder."""
    cells = published("quest").of("7").get((name, part))
    return None if cells is None else (None, None, cells["recall@100"])
