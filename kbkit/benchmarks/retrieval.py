"""Search modes on the queries of a dataset: the texts that they search, their hits, and the rows of their runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from kbkit.benchmarks.document_index import DocumentIndex
from kbkit.benchmarks.pipeline import Row
from kbkit.kb import KnowledgeBase
from kbkit.measures.frames import RUN


class DatasetQuery(NamedTuple):
    """A query of a dataset."""

    id: str
    text: str


@dataclass(frozen=True)
class SearchedTexts:
    """The texts that search modes rank: those of a KB, or of the ``index`` of a dataset's own documents."""

    kb: KnowledgeBase
    index: DocumentIndex | None = None

    def are_documents(self, mode: str) -> bool:
        """Return whether a mode searches the documents: others need the relations of the KB."""
        return self.index is not None and self.index.searches(mode)

    def of(self, mode: str) -> KnowledgeBase:
        """Return the KB that a mode searches: that of the documents, or the KB itself."""
        return self.index.kb if self.index is not None and self.index.searches(mode) else self.kb

    @property
    def base(self) -> KnowledgeBase:
        """The KB whose texts classifiers read: that of the documents, if there are any."""
        return self.kb if self.index is None else self.index.kb


class KnownHits:
    """The hits of queries by search mode, so that each query is searched once."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, pl.DataFrame]] = {}

    def of(
        self, mode: str, queries: Mapping[str, str], search: Callable[[dict[str, str]], pl.DataFrame]
    ) -> pl.DataFrame:
        """Return the hits of queries, texts by id, in their order; ``search`` returns those of unknown queries."""
        known = self._known.setdefault(mode, {})
        left = {query: text for query, text in queries.items() if query not in known}
        if left:
            hits = search(left)
            parts = {str(name): part for (name,), part in hits.partition_by("query", as_dict=True).items()}
            known.update({name: parts.get(name, hits.clear()) for name in left})
        return pl.concat([known[query] for query in queries])


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
