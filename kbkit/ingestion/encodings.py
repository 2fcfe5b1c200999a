"""Source files in other encodings than UTF-8, or with delimiters in fields without quotes: a build reads a copy.

DuckDB reads Latin-1 and UTF-16 itself, but no Windows code page, and big-endian UTF-16 as no rows; a copy treats all
alike.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from kbkit.errors import BadInputError, reason
from kbkit.ingestion.recipe import FileSpec

_CHUNK = 1 << 20
_CONTROLS = re.compile("[\x80-\x9f]")


def decode(specs: Iterable[FileSpec], found: Mapping[str, Sequence[Path]], folder: Path) -> dict[str, list[Path]]:
    """Return the files with copies in UTF-8, below ``folder``, in place of those with another encoding and those with
    delimiters before blanks that are part of a field, which gets its quotes.

    Raises :class:`BadInputError` with file and line for bytes that are invalid in the encoding.
    """
    others = {spec.name: spec for spec in specs if spec.encoding not in ("", "utf-8") or spec.spaced}
    return {
        name: [_copy(path, others[name], folder / f"{name}-{i}-utf-8") for i, path in enumerate(paths)]
        if name in others
        else list(paths)
        for name, paths in found.items()
    }


def _copy(path: Path, spec: FileSpec, folder: Path) -> Path:
    folder.mkdir(parents=True)
    target = folder / (path.stem if path.suffix.lower() == ".gz" else path.name)
    with target.open("w", encoding="utf-8", newline="") as copy, _opened(path) as source:
        texts = _texts(path, source, spec.encoding or "utf-8")
        for text in _quoted(texts, spec.spaced) if spec.spaced else texts:
            copy.write(text)
    return target


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
