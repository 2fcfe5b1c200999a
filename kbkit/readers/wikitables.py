r"""Read the tables of WikiTableQuestions, with the schema of :mod:`kbkit.readers.delimited`.

In its CSV files, ``\\"`` is a quote and ``\\\\`` a backslash within a quoted field. In its TSV files, ``\\n`` is a line
break, ``\\p`` a vertical bar, and ``\\\\`` a backslash. Source: the table reader of SEMPRE, by the authors of the data.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa

from kbkit.readers import delimited

_ESCAPES = {"\\n": "\n", "\\p": "|", "\\\\": "\\"}
_CHARACTERS = {value: escape for escape, value in _ESCAPES.items()}


def read(paths: Sequence[Path]) -> pa.RecordBatchReader:
    """Stream the rows of ``paths`` in order; raise :class:`kbkit.errors.BadInputError` with file and line."""
    return delimited.batches(paths, _rows)


def unescape(text: str) -> str:
    """Return the content of a field of a TSV file; other backslashes stay."""
    return re.sub(r"\\[np\\]", lambda match: _ESCAPES[match[0]], text)


def escape(text: str) -> str:
    """Return a text as a field of a TSV file (the inverse of :func:`unescape`)."""
    return re.sub(r"[\n|\\]", lambda match: _CHARACTERS[match[0]], text)


def _rows(path: Path, handle: IO[str]) -> Iterator[list[str]]:
    if path.suffix.lower() == ".tsv":
        for line in handle:
            yield [unescape(cell) for cell in line.rstrip("\r\n").split("\t")]
    else:
        yield from delimited.parsed(csv.reader(quoted(handle), strict=True), path)


def quoted(lines: IO[str]) -> Iterator[str]:
    r"""Return the lines of a file with doubled quotes in place of ``\\"``, and single backslashes for ``\\\\``."""
    return (re.sub(r'\\(["\\])', lambda match: '""' if match[1] == '"' else "\\", line) for line in lines)
