"""Builds generations: from a source (:func:`ingest`), or one store anew from the tables (:func:`rebuild`)."""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit import embed
from kbkit.errors import BadInputError, InterruptedBuildError, KbError, UnknownNameError
from kbkit.ingestion import files
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.describe import describe
from kbkit.ingestion.progress import Listener, Progress
from kbkit.ingestion.stage import Report, stage
from kbkit.layout import STORES, KbDirectory, Manifest, StoreRecord, fingerprint, link_tree, now, remove_tree
from kbkit.schema import Schema
from kbkit.stores import tables

if TYPE_CHECKING:
    import duckdb

_LIBRARIES = ("kbkit", "duckdb", "pyoxigraph", "tantivy", "lancedb", "numpy", "model2vec")


@dataclass(frozen=True)
class Request:
    """What to ingest, and how. ``options`` and ``columns`` are the recipe's; ``named`` settles single files."""

    source: str
    paths: Sequence[Path] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, Path] = field(default_factory=dict)
    embedder: str = "static"
    analyzer: str = "english"
    replace: bool = False
    skip_dangling: bool = False
    merge_duplicates: bool = False


def ingest(request: Request, out: Path, listener: Listener | None = None) -> Path:
    """Build a KB at ``out`` (its next generation, with ``replace``) and return the new generation's folder.

    Raises a :class:`KbError` for whatever the user can mend; then the directory is as it was.
    """
    directory = KbDirectory(out)
    if directory.exists() and not request.replace:
        raise KbError(f"{out} is a KB already", "--replace builds its next generation; or name another --out")
    recipe = recipes.load(request.source)
    options = recipes.settings(recipe, request.options)
    paths = list(request.paths) or ([recipe.folder / recipe.data] if recipe.data else [])
    found = files.find(recipe, paths, request.named)
    embedder = embed.load(request.embedder)
    progress = Progress(listener)
    with _one_line_errors(), directory.building(f"kbkit ingest {request.source}") as folder:
        progress.tell("load")
        started = time.perf_counter()
        with _staging(folder, found) as con:
            report = _load(con, recipe, request, found, options)
            schema = describe(con, recipe)
            progress.tell("load", 1, 2)
            counts = tables.build(con, folder, schema)
            quads = _keep_quads(con, recipe.rdf_quads, folder)
        progress.tell("load", 2, 2)
        manifest = Manifest(
            schema=schema,
            generation=folder.name,
            created=now(),
            recipe={"name": recipe.name, "title": recipe.title, "licence": recipe.licence, "options": options},
            sources=[{"name": p.name, **fingerprint(p)} for taken in found.values() for p in taken],
            report=report.to_json(),
            versions=_versions(),
            stores={"tables": StoreRecord(counts, round(time.perf_counter() - started, 3))},
        )
        jobs = _jobs(folder, manifest, quads, embedder, request.analyzer, progress)
        _run(jobs, manifest, progress)
        return _publish(directory, folder, manifest, progress)


def rebuild(out: Path, store: str, *, embedder: str = "", analyzer: str = "", listener: Listener | None = None) -> Path:
    """Build one store anew from the tables, as a new generation that shares the other stores' files."""
    if store not in STORES:
        raise UnknownNameError("store", store, STORES)
    if store == "tables":
        raise KbError(
            "the tables are what the other stores are built from", "kbkit ingest --replace builds all of them"
        )
    if (embedder and store != "vectors") or (analyzer and store != "text"):
        raise KbError("--embedder goes with the store vectors, --analyzer with text", f"you named {store}")
    directory = KbDirectory(out)
    pin = directory.pin()
    try:
        manifest = Manifest.read(pin.folder)
        record = manifest.stores[store]
        model = embed.load(embedder or record.settings.get("embedder", "static")) if store == "vectors" else None
        progress = Progress(listener)
        with _one_line_errors(), directory.building(f"kbkit build {store}") as folder:
            for path in sorted(pin.folder.iterdir()):
                if path.name not in (store, "lock", "manifest.json"):
                    link_tree(path, folder / path.name)
            manifest.files = {n: f for n, f in manifest.files.items() if n.split("/")[0] != store}
            manifest.created = now()
            quads = folder / "source" / "quads.nq.gz"
            jobs = _jobs(
                folder,
                manifest,
                quads if quads.exists() else None,
                model,
                analyzer or manifest.stores["text"].settings["analyzer"],
                progress,
            )
            _run({store: jobs[store]}, manifest, progress)
            manifest.versions = {**manifest.versions, **_versions()}
            return _publish(directory, folder, manifest, progress)
    finally:
        pin.close()


# -- load -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _staging(folder: Path, found: Mapping[str, Sequence[Path]]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in the building folder that can open the source's files and the KB's own, and no others."""
    con = tables.connect_staging(folder / "staging.duckdb")
    try:
        given = (path for taken in found.values() for path in taken)
        tables.allow_only(con, folder, [folder / "quads.nq.gz", *given])
        yield con
    finally:
        con.close()
        for path in folder.glob("staging.duckdb*"):
            remove_tree(path) if path.is_dir() else path.unlink()


