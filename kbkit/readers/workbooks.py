"""Read the sheets of Excel workbooks (``.xlsx``) as Arrow tables, with openpyxl.

The files are untrusted: what they decompress to and the number of cells have limits. Formulas have the values that
Excel stored, and errors such as ``#N/A`` are missing values. openpyxl parses rows as a stream; faster readers allocate
the whole rectangle that a sheet claims, which ends the process for a sheet of two distant cells.
"""

from __future__ import annotations

import datetime
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kbkit.errors import BadInputError, KbError, MissingExtraError
from kbkit.readers.columns import array, joined, kind_of, titles, unique
from kbkit.readers.databases import chosen

_MAX_BYTES = 2 << 30
_MAX_RATIO = 100
"""Maximum compression of a large part, as in Apache POI: more is no data, and its elements would not fit in memory."""
_LARGE = 100_000_000
"""Bytes from which a part is large."""
_MAX_ROWS = 1_048_576
_MAX_CELLS = 100_000_000
_MAX_TAGS = 2_000_000
"""Maximum number of tags from the end of a row to the end of the next one: openpyxl holds them in memory."""
_MAX_STRING_TAGS = 20_000_000
"""Maximum number of tags of the texts that cells share."""
_MAX_PART, _MAX_PART_TAGS = 16_000_000, 500_000
"""Maximum bytes and tags of a part that is read at once, such as the formats of cells: Excel allows 65,490 of them."""
_ROWS = 10_000
_SAMPLE = 1_000
_EMPTY = "it is empty"
_HIDDEN = "it is hidden"
_WORDS = 8
"""Maximum words in the name of a column."""
_NOTES = re.compile(r"(read ?_?me|notes?|info(rmation)?|about|cover|legend|instructions?)", re.IGNORECASE)
"""Titles of sheets that are no tables if they have one column."""
_SENTENCE = re.compile(r"[a-z)\"'][.!?:]\s*$")
_ERRORS = frozenset({"#N/A", "#DIV/0!", "#REF!", "#NAME?", "#NULL!", "#NUM!", "#VALUE!"})
_REMEDY = "Save it again as .xlsx, or each sheet as CSV"


class SheetLook(NamedTuple):
    """What the first rows of a sheet show: why it is not a table (empty: it may be one), and whether it has notes."""

    problem: str
    has_notes: bool = False


def sheets(path: Path) -> dict[str, SheetLook]:
    """Return the looks of the sheets by their names, in order.

    Raises :class:`BadInputError` for an unreadable workbook.
    """
    with _Workbook(path) as book:
        return {sheet.title: _look(sheet, f"{path}, sheet {sheet.title!r}") for sheet in book.worksheets}


def tables(path: Path) -> list[str]:
    """Return the names of the sheets that may be tables, in order; if none is, those with cells, or all.

    Raises the errors of :func:`sheets`.
    """
    problems = {name: look.problem for name, look in sheets(path).items()}
    for left_out in (set(problems.values()) - {""}, {_EMPTY}):
        if names := [name for name, problem in problems.items() if problem not in left_out]:
            return names
    return list(problems)


def read(path: Path, table: str = "") -> pa.RecordBatchReader:
    """Return a sheet, by default the only one with cells; its first row below titles names the columns.

    A column has the type of its values (integers, numbers, booleans, dates, times), or is text if they have several.
    """
    with _Workbook(path) as book:
        listed = {sheet.title: sheet for sheet in book.worksheets}
        if not table and len(listed) > 1:  # Excel once gave every workbook two empty sheets more
            listed = {name: sheet for name, sheet in listed.items() if next(_rows(sheet, str(path)), None)} or listed
        name = chosen(list(listed), table, "sheet", path)
        content = _table(listed[name], f"{path}, sheet {name!r}")
    return pa.RecordBatchReader.from_batches(content.schema, content.to_batches())


