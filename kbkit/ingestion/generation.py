"""Build a generation: the staging database, the stores other than the tables, publishing, and one-line errors."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.directory import systems
from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import Manifest, StoreRecord
from kbkit.display.progress import Progress
from kbkit.errors import (
    DISTRIBUTION,
    BadInputError,
    InterruptedBuildError,
    KbError,
    Option,
    ShortageError,
    is_disk_full,
    remedy,
    shortage,
    system_error,
)
from kbkit.ingestion import archives, encodings, json_shapes
from kbkit.ingestion.archives import Found
from kbkit.ingestion.recipe import FileSpec
from kbkit.stores import embedders as embed
from kbkit.stores import table_build, tables, threads, triples
from kbkit.stores.embedders import Embedder
from kbkit.stores.embedding_build import EmbeddingSettings
from kbkit.stores.tables import first_line
from kbkit.stores.text import TextSettings
from kbkit.stores.vector_build import VectorSettings

if TYPE_CHECKING:
    import duckdb

_LIBRARIES = ("duckdb", "pyoxigraph", "tantivy", "lancedb", "numpy", "scipy", "model2vec")


@contextlib.contextmanager
def staging_database(
    folder: Path,
    found: Mapping[str, Sequence[Path]],
    live: Path | None = None,
    parts: Path | None = None,
    specs: Iterable[FileSpec] = (),
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Found]]:
    """Open a database in the build folder that can read the source's files and nothing else.

    Yields it with the source's files, extracted from archives and converted to UTF-8 if necessary; ``specs`` have their
    encodings. The database can also read the tables in the folder ``live``, and everything that a converter writes to
    the folder ``parts``.
    """
    unpacked = folder / "unpacked"
    extracted = decoded = archives.unpack(found, unpacked)
    con = table_build.connect_staging(folder)
    try:
        specs = list(specs)
        decoded = encodings.decode(specs, extracted, unpacked)
        local = json_shapes.reshape(specs, decoded, unpacked)
        files = (path for taken in local.values() for path in taken)
        table_build.allow_only(
            con, [folder, *([live] if live else [])], [folder / triples.QUADS, *files], [parts] if parts else []
        )
        yield con, local
    except BadInputError as error:
        message = archives.original(archives.original(error.message, found, decoded), found, extracted)
        raise BadInputError(message, *error.hints) from error
    finally:
        con.close()
        systems.remove_tree(unpacked)
        for path in folder.glob(table_build.STAGING + "*"):
            systems.remove_tree(path) if path.is_dir() else systems.remove(path)


@dataclass(frozen=True)
class StoreSettings:
    """The settings of the stores that have any."""

    text: TextSettings = field(default_factory=TextSettings)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    embeddings: EmbeddingSettings = field(default_factory=EmbeddingSettings)


def recorded_settings(manifest: Manifest) -> StoreSettings:
    """Return the settings that the stores were built with; defaults for a store that was not built."""
    kinds = {"text": TextSettings, "vectors": VectorSettings, "embeddings": EmbeddingSettings}
    return StoreSettings(**{n: manifest.settings(n, kind) for n, kind in kinds.items() if n in manifest.stores})


def publish(directory: KbDirectory, folder: Path, manifest: Manifest, progress: Progress) -> Path:
    """Make the folder the live generation and return its final path."""
    progress.report("publish")
    final = directory.publish(folder, manifest, lambda done, total: progress.report("checksums", done, total))
    progress.report("publish", 1, 1)
    return final


def versions() -> dict[str, str]:
    """Return the versions of kbkit and of the libraries it builds with."""
    return {"kbkit": _version(DISTRIBUTION), **{name: _version(name) for name in _LIBRARIES}}


_version = functools.cache(importlib.metadata.version)


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors of the system during a build into :class:`KbError`."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedBuildError("Build interrupted", "Nothing was changed") from None
    except KbError:
        raise
    except Exception as error:
        if tables.is_interrupt(error):
            raise InterruptedBuildError("Build interrupted", "Nothing was changed") from None
        if is_disk_full(error):
            hint = ("Nothing was changed. Free disk space, or choose another ", Option("out"))
            raise KbError("Disk full", *hint) from error
        if short := shortage(error):
            message = f"Build failed: {short.message.lower()}"
            raise ShortageError(message, "Nothing was changed. ", *short.hints) from error
        if isinstance(error, OSError):
            raise BadInputError(f"Build failed: {system_error(error).message}", remedy(error)) from error
        if isinstance(error, tables.Error):
            raise BadInputError(f"Build failed: {first_line(error)}") from error
        raise


# -- stores -----------------------------------------------------------------------------------------------------------

_PARALLEL_BUILDS = 2
_MEMORY = "3000MB"
"""Memory limit of DuckDB for the stores that are built."""


@dataclass(frozen=True)
class StoreBuilder:
    """Builds the stores of the generation in ``folder`` from its tables.

    ``quads`` is the file of an RDF source's quads. ``known_vectors`` is a folder of vectors with the same settings,
    which are reused for unchanged documents. ``database`` has the tables attached, if they were just written.
    """

    folder: Path
    manifest: Manifest
    quads: Path | None
    embedder: Embedder | None
    settings: StoreSettings
    progress: Progress
    known_vectors: Path | None = None
    database: duckdb.DuckDBPyConnection | None = None

    def run(self, stores: Sequence[str]) -> None:
        """Build ``stores``, two at a time, and record them in the manifest.

        The engines release Python's lock and use several cores each; more of them in parallel would only use more
        memory. Ctrl-C reaches the caller's thread, which only waits.
        """
        threads.run(lambda: self._run_with_tables(stores), self.progress.stop)

    def _run_with_tables(self, stores: Sequence[str]) -> None:
        """Open the tables once: an instance of DuckDB takes longer to start than a small store to build."""
        source = tables.Tables(self.folder / tables.FILE, memory=_MEMORY, database=self.database)
        try:
            self._run_in_threads(stores, source)
        finally:
            source.close()
            systems.remove_tree(self.folder / table_build.SPILL)

    def _run_in_threads(self, stores: Sequence[str], source: tables.Tables) -> None:
        pool = ThreadPoolExecutor(max_workers=_PARALLEL_BUILDS)
        futures: dict[str, Future[StoreRecord]] = {}
        done: set[Future[StoreRecord]] = set()
        try:
            futures |= {name: pool.submit(self._build, name, source) for name in stores}
            done |= wait(futures.values(), return_when=FIRST_EXCEPTION).done
            for future in done:
                future.result()  # raises the first error
            for name, future in futures.items():
                self.manifest.stores[name] = future.result()
            self._compare_statements()
        except BaseException:
            self.progress.stop()  # the other builds end at their next event
            raise
        finally:
            pool.shutdown(wait=True)
            # Else a reference to the error keeps the readers of the other builds, and their files, open.
            futures.clear()
            done.clear()

    def _build(self, name: str, source: tables.Tables) -> StoreRecord:
        build = {
            "nodes": self._nodes,
            "adjacency": self._adjacency,
            "triples": self._triples,
            "columns": self._columns,
            "text": self._text,
            "vectors": self._vectors,
            "embeddings": self._embeddings,
        }
        self.progress.report(name)
        started = time.perf_counter()
        record = build[name](source)
        record.seconds = round(time.perf_counter() - started, 3)
        self._compare(name, record)
        return record

    def _compare(self, name: str, record: StoreRecord) -> None:
        """Compare the counts of a store with the tables, before anything is published."""
        schema, counts = self.manifest.schema, record.counts
        triples = counts.get("written", 0)
        if schema.rdf_source:  # statements whose literals are written differently but equal ("01", "1") become one
            triples = min(triples, counts.get("triples", 0))
        unit, expected = {
            "nodes": ("nodes", schema.nodes),
            "adjacency": ("pairs", sum(r.pairs for r in schema.relations)),
            "text": ("documents", schema.nodes),
            "vectors": ("vectors", schema.nodes),
            "embeddings": ("embeddings", schema.nodes),
            "triples": ("triples", triples),
            "columns": ("quads", counts.get("quads", 0)),
        }[name]
        if counts[unit] != expected:
            raise KbError(
                f"Inconsistent stores: {name} has {counts[unit]:,} {unit}, the tables require {expected:,}",
                "Please report this bug",
            )

    def _compare_statements(self) -> None:
        """Compare the statements of the triplestore with those of the columns, if the KB has both."""
        records = self.manifest.stores
        if "triples" in records and "columns" in records:
            triples, quads = records["triples"].counts["triples"], records["columns"].counts["quads"]
            if triples != quads:
                raise KbError(
                    f"Inconsistent stores: columns has {quads:,} quads, triples has {triples:,} triples",
                    "Please report this bug",
                )

    def _reporter(self, name: str) -> Callable[[int, int], None]:
        return lambda done, total: self.progress.report(name, done, total)

    def _nodes(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import node_build, node_directory

        schema, folder = self.manifest.schema, self.folder / node_directory.FOLDER
        return StoreRecord(node_build.build(source.batches, folder, schema, self._reporter("nodes")), 0)

    def _adjacency(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import adjacency

        edges = [r.edges for r in self.manifest.schema.relations]
        folder = self.folder / adjacency.FOLDER
        return StoreRecord(adjacency.build(source.batches, folder, edges, self._reporter("adjacency")), 0)

    def _triples(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import triples

        schema, counts = self.manifest.schema, self.manifest.stores["tables"].counts
        lines = 3 * counts["nodes"] + counts["edges"] + counts["texts"]
        folder = self.folder / triples.FOLDER
        result = triples.build(source.batches, folder, schema, self.quads, self._reporter("triples"), lines)
        return StoreRecord(result, 0)

    def _columns(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import columns_build

        schema, counts = self.manifest.schema, self.manifest.stores["tables"].counts
        lines = 3 * counts["nodes"] + counts["edges"] + counts["texts"]
        result = columns_build.build(source.batches, self.folder, schema, self.quads, self._reporter("columns"), lines)
        return StoreRecord(result, 0)

    def _text(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import text, text_build

        folder, schema = self.folder / text.FOLDER, self.manifest.schema
        result = text_build.build(source.batches, folder, schema, self.settings.text, self._reporter("text"))
        return StoreRecord(result, 0, asdict(self.settings.text))

    def _vectors(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import vector_build, vectors

        model = self.embedder
        assert model is not None
        result = vector_build.build(
            source.batches,
            self.folder / vectors.FOLDER,
            self.manifest.schema,
            lambda texts: embed.documents(model, texts),
            model.dimension,
            self.settings.vectors,
            self._reporter("vectors"),
            self.known_vectors,
        )
        record = embed.ModelRecord(model.name, model.dimension, model.prefixes.query, model.prefixes.document)
        return StoreRecord(result, 0, {**asdict(record), **asdict(self.settings.vectors), **embed.usage(model)})

    def _embeddings(self, source: tables.Tables) -> StoreRecord:
        from kbkit.stores import embedding_build, embeddings

        schema, settings = self.manifest.schema, self.settings.embeddings
        symmetric = [relation.symmetric for relation in schema.relations]
        folder = self.folder / embeddings.FOLDER
        result = embedding_build.build(
            source.batches, folder, schema.nodes, symmetric, settings, self._reporter("embeddings")
        )
        return StoreRecord(result, 0, asdict(settings))
