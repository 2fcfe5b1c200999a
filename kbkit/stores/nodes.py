"""The node directory: keys, names, aliases and types of all nodes, in memory-mapped files with hash indexes.

Every lookup of nodes by id, key, name, alias, IRI or prefix goes through this module. Keys match exactly. Names match
exactly, then case-insensitively, then as an alias. The files, for n nodes and a aliases:

* ``keys``, ``names``, ``aliases``: ``.utf8`` has the strings, one after another; ``.npy`` their positions in it
* ``alias_nodes.npy``  int32: the node of each alias, in ascending order
* ``keys_hashes.npy``, ``keys_entries.npy``  uint32, int32: the sorted CRC-32 of the keys, and their ids
* ``names_hashes.npy``, ``names_entries.npy``  the same for the words of names (entries 0 to n - 1) and aliases (from n)
* ``keys_order.npy``, ``names_order.npy``  int32: entries sorted by key, and by words
* ``secondary.npy``, ``secondary_offsets.npy``  int32, int64: the ids of the nodes with a secondary type, type by type
"""

from __future__ import annotations

import bisect
import urllib.parse
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import Command, KbError, UnknownNameError
from kbkit.schema import Schema
from kbkit.stores.arrays import Mask, distinct, expand_ranges, is_in
from kbkit.stores.folding import caseless, ends_word, words, words_of
from kbkit.stores.node_build import hashes
from kbkit.stores.strings import Strings, damaged, mapped

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from kbkit.stores.tables import Tables

Ids = NDArray[np.int32]

SEARCH_HINT = ("Search by words: ", Command("search KB TEXT"))
"""Hint for an unknown node with no similar name."""

_FEW = 50
_MIN_SIMILARITY = 0.8


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


def typed(text: str) -> str | int:
    """Parse a reference from a command line: ``#17`` is an id, anything else is passed to :meth:`Nodes.find`."""
    return int(text[1:]) if text[:1] == "#" and text[1:].isdecimal() else text


