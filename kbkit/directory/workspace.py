"""The user data of a KB, which outlives generations: saved answer sets and queries.

A set is a Parquet file with one row; its members are a list of (type, key). Files are replaced atomically, so that
several processes can read and write them.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.directory import systems
from kbkit.directory.damage import check_plain
from kbkit.directory.files import write_files
from kbkit.directory.generations import now
from kbkit.directory.saved_files import check_name
from kbkit.directory.saved_queries import SavedQueries
from kbkit.directory.saved_views import SavedViews
from kbkit.errors import KbError, UnknownNameError, check_unicode
from kbkit.schema import iri_escape

if TYPE_CHECKING:
    import polars as pl

SETS = "sets"

COLUMNS = {
    "name": "name of the set, as in @NAME",
    "expression": "answer expression or query that it was saved from",
    "type": "type of the members; NULL for any",
    "generation": "generation in which it was computed",
    "saved": "time, UTC",
    "count": "number of members when it was saved",
    "members": "types and keys of the members, which outlive a generation",
}
"""The columns of a set's file, with descriptions."""


@dataclass(frozen=True)
class SavedSetRecord:
    """A saved set without its members; ``type`` is None for any, ``generation`` the one it was computed in."""

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
    """The folder ``workspace`` of a KB, created by the first write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def queries(self) -> SavedQueries:
        """The saved queries."""
        return SavedQueries(self.folder / "queries")

    @property
    def views(self) -> SavedViews:
        """The saved drawings of the graph."""
        return SavedViews(self.folder / "views")

    @property
    def sets_folder(self) -> Path:
        """Folder of the saved sets."""
        return self.folder / SETS

    def sets(self) -> list[SavedSetRecord]:
        """Return all saved sets, ordered by name."""
        return [SavedSetRecord(**row) for row in self.frame().drop("members").to_dicts()]

    def members(self, name: str) -> pl.DataFrame:
        """Return the members of a set (type, key), or raise :class:`UnknownNameError`."""
        path = self._path(name)
        if not path.is_file():
            raise UnknownNameError("saved set", name, [s.name for s in self.sets()])
        return self._read(path).select("members").explode("members").drop_nulls().unnest("members")

    def frame(self) -> pl.DataFrame:
        """Return all saved sets, ordered by name, with the columns :data:`COLUMNS`."""
        import polars as pl

        paths = sorted(self.sets_folder.glob("*.parquet")) if self.sets_folder.is_dir() else []
        return pl.concat([pl.DataFrame(schema=_columns()), *map(self._read, paths)]).sort("name")

    def _read(self, path: Path) -> pl.DataFrame:
        """Read a file at once, because another process may replace it at any time."""
        import polars as pl

        check_plain(path)
        try:
            return pl.read_parquet(io.BytesIO(path.read_bytes())).select(
                pl.col(name).cast(kind) for name, kind in _columns().items()
            )
        except FileNotFoundError:  # deleted meanwhile
            return pl.DataFrame(schema=_columns())
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - polars panics on some foreign files
            raise KbError(f"Invalid saved set {path}: {str(error).splitlines()[0]}", "Delete the file") from None

    def save(self, name: str, expression: str, node_type: str | None, generation: str, members: pl.DataFrame) -> None:
        """Save a set, replacing one of the same name; ``members`` has the columns type and key."""
        import polars as pl

        check_name(name, "set")
        for text in (expression, node_type or "", generation):
            check_unicode(text, "the saved set")
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
        """Delete a set, or raise :class:`UnknownNameError`."""
        try:
            systems.retry(self._path(name).unlink)
        except FileNotFoundError:
            raise UnknownNameError("saved set", name, [s.name for s in self.sets()]) from None
        except OSError as error:
            raise KbError(f"Cannot delete {self._path(name)}: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        check_unicode(name, "the name of a set")
        path = self.sets_folder / f"{systems.file_name(name)}.parquet"
        former = self.sets_folder / f"{iri_escape(name)[:200]}.parquet"  # name in older versions
        check_plain(path, former)
        return former if not path.exists() and former.is_file() else path

    def _write(self, frame: pl.DataFrame, path: Path) -> None:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        write_files({path: buffer.getvalue()})
