"""Formats that SQL cannot read. A reader turns files into Arrow batches; a recipe names it with ``reader = "..."``.

To add one: a module with ``read(paths) -> pyarrow.RecordBatchReader``, and a line in :func:`reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.errors import UnknownNameError

if TYPE_CHECKING:
    import pyarrow as pa

Read = Callable[[Sequence[Path]], "pa.RecordBatchReader"]


def reader(name: str) -> Read:
    """The reader called ``name``; raises :class:`UnknownNameError` for others."""
    if name == "rdf":
        from kbkit.readers import rdf

        return rdf.read
    raise UnknownNameError("reader", name, ["rdf"])
