"""Read formats that SQL cannot read.

A reader turns files into Arrow batches; a recipe selects it with ``reader = "..."``. To add one, write a module with
``read(paths) -> pyarrow.RecordBatchReader``, and add it to ``_MODULES``. The reader of a format with several tables has
a second argument, the name of the table; add it to :data:`WITH_TABLES` too.

A converter is for a source that does not fit one table: it writes several, in parts, and RDF. A recipe selects it with
``converter = "..."``. To add one, write a module that implements :class:`Converter`, and add it to ``_CONVERTERS``.
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

Read = Callable[..., "pa.RecordBatchReader"]

_MODULES = {
    "delimited": "delimited",
    "neo4j": "neo4j",
    "pickle": "pickles",
    "python_literals": "python_literals",
    "rdf": "rdf",
    "tensor": "tensors",
    "text": "documents",
    "wikitables": "wikitables",
}
WITH_TABLES = frozenset({"neo4j"})
"""Readers whose second argument is the name of a table."""
_CONVERTERS = {"wikidata": "wikidata.convert"}


class Converter(Protocol):
    """A module that converts a source."""

    def convert(
        self, paths: Sequence[Path], options: Mapping[str, str], folder: Path, progress: Callable[[int, int], None]
    ) -> Converted:
        """Write the parts to ``folder``; reuse complete parts that an interrupted build left there.

        ``progress`` is called with (bytes read, total). Raises :class:`kbkit.errors.BadInputError` with file and line.
        """
        ...

    def estimate(self, paths: Sequence[Path], options: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Estimate the result of :meth:`convert` from the beginning of the files, as (name, figure) rows."""
        ...

    def merge(self, kept: Path, changed: Sequence[Path], deleted: Sequence[Path], target: Path, *, skip: bool) -> None:
        """Write the entities that a conversion kept to ``target``, with changed ones, without deleted ones.

        ``skip`` ignores deleted ones that do not exist. Raises :class:`kbkit.errors.BadInputError` for invalid files.
        """
        ...


def reader(name: str) -> Read:
    """Return the reader called ``name``; raise :class:`UnknownNameError` if there is none."""
    if name not in _MODULES:
        raise UnknownNameError("reader", name, _MODULES)
    read: Read = importlib.import_module(f"kbkit.readers.{_MODULES[name]}").read
    return read


def converter(name: str) -> Converter:
    """Return the converter called ``name``; raise :class:`UnknownNameError` if there is none."""
    if name not in _CONVERTERS:
        raise UnknownNameError("converter", name, _CONVERTERS)
    return cast(Converter, importlib.import_module(f"kbkit.readers.{_CONVERTERS[name]}"))
