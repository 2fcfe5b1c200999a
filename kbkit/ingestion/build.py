"""Build generations: ingest a source, or rebuild one store from the tables."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kbkit import assets
from kbkit.directory import systems
from kbkit.directory.damage import check_sizes, check_tree
from kbkit.directory.generations import KbDirectory, link_tree, now, source_record
from kbkit.directory.manifest import ALL_STORES, STORES, Manifest, RecipeRecord, StoreRecord
from kbkit.display.progress import Listener, Progress
from kbkit.errors import BadInputError, Command, InterruptedBuildError, KbError, Option, UnknownNameError
from kbkit.ingestion import archives, data_tables, source_files, sources, sync_record
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.describe import describe, symmetric_relations
from kbkit.ingestion.folder_watch import FolderWatch
from kbkit.ingestion.generation import (
    StoreBuilder,
    StoreSettings,
    one_line_errors,
    publish,
    recorded_settings,
    staging_database,
    versions,
)
from kbkit.ingestion.recipe import Recipe
from kbkit.ingestion.request import Identity, IngestRequest, RebuildSettings
from kbkit.ingestion.source_errors import explained
from kbkit.ingestion.staging import StagingReport, stage
from kbkit.readers import converter
from kbkit.schema import Schema, literal, quote
from kbkit.stores import embedders as embed
from kbkit.stores import table_build, tables, threads, triples
from kbkit.stores.embedding_build import EmbeddingSettings
from kbkit.stores.prefixes import Prefixes
from kbkit.stores.text import TextSettings, check_analyzer
from kbkit.stores.vector_build import VectorSettings

if TYPE_CHECKING:
    import duckdb

    from kbkit.readers.converted import Converted

    Connection = duckdb.DuckDBPyConnection

BUILT_FROM_TABLES = ("nodes", "adjacency", "triples", "columns", "embeddings", "vectors", "text")
"""The stores that are built from the tables: first those that most features need, then the slowest first."""

_LOAD_STEPS = 6
"""The recipe's SQL, nodes, edges, texts, the schema, and the tables written."""
_RESUME = "What was converted is kept: run the same command again to resume"

S = TypeVar("S", TextSettings, VectorSettings, EmbeddingSettings)


ENTITIES = "source/entities.jsonl.gz"
"""The entities of a converted source in a generation, for updates."""


@dataclass(frozen=True)
class UpdatedSource:
    """What an update of a source keeps: the generation it is based on, records of its files, settings of the stores;
    the recipe, if it is not that of the request, and the folder of vectors to reuse.
    """

    base: str
    sources: Sequence[Mapping[str, Any]] = ()
    settings: StoreSettings = field(default_factory=StoreSettings)
    recipe: Recipe | None = None
    vectors: Path | None = None


@dataclass(frozen=True)
class _RequestedSource:
    """A recipe with the identity that the request gives the KB, its options, its files; ``name`` for messages."""

    name: str
    recipe: Recipe
    options: Mapping[str, str]
    files: Mapping[str, Sequence[Path]]

    @staticmethod
    def of(request: IngestRequest, recipe: Recipe | None = None) -> _RequestedSource:
        loaded = recipe or recipes.load(request.source)
        options = recipes.settings(loaded, request.options)
        sources.check_columns(loaded, request.columns)
        files = _find_files(loaded, request)
        identity = recipes.complete_identity(request.identity, loaded, [*request.paths, *request.files.values()])
        return _RequestedSource(loaded.name, recipes.with_identity(loaded, identity), options, files)


@dataclass(frozen=True)
class _BuiltTables:
    """The tables of a generation: the complete recipe, the schema, counts, what was left out, the file of quads, and a
    connection with the tables attached.
    """

    recipe: Recipe
    schema: Schema
    counts: dict[str, int]
    report: dict[str, int | str]
    quads: Path | None
    database: Connection
    seconds: float


