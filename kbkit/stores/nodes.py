"""Node lookup by key, name, alias, IRI and prefix, in the memory-mapped node directory.

Every lookup of nodes by key, name, alias, IRI or prefix goes through this module. Keys match exactly. Names match
exactly, then case-insensitively, then as an alias.
"""

from __future__ import annotations

import bisect
import re
import urllib.parse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kbkit.errors import Command, KbError, Part, UnknownNameError
from kbkit.schema import Schema
from kbkit.stores.arrays import distinct
from kbkit.stores.folding import caseless, ends_word, words, words_of
from kbkit.stores.hash_index import hashes
from kbkit.stores.node_directory import Ids, NodeDirectory, NodeRow
from kbkit.stores.strings import Strings

if TYPE_CHECKING:
    import polars as pl

    from kbkit.stores.tables import Tables

SEARCH_HINT = ("Search by words: ", Command("search KB TEXT"))
"""Hint for an unknown node with no similar name."""

_MIN_SIMILARITY = 0.8
_SHORTEST_WORD = 3
"""Characters of a text that is looked for as words of names."""
_MAX_SHARED = 1_000
"""Nodes of one name that :meth:`Nodes.called` compares; more of them are left to the ranking."""
_LONGEST_WORDS = 200
"""Letters of words that are looked for in names, at most: a pattern of more takes long, or cannot be compiled."""
_SPELLED = 5
"""Letters of a word from which words of names that begin with the same letter are compared with it."""


def typed(text: str) -> str | int:
    """Parse a reference from a command line: ``#17`` is an id, anything else is passed to :meth:`Nodes.find`."""
    return int(text[1:]) if text[:1] == "#" and text[1:].isdecimal() else text


