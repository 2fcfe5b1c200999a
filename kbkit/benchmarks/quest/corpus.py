"""Map the titles of a dataset to nodes of a KB, and select the nodes that a query searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.benchmarks.quest.dataset import DOCUMENT_HINT, DOCUMENTS, Example, QuestDataset
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase

_COLUMNS = pl.Schema({"title": pl.String, "id": pl.Int32, "type": pl.String, "key": pl.String})

_BY_KEY = """
SELECT d.title, n.id, n.type::VARCHAR AS type, n.key FROM kbkit_documents d
JOIN nodes n ON n.type = d.type AND n.key = d.key ORDER BY n.id"""

_TITLED = """
SELECT id, type::VARCHAR AS type, key, CASE WHEN count(*) OVER (PARTITION BY type, name) = 1 THEN name
       ELSE name || ' (' || key || ')' END AS title
FROM nodes WHERE type IN (SELECT unnest($types))"""

_BY_NAME = (
    f"SELECT t.title, t.id, t.type, t.key FROM ({_TITLED}) t SEMI JOIN kbkit_documents d USING (title) ORDER BY id"
)
_ALL = f"SELECT title, id, type, key FROM ({_TITLED}) ORDER BY id"


@dataclass(frozen=True)
class Corpus:
    """The documents that are searched: ``nodes`` (title, id, type, key), each title and each node once.

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
        own = {kind.name for kind in kb.schema.node_types}
        everything = kb.schema.candidate_types or tuple(kind.name for kind in kb.schema.node_types)
        types: dict[str | None, tuple[str, ...]] = {None: everything}
        types |= {domain: (domain,) if domain in own else everything for domain in domains if domain is not None}
        wanted = sorted({kind for domain in domains for kind in types[domain]})
        found, documents = _found(kb, dataset, wanted)
        clear = found.filter(pl.col("title").is_unique() & pl.col("id").is_unique())
        if clear.is_empty():
            message = f"No document of {dataset.folder} is a node of this KB"
            raise KbError(message, "Use the KB that the dataset was generated from")
        return Corpus(clear, types, documents - clear.height)

    def within(self, domain: str | None) -> NDArray[np.int64]:
        """Return the ids of a domain's documents, sorted."""
        kinds = self.types.get(domain, self.types[None])
        found: NDArray[np.int64] = self.nodes.filter(pl.col("type").is_in(kinds))["id"].sort().cast(pl.Int64).to_numpy()
        return found

    def named(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return hits (query, id, score) as a run: query, node (title), score."""
        return found.join(self.nodes.select("id", "title"), on="id", how="inner", maintain_order="left").select(
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


def _found(kb: KnowledgeBase, dataset: QuestDataset, types: Sequence[str]) -> tuple[pl.DataFrame, int]:
    """Return title, id, type, key of the nodes that are documents, and the number of documents."""
    lazy = dataset.documents()
    if lazy is None:
        nodes = kb.tables.lookup(_ALL, {"types": list(types)})
        return nodes.cast(dict(_COLUMNS)), nodes.height  # type: ignore[arg-type] # names and types
    documents = dataset.collect(lazy.select("title", "type", "key"))
    _check(documents, dataset)
    keyed = documents.filter(pl.col("type").is_not_null() & pl.col("key").is_not_null())
    rest = documents.join(keyed, on="title", how="anti")
    parts = [pl.DataFrame(schema=_COLUMNS)]
    if keyed.height:
        parts.append(kb.tables.lookup(_BY_KEY, frames={"kbkit_documents": keyed}))
    if rest.height:
        parts.append(kb.tables.lookup(_BY_NAME, {"types": list(types)}, {"kbkit_documents": rest.select("title")}))
    return pl.concat([part.select(_COLUMNS.names()).cast(dict(_COLUMNS)) for part in parts]), documents.height  # type: ignore[arg-type]


def _check(documents: pl.DataFrame, dataset: QuestDataset) -> None:
    path = dataset.folder / DOCUMENTS
    if documents.is_empty():
        raise BadInputError(f"{path} is empty")
    untitled = documents["title"].is_null().arg_true()
    if len(untitled):
        raise BadInputError(f"Missing title in {path}, document {untitled[0] + 1}", DOCUMENT_HINT)
    for (title,) in documents.filter(pl.col("title").is_duplicated()).select("title").head(1).iter_rows():
        raise BadInputError(f"Duplicate title {title!r} in {path}", "Each document needs its own title")
