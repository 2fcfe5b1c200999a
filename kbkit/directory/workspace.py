"""What a user adds to a KB, beside its generations: saved answer sets.

A set is one Parquet file of one row (name, expression, type, generation, saved, count, and members as a list of type
and key), written aside and renamed, so that readers see the whole set or none of it, and several processes can write.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.directory import systems
from kbkit.directory.generations import now
from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import iri_escape

if TYPE_CHECKING:
    import polars as pl

SETS = "sets"
_LONGEST_NAME = 100
_STALE_SECONDS = 3600


COLUMNS = {
    "name": "as in @NAME",
    "expression": "what it was saved from",
    "type": "of its members; NULL for any",
    "generation": "in which it was computed",
    "saved": "when, UTC",
    "count": "how many members it had then",
    "members": "their types and keys, which outlive a generation",
}
"""What a set's file holds, for the schema reference."""


@dataclass(frozen=True)
class SavedSet:
    """What is known of a saved set: ``type`` None for any, ``generation`` the one that it was computed in."""

    name: str
    expression: str
    type: str | None
    generation: str
    saved: str
    count: int


def _columns() -> dict[str, Any]:
    import polars as pl

    texts = dict.fromkeys(("name", "expression", "type", "generation", "saved"), pl.String())
    members = pl.List(pl.Struct({"type": pl.String, "key": pl.String}))
    return {**texts, "count": pl.Int64(), "members": members}


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
        return [SavedSet(**row) for row in self.frame().drop("members").to_dicts()]

    def members(self, name: str) -> pl.DataFrame:
        """The members of a set: type, key. Raises :class:`UnknownNameError`."""
        path = self._path(name)
        if not path.is_file():
            raise UnknownNameError("saved set", name, [s.name for s in self.sets()])
        return self._read(path).select("members").explode("members").drop_nulls().unnest("members")

    def frame(self) -> pl.DataFrame:
        """All saved sets, by name: name, expression, type, generation, saved, count, members."""
        import polars as pl

        paths = sorted(self.sets_folder.glob("*.parquet")) if self.sets_folder.is_dir() else []
        return pl.concat([pl.DataFrame(schema=_columns()), *map(self._read, paths)]).sort("name")

    def _read(self, path: Path) -> pl.DataFrame:
        """One file, read at once: another process may put the next version in its place at any time."""
        import io

        import polars as pl

        try:
            return pl.read_parquet(io.BytesIO(path.read_bytes())).select(
                pl.col(name).cast(kind) for name, kind in _columns().items()
            )
        except FileNotFoundError:  # dropped meanwhile
            return pl.DataFrame(schema=_columns())
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - polars panics on some foreign files
            raise KbError(f"{path} is no saved set: {str(error).splitlines()[0]}", "remove the file") from None

    def save(self, name: str, expression: str, node_type: str | None, generation: str, members: pl.DataFrame) -> None:
        """Write a set, in place of one of the same name; ``members`` has the columns type and key."""
        import polars as pl

        if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise KbError(f"{name[:40]!r} is no name for a set", f"give 1 to {_LONGEST_NAME} printable characters")
        row = {
            "name": [name],
            "expression": [expression],
            "type": pl.Series([node_type], dtype=pl.String),
            "generation": [generation],
            "saved": [now()],
            "count": [members.height],
        }
        listed = pl.Series("members", [members.select("type", "key").to_struct()], dtype=_columns()["members"])
        self._write(pl.DataFrame(row).with_columns(listed), self._path(name))

    def drop(self, name: str) -> None:
        """Remove a set. Raises :class:`UnknownNameError`."""
        try:
            systems.retry(self._path(name).unlink)
        except FileNotFoundError:
            raise UnknownNameError("saved set", name, [s.name for s in self.sets()]) from None
        except OSError as error:
            raise KbError(f"{self._path(name)} cannot be removed: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        path = self.sets_folder / f"{systems.file_name(name)}.parquet"
        former = self.sets_folder / f"{iri_escape(name)[:200]}.parquet"  # before names were made for all systems
        return former if not path.exists() and former.is_file() else path

    def _write(self, frame: pl.DataFrame, path: Path) -> None:
        aside: str | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for left in path.parent.glob(".*.new"):  # of a writer that was killed
                with contextlib.suppress(FileNotFoundError):  # it is done by now
                    if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                        left.unlink()
            handle, aside = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
            os.close(handle)
            frame.write_parquet(aside)
            systems.make_readable(aside)
            systems.replace(Path(aside), path)
        except OSError as error:
            raise KbError(
                f"{path} cannot be written: {error.strerror or error}", "the workspace needs a disk to write to"
            ) from None
        finally:
            if aside is not None:
                Path(aside).unlink(missing_ok=True)
