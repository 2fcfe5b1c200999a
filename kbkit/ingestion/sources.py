"""Turn the files of a recipe into tables for its SQL."""

from __future__ import annotations

import csv
import gzip
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kbkit.errors import BadInputError, Option, UnknownNameError, reason
from kbkit.ingestion.recipe import FileSpec, Recipe
from kbkit.ingestion.source_errors import MAX_LINE, MAX_OBJECT, damaged_gzip, invalid_utf8
from kbkit.ingestion.source_files import FORMATS, format_of, plain_name
from kbkit.readers import reader, stored
from kbkit.readers.columns import unique
from kbkit.schema import literal, quote
from kbkit.stores.table_build import staged_tables

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MAX_COLUMNS = 5_000
"""Maximum number of columns of a file. Queries take time and memory that grow with the square of the number."""


class Delimiters(NamedTuple):
    """The signs between and around the fields of a format."""

    delimiter: str
    quote: str


SOURCE_FILE = "file of the row"
"""The column of a table with the file of each row, which is no attribute."""

DELIMITERS = {"csv": Delimiters(",", '"'), "psv": Delimiters("|", '"'), "tsv": Delimiters("\t", "")}
"""What files of a format use unless a recipe says otherwise."""


def check_columns(recipe: Recipe, columns: Iterable[str]) -> None:
    """Raise :class:`UnknownNameError` for columns that no file of the recipe has."""
    known = {name for spec in recipe.files for name in spec.names}
    for name in columns:
        if name not in known:
            raise UnknownNameError("column", name, known, f"recipe {recipe.name}")


def create_views(
    con: duckdb.DuckDBPyConnection,
    recipe: Recipe,
    found: Mapping[str, Sequence[Path]],
    columns: Mapping[str, str],
    labels: Mapping[Path, str] | None = None,
) -> None:
    """Turn each declared file into a table of the staging database: a view of the file, or the output of its reader.

    ``columns`` maps a column name to the file's own (``head=subject``). ``labels`` are the names of the files for a
    recipe with ``source_file``.
    """
    for spec in recipe.files:
        create_view(con, spec, found[spec.name], columns, labels if recipe.source_file else None)


def create_view(
    con: duckdb.DuckDBPyConnection,
    spec: FileSpec,
    paths: Sequence[Path],
    columns: Mapping[str, str],
    labels: Mapping[Path, str] | None = None,
) -> None:
    """Turn one declared file into a table, without rows if the file is missing."""
    if spec.converter:
        return  # the converter makes its tables
    if spec.reader and paths:
        _read(con, spec, paths)
        return
    selects = [_select(con, spec, path, columns) for path in paths] or [_empty(spec)]
    if spec.folder or spec.file:
        selects = [_with_place(spec, path, one) for path, one in zip(paths, selects, strict=False)] or selects
    if labels is not None:
        names = [literal(labels[path]) for path in paths] or ["NULL::VARCHAR"]
        selects = [
            f"SELECT *, {name} AS {quote(SOURCE_FILE)} FROM ({one})" for name, one in zip(names, selects, strict=True)
        ]
    con.execute(f"CREATE VIEW {quote(spec.name)} AS " + " UNION ALL BY NAME ".join(selects))


def _with_place(spec: FileSpec, path: Path, select: str) -> str:
    """Return the query of a file with the columns of the names of its folder and of itself; JSON has them."""
    if (spec.format or format_of(path)) == "json":
        return select
    names = {spec.folder: path.parent.name, spec.file: Path(plain_name(path)).stem}
    columns = "".join(f", {literal(text)} AS {quote(name)}" for name, text in names.items() if name)
    return f"SELECT *{columns} FROM ({select})"


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
    _check_number(path, len(present))
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
    if spec.table and kind not in (*stored.FORMATS, "json"):
        raise BadInputError(f"{path} has no tables to choose from", f"Remove the key table of files.{spec.name}")
    if kind in DELIMITERS:
        return _delimited(spec, path, kind)
    if kind == "json":
        texts = {name.casefold() for names in spec.names.items() for name in (names[0], *names[1])}
        return _json(con, path, texts | {name.casefold() for name in columns.values()})
    if kind in stored.FORMATS:
        return _stored(con, spec, path, kind)
    if kind != "parquet":
        raise UnknownNameError("format", kind, set(FORMATS.values()), f"files.{spec.name} of the recipe")
    source = f"read_parquet({literal(str(path))})"
    return source, list(_columns(con, source))


def columns_of(con: duckdb.DuckDBPyConnection, spec: FileSpec, path: Path) -> list[str]:
    """Return the columns of one file of a specification."""
    return _source(con, spec, path, {})[1]


