"""Parts on disk: for each piece of the dump a folder with a Parquet file per table and the N-Triples.

A part is written under a name that ends in ``.new`` and renamed when it is complete, so that an interrupted conversion
can resume from the complete parts.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from kbkit.directory import systems
from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError
from kbkit.readers.wikidata.options import ConversionOptions

if TYPE_CHECKING:
    import duckdb

_TEXT, _FLAG, _NUMBER, _DOUBLE = pa.string(), pa.bool_(), pa.int32(), pa.float64()
_SNAK = [
    ("snak", _TEXT), ("datatype", _TEXT), ("value", _TEXT), ("target", _TEXT), ("precision", _NUMBER),
    ("calendar", _TEXT), ("amount", _DOUBLE), ("lower", _DOUBLE), ("upper", _DOUBLE), ("unit", _TEXT),
    ("latitude", _DOUBLE), ("longitude", _DOUBLE), ("globe", _TEXT), ("language", _TEXT),
]  # fmt: skip

SCHEMAS = {
    "entities": pa.schema([("id", _TEXT), ("kind", _TEXT), ("datatype", _TEXT), ("stub", _FLAG)]),
    "terms": pa.schema([(name, _TEXT) for name in ("id", "term", "language", "value")]),
    "statements": pa.schema(
        [("id", _TEXT), ("subject", _TEXT), ("property", _TEXT), ("rank", _TEXT), ("best", _FLAG), *_SNAK]
    ),
    "qualifiers": pa.schema(
        [("statement", _TEXT), ("subject", _TEXT), ("property", _TEXT), ("position", _NUMBER), *_SNAK]
    ),
    "references": pa.schema([("statement", _TEXT), ("subject", _TEXT), ("reference", _TEXT), ("position", _NUMBER)]),
    "reference_snaks": pa.schema([("reference", _TEXT), ("property", _TEXT), ("position", _NUMBER), *_SNAK]),
    "sitelinks": pa.schema([(name, _TEXT) for name in ("id", "site", "title", "url")]),
}
"""The tables that a conversion produces. Several parts may describe the same reference."""

SNAK_TABLES = ("statements", "qualifiers", "reference_snaks")
"""Those with values."""

SCAN_SCHEMAS = {
    "known": pa.schema([("id", _TEXT), ("kind", _TEXT), ("datatype", _TEXT)]),
    "names": SCHEMAS["terms"],
    "links": pa.schema([("subject", _TEXT), ("property", _TEXT), ("target", _TEXT), ("value", _TEXT)]),
    "raw": pa.schema([("id", _TEXT), ("line", _TEXT)]),
}
"""The tables of a scan.

