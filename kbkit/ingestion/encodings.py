"""Source files in other encodings than UTF-8: a build reads a copy of them in UTF-8.

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
    """Return the files with copies in UTF-8, below ``folder``, in place of those with another encoding.

    Raises :class:`BadInputError` with file and line for bytes that are invalid in the encoding.
    """
    encodings = {spec.name: spec.encoding for spec in specs if spec.encoding not in ("", "utf-8")}
    return {
        name: [_copy(path, encodings[name], folder / f"{name}-{i}-utf-8") for i, path in enumerate(paths)]
        if name in encodings
        else list(paths)
        for name, paths in found.items()
    }


def _copy(path: Path, encoding: str, folder: Path) -> Path:
    folder.mkdir(parents=True)
    target = folder / (path.stem if path.suffix.lower() == ".gz" else path.name)
    with target.open("w", encoding="utf-8", newline="") as copy, _opened(path) as source:
        for text in _texts(path, source, encoding):
            copy.write(text)
    return target


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
