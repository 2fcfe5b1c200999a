"""Changes a KB without its source: the next generation is the live one's tables with a delta applied to them.

The delta's files say what the recipe ``table`` reads, and one more what is to go. What the SQL here makes of the live
tables and the delta are the three tables that any recipe makes, so staging checks and numbers them as at an ingest.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.directory.generations import KbDirectory, fingerprint, link_tree, now
from kbkit.directory.manifest import Manifest, StoreRecord
from kbkit.display.progress import Listener, Progress
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion import files
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.delta import apply
from kbkit.ingestion.describe import describe
from kbkit.ingestion.jobs import Jobs
from kbkit.ingestion.recipe import FileSpec, Recipe, RelationSpec
from kbkit.ingestion.stage import Report, stage
from kbkit.ingestion.steps import one_line_errors, publish, recorded_settings, staging, versions
from kbkit.schema import Schema, literal, quote
from kbkit.stores import embedders as embed
from kbkit.stores import table_build, tables, threads

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Delta:
    """The files of a change. ``columns`` says what they call a column; ``skip_dangling`` leaves out edges and texts of
    unknown nodes, and what is to go but is not there.
    """

    nodes: Sequence[Path] = ()
    edges: Sequence[Path] = ()
    texts: Sequence[Path] = ()
    delete: Sequence[Path] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    skip_dangling: bool = False


_DELETED = ("type", "field", "head", "relation", "tail", "head_type", "tail_type")


def update(out: Path, delta: Delta, listener: Listener | None = None) -> Path:
    """Publish a generation that has the delta's nodes, edges and texts, and no longer what it deletes.

    Deletes come first. A node that is there takes the values that the file has for it, and keeps the others; texts
    take the place of those of the same node and field. Vectors of documents that did not change are taken over.
    Raises a :class:`KbError` for whatever the user can mend; then the directory is as it was.
    """
    found = {name: list(getattr(delta, name)) for name in ("nodes", "edges", "texts", "delete")}
    given = [path for paths in found.values() for path in paths]
    if not given:
        raise KbError("the update names no file", "give --nodes, --edges, --texts or --delete")
    for path in given:
        if not path.is_file():
            raise BadInputError(f"{path} {'is a folder' if path.is_dir() else 'does not exist'}", "name files")
    directory = KbDirectory(out)
    directory.current()
    progress = Progress(listener)
    with one_line_errors(), directory.building("kbkit update", replace=True) as folder:
        live = directory.generation(directory.current())
        old = Manifest.read(live)
        if old.schema.rdf_source:
            raise KbError("a KB from RDF holds its source's own statements", "change the source, and ingest it again")
        progress.report("load")
        started = time.perf_counter()
        with staging(folder, found, live) as (con, local):
            report, schema, counts = threads.run(lambda: _build(con, folder, live, old, delta, local), con.interrupt)
        progress.report("load", 1, 1)
        manifest = dataclasses.replace(
            old,
            schema=schema,
            generation=folder.name,
            created=now(),
            sources=[*old.sources, *({"name": p.name, **fingerprint(p), "update": True} for p in given)],
            report=report.to_json(),
            versions={**old.versions, **versions()},
            stores={"tables": StoreRecord(counts, round(time.perf_counter() - started, 3))},
            files={},
        )
        _rebuild(folder, live, old, manifest, delta, progress)
        return publish(directory, folder, manifest, progress)


def _build(
    con: duckdb.DuckDBPyConnection,
    folder: Path,
    live: Path,
    old: Manifest,
    delta: Delta,
    found: Mapping[str, Sequence[Path]],
) -> tuple[Report, Schema, dict[str, int]]:
    """Stage the live tables with the delta, and write them as the new ones."""
    schema, recipe = old.schema, _recipe(old)
    try:
        con.execute(f"ATTACH {literal(str(live / tables.FILE))} AS old (READ_ONLY)")
        for name, spec in _specs():
            files.create_view(con, spec, found[name], delta.columns)
        apply(con, schema, skip=delta.skip_dangling)
        _keep_said(con, schema)
        report = stage(con, recipe, skip_dangling=delta.skip_dangling, merge_duplicates=False)
        described = describe(con, recipe)
        return report, described, table_build.build(con, folder, described)
    except tables.Error as error:
        given = [path for paths in found.values() for path in paths]
        raise files.source_error(error, Path("the update"), given) from error


def _keep_said(con: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """The tables in which recipes say what no node or edge does: IRIs of types, and which types are asked for."""
    con.execute("CREATE TABLE type_iris(type VARCHAR, iri VARCHAR)")
    con.execute("CREATE TABLE candidate_types(type VARCHAR)")
    con.execute("CREATE TABLE attribute_names(attribute VARCHAR, label VARCHAR)")
    for name in schema.extra_tables:
        con.execute(f"CREATE VIEW {quote(name)} AS FROM old.{quote(name)}")
    owners = [*(t.attributes for t in schema.node_types), *(r.attributes for r in schema.relations)]
    labels = {a.name: a.label for attributes in owners for a in attributes if a.label}
    if labels:
        con.executemany("INSERT INTO attribute_names VALUES (?, ?)", list(labels.items()))
    con.executemany("INSERT INTO type_iris VALUES (?, ?)", [(t.name, t.iri) for t in schema.node_types])
    if schema.candidate_types:
        con.executemany("INSERT INTO candidate_types VALUES (?)", [(name,) for name in schema.candidate_types])


def _specs() -> Iterator[tuple[str, FileSpec]]:
    """The files of recipe ``table``, and the list of what is to go; their tables are called ``given_NAME``."""
    for spec in recipes.load("table").files:
        yield spec.name, dataclasses.replace(spec, name=f"given_{spec.name}", many=True)
    names: dict[str, tuple[str, ...]] = {"key": ("id",), **dict.fromkeys(_DELETED, ())}
    yield "delete", FileSpec("given_delete", (), names=names, many=True)


def _recipe(old: Manifest) -> Recipe:
    """A recipe that says of types, relations and texts what the manifest says; also of symmetric relations that no
    edge has yet.
    """
    schema = old.schema
    unused = {name: RelationSpec(symmetric=True) for name in old.recipe.get("symmetric", ())}
    return Recipe(
        name=schema.name,
        folder=Path("the update"),
        title=schema.name,
        base=schema.base,
        name_weight=schema.name_weight,
        types={t.name: t.description for t in schema.node_types},
        relations={
            **{r.name: RelationSpec(r.label, r.symmetric, r.iri) for r in schema.relations},
            **{name: spec for name, spec in unused.items() if name not in {r.name for r in schema.relations}},
        },
        texts={f.name: f.weight for f in schema.text_fields},
        roles=schema.roles,
        dialect=schema.dialect,
        extra_tables=schema.extra_tables,
    )


def _rebuild(folder: Path, live: Path, old: Manifest, manifest: Manifest, delta: Delta, progress: Progress) -> None:
    """Build the stores that the KB had; adjacency is taken over where only texts changed."""
    stores = [name for name in old.stores if name != "tables"]
    if "adjacency" in stores and _same_graph(old.schema, manifest.schema, delta):
        link_tree(live / "adjacency", folder / "adjacency")
        manifest.stores["adjacency"] = old.stores["adjacency"]
        stores.remove("adjacency")
    text, vectors = recorded_settings(old)
    embedder, known = None, None
    if "vectors" in stores:
        embedder, known = embed.recorded(old.stores["vectors"].settings, download=True), live / "vectors"
    Jobs(folder, manifest, None, embedder, text, vectors, progress, known).run(stores)


def _same_graph(old: Schema, new: Schema, delta: Delta) -> bool:
    """Whether no id and no edge can have changed."""
    return not (delta.nodes or delta.edges or delta.delete) and (old.nodes, old.edges) == (new.nodes, new.edges)