class _Workbook:
    """An open workbook; errors of openpyxl in its block, which are of any kind, become :class:`BadInputError`."""

    def __init__(self, path: Path) -> None:
        self._path, self._warnings = path, warnings.catch_warnings()

    def __enter__(self) -> Any:
        try:
            import openpyxl  # noqa: F401
        except ImportError:
            raise MissingExtraError("Reading Excel workbooks", "excel") from None
        try:
            with zipfile.ZipFile(self._path) as archive:
                parts = archive.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError):
            raise BadInputError(f"{self._path} is not an Excel workbook (.xlsx)", _REMEDY) from None
        size = sum(part.file_size for part in parts)
        if size > _MAX_BYTES:
            raise BadInputError(f"{self._path} is too large: {size:,} bytes", f"The maximum is {_MAX_BYTES:,}")
        for part in parts:
            if part.file_size > max(_LARGE, _MAX_RATIO * part.compress_size):
                what = f"{part.filename!r} decompresses to {part.file_size:,} bytes"
                limit = f"The maximum is {_MAX_RATIO} times its size, {part.compress_size:,}"
                raise BadInputError(f"{self._path} is too large: {what}", limit)
        self._warnings.__enter__()
        warnings.simplefilter("ignore")  # of features of Excel that openpyxl leaves out
        try:
            self._book = _opened(self._path)
        except Exception as error:  # noqa: BLE001
            self._warnings.__exit__(None, None, None)
            raise error if isinstance(error, KbError) else self._unreadable(error) from None
        return self._book

    def __exit__(self, kind: Any, error: BaseException | None, *_: Any) -> None:
        self._book.close()
        self._warnings.__exit__(None, None, None)
        if isinstance(error, Exception) and not isinstance(error, KbError):
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> BadInputError:
        detail = " ".join(str(error).split())[:200] or type(error).__name__
        return BadInputError(f"Cannot read {self._path}: {detail}", _REMEDY)


def _opened(path: Path) -> Any:
    """Open a workbook without the size of its sheets: openpyxl reads the whole of a sheet that does not tell it."""
    from openpyxl.reader.excel import SHARED_STRINGS, ExcelReader, read_string_table
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

    class Archive(zipfile.ZipFile):
        def read(self, name: Any, pwd: bytes | None = None) -> bytes:
            size = self.getinfo(name).file_size
            if size > _MAX_PART:
                what = f"{name!r} has {size:,} bytes"
                raise BadInputError(f"{path} is too large: {what}", f"The maximum is {_MAX_PART:,}")
            data = super().read(name, pwd)
            if data.count(b"<") > _MAX_PART_TAGS:
                raise BadInputError(f"{path}, {name!r}: too many XML tags", f"The maximum is {_MAX_PART_TAGS:,}")
            return data

    class UnsizedSheet(ReadOnlyWorksheet):  # type: ignore[misc]
        def _get_size(self) -> None:
            pass

    class UnsizedReader(ExcelReader):  # type: ignore[misc]
        def read_strings(self) -> None:
            part = self.package.find(SHARED_STRINGS)
            if part is not None:
                with self.archive.open(part.PartName[1:]) as stream:
                    self.shared_strings = read_string_table(_TagCounter(stream, f"{path}, texts", _MAX_STRING_TAGS))

        def read_worksheets(self) -> None:
            for sheet, part in self.parser.find_sheets():
                if part.target in self.valid_files and "chartsheet" not in part.Type:
                    table = UnsizedSheet(self.wb, sheet.name, part.target, self.shared_strings)
                    table.sheet_state = sheet.state
                    self.wb._sheets.append(table)

    reader = UnsizedReader(path, read_only=True, data_only=True, keep_links=False)
    reader.archive.close()
    reader.archive = Archive(path)
    reader.read()
    return reader.wb


def _look(sheet: Any, where: str) -> SheetLook:
    """Return the look of a sheet. A single value outside of the columns does not count: reading reports it."""
    if sheet.sheet_state != "visible":
        return SheetLook(_HIDDEN)
    rows = [row for _, row in itertools.islice(_rows(sheet, where), _SAMPLE)]
    if not rows:
        return SheetLook(_EMPTY)
    rows = rows[titles(rows) :]
    first, rest = rows[0], rows[1:]
    names = [value for value in first if value is not None]
    wide = sum(_is_beyond(row, len(first)) for row in rest)
    if wide * 3 > len(rest) or (wide and len(names) == 1):
        return SheetLook("its first row does not name its columns")
    sentences = sum(bool(_SENTENCE.search(str(row[-1]))) for row in rest)
    notes = bool(_NOTES.fullmatch(sheet.title.strip()))
    if len(first) == 1 and (notes or _is_prose(str(first[0])) or sentences * 2 > len(rest)):
        return SheetLook("it is free text")
    return SheetLook("", any(len(row) > len(first) and not _is_beyond(row, len(first)) for row in rest))


