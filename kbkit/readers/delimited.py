"""Read delimited text files with headers of their own, each as one table, with Python's :mod:`csv`.

Rows are lists of cells, because files differ in their columns; the header is the row with position 0. Blank lines are
skipped. CSV is separated by commas, or by semicolons or tabs if the first line has no comma, and quoted with ``"``; TSV
is not quoted.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa

from kbkit.errors import BadInputError, reason

SCHEMA = pa.schema([("file", pa.string()), ("position", pa.int64()), ("cells", pa.list_(pa.string()))])
"""``file`` is the path with ``/``, ``position`` counts the rows of a file from 0."""

Rows = Iterator[list[str]]
_CHUNK = 10_000
_TABS = (".tsv", ".tab", ".txt")
_UTF8 = "Convert it to UTF-8, for example with iconv"
csv.field_size_limit(10_000_000)


def read(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """Stream the rows of ``paths`` in order; raise :class:`BadInputError` with file and line."""
    return batches(paths, _rows)


def batches(paths: Sequence[Path], parse: Callable[[Path, IO[str]], Rows]) -> pa.RecordBatchReader:
    """Stream the rows that ``parse`` finds in each file; its errors get the file and the line."""
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(paths, parse))


def _batches(paths: Sequence[Path], parse: Callable[[Path, IO[str]], Rows]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        rows = enumerate(_checked(path, parse))
        while chunk := list(itertools.islice(rows, _CHUNK)):
            positions, cells = zip(*chunk, strict=True)
            yield pa.record_batch([pa.repeat(path.as_posix(), len(chunk)), positions, cells], schema=SCHEMA)


def _checked(path: Path, parse: Callable[[Path, IO[str]], Rows]) -> Rows:
    """Yield the rows that are not blank; raise for a file that is not text or has no row."""
    has_rows = False
    try:
        with _open(path) as handle:
            for cells in parse(path, handle):
                if any("\0" in cell for cell in cells):
                    raise BadInputError(f"{path} is not a text file", "Use CSV or TSV files")
                if cells and any(cells):
                    has_rows = True
                    yield cells
    except UnicodeDecodeError:
        raise BadInputError(f"Invalid UTF-8 in {path}, line {_invalid_line(path)}", _UTF8) from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    if not has_rows:
        raise BadInputError(f"{path} has no rows", "The first line must name the columns")


def _rows(path: Path, handle: IO[str]) -> Rows:
    first = handle.readline()
    handle.seek(0)
    name = path.stem if path.suffix.lower() == ".gz" else path.name
    tabs = name.lower().endswith(_TABS)
    delimiter = "\t" if tabs else next((mark for mark in ",;\t" if mark in first), ",")
    if tabs:
        return parsed(csv.reader(handle, delimiter=delimiter, quoting=csv.QUOTE_NONE), path)
    return parsed(csv.reader(handle, delimiter=delimiter, strict=True), path)


def parsed(source: csv._reader, path: Path) -> Rows:  # type: ignore[name-defined]
    """Yield the rows of a reader of :mod:`csv`; raise :class:`BadInputError` with file and line."""
    try:
        yield from source
    except csv.Error as error:
        hint = "Double the quotes inside a quoted field"
        raise BadInputError(f"Invalid CSV in {path}, line {source.line_num}: {error}", hint) from None


def _invalid_line(path: Path) -> int:
    """Return the number of the first line that is not UTF-8."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as handle:
        for number, line in enumerate(handle, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _open(path: Path) -> IO[str]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")
