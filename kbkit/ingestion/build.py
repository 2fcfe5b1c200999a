"""Builds generations: from a source (:func:`ingest`), or one store anew from the tables (:func:`rebuild`)."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kbkit.directory import systems
from kbkit.directory.generations import KbDirectory, fingerprint, link_tree, now
from kbkit.directory.manifest import STORES, Manifest, StoreRecord
from kbkit.display.progress import Listener, Progress
from kbkit.errors import BadInputError, InterruptedBuildError, KbError, UnknownNameError
from kbkit.ingestion import archives, files
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.conversion import convert, create_views, estimate, keep_quads
from kbkit.ingestion.describe import describe
from kbkit.ingestion.jobs import Jobs
from kbkit.ingestion.stage import Report, stage
from kbkit.ingestion.steps import one_line_errors, publish, recorded_settings, staging, versions
from kbkit.schema import Schema, literal, quote
from kbkit.stores import embedders as embed
from kbkit.stores import table_build, tables, threads, triples
from kbkit.stores.embedders import Prefixes
from kbkit.stores.text import TextSettings, check_analyzer
from kbkit.stores.vector_build import VectorSettings

if TYPE_CHECKING:
    import duckdb

    from kbkit.readers.converted import Converted

BUILT_FROM_TABLES = ("adjacency", "triples", "vectors", "text")
"""The stores that are built from the tables: the one that most needs first, then the slowest first."""

_LOAD_STEPS = 6
"""The recipe's SQL, nodes, edges, texts, the schema, and the tables written."""
_KEPT = "what was read is kept: the same command goes on with it"

S = TypeVar("S", TextSettings, VectorSettings)


@dataclass(frozen=True)
class Request:
    """What to ingest, and how. ``options`` and ``columns`` are the recipe's; ``named`` settles single files.

    ``stores`` says which to build; the tables always are.
    """

    source: str
    paths: Sequence[Path] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, Path] = field(default_factory=dict)
    embedder: str = "static"
    prefixes: Prefixes | None = None
    text: TextSettings = field(default_factory=TextSettings)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    stores: Sequence[str] = STORES
    replace: bool = False
    skip_dangling: bool = False
    merge_duplicates: bool = False


def ingest(request: Request, out: Path, listener: Listener | None = None) -> Path:
    """Build a KB at ``out`` (its next generation, with ``replace``) and return the new generation's folder.

    Raises a :class:`KbError` for whatever the user can mend; then the directory is as it was.
    """
    directory = KbDirectory(out)
    if directory.exists() and not request.replace:  # said again under the lock
        raise KbError(f"{out} is a KB already", "--replace builds its next generation; or name another --out")
    check_analyzer(request.text.analyzer)
    stores = _wanted(request.stores)
    recipe = recipes.load(request.source)
    options = recipes.settings(recipe, request.options)
    found = _files(recipe, request)
    embedder = embed.load(request.embedder, request.prefixes, download=True) if "vectors" in stores else None
    progress = Progress(listener)
    with one_line_errors(), directory.building(f"kbkit ingest {request.source}", replace=request.replace) as folder:
        progress.report("load")
        started = time.perf_counter()
        parts = directory.partial if recipe.converted else None
        with _kept_when_stopped(parts), staging(folder, found, parts=parts) as (con, local):
            steps = iter(range(1, _LOAD_STEPS + 1))

            def step() -> None:
                progress.report("load", next(steps), _LOAD_STEPS)

            def load() -> tuple[dict[str, Any], Schema, dict[str, int], Path | None]:
                converted = convert(recipe, local, options, directory.partial, progress)
                report = _load(con, recipe, request, local, options, converted, step)
                schema = describe(con, recipe)
                step()
                counts = table_build.build(con, folder, schema)
                left_out = {**report.to_json(), **(converted.left_out if converted else {})}
                return left_out, schema, counts, _keep_quads(con, recipe.rdf_quads, folder, converted)

            def stop() -> None:
                progress.stop()
                con.interrupt()

            report, schema, counts, quads = threads.run(load, stop)
        step()
        manifest = Manifest(
            schema=schema,
            generation=folder.name,
            created=now(),
            recipe=_recorded(recipe, options),
            sources=[{"name": p.name, **fingerprint(p)} for p in archives.sources(found)],
            report=report,
            versions=versions(),
            stores={"tables": StoreRecord(counts, round(time.perf_counter() - started, 3))},
        )
        with _kept_when_stopped(parts):
            Jobs(folder, manifest, quads, embedder, request.text, request.vectors, progress).run(stores)
        final = publish(directory, folder, manifest, progress)
        systems.remove_tree(directory.partial)
        return final


