"""Run the search modes of kbkit on a STaRK dataset (section 3.1 of the paper)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks import run as runs
from kbkit.benchmarks.costs import CostSummary, Latency
from kbkit.benchmarks.recorded import digest, kb_settings
from kbkit.benchmarks.retrieval import DatasetQuery, KnownHits, Ranked, SearchedTexts, frame_of, lists_of
from kbkit.benchmarks.stark.task import StarkTask
from kbkit.errors import BadInputError, Command, KbError
from kbkit.measures import stark
from kbkit.measures.frames import Gold
from kbkit.search.hybrid import Search, pairs
from kbkit.search.model_search import retriever_settings
from kbkit.search.run import search
from kbkit.search.settings import MODES, check_mode, missing_stores

if TYPE_CHECKING:
    from kbkit.benchmarks.document_index import DocumentIndex
    from kbkit.kb import KnowledgeBase

MEASURES = {"Hit@1": "hit@1", "Hit@5": "hit@5", "R@20": "recall@20", "MRR": "mrr"}
"""Table 6's columns."""
TIMED = 100
"""Number of questions whose searches are timed."""
BATCH = 200
"""Number of questions that are searched together: each batch scans all vectors once."""


@dataclass(frozen=True)
class Result:
    """A run (query, node, score) of a system, its ``latency`` and its ``costs``, if known."""

    name: str
    run: pl.DataFrame
    latency: Latency | None = None
    costs: CostSummary | None = None


# -- questions --------------------------------------------------------------------------------------------------------


def questions(dataset: Path, split: str, fraction: float = 1.0, seed: int = 0) -> Gold:
    """Return the questions of a split, or a random ``fraction`` of them (at least one)."""
    if not 0 < fraction <= 1:
        raise KbError(f"Invalid sample: {fraction:g}", "Use a fraction above 0 and at most 1, for example 0.1")
    check_range("seed", seed, 0)
    gold = stark.read_stark_gold(dataset, split)
    total = gold.queries.height
    if not total:
        raise BadInputError(f"No queries in {dataset}{f', split {split!r}' if split else ''}")
    if fraction == 1:
        return gold
    rows = np.random.default_rng(seed).choice(total, max(1, round(fraction * total)), replace=False)
    queries = gold.queries[np.sort(rows)]
    return Gold(gold.judgements.join(queries, on="query", how="semi"), queries)


def modes(kb: KnowledgeBase, wanted: Sequence[str] = ()) -> list[str]:
    """Return the search modes to run: ``wanted``, or all for which the KB has the stores."""
    for mode in wanted:
        check_mode(mode)
    chosen = list(dict.fromkeys(wanted)) or [mode for mode in MODES if not missing_stores(kb.stores, mode)]
    if not chosen:
        raise KbError("The KB has neither full text nor vectors", "Run ", Command("build KB text"))
    return chosen


def left_out(kb: KnowledgeBase) -> list[str]:
    """Return a line for each mode that needs a store which the KB does not have."""
    return [
        f"Skipped {mode}: the KB has no {' and no '.join(missing_stores(kb.stores, mode))}"
        for mode in MODES
        if missing_stores(kb.stores, mode)
    ]


# -- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hits(Ranked):
    """The hits of a question; ``reranked`` of them were scored again, ``unscored`` of these without a valid score."""

    reranked: int = 0
    unscored: int = 0


Finder = runs.System[DatasetQuery, Hits]
"""A retriever, alone or with a reranker."""
FORM = runs.row_form(Hits, batch=BATCH)


@dataclass(frozen=True)
class SearchedDocuments:
    """The documents of the searched nodes of a task; ``nodes``: document (its id), id, type, key of the node."""

    index: DocumentIndex
    nodes: pl.DataFrame

    @staticmethod
    def of(index: DocumentIndex, kb: KnowledgeBase, task: StarkTask) -> SearchedDocuments:
        """Find the documents of the searched nodes. Raises :class:`KbError` if there is none."""
        nodes = index.nodes(kb, task.types)
        nodes = nodes.filter(pl.Series(np.isin(nodes["id"].to_numpy(), task.within), dtype=pl.Boolean))
        if nodes.is_empty():
            message = f"No document of the dataset is a node of the searched types: {', '.join(task.types)}"
            raise KbError(message, "Use the KB that the documents were written from")
        return SearchedDocuments(index, nodes)

    def search(self, mode: str, k: int) -> Search:
        """Return a search of the documents."""
        within = self.nodes["document"].to_numpy()
        return search(self.index.kb.stores, mode, k, within, options={"quotes": False})

    def as_nodes(self, hits: pl.DataFrame) -> pl.DataFrame:
        """Return hits of documents as hits of their nodes."""
        names = hits.select("query", "rank", "name", "score", document="id")
        return names.join(self.nodes, on="document", maintain_order="left").select(hits.columns)


