"""Read a whole file into memory, gzipped or not, up to a limit."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from kbkit.errors import BadInputError, reason


def content_of(path: Path, limit: int, kind: str, remedy: str = "") -> bytes:
    """Return the bytes of a file. Raises :class:`BadInputError` for an unreadable one, and for one of more than
    ``limit`` bytes, decompressed, with what is to be done then (``remedy``); ``kind`` is the name of the format.
    """
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            content = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    if len(content) > limit:
        hint = f"The maximum of {kind} is {limit:,} bytes" + (f". {remedy}" if remedy else "")
        raise BadInputError(f"{path} is too large", hint)
    return content


def text_of(path: Path, limit: int, kind: str) -> str:
    """Return the text of a file in UTF-8, in UTF-16 with its mark, or else in Windows-1252; see :func:`content_of`."""
    content = content_of(path, limit, kind)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")
