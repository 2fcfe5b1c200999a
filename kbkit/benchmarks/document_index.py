"""Search the documents of a dataset: an index of them, which is a KB of its own beside the runs.

A KB's own index holds what the KB knows of a node. The documents of a dataset can be others: with attributes and
relations as sentences, without some fields, or those of another program. A system is to be scored on the documents that
the dataset gives it, so these are indexed, as the KB's texts are: with its analyzer and its embedder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks import document_files
from kbkit.benchmarks.document_files import DOCUMENTS
from kbkit.directory.generations import KbDirectory, fingerprint
from kbkit.directory.manifest import Manifest
from kbkit.directory.temporary import TemporaryFolder
from kbkit.display.progress import Listener
from kbkit.ingestion.build import ingest
from kbkit.ingestion.generation import recorded_settings
from kbkit.ingestion.request import Identity, IngestRequest
from kbkit.kb import KnowledgeBase
from kbkit.search.settings import LEARNED, needs
from kbkit.stores.embedders import ModelRecord

INDEX = "documents.kb"
"""The folder of an index, in the folder of the runs."""
DOCUMENT = "document"
"""The node type of documents whose node is unknown."""
_RECIPE = "quest"
"""The recipe that reads files of documents."""

_DOCUMENT_IDS = "SELECT key AS title, id AS document FROM nodes WHERE type = 'document'"

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
_COLUMNS = pl.Schema({"title": pl.String, "id": pl.Int32, "type": pl.String, "key": pl.String})


def titled_nodes(kb: KnowledgeBase, documents: pl.DataFrame | None, types: Sequence[str]) -> pl.DataFrame:
    """Return title, id, type, key of the nodes that are documents (title, type, key); without documents, of all nodes.

    A document is found by type and key, or else among the nodes of ``types`` by its title: a node's name, followed by
    `` (KEY)`` if several nodes of the type have that name. If no document is found by type and key, as in a KB of the
    documents alone, titles decide for all.
    """
    if documents is None:
        return _cast(kb.tables.lookup(_ALL, {"types": list(types)}))
    keyed = documents.filter(pl.col("type").is_not_null() & pl.col("key").is_not_null())
    matched = _cast(kb.tables.lookup(_BY_KEY, frames={"kbkit_documents": keyed})) if keyed.height else None
    if matched is None or matched.is_empty():
        rest, matched = documents, pl.DataFrame(schema=_COLUMNS)
    else:
        rest = documents.join(keyed, on="title", how="anti")
    if rest.is_empty():
        return matched
    named = kb.tables.lookup(_BY_NAME, {"types": list(types)}, {"kbkit_documents": rest.select("title")})
    return pl.concat([matched, _cast(named)])


def _cast(nodes: pl.DataFrame) -> pl.DataFrame:
    return nodes.select(_COLUMNS.names()).cast(dict(_COLUMNS))  # type: ignore[arg-type] # names and types


@dataclass(frozen=True)
class DocumentIndex:
    """An index of the documents of a dataset: a KB with a node per document.

    ``documents`` has title, document (the id in that KB), type and key (of the node in the dataset's KB, null if
    unknown), sorted by document.
    """

    kb: KnowledgeBase
    documents: pl.DataFrame

    def searches(self, mode: str) -> bool:
        """Whether a mode ranks texts alone, so that the index can answer it.

        Others need the relations of a KB, or the ranking that was learned for it.
        """
        return "adjacency" not in needs(mode) and mode != LEARNED

    def nodes(self, kb: KnowledgeBase, types: Sequence[str]) -> pl.DataFrame:
        """Return document, id, type, key of the documents that are exactly one node of a KB, sorted by document."""
        matched = titled_nodes(kb, self.documents.select("title", "type", "key"), types)
        clear = matched.filter(pl.col("title").is_unique() & pl.col("id").is_unique())
        both = clear.join(self.documents.select("title", "document"), on="title")
        return both.select("document", "id", "type", "key").sort("document")


@contextlib.contextmanager
def document_index(
    dataset: Path,
    folder: Path | None,
    kb: KnowledgeBase,
    modes: Sequence[str],
    listener: Listener | None = None,
) -> Iterator[DocumentIndex | None]:
    """Open the index of a dataset's documents during the block; None if it has no documents.

    The index is kept in ``folder`` (None: in a temporary one), and built again if the documents have changed, or if the
    ``kb`` analyzes or embeds texts otherwise. It has the stores that ``modes`` need, and those for texts of ``kb``.
    """
    documents = document_files.listed(dataset)
    if documents is None:
        yield None
        return
    with contextlib.ExitStack() as stack:
        out = (stack.enter_context(TemporaryFolder()) if folder is None else folder) / INDEX
        _build(dataset / DOCUMENTS, out, kb, modes, listener)
        index = stack.enter_context(KnowledgeBase(out))
        ids = index.tables.lookup(_DOCUMENT_IDS).cast({"document": pl.Int32})
        yield DocumentIndex(index, documents.join(ids, on="title").sort("document"))


def _build(path: Path, out: Path, kb: KnowledgeBase, modes: Sequence[str], listener: Listener | None) -> None:
    """Build an index at ``out``, unless the one there is up to date."""
    needed = {store for mode in modes for store in needs(mode) if "adjacency" not in needs(mode)}
    request = _request(path, [store for store in ("text", "vectors") if store in needed or kb.has(store)], kb)
    directory = KbDirectory(out)
    if directory.exists():
        current = Manifest.read(directory.generation(directory.current()))
        if current.sources[0]["sha256"] == fingerprint(path)["sha256"] and _fits(current, request):
            return
    ingest(request, out, listener)
    directory.collect()


def _fits(manifest: Manifest, request: IngestRequest) -> bool:
    """Whether an index has the stores of a request, built as it says."""
    if not set(request.stores or ()) <= set(manifest.stores):
        return False
    known = recorded_settings(manifest)
    built: tuple[Any, ...] = (known.text.analyzer,) if "text" in manifest.stores else ()
    asked: tuple[Any, ...] = (request.analyzer,) if built else ()
    if "vectors" in manifest.stores:
        built += (known.vectors.chunk_words, known.vectors.chunk_overlap, known.vectors.chunk_characters)
        asked += (request.chunk_words, request.chunk_overlap, request.chunk_characters)
        built += (manifest.settings("vectors", ModelRecord).embedder,)
        asked += (request.embedder,)
    return built == asked


def _request(path: Path, stores: Sequence[str], kb: KnowledgeBase) -> IngestRequest:
    """Return the request for an index: with the settings of the KB where it has the store, else the defaults."""
    known = recorded_settings(kb.manifest)
    settings: dict[str, Any] = {"chunk_overlap": known.vectors.chunk_overlap}
    if "vectors" in stores and kb.has("vectors"):
        kb.embedder  # noqa: B018 - raises for a model that a stranger's KB names and the user does not know
        model = kb.manifest.settings("vectors", ModelRecord)
        settings |= {
            "embedder": model.embedder,
            "query_prefix": model.query_prefix,
            "document_prefix": model.document_prefix,
        }
    return IngestRequest(
        source=_RECIPE,
        files={"documents": path},
        identity=Identity(name="documents", title=f"Documents of {path.parent.resolve().name}"),
        stores=stores,
        replace=True,
        analyzer=known.text.analyzer,
        chunk_words=known.vectors.chunk_words,
        chunk_characters=known.vectors.chunk_characters,
        **settings,
    )
