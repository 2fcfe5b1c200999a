"""The node directory by id and by type: keys, names, aliases and types of all nodes, in memory-mapped files.

The files, for n nodes and a aliases:

* ``keys``, ``names``, ``aliases``: ``.utf8`` has the strings, one after another; ``.npy`` their positions in it
* ``alias_nodes.npy``  int32: the node of each alias, in ascending order
* ``keys_hashes.npy``, ``keys_entries.npy``  uint32, int32: the sorted CRC-32 of the keys, and their ids
* ``names_hashes.npy``, ``names_entries.npy``  the same for the words of names (entries 0 to n - 1) and aliases (from n)
* ``keys_order.npy``, ``names_order.npy``  int32: entries sorted by key, and by words
* ``secondary.npy``, ``secondary_offsets.npy``  int32, int64: the ids of the nodes with a secondary type, type by type
* ``values.utf8``, ``values.npy``, ``values_offsets.npy``  the distinct values of each text attribute with few of them
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.directory.damage import damaged, reading
from kbkit.schema import Schema
from kbkit.stores.arrays import Mask, distinct, is_in, mapped
from kbkit.stores.hash_index import HashIndex
from kbkit.stores.node_values import ListedValues
from kbkit.stores.strings import Strings

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Ids = NDArray[np.int32]

FOLDER = "nodes"

_FEW = 50
"""Rows up to which Arrow is not worth a call."""
_ROWS_WITHOUT_ARROW = 2_000
"""Rows that are read before Arrow is loaded, which takes 0.06 to 0.1 s."""


class NodeRow(NamedTuple):
    """A node; ``type`` is its primary type."""

    id: int
    type: str
    key: str
    name: str

    @property
    def reference(self) -> str:
        """``type#key``."""
        return f"{self.type}#{self.key}"


class NamesRow(NamedTuple):
    """A node with its aliases."""

    id: int
    key: str
    type: str
    name: str
    aliases: Sequence[str]