def ingest(
    request: IngestRequest,
    out: Path,
    listener: Listener | None = None,
    *,
    updated: UpdatedSource | None = None,
    watch: FolderWatch | None = None,
) -> Path:
    """Build a KB at ``out``, or its next generation with ``replace``, and return the new generation's folder.

    The source is a recipe. ``updated`` is given if it was made from the live generation, ``watch`` follows the ingest
    of a folder that changes.
    Raises :class:`KbError` for every problem that the user can fix; then the directory is unchanged.
    """
    directory = KbDirectory(out)
    if directory.exists() and not request.replace:  # checked again under the lock
        hint = ("Use ", Option("replace"), " to build its next generation, or choose another ", Option("out"))
        raise KbError(f"{out} is already a KB", *hint)
    settings = updated.settings if updated else _settings(request)
    check_analyzer(settings.text.analyzer)
    stores = _stores_to_build(STORES if request.stores is None else request.stores)
    source = _RequestedSource.of(request, updated.recipe if updated else None)
    watch = watch or (FolderWatch() if request.sync else None)
    if watch:
        _check_can_sync(source.recipe)
        watch.files = sync_record.describe_files(request.paths, source.files)
    prefixes = _prefixes(request)
    embedder = embed.load(request.embedder, prefixes, download=True) if "vectors" in stores else None
    progress = Progress(listener)
    with (
        one_line_errors(),
        directory.building(f"kbkit ingest {request.source}", replace=request.replace) as folder,
        contextlib.ExitStack() as opened,
    ):
        if updated and directory.current() != updated.base:
            raise KbError("Another build published a generation meanwhile", "Run the update again")
        parts = directory.partial if source.recipe.converted else None
        with _keeping_parts(parts):
            built = _build_tables(source, request, folder, directory.partial, progress, watch)
            opened.callback(built.database.close)  # if nothing else does
        if watch:
            watch.write(folder, source.name, source.recipe, request)
        manifest = Manifest(
            schema=built.schema,
            generation=folder.name,
            created=now(),
            recipe=_recipe_record(source.name, built.recipe, source.options),
            sources=[*((updated and updated.sources) or map(source_record, archives.sources(source.files)))],
            report=built.report,
            versions=versions(),
            stores={"tables": StoreRecord(built.counts, built.seconds)},
        )
        with _keeping_parts(parts):
            # The tables of other sources already hold what the columns would.
            needed = [name for name in stores if name != "columns" or built.schema.rdf_source]
            known = updated.vectors if updated else None
            StoreBuilder(folder, manifest, built.quads, embedder, settings, progress, known, built.database).run(needed)
        final = publish(directory, folder, manifest, progress)
        systems.remove_tree(directory.partial)
        return final


def _build_tables(
    source: _RequestedSource,
    request: IngestRequest,
    folder: Path,
    partial: Path,
    progress: Progress,
    watch: FolderWatch | None,
) -> _BuiltTables:
    """Convert and load a source into the tables of a generation; parts of the conversion are kept in ``partial``."""
    progress.report("load")
    started = time.perf_counter()
    parts, specs = partial if source.recipe.converted else None, source.recipe.files
    steps = iter(range(1, _LOAD_STEPS + 1))

    def step() -> None:
        progress.report("load", next(steps), _LOAD_STEPS)

    live = watch.live if watch else None
    with staging_database(folder, source.files, live, parts, specs) as (con, local):

        def load() -> tuple[Recipe, Schema, dict[str, int], dict[str, int | str], Path | None]:
            converted = _convert(source.recipe, local, source.options, partial, progress)
            complete, report = _load(con, source, request, folder, local, converted, step, watch)
            if watch:
                complete = watch.staged(con, complete)
            schema = describe(con, complete)
            step()
            counts = table_build.build(con, folder, schema)
            left_out = {**report.to_json(), **(converted.left_out if converted else {})}
            quads = _write_quads(con, source.recipe.rdf_quads, folder, converted)
            if converted and converted.kept:
                _join(converted.kept, folder / ENTITIES)
            return complete, schema, counts, left_out, quads

        def stop() -> None:
            progress.stop()
            con.interrupt()

        made = threads.run(load, stop)
        database = table_build.built_database(con, folder)
    step()
    return _BuiltTables(*made, database, round(time.perf_counter() - started, 3))


def _check_can_sync(recipe: Recipe) -> None:
    if recipe.rdf_quads or recipe.converted:
        hint = ("Leave out ", Option("sync"), ", and use ", Option("replace"), " when the source has changed")
        raise KbError(f"Recipe {recipe.name} cannot be kept in step with its files", *hint)


def _settings(request: IngestRequest) -> StoreSettings:
    return StoreSettings(
        TextSettings(request.analyzer, request.relations),
        VectorSettings(request.relations, request.chunk_words, request.chunk_overlap, request.chunk_characters),
    )


def _prefixes(settings: IngestRequest | RebuildSettings) -> Prefixes | None:
    """Return the prefixes that are given, if any."""
    given = (settings.query_prefix, settings.document_prefix)
    return None if given == (None, None) else Prefixes(*given)


def dry_run(request: IngestRequest) -> Sequence[tuple[str, str]]:
    """Estimate the result of :func:`ingest` from the beginning of the files, as (name, figure) rows."""
    recipe = recipes.load(request.source)
    options = recipes.settings(recipe, request.options)
    files = _find_files(recipe, request)
    spec = recipe.converted
    if spec is None:
        hint = ("Leave out ", Option("dry_run"), ": the recipe reads its files directly")
        raise KbError(f"Recipe {recipe.name} has no estimate", *hint)
    return converter(spec.converter).estimate(files[spec.name], options)


