"""Node lookup: by id, key, name, alias, IRI, prefix and similarity, for one node or many at once.

This is the only module that looks up nodes by key or name. Keys match exactly. Names match exactly, then
case-insensitively, then as an alias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kbkit.errors import Command, KbError, UnknownNameError
from kbkit.schema import Schema, literal
from kbkit.stores.tables import Tables

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

SEARCH_HINT = ("Search by words: ", Command("search KB TEXT"))
"""Hint for an unknown node with no similar name."""

_FRAME = "SELECT id, key, type, name FROM nodes WHERE id IN (SELECT unnest($ids))"
_HAS_ALIAS = "len(list_filter(aliases, lambda alias: lower(alias) = lower($text))) > 0"
_WITH_ALIAS = "(SELECT *, unnest(aliases) AS alias FROM nodes WHERE len(aliases) > 0)"
_KEY_MATCH = ("n.key = $text", "nodes n ON n.key = b.text")
_NAME_MATCHES = (
    ("n.name = $text", "nodes n ON n.name = b.text"),
    ("lower(n.name) = lower($text)", "nodes n ON lower(n.name) = lower(b.text)"),
    (_HAS_ALIAS, f"{_WITH_ALIAS} n ON lower(n.alias) = lower(b.text)"),
)
"""How names match, in order: the condition for one ``$text``, and the join for a batch ``b``."""
_FOLDED = "replace(replace(translate(strip_accents(lower({0})), 'øłđıð', 'oldid'), 'æ', 'ae'), 'œ', 'oe')"
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
    aliases: Sequence[str] | None


def typed(text: str) -> str | int:
    """Parse a reference from a command line: ``#17`` is an id, anything else is passed to :meth:`Nodes.find`."""
    return int(text[1:]) if text[:1] == "#" and text[1:].isdecimal() else text


