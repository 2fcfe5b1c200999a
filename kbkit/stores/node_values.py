"""The distinct values of the text attributes of node types, beside the node directory: no question scans a column.

The files: ``values.utf8`` and ``values.npy`` have the sorted values, one attribute after another;
``values_offsets.npy`` int64: where each attribute starts. Columns with many values hold names or texts, and have none.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kbkit.schema import Attribute, NodeType, Schema, quote
from kbkit.stores.arrays import mapped
from kbkit.stores.strings import Strings, StringsWriter

if TYPE_CHECKING:
    import pyarrow as pa

MAX_VALUES = 20_000
"""Limit on the distinct values of a column: a column with more holds names or texts."""
MAX_COLUMNS = 300
"""Limit on the columns that are read, each in a query of its own."""

_FILE = "values"
_OFFSETS = f"{_FILE}_offsets.npy"
_SAMPLE = 3 * MAX_VALUES
"""Rows that are looked at first, because most columns of names or texts have too many values there."""


def text_attributes(schema: Schema) -> list[tuple[NodeType, Attribute]]:
    """Return the text attributes of the primary types, ``MAX_COLUMNS`` at most."""
    every = ((t, one) for t in schema.primary_types for one in t.attributes if one.type in ("VARCHAR", "VARCHAR[]"))
    return list(islice(every, MAX_COLUMNS))


def values_sql(node_type: NodeType, attribute: Attribute) -> str:
    """Return the query for the distinct values of a text attribute, one more than ``MAX_VALUES`` at most."""
    return (
        f"SELECT DISTINCT value FROM ({_column(node_type, attribute)}) WHERE value IS NOT NULL LIMIT {MAX_VALUES + 1}"
    )


def _column(node_type: NodeType, attribute: Attribute) -> str:
    column = quote(attribute.name)
    value = f"unnest({column})" if attribute.type.endswith("[]") else column
    return f"SELECT {value} AS value FROM {quote(node_type.table)}"


def write(batches: Callable[[str], pa.RecordBatchReader], folder: Path, schema: Schema) -> None:
    """Write the values of all text attributes from the tables."""
    ends = [0]
    with StringsWriter(folder, _FILE) as texts:
        for node_type, attribute in text_attributes(schema):
            sample = f"{_column(node_type, attribute)} LIMIT {_SAMPLE}"
            counted = batches(f"SELECT count(DISTINCT value) FROM ({sample})").read_all()
            size = int(counted.column(0)[0].as_py())
            if size <= MAX_VALUES:
                values = batches(f"FROM ({values_sql(node_type, attribute)}) ORDER BY value").read_all().column(0)
                size = len(values)
            if size <= MAX_VALUES:
                for chunk in values.chunks:
                    texts.append(chunk)
            ends.append(ends[-1] + size * (size <= MAX_VALUES))
    np.save(folder / _OFFSETS, np.array(ends, np.int64))


class ListedValues:
    """The values in their files. Raises :class:`OSError` or :class:`ValueError` if these are damaged."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._texts, offsets = Strings(folder, _FILE), mapped(folder / _OFFSETS)
        known = text_attributes(schema)
        if (
            offsets.dtype != np.int64
            or offsets.shape != (len(known) + 1,)
            or offsets[0] != 0
            or offsets[-1] != len(self._texts)
            or (np.diff(offsets) < 0).any()
        ):
            raise ValueError(f"{_OFFSETS} and {_FILE}.npy do not belong together")
        starts = offsets.tolist()
        self._ranges = {(t.name, one.name): range(*starts[at : at + 2]) for at, (t, one) in enumerate(known)}

    @staticmethod
    def exist(folder: Path) -> bool:
        """Return whether a node directory has the files: those of earlier versions have none."""
        return (folder / _OFFSETS).exists()

    def of(self, node_type: str, attribute: str) -> list[str] | None:
        """Return the sorted values of an attribute, none if it has too many; None for an attribute without a list."""
        places = self._ranges.get((node_type, attribute))
        return None if places is None else [self._texts[place] for place in places]

    def close(self) -> None:
        """Unmap the files."""
        self._texts.close()
        self._ranges = {}
