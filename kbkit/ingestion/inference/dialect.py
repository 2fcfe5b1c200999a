"""The dialect of a delimited text file: encoding, delimiter, quotes, and whether the first line names the columns."""

from __future__ import annotations

import codecs
import csv
import functools
import gzip
import io
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from kbkit.errors import BadInputError, reason
from kbkit.ingestion.encodings import FOOTER, footer, spaced_fields
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import ABSENT
from kbkit.ingestion.sources import separator_line
from kbkit.readers.columns import DATUM, YEAR, titles

_SAMPLE = 1 << 18
_CHUNK = 1 << 20
_DELIMITERS = ",;\t|"
TRIPLE = ("head", "relation", "tail")
"""Column names of a file of triples without a header: three columns, the second with the fewest distinct values."""
KEYED_TEXT = ("key", "text")
"""Column names of a file of texts without a header, each after the key of its node."""
ANNOTATION = (
    "DB", "DB_Object_ID", "DB_Object_Symbol", "Qualifier", "GO_ID", "Reference", "Evidence_Code", "With_From", "Aspect",
    "DB_Object_Name", "DB_Object_Synonym", "DB_Object_Type", "Taxon", "Date", "Assigned_By", "Annotation_Extension",
    "Gene_Product_Form_ID",
)  # fmt: skip
"""Column names of gene annotations (GAF), which have no header. Source: GO Annotation File Format 2.2."""
_ANNOTATIONS = re.compile(r"!gaf-version:[^\n]*\n(![^\n]*\n)*")
_LINES = 200
_PAIR = 2
_DIGIT = re.compile(r"\d")
_WORDS = 8
"""Words from which a text is no name of a column."""


@dataclass(frozen=True)
class Dialect:
    """How to read a file. ``columns`` are names for a file without a header line, ``escape`` is the sign before quotes
    in quoted fields, unless they are doubled, and ``skip`` is the number of lines before the header. ``spaced`` is the
    delimiter if it is part of a field where a blank follows it. With ``short_rows``, rows may lack their last fields;
    with ``footer``, lines of one field below the rows are left out.
    """

    encoding: str
    delimiter: str
    quote: str
    columns: tuple[str, ...] = ()
    escape: str = ""
    skip: int = 0
    spaced: str = ""
    short_rows: bool = False
    footer: bool = False


def detect(path: Path, *, no_header: bool = False) -> Dialect:
    """Return the dialect of a delimited file, gzipped or not; with ``no_header``, its first line is data.

    Raises :class:`BadInputError` for an unreadable file.
    """
    try:
        with _open(path) as handle:
            start = handle.read(_SAMPLE)
            encoding = _encoding(start, handle)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    decoded = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)(errors="replace")
    text = decoded.decode(start)
    if annotations := _ANNOTATIONS.match(text):
        width = text[annotations.end() :].partition("\n")[0].count("\t") + 1
        return Dialect(encoding, "\t", "", ANNOTATION[:width], skip=annotations[0].count("\n"))
    if "\0" in text:
        raise BadInputError(f"{path} is not a text file", "Use CSV or TSV files")
    sign = separator_line(path)
    text = text.partition("\n")[2] if sign else text
    if len(start) == _SAMPLE:  # without the last, incomplete line
        text = text[: text.rfind("\n") + 1] or text
    comments = 0 if no_header else _comments(text)
    text = "".join(text.splitlines(keepends=True)[comments:]) if comments else text
    delimiter = sign or _delimiter(text)
    quote = '"' if delimiter != "\t" or _is_quoted(text) or _is_quoted_later(path, encoding, text) else ""
    escape = "\\" if quote and _is_escaped(text, delimiter, quote) else ""
    rows = _rows(text, delimiter, quote, escape)
    titled = 0 if no_header else _titles(rows)
    skip = comments + titled
    spaced = delimiter if quote and not skip and _is_spaced(text, delimiter, rows) else ""
    end = "" if escape else _footer(path, encoding, delimiter, quote)
    whole = rows[titled:]
    if end and len(start) < _SAMPLE and whole:
        width = len(whole[0])
        while whole and len(whole[-1]) < min(width, _PAIR):
            whole.pop()
    short = not spaced and _are_short(whole)
    columns = _columns(whole, no_header=no_header)
    return Dialect(encoding, delimiter, quote, columns, escape, skip, spaced, short, bool(end))


