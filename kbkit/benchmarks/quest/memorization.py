"""Recall of documents by their age (appendix D, Table 7): what a system saw in training may be easier."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl

from kbkit.benchmarks.quest import paper
from kbkit.benchmarks.quest.tables import ScoredSystem
from kbkit.benchmarks.report import beside
from kbkit.errors import BadInputError
from kbkit.measures import ranking
from kbkit.measures.frames import Gold
from kbkit.measures.records import content

BEFORE, AFTER = "before", "after"
K = 100


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
                measured = ranking.measure(run, Gold(judgements, queries), [f"recall@{K}"])[f"recall@{K}"].mean()
            rows.append((system.name, part, queries.height, judgements.height, measured))
    schema = {
        "system": pl.String,
        "documents": pl.String,
        "queries": pl.Int64,
        "answers": pl.Int64,
        f"recall@{K}": pl.Float64,
    }
    ours = pl.DataFrame(rows, schema=schema, orient="row")
    return beside(ours, ["system", "documents"], _printed)


def _printed(name: str, part: str) -> tuple[object, ...] | None:
    """Return the paper's cells for a system of that name: it has those of BM25 and of its dual encoder."""
    recall = paper.recall_by_age(name, part)
    return None if recall is None else (None, None, recall)
