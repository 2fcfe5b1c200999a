"""Fast lookups of names in a KB during typing; errors are ignored."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kbkit.kb import KnowledgeBase
    from kbkit.schema import NodeType, Relation

P = ParamSpec("P")
T = TypeVar("T")

Row: TypeAlias = tuple[str, str, str, str]
"""A node: name, primary type, key, and the alias if it matched instead of the name."""

_FEW = 20_000
"""Maximum number of nodes of a type or KB to scan without a text index."""
_MANY = 100_000
"""Nodes of a KB from which a scan of a small type beats the index for one letter."""
_LISTED = 2_000
"""Maximum number of nodes of a type to complete without any typed letter."""
_CANDIDATES = 1_000
_HELD = 300
_MAX_RELATIONS = 40
"""Relations whose edges count as popularity: the largest ones."""
_LONGEST = 200
"""Characters of the typed text that are looked up."""

_OVERLAPPING = 100_000


@functools.cache
def _words() -> Callable[[str], list[str]]:
    from kbkit.stores.text import analyzer

    return analyzer("simple").analyze


def plain(text: str) -> str:
    """Return the words of a text in lower case, without accents, joined by one space, as in the index."""
    return " ".join(_words()(text.encode("utf-8", "replace").decode()))


def _quiet(function: Callable[P, list[T]]) -> Callable[P, list[T]]:
    """Return nothing if a store is missing, damaged or busy: running the statement reports that."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> list[T]:
        try:
            return function(*args, **kwargs)
        except Exception:  # noqa: BLE001 - every engine has errors of its own
            return []

    return call


