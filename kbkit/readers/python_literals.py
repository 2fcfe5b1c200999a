"""Read files with one Python literal per line, gzipped or not, as batches of JSON.

Some old data sets are printed dicts, meant to be read with ``eval``. This reader accepts literals only, with
:func:`ast.literal_eval`, and limits the length of lines to protect the parser.
"""

from __future__ import annotations

import ast
import gzip
import itertools
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa

from kbkit.errors import BadInputError, reason

SCHEMA = pa.schema([("file", pa.int32()), ("line", pa.int64()), ("json", pa.string())])
"""``file`` numbers the files from 0, ``line`` the lines of each from 1; blank lines are skipped."""

MAX_LINE = 1_000_000
"""Maximum bytes of a line; the longest in published data have about ten thousand."""

_CHUNK = 10_000


def read(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """Stream the literals of ``paths`` in order; raise :class:`BadInputError` with file and line."""
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(paths))


def _batches(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    for number, path in enumerate(paths):
        rows = _rows(path)
        while chunk := list(itertools.islice(rows, _CHUNK)):
            lines, texts = zip(*chunk, strict=True)
            yield pa.record_batch([pa.repeat(pa.scalar(number, pa.int32()), len(chunk)), lines, texts], schema=SCHEMA)


def _rows(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, JSON) of the lines that are not blank."""
    with _open(path) as handle:
        for number in itertools.count(1):
            try:
                line = handle.readline(MAX_LINE + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise BadInputError(
                    f"Cannot read {path}: {reason(error)}", "The download may be incomplete: fetch it again"
                ) from None
            if not line:
                return
            if len(line) > MAX_LINE:
                raise BadInputError(f"Line too long in {path}, line {number}", f"The maximum is {MAX_LINE:,} bytes")
            if line.strip():
                yield number, _json(line, f"{path}, line {number}")


def _json(line: bytes, where: str) -> str:
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise BadInputError(f"Invalid UTF-8 in {where}", "Convert it to UTF-8, for example with iconv") from None
    try:
        encoded = json.dumps(ast.literal_eval(text), ensure_ascii=False, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two if nested too deeply
        raise BadInputError(
            f"Invalid Python literal in {where}",
            "Use strings, numbers, lists and dicts, such as {'key': ['value', 1.5, None]}",
        ) from None
    if encoded.isascii():
        return encoded
    # Literals may have surrogates, which UTF-8 cannot encode: join pairs, replace unpaired ones.
    return encoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