class Nodes(NodeDirectory):
    """Look up nodes of one KB. ``tables`` is called for similar names, which only a scan finds."""

    def __init__(self, folder: Path, schema: Schema, tables: Callable[[], Tables]) -> None:
        super().__init__(folder, schema)
        self._tables = tables

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
        hint: tuple[Part, ...] = () if close else SEARCH_HINT
        if whole := [name for name in close if f" {words(text)} " in f" {words(name)} "]:
            hint = (f"Did you mean {' or '.join(map(repr, whole))}?",)
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

    def has_namesake(self, node: int) -> bool:
        """Return whether another node of the primary type of a node has the same name."""
        kind, name = self._schema.type_of(node), self.names.encoded(node)
        entries = self.name_index.candidates(_encoded(words(self.names[node])))
        return any(
            kind.first <= other <= kind.last and other != node and self.names.encoded(other) == name
            for other in entries
        )

    def _with_alias(self, entries: Iterable[int], folded: str) -> list[int]:
        """Return the sorted ids of the nodes with an alias among ``entries`` that is caseless ``folded``."""
        numbers = [entry - self.count for entry in entries if entry >= self.count]
        same = np.array([number for number in numbers if caseless(self.alias_names[number]) == folded], np.int64)
        nodes: list[int] = distinct(self._checked(self.alias_nodes[same], self.count)).tolist()
        return nodes

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
        ids = self._singles(queries, nodes, len(keys), node_type)
        if node_type is not None and self._schema.type(node_type).others:
            known = self._schema.type(node_type)
            primary = (nodes >= known.first) & (nodes <= known.last)
            own = self._singles(queries[primary], nodes[primary], len(keys), None)
            has_own = np.bincount(queries[primary], minlength=len(keys)) > 0
            ids = np.where(has_own, own, ids)
        return ids

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

    def shortest_references(self, frame: pl.DataFrame) -> pl.Series:
        """Return what names each node (``type``, ``key``) in runs and judgements.

        It is the key, or ``type#key`` where several nodes of the KB have the key.
        """
        import polars as pl

        keys = frame["key"].unique()
        queries, _ = self._matching_keys(keys.to_list())
        several = keys.filter(pl.Series(np.bincount(queries, minlength=len(keys)) > 1))
        whole = pl.format("{}#{}", pl.col("type").cast(pl.String), "key")
        shared = pl.col("key").is_in(several.to_list())
        return frame.select(pl.when(shared).then(whole).otherwise("key").alias("node"))["node"]

    def _singles(self, queries: NDArray[np.int64], nodes: Ids, count: int, node_type: str | None) -> Ids:
        """Return the one node of a type of each query; -1 where there is none, or several."""
        mask = self.has_type(nodes, node_type)
        queries, nodes = queries[mask], nodes[mask]
        ids = np.full(count, -1, np.int32)
        single = np.bincount(queries, minlength=count)[queries] == 1
        ids[queries[single]] = nodes[single]
        return ids

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
        ids = np.full(len(keys), -1, np.int32)
        ids[queries[mask]] = nodes[mask]
        return ids

    def by_type_and_key(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return id, type, key of the existing nodes named in the columns ``type`` (primary) and ``key``, by id."""
        import polars as pl

        ids = self._of_types(frame["type"].to_list(), frame["key"].to_list())
        frame_of_ids = frame.select(pl.Series("id", ids, dtype=pl.Int32), "type", "key")
        return frame_of_ids.filter(pl.col("id") >= 0).sort("id")

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
        if not entries:  # most spans of a question
            return np.empty(0, np.int32)
        return self._nodes_of(np.array(entries, np.int32), node_type)

    def may_name(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether :meth:`named` may find nodes, much faster than by calling it for each."""
        possible: list[bool] = self.name_index.has(hashes(_encoded(words(text)) for text in texts)).tolist()
        return possible

    def called(self, text: str) -> Ids:
        """Return the sorted ids of the nodes that a text names in full: by a name, an alias or a key.

        Ignores case: keys also match in lower and in upper case. Only if there are no such nodes, names and aliases of
        the same words match (:meth:`named`).
        """
        text = text.strip()
        entries = self.name_index.candidates(_encoded(words(text)))[:_MAX_SHARED]
        folded = caseless(text)
        own = [e for e in entries if e < self.count and caseless(self.names[e]) == folded]
        keys = [node for form in {text, text.lower(), text.upper()} for node in self._with_key(None, form)]
        found = {*own, *self._with_alias(entries, folded), *keys[:_MAX_SHARED]}
        same = sorted(found) or [entry for entry in entries if self._words_of(entry) == words(text)]
        return self._nodes_of(np.array(same, np.int32), None)

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

        Those of which the text is whole words come first, the shortest before the others; then those with a word that
        is spelled like it (of five letters or more, the first the same, at most a quarter to edit), the nearest first;
        then those that start with it or are spelled like it, all in all: of a Jaro-Winkler similarity in lower case of
        at least 0.8, with at most a third of the letters to edit. If nodes share a name, only the first is returned.
        """
        column = "key" if keys else "name"
        where = "WHERE type = $type" if node_type else ""
        given = {"text": _unicode(text), "limit": limit, **({"type": node_type} if node_type else {})}
        whole, edits, word = "false", "NULL", text.strip()
        if _SHORTEST_WORD <= len(word) <= _LONGEST_WORDS:
            given["words"] = rf"(^|[^\pL\pN]){re.escape(_unicode(word.lower()))}($|[^\pL\pN])"
            whole = f"contains(lower({column}), lower(trim($text))) AND regexp_matches(lower({column}), $words)"
            if len(word) >= _SPELLED and word.isalpha():
                given["first"] = rf"(^|[^\pL\pN]){word.lower()[0]}"
                edits = (
                    f"if(regexp_matches(lower({column}), $first), list_min([damerau_levenshtein(w, lower(trim($text)))"
                    f" FOR w IN string_split_regex(lower({column}), '[^\\pL\\pN]+')"
                    f" IF abs(length(w) - length(trim($text))) <= length(trim($text)) // 4]), NULL)"
                )
        rows = self._tables().rows(
            f"""SELECT id FROM (
                SELECT {column}, min(id) AS id, {whole} AS whole, {edits} AS edits,
                    jaro_winkler_similarity(lower({column}), lower($text)) AS similarity
                FROM nodes {where} GROUP BY {column} HAVING whole OR 4 * edits <= length(trim($text))
                    OR (similarity >= {_MIN_SIMILARITY}
                    AND (starts_with(lower({column}), lower($text)) OR 3 * damerau_levenshtein(
                        lower({column}), lower($text)) <= greatest(length({column}), length($text)))))
            ORDER BY whole DESC, if(whole, length({column}), 0),
                if(4 * edits <= length(trim($text)), edits, 99), similarity DESC, {column} LIMIT $limit""",
            given,
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


def _encoded(text: str) -> bytes:
    """Return a text as UTF-8; with unpaired surrogates, it equals no text of the directory."""
    return text.encode("utf-8", "surrogatepass")


def _unicode(text: str) -> str:
    """Return a text without unpaired surrogates, which no engine accepts."""
    return text.encode("utf-8", "replace").decode()


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