``known``: all entities. ``names``: their terms. ``links``: statements of the best rank that a selection may depend on.
``raw``: the properties as in the dump.
"""

QUADS = "quads.nt.gz"
ENTITIES = "entities.jsonl.gz"
INFO = "info.json"
_GZIP_LEVEL = 1  # the file is read once or twice


def json_schemas(*, triples: bool) -> dict[str, pa.Schema]:
    """Return the tables of a part from JSON.

    ``mentions``: the entities that the part names; those without a part become stubs. ``shared``: lines of N-Triples
    about nodes that several entities use.
    """
    shared = {"shared": pa.schema([("line", _TEXT)])} if triples else {}
    return {**SCHEMAS, "mentions": pa.schema([("id", _TEXT)]), **shared}


def rdf_schemas(*, triples: bool) -> dict[str, pa.Schema]:
    """Return the tables of a part from RDF.

    Snaks name value nodes, which are in ``values``. ``nodes``: lines about values, references and
    sites of all entities, with the node that they refer to. ``uses``: the nodes that selected entities refer to.
    """
    node = pa.field("node", _TEXT)
    in_nodes = ("precision", "calendar", "lower", "upper", "unit", "globe")
    schemas = {
        **SCHEMAS,
        **{table: SCHEMAS[table].append(node) for table in SNAK_TABLES},
        "values": pa.schema([("node", _TEXT), *(pair for pair in _SNAK if pair[0] in in_nodes)]),
        "mentions": pa.schema([("id", _TEXT)]),
    }
    if triples:
        schemas["nodes"] = pa.schema([("subject", _TEXT), ("object", _TEXT), ("line", _TEXT)])
        schemas["uses"] = pa.schema([("node", _TEXT)])
    return schemas


class ConversionPart:
    """A part while it is written."""

    def __init__(self, folder: Path, schemas: Mapping[str, pa.Schema], *, quads: bool) -> None:
        self._new = _new_name(folder)
        if self._new.exists():
            systems.remove_tree(self._new)
        self._new.mkdir(parents=True)
        self._schemas = dict(schemas)
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._quads: IO[bytes] | None = _open_gzip(self._new / QUADS) if quads else None

    def add_columns(self, table: str, columns: Sequence[Sequence[Any]]) -> None:
        """Append columns of equal length to a table; no columns mean no rows."""
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

    def keep(self, lines: Iterable[bytes]) -> None:
        """Write entities as in the dump."""
        with _open_gzip(self._new / ENTITIES) as target:
            target.writelines(line + b"\n" for line in lines)

    def finish(self, info: Mapping[str, Any]) -> None:
        """Close the files, write those of empty tables, and save ``info``; :func:`publish` renames the part."""
        for table in self._schemas:
            self.add_columns(table, ())
        self.close()
        (self._new / INFO).write_text(json.dumps(info), encoding="utf-8", newline="\n")

    def close(self) -> None:
        """Close the files."""
        for writer in self._writers.values():
            writer.close()
        if self._quads is not None:
            self._quads.close()


def _open_gzip(path: Path) -> IO[bytes]:
    """Open a gzipped file for writing, without a time stamp: the same content gives the same file."""
    return gzip.GzipFile(path, "wb", _GZIP_LEVEL, mtime=0)  # type: ignore[return-value]


def publish(folder: Path) -> dict[str, Any]:
    """Rename a finished part and return its info."""
    new = _new_name(folder)
    content: dict[str, Any] = parse_json((new / INFO).read_text(encoding="utf-8"))
    try:
        systems.rename(new, folder)
    except OSError:
        if info(folder) is None:
            raise
        systems.remove_tree(new)  # a worker that briefly outlived its run has written the same part
    return content


def _new_name(folder: Path) -> Path:
    """Return the folder of an unfinished part, unique to this process."""
    return folder.with_name(f"{folder.name}.{os.getpid()}.new")


def info(folder: Path) -> dict[str, Any] | None:
    """Return the info of a complete part, or None if there is none."""
    path = folder / INFO
    if not path.is_file():
        return None
    content: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
    return content


# -- resuming ---------------------------------------------------------------------------------------------------------

_INPUTS = "made_from.json"
_VERSION = 2
"""The version of the files in a part; parts of another version are converted again."""


def prepare(folder: Path, paths: Sequence[Path], options: ConversionOptions) -> None:
    """Remove incomplete parts from a folder, or everything if its parts come from other files or options."""
    inputs = _describe_inputs(paths, options)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _INPUTS
    try:
        same = parse_json(file.read_text(encoding="utf-8")) == inputs
    except (OSError, ValueError):
        same = False
    for path in list(folder.rglob("*.new") if same else folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            systems.remove_tree(path)
        else:
            systems.remove(path)
    if not same:
        new = folder / (_INPUTS + ".new")
        new.write_text(json.dumps(inputs), encoding="utf-8", newline="\n")
        systems.replace(new, file)


def _describe_inputs(paths: Sequence[Path], options: ConversionOptions) -> dict[str, object]:
    inputs = []
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            raise BadInputError(f"Cannot read {path}: {error.strerror or error}") from None
        inputs.append([path.name, status.st_size, status.st_mtime_ns])
    return {"version": _VERSION, "inputs": inputs, "options": options.to_json()}


# -- DuckDB over parts ------------------------------------------------------------------------------------------------

_MEMORY = "1GB"


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open an in-memory database that spills to ``folder`` and loads no extensions."""
    import duckdb  # workers import this module and need no database

    return duckdb.connect(
        config={
            "memory_limit": _MEMORY, "temp_directory": str(folder / "spill"),
            "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        }
    )  # fmt: skip


def literal(text: object) -> str:
    """Return an SQL string literal."""
    return "'" + str(text).replace("'", "''") + "'"


def table_of(folders: Sequence[Path], table: str) -> str:
    """Return the SQL for a table of all parts, in order."""
    return parquet([folder / f"{table}.parquet" for folder in folders])


def parquet(paths: Sequence[Path]) -> str:
    """Return the SQL that reads Parquet files, in order."""
    return f"read_parquet([{', '.join(map(literal, paths))}])"


def copy(con: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    """Write a query's rows to a Parquet file atomically."""
    new = target.with_name(target.name + ".new")
    con.execute(f"COPY ({query}) TO {literal(new)} (FORMAT parquet, COMPRESSION zstd)")
    systems.replace(new, target)


def write_lines(con: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    """Write a query's single text column to a gzipped file atomically, one value per line, without quoting."""
    new = target.with_name(target.name + ".new")
    con.execute(
        f"COPY ({query}) TO {literal(new)} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01',"
        " COMPRESSION gzip)"
    )
    systems.replace(new, target)