class Lookups:
    """Lookups in one open KB."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._schema = kb, kb.schema
        self._columns: dict[str, list[tuple[str, str]]] = {}
        self._members: dict[str, NDArray[np.int64] | range] = {}

    # -- nodes ----------------------------------------------------------------------------------------------------

    @_quiet
    def names(self, typed: str, type_name: str | None, limit: int) -> list[Row]:
        """Return nodes (of a type) whose name or alias starts with the typed text, then nodes that contain it.

        Exact names come first, then nodes with many neighbours.
        """
        typed = typed[:_LONGEST]
        node_type = None if type_name is None else self._schema.type(type_name)
        count = self._schema.nodes if node_type is None else node_type.members
        rare = len(typed) == 1 and count <= _FEW and self._schema.nodes > _MANY
        if self._kb.has("text") and typed and not rare:
            return self._from_index(typed, node_type, limit)
        return self._from_tables(typed, node_type, limit) if count <= (_FEW if typed else _LISTED) else []

    def _from_index(self, typed: str, node_type: NodeType | None, limit: int) -> list[Row]:
        import numpy as np

        within, phrase = self._within(node_type), plain(typed)
        if not phrase:
            return []
        same = self._kb.text.named([phrase], stemmed=False, limit=_CANDIDATES)
        starting = self._kb.text.names_starting(typed, within, _CANDIDATES)
        same = same[np.isin(same, starting)]  # of the type
        ids = list(
            dict.fromkeys([*self._popular(same, node_type)[:limit], *self._popular(starting, node_type)[:limit]])
        )
        if len(ids) < limit and len(phrase) > 1:
            held = self._kb.text.names_holding(typed, within, _HELD)
            ids += self._popular(held[~np.isin(held, starting)], node_type)[: limit - len(ids)]
        return self._sorted(self._kb.stores.nodes.with_aliases(ids[:limit]), typed, limit)

    def _from_tables(self, typed: str, node_type: NodeType | None, limit: int) -> list[Row]:
        import numpy as np

        words = plain(typed).split()
        if typed and not words:
            return []
        word = max(words, key=len, default="")  # a coarse filter, refined below
        type_name = None if node_type is None else node_type.name
        found = self._kb.stores.nodes.containing(word, type_name, _FEW, prefix=len(typed) == 1)
        rows = {row.id: row for row in found}
        order = self._popular(np.fromiter(rows, np.int64, len(rows)), node_type)
        return self._sorted([rows[node] for node in order], typed, limit)

    def _sorted(self, rows: Sequence[Any], typed: str, limit: int) -> list[Row]:
        """Return matching rows (most likely first), grouped by the quality of the match."""
        start = plain(typed)
        if start and typed and not typed[-1].isalnum():
            start += " "
        groups: tuple[list[Row], ...] = ([], [], [], [], [])
        for _, key, kind, name, aliases in rows:
            quality, alias = _match(start, name, aliases or ())
            if quality < len(groups):
                groups[quality].append((name, kind, key, alias))
        return [row for group in groups for row in group][:limit]

    def _within(self, node_type: NodeType | None) -> NDArray[np.int64] | range | None:
        """Return the nodes of a type; without secondary members if there are very many."""
        import numpy as np

        if node_type is None:
            return None
        own = range(node_type.first, node_type.last + 1)
        if not node_type.others or node_type.others > _OVERLAPPING:
            return own
        if node_type.name not in self._members:
            self._members[node_type.name] = self._kb.session.members(node_type.name).astype(np.int64)
        return self._members[node_type.name]

    def _popular(self, ids: NDArray[np.int64], node_type: NodeType | None) -> list[int]:
        """Return the nodes by decreasing degree, or by id if the KB has no adjacency arrays."""
        import numpy as np

        if not self._kb.has("adjacency") or not len(ids):
            return [int(node) for node in ids]
        nodes, degrees = ids.astype(np.int32), np.zeros(len(ids), np.int64)
        for relation in self._counted(node_type):
            sides = (self._kb.adjacency.forward(relation.name), self._kb.adjacency.backward(relation.name))
            for side in sides[:1] if relation.symmetric else sides:
                degrees += side.ranges(nodes)[1]
        order: list[int] = ids[np.lexsort((ids, -degrees))].tolist()
        return order

    def _counted(self, node_type: NodeType | None) -> Sequence[Relation]:
        if node_type is None or node_type.overlaps:
            return self._largest
        named = {node_type.name}
        return [r for r in self._largest if any({s.head, s.tail} & named for s in r.signatures)]

    @functools.cached_property
    def _largest(self) -> Sequence[Relation]:
        return sorted(self._schema.relations, key=lambda r: -r.edges)[:_MAX_RELATIONS]

    @_quiet
    def keys(self, typed: str, type_name: str | None, limit: int) -> list[Row]:
        """Return nodes (of a type) whose key starts with the typed text, ordered by key."""
        rows = self._kb.stores.nodes.keys_starting(typed[:_LONGEST], type_name, limit)
        return [(row.name, row.type, row.key, "") for row in rows]

    # -- sets, queries, templates, guides -------------------------------------------------------------------------

    @_quiet
    def sets(self) -> list[tuple[str, str, str | None]]:
        """Return saved sets: name, description, type."""
        workspace = self._kb.workspace
        if not workspace.sets_folder.is_dir():
            return []
        return [(s.name, f"{s.count:,} {s.type or 'nodes'}: {s.expression}", s.type) for s in workspace.sets()]

    @_quiet
    def queries(self) -> list[tuple[str, str]]:
        """Return shipped queries: name, title."""
        return list(_queries())

    @_quiet
    def templates(self) -> list[tuple[str, str]]:
        """Return templates: id, expression."""
        from kbkit.answers.templates import shipped

        return [(template.id, template.expression) for template in shipped()]

    @_quiet
    def topics(self) -> list[tuple[str, str]]:
        """Return guides: name, title."""
        from kbkit.assets import guidebook

        return [(guide.name, guide.title) for guide in guidebook.guides()]

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Return the columns of a table that is not in the schema."""
        if table not in self._columns:
            self._columns[table] = self._described(table)
        return self._columns[table]

    @_quiet
    def _described(self, table: str) -> list[tuple[str, str]]:
        sql = "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = 'kb' AND table_name = $table"
        return [(name, kind) for name, kind in self._kb.tables.rows(sql, {"table": table})]


@functools.cache
def _queries() -> tuple[tuple[str, str], ...]:
    from kbkit.assets import queries

    result: dict[str, str] = {}
    for kind in queries.ENDINGS:
        for name, path in queries.shipped(kind).items():
            if name not in result:
                result[name] = queries.parse(kind, name, path.read_text(encoding="utf-8-sig")).title
    return tuple(result.items())


_NO_MATCH = 9


def _match(start: str, name: str, aliases: Sequence[str]) -> tuple[int, str]:
    """Return the quality of a match and the alias that matched.

    0: the name is equal, 1: an alias is, 2: the name starts with the text, 3: an alias does, 4: a word of the name or
    an alias does, 5: no match.
    """
    if not start:
        return 2, ""
    matches = [(_quality(start, plain(name)), ""), *((_quality(start, plain(alias)) + 1, alias) for alias in aliases)]
    quality, alias = min(matches, key=lambda match: match[0])
    return min(quality, 4 if quality < _NO_MATCH else 5), alias


def _quality(start: str, words: str) -> int:
    if words == start.rstrip():
        return 0
    if words.startswith(start):
        return 2
    return 4 if f" {start}" in f" {words} " else _NO_MATCH
