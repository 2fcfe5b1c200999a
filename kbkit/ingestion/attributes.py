"""Add a computed attribute to the nodes of a KB: the next generation, which shares most stores.

The tables are copied and changed. The triples, and the columns of an RDF source, have the attributes of nodes too, and
are built again.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kbkit.directory.damage import check_sizes, check_tree
from kbkit.directory.generations import link_tree, now
from kbkit.directory.manifest import Manifest
from kbkit.display.progress import Listener, Progress
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion.generation import StoreBuilder, one_line_errors, publish, recorded_settings, versions
from kbkit.schema import Attribute, Schema
from kbkit.stores import Stores, table_build, tables, threads, triples
from kbkit.stores.table_schema import TYPE_COLUMNS

if TYPE_CHECKING:
    import polars as pl


def save_attribute(
    stores: Stores, name: str, kind: str, values: pl.DataFrame, made_by: str, listener: Listener | None = None
) -> Path:
    """Publish a generation whose nodes have the attribute ``name`` of a DuckDB type ``kind``; return its folder.

    ``values`` are ``id`` and ``value``; other nodes have none. ``made_by`` is recorded: an attribute that was computed
    before is replaced, one of the source is not. Raises :class:`KbError` if the KB has a newer generation, because ids
    belong to a generation.
    """
    directory = stores.directory
    progress = Progress(listener)
    with one_line_errors(), directory.building("kbkit graph", replace=True) as folder:
        live = directory.generation(directory.current())
        if live.name != stores.folder.name:
            raise KbError("The KB has a new generation since it was opened", "Open it again and repeat the computation")
        manifest = Manifest.read(live)
        _check_name(manifest, name)
        check_tree(live)
        check_sizes(live, tables.FILE, manifest.files)
        stores_to_build = [name for name in ("triples", "columns") if name in manifest.stores]
        built = [tables.FILE, *stores_to_build]
        for path in sorted(live.iterdir()):
            if path.name not in (*built, "lock", "manifest.json"):
                link_tree(path, folder / path.name)
        progress.report("tables")
        shutil.copyfile(live / tables.FILE, folder / tables.FILE)
        schema = _with_attribute(manifest.schema, Attribute(name, kind), values["id"].to_numpy())
        threads.run(
            lambda: table_build.add_attribute(folder / tables.FILE, schema, name, kind, values.to_arrow()),
            progress.stop,
        )
        manifest.schema, manifest.created = schema, now()
        manifest.derived = {**manifest.derived, name: made_by}
        manifest.files = {n: f for n, f in manifest.files.items() if n.split("/")[0] not in built}
        settings = recorded_settings(manifest)
        quads = folder / triples.QUADS
        builder = StoreBuilder(folder, manifest, quads if quads.exists() else None, None, settings, progress)
        builder.run(stores_to_build)
        manifest.versions = {**manifest.versions, **versions()}
        return publish(directory, folder, manifest, progress)


def _check_name(manifest: Manifest, name: str) -> None:
    """Raise unless an attribute can have the name."""
    folded = name.casefold()
    if not name.strip() or folded in {c.name for c in TYPE_COLUMNS} | {"type", "aliases"}:
        raise BadInputError(f"Invalid name of an attribute: {name!r}", "Use another name")
    known = {a.name.casefold(): a.name for t in manifest.schema.node_types for a in t.attributes}
    if folded in known and known[folded] not in manifest.derived:
        raise BadInputError(f"The KB's source has an attribute {known[folded]!r}", "Save under another name")
    if folded in known and known[folded] != name:
        raise BadInputError(f"The KB has an attribute {known[folded]!r}", "Use this spelling, or another name")


def _with_attribute(schema: Schema, attribute: Attribute, ids: np.ndarray) -> Schema:
    """Return the schema with the attribute at all types of these nodes, primary or secondary."""
    ids = np.sort(ids)
    owners = {
        t.name
        for t in schema.node_types
        if t.count and np.searchsorted(ids, t.first) < np.searchsorted(ids, t.last, "right")
    }
    types = []
    for one in schema.node_types:
        kept = tuple(a for a in one.attributes if a.name != attribute.name)
        has = one.name in owners or not owners.isdisjoint(one.overlaps)
        types.append(dataclasses.replace(one, attributes=(*kept, attribute) if has else kept))
    return dataclasses.replace(schema, node_types=tuple(types))
