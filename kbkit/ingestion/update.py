"""Update a KB without its source: the next generation has the live tables with a delta applied.

The delta has the files of the recipe ``table``, and one of deleted rows. Applying it yields the three tables of a
recipe, which are staged as in an ingest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.directory.damage import check_sizes, check_tree
from kbkit.directory.generations import KbDirectory, link_tree, now, source_record
from kbkit.directory.manifest import Manifest, SourceRecord, StoreRecord
from kbkit.display.progress import Listener, Progress
from kbkit.errors import BadInputError, KbError, Option
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion import sources, sync_record
from kbkit.ingestion.changes import PROVENANCE, compare, write_provenance
from kbkit.ingestion.delta import apply
from kbkit.ingestion.describe import describe
from kbkit.ingestion.generation import (
    StoreBuilder,
    one_line_errors,
    publish,
    recorded_settings,
    staging_database,
    versions,
)
from kbkit.ingestion.merging import (
    MERGED,
    SAME,
    PairDecision,
    Place,
    apply_merges,
    new_merges,
    record_merges,
    targets,
)
from kbkit.ingestion.recipe import FileSpec, Recipe, RelationSpec, TypeSpec
from kbkit.ingestion.request import Delta
from kbkit.ingestion.source_errors import explained
from kbkit.ingestion.staging import StagingReport, stage
from kbkit.ingestion.update_entities import has_entities, update_entities
from kbkit.schema import Schema, literal, quote
from kbkit.stores import embedders as embed
from kbkit.stores import table_build, tables, threads

if TYPE_CHECKING:
    import duckdb


_DELETED = ("type", "field", "head", "relation", "tail", "head_type", "tail_type")


def update(out: Path, delta: Delta, listener: Listener | None = None) -> Path:
    """Publish a generation with the delta applied, and return its folder.

    Deletions come first. An existing node takes the values in the file and keeps its others; texts replace those of the
    same node and field. Vectors of unchanged documents are reused. Raises :class:`KbError` for every problem that the
    user can fix; then the directory is unchanged.
    """
    files = {name: list(getattr(delta, name)) for name in ("nodes", "edges", "texts", "delete")}
    paths = [*(path for taken in files.values() for path in taken), *delta.entities]
    if not paths:
        hint = [part for name in ("nodes", "edges", "texts", "entities") for part in (Option(name), ", ")]
        hint = ["Use ", *hint[:-1], " or ", Option("delete")]
        raise KbError("No file to update from", *hint)
    for path in paths:
        if not path.is_file():
            problem = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise BadInputError(f"{path} {problem}")
    directory = KbDirectory(out)
    directory.current()
    if delta.entities or (has_entities(out) and not (delta.nodes or delta.edges or delta.texts)):
        if delta.nodes or delta.edges or delta.texts:
            raise KbError("Entities cannot be updated together with nodes, edges or texts", "Use one of them")
        return update_entities(out, delta.entities, delta.delete, listener, skip=delta.skip_dangling)
    records = [source_record(path, update=True) for path in paths]
    return _publish(out, "kbkit update", delta, records, {}, listener)


def merge(
    out: Path, decisions: Sequence[PairDecision], path: Path | None = None, listener: Listener | None = None
) -> Path:
    """Publish a generation in which nodes are merged, and return its folder; ``path`` is the file of the decisions.

    The first node of a pair has the names and keys of the other as aliases, its texts and edges, and its attributes
    where it has none. Raises :class:`KbError` for every problem that the user can fix; then the directory is unchanged.
    """
    merges = targets(decisions)
    if not merges:
        raise KbError("No pair to merge", "Enter ", SAME, " as the decision on pairs that are the same")
    records: list[SourceRecord] = [{**source_record(path, update=True), "merge": True}] if path else []
    return _publish(out, "kbkit duplicates", Delta(), records, merges, listener)


def _publish(
    out: Path,
    command: str,
    delta: Delta,
    records: Sequence[SourceRecord],
    merges: Mapping[Place, str],
    listener: Listener | None,
) -> Path:
    directory = KbDirectory(out)
    files = {name: list(getattr(delta, name)) for name in ("nodes", "edges", "texts", "delete")}
    progress = Progress(listener)
    with (
        one_line_errors(),
        directory.building(command, replace=True) as folder,
        contextlib.ExitStack() as opened,
    ):
        live = directory.generation(directory.current())
        old = Manifest.read(live)
        check_tree(live)
        check_sizes(live, tables.FILE, old.files)
        if old.schema.rdf_source:
            raise KbError("Cannot update a KB that was built from RDF", "Change the source and ingest it again")
        progress.report("load")
        started = time.perf_counter()
        with staging_database(folder, files, live) as (con, local):
            report, schema, counts = threads.run(
                lambda: _build(con, folder, live, old, delta, local, merges), con.interrupt
            )
            database = table_build.built_database(con, folder)
            opened.callback(database.close)  # if nothing else does
        progress.report("load", 1, 1)
        manifest = dataclasses.replace(
            old,
            schema=schema,
            generation=folder.name,
            created=now(),
            sources=[*old.sources, *records],
            report=report.to_json(),
            versions={**old.versions, **versions()},
            stores={"tables": StoreRecord(counts, round(time.perf_counter() - started, 3))},
            files={},
        )
        if (live / sync_record.FOLDER).exists():
            link_tree(live / sync_record.FOLDER, folder / sync_record.FOLDER)
        _rebuild(folder, live, old, manifest, delta, progress, database, merged=bool(merges))
        return publish(directory, folder, manifest, progress)


def _build(
    con: duckdb.DuckDBPyConnection,
    folder: Path,
    live: Path,
    old: Manifest,
    delta: Delta,
    found: Mapping[str, Sequence[Path]],
    merges: Mapping[Place, str],
) -> tuple[StagingReport, Schema, dict[str, int]]:
    """Stage the live tables with the delta, and write the new tables."""
    schema, recipe = old.schema, _recipe(old)
    with explained(Path("the update"), [path for taken in found.values() for path in taken]):
        con.execute(f"ATTACH {literal(str(live / tables.FILE))} AS old (READ_ONLY)")
        for name, spec in _specs():
            sources.create_view(con, spec, found[name], delta.columns)
        apply(con, schema, skip=delta.skip_dangling)
        if merges:
            known = MERGED in schema.extra_tables
            merges = new_merges(con, merges, known)
            record_merges(con, merges, known)
            apply_merges(con)
            recipe = dataclasses.replace(recipe, extra_tables=tuple(dict.fromkeys((*recipe.extra_tables, MERGED))))
        _keep_metadata(con, schema, merged=bool(merges))
        report = stage(con, recipe, folder, skip_dangling=delta.skip_dangling, merge_duplicates=False)
        if PROVENANCE in schema.extra_tables:
            compare(con, schema)
            write_provenance(con, now(), schema, ", ".join(path.name for path in delta.nodes))
        described = describe(con, recipe)
        return report, described, table_build.build(con, folder, described)


def _keep_metadata(con: duckdb.DuckDBPyConnection, schema: Schema, *, merged: bool) -> None:
    """Create the optional tables of recipes: IRIs of types, answer types, labels of attributes."""
    con.execute("CREATE TABLE type_iris(type VARCHAR, iri VARCHAR)")
    con.execute("CREATE TABLE candidate_types(type VARCHAR)")
    con.execute("CREATE TABLE attribute_names(attribute VARCHAR, label VARCHAR)")
    written = {PROVENANCE, MERGED} if merged else {PROVENANCE}  # again, for the new nodes
    for name in (name for name in schema.extra_tables if name not in written):
        con.execute(f"CREATE VIEW {quote(name)} AS FROM old.{quote(name)}")
    owners = [*(t.attributes for t in schema.node_types), *(r.attributes for r in schema.relations)]
    labels = {a.name: a.label for attributes in owners for a in attributes if a.label}
    if labels:
        con.executemany("INSERT INTO attribute_names VALUES (?, ?)", list(labels.items()))
    con.executemany("INSERT INTO type_iris VALUES (?, ?)", [(t.name, t.iri) for t in schema.node_types])
    if schema.candidate_types:
        con.executemany("INSERT INTO candidate_types VALUES (?)", [(name,) for name in schema.candidate_types])


def _specs() -> Iterator[tuple[str, FileSpec]]:
    """Yield the files of the recipe ``table``, and the one of deleted rows; their tables are called ``new_NAME``."""
    for spec in recipes.load("table").files:
        yield spec.name, dataclasses.replace(spec, name=f"new_{spec.name}", many=True)
    names: dict[str, tuple[str, ...]] = {"key": ("id",), **dict.fromkeys(_DELETED, ())}
    yield "delete", FileSpec("new_delete", (), names=names, many=True)


def _recipe(old: Manifest) -> Recipe:
    """Return a recipe with the types, relations and texts of the manifest, and symmetric relations without edges."""
    schema = old.schema
    unused = {name: RelationSpec(symmetric=True) for name in old.recipe.get("symmetric", ())}
    return Recipe(
        name=schema.name,
        folder=Path("the update"),
        title=schema.name,
        base=schema.base,
        name_weight=schema.name_weight,
        types={t.name: TypeSpec(t.description, t.article, t.name_label, t.key_label) for t in schema.node_types},
        relations={
            **{r.name: RelationSpec(r.label, r.symmetric, r.iri, r.words, r.phrases) for r in schema.relations},
            **{name: spec for name, spec in unused.items() if name not in {r.name for r in schema.relations}},
        },
        texts={f.name: f.weight for f in schema.text_fields},
        roles=schema.roles,
        dialect=schema.dialect,
        extra_tables=schema.extra_tables,
    )


def _rebuild(
    folder: Path,
    live: Path,
    old: Manifest,
    manifest: Manifest,
    delta: Delta,
    progress: Progress,
    database: duckdb.DuckDBPyConnection,
    *,
    merged: bool,
) -> None:
    """Build the stores that the KB had; reuse those of the graph alone if only texts changed."""
    stores = list(dict.fromkeys(["nodes", *(name for name in old.stores if name != "tables")]))
    if not merged and _same_graph(old.schema, manifest.schema, delta):
        for name in (name for name in ("nodes", "adjacency", "embeddings") if name in old.stores):
            link_tree(live / name, folder / name)
            manifest.stores[name] = old.stores[name]
            stores.remove(name)
    embedder, known = None, None
    if "vectors" in stores:
        embedder, known = embed.recorded(old.settings("vectors", embed.ModelRecord), download=True), live / "vectors"
    StoreBuilder(folder, manifest, None, embedder, recorded_settings(old), progress, known, database).run(stores)


def _same_graph(old: Schema, new: Schema, delta: Delta) -> bool:
    """Return whether ids and edges are certainly unchanged."""
    return not (delta.nodes or delta.edges or delta.delete) and (old.nodes, old.edges) == (new.nodes, new.edges)
