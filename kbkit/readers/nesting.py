"""Limits for the nesting of RDF files, and for the entities of RDF/XML.

Oxigraph's parsers need time that grows with the square of the depth of RDF/XML, and overflow the stack for deep JSON-LD
and triple terms, which ends the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import IO
from xml.parsers import expat

import numpy as np
import pyoxigraph as ox

from kbkit.readers.entities import check_entity

LIMIT = 256
"""Levels. Files of ontologies have about 30; the stack of a thread holds 300 of JSON-LD on every system."""


MOST_PREFIXES = 1_000
"""Maximum number of prefixes that are kept of a file."""


_LONGEST_HEAD = 1 << 20
"""Maximum bytes before the first element of RDF/XML."""


class TooDeepError(Exception):
    """A file is nested deeper than the limit."""


class Shallow:
    """A binary file whose ``read`` raises :class:`TooDeepError` if elements, objects or terms are too deep.

    It raises ``SyntaxError`` for invalid XML, and for entities that could expand to much.
    """

    def __init__(self, file: IO[bytes], syntax: ox.RdfFormat) -> None:
        kinds: dict[ox.RdfFormat, Callable[[], _Depth]] = {
            ox.RdfFormat.RDF_XML: _Xml,
            ox.RdfFormat.JSON_LD: _NestedJson,
        }
        self._file = file
        self._depth = kinds.get(syntax, _TripleTerms)()

    @property
    def prefixes(self) -> dict[str, str]:
        """The namespaces that elements of RDF/XML declared so far; Oxigraph does not tell them."""
        return self._depth.prefixes

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data = self._file.read(size)
        if self._depth.deepest(data) > LIMIT:
            raise TooDeepError
        return data


class _Depth:
    """The current depth in a stream; ``deepest`` returns the largest one in its next part."""

    def __init__(self) -> None:
        self.now = 0
        self.prefixes: dict[str, str] = {}

    def deepest(self, data: bytes) -> int:
        raise NotImplementedError


class _Xml(_Depth):
    def __init__(self) -> None:
        super().__init__()
        self._top = 0
        self._head = b""
        self._entities = 0
        self._in_head = True
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._open
        self._parser.EndElementHandler = self._close
        self._parser.EndDoctypeDeclHandler = self._end_doctype
        self._parser.EntityDeclHandler = self._entity

    def deepest(self, data: bytes) -> int:
        if self._in_head:
            if len(self._head) > _LONGEST_HEAD:
                raise self._error(f"No element in the first {_LONGEST_HEAD:,} bytes")
            self._head += data
        try:
            self._parser.Parse(data, not data)
        except expat.ExpatError as error:
            raise self._error(f"Invalid XML: {expat.ErrorString(error.code)}") from None
        return self._top

    def _error(self, problem: str) -> SyntaxError:
        return SyntaxError(problem, ("", self._parser.CurrentLineNumber, None, None))

    def _entity(self, name: str, is_parameter: int, value: str | None, *_: object) -> None:
        self._entities += 1
        check_entity(self._error, name, is_parameter, value)

    def _end_doctype(self) -> None:
        """Refuse declarations that Oxigraph would see and expat does not: those in comments, and repeated ones."""
        if self._head[: self._parser.CurrentByteIndex].count(b"!ENTITY") != self._entities:
            raise self._error("Unsupported entity (declared twice, or inside of another declaration)")
        self._in_head = False
        self._head = b""

    def _open(self, _: str, attributes: dict[str, str]) -> None:
        self._in_head, self._head = False, b""
        self.now += 1
        self._top = max(self._top, self.now)
        for name, value in attributes.items():
            if name.startswith("xmlns:") and len(self.prefixes) < MOST_PREFIXES:
                self.prefixes.setdefault(name[6:], value)

    def _close(self, *_: object) -> None:
        self.now -= 1


class _NestedJson(_Depth):
    def __init__(self) -> None:
        super().__init__()
        self._in_string = 0
        self._rest = b""

    def deepest(self, data: bytes) -> int:
        text = (self._rest + data).replace(b"\\\\", b"")
        self._rest = b"\\" if text.endswith(b"\\") else b""
        codes = np.frombuffer(text.removesuffix(b"\\").replace(b'\\"', b""), np.uint8)
        if not len(codes):
            return self.now
        quotes = np.cumsum(codes == ord('"')) + self._in_string
        up = (codes == ord("{")) | (codes == ord("["))
        down = (codes == ord("}")) | (codes == ord("]"))
        depths = self.now + np.cumsum(np.where(quotes & 1, 0, up.astype(np.int8) - down.astype(np.int8)))
        self._in_string, self.now = int(quotes[-1] & 1), int(depths[-1])
        return int(depths.max())


class _TripleTerms(_Depth):
    def __init__(self) -> None:
        super().__init__()
        self._rest = b""

    def deepest(self, data: bytes) -> int:
        text, top = self._rest + data, self.now
        self._rest = next((part for part in (b"<<", b"<", b")>", b")") if text.endswith(part)), b"")
        for sign in re.findall(rb"<<\(|\)>>", text):
            self.now += 1 if sign == b"<<(" else -1
            top = max(top, self.now)
        return top