class Nodes:
    """Look up nodes of one KB. ``tables`` is called for what only a scan finds: similar names, and parts of words."""

    def __init__(self, folder: Path, schema: Schema, tables: Callable[[], Tables]) -> None:
        self._schema, self._tables = schema, tables
        try:
            self.keys, self.names, self.alias_names = (Strings(folder, name) for name in ("keys", "names", "aliases"))
            self.key_index, self.name_index = (HashIndex(folder, name) for name in ("keys", "names"))
            self.alias_nodes, self.key_order, self.name_order, self._secondary, self._secondary_offsets = (
                mapped(folder / f"{name}.npy")
                for name in ("alias_nodes", "keys_order", "names_order", "secondary", "secondary_offsets")
            )
            self.count = len(self.keys)
            self._check_sizes()
        except (OSError, ValueError, EOFError) as error:
            raise KbError(f"Cannot open {folder}: {error}", "Run ", Command("check KB"), " for details") from error
        self._folder = folder
        self._secondary_of: dict[str, Ids] = {}

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
        offsets = self._secondary_offsets
        if offsets[0] != 0 or offsets[-1] != len(self._secondary) or (np.diff(offsets) < 0).any():
            raise ValueError("secondary_offsets.npy and secondary.npy do not belong together")
        for array in (self.alias_nodes, self.key_order, self.name_order, self._secondary):
            if array.dtype != np.int32 or array.ndim != 1:
                raise ValueError(f"{array.dtype} instead of int32")

    def close(self) -> None:
        """Close the files."""
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

    # -- by reference -------------------------------------------------------------------------------------------------

    def find(self, reference: str | int) -> int:
        """Return the id of a node: an id, ``type#key``, ``type:name``, a key, a name or an alias, tried in that order.

        Raises :class:`UnknownNameError` with similar names, and :class:`KbError` if several nodes match.
        """
        if isinstance(reference, int):
            if not 0 <= reference < self.count:
                raise KbError(f"No node has the id {reference}", f"Ids are 0 to {self.count - 1}")
            return reference
        readings = self._readings(reference)
        for node_type, text, only_key in readings:
            ids = self._with_key(node_type, text) or ([] if only_key else self._with_name(node_type, text))
            if len(ids) > 1 and node_type is not None:
                known = self._schema.type(node_type)
                ids = [node for node in ids if known.first <= node <= known.last] or ids
            if len(ids) > 1:
                rows = [row.reference for row in self.rows(ids[:6]).values()]
                choices = ", ".join(rows[:5]) + ", ..." * (len(rows) > 5)
                raise KbError(f"Ambiguous node {text!r}", f"Use one of {choices}")
            if ids:
                return ids[0]
        node_type, text, _ = readings[0]
        close = [row.name for row in self.closest(text, node_type)]
        hint = () if close else SEARCH_HINT
        raise UnknownNameError("node", text, close, f"type {node_type}" if node_type else "", *hint)

    def _readings(self, reference: str) -> list[tuple[str | None, str, bool]]:
        """Return (type, text, whether the text can only be a key) for each way to split a reference.

        Types may contain ``#`` and ``:``, so the longest type that fits comes first.
        """
        result: list[tuple[str | None, str, bool]] = []
        for at, sign in reversed([(i, c) for i, c in enumerate(reference) if c in "#:"]):
            if reference[:at] in self._type_positions:
                result.append((reference[:at], reference[at + 1 :], sign == "#"))
        return [*result, (None, reference, False)]

    # -- by key, name and IRI -----------------------------------------------------------------------------------------

    def by_key(self, node_type: str | None, keys: Sequence[str]) -> list[list[NodeRow]]:
        """Return for each key the nodes of a type (None: any) with that key, sorted by id.

        Nodes with ``node_type`` as a secondary type are returned only if no node has it as its primary type.
        """
        node_type = node_type and self._schema.type(node_type).name
        found = (self._rows(self._with_key(node_type, key)) for key in keys)
        return [[row for row in rows if row.type == node_type] or rows for rows in found]

    def by_name(self, node_type: str | None, names: Sequence[str]) -> list[list[NodeRow]]:
        """Return for each name the nodes of a type (None: any) with that name, sorted by id.

        If no name matches exactly, match case-insensitively, then aliases.
        """
        node_type = node_type and self._schema.type(node_type).name
        return [self._rows(self._with_name(node_type, name)) for name in names]

    def _with_key(self, node_type: str | None, key: str) -> list[int]:
        encoded = _encoded(key)
        same = [node for node in self.key_index.candidates(encoded) if self.keys.encoded(node) == encoded]
        return self._those_of_type(same, node_type)

    def _with_name(self, node_type: str | None, name: str) -> list[int]:
        """Return the sorted ids of the nodes of a type with a name; failing that, caseless; failing that, an alias."""
        entries = self.name_index.candidates(_encoded(words(name)))
        own, encoded = [entry for entry in entries if entry < self.count], _encoded(name)
        same = [node for node in own if self.names.encoded(node) == encoded]
        if same := self._those_of_type(same, node_type):
            return same
        folded = caseless(name)
        if same := self._those_of_type([node for node in own if caseless(self.names[node]) == folded], node_type):
            return same
        return self._those_of_type(self._with_alias(entries, folded), node_type)

    def _with_alias(self, entries: Iterable[int], folded: str) -> list[int]:
        """Return the sorted ids of the nodes with an alias among ``entries`` that is caseless ``folded``."""
        numbers = [entry - self.count for entry in entries if entry >= self.count]
        same = np.array([number for number in numbers if caseless(self.alias_names[number]) == folded], np.int64)
        found: list[int] = distinct(self._checked(self.alias_nodes[same], self.count)).tolist()
        return found

    def _those_of_type(self, ids: list[int], node_type: str | None) -> list[int]:
        """Like :meth:`_of_type` for a list, which is faster for few nodes."""
        if node_type is None or not ids:
            return ids
        known = self._schema.type(node_type)
        if not known.others:
            return [node for node in ids if known.first <= node <= known.last]
        found: list[int] = self._of_type(np.array(ids, np.int32), node_type).tolist()
        return found

    def unique_ids(self, node_type: str | None, keys: Sequence[str]) -> Ids:
        """Return the id of the one node of a type with each key; -1 where there is none, or several.

        Looks up all keys at once, for the columns of a table. Primary members of a type take precedence.
        """
        queries, nodes = self._matching_keys(keys)
        found = self._singles(queries, nodes, len(keys), node_type)
        if node_type is not None and self._schema.type(node_type).others:
            known = self._schema.type(node_type)
            primary = (nodes >= known.first) & (nodes <= known.last)
            own = self._singles(queries[primary], nodes[primary], len(keys), None)
            has_own = np.bincount(queries[primary], minlength=len(keys)) > 0
            found = np.where(has_own, own, found)
        return found

    def unique_ids_by_name(self, node_type: str | None, names: Sequence[str]) -> Ids:
        """Return the id of the one node of a type with each name, found as by :meth:`by_name`; -1 as for keys."""
        import polars as pl

        encoded = [_encoded(name) for name in names]
        folded = words_of(pl.Series([_unicode(name) for name in names], dtype=pl.String))
        queries, entries = self.name_index.many(hashes(folded.cast(pl.Binary).to_list()))
        own = entries < self.count
        queries, nodes = self._equal(self.names, queries[own], entries[own], encoded)
        mask = self.has_type(nodes, node_type)
        found = self._singles(queries[mask], nodes[mask], len(names), None)
        for position in np.flatnonzero(np.bincount(queries[mask], minlength=len(names)) == 0).tolist():
            others = self._with_name(node_type, names[position])  # in other case, or an alias
            found[position] = others[0] if len(others) == 1 else -1
        return found

    def _singles(self, queries: NDArray[np.int64], nodes: Ids, count: int, node_type: str | None) -> Ids:
        """Return the one node of a type of each query; -1 where there is none, or several."""
        mask = self.has_type(nodes, node_type)
        queries, nodes = queries[mask], nodes[mask]
        found = np.full(count, -1, np.int32)
        single = np.bincount(queries, minlength=count)[queries] == 1
        found[queries[single]] = nodes[single]
        return found

    def _matching_keys(self, keys: Sequence[str]) -> tuple[NDArray[np.int64], Ids]:
        """Return (position in ``keys``, node), sorted, for all nodes with these keys."""
        encoded = [_encoded(key) for key in keys]
        return self._equal(self.keys, *self.key_index.many(hashes(encoded)), encoded)

    @staticmethod
    def _equal(
        column: Strings, queries: NDArray[np.int64], nodes: Ids, texts: Sequence[bytes]
    ) -> tuple[NDArray[np.int64], Ids]:
        """Return the pairs of query and node whose string in ``column`` is the text of the query."""
        import pyarrow as pa
        import pyarrow.compute as pc

        strings = column.take(nodes).cast(pa.large_binary())
        same = pc.equal(strings, pa.array(texts, pa.large_binary()).take(pa.array(queries)))
        mask = same.to_numpy(zero_copy_only=False).astype(bool)
        return queries[mask], nodes[mask]

    def by_iri(self, iris: Sequence[str]) -> tuple[Ids, list[str]]:
        """Return the sorted ids of the nodes with these distinct IRIs, and the sorted IRIs that match no node."""
        base = self._schema.key_base if self._schema.rdf_source else self._schema.base
        rest = [iri[len(base) :] if iri.startswith(base) else "" for iri in iris]
        if self._schema.rdf_source:  # the IRI is the base and the key
            found = self.unique_ids(None, rest)
        else:
            parts = [text.partition("/") for text in rest]
            decoded = [urllib.parse.unquote(key) if "%" in key else key for _, _, key in parts]
            names = [urllib.parse.unquote(name) if "%" in name else name for name, _, _ in parts]
            found = self._of_types(names, decoded)
        outside = np.fromiter((not iri.startswith(base) for iri in iris), bool, len(iris))
        found[outside] = -1
        return np.sort(found[found >= 0]), sorted(iris[i] for i in np.flatnonzero(found < 0).tolist())

    def _of_types(self, types: Sequence[str], keys: Sequence[str]) -> Ids:
        """Return the id of the node with each (primary type, key), -1 where there is none."""
        numbers = {t.name: number for number, t in enumerate(self._schema.primary_types)}
        wanted = np.fromiter((numbers.get(name, -1) for name in types), np.int64, len(types))
        queries, nodes = self._matching_keys(keys)
        mask = self._type_numbers(nodes) == wanted[queries]
        found = np.full(len(keys), -1, np.int32)
        found[queries[mask]] = nodes[mask]
        return found

    def by_type_and_key(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return id, type, key of the existing nodes named in the columns ``type`` (primary) and ``key``, by id."""
        import polars as pl

        ids = self._of_types(frame["type"].to_list(), frame["key"].to_list())
        found = frame.select(pl.Series("id", ids, dtype=pl.Int32), "type", "key")
        return found.filter(pl.col("id") >= 0).sort("id")

    # -- by prefix, similar, and by a part of the name ----------------------------------------------------------------

    def starting(self, text: str, node_type: str | None) -> Ids:
        """Return the sorted ids of all nodes of a type with a name or alias that starts with a text.

        Ignores case, accents and punctuation. The last word may be incomplete, unless a separator follows it.
        """
        prefix = words(text)
        if not prefix:
            return np.empty(0, np.int32)
        ranks = _prefixed(len(self.name_order), self._words_at, prefix, whole=ends_word(text))
        return self._nodes_of(self._checked(self.name_order[ranks], len(self.name_order)), node_type)

    def named(self, text: str, node_type: str | None = None) -> Ids:
        """Return the sorted ids of the nodes of a type with a name or alias of the same words.

        Ignores case, accents and punctuation.
        """
        wanted = words(text)
        entries = [e for e in self.name_index.candidates(_encoded(wanted)) if self._words_of(e) == wanted]
        return self._nodes_of(np.array(entries, np.int32), node_type)

    def _nodes_of(self, entries: Ids, node_type: str | None) -> Ids:
        """Return the sorted ids of the nodes of a type with these entries, which are names and aliases."""
        own, others = entries[entries < self.count], entries[entries >= self.count] - self.count
        if len(others):
            own = np.concatenate([own, self._checked(self.alias_nodes[others], self.count)])
        return distinct(self._of_type(own, node_type))

    def _words_at(self, rank: int) -> str:
        return self._words_of(int(self.name_order[rank]))

    def _words_of(self, entry: int) -> str:
        return words(self.names[entry] if entry < self.count else self.alias_names[entry - self.count])

    def keys_starting(self, prefix: str, node_type: str | None, limit: int) -> list[NodeRow]:
        """Return nodes of a type whose key starts with ``prefix``, by key."""
        ranks = _prefixed(self.count, lambda rank: self.keys[self.key_order[rank]], prefix)
        return self._rows(self._of_type(self.key_order[ranks], node_type)[:limit].tolist())

    def closest(self, text: str, node_type: str | None = None, limit: int = 5, *, keys: bool = False) -> list[NodeRow]:
        """Return the nodes of a primary type (None: any) whose names, or ``keys``, are similar to a text, best first.

        The measure is Jaro-Winkler similarity in lower case, at least 0.8. If nodes share a name, only the first is
        returned.
        """
        column = "key" if keys else "name"
        where = "WHERE type = $type" if node_type else ""
        rows = self._tables().rows(
            f"""SELECT id FROM (
                SELECT {column}, min(id) AS id, jaro_winkler_similarity(lower({column}), lower($text)) AS similarity
                FROM nodes {where} GROUP BY {column} HAVING similarity >= {_MIN_SIMILARITY})
            ORDER BY similarity DESC, {column} LIMIT $limit""",
            {"text": _unicode(text), "limit": limit, **({"type": node_type} if node_type else {})},
        )
        return self._rows([node for (node,) in rows])

    def containing(self, text: str, node_type: str | None) -> Ids:
        """Return the sorted ids of the nodes of a type whose name or alias contains these words; reads all names."""
        import polars as pl

        def hits(column: Strings, positions: Ids) -> Ids:
            folded = words_of(pl.Series(column.take(positions), dtype=pl.String))
            found: Ids = positions[folded.str.contains(text, literal=True).to_numpy()]
            return found

        numbers = np.flatnonzero(self.has_type(self.alias_nodes, node_type)).astype(np.int32)
        aliased = self._checked(self.alias_nodes[hits(self.alias_names, numbers)], self.count)
        return distinct(np.concatenate([hits(self.names, self.members(node_type)), aliased]))

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

        if len(ids) <= _FEW:  # without loading Arrow
            rows = [self.row(node) for node in ids.tolist()]
            values: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in columns}
        else:
            types = [t.name for t in self._schema.primary_types]
            makers: dict[str, Callable[[], Any]] = {
                "id": lambda: ids,
                "key": lambda: self.keys.take(ids),
                "type": lambda: _arrow(types).take(self._type_numbers(ids)),
                "name": lambda: self.names.take(ids),
            }
            values = {name: makers[name]() for name in columns}
        # Column by column: for a table, polars wakes its threads, which takes longer than the conversion.
        kinds = {"id": pl.Int32}
        return pl.DataFrame([pl.Series(name, values[name], kinds.get(name, pl.String)) for name in columns])

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


class HashIndex:
    """Sorted hashes of texts, with the entry of each: candidates, which must be compared."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}_entries.npy"
        self._hashes, self._entries = mapped(folder / f"{name}_hashes.npy"), mapped(self._path)
        kinds = self._hashes.dtype == np.uint32 and self._entries.dtype == np.int32
        if not kinds or self._hashes.ndim != 1 or self._hashes.shape != self._entries.shape:
            raise ValueError(f"{name}_hashes.npy and {name}_entries.npy do not belong together")

    def __len__(self) -> int:
        return len(self._entries)

    def close(self) -> None:
        """Unmap the files."""
        self._hashes, self._entries = np.empty(0, np.uint32), np.empty(0, np.int32)

    def candidates(self, text: bytes) -> list[int]:
        """Return the entries with the hash of a text, in ascending order."""
        value = np.uint32(crc32(text))  # of the same type, else NumPy would convert all hashes
        start = int(self._hashes.searchsorted(value))
        found: list[int] = self._entries[start : int(self._hashes.searchsorted(value, "right"))].tolist()
        if found and not (min(found) >= 0 and max(found) < len(self)):
            raise damaged(self._path)
        return found

    def many(self, values: NDArray[np.uint32]) -> tuple[NDArray[np.int64], Ids]:
        """Return (position in ``values``, entry) for each hash, sorted."""
        start, end = self._hashes.searchsorted(values), self._hashes.searchsorted(values, "right")
        entries = self._entries[expand_ranges(start, end - start)]
        if len(entries) and not (entries.min() >= 0 and entries.max() < len(self)):
            raise damaged(self._path)
        return np.repeat(np.arange(len(values)), end - start), entries


def _encoded(text: str) -> bytes:
    """Return a text as UTF-8; with unpaired surrogates, it equals no text of the directory."""
    return text.encode("utf-8", "surrogatepass")


def _unicode(text: str) -> str:
    """Return a text without unpaired surrogates, which no engine accepts."""
    return text.encode("utf-8", "replace").decode()


def _arrow(texts: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    return pa.array(texts, pa.string())


def _prefixed(count: int, at: Callable[[int], str], prefix: str, *, whole: bool = False) -> slice:
    """Return the ranks of sorted texts that start with ``prefix``; ``at`` returns the text of a rank.

    With ``whole``, the last word of the prefix must be a whole word.
    """

    def is_after(rank: int) -> bool:
        text = at(rank)
        # A space sorts before letters and digits, so that the texts with the whole word come first.
        return not text.startswith(prefix) or (whole and text[len(prefix) : len(prefix) + 1] not in ("", " "))

    first = bisect.bisect_left(range(count), prefix, key=at)
    return slice(first, bisect.bisect_left(range(count), True, first, key=is_after))
