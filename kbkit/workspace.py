"""What a user adds to a KB, beside its generations: saved answer sets.

A set is one Parquet file of one row (name, expression, type, generation, saved, count, and members as a list of type
and key), written aside and renamed, so that readers see the whole set or none of it, and several processes can write.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.errors import KbError, UnknownNameError
from kbkit.layout import now
from kbkit.schema import iri_escape

if TYPE_CHECKING:
    import polars as pl

SETS = "sets"
_LONGEST_NAME = 100


@dataclass(frozen=True)
class SavedSet:
    """What is known of a saved set: ``type`` None for any, ``generation`` the one that it was computed in."""

    name: str
    expression: str
    type: str | None
    generation: str
    saved: str
    count: int


class Workspace:
    """The folder ``workspace`` of a KB; made on the first write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def sets_folder(self) -> Path:
        """Where the files of saved sets are."""
        return self.folder / SETS

    def sets(self) -> list[SavedSet]:
        """All saved sets, by name."""
        import polars as pl

        columns = ["name", "expression", "type", "generation", "saved", "count"]
        found = []
        for path in sorted(self.sets_folder.glob("*.parquet")) if self.sets_folder.is_dir() else ():
            try:
                found += [SavedSet(**row) for row in pl.read_parquet(path, columns=columns).to_dicts()]
            except (OSError, pl.exceptions.PolarsError) as error:
                raise KbError(f"{path} is no saved set: {str(error).splitlines()[0]}", "remove the file") from None
        return sorted(found, key=lambda s: s.name)

    def members(self, name: str) -> pl.DataFrame:
        """The members of a set: type, key. Raises :class:`UnknownNameError`."""
        import polars as pl

        path = self._path(name)
        if not path.is_file():
            raise UnknownNameError("saved set", name, [s.name for s in self.sets()])
        return pl.read_parquet(path, columns=["members"]).explode("members").drop_nulls().unnest("members")

    def save(self, name: str, expression: str, node_type: str | None, generation: str, members: pl.DataFrame) -> None:
        """Write a set, in place of one of the same name; ``members`` has the columns type and key."""
        import polars as pl

        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise KbError(f"{name!r} is no name for a set", f"give 1 to {_LONGEST_NAME} printable characters")
        row = {
            "name": [name],
            "expression": [expression],
            "type": pl.Series([node_type], dtype=pl.String),
            "generation": [generation],
            "saved": [now()],
            "count": [members.height],
        }
        kind = pl.List(pl.Struct({"type": pl.String, "key": pl.String}))
        listed = pl.Series("members", [members.select("type", "key").to_struct()], dtype=kind)
        self._write(pl.DataFrame(row).with_columns(listed), self._path(name))

    def drop(self, name: str) -> None:
        """Remove a set. Raises :class:`UnknownNameError`."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            raise UnknownNameError("saved set", name, [s.name for s in self.sets()]) from None
        except OSError as error:
            raise KbError(f"{self._path(name)} cannot be removed: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        return self.sets_folder / f"{iri_escape(name)}.parquet"

    def _write(self, frame: pl.DataFrame, path: Path) -> None:
        aside: str | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
            os.close(handle)
            frame.write_parquet(aside)
            os.chmod(aside, 0o644)  # noqa: PTH101 - mkstemp made it private
            os.replace(aside, path)  # noqa: PTH105
        except OSError as error:
            raise KbError(
                f"{path} cannot be written: {error.strerror or error}", "the workspace needs a disk to write to"
            ) from None
        finally:
            if aside is not None:
                Path(aside).unlink(missing_ok=True)
