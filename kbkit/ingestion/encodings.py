"""Source files in other encodings than UTF-8, with delimiters in fields without quotes, or with line ends of two kinds:
a build reads a copy.

DuckDB reads Latin-1 and UTF-16 itself, but no Windows code page, and big-endian UTF-16 as no rows; a copy treats all
alike.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from kbkit.errors import BadInputError, reason
from kbkit.ingestion.recipe import FileSpec
from kbkit.ingestion.source_files import format_of
from kbkit.ingestion.sources import DELIMITERS, signs

_CHUNK = 1 << 20
FOOTER = 1 << 14
"""Bytes at the end of a file in which lines below the rows are looked for."""
_CONTROLS = re.compile("[\x80-\x9f]")


def decode(specs: Iterable[FileSpec], found: Mapping[str, Sequence[Path]], folder: Path) -> dict[str, list[Path]]:
    """Return the files with copies in UTF-8, below ``folder``, in place of those with another encoding, those with
    delimiters before blanks that are part of a field, which gets its quotes, and those in which some lines end as on
    Windows and others do not.

    Raises :class:`BadInputError` with file and line for bytes that are invalid in the encoding.
    """
    by_name = {spec.name: spec for spec in specs}
    return {
        name: [_copy_if_other(path, by_name[name], folder / f"{name}-{i}-utf-8") for i, path in enumerate(paths)]
        if name in by_name
        else list(paths)
        for name, paths in found.items()
    }


def _copy_if_other(path: Path, spec: FileSpec, folder: Path) -> Path:
    kind = "" if spec.reader or spec.converter else spec.format or format_of(path)
    mixed = kind in DELIMITERS and _has_mixed_ends(path)
    if spec.encoding in ("", "utf-8") and not spec.spaced and not mixed and not spec.footer:
        return path
    folder.mkdir(parents=True)
    target = folder / (path.stem if path.suffix.lower() == ".gz" else path.name)
    with target.open("w", encoding="utf-8", newline="") as copy, _opened(path) as source:
        texts: Iterable[str] = _texts(path, source, spec.encoding or "utf-8")
        if mixed:
            texts = _with_plain_ends(texts, *signs(spec, path, kind), spec.escape)
        for text in _quoted(texts, spec.spaced) if spec.spaced else texts:
            copy.write(text)
    if spec.footer:
        _cut_footer(target, *signs(spec, path, kind))
    return target


def footer(text: str, delimiter: str, quote: str) -> int:
    """Return the number of characters in the lines of one field at the end of a text, such as notes below a table;
    blank lines between them and the last row are theirs.
    """
    lines = text.splitlines(keepends=True)
    count = 0
    for line in reversed(lines):
        bare = line.strip()
        quoted = bool(quote) and len(bare) > 1 and bare[0] == bare[-1] == quote
        if bare and not quoted and delimiter in bare:
            break
        if bare and quoted and len(next(csv.reader([bare], delimiter=delimiter, quotechar=quote))) > 1:
            break
        count += len(line)
    return count


def _cut_footer(path: Path, delimiter: str, quote: str) -> None:
    """Cut off the lines of one field at the end of a file in UTF-8, which is a copy."""
    size = path.stat().st_size
    with path.open("r+b") as handle:
        handle.seek(max(0, size - FOOTER))
        tail = handle.read()
        text = tail.decode(errors="replace")
        kept = text[: len(text) - footer(text, delimiter, quote)]
        handle.truncate(size - len(text.removeprefix(kept).encode()))


def _has_mixed_ends(path: Path) -> bool:
    """Return whether some lines of a file end as on Windows and others do not, those in quoted fields included."""
    windows = every = 0
    last = b""
    try:
        with _opened(path) as source:
            while chunk := source.read(_CHUNK):
                windows += chunk.count(b"\r\n") + (last == b"\r" and chunk.startswith(b"\n"))
                every += chunk.count(b"\n")
                last = chunk[-1:]
    except (BadInputError, OSError, EOFError, zlib.error):  # which reading it reports
        return False
    return 0 < windows < every


def _with_plain_ends(texts: Iterable[str], delimiter: str, quote: str, escape: str) -> Iterator[str]:
    """Yield lines that end with a line feed alone; those in quoted fields stay as they are."""
    sign, escaped = re.escape(quote), re.escape(escape) + "." if escape else re.escape(quote) * 2
    start = re.compile(rf"(?:^|{re.escape(delimiter)}) *{sign}")
    end = re.compile(rf"(?:{escaped}|[^{sign}{re.escape(escape)}])*+{sign}")
    rest, inside = "", False
    for text in texts:
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            if quote and (inside or quote in line):
                inside = _is_inside(line, start, end, inside=inside)
            yield (line if inside else line.removesuffix("\r")) + "\n"
    yield rest


def _is_inside(line: str, start: re.Pattern[str], end: re.Pattern[str], *, inside: bool) -> bool:
    """Return whether a line ends in a quoted field."""
    place = 0
    while True:
        found = end.match(line, place) if inside else start.search(line, place)
        if found is None:
            return inside
        inside, place = not inside, found.end()


def spaced_fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line in which a delimiter before a blank is part of a field."""
    return re.split(rf"{re.escape(delimiter)}(?! )", line)


def _quoted(texts: Iterable[str], delimiter: str) -> Iterator[str]:
    """Yield texts, whose lines have quotes around fields with a delimiter before a blank; lines with quotes stay."""
    rest = ""
    for text in texts:
        *lines, rest = (rest + text).split("\n")
        yield from (f"{_quoted_line(line, delimiter)}\n" for line in lines)
    yield _quoted_line(rest, delimiter)


def _quoted_line(line: str, delimiter: str) -> str:
    if f"{delimiter} " not in line or '"' in line:
        return line
    bare = line.rstrip("\r")  # which ends the line, and stays
    fields = (f'"{one}"' if delimiter in one else one for one in spaced_fields(bare, delimiter))
    return delimiter.join(fields) + line[len(bare) :]


def _texts(path: Path, source: IO[bytes], encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    line, ended = 1, False
    while not ended:
        try:
            chunk = source.read(_CHUNK)
        except (OSError, EOFError, zlib.error) as error:
            raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
        ended = not chunk
        try:
            text = decoder.decode(chunk, final=ended)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise BadInputError(f"Invalid {encoding} in {path}, line {line}", "Choose another encoding") from None
        if encoding == "latin-1" and (control := _CONTROLS.search(text)):
            line += text.count("\n", 0, control.start())
            raise BadInputError(f"Control character in {path}, line {line}", "Try the encoding windows-1252")
        line += text.count("\n")
        yield text


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as handle:
            yield handle  # type: ignore[misc]
    except OSError as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