def _recipe_record(name: str, recipe: Recipe, options: Mapping[str, Any]) -> RecipeRecord:
    """Return the manifest's record of the recipe called ``name``, in the words of the user."""
    return {
        "name": name,
        "title": recipe.title,
        "licence": recipe.licence,
        "options": dict(options),
        "symmetric": [name for name, spec in recipe.relations.items() if spec.symmetric],
    }


def _find_files(recipe: Recipe, request: IngestRequest) -> dict[str, list[Path]]:
    """Find the files in the request's paths, by default the recipe's own data.

    A recipe from elsewhere may hold links to the user's files, which are read only if the user names them.
    """
    paths = list(request.paths) or ([recipe.folder / recipe.data] if recipe.data else [])
    files = source_files.find_files(recipe, paths, request.files)
    if recipe.folder.parent != assets.folder("ingest"):  # an installer may link shipped files
        folder, here = recipe.folder.absolute(), recipe.folder.resolve()
        given = {*request.files.values(), *request.paths}
        for path in (path for taken in files.values() for path in taken if path not in given):
            if path.absolute().is_relative_to(folder) and not path.resolve().is_relative_to(here):
                raise BadInputError(f"{path} is a link out of the recipe", "Name the file in the command")
    return files


@contextlib.contextmanager
def _keeping_parts(parts: Path | None) -> Iterator[None]:
    """Add to errors that converted parts are kept, or remove them if the source itself is invalid."""
    try:
        yield
    except (KeyboardInterrupt, InterruptedBuildError):
        if parts is None:
            raise
        raise InterruptedBuildError("Build interrupted", _RESUME) from None
    except BadInputError:
        if parts is not None:
            systems.remove_tree(parts)
        raise
    except KbError as error:
        if parts is None:
            raise
        raise KbError(error.message, *error.hints, f". {_RESUME}" if error.hints else _RESUME) from error


# -- load -------------------------------------------------------------------------------------------------------------


def _convert(
    recipe: Recipe, found: Mapping[str, Sequence[Path]], options: Mapping[str, str], folder: Path, progress: Progress
) -> Converted | None:
    """Run the recipe's converter, if any; its parts stay in ``folder`` so that an interrupted build can resume."""
    spec = recipe.converted
    if spec is None:
        return None
    folder.mkdir(exist_ok=True)
    progress.report("read")
    return converter(spec.converter).convert(
        found[spec.name], options, folder, lambda done, total: progress.report("read", done, total)
    )


def _load(
    con: Connection,
    source: _RequestedSource,
    request: IngestRequest,
    folder: Path,
    found: Mapping[str, Sequence[Path]],
    converted: Converted | None,
    step: Callable[[], None],
    watch: FolderWatch | None,
) -> tuple[Recipe, StagingReport]:
    """Run the recipe's SQL and stage its tables; return the recipe with the symmetric relations that the SQL found.

    ``step`` is called after the SQL and after each kind of row.
    """
    recipe, options = source.recipe, source.options
    files = [path for taken in found.values() for path in taken]
    labels = {
        path: source_files.label(one, request.paths)
        for name, taken in found.items()
        for path, one in zip(taken, source.files[name], strict=len(taken) > 1)  # several files of JSON may be one now
    }
    own = [path for spec in recipe.files if spec.reader or spec.converter for path in found[spec.name]]
    with explained(recipe.folder / "load.sql", files, own):
        for name, value in options.items():
            con.execute(f"SET VARIABLE {quote(name)} = {literal(value)}")
        sources.create_views(con, recipe, found, request.columns, labels)
        if watch:
            watch.opened(con, recipe, request, found, labels)
        if converted is not None:
            _create_part_views(con, recipe, converted)
        table_build.run_script(con, recipe.sql, recipe.folder / "load.sql")
        if recipe.tables:
            data_tables.prepare(con, options)
        step()
        complete = recipes.with_identity(recipe, Identity(symmetric=symmetric_relations(con)))
        if watch:
            complete = watch.loaded(con, complete)
        skip, merge = request.skip_dangling, request.merge_duplicates
        return complete, stage(con, complete, folder, skip_dangling=skip, merge_duplicates=merge, step=step)


def _create_part_views(con: Connection, recipe: Recipe, converted: Converted) -> None:
    """Create a view of the parts of each converted table, ``FILE_TABLE`` (``dump_entities``)."""
    assert recipe.converted is not None
    for name, parts in converted.tables.items():
        view = quote(f"{recipe.converted.name}_{name}")
        con.execute(f"CREATE VIEW {view} AS FROM {_parquet(parts)}")


