"""Map the titles of a dataset to nodes of a KB or documents of an index, and select those that a query searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.benchmarks import document_files
from kbkit.benchmarks.document_index import DOCUMENT, DocumentIndex, titled_nodes
from kbkit.benchmarks.quest.dataset import Example, QuestDataset
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase


@dataclass(frozen=True)
class Corpus:
    """The documents of a dataset: ``nodes`` (title, id, type, key), each title and each id once.

    The ids are those of a KB, or of an index of the documents.

    ``types`` are those of a domain's documents. ``missing`` counts documents that are not exactly one node.
    """

    nodes: pl.DataFrame
    types: dict[str | None, tuple[str, ...]]
    missing: int = 0

    @staticmethod
    def of(kb: KnowledgeBase, dataset: QuestDataset, examples: Sequence[Example]) -> Corpus:
        """Find the documents of a dataset; without a file of documents, all nodes of the types that its domains name.

        A domain that is a type of the KB means its nodes; any other domain means all documents, as in the paper
        (section 4.1). A document is found by type and key, or else by title: a node's name, followed by `` (KEY)`` if
        several nodes of the type have that name.
        """
        domains = list(dict.fromkeys(example.domain for example in examples))
        type_names = {kind.name for kind in kb.schema.node_types}
        everything = kb.schema.candidate_types or tuple(kind.name for kind in kb.schema.node_types)
        types: dict[str | None, tuple[str, ...]] = {None: everything}
        types |= {domain: (domain,) if domain in type_names else everything for domain in domains if domain is not None}
        wanted = sorted({kind for domain in domains for kind in types[domain]})
        documents = document_files.listed(dataset.folder)
        matched = titled_nodes(kb, documents, wanted)
        clear = matched.filter(pl.col("title").is_unique() & pl.col("id").is_unique())
        if clear.is_empty():
            message = f"No document of {dataset.folder} is a node of this KB"
            raise KbError(message, "Use the KB that the dataset was generated from")
        return Corpus(clear, types, (matched if documents is None else documents).height - clear.height)

    @staticmethod
    def of_index(index: DocumentIndex, examples: Sequence[Example]) -> Corpus:
        """Return all documents of an index; their ids are those of the index.

        A domain that is a type of documents means these, any other domain all documents.
        """
        nodes = index.documents.select(
            "title",
            pl.col("document").alias("id"),
            pl.col("type").fill_null(DOCUMENT),
            pl.col("key").fill_null(pl.col("title")),
        )
        known = tuple(nodes["type"].unique(maintain_order=True))
        domains = {example.domain for example in examples if example.domain in known}
        types: dict[str | None, tuple[str, ...]] = {None: known}
        types |= {domain: (domain,) for domain in domains if domain is not None}
        return Corpus(nodes, types)

    def is_type(self, domain: str) -> bool:
        """Return whether a domain is a type of documents, so that all of its documents are of that type."""
        return self.types.get(domain) == (domain,)

    def within(self, domain: str | None) -> NDArray[np.int64]:
        """Return the ids of a domain's documents, sorted."""
        kinds = self.types.get(domain, self.types[None])
        ids: NDArray[np.int64] = self.nodes.filter(pl.col("type").is_in(kinds))["id"].sort().cast(pl.Int64).to_numpy()
        return ids

    def named(self, hits: pl.DataFrame) -> pl.DataFrame:
        """Return hits (query, id, score) as a run: query, node (title), score."""
        return hits.join(self.nodes.select("id", "title"), on="id", how="inner", maintain_order="left").select(
            "query", pl.col("title").alias("node"), "score"
        )

    def references(self, titles: pl.Series) -> pl.Series:
        """Return ``type#key`` for each title; other names are unchanged."""
        known = self.nodes.select(pl.col("title").alias("node"), reference=pl.format("{}#{}", "type", "key"))
        return (
            titles.alias("node")
            .to_frame()
            .join(known, on="node", how="left", maintain_order="left")
            .select(pl.coalesce("reference", "node"))
            .to_series()
        )

    def unknown(self, examples: Iterable[Example]) -> list[str]:
        """Return the distinct answers that are not documents of the corpus."""
        known = set(self.nodes["title"])
        return sorted({title for example in examples for title in example.docs} - known)
