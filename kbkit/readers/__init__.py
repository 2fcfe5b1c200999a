"""Formats that SQL cannot read. A reader turns files into Arrow batches; a recipe names it with ``reader = "..."``.

To add one: a module with ``read(paths) -> pyarrow.RecordBatchReader``, and a line in ``_MODULES``.

A converter is for a source too large, or too much of its own, for one table: it writes several, in parts, and RDF. To
add one: a module with ``convert`` and ``estimate`` as :class:`Converter` says, and a line in ``_CONVERTERS``; a recipe
names it with ``converter = "..."``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from kbkit.errors import UnknownNameError

if TYPE_CHECKING:
    import pyarrow as pa

    from kbkit.readers.converted import Converted

Read = Callable[[Sequence[Path]], "pa.RecordBatchReader"]

_MODULES = {"pickle": "pickles", "python_literals": "python_literals", "rdf": "rdf", "tensor": "tensors"}
_CONVERTERS = {"wikidata": "wikidata.convert"}


class Converter(Protocol):
    """A module that converts a source."""

    def convert(
        self, paths: Sequence[Path], options: Mapping[str, str], folder: Path, progress: Callable[[int, int], None]
    ) -> Converted:
        """Write the parts to ``folder``, which a build that was stopped leaves; whole parts are not made again.

        ``progress`` is called with (bytes read, total). Raises :class:`kbkit.errors.BadInputError` with file and line.
        """
        ...

    def estimate(self, paths: Sequence[Path], options: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """(what, figure) for what :meth:`convert` would make, from the beginning of the files."""
        ...


def reader(name: str) -> Read:
    """The reader called ``name``; raises :class:`UnknownNameError` for others."""
    if name not in _MODULES:
        raise UnknownNameError("reader", name, _MODULES)
    read: Read = importlib.import_module(f"kbkit.readers.{_MODULES[name]}").read
    return read


def converter(name: str) -> Converter:
    """The converter called ``name``; raises :class:`UnknownNameError` for others."""
    if name not in _CONVERTERS:
        raise UnknownNameError("converter", name, _CONVERTERS)
    return cast(Converter, importlib.import_module(f"kbkit.readers.{_CONVERTERS[name]}"))