def _footer(path: Path, encoding: str, delimiter: str, quote: str) -> str:
    """Return the lines of one field at the end of a file whose rows have at least three, such as notes and sources;
    empty without one. A single word or number may be a row that was cut off.
    """
    if path.suffix.lower() == ".gz" or encoding == "utf-16":
        return ""
    with path.open("rb") as handle:
        handle.seek(max(0, path.stat().st_size - FOOTER))
        text = handle.read().decode(encoding, errors="replace")
    size = footer(text, delimiter, quote)
    end, before = text[len(text) - size :], text[: len(text) - size].rstrip("\r\n").rpartition("\n")[2]
    rows = _rows(before, delimiter, quote)
    is_row = bool(rows) and len(rows[-1]) > _PAIR and sum(map(bool, rows[-1])) >= _PAIR
    said = any(" " in line or not re.search(r"\w", line.replace("_", "")) for line in end.split("\n") if line.strip())
    return end if is_row and said and end.count("\n") <= _MOST_NOTES else ""


_MOST_NOTES = 40
"""Lines below the rows of a table."""


def _are_short(rows: list[list[str]]) -> bool:
    """Return whether several rows have fewer fields than the header, none more, and the missing ones are the last:
    in columns of numbers and dates, short rows have these, too.
    """
    filled = [row for row in rows if row]
    header, below = (filled[0], filled[1:]) if filled else ([], [])
    width = len(header)
    short = [row for row in below if len(row) < width]
    if len(short) < max(_PAIR, len(below) * _SHORT) or any(len(row) > width or len(row) < _PAIR for row in below):
        return False
    for place in range(width):
        whole = [row[place] for row in below if place < len(row) == width]
        typed = sum(DATUM.fullmatch(value.strip()) is not None for value in whole)
        own = [row[place] for row in short if place < len(row)]
        if whole and typed == len(whole) and not all(DATUM.fullmatch(value.strip()) for value in own):
            return False
    return True


_SHORT = 0.1
"""Fraction of the rows that lack fields if it is no mistake."""


def _comments(text: str) -> int:
    """Return the number of lines that start with ``#`` before the first row of several fields, without the last one if
    it names the columns: it has as many fields then.
    """
    lines = text.splitlines()
    count = next((place for place, line in enumerate(lines) if not line.startswith("#")), 0)
    if not count:
        return 0
    delimiter = _delimiter("\n".join(lines[count:]))
    widths = [line.count(delimiter) for line in lines[: count + 1]]
    if (
        not widths[-1]
        or any(line.startswith("#") for line in lines[count:])
        or 1 < count == widths[:-1].count(widths[-1])
    ):
        return 0
    return count - (widths[-2] == widths[-1])


