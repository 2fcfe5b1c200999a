"""Read XML as the objects of JSON: an element is its text, or an object of its attributes and child elements.

Child elements of one name are a list if any element of their parent's name has several of them.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO, Any, cast

from kbkit.errors import BadInputError, reason
from kbkit.readers.markup import MarkupReader

MAX_BYTES = 64 << 20
"""Maximum bytes of a file, decompressed."""
TEXT = "text"
"""Field with the text of an element that has attributes or child elements, too."""


class _Elements(MarkupReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.top: tuple[str, Any] = ("", None)
        self._stack: list[tuple[str, list[tuple[str, Any]]]] = []
        self._listed: set[tuple[str, str]] = set()

    def open(self, name: str, attributes: dict[str, str]) -> None:
        """See :class:`MarkupReader`."""
        self._stack.append((name, [(key.rpartition(" ")[2], value) for key, value in attributes.items()]))

    def close(self, name: str, text: str) -> None:
        """See :class:`MarkupReader`."""
        _, fields = self._stack.pop()
        text = " ".join(text.split()) if fields else text.strip()
        value = (name, [*fields, *([(TEXT, text)] if text else [])]) if fields else (name, text or None)
        if not self._stack:
            self.top = value
            return
        parent, siblings = self._stack[-1]
        if any(key == name for key, _ in siblings):
            self._listed.add((parent, name))
        siblings.append((name, value))

    def value(self, element: tuple[str, Any]) -> Any:
        """Return an element as JSON has it."""
        name, content = element
        if not isinstance(content, list):
            return content
        found: dict[str, Any] = {}
        for key, inner in content:
            one = self.value(inner) if isinstance(inner, tuple) else inner
            if (name, key) in self._listed:
                listed = found.setdefault(key, [])
                if one is not None:
                    listed.append(one)
            else:
                found[key] = one
        return found


def read(path: Path) -> dict[str, Any]:
    """Return the content of the first element of a file.

    Raises :class:`BadInputError` for invalid or large files, and for one without elements inside.
    """
    reader = _Elements(path)
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    if len(content) > MAX_BYTES:
        hint = f"The maximum of XML is {MAX_BYTES:,} bytes. Convert it to CSV or JSON"
        raise BadInputError(f"{path} is too large", hint)
    import io

    reader.run(cast("IO[bytes]", io.BytesIO(content)))
    top = reader.value(reader.top)
    return top if isinstance(top, dict) else {}
