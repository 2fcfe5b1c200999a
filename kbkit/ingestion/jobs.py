"""Builds the stores beside the tables, each from the tables, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

from kbkit.directory.manifest import Manifest, StoreRecord
from kbkit.display.progress import Progress
from kbkit.errors import KbError
from kbkit.stores import embedders as embed
from kbkit.stores import tables, threads
from kbkit.stores.embedders import Embedder
from kbkit.stores.text import TextSettings
from kbkit.stores.vector_build import VectorSettings

_AT_ONCE = 2
_MEMORY = "1500MB"
"""What DuckDB may hold for each store that is built; what it reads streams through."""


@dataclass(frozen=True)
class Jobs:
    """How each store of the generation in ``folder`` is built.

    ``quads`` is there when the source is RDF; ``known_vectors`` is the folder of vectors made alike, which are taken
    over for documents that did not change.
    """

    folder: Path
    manifest: Manifest
    quads: Path | None
    embedder: Embedder | None
    text: TextSettings
    vectors: VectorSettings
    progress: Progress
    known_vectors: Path | None = None

    def run(self, stores: Sequence[str]) -> None:
        """Build ``stores``, two at a time, and record them in the manifest.

        Their engines work outside Python's lock, and each keeps more than one core busy; more at a time would hold
        more memory. Ctrl-C reaches the caller's thread, which does nothing but wait.
        """
        if stores:
            threads.run(lambda: self._side_by_side(stores), self.progress.stop)

    def _side_by_side(self, stores: Sequence[str]) -> None:
        pool = ThreadPoolExecutor(max_workers=_AT_ONCE)
        futures: dict[str, Future[StoreRecord]] = {}
        done: set[Future[StoreRecord]] = set()
        try:
            futures |= {name: pool.submit(self._build, name) for name in stores}
            done |= wait(futures.values(), return_when=FIRST_EXCEPTION).done
            for future in done:
                future.result()  # raises what the first to fail raised
            for name, future in futures.items():
                self.manifest.stores[name] = future.result()
        except BaseException:
            self.progress.stop()  # the others end at their next event
            raise
        finally:
            pool.shutdown(wait=True)
            # Else who keeps the error keeps what the others were reading, and the file stays open.
            futures.clear()
            done.clear()

    def _build(self, name: str) -> StoreRecord:
        build = {"adjacency": self._adjacency, "triples": self._triples, "text": self._text, "vectors": self._vectors}
        self.progress.report(name)
        started = time.perf_counter()
        source = tables.Tables(self.folder / tables.FILE, memory=_MEMORY)
        try:
            record = build[name](source)
        finally:
            source.close()
        record.seconds = round(time.perf_counter() - started, 3)
        self._compare(name, record)
        return record

    def _compare(self, name: str, record: StoreRecord) -> None:
        """Compare what a store holds with the tables, before anything is published."""
        schema, counts = self.manifest.schema, record.counts
        what, expected = {
            "adjacency": ("pairs", sum(r.pairs for r in schema.relations)),
            "text": ("documents", schema.nodes),
            "vectors": ("vectors", schema.nodes),
            "triples": ("triples", counts.get("written", 0)),
        }[name]
        if counts[what] != expected:
            raise KbError(
                f"the stores disagree: {name} has {counts[what]:,} {what}, the tables call for {expected:,}",
                "this is a defect of kbkit; please report it",
            )

    def _teller(self, name: str) -> Callable[[int, int], None]:
        return lambda done, total: self.progress.report(name, done, total)

    def _adjacency(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import adjacency

        edges = [r.edges for r in self.manifest.schema.relations]
        folder = self.folder / adjacency.FOLDER
        return StoreRecord(adjacency.build(source.batches, folder, edges, self._teller("adjacency")), 0)

    def _triples(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import triples

        schema, counts = self.manifest.schema, self.manifest.stores["tables"].counts
        lines = 3 * counts["nodes"] + counts["edges"] + counts["texts"]
        folder = self.folder / triples.FOLDER
        made = triples.build(source.batches, folder, schema, self.quads, self._teller("triples"), lines)
        return StoreRecord(made, 0)

    def _text(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import text

        folder, schema = self.folder / text.FOLDER, self.manifest.schema
        made = text.build(source.batches, folder, schema, self.text, self._teller("text"))
        return StoreRecord(made, 0, asdict(self.text))

    def _vectors(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import vector_build, vectors

        model = self.embedder
        assert model is not None
        made = vector_build.build(
            source.batches,
            self.folder / vectors.FOLDER,
            self.manifest.schema,
            lambda texts: embed.documents(model, texts),
            model.dimension,
            self.vectors,
            self._teller("vectors"),
            self.known_vectors,
        )
        prefixes = {"query_prefix": model.prefixes.query, "document_prefix": model.prefixes.document}
        named = {"embedder": model.name, "dimension": model.dimension}
        return StoreRecord(made, 0, {**named, **prefixes, **asdict(self.vectors)})