def _is_spaced(text: str, delimiter: str, rows: list[list[str]]) -> bool:
    """Return whether some rows have too many fields, and none has if a delimiter before a blank is part of a field."""
    width = len(rows[0]) if rows else 0
    if not any(len(row) > width for row in rows):
        return False
    lines = [line for line in text.splitlines()[: len(rows)] if '"' not in line]
    return all(len(spaced_fields(line, delimiter)) == width for line in lines)


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _encoding(start: bytes, rest: IO[bytes]) -> str:
    """Return ``utf-16`` for its mark, ``utf-8`` if the whole file is valid, otherwise an encoding of Western Europe."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    decoder = codecs.getincrementaldecoder("utf-8")()
    chunk, controls = start, False
    try:
        while chunk:
            decoder.decode(chunk)
            chunk = rest.read(_CHUNK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        while chunk and not controls:
            controls = bool(re.search(rb"[\x80-\x9f]", chunk))
            chunk = rest.read(_CHUNK)
        return "windows-1252" if controls else "latin-1"
    return "utf-8"


def _delimiter(text: str) -> str:
    """Return the delimiter that splits the most rows into the same number of fields, and into the most fields."""
    best, score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in _rows(text, delimiter, '"')[:200] if row)
        if widths:
            (width, count), total = widths.most_common(1)[0], widths.total()
            found = (round(count / total, 1), width)
            if width > 1 and found > score:
                best, score = delimiter, found
    return " " if score == (0.0, 0) and _has_fields_between_blanks(text) else best


def _has_fields_between_blanks(text: str) -> bool:
    """Return whether lines are fields with one blank between them, such as edges: each has as many, some with digits.

    Names of persons have several words, too, but no digits. Of two fields, both have digits: ``Room 12`` is one.
    """
    first, *others = [line.split(" ") for line in text.splitlines()[:_LINES] if line.strip()] or [[]]
    if len(first) < _PAIR or len(others) < _PAIR or len(set(first)) < len(first) or "" in first:
        return False
    alike = all(len(fields) == len(first) and "" not in fields for fields in others)
    enough = all if len(first) == _PAIR else any
    return alike and enough(all(_DIGIT.search(field) for field in column) for column in zip(*others, strict=True))


def _is_quoted(text: str) -> bool:
    """Return whether fields of a file with tabs are in quotes: every row has as many fields then."""
    quoted, plain = (_rows(text, "\t", quote) for quote in ('"', ""))
    whole = (field for row in plain for field in row if len(field) > 1 and field[0] == field[-1] == '"')
    return len({len(row) for row in quoted}) == 1 and (len({len(row) for row in plain}) > 1 or next(whole, "") != "")


def _is_quoted_later(path: Path, encoding: str, text: str) -> bool:
    """Return whether fields of a file with tabs whose first rows (``text``) have no quotes are in quotes in later ones:
    every row has as many fields then, and a field has a delimiter, a line break or a doubled quote in it.
    """
    with _open(path) as handle:
        if not any(b'"' in chunk for chunk in iter(functools.partial(handle.read, _CHUNK), b"")):
            return False
    import duckdb

    known = {"utf-8": "utf-8", "utf-16": "utf-16"}.get(encoding, "latin-1")
    columns = {f"c{at}": "VARCHAR" for at in range(text.partition("\n")[0].count("\t") + 1)}
    kinds = ", ".join(f"{name}: '{kind}'" for name, kind in columns.items())

    def rows(quote: str) -> str:
        return (
            f"read_csv($path, delim = '\t', quote = '{quote}', escape = '{quote}', header = false, auto_detect = false,"
            f" encoding = '{known}', columns = {{{kinds}}})"
        )

    with duckdb.connect() as con:
        try:
            con.execute(f"SELECT count(*) FROM {rows(chr(34))}", {"path": str(path)}).fetchall()
        except duckdb.Error:  # a row has another number of fields, or quotes have no end
            return False
        doubled = " OR ".join(f"bool_or(regexp_full_match({name}, '{_DOUBLED}'))" for name in columns)
        try:
            found = con.execute(f"SELECT {doubled} FROM {rows('')}", {"path": str(path)}).fetchall()
        except duckdb.Error:
            return True
    return found == [(True,)]


_DOUBLED = '"([^"]|"")*""([^"]|"")*"'


def _is_escaped(text: str, delimiter: str, quote: str) -> bool:
    """Return whether quotes in fields follow a backslash: one that ended its field would precede a delimiter."""
    inside = rf"\\{quote}(?!{quote}?\s*(?:{re.escape(delimiter)}|[\r\n]|$))"
    return bool(re.search(inside, text)) and len({len(row) for row in _rows(text, delimiter, quote, "\\")}) == 1


def _rows(text: str, delimiter: str, quote: str, escape: str = "") -> list[list[str]]:
    quoting: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    quoting |= {"escapechar": escape, "doublequote": False} if escape else {}
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, **quoting):
            rows.append(row)
            if len(rows) > 1000:
                break
    except csv.Error:  # a field beyond the limit: what was read before is enough
        pass
    return rows


def _titles(rows: list[list[str]]) -> int:
    """Return the number of lines before the header; none if one of them is in quotes over several lines."""
    count = titles(rows)
    return 0 if any("\n" in field for row in rows[:count] for field in row) else count


def _columns(rows: list[list[str]], *, no_header: bool) -> tuple[str, ...]:
    """Return names for the columns if the first line is data: it has a number or a date, repeats in its column, or has
    codes like the others.
    """
    first, *others = [row for row in rows if row] or [[]]
    blank = len(first) == 1 or not any(field.strip() for field in first)
    again = _repeated(first, others)
    is_data = again or any((text := field.strip()) and (DATUM.fullmatch(text) or _is_sentence(text)) for field in first)
    is_data = is_data or _is_like_others(first, others)
    if not no_header and (blank or not is_data or _is_year_header(first)):
        return ()
    if len(first) == 3 and 1 in again:
        heads, relations, tails = (len({row[place] for row in others if len(row) == 3}) for place in range(3))
        if relations < min(heads, tails):
            return TRIPLE
    if len(first) == 2 and sum(_is_sentence(row[1]) for row in others if len(row) == 2) > len(others) / 2:
        return KEYED_TEXT
    return tuple(f"column{number}" for number in range(1, len(first) + 1))


def _is_sentence(text: str) -> bool:
    return text.count(" ") >= _WORDS - 1


def _is_like_others(first: list[str], others: list[list[str]]) -> bool:
    """Return whether a row of texts has codes of the same lengths as those below them, and no name of a column.

    Codes alone may be names in capitals: a field also has a comma, starts like others below, or is a code with digits.
    """
    rows = [row for row in others if len(row) == len(first)]
    if len(rows) < _FEWEST_ROWS or any(map(_is_name, first)):
        return False
    coded = said = False
    for field, below in zip(first, zip(*rows, strict=True), strict=True):
        values = [value for value in below if value.strip() and value not in ABSENT]
        codes = [value for value in values if _CODE.fullmatch(value)]
        if field.strip() in ("", *ABSENT) or len({*values}) < _FEWEST_ROWS:
            continue
        if len(codes) >= _NEARLY * len(values):
            if not _CODE.fullmatch(field) or len(field) not in {*map(len, codes)} or len({*map(len, codes)}) > _PAIR:
                return False
            coded, said = True, said or _DIGIT.search(field) is not None
        elif sum(DATUM.fullmatch(value) is not None for value in values) > len(values) / 2:
            return False
        else:
            start = field.split()[0] + " "
            said = said or ", " in field or sum(value.startswith(start) for value in values) >= _PAIR
    return coded and said


def _is_name(field: str) -> bool:
    """Return whether a text is a usual name of a column."""
    return names.is_id(field) or names.is_generic(field) or names.words(field)[-1:] in _NAMES


_NAMES = tuple((name,) for name in names.NAMES)
_CODE = re.compile(r"[A-Z0-9]{2,5}")
_FEWEST_ROWS, _NEARLY = 8, 0.95
"""Different values below the first one from which they show what the column holds, and the fraction that are codes."""


def _repeated(first: list[str], others: list[list[str]]) -> list[int]:
    """Return the columns in which the text of the first row is that of at least two others.

    A header can be repeated, too, but then in all columns.
    """
    rows = [row for row in others if len(row) == len(first) and row != first]
    counts = [sum(row[place] == field for row in rows) if field.strip() else 0 for place, field in enumerate(first)]
    return [place for place, count in enumerate(counts) if count >= 2]


def _is_year_header(first: list[str]) -> bool:
    """Return whether a header has years as names, as in tables of time series."""
    data = [field.strip() for field in first if DATUM.fullmatch(field.strip()) and field.strip()]
    return len(data) > 2 and len(data) < len(first) and all(YEAR.fullmatch(field) for field in data)
