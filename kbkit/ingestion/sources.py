"""Find the files that a recipe declares, and turn them into tables for its SQL."""

from __future__ import annotations

import csv
import fnmatch
import gzip
import itertools
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kbkit.errors import BadInputError, Option, UnknownNameError, reason
from kbkit.ingestion import archives
from kbkit.ingestion.recipe import FileSpec, Recipe
from kbkit.ingestion.source_errors import MAX_LINE, damaged_gzip, invalid_utf8
from kbkit.readers import reader
from kbkit.schema import literal, quote

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_COMPRESSED = (".gz",)
_FORMATS = {
    ".csv": "csv",
    ".psv": "psv",
    ".tsv": "tsv",
    ".txt": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".sqlite": "database",
    ".sqlite3": "database",
    ".duckdb": "database",
    ".db": "database",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".graphml": "graph",
    ".gexf": "graph",
    ".gml": "graph",
}
_STORED = ("database", "excel", "graph")
"""Formats of files with several tables."""


class Delimiters(NamedTuple):
    """The signs between and around the fields of a format."""

    delimiter: str
    quote: str


DELIMITERS = {"csv": Delimiters(",", '"'), "psv": Delimiters("|", '"'), "tsv": Delimiters("\t", "")}
"""What files of a format use unless a recipe says otherwise."""


