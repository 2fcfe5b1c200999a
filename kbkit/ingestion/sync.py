"""Keep a KB in step with a folder whose files change.

The first run is an ingest that also records the recipe and the files (:mod:`kbkit.ingestion.sync_record`). A later run
reads the folder with that recipe, so that types and keys stay, compares the result with the live tables, and publishes
it as the next generation if anything differs. The result is that of an ingest of the folder with the same recipe.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbkit.directory.damage import check_sizes, check_tree
from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import Manifest
from kbkit.display.progress import Listener
from kbkit.errors import KbError
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion import source_files, sync_record
from kbkit.ingestion.build import UpdatedSource, ingest
from kbkit.ingestion.changes import Changes, retyped
from kbkit.ingestion.folder_watch import FolderWatch, NothingToPublishError
from kbkit.ingestion.generation import recorded_settings
from kbkit.ingestion.inference.source import is_files
from kbkit.ingestion.recipe import Recipe
from kbkit.ingestion.request import IngestSettings
from kbkit.ingestion.sync_record import INFER_AGAIN, SyncRecord
from kbkit.ingestion.update_entities import recorded_request
from kbkit.stores import tables


@dataclass(frozen=True)
class SyncResult:
    """What changed, in the KB and in the files, and ``notes`` on the files; ``folder`` is the new generation, None
    without one.
    """

    changes: Changes
    files: Sequence[str] = ()
    notes: Sequence[str] = ()
    folder: Path | None = None


def is_started(out: Path, settings: IngestSettings) -> bool:
    """Return whether a run compares with an existing KB, and does not build a first or new one."""
    return settings.sync and not settings.replace and KbDirectory(out).exists()


def sync(
    source: str,
    paths: Sequence[Path],
    out: Path,
    settings: IngestSettings,
    listener: Listener | None = None,
    *,
    dry_run: bool = False,
) -> SyncResult:
    """Publish what changed in the files since the last run, if anything; ``dry_run`` only compares.

    The source is files, or a recipe: another one than before reads all files again. Raises :class:`KbError` for every
    problem that the user can fix; then the KB is unchanged.
    """
    directory = KbDirectory(out)
    base = directory.current()
    live = directory.generation(base)
    old, record = Manifest.read(live), _recorded(out, live)
    _check_not_edited(out, old)
    files = [Path(source), *paths] if is_files(source) else list(paths)
    request = record.request(source, files, settings)
    recipe, notes = record.loaded(live), list[str]()
    if not is_files(source):
        given = recipes.load(source)
        if not record.is_recipe(given, live):
            recipe, record = given, dataclasses.replace(record, inferred=False, files=[])
            request = dataclasses.replace(request, inferred=False)
    if record.inferred:
        recipe, notes = sync_record.with_new_files(recipe, files)
    if _is_unchanged(record, recipe, files, request.files):
        return SyncResult(Changes())
    check_tree(live)
    check_sizes(live, tables.FILE, old.files)
    watch = FolderWatch(live, record, only_compare=dry_run)
    symmetric = request.identity.symmetric
    request = dataclasses.replace(request, **recorded_request(old))
    request = dataclasses.replace(request, identity=dataclasses.replace(request.identity, symmetric=symmetric))
    vectors = live / "vectors" if "vectors" in old.stores else None
    updated = UpdatedSource(base, settings=recorded_settings(old), recipe=recipe, vectors=vectors)
    folder: Path | None = None
    try:
        folder = ingest(request, out, listener, updated=updated, watch=watch)
    except NothingToPublishError:
        return SyncResult(watch.changes, list(sync_record.file_changes(record.files, watch.files)), notes)
    notes += retyped(old.schema, Manifest.read(folder).schema)
    notes += [f"The computed attribute {name} is gone: compute it again" for name in old.derived]
    return SyncResult(watch.changes, list(sync_record.file_changes(record.files, watch.files)), notes, folder)


def _recorded(out: Path, live: Path) -> SyncRecord:
    record = SyncRecord.read(live)
    if record is None:
        raise KbError(f"{out} was not built to be kept in step with its files", "Use ", *INFER_AGAIN)
    return record


def _check_not_edited(out: Path, old: Manifest) -> None:
    """Raise :class:`KbError` if the KB has changes that its files do not have."""
    names = [record["name"] for record in old.sources if record.get("update") and not record.get("merge")]
    if names:
        message = f"{out} has changes from {', '.join(names[:5])} that are not in its folder, and would lose them"
        raise KbError(message, "Make them in the files, and use ", *INFER_AGAIN)


def _is_unchanged(record: SyncRecord, recipe: Recipe, paths: Sequence[Path], named: Mapping[str, Path]) -> bool:
    found = source_files.find_files(recipe, paths, named)
    return sync_record.is_unchanged(record.files, paths, found)
