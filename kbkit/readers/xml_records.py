"""Read XML as the objects of JSON: an element is its text, or an object of its attributes and child elements.

Child elements of one name are a list if any element of their parent's name has several of them. The attributes of an
element with a text alone are beside it (``PMID``, ``PMID_Version``), except in lists. Children of one name in several
namespaces have these before their names (``content_encoded``).

Elements that are nothing but the formatted text of elements of several names (``<title><style>A</style></title>``) are
these texts.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import IO, Any, cast

from kbkit.readers.markup import MarkupReader
from kbkit.readers.whole_files import content_of

MAX_BYTES = 64 << 20
"""Maximum bytes of a file, decompressed."""
TEXT = "text"
"""Field with the text of an element that has attributes or child elements, too."""


_SEVERAL = 2
_FORMATTED = 3
"""Names of elements in which those of one name are the only content, from which these are formatted text."""


def _word(namespace: str) -> str:
    """Return the last word of a namespace's address, without numbers of versions."""
    words = [word for word in re.split(r"[/#:]+", namespace) if word and not word[0].isdigit()]
    return f"{words[-1]}_" if words else ""


def _has_text(value: Any) -> bool:
    """Return whether an element has only attributes and a text."""
    return isinstance(value, dict) and TEXT in value and all(isinstance(one, str) for one in value.values())


class _Elements(MarkupReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.top: tuple[str, Any] = ("", None)
        self._stack: list[tuple[str, list[tuple[str, Any]]]] = []
        self._listed: set[tuple[str, str, str]] = set()
        self._spaces: dict[tuple[str, str], set[str]] = {}
        self._last: dict[tuple[str, str, str], list[tuple[str, Any]]] = {}
        self._only_in: dict[str, set[str]] = {}
        self._content: set[str] = set()

    def open(self, name: str, attributes: dict[str, str]) -> None:
        """See :class:`MarkupReader`."""
        self._stack.append((name, [(key.rpartition(" ")[2], value) for key, value in attributes.items()]))

    def close(self, name: str, text: str) -> None:
        """See :class:`MarkupReader`."""
        fields = self._stack.pop()[1]
        inside = [key for key, inner in fields if isinstance(inner, tuple)]
        if len(inside) == len(fields) and len({*inside}) == 1 and not text.strip():
            self._only_in.setdefault(inside[0], set()).add(name)
        else:
            self._content.update(inside)  # beside others
        if inside:
            self._content.add(name)
        text = " ".join(text.split()) if fields else text.strip()
        value = (name, [*fields, *([(TEXT, text)] if text else [])]) if fields else (name, text or None)
        if not self._stack:
            self.top = value
            return
        parent, siblings = self._stack[-1]
        place = (parent, name, self.namespace)
        self._spaces.setdefault((parent, name), set()).add(self.namespace)
        if place in self._last and self._last[place] is siblings:
            self._listed.add(place)
        self._last[place] = siblings
        siblings.append((name, (*value, self.namespace)))

    def value(self, element: tuple[Any, ...]) -> Any:
        """Return an element as JSON has it."""
        name, content = element[:2]
        if not isinstance(content, list):
            return content
        if len(self._only_in.get(content[0][0], ())) >= _FORMATTED and content[0][0] not in self._content:
            texts = (dict(one[1]).get(TEXT) if isinstance(one[1], list) else one[1] for _, one in content)
            return " ".join(filter(None, texts)) or None
        found: dict[str, Any] = {}
        for key, inner in content:
            one = self.value(inner) if isinstance(inner, tuple) else inner
            space = inner[2] if isinstance(inner, tuple) else ""
            own = key if len(self._spaces.get((name, key), ())) < _SEVERAL else f"{_word(space)}{key}"
            if (name, key, space) in self._listed:
                if not isinstance(found.get(own), list):  # an attribute may have the name of elements
                    found[own] = [found[own]] if found.get(own) is not None else []
                if one is not None:
                    found[own].append(one)
            elif _has_text(one) and not any(f"{own}_{field}" in found for field in one):
                found |= {own: one[TEXT], **{f"{own}_{field}": text for field, text in one.items() if field != TEXT}}
            else:
                found[own] = one
        return found


def read(path: Path) -> dict[str, Any]:
    """Return the content of the first element of a file.

    Raises :class:`BadInputError` for invalid or large files, and for one without elements inside.
    """
    return read_document(path)[1]


def read_document(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the name and the content of the first element of a file. Raises the errors of :func:`read`."""
    reader = _Elements(path)
    content = content_of(path, MAX_BYTES, "XML", "Convert it to CSV or JSON")
    reader.run(cast("IO[bytes]", io.BytesIO(content)))
    top = reader.value(reader.top)
    return reader.top[0], top if isinstance(top, dict) else {}