def _load(
    con: duckdb.DuckDBPyConnection,
    recipe: recipes.Recipe,
    request: Request,
    found: Mapping[str, Sequence[Path]],
    options: Mapping[str, str],
) -> Report:
    """Run the recipe's SQL and check what it made."""
    try:
        for name, value in options.items():
            con.execute(f"SET VARIABLE {tables.quote(name)} = {tables.literal(value)}")
        files.create_views(con, recipe, found, request.columns)
        con.execute(recipe.sql)
        report = stage(con, recipe, skip_dangling=request.skip_dangling, merge_duplicates=request.merge_duplicates)
    except tables.Error as error:
        raise tables.source_error(error, recipe.folder / "load.sql") from error
    report.options = dict(options)
    return report


def _keep_quads(con: duckdb.DuckDBPyConnection, table: str, folder: Path) -> Path | None:
    """Write an RDF source's quads into the generation, compressed: the triplestore is built from them."""
    if not table:
        return None
    path = folder / "quads.nq.gz"
    tables.write_lines(
        con, f"SELECT DISTINCT concat_ws(' ', s, p, o, nullif(g, ''), '.') FROM {tables.quote(table)}", path
    )
    (folder / "source").mkdir()
    return path.rename(folder / "source" / path.name)


# -- stores -----------------------------------------------------------------------------------------------------------

Job = Callable[[], StoreRecord]


def _jobs(
    folder: Path,
    manifest: Manifest,
    quads: Path | None,
    embedder: embed.Embedder | None,
    analyzer: str,
    progress: Progress,
) -> dict[str, Job]:
    """How each store beside the tables is built; each job opens the tables for itself."""
    schema = manifest.schema
    counts = manifest.stores["tables"].counts

    def adjacency(source: tables.Tables) -> StoreRecord:
        from kbkit.stores import adjacency as store

        edges = [r.edges for r in schema.relations]
        made = store.build(source.batches, folder / "adjacency", edges, lambda d, t: progress.tell("adjacency", d, t))
        return StoreRecord(made, 0)

    def triples(source: tables.Tables) -> StoreRecord:
        from kbkit.stores import triples as store

        rows = 3 * counts["nodes"] + counts["edges"] + counts["texts"]
        made = store.build(
            source.batches, folder / "triples", schema, quads, lambda d, t: progress.tell("triples", d, t), rows
        )
        return StoreRecord(made, 0)

    def text(source: tables.Tables) -> StoreRecord:
        from kbkit.stores import text as store

        made = store.build(source.batches, folder / "text", schema, analyzer, lambda d, t: progress.tell("text", d, t))
        return StoreRecord(made, 0, {"analyzer": analyzer})

    def vectors(source: tables.Tables) -> StoreRecord:
        from kbkit.stores import vectors as store

        assert embedder is not None
        made = store.build(
            source.batches, folder / "vectors", counts["nodes"], embedder, lambda d, t: progress.tell("vectors", d, t)
        )
        return StoreRecord(made, 0, {"embedder": embedder.name, "dimension": embedder.dimension})

    def timed(name: str, job: Callable[[tables.Tables], StoreRecord]) -> Job:
        def run() -> StoreRecord:
            progress.tell(name)
            started = time.perf_counter()
            source = tables.Tables(folder / tables.FILE)
            try:
                record = job(source)
            finally:
                source.close()
            record.seconds = round(time.perf_counter() - started, 3)
            _check_counts(name, record, schema)
            return record

        return run

    return {
        name: timed(name, job)
        for name, job in (("triples", triples), ("text", text), ("vectors", vectors), ("adjacency", adjacency))
    }


def _run(jobs: Mapping[str, Job], manifest: Manifest, progress: Progress) -> None:
    """Run the jobs side by side: their engines work outside Python's lock."""
    pool = ThreadPoolExecutor(max_workers=len(jobs))
    try:
        futures: dict[str, Future[StoreRecord]] = {name: pool.submit(job) for name, job in jobs.items()}
        wait(futures.values(), return_when=FIRST_EXCEPTION)
        failed = [f for f in futures.values() if f.done() and f.exception()]
        if failed:
            failed[0].result()
        for name, future in futures.items():
            manifest.stores[name] = future.result()
    finally:
        progress.stop()
        pool.shutdown(wait=True)


def _check_counts(store: str, record: StoreRecord, schema: Schema) -> None:
    """Compare what a store holds with the tables, before anything is published."""
    counts = record.counts
    pairs = sum(r.pairs for r in schema.relations)
    expected = {
        "adjacency": ("pairs", pairs),
        "text": ("documents", schema.nodes),
        "vectors": ("vectors", schema.nodes),
        "triples": ("triples", counts.get("written", 0)),
    }
    name, number = expected[store]
    if counts[name] != number:
        raise KbError(
            f"the stores disagree: {store} has {counts[name]:,} {name}, the tables call for {number:,}",
            "this is a defect of kbkit; please report it",
        )


def _publish(directory: KbDirectory, folder: Path, manifest: Manifest, progress: Progress) -> Path:
    quiet = Progress(progress.listener)
    quiet.tell("publish")
    final = directory.publish(folder, manifest)
    quiet.tell("publish", 1, 1)
    return final


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in _LIBRARIES}


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn what the system reports while building into errors that a user can read."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedBuildError("stopped", "nothing was changed") from None
    except KbError:
        raise
    except Exception as error:
        text = str(error)
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if full or "No space left" in text or "File too large" in text or "Disk quota" in text:
            raise KbError("the disk is full; nothing was changed", "make room, or name another --out") from error
        if isinstance(error, (OSError, tables.Error)):
            raise BadInputError(f"the build failed: {tables.first_line(error)}") from error
        raise
