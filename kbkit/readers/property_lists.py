"""Read property lists of macOS in XML (``.xml``), such as the library of a music program, as the object of JSON."""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError, NoRecordsError, reason
from kbkit.readers.columns import text
from kbkit.readers.whole_files import content_of

MAX_BYTES = 256 << 20
"""Maximum bytes of a file, decompressed."""


def read(path: Path) -> dict[str, Any]:
    """Return the object of a file; without data in binary. Raises :class:`BadInputError` for an invalid or large file,
    and for one that holds no object.
    """
    content = content_of(path, MAX_BYTES, "property lists")
    try:
        found = plistlib.loads(content, fmt=plistlib.FMT_XML)
    except Exception as error:  # noqa: BLE001  of expat, of values, and of a nesting of its own
        raise BadInputError(f"Invalid property list in {path}: {reason(error)}") from None
    found = {"records": found} if isinstance(found, list) else found
    if not isinstance(found, dict):
        raise NoRecordsError(f"{path} has no list of records", "Convert it to CSV or JSON")
    return {name: _plain(one) for name, one in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else text(value)
