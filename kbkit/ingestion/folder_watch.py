"""Follow the ingest of a folder that is kept in step: check its columns, compare, and record what was read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.directory.generations import now
from kbkit.directory.manifest import Manifest, NamedFileRecord
from kbkit.ingestion import sync_record
from kbkit.ingestion.changes import PROVENANCE, Changes, compare, write_provenance
from kbkit.ingestion.merging import MERGED, apply_merges, record_merges
from kbkit.ingestion.recipe import Recipe
from kbkit.ingestion.request import IngestRequest
from kbkit.ingestion.sync_record import SyncRecord
from kbkit.schema import literal
from kbkit.stores import tables

if TYPE_CHECKING:
    import duckdb


class NothingToPublishError(Exception):
    """The staged tables are those of the live generation, or the user only wants to know what differs."""


@dataclass
class FolderWatch:
    """The state of one run: the live generation and what it recorded, if there is one, and what was found.

    With ``only_compare``, nothing is built.
    """

    live: Path | None = None
    record: SyncRecord | None = None
    only_compare: bool = False
    columns: dict[str, list[str]] = field(default_factory=dict)
    files: list[NamedFileRecord] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)

    def opened(
        self,
        con: duckdb.DuckDBPyConnection,
        recipe: Recipe,
        request: IngestRequest,
        local: Mapping[str, Sequence[Path]],
        labels: Mapping[Path, str],
    ) -> None:
        """Check the columns of the files, before the recipe reads them."""
        if self.live:
            con.execute(f"ATTACH {literal(str(self.live / tables.FILE))} AS old (READ_ONLY)")
        if not request.inferred:
            return
        if self.record is not None:
            sync_record.check_columns(con, recipe, self.record.columns, local, labels)
        self.columns = self.record.columns if self.record else sync_record.table_columns(con, recipe)

    def loaded(self, con: duckdb.DuckDBPyConnection, recipe: Recipe) -> Recipe:
        """Merge nodes again that were merged before; return the recipe with the table that says which."""
        if self.live is None or MERGED not in Manifest.read(self.live).schema.extra_tables:
            return recipe
        record_merges(con, {}, known=True)
        apply_merges(con)
        return dataclasses.replace(recipe, extra_tables=(*recipe.extra_tables, MERGED))

    def staged(self, con: duckdb.DuckDBPyConnection, recipe: Recipe) -> Recipe:
        """Compare the staged tables with the live ones, and add provenance; return the recipe with that table.

        Raises :class:`NothingToPublishError` if nothing differs.
        """
        old = Manifest.read(self.live) if self.live else None
        if old:
            self.changes = compare(con, old.schema, list(old.derived))
            if self.only_compare or not self.changes:
                raise NothingToPublishError
        elif self.only_compare:
            raise NothingToPublishError
        write_provenance(con, now(), old.schema if old else None, _only(self.files))
        return dataclasses.replace(recipe, extra_tables=(*recipe.extra_tables, PROVENANCE))

    def write(self, folder: Path, name: str, recipe: Recipe, request: IngestRequest) -> None:
        """Write the record to the new generation; ``name`` is that of the recipe."""
        settings = sync_record.flat_settings(request)
        if self.record:  # those of the first run, in the words of the user
            settings = self.record.settings | {name: settings[name] for name in sync_record.ADDABLE}
        shipped = sync_record.ships(recipe)
        SyncRecord(name, shipped, request.inferred, settings, self.files, self.columns).write(folder, recipe)


def _only(files: Sequence[NamedFileRecord]) -> str | None:
    return files[0]["name"] if len(files) == 1 else None