class ModeRunner:
    """Searches the questions of a task and keeps the hits of each mode.

    Runs are kept in ``folder``, where an interrupted one is resumed; without, in a temporary folder. ``settings`` are
    those of the dataset. With an ``index`` of the dataset's documents, these are searched instead of the KB's texts.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        task: StarkTask,
        k: int = 100,
        timed: int = TIMED,
        *,
        folder: Path | None = None,
        settings: Mapping[str, Any] | None = None,
        replace: bool = False,
        index: DocumentIndex | None = None,
    ) -> None:
        self.session, self.task, self.k, self.timed = kb.session, task, k, timed
        self.texts = SearchedTexts(kb, index)
        self._documents = None if index is None else SearchedDocuments.of(index, kb, task)
        self.queries = [
            DatasetQuery(*one) for one in zip(*pairs(task.gold.queries.select("query", "text")), strict=True)
        ]
        self._folder, self._replace = folder, replace
        own = {} if index is None else {"documents": index.kb.manifest.sources[0]["sha256"]}
        self._settings = {**(settings or {}), **kb_settings(kb), **own, "types": list(task.types), "k": k}
        self._hits = KnownHits()

    def remarks(self) -> list[str]:
        """Return remarks on the scores: of the task, and about measures that need more hits."""
        beyond = [name for name in MEASURES if "@" in name and self.k < min(_cut(name), len(self.task.within))]
        cut = ", ".join(f"{name} is {name.partition('@')[0]}@{self.k}" for name in beyond)
        without = 0 if self._documents is None else len(self.task.within) - self._documents.nodes.height
        missing = f"Searched nodes without a document: {without:,}; they cannot be found"
        return [
            *self.task.remarks(),
            *([missing] if without else []),
            *([f"Rankings end at {self.k}: {cut}"] if beyond and self.k > 0 else []),
        ]

    def search(self, mode: str) -> Search:
        """Return a search of the task's nodes, or of their documents."""
        if self._documents is not None and self.texts.are_documents(mode):
            return self._documents.search(mode, self.k)
        return search(self.session.stores, mode, self.k, self.task.within, options={"quotes": False})

    def hits(self, mode: str, queries: Sequence[DatasetQuery] | None = None) -> pl.DataFrame:
        """Return the hits of questions (all by default): query, rank, id, key, type, name, score."""
        wanted = self.queries if queries is None else queries
        return self._hits.of(mode, {query.id: query.text for query in wanted}, lambda left: self._found(mode, left))

    def _found(self, mode: str, queries: dict[str, str]) -> pl.DataFrame:
        hits = self.search(mode).many(queries)
        if self._documents is not None and self.texts.are_documents(mode):
            return self._documents.as_nodes(hits)
        return hits

    def result(self, mode: str, progress: Callable[[int, int], None] = lambda *_: None) -> Result:
        """Return the run of a mode, and its latency over the first ``timed`` questions."""
        searching = self.search(mode)
        if self.timed:
            searching.one(self.queries[0].text, explain=False)  # opens the stores
        timing = runs.Timing[DatasetQuery](self.timed, lambda query: searching.one(query.text, explain=False))
        return self.run(ModeRetriever(self, mode), timing, progress)[0]

    def run(
        self, system: Finder, timing: runs.Timing[DatasetQuery], progress: Callable[[int, int], None] = lambda *_: None
    ) -> tuple[Result, list[Hits]]:
        """Return the run of a system and its rows."""
        with contextlib.ExitStack() as stack:
            folder = self._folder or Path(stack.enter_context(TemporaryDirectory()))
            path = runs.predictions_file(folder, system.name)
            runs.make_folder(path.parent)
            settings = self._settings
            run = runs.run(
                path, system, self.queries, FORM, settings, replace=self._replace, progress=progress, timing=timing
            )
            rows, costs = list(run.rows.values()), run.summary
            return Result(system.name, frame_of(rows), costs.latency, costs), rows


class ModeRetriever:
    """A search mode."""

    def __init__(self, runner: ModeRunner, mode: str) -> None:
        self._runner, self.name = runner, mode
        self.settings = {"mode": mode, **retriever_settings(runner.texts.of(mode).stores, mode)}

    def answer(self, queries: Sequence[DatasetQuery]) -> list[Hits]:
        """Return the hits of each question."""
        ranked = lists_of(self._runner.task.run(self._runner.hits(self.name, queries)), [query.id for query in queries])
        return [Hits(name, *lists) for name, lists in ranked.items()]


def settings(dataset: Path, split: str, fraction: float, seed: int, gold: Gold) -> dict[str, Any]:
    """Return the settings of a dataset's part, as runs record them."""
    texts = gold.queries.select("query", "text").rows()
    return {"dataset": dataset.name, "split": split, "sample": fraction, "seed": seed, "queries": digest(texts)}


def _cut(measure: str) -> int:
    return int(measure.partition("@")[2])