def _recorded(recipe: recipes.Recipe, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest keeps of the recipe."""
    return {
        "name": recipe.name,
        "title": recipe.title,
        "licence": recipe.licence,
        "options": options,
        "symmetric": [name for name, spec in recipe.relations.items() if spec.symmetric],
    }


def dry_run(request: Request) -> Sequence[tuple[str, str]]:
    """What :func:`ingest` would make, estimated from the beginning of the files: (what, figure)."""
    recipe = recipes.load(request.source)
    options = recipes.settings(recipe, request.options)
    return estimate(recipe, _files(recipe, request), options)


def _files(recipe: recipes.Recipe, request: Request) -> dict[str, list[Path]]:
    """The files to read: those that are given, else the recipe's own."""
    paths = list(request.paths) or ([recipe.folder / recipe.data] if recipe.data else [])
    return files.find(recipe, paths, request.named)


@contextlib.contextmanager
def _kept_when_stopped(parts: Path | None) -> Iterator[None]:
    """Say that what a converter made is kept, or remove it where the source itself is at fault."""
    try:
        yield
    except (KeyboardInterrupt, InterruptedBuildError):
        if parts is None:
            raise
        raise InterruptedBuildError("stopped", _KEPT) from None
    except BadInputError:
        if parts is not None:
            systems.remove_tree(parts)
        raise
    except KbError as error:
        if parts is None:
            raise
        raise KbError(error.message, *error.hints, f". {_KEPT}" if error.hints else _KEPT) from error


@dataclass(frozen=True)
class Change:
    """What to build otherwise than the last time; None leaves a setting as it was."""

    analyzer: str | None = None
    relations: bool | None = None
    embedder: str | None = None
    prefixes: Prefixes | None = None
    chunk_words: int | None = None
    chunk_overlap: int | None = None

    def check(self, store: str) -> None:
        """Refuse what the store does not have."""
        stores = {"analyzer": ("text",), "relations": ("text", "vectors")}
        for name, value in vars(self).items():
            if value is not None and store not in stores.get(name, ("vectors",)):
                option = {"prefixes": "query-prefix", "relations": "with-relations"}.get(name, name.replace("_", "-"))
                raise KbError(
                    f"--{option} goes with {' and '.join(stores.get(name, ('vectors',)))}", f"you named {store}"
                )

    def of(self, settings: S) -> S:
        """The settings, changed."""
        given = {k: v for k, v in vars(self).items() if v is not None and k in vars(settings)}
        if "chunk_words" in given:
            given.setdefault("chunk_overlap", None)
        return dataclasses.replace(settings, **given)


def rebuild(out: Path, store: str, change: Change | None = None, listener: Listener | None = None) -> Path:
    """Build one store anew from the tables, as a new generation that shares the other stores' files."""
    change = change or Change()
    if store not in STORES:
        raise UnknownNameError("store", store, STORES)
    if store == "tables":
        raise KbError(
            "the tables are what the other stores are built from", "kbkit ingest --replace builds all of them"
        )
    change.check(store)
    if change.analyzer:
        check_analyzer(change.analyzer)
    directory = KbDirectory(out)
    directory.current()
    progress = Progress(listener)
    with one_line_errors(), directory.building(f"kbkit build {store}", replace=True) as folder:
        live = directory.generation(directory.current())  # under the lock, so that no build comes in between
        manifest = Manifest.read(live)
        text, vectors = recorded_settings(manifest)
        text, vectors = change.of(text), change.of(vectors)
        model = _model(change, manifest) if store == "vectors" else None
        for path in sorted(live.iterdir()):
            if path.name not in (store, "lock", "manifest.json"):
                link_tree(path, folder / path.name)
        manifest.files = {n: f for n, f in manifest.files.items() if n.split("/")[0] != store}
        manifest.created = now()
        quads = folder / triples.QUADS
        Jobs(folder, manifest, quads if quads.exists() else None, model, text, vectors, progress).run([store])
        manifest.versions = {**manifest.versions, **versions()}
        return publish(directory, folder, manifest, progress)


def _wanted(stores: Sequence[str]) -> list[str]:
    """Those of ``stores`` that are built from the tables, in the order of building."""
    for name in stores:
        if name not in STORES:
            raise UnknownNameError("store", name, STORES)
    return [name for name in BUILT_FROM_TABLES if name in stores]


def _model(change: Change, manifest: Manifest) -> embed.Embedder:
    """The embedder that a change asks for, or that made the vectors, with the prefixes of then where it is the same."""
    if "vectors" not in manifest.stores:
        return embed.load(change.embedder or "static", change.prefixes, download=True)
    record = manifest.stores["vectors"].settings
    if change.embedder is None or embed.same_model(change.embedder, record["embedder"]):
        name = change.embedder or record["embedder"]
        return embed.recorded({**record, "embedder": name}, change.prefixes, download=True)
    return embed.load(change.embedder, change.prefixes, download=True)


# -- load -------------------------------------------------------------------------------------------------------------


def _load(
    con: duckdb.DuckDBPyConnection,
    recipe: recipes.Recipe,
    request: Request,
    found: Mapping[str, Sequence[Path]],
    options: Mapping[str, str],
    converted: Converted | None,
    step: Callable[[], None],
) -> Report:
    """Run the recipe's SQL and check what it made; ``step`` is called when that is done, and for each kind of row."""
    try:
        for name, value in options.items():
            con.execute(f"SET VARIABLE {quote(name)} = {literal(value)}")
        files.create_views(con, recipe, found, request.columns)
        if converted is not None:
            create_views(con, recipe, converted)
        con.execute(recipe.sql)
        step()
        skip, merge = request.skip_dangling, request.merge_duplicates
        return stage(con, recipe, skip_dangling=skip, merge_duplicates=merge, step=step)
    except tables.Error as error:
        given = [path for taken in found.values() for path in taken]
        raise files.source_error(error, recipe.folder / "load.sql", given) from error


# Every statement also stands in the default graph, once, so that a query that names no graph is about all of them.
_QUADS_SQL = """
SELECT concat_ws(' ', s, p, o, nullif(g, ''), '.') FROM (
  SELECT s, p, o, g FROM {table} UNION SELECT s, p, o, '' FROM {table})"""


def _keep_quads(con: duckdb.DuckDBPyConnection, table: str, folder: Path, converted: Converted | None) -> Path | None:
    """Write an RDF source's quads into the generation, compressed: the triplestore is built from them."""
    if not table:
        return None
    path = folder / triples.QUADS
    if converted is not None:
        keep_quads(con, converted, path)
        return path
    path.parent.mkdir()
    table_build.write_lines(con, _QUADS_SQL.format(table=quote(table)), path)
    return path
