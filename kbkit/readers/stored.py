"""Files with several tables: databases, workbooks, graphs and dumps in SQL, each read by its module.

To add a format, write a module with ``tables(path)``, ``read(path, table)`` and, if it declares keys, ``keys(path)``;
add it to ``_MODULES`` and to the formats by endings.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

_MODULES = {"database": "databases", "excel": "workbooks", "graph": "graphs", "sql": "sql_dumps"}
FORMATS = tuple(_MODULES)
"""Formats of files with several tables."""


class ForeignKey(NamedTuple):
    """Columns that hold the values of ``other_columns`` of the table ``other``."""

    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]


class Keys(NamedTuple):
    """The declared keys of a table; ``primary`` is empty without a primary key. ``texts`` are columns that are declared
    as texts, whatever their values look like.
    """

    primary: tuple[str, ...] = ()
    foreign: tuple[ForeignKey, ...] = ()
    texts: frozenset[str] = frozenset()


def tables(kind: str, path: Path) -> list[str]:
    """Return the names of the tables of a file of one of :data:`FORMATS`."""
    return list(_module(kind).tables(path))


def keys(kind: str, path: Path) -> dict[str, Keys]:
    """Return the keys that a file declares, by its tables."""
    module = _module(kind)
    return dict(module.keys(path)) if hasattr(module, "keys") else {}


def read(kind: str, path: Path, table: str) -> pa.RecordBatchReader:
    """Return the rows of a table."""
    batches: pa.RecordBatchReader = _module(kind).read(path, table)
    return batches


def _module(kind: str) -> Any:
    return importlib.import_module(f"kbkit.readers.{_MODULES[kind]}")
