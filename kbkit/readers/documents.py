"""Read whole text files, one row a file; SQL takes them apart (JSON with one document per file)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from kbkit.errors import BadInputError, reason

SCHEMA = pa.schema([("file", pa.string()), ("text", pa.string())])
"""``file`` is the path with ``/``."""

_BATCH_BYTES = 16_000_000


def read(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """Stream the texts of ``paths`` in order; raise :class:`BadInputError` with file and line."""
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(paths))


def _batches(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    names: list[str] = []
    texts: list[str] = []
    size = 0
    for number, path in enumerate(paths, 1):
        names.append(path.as_posix())
        texts.append(_text(path))
        size += len(texts[-1])
        if size > _BATCH_BYTES or number == len(paths):
            yield pa.record_batch([pa.array(names, pa.string()), pa.array(texts, pa.string())], schema=SCHEMA)
            names, texts, size = [], [], 0


def _text(path: Path) -> str:
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"Invalid UTF-8 in {path}, line {line}"
        raise BadInputError(message, "Convert it to UTF-8, for example with iconv") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