def _check_number(path: Path, columns: int) -> None:
    if columns > MAX_COLUMNS:
        hint = f"The maximum is {MAX_COLUMNS:,}. Write one row per value"
        raise BadInputError(f"{path} has {columns:,} columns", hint)


def _stored(con: duckdb.DuckDBPyConnection, spec: FileSpec, path: Path, kind: str) -> tuple[str, list[str]]:
    """Copy a table of a file with several ones into the staging database; return it and its columns."""
    batches = stored.read(kind, path, spec.table)
    known = {name.casefold() for name in staged_tables(con)}
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
    file = f"{literal(str(path))}, maximum_object_size = {MAX_OBJECT}"
    # Before DuckDB types the columns, which takes time that grows with the square of their number.
    keys = f"SELECT unnest(json_keys(json)) AS key FROM read_json_objects({file})"
    [(number,)] = con.execute(f"SELECT count(DISTINCT key) FROM ({keys})").fetchall()
    _check_number(path, number)
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
    delimiter, quotes = signs(spec, path, kind)
    escape = spec.escape or quotes
    names = list(spec.columns) or header(
        path, delimiter, quotes, escape=spec.escape, declared=spec.names, skip=spec.skip
    )
    typed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    source = (
        f"read_csv({literal(str(path))}, auto_detect = false, header = {'false' if spec.columns else 'true'},"
        f" skip = {int(bool(separator_line(path))) + spec.skip},"
        f" delim = {literal(delimiter)}, quote = {literal(quotes)}, escape = {literal(escape)},"
        f" max_line_size = {MAX_LINE}, columns = {{{typed}}}"
        f"{', null_padding = true, parallel = false' if spec.short_rows else ''})"
    )
    return source, names


def signs(spec: FileSpec, path: Path, kind: str) -> tuple[str, str]:
    """Return the delimiter and the quotation mark of a delimited file."""
    quotes = DELIMITERS[kind].quote if spec.quote is None else spec.quote
    return spec.delimiter or separator_line(path) or DELIMITERS[kind].delimiter, quotes


def separator_line(path: Path) -> str:
    """Return the delimiter that the first line of a file names, as Excel writes it (``sep=;``); empty without one."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as handle:
            found = _SEPARATOR_LINE.match(handle.read(20))
    except (OSError, EOFError, zlib.error):  # reading it reports the reason
        return ""
    return found[1].decode() if found else ""


_SEPARATOR_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\"?sep=([,;|\t])\"?\r?\n", re.IGNORECASE)


def header(
    path: Path, delimiter: str, quotes: str, *, escape: str = "", declared: Collection[str] = (), skip: int = 0
) -> list[str]:
    """Return the names of the columns in the first line of a file, which is in UTF-8; repeated ones are numbered.

    ``skip`` lines are before it.

    Raises :class:`BadInputError` for an unreadable file, a missing header, and for repeated names that are ``declared``
    by a recipe.
    """
    names = _first_line(path, delimiter, quotes, escape, skip)
    names = [name.strip() or f"column{i}" if any(names) else "" for i, name in enumerate(names)]
    counts = Counter(name.casefold() for name in names)
    known = {name.casefold() for name in declared}
    twice = next((name for name in names if counts[name.casefold()] > 1 and name.casefold() in known), None)
    if not any(names) or twice is not None:
        problem = f"Duplicate column {twice!r}" if twice else "Missing header"
        raise BadInputError(f"{problem} in {path}, line {skip + 1}", "The first line must name the columns")
    return unique(names)


def repeated(spec: FileSpec, path: Path) -> dict[str, list[str]]:
    """Return the columns of a delimited file whose header repeats a name, by this name; see :func:`header`."""
    kind = spec.format or format_of(path)
    if kind not in DELIMITERS or spec.columns:
        return {}
    names = [name.strip() for name in _first_line(path, *signs(spec, path, kind), spec.escape, spec.skip)]
    shown = unique([name or f"column{i}" for i, name in enumerate(names)])
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    return {name: [one for one, own in zip(shown, names, strict=True) if own == name] for name in twice}


def _first_line(path: Path, delimiter: str, quotes: str, escape: str, skip: int) -> list[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as handle:
            for _ in range(skip + bool(separator_line(path))):
                next(handle, "")
            if quotes:
                sign, doubled = escape or None, not escape
                rows = csv.reader(handle, delimiter=delimiter, quotechar=quotes, escapechar=sign, doublequote=doubled)
                return next(rows, [])
            return next(csv.reader(handle, delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
    except UnicodeDecodeError:
        raise invalid_utf8(path) from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise BadInputError(damaged_gzip(path) or f"Cannot read {path}: {reason(error)}") from None