class Nodes:
    """Look up nodes of one KB. Lookups of many keys, names or ids take one statement."""

    def __init__(self, tables: Tables, schema: Schema) -> None:
        self._tables, self._schema = tables, schema

    # -- by reference -------------------------------------------------------------------------------------------------

    def find(self, reference: str | int) -> int:
        """Return the id of a node: an id, ``type#key``, ``type:name``, a key, a name or an alias, tried in that order.

        Raises :class:`UnknownNameError` with similar names, and :class:`KbError` if several nodes match.
        """
        if isinstance(reference, int):
            if not 0 <= reference < self._schema.nodes:
                raise KbError(f"No node has the id {reference}", f"Ids are 0 to {self._schema.nodes - 1}")
            return reference
        readings = self._readings(reference)
        for node_type, text, only_key in readings:
            for condition, _ in (_KEY_MATCH, *(() if only_key else _NAME_MATCHES)):
                ids = self._ids(node_type, text, condition)
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

    def _ids(self, node_type: str | None, text: str, condition: str) -> list[int]:
        """Return the sorted ids of the nodes of a type that meet a condition, by primary type if there are any."""
        sql = f"SELECT n.id FROM nodes n WHERE {condition} AND {self._of_type(node_type)} ORDER BY n.id"
        ids = [int(node) for (node,) in self._tables.rows(sql, {"text": text})]
        if node_type is None or len(ids) < 2:
            return ids
        known = self._schema.type(node_type)
        return [node for node in ids if known.first <= node <= known.last] or ids

    def _readings(self, reference: str) -> list[tuple[str | None, str, bool]]:
        """Return (type, text, whether the text can only be a key) for each way to split a reference.

        Types may contain ``#`` and ``:``, so the longest type that fits comes first.
        """
        result: list[tuple[str | None, str, bool]] = []
        for name in sorted((t.name for t in self._schema.node_types), key=len, reverse=True):
            for sign in ("#", ":"):
                if reference.startswith(name + sign):
                    result.append((name, reference[len(name) + 1 :], sign == "#"))
        return [*result, (None, reference, False)]

    # -- by key, name and IRI -----------------------------------------------------------------------------------------

    def by_key(self, node_type: str | None, keys: Sequence[str]) -> list[list[NodeRow]]:
        """Return for each key the nodes of a type (None: any) with that key, sorted by id.

        Nodes with ``node_type`` as a secondary type are returned only if no node has it as its primary type.
        """
        found = self._match(node_type, keys, _KEY_MATCH)
        return [[row for row in rows if row.type == node_type] or rows for rows in found]

    def by_name(self, node_type: str | None, names: Sequence[str]) -> list[list[NodeRow]]:
        """Return for each name the nodes of a type (None: any) with that name, sorted by id.

        If no name matches exactly, match case-insensitively, then aliases.
        """
        found: list[list[NodeRow]] = [[] for _ in names]
        for match in _NAME_MATCHES:
            missing = [i for i, rows in enumerate(found) if not rows]
            if not missing:
                break
            for i, rows in zip(missing, self._match(node_type, [names[i] for i in missing], match), strict=True):
                found[i] = rows
        return found

    def _match(self, node_type: str | None, texts: Sequence[str], match: tuple[str, str]) -> list[list[NodeRow]]:
        condition, join = match
        if len(texts) == 1:  # a filter is faster than a join
            columns = "n.id, n.type::VARCHAR, n.key, n.name"
            sql = f"SELECT {columns} FROM nodes n WHERE {condition} AND {self._of_type(node_type)} ORDER BY n.id"
            return [[NodeRow(*row) for row in self._tables.rows(sql, {"text": texts[0]})]]
        rows = self._tables.rows(
            f"""SELECT DISTINCT b.position, n.id, n.type::VARCHAR, n.key, n.name
            FROM (SELECT unnest($positions) AS position, unnest($texts) AS text) b JOIN {join}
            WHERE {self._of_type(node_type)} ORDER BY b.position, n.id""",
            {"positions": list(range(len(texts))), "texts": list(texts)},
        )
        found: list[list[NodeRow]] = [[] for _ in texts]
        for position, *row in rows:
            found[position].append(NodeRow(*row))
        return found

    def _of_type(self, node_type: str | None) -> str:
        """Return the SQL condition that a node ``n`` has a type, primary or secondary."""
        if node_type is None:
            return "true"
        known = self._schema.type(node_type)
        primary = f"n.id BETWEEN {known.first} AND {known.last}"
        if not known.others:
            return primary
        return f"({primary} OR n.id IN (SELECT id FROM node_types WHERE type = {literal(node_type)}))"

    def by_iri(self, iris: Sequence[str]) -> tuple[NDArray[np.int32], list[str]]:
        """Return the sorted ids of the nodes with these distinct IRIs, and the sorted IRIs that match no node."""
        import polars as pl

        base = self._schema.base
        rest = "url_decode(split_part(substr(b.iri, $start), '/', {}))"
        match = f"starts_with(b.iri, $base) AND n.type = {rest.format(1)} AND n.key = {rest.format(2)}"
        if self._schema.rdf_source:  # the IRI is the base and the key
            base, match = self._schema.key_base, "starts_with(b.iri, $base) AND n.key = substr(b.iri, $start)"
        found = self._tables.lookup(
            f"SELECT b.iri, n.id FROM kbkit_batch b LEFT JOIN nodes n ON {match}",
            {"start": len(base) + 1, "base": base},
            {"kbkit_batch": pl.DataFrame({"iri": pl.Series(list(iris), dtype=pl.String)})},
        )
        known = found.drop_nulls("id")["id"].sort().to_numpy().astype(np.int32)
        return known, sorted(found.filter(pl.col("id").is_null())["iri"].to_list())

    def by_type_and_key(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return id, type, key of the existing nodes named in the columns ``type`` (primary) and ``key``, by id."""
        return self._tables.lookup(
            "SELECT n.id, b.type, b.key FROM nodes n JOIN kbkit_batch b ON n.type = b.type AND n.key = b.key"
            " ORDER BY n.id",
            frames={"kbkit_batch": frame},
        )

    def namesakes(self, text: str, limit: int) -> list[tuple[int, bool]]:
        """Return (id, whether only an alias matches) of nodes with a name or alias, case-insensitive, names first."""
        return self._tables.rows(
            f"SELECT id, lower(name) <> lower($text) FROM nodes WHERE lower(name) = lower($text) OR {_HAS_ALIAS}"
            " ORDER BY 2, 1 LIMIT $limit",
            {"text": text, "limit": limit},
        )

    # -- similar, and by a part of the name ---------------------------------------------------------------------------

    def closest(self, text: str, node_type: str | None = None, limit: int = 5, *, keys: bool = False) -> list[NodeRow]:
        """Return the nodes of a primary type (None: any) whose names, or ``keys``, are similar to a text, best first.

        The measure is Jaro-Winkler similarity in lower case, at least 0.8. If nodes share a name, only the first is
        returned.
        """
        column = "key" if keys else "name"
        where = "WHERE type = $type" if node_type else ""
        rows = self._tables.rows(
            f"""SELECT first.id, first.type::VARCHAR, first.key, first.name FROM (
                SELECT {column}, arg_min({{'id': id, 'type': type, 'key': key, 'name': name}}, id) AS first,
                       jaro_winkler_similarity(lower({column}), lower($text)) AS similarity
                FROM nodes {where} GROUP BY {column} HAVING similarity >= {_MIN_SIMILARITY})
            ORDER BY similarity DESC, {column} LIMIT $limit""",
            {"text": text, "limit": limit, **({"type": node_type} if node_type else {})},
        )
        return [NodeRow(*row) for row in rows]

    def containing(self, word: str, node_type: str | None, limit: int, *, prefix: bool = False) -> list[NamesRow]:
        """Return nodes of a type whose name or alias contains ``word``, or starts with it (``prefix``), by id.

        ``word`` is lower case without accents; empty matches all.
        """
        where, params = self._of_type(node_type), {"word": word}
        if word:
            matches = f"{'starts_with' if prefix else 'contains'}({_FOLDED}, $word)"
            in_alias = f"len(list_filter(n.aliases, lambda alias: {matches.format('alias')})) > 0"
            where += f" AND ({matches.format('n.name')} OR {in_alias})"
        sql = f"SELECT id, key, type, name, aliases FROM nodes n WHERE {where} ORDER BY id LIMIT {limit:d}"
        return [NamesRow(*row) for row in self._tables.rows(sql, params if word else {})]

    def keys_starting(self, prefix: str, node_type: str | None, limit: int) -> list[NodeRow]:
        """Return nodes of a type whose key starts with ``prefix``, by key."""
        where = self._of_type(node_type)
        sql = (
            f"SELECT id, type, key, name FROM nodes n WHERE {where} AND starts_with(key, $prefix)"
            f" ORDER BY key LIMIT {limit:d}"
        )
        return [NodeRow(*row) for row in self._tables.rows(sql, {"prefix": prefix})]

    # -- by id --------------------------------------------------------------------------------------------------------

    def frame(self, ids: Any) -> pl.DataFrame:
        """Return id, key, type, name of the nodes with these ids, sorted by id."""
        import polars as pl

        frames = {"kbkit_batch": pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int32)})}
        sql = "SELECT id, key, type, name FROM nodes WHERE id IN (SELECT id FROM kbkit_batch) ORDER BY id"
        return self._tables.lookup(sql, frames=frames)

    def rows(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Return the nodes with these ids, by id in ascending order."""
        rows = self._tables.rows(f"{_FRAME} ORDER BY id", {"ids": list(ids)}) if len(ids) else []
        return {node: NodeRow(node, node_type, key, name) for node, key, node_type, name in rows}

    def with_aliases(self, ids: Sequence[int]) -> list[NamesRow]:
        """Return the nodes with these ids and their aliases, in the order of ``ids``."""
        sql = "SELECT id, key, type, name, aliases FROM nodes WHERE id IN (SELECT unnest($ids))"
        found = {row[0]: NamesRow(*row) for row in self._tables.rows(sql, {"ids": list(ids)})} if len(ids) else {}
        return [found[node] for node in ids]
