"""Finds the files that a recipe declares, and shows them to its SQL as tables."""

from __future__ import annotations

import csv
import fnmatch
import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError, UnknownNameError, suggest
from kbkit.ingestion import archives
from kbkit.ingestion.recipe import FileSpec, Recipe
from kbkit.readers import reader
from kbkit.schema import literal, quote
from kbkit.stores.tables import RaisedError, first_line

if TYPE_CHECKING:
    import duckdb

_COMPRESSED = (".gz",)
_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_MAX_LINE = 10_000_000


def find(recipe: Recipe, paths: Sequence[Path], named: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Which files each ``[files.NAME]`` of the recipe reads.

    ``paths`` are files and folders; ``named`` settles single ones. Raises :class:`BadInputError` for a missing or empty
    file, one that a pattern finds twice, and a given file that nothing reads.
    """
    for name in named:
        if name not in {spec.name for spec in recipe.files}:
            raise UnknownNameError("file", name, [spec.name for spec in recipe.files], f"recipe {recipe.name}")
    for path in (*paths, *named.values()):
        if not path.exists():
            raise BadInputError(f"{path} does not exist")
    given = [path for path in paths if path.is_file() and not archives.is_archive(path)]
    deep = any("/" in pattern for spec in recipe.files for pattern in spec.match)
    offered = [*given, *(p for path in paths if path not in given for p in _inside(path, deep=deep))]
    found: dict[str, list[Path]] = {}
    for spec in recipe.files:
        free = [path for path in offered if not any(path in taken for taken in found.values())]
        found[spec.name] = [named[spec.name]] if spec.name in named else _matches(spec, free)
    needed = [spec for spec in recipe.files if not spec.optional]
    unread = [path for path in given if not any(path in taken for taken in found.values())]
    if len(needed) == 1 and not found[needed[0].name] and len(unread) == 1:
        found[needed[0].name] = [unread.pop()]  # the one file that the recipe needs may have any name
    if unread:
        raise BadInputError(f"recipe {recipe.name} does not know what to do with {unread[0]}", _what_it_reads(recipe))
    for spec in needed:
        if not found[spec.name]:
            raise BadInputError(f"found no file for {spec.name!r} of recipe {recipe.name}", _what_it_reads(recipe))
    for path in (p for taken in found.values() for p in taken):
        if archives.size(path) == 0:
            raise BadInputError(f"{path} is empty")
    return found


def _inside(place: Path, *, deep: bool) -> list[Path]:
    """The files of an archive, or of a folder and the archives in it, with ``deep`` also of the folders below.

    Links to folders are not followed, so that no loop is walked.
    """
    if archives.is_archive(place):
        return sorted(archives.members(place))
    walked = os.walk(place) if deep else [(str(place), [], [path.name for path in place.iterdir() if path.is_file()])]
    files = sorted(Path(folder) / name for folder, _, names in walked for name in names)
    return [member for path in files for member in (_inside(path, deep=deep) if archives.is_archive(path) else [path])]


def _matches(spec: FileSpec, offered: Iterable[Path]) -> list[Path]:
    def fits(path: Path, pattern: str) -> bool:
        """A pattern is about a file's name, or with folders about the end of its path."""
        name = _plain_name(path).lower()
        if "/" in pattern:
            return fnmatch.fnmatch(f"/{path.with_name(name).as_posix().lower()}", f"*/{pattern.lower()}")
        return fnmatch.fnmatch(name, pattern.lower())

    offered = list(offered)
    if spec.many:
        return [path for path in offered if any(fits(path, pattern) for pattern in spec.match)]
    for pattern in spec.match:
        hits = [path for path in offered if fits(path, pattern)]
        if len(hits) > 1:
            shown = ", ".join(p.name for p in hits[:3])
            raise BadInputError(
                f"several files could be {spec.name!r}: {shown}", f"choose one with --file {spec.name}=PATH"
            )
        if hits:
            return hits
    return []


def _plain_name(path: Path) -> str:
    return path.stem if path.suffix.lower() in _COMPRESSED else path.name


def _what_it_reads(recipe: Recipe) -> str:
    parts = [f"{spec.name}{' (optional)' if spec.optional else ''}: {' or '.join(spec.match)}" for spec in recipe.files]
    return "it reads " + "; ".join(parts) + "; --file NAME=PATH names one"


def create_views(
    con: duckdb.DuckDBPyConnection, recipe: Recipe, found: Mapping[str, Sequence[Path]], columns: Mapping[str, str]
) -> None:
    """Make each declared file a table of the staging database: a view on the file, or what its reader yields.

    ``columns`` says which column of a file is the canonical one (``head=subject``).
    """
    canonical = {name for spec in recipe.files for name in spec.names}
    for name in columns:
        if name not in canonical:
            raise UnknownNameError("column", name, canonical, f"recipe {recipe.name}")
    for spec in recipe.files:
        create_view(con, spec, found[spec.name], columns)


def create_view(
    con: duckdb.DuckDBPyConnection, spec: FileSpec, paths: Sequence[Path], columns: Mapping[str, str]
) -> None:
    """Make one declared file a table; without rows where it is not there."""
    if spec.converter:
        return  # its tables are the converter's
    if spec.reader and paths:
        _read(con, spec, paths)
        return
    selects = [_select(con, spec, path, columns) for path in paths] or [_nothing(spec)]
    con.execute(f"CREATE VIEW {quote(spec.name)} AS " + " UNION ALL BY NAME ".join(selects))


def _read(con: duckdb.DuckDBPyConnection, spec: FileSpec, paths: Sequence[Path]) -> None:
    """Stream what the file's reader yields into a table. DuckDB wraps what a reader raises; raise that itself."""
    import pyarrow as pa

    failures: list[Exception] = []
    source = reader(spec.reader)(paths)

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from source
        except Exception as error:
            failures.append(error)
            raise

    con.register("batches", pa.RecordBatchReader.from_batches(source.schema, watched()))
    try:
        con.execute(f"CREATE TABLE {quote(spec.name)} AS SELECT * FROM batches")
    except Exception:
        if failures:
            raise failures[0] from None
        raise
    finally:
        con.unregister("batches")


def _nothing(spec: FileSpec) -> str:
    """A table without rows for an optional file that is not there."""
    names = spec.columns or tuple(spec.names)
    return "SELECT " + ", ".join(f"NULL::VARCHAR AS {quote(name)}" for name in names) + " WHERE false"


def _select(con: duckdb.DuckDBPyConnection, spec: FileSpec, path: Path, columns: Mapping[str, str]) -> str:
    """``SELECT`` over one file, its columns renamed to the canonical names."""
    source, present = _source(con, spec, path)
    folded = {name.casefold(): name for name in present}
    renamed: dict[str, str] = {}
    missing: list[str] = []
    for name, accepted in spec.names.items():
        choices = [columns[name]] if name in columns else [name, *accepted]
        hit = next((folded[c.casefold()] for c in choices if c.casefold() in folded), None)
        if hit is None and (name in columns or name in spec.required):
            raise BadInputError(
                f"{path} has no column {' or '.join(repr(c) for c in dict.fromkeys(choices))} for {name!r}",
                f"it has {', '.join(present)}; --column {name}=NAME says which",
            )
        if hit is None:
            missing.append(name)
        elif hit not in renamed.values():
            renamed[name] = hit
    parts = [f"{quote(old)} AS {quote(new)}" for new, old in renamed.items()]
    parts += [f"NULL::VARCHAR AS {quote(name)}" for name in missing]
    rest = [name for name in present if name not in renamed.values()]
    parts += [quote(name) for name in rest if name.casefold() not in {n.casefold() for n in spec.names}]
    return f"SELECT {', '.join(parts)} FROM {source}"


def _source(con: duckdb.DuckDBPyConnection, spec: FileSpec, path: Path) -> tuple[str, list[str]]:
    """A DuckDB table function over the file, and its column names."""
    kind = spec.format or _FORMATS.get(Path(_plain_name(path)).suffix.lower(), "")
    if not kind:
        raise BadInputError(f"{path} has an unknown ending", "use one of " + ", ".join(sorted(_FORMATS)))
    if kind in ("csv", "tsv"):
        return _delimited(spec, path, kind)
    function = {"parquet": "read_parquet", "json": "read_json"}.get(kind)
    if function is None:
        raise BadInputError(f"unknown format {kind!r} of file {spec.name!r}", suggest(kind, set(_FORMATS.values())))
    size = f", maximum_object_size = {16 * _MAX_LINE}" if kind == "json" else ""
    source = f"{function}({literal(str(path))}{size})"
    return source, [row[0] for row in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]


def _delimited(spec: FileSpec, path: Path, kind: str) -> tuple[str, list[str]]:
    """CSV quotes with ``"``; TSV does not quote. The columns are named here, because DuckDB's own guessing changes what
    it reads (and which line it blames) with the data.
    """
    delimiter = spec.delimiter or ("," if kind == "csv" else "\t")
    quotes = spec.quote if spec.quote is not None else ('"' if kind == "csv" else "")
    names = list(spec.columns) or _header(path, delimiter, quotes)
    typed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    source = (
        f"read_csv({literal(str(path))}, auto_detect = false, header = {'false' if spec.columns else 'true'},"
        f" delim = {literal(delimiter)}, quote = {literal(quotes)}, escape = {literal(quotes)},"
        f" max_line_size = {_MAX_LINE}, columns = {{{typed}}})"
    )
    return source, names


def _header(path: Path, delimiter: str, quotes: str) -> list[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as handle:
            if quotes:
                names = next(csv.reader(handle, delimiter=delimiter, quotechar=quotes), [])
            else:
                names = next(csv.reader(handle, delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
    except UnicodeDecodeError:
        raise BadInputError(
            f"{_bad_line(path, bytes.decode)} is not valid UTF-8", "convert it, e.g. with iconv"
        ) from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from None
    names = [name.strip() or f"column{i}" if any(names) else "" for i, name in enumerate(names)]
    twice = next((name for name in names if [n.casefold() for n in names].count(name.casefold()) > 1), None)
    if not any(names) or twice is not None:
        what = f"names the column {twice!r} twice" if twice else "has no header line"
        raise BadInputError(f"{path}, line 1 {what}", "the first line names the columns")
    return names


def source_error(error: Exception, script: Path, sources: Iterable[Path]) -> BadInputError:
    """What is wrong with a source file, with its line number; or with the recipe's SQL, ``script``."""
    text = str(error)
    path = next((path for path in sources if str(path) in text), None)
    if path is None:
        own = isinstance(error, RaisedError)  # the recipe's words
        said = first_line(error).removeprefix("Invalid Input Error: ")
        return BadInputError(said if own else f"{script}: {first_line(error)}")
    if "not utf-8" in text or "invalid unicode" in text.lower() or "Invalid UTF-8" in text:
        return BadInputError(f"{_bad_line(path, bytes.decode)} is not valid UTF-8", "convert it, e.g. with iconv")
    if "JSON" in text:
        return BadInputError(
            f"{_bad_line(path, json.loads)} is not valid JSON", "write one object per line, or one array"
        )
    line = re.search(r"CSV Error on Line: (\d+)", text)
    where = f"{path}, line {line[1]}" if line else str(path)
    columns = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if columns:
        return BadInputError(
            f"{where} has {columns[2]} columns, not {columns[1]}", "quote fields that hold the delimiter"
        )
    for sign, what, hint in (
        ("unterminated quote", "has a quote that is never closed", "double the quotes inside a quoted field"),
        ("quote should be followed", "has text after a closing quote", "double the quotes inside a quoted field"),
        ("Maximum line size", "is longer than the reader allows", "is a quote left open further up?"),
    ):
        if sign in text:
            return BadInputError(f"{where} {what}", hint)
    return BadInputError(f"{where} cannot be read: {first_line(error)}")


def _bad_line(path: Path, parse: Callable[[bytes], object]) -> str:
    """The file and the first line that ``parse`` refuses: DuckDB's own count depends on how it cut the file."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as handle:
            for number, line in enumerate(handle, 1):
                try:
                    if line.strip():
                        parse(line)
                except ValueError:
                    return f"{path}, line {number}"
    except (OSError, EOFError, zlib.error):
        pass
    return str(path)
