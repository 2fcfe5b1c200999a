"""Parts on disk: for each stretch of the dump one folder with a Parquet file per table and the N-Triples.

A folder is written under a name with ``.new`` and renamed when it is whole, so that what has the plain name counts.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from kbkit.directory import systems

_TEXT, _FLAG, _NUMBER, _DOUBLE = pa.string(), pa.bool_(), pa.int32(), pa.float64()
_VALUE = [
    ("snak", _TEXT), ("datatype", _TEXT), ("value", _TEXT), ("target", _TEXT), ("precision", _NUMBER),
    ("calendar", _TEXT), ("amount", _DOUBLE), ("lower", _DOUBLE), ("upper", _DOUBLE), ("unit", _TEXT),
    ("latitude", _DOUBLE), ("longitude", _DOUBLE), ("globe", _TEXT), ("language", _TEXT),
]  # fmt: skip

SCHEMAS = {
    "entities": pa.schema([("id", _TEXT), ("kind", _TEXT), ("datatype", _TEXT), ("stub", _FLAG)]),
    "terms": pa.schema([(name, _TEXT) for name in ("id", "term", "language", "value")]),
    "statements": pa.schema(
        [("id", _TEXT), ("subject", _TEXT), ("property", _TEXT), ("rank", _TEXT), ("best", _FLAG), *_VALUE]
    ),
    "qualifiers": pa.schema(
        [("statement", _TEXT), ("subject", _TEXT), ("property", _TEXT), ("position", _NUMBER), *_VALUE]
    ),
    "sitelinks": pa.schema([(name, _TEXT) for name in ("id", "site", "title", "url")]),
}
"""The tables of a conversion."""

MENTIONS = pa.schema([("id", _TEXT)])
"""Every entity that is named in a part, once: those that are in no part become stubs."""
SHARED = pa.schema([("line", _TEXT)])
REPORT = "mend or remove that line, or fetch the dump again"
QUADS = "quads.nt.gz"
INFO = "info.json"
_LEVEL = 1  # of gzip: the file is read once or twice


class Part:
    """One part as it is written; a context manager that leaves nothing behind when it fails."""

    def __init__(self, folder: Path, schemas: Mapping[str, pa.Schema], *, quads: bool) -> None:
        self._final = folder
        self._new = _fresh(folder)
        if self._new.exists():
            systems.remove_tree(self._new)
        self._new.mkdir(parents=True)
        self._schemas = dict(schemas)
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._quads: IO[bytes] | None = _packed(self._new / QUADS) if quads else None

    def add(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append rows to a table."""
        self.add_columns(table, list(zip(*rows, strict=True)))

    def add_columns(self, table: str, columns: Sequence[Sequence[Any]]) -> None:
        """Append to a table what is given by columns; none at all for no rows."""
        if table not in self._writers:
            self._writers[table] = pq.ParquetWriter(
                self._new / f"{table}.parquet", self._schemas[table], compression="zstd", compression_level=1
            )
        if columns:
            schema = self._schemas[table]
            arrays = [pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)]
            self._writers[table].write_table(pa.table(arrays, schema=schema))

    def add_quads(self, text: bytes) -> None:
        """Append N-Triples."""
        assert self._quads is not None
        self._quads.write(text)

    def finish(self, info: Mapping[str, Any]) -> None:
        """Close the files, every table with one, and lay ``info`` beside them; still under the new name."""
        for table in self._schemas:
            self.add(table, ())
        self.close()
        (self._new / INFO).write_text(json.dumps(info), encoding="utf-8", newline="\n")

    def close(self) -> None:
        """Close the files."""
        for writer in self._writers.values():
            writer.close()
        if self._quads is not None:
            self._quads.close()


def _packed(path: Path) -> IO[bytes]:
    """A gzipped file to write, without the time in it: the same content gives the same file."""
    return gzip.GzipFile(path, "wb", _LEVEL, mtime=0)  # type: ignore[return-value]


def publish(folder: Path) -> dict[str, Any]:
    """Give a finished part its name; what :meth:`Part.finish` laid into it."""
    new = _fresh(folder)
    found: dict[str, Any] = json.loads((new / INFO).read_text(encoding="utf-8"))
    try:
        systems.rename(new, folder)
    except OSError:
        if info(folder) is None:
            raise
        systems.remove_tree(new)  # a process that outlived its run for a moment has made the same part
    return found


def _fresh(folder: Path) -> Path:
    """Where this process, and no other, writes a part."""
    return folder.with_name(f"{folder.name}.{os.getpid()}.new")


def info(folder: Path) -> dict[str, Any] | None:
    """What lies in a whole part; None where there is none."""
    path = folder / INFO
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