def _parquet(paths: Sequence[Path]) -> str:
    return f"read_parquet([{', '.join(literal(str(path)) for path in paths)}])"


# Every statement is also in the default graph, once, so that queries without a graph see all of them.
_QUADS_SQL = """
SELECT concat_ws(' ', s, p, o, nullif(g, ''), '.') FROM (
  SELECT s, p, o, g FROM {table} UNION SELECT s, p, o, '' FROM {table})"""


def _write_quads(con: Connection, table: str, folder: Path, converted: Converted | None) -> Path | None:
    """Write the quads of an RDF source to the generation, gzipped, for the triplestore."""
    if not table:
        return None
    path = folder / triples.QUADS
    path.parent.mkdir()
    if converted is None:
        table_build.write_lines(con, _QUADS_SQL.format(table=quote(table)), path)
        return path
    if converted.shared:
        table_build.write_lines(con, f"SELECT DISTINCT line FROM {_parquet(converted.shared)}", path)
    _join(converted.quads, path)
    return path


def _join(parts: Sequence[Path], path: Path) -> None:
    """Append gzipped files to a file, which is gzipped then."""
    with path.open("ab") as target:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)


# -- rebuild ----------------------------------------------------------------------------------------------------------


def changed_settings(change: RebuildSettings, settings: S) -> S:
    """Return the settings of a store with the changes that it has."""
    changed = {k: v for k, v in vars(change).items() if v is not None and k in vars(settings)}
    if "chunk_words" in changed or "chunk_characters" in changed:
        changed = {"chunk_overlap": None, "chunk_characters": 0, **changed}
    return dataclasses.replace(settings, **changed)


def rebuild(out: Path, store: str, change: RebuildSettings | None = None, listener: Listener | None = None) -> Path:
    """Rebuild one store from the tables, as a new generation that shares the files of the other stores."""
    change = change or RebuildSettings()
    if store not in ALL_STORES:
        raise UnknownNameError("store", store, ALL_STORES)
    if store == "tables":
        hint = ("Use ", Command("ingest"), " with ", Option("replace"), " to rebuild all stores")
        raise KbError("Cannot rebuild the tables: the other stores are built from them", *hint)
    change.check_store(store)
    if change.analyzer:
        check_analyzer(change.analyzer)
    directory = KbDirectory(out)
    directory.current()
    progress = Progress(listener)
    with one_line_errors(), directory.building(f"kbkit build {store}", replace=True) as folder:
        live = directory.generation(directory.current())  # under the lock, so that no other build interferes
        manifest = Manifest.read(live)
        if store == "columns" and not manifest.schema.rdf_source:
            raise KbError("Only a KB from an RDF source has the store 'columns'", "SPARQL uses the tables instead")
        check_tree(live)
        check_sizes(live, tables.FILE, manifest.files)
        known = recorded_settings(manifest)
        settings = StoreSettings(
            changed_settings(change, known.text),
            changed_settings(change, known.vectors),
            changed_settings(change, known.embeddings),
        )
        model = _model(change, manifest) if store == "vectors" else None
        for path in sorted(live.iterdir()):
            if path.name not in (store, "lock", "manifest.json"):
                link_tree(path, folder / path.name)
        manifest.files = {n: f for n, f in manifest.files.items() if n.split("/")[0] != store}
        manifest.created = now()
        quads = folder / triples.QUADS
        builder = StoreBuilder(folder, manifest, quads if quads.exists() else None, model, settings, progress)
        builder.run([store])
        manifest.versions = {**manifest.versions, **versions()}
        return publish(directory, folder, manifest, progress)


def _stores_to_build(stores: Sequence[str]) -> list[str]:
    """Return the stores to build from the tables, in build order: ``stores``, and always the node directory."""
    for name in stores:
        if name not in ALL_STORES:
            raise UnknownNameError("store", name, ALL_STORES)
    return [name for name in BUILT_FROM_TABLES if name in stores or name == "nodes"]


def _model(change: RebuildSettings, manifest: Manifest) -> embed.Embedder:
    """Return the embedder of a change, by default the one that made the vectors, with its recorded prefixes."""
    if "vectors" not in manifest.stores:
        return embed.load(change.embedder or "static", _prefixes(change), download=True)
    record = manifest.settings("vectors", embed.ModelRecord)
    if change.embedder is None or embed.same_model(change.embedder, record.embedder):
        return embed.recorded(record, _prefixes(change), name=change.embedder, download=True)
    return embed.load(change.embedder, _prefixes(change), download=True)
