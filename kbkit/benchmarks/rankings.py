"""Rows of runs that rank nodes, and their frames (query, node, score)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from kbkit.benchmarks.pipeline import Row
from kbkit.measures.frames import RUN


class DatasetQuery(NamedTuple):
    """A query of a dataset."""

    id: str
    text: str


@dataclass(frozen=True)
class Ranked(Row):
    """The nodes that a system returned for a query, best first, and their scores."""

    nodes: list[str]
    scores: list[float]


def frame_of(rows: Iterable[Ranked]) -> pl.DataFrame:
    """Return rows as a run: query, node, score."""
    listed = [row for row in rows if row.nodes]
    frame = pl.DataFrame(
        [(row.id, row.nodes, row.scores) for row in listed],
        schema={"query": pl.String, "node": pl.List(pl.String), "score": pl.List(pl.Float64)},
        orient="row",
    )
    return frame.explode("node", "score").select(RUN.names()).cast(RUN)


def lists_of(run: pl.DataFrame, queries: Sequence[str]) -> Mapping[str, tuple[list[str], list[float]]]:
    """Return the nodes and scores of each query of a run, in its order; empty lists without any."""
    grouped = run.group_by("query", maintain_order=True).agg("node", "score")
    lists = {query: (nodes, scores) for query, nodes, scores in grouped.select(RUN.names()).iter_rows()}
    return {query: lists.get(query, ([], [])) for query in queries}
