"""Update a KB whose source has entities, such as a Wikidata dump: apply changes to the entities and ingest them again.

The generation keeps the entities of its source, compressed, so the result is what an ingest of the changed source with
the same options gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kbkit.directory.generations import KbDirectory, source_record
from kbkit.directory.manifest import ALL_STORES, Manifest
from kbkit.directory.temporary import TemporaryFolder
from kbkit.display.progress import Listener
from kbkit.errors import KbError, Option
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.build import ENTITIES, UpdatedSource, ingest
from kbkit.ingestion.generation import recorded_settings
from kbkit.ingestion.request import Identity, IngestRequest
from kbkit.readers import converter
from kbkit.stores import embedders as embed
from kbkit.stores.prefixes import Prefixes


def has_entities(out: Path) -> bool:
    """Return whether the KB keeps the entities of its source."""
    directory = KbDirectory(out)
    return (directory.generation(directory.current()) / ENTITIES).exists()


def update_entities(
    out: Path, changed: Sequence[Path], deleted: Sequence[Path], listener: Listener | None = None, *, skip: bool = False
) -> Path:
    """Publish a generation with changed and deleted entities, and return its folder.

    Raises :class:`KbError` for every problem that the user can fix; then the directory is unchanged.
    """
    directory = KbDirectory(out)
    base = directory.current()
    live = directory.generation(base)
    old = Manifest.read(live)
    if not (live / ENTITIES).exists():
        hint = ("Ingest the changed source with ", Option("replace"))
        raise KbError("This KB does not keep the entities of its source, as one of a whole JSON dump does", *hint)
    recipe = recipes.load(old.recipe["name"])
    spec = recipe.converted
    assert spec is not None
    with TemporaryFolder() as folder:
        merged = folder / "entities.jsonl.gz"
        converter(spec.converter).merge(live / ENTITIES, changed, deleted, merged, skip=skip)
        request = IngestRequest(
            recipe.name,
            [merged],
            replace=True,
            options=old.recipe["options"],
            **recorded_request(old),
        )
        records = [*old.sources, *(source_record(path, update=True) for path in (*changed, *deleted))]
        return ingest(request, out, listener, updated=UpdatedSource(base, records, recorded_settings(old)))


def recorded_request(old: Manifest) -> dict[str, Any]:
    """Return the arguments of an :class:`IngestRequest` for a KB of the same name with the same stores and model."""
    embedder, prefixes = "static", Prefixes()
    if "vectors" in old.stores:
        model = embed.recorded(old.settings("vectors", embed.ModelRecord), download=True)
        embedder, prefixes = model.name, Prefixes(model.prefixes.query, model.prefixes.document)
    return {
        "identity": Identity(old.schema.name, old.recipe["title"], old.recipe["licence"], old.schema.base),
        "embedder": embedder,
        "query_prefix": prefixes.query,
        "document_prefix": prefixes.document,
        "stores": [name for name in ALL_STORES if name in old.stores],
    }
