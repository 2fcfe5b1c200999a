"""Looks names up in a KB while somebody types: quick, and silent about what goes wrong."""

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
"""A node: name, primary type, key, and the alias that was looked for where the name was not."""

_FEW = 20_000
"""Nodes of a type (or a KB) whose names are read one by one, where there is no index."""
_MANY = 100_000
"""Nodes of a KB where one letter, within a type that has few of them, is sooner read than found in the index."""
_LISTED = 2_000
"""Nodes of a type of which some are offered before a letter is typed."""
_CANDIDATES = 1_000
_HELD = 300
_MOST_RELATIONS = 40
"""Relations by which neighbours are counted: those with most edges."""
_LONGEST = 200
"""Letters of what is typed that are looked for."""

_OVERLAPPING = 100_000


@functools.cache
def _words() -> Callable[[str], list[str]]:
    from kbkit.stores.text import analyzer

    return analyzer("simple").analyze


def plain(text: str) -> str:
    """The words of a text in lower case and without accents, joined by one space, as the index has names."""
    return " ".join(_words()(text.encode("utf-8", "replace").decode()))


def _quiet(function: Callable[P, list[T]]) -> Callable[P, list[T]]:
    """Nothing, where a store is missing, damaged or busy: whoever types is told so when the statement runs."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> list[T]:
        try:
            return function(*args, **kwargs)
        except Exception:  # noqa: BLE001 - every engine has errors of its own
            return []

    return call


class Lookups:
    """The names of one open KB."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._schema = kb, kb.schema
        self._columns: dict[str, list[tuple[str, str]]] = {}
        self._members: dict[str, NDArray[np.int64] | range] = {}

    # -- nodes ----------------------------------------------------------------------------------------------------

    @_quiet
    def names(self, typed: str, type_name: str | None, limit: int) -> list[Row]:
        """Nodes (of a type) whose name or alias starts with what is typed, then those that hold it further on.

        Among them those with a name of just these words come first, then those with most neighbours.
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
        word = max(words, key=len, default="")  # a coarse net; what it holds is looked at again
        type_name = None if node_type is None else node_type.name
        found = self._kb.stores.nodes.containing(word, type_name, _FEW, prefix=len(typed) == 1)
        rows = {row.id: row for row in found}
        order = self._popular(np.fromiter(rows, np.int64, len(rows)), node_type)
        return self._sorted([rows[node] for node in order], typed, limit)

    def _sorted(self, rows: Sequence[Any], typed: str, limit: int) -> list[Row]:
        """Rows (likeliest first) that fit: same name, name that starts so, alias that does, word further on."""
        start = plain(typed)
        if start and typed and not typed[-1].isalnum():
            start += " "
        groups: tuple[list[Row], ...] = ([], [], [], [], [])
        for _, key, kind, name, aliases in rows:
            place, alias = _place(start, name, aliases or ())
            if place < len(groups):
                groups[place].append((name, kind, key, alias))
        return [row for group in groups for row in group][:limit]

    def _within(self, node_type: NodeType | None) -> NDArray[np.int64] | range | None:
        """The nodes of a type; where very many have it besides their primary type, those whose primary type it is."""
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
        """Those with most neighbours first; by id where the KB has no adjacency arrays."""
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
        return sorted(self._schema.relations, key=lambda r: -r.edges)[:_MOST_RELATIONS]

    @_quiet
    def keys(self, typed: str, type_name: str | None, limit: int) -> list[Row]:
        """Nodes (of a type) whose key starts so, in the order of their keys."""
        rows = self._kb.stores.nodes.keys_starting(typed[:_LONGEST], type_name, limit)
        return [(row.name, row.type, row.key, "") for row in rows]

    # -- everything else that has a name --------------------------------------------------------------------------

    @_quiet
    def sets(self) -> list[tuple[str, str, str | None]]:
        """Saved sets: name, what is in it, type."""
        workspace = self._kb.workspace
        if not workspace.sets_folder.is_dir():
            return []
        return [(s.name, f"{s.count:,} {s.type or 'nodes'}: {s.expression}", s.type) for s in workspace.sets()]

    @_quiet
    def queries(self) -> list[tuple[str, str]]:
        """Query files that ship with kbkit: name, title."""
        return list(_queries())

    @_quiet
    def templates(self) -> list[tuple[str, str]]:
        """Templates: id, expression."""
        from kbkit.answers.templates import shipped

        return [(template.id, template.expression) for template in shipped()]

    @_quiet
    def topics(self) -> list[tuple[str, str]]:
        """Guides: name, title."""
        from kbkit.assets import guidebook

        return [(guide.name, guide.title) for guide in guidebook.guides()]

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Columns of a table that the schema says nothing of."""
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


def _place(start: str, name: str, aliases: Sequence[str]) -> tuple[int, str]:
    """How well a name fits, and by which alias: 0 the same, 1 an alias is, 2 starts so, 3 an alias does, 4 a word of
    either does; 5 not at all.
    """
    if not start:
        return 2, ""
    ways = [(_fit(start, plain(name)), ""), *((_fit(start, plain(alias)) + 1, alias) for alias in aliases)]
    place, alias = min(ways, key=lambda way: way[0])
    return min(place, 4 if place < _NOWHERE else 5), alias


_NOWHERE = 9


def _fit(start: str, words: str) -> int:
    if words == start.rstrip():
        return 0
    if words.startswith(start):
        return 2
    return 4 if f" {start}" in f" {words} " else _NOWHERE