def _is_prose(name: str) -> bool:
    """Return whether text is too long for the name of a column, or a sentence."""
    return len(name.split()) > _WORDS or bool(_SENTENCE.search(name))


def _table(sheet: Any, where: str) -> pa.Table:
    rows = _rows(sheet, where)
    first = list(itertools.islice(rows, _SAMPLE))
    rows = itertools.chain(first[titles([row for _, row in first]) :], rows)
    names = _header(next(rows, (1, ()))[1], where)
    chunks: list[list[pa.Array]] = [[] for _ in names]
    size = 0
    while batch := list(itertools.islice(rows, _ROWS)):
        for number, row in batch:
            if _is_beyond(row, len(names)):
                raise BadInputError(f"Value without a column name in {where}, row {number}", "Name it in the first row")
        for position, chunk in enumerate(chunks):
            values = [row[position] if position < len(row) else None for _, row in batch]
            chunk.append(array(values, kind_of(values)))
            size += chunk[-1].nbytes
        if size > _MAX_BYTES:
            raise BadInputError(f"{where} is too large: {size:,} bytes", f"The maximum is {_MAX_BYTES:,}")
    columns = [_dates(joined(chunk)) if chunk else pa.chunked_array([], pa.string()) for chunk in chunks]
    return pa.table(columns, names=names)


def _is_beyond(row: Sequence[Any], width: int) -> bool:
    """Return whether a row has a value right of the columns; behind an empty column it is a note beside the table."""
    return len(row) > width and row[width] is not None


def _rows(sheet: Any, where: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield number and values of each row that is not empty, without empty cells at the end."""
    from openpyxl.worksheet._reader import WorkSheetParser

    class RowParser(WorkSheetParser):  # type: ignore[misc]
        def parse_row(self, row: Any) -> Any:
            source.tags = 0
            return super().parse_row(row)

    cells = last = 0
    with sheet._get_source() as opened:
        book, source = sheet.parent, _TagCounter(opened, f"{where}, a row", _MAX_TAGS)
        kinds = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
        parser = RowParser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **kinds)
        for number, row in parser.parse():
            if number <= last:  # openpyxl's own loop passes over it
                raise BadInputError(f"Row {number} after row {last} in {where}", _REMEDY)
            width = max((cell["column"] for cell in row), default=0)
            cells += width
            if number > _MAX_ROWS or cells > _MAX_CELLS:
                limit = f"The maximum is {_MAX_ROWS:,} rows and {_MAX_CELLS:,} cells"
                raise BadInputError(f"{where} is too large", limit)
            values: list[Any] = [None] * width
            for cell in row:
                values[cell["column"] - 1] = _value(cell["value"])
            while values and values[-1] is None:
                values.pop()
            if values:
                yield number, tuple(values)
            last = number


class _TagCounter:
    """A stream of XML that counts its tags and ends at too many of them."""

    def __init__(self, stream: IO[bytes], where: str, most: int) -> None:
        self._stream, self._where, self._most, self.tags = stream, where, most, 0

    def read(self, size: int) -> bytes:
        """Read bytes. Raises :class:`BadInputError`."""
        data = self._stream.read(size)
        self.tags += data.count(b"<")
        if self.tags > self._most:
            raise BadInputError(f"{self._where}: too many XML tags", f"The maximum is {self._most:,}")
        return data


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return None if not value or value in _ERRORS else value
    return str(value) if isinstance(value, datetime.timedelta) else value


def _header(row: tuple[Any, ...], where: str) -> list[str]:
    names = [" ".join(str(value).split()) if value is not None else f"column{i}" for i, value in enumerate(row)]
    if not names:
        raise BadInputError(f"No rows in {where}", "The first row must name the columns")
    return unique(names)


def _dates(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates for times that are all midnight: Excel has one type for both."""
    if not pa.types.is_timestamp(column.type):
        return column
    days = column.cast(pa.date32(), safe=False)
    return days if pc.all(pc.equal(days.cast(column.type), column)).as_py() else column
