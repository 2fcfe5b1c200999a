"""Read elements of XML with expat, as a stream.

The files are untrusted: entities that expand to more than a short text are refused, elements have a limit of depth, and
no other file is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO
from xml.parsers import expat

from kbkit.errors import BadInputError
from kbkit.readers.entities import check_entity

_CHUNK = 1 << 18
_DEPTH = 256


class MarkupReader:
    """Passes the elements of a file to ``open`` and ``close``, without namespaces.

    ``root`` is the name that the first element must have, if any.
    """

    root = ""
    namespace = ""
    """That of the element that :meth:`close` takes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.depth = 0
        self.texts: list[list[str]] = [[]]
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.EntityDeclHandler = self._entity
        self.parser.StartElementHandler = self._open
        self.parser.EndElementHandler = self._close
        self.parser.CharacterDataHandler = self._characters

    def run(self, file: IO[bytes]) -> None:
        """Read a file. Raises :class:`BadInputError` for invalid XML, with the line."""
        try:
            while data := file.read(_CHUNK):
                self.parser.Parse(data)
            self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise self.error(f"Invalid XML: {expat.ErrorString(error.code)}") from None
        except KeyError as error:
            raise self.error(f"Missing attribute or unknown key {error.args[0]!r}") from None
        except ValueError as error:  # of a number
            raise self.error(str(error)) from None

    def error(self, problem: str) -> BadInputError:
        """Return the error for the current line."""
        return BadInputError(f"{problem} in {self.path}, line {self.parser.CurrentLineNumber}")

    def open(self, name: str, attributes: dict[str, str]) -> None:
        """Take the start of an element."""
        raise NotImplementedError

    def close(self, name: str, text: str) -> None:
        """Take the end of an element, with the text that is directly inside."""
        raise NotImplementedError

    def _entity(self, name: str, is_parameter: int, value: str | None, *_: object) -> None:
        check_entity(self.error, name, is_parameter, value)

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEPTH:
            raise self.error(f"Elements nested deeper than {_DEPTH} levels")
        local = name.rpartition(" ")[2]
        if self.depth == 1 and self.root and local != self.root:
            raise self.error(f"Element <{local[:50]}> instead of <{self.root}>")
        self.texts.append([])
        self.open(local, attributes)

    def _characters(self, text: str) -> None:
        self.texts[-1].append(text)

    def _close(self, name: str) -> None:
        self.depth -= 1
        self.namespace, _, local = name.rpartition(" ")
        self.close(local, "".join(self.texts.pop()))