def find(recipe: Recipe, paths: Sequence[Path], named: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Return the files for each ``[files.NAME]`` of the recipe.

    ``paths`` are files and folders; ``named`` assigns single files. Raises :class:`BadInputError` for a missing or
    empty file, for a pattern with several matches, and for a file in ``paths`` that the recipe does not read.
    """
    for name in named:
        if name not in {spec.name for spec in recipe.files}:
            raise UnknownNameError("file", name, [spec.name for spec in recipe.files], f"recipe {recipe.name}")
    for path in (*paths, *named.values()):
        if not path.exists():
            raise BadInputError(f"{path} does not exist")
    listed = [path for path in paths if path.is_file() and not archives.is_archive(path)]
    deep = any("/" in pattern for spec in recipe.files for pattern in spec.match)
    folders = [path for path in paths if not path.is_file() or archives.is_archive(path)]
    offered = [*listed, *(p for path in folders for p in _inside(path, deep=deep))]
    found: dict[str, list[Path]] = {}
    taken: set[Path] = set()
    for spec in recipe.files:
        free = [path for path in offered if path not in taken or spec.table]
        found[spec.name] = [named[spec.name]] if spec.name in named else _matches(spec, free)
        taken.update(found[spec.name])
    needed = [spec for spec in recipe.files if not spec.optional]
    unread = [path for path in listed if path not in taken]
    missing = [spec for spec in needed if not found[spec.name]]
    alike = {spec.match if spec.table else spec.name for spec in needed}
    if missing and len(alike) == 1 and len(unread) == 1:
        only = unread.pop()  # a single required file may have any name
        found.update({spec.name: [only] for spec in missing})
    if unread:
        raise BadInputError(f"Recipe {recipe.name} does not read {unread[0]}", *_describe_files(recipe))
    for spec in needed:
        if not found[spec.name]:
            raise BadInputError(f"Missing file {spec.name!r} of recipe {recipe.name}", *_describe_files(recipe))
    for path in (path for paths in found.values() for path in paths):
        if archives.size(path) == 0:
            raise BadInputError(f"{path} is empty")
    return found


def _inside(folder: Path, *, deep: bool) -> list[Path]:
    """List the files of an archive, or of a folder and the archives in it, with ``deep`` also of its subfolders.

    Links to folders are not followed, to avoid loops.
    """
    if archives.is_archive(folder):
        return sorted(archives.members(folder))
    walked = os.walk(folder) if deep else [(str(folder), [], [p.name for p in folder.iterdir() if p.is_file()])]
    files = sorted(Path(parent) / name for parent, _, names in walked for name in names)
    return [member for path in files for member in (_inside(path, deep=deep) if archives.is_archive(path) else [path])]


def _matches(spec: FileSpec, offered: Iterable[Path]) -> list[Path]:
    def fits(path: Path, pattern: str) -> bool:
        """Match the file's name, or the end of its path if the pattern has folders."""
        name = plain_name(path).lower()
        if "/" in pattern:
            return fnmatch.fnmatch(f"/{path.with_name(name).as_posix().lower()}", f"*/{pattern.lower()}")
        return fnmatch.fnmatch(name, pattern.lower())

    offered = list(offered)
    if spec.many:
        return [path for path in offered if any(fits(path, pattern) for pattern in spec.match)]
    for pattern in spec.match:
        hits = [path for path in offered if fits(path, pattern)]
        if len(hits) > 1:
            examples = ", ".join(p.name for p in hits[:3])
            hint = ("Choose one with ", Option("files", f"{spec.name}=PATH"))
            raise BadInputError(f"Several files match {spec.name!r}: {examples}", *hint)
        if hits:
            return hits
    return []


def tables_in(paths: Sequence[Path]) -> list[Path]:
    """Return the files with tables among ``paths``, and those in its folders and archives.

    Raises :class:`BadInputError` for a missing or empty file, one of another format, and if there is none.
    """
    for path in (path for path in paths if not path.exists()):
        raise BadInputError(f"{path} does not exist")
    found = []
    for path in paths:
        if path.is_file() and not archives.is_archive(path):
            format_of(path)
            found.append(path)
        else:
            found += [member for member in _inside(path, deep=False) if suffix(member) in _FORMATS]
    if not found:
        listed = ", ".join(map(str, paths))
        hint = "Use files that end in " + ", ".join(sorted(_FORMATS))
        hint += ". Subfolders are not read" if any(path.is_dir() for path in paths) else ""
        raise BadInputError(f"No tables in {listed}", hint)
    for path in (path for path in found if archives.size(path) == 0):
        raise BadInputError(f"{path} is empty")
    return list(dict.fromkeys(found))


def format_of(path: Path) -> str:
    """Return the format of a file, by its name. Raises :class:`BadInputError` for an unknown one."""
    if suffix(path) not in _FORMATS:
        raise BadInputError(f"Unsupported file type: {path}", "Use one of " + ", ".join(sorted(_FORMATS)))
    return _FORMATS[suffix(path)]


def suffix(path: Path) -> str:
    """Return the ending of a file's name in lower case, without that of its compression."""
    return Path(plain_name(path)).suffix.lower()


def plain_name(path: Path) -> str:
    """Return the name of a file without the ending of its compression."""
    return path.stem if path.suffix.lower() in _COMPRESSED else path.name


def _describe_files(recipe: Recipe) -> tuple[str, Option, str]:
    parts = [f"{spec.name}{' (optional)' if spec.optional else ''}: {' or '.join(spec.match)}" for spec in recipe.files]
    return f"The recipe reads {'; '.join(parts)}. Use ", Option("files", "NAME=PATH"), " to choose a file"


def check_columns(recipe: Recipe, columns: Iterable[str]) -> None:
    """Raise :class:`UnknownNameError` for columns that no file of the recipe has."""
    known = {name for spec in recipe.files for name in spec.names}
    for name in columns:
        if name not in known:
            raise UnknownNameError("column", name, known, f"recipe {recipe.name}")


def create_views(
    con: duckdb.DuckDBPyConnection, recipe: Recipe, found: Mapping[str, Sequence[Path]], columns: Mapping[str, str]
) -> None:
    """Turn each declared file into a table of the staging database: a view of the file, or the output of its reader.

    ``columns`` maps a column name to the file's own (``head=subject``).
    """
    for spec in recipe.files:
        create_view(con, spec, found[spec.name], columns)


def create_view(
    con: duckdb.DuckDBPyConnection, spec: FileSpec, paths: Sequence[Path], columns: Mapping[str, str]
) -> None:
    """Turn one declared file into a table, without rows if the file is missing."""
    if spec.converter:
        return  # the converter makes its tables
    if spec.reader and paths:
        _read(con, spec, paths)
        return
    selects = [_select(con, spec, path, columns) for path in paths] or [_empty(spec)]
    con.execute(f"CREATE VIEW {quote(spec.name)} AS " + " UNION ALL BY NAME ".join(selects))


def _read(con: duckdb.DuckDBPyConnection, spec: FileSpec, paths: Sequence[Path]) -> None:
    """Stream the output of the file's reader into a table."""
    read = reader(spec.reader)
    stream(con, spec.name, read(paths, spec.table) if spec.table else read(paths))


def stream(con: duckdb.DuckDBPyConnection, table: str, source: pa.RecordBatchReader) -> None:
    """Create a table of the batches of a reader; raise the reader's errors, which DuckDB wraps."""
    import pyarrow as pa

    failures: list[Exception] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from source
        except Exception as error:
            failures.append(error)
            raise

    con.register("batches", pa.RecordBatchReader.from_batches(source.schema, watched()))
    try:
        con.execute(f"CREATE TABLE {quote(table)} AS SELECT * FROM batches")
    except Exception:
        if failures:
            raise failures[0] from None
        raise
    finally:
        con.unregister("batches")


def _empty(spec: FileSpec) -> str:
    """Return ``SELECT`` without rows, for a missing optional file."""
    names = spec.columns or tuple(spec.names)
    return "SELECT " + ", ".join(f"NULL::VARCHAR AS {quote(name)}" for name in names) + " WHERE false"


def _select(con: duckdb.DuckDBPyConnection, spec: FileSpec, path: Path, columns: Mapping[str, str]) -> str:
    """Return ``SELECT`` over one file that renames its columns to the declared names."""
    source, present = _source(con, spec, path, columns)
    folded = {name.casefold(): name for name in present}
    renamed: dict[str, str] = {}
    missing: list[str] = []
    for name, accepted in spec.names.items():
        choices = [columns[name]] if name in columns else [name, *accepted]
        hit = next((folded[c.casefold()] for c in choices if c.casefold() in folded), None)
        if hit is None and (name in columns or name in spec.required):
            message = f"Missing column {' or '.join(repr(c) for c in dict.fromkeys(choices))} in {path}"
            if len(present) == 1 and ";" in present[0]:
                hint = "The fields are separated by semicolons. Convert them to commas, or set delimiter in a recipe"
                raise BadInputError(message, hint)
            raise BadInputError(
                message,
                f"The columns are {', '.join(present)}. Use ",
                Option("columns", f"{name}=NAME"),
                " to choose one",
            )
        if hit is None:
            missing.append(name)
        elif hit not in renamed.values():
            renamed[name] = hit
    parts = [f"{quote(old)} AS {quote(new)}" for new, old in renamed.items()]
    parts += [f"NULL::VARCHAR AS {quote(name)}" for name in missing]
    taken = {name.casefold() for name in (*renamed, *missing, *present)}
    for name in (name for name in present if name not in renamed.values()):
        other = name
        while other.casefold() in taken and (other != name or name.casefold() in {n.casefold() for n in spec.names}):
            other += "_"  # another column was chosen for this name
        parts.append(quote(name) if other == name else f"{quote(name)} AS {quote(other)}")
    return f"SELECT {', '.join(parts)} FROM {source}"


def _source(
    con: duckdb.DuckDBPyConnection, spec: FileSpec, path: Path, columns: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Return a DuckDB table function over the file, and its column names."""
    kind = spec.format or format_of(path)
    if spec.table and kind not in _STORED:
        raise BadInputError(f"{path} has no tables to choose from", f"Remove the key table of files.{spec.name}")
    if kind in DELIMITERS:
        return _delimited(spec, path, kind)
    if kind == "json":
        texts = {name.casefold() for names in spec.names.items() for name in (names[0], *names[1])}
        return _json(con, path, texts | {name.casefold() for name in columns.values()})
    if kind in _STORED:
        return _stored(con, spec, path, kind)
    if kind != "parquet":
        raise UnknownNameError("format", kind, set(_FORMATS.values()), f"files.{spec.name} of the recipe")
    source = f"read_parquet({literal(str(path))})"
    return source, list(_columns(con, source))


def _stored(con: duckdb.DuckDBPyConnection, spec: FileSpec, path: Path, kind: str) -> tuple[str, list[str]]:
    """Copy a table of a database, workbook or graph into the staging database; return it and its columns."""
    from kbkit.readers import databases, graphs, workbooks

    batches = {"database": databases.read, "excel": workbooks.read, "graph": graphs.read}[kind](path, spec.table)
    known = {row[0].casefold() for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    number = next(n for n in itertools.count(1) if f"{spec.name} rows {n}".casefold() not in known)
    stream(con, f"{spec.name} rows {number}", batches)
    return quote(f"{spec.name} rows {number}"), batches.schema.names


def _columns(con: duckdb.DuckDBPyConnection, source: str) -> dict[str, str]:
    """Return the columns of a table function with their types."""
    return {row[0]: row[1] for row in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}


_PARSED = re.compile(r'"(?:[^"]|"")*"|\b(?:DATE|TIME|TIMESTAMP|UUID)\b(?: WITH TIME ZONE)?')
"""A quoted field name in a type, or a type that DuckDB parses from strings."""


def _json(con: duckdb.DuckDBPyConnection, path: Path, texts: Collection[str]) -> tuple[str, list[str]]:
    """Return a subquery over a file of JSON objects, and its columns, with types that fit all of its values.

    Numbers in the columns ``texts`` (case-folded) are text, so that a key 1 beside 2.5 is not 1.0.
    DuckDB alone types a column by the first 20,480 rows, rewrites strings that look like dates or UUIDs, and keeps the
    quotes of strings in columns that also hold numbers. Here strings stay as they are written.
    """
    file = f"{literal(str(path))}, maximum_object_size = {16 * MAX_LINE}"
    whole = "sample_size = -1, map_inference_threshold = -1, field_appearance_threshold = 0"
    found = _columns(con, f"read_json({file}, {whole})")
    types = {
        name: _PARSED.sub(lambda part: part[0] if part[0].startswith('"') else "VARCHAR", kind)
        for name, kind in found.items()
    }
    types |= {name: "JSON" for name, kind in types.items() if kind == "DOUBLE" and name.casefold() in texts}
    numbers = [name for name, kind in types.items() if kind == "DOUBLE"]
    if numbers:  # an integer of more than 15 digits would lose the last ones
        long = ", ".join(f"bool_or(regexp_matches({quote(name)}::VARCHAR, '^-?[0-9]{{16,}}$'))" for name in numbers)
        raw = _struct(dict.fromkeys(numbers, "JSON"))
        [row] = con.execute(f"SELECT {long} FROM read_json({file}, columns = {raw})").fetchall()
        types |= {name: "VARCHAR" for name, is_long in zip(numbers, row, strict=True) if is_long}
    values = (f"{quote(n)} ->> '$' AS {quote(n)}" if kind == "JSON" else quote(n) for n, kind in types.items())
    return f"(SELECT {', '.join(values)} FROM read_json({file}, columns = {_struct(types)}))", list(types)


def _struct(types: Mapping[str, str]) -> str:
    """Return columns and types as an argument of ``read_json``."""
    return f"{{{', '.join(f'{literal(name)}: {literal(kind)}' for name, kind in types.items())}}}"


def _delimited(spec: FileSpec, path: Path, kind: str) -> tuple[str, list[str]]:
    """Return the table function for CSV (quoted with ``"``) or TSV (unquoted).

    The columns are named here because DuckDB's sniffing makes results and line numbers depend on the data.
    """
    delimiter = spec.delimiter or DELIMITERS[kind].delimiter
    quotes = DELIMITERS[kind].quote if spec.quote is None else spec.quote
    names = list(spec.columns) or header(path, delimiter, quotes)
    typed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    source = (
        f"read_csv({literal(str(path))}, auto_detect = false, header = {'false' if spec.columns else 'true'},"
        f" delim = {literal(delimiter)}, quote = {literal(quotes)}, escape = {literal(quotes)},"
        f" max_line_size = {MAX_LINE}, columns = {{{typed}}})"
    )
    return source, names


def header(path: Path, delimiter: str, quotes: str) -> list[str]:
    """Return the names of the columns in the first line of a file, which is in UTF-8.

    Raises :class:`BadInputError` for an unreadable file, and for missing and repeated names.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as handle:
            if quotes:
                names = next(csv.reader(handle, delimiter=delimiter, quotechar=quotes), [])
            else:
                names = next(csv.reader(handle, delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
    except UnicodeDecodeError:
        raise invalid_utf8(path) from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise BadInputError(damaged_gzip(path) or f"Cannot read {path}: {reason(error)}") from None
    names = [name.strip() or f"column{i}" if any(names) else "" for i, name in enumerate(names)]
    counts = Counter(name.casefold() for name in names)
    twice = next((name for name in names if counts[name.casefold()] > 1), None)
    if not any(names) or twice is not None:
        problem = f"Duplicate column {twice!r}" if twice else "Missing header"
        raise BadInputError(f"{problem} in {path}, line 1", "The first line must name the columns")
    return names