class NodeDirectory:
    """The mapped files of one KB, and what they say of nodes by id and by type."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._schema = schema
        with reading(FOLDER, folder):
            self.keys, self.names, self.alias_names = (Strings(folder, name) for name in ("keys", "names", "aliases"))
            self.key_index, self.name_index = (HashIndex(folder, name) for name in ("keys", "names"))
            self.alias_nodes, self.key_order, self.name_order, self._secondary, self._secondary_offsets = (
                mapped(folder / f"{name}.npy")
                for name in ("alias_nodes", "keys_order", "names_order", "secondary", "secondary_offsets")
            )
            self.count = len(self.keys)
            self._check_sizes()
        self._folder = folder
        self._secondary_of: dict[str, Ids] = {}
        self._without_arrow = _ROWS_WITHOUT_ARROW

    def _check_sizes(self) -> None:
        """Raise :class:`ValueError` if the files do not belong together."""
        total = self.count + len(self.alias_names)
        sizes = {
            "names": (len(self.names), self.count),
            "alias_nodes": (len(self.alias_nodes), len(self.alias_names)),
            "the index of keys": (len(self.key_index), self.count),
            "the index of names": (len(self.name_index), total),
            "keys_order": (len(self.key_order), self.count),
            "names_order": (len(self.name_order), total),
            "secondary_offsets": (len(self._secondary_offsets), len(self._schema.node_types) + 1),
        }
        for name, (found, expected) in sizes.items():
            if found != expected:
                raise ValueError(f"{name} has {found:,} entries instead of {expected:,}")
        following = 0
        for t in self._schema.primary_types:
            if t.first != following:
                raise ValueError(f"the ids of type {t.name} start at {following:,} instead of {t.first:,}")
            following += t.count
        if following != self.count:
            raise ValueError(f"it has {self.count:,} nodes instead of {following:,}")
        offsets = self._secondary_offsets
        if offsets[0] != 0 or offsets[-1] != len(self._secondary) or (np.diff(offsets) < 0).any():
            raise ValueError("secondary_offsets.npy and secondary.npy do not belong together")
        for array in (self.alias_nodes, self.key_order, self.name_order, self._secondary):
            if array.dtype != np.int32 or array.ndim != 1:
                raise ValueError(f"{array.dtype} instead of int32")

    @cached_property
    def values(self) -> ListedValues | None:
        """The distinct values of text attributes; None if an earlier version built the KB."""
        if not ListedValues.exist(self._folder):
            return None
        with reading(FOLDER, self._folder):
            return ListedValues(self._folder, self._schema)

    def close(self) -> None:
        """Close the files."""
        if values := self.__dict__.pop("values", None):
            values.close()
        for strings in (self.keys, self.names, self.alias_names):
            strings.close()
        for index in (self.key_index, self.name_index):
            index.close()
        self.alias_nodes = self.key_order = self.name_order = self._secondary = np.empty(0, np.int32)
        self._secondary_offsets = np.empty(0, np.int64)
        self._secondary_of.clear()

    def _checked(self, ids: Ids, count: int) -> Ids:
        """Return entries or ids that were read from a file, if they are below ``count``."""
        if len(ids) and not (ids.min() >= 0 and ids.max() < count):
            raise damaged(self._folder)
        return ids

    # -- by id --------------------------------------------------------------------------------------------------------

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return self.names[node]

    def row(self, node: int) -> NodeRow:
        """Return a node by its id."""
        return NodeRow(node, self._schema.type_of(node).name, self.keys[node], self.names[node])

    def _rows(self, ids: Iterable[int]) -> list[NodeRow]:
        return [self.row(node) for node in ids]

    def rows(self, ids: Iterable[int]) -> dict[int, NodeRow]:
        """Return the nodes with these ids, by id in ascending order."""
        return {node: self.row(node) for node in sorted({*ids}) if 0 <= node < self.count}

    def with_aliases(self, ids: Iterable[int]) -> list[NamesRow]:
        """Return the nodes with these ids and their aliases, in the order of ``ids``."""
        return [NamesRow(n.id, n.key, n.type, n.name, self.aliases(n.id)) for n in self._rows(ids)]

    def aliases(self, node: int) -> list[str]:
        """Return the aliases of a node, as the source lists them."""
        first, last = np.searchsorted(self.alias_nodes, np.array([node, node + 1], np.int32)).tolist()
        return [self.alias_names[number] for number in range(first, last)]

    def frame(self, ids: Any, columns: Sequence[str] = ("id", "key", "type", "name")) -> pl.DataFrame:
        """Return the nodes with these ids, sorted by id: id, key, type, name, or some of these ``columns``."""
        wanted = np.asarray(ids)
        if len(wanted) > 1 and not (wanted[1:] > wanted[:-1]).all():
            wanted = distinct(wanted)
        if len(wanted) and (wanted[0] < 0 or wanted[-1] >= self.count):
            wanted = wanted[(wanted >= 0) & (wanted < self.count)]
        return self.rows_of(wanted.astype(np.int32, copy=False), columns)

    def rows_of(self, ids: Ids, columns: Sequence[str] = ("id", "key", "type", "name")) -> pl.DataFrame:
        """Return the nodes with these ids in their order, repeated as they are: ``columns`` of id, key, type, name."""
        import polars as pl

        # Column by column: for a table, polars wakes its threads, which takes longer than the conversion.
        return pl.DataFrame(self.columns_of(ids, columns))

    def columns_of(self, ids: Ids, columns: Sequence[str] = ("id", "key", "type", "name")) -> list[pl.Series]:
        """Return the columns of :meth:`rows_of`."""
        import polars as pl

        types = [t.name for t in self._schema.primary_types]
        makers: dict[str, Callable[[], Any]]
        if len(ids) <= _FEW or ("pyarrow" not in sys.modules and len(ids) <= self._without_arrow):
            self._without_arrow -= len(ids)
            nodes = ids.tolist()
            makers = {
                "id": lambda: nodes,
                "key": lambda: [self.keys[node] for node in nodes],
                "type": lambda: [types[number] for number in self._type_numbers(ids).tolist()],
                "name": lambda: [self.names[node] for node in nodes],
            }
        else:
            makers = {
                "id": lambda: ids,
                "key": lambda: self.keys.take(ids),
                "type": lambda: _arrow(types).take(self._type_numbers(ids)),
                "name": lambda: self.names.take(ids),
            }
        kinds = {"id": pl.Int32}
        return [pl.Series(name, makers[name](), kinds.get(name, pl.String)) for name in columns]

    def _type_numbers(self, ids: Ids) -> NDArray[np.int64]:
        """Return the position of the primary type of each node in ``schema.primary_types``."""
        return np.searchsorted(self._last_ids, ids)

    @cached_property
    def _last_ids(self) -> Ids:
        return np.array([t.last for t in self._schema.primary_types], np.int32)

    # -- by type ------------------------------------------------------------------------------------------------------

    def secondary(self, node_type: str) -> Ids:
        """Return the sorted ids of the nodes with a type as a secondary type."""
        known = self._secondary_of.get(node_type)
        if known is None:
            number = self._type_positions[self._schema.type(node_type).name]
            start, end = self._secondary_offsets[number : number + 2].tolist()
            known = self._checked(self._secondary[start:end], self.count)
            if len(known) != self._schema.type(node_type).others or not (known[1:] > known[:-1]).all():
                raise damaged(self._folder)
            self._secondary_of[node_type] = known
        return known

    def secondary_types(self, node: int) -> list[str]:
        """Return the secondary types of a node, in the order of the schema."""
        possible = self._schema.types_of(self._schema.type_of(node).name)[1:]
        return [name for name in possible if is_in(np.array([node], np.int32), self.secondary(name))[0]]

    @cached_property
    def _type_positions(self) -> dict[str, int]:
        return {t.name: number for number, t in enumerate(self._schema.node_types)}

    def members(self, node_type: str | None) -> Ids:
        """Return the sorted ids of all nodes of a type, primary or secondary (None: all nodes)."""
        if node_type is None:
            return np.arange(self.count, dtype=np.int32)
        known = self._schema.type(node_type)
        primary = np.arange(known.first, known.last + 1, dtype=np.int32)
        return distinct(np.concatenate([primary, self.secondary(node_type)])) if known.others else primary

    def has_type(self, ids: Ids, node_type: str | None) -> Mask:
        """Return a mask of the ids whose node has a type, primary or secondary (None: any)."""
        if node_type is None:
            return np.ones(len(ids), bool)
        known = self._schema.type(node_type)
        mask: Mask = (ids >= known.first) & (ids <= known.last)
        return mask | is_in(ids, self.secondary(node_type)) if known.others else mask

    def _of_type(self, ids: Ids, node_type: str | None) -> Ids:
        return ids if node_type is None else ids[self.has_type(ids, node_type)]


def _arrow(texts: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    return pa.array(texts, pa.string())
