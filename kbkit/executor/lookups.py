"""Fast lookups of names in a KB during typing; errors are ignored."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from kbkit.schema import quote
from kbkit.stores.folding import ends_word, words

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.stores.arrays import Within
    from kbkit.stores.node_directory import Ids

P = ParamSpec("P")
T = TypeVar("T")

Row: TypeAlias = tuple[str, str, str, str]
"""A node: name, primary type, key, and the alias if it matched instead of the name."""

_FEW = 20_000
"""Maximum number of nodes of a type or KB to scan for a word inside a name, without a text index."""
_LISTED = 2_000
"""Maximum number of nodes of a type to complete without any typed letter."""
_INSIDE = 300
"""Maximum number of names with a word inside to choose from."""
_LONGEST = 200
"""Characters of the typed text that are looked up."""
_SCANNED = 2_000_000
"""Maximum number of nodes of a type whose values are scanned for completion."""
_OVERLAPPING = 100_000
"""Secondary members of a type from which they are left out of the search for words inside names."""


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

    # -- nodes ----------------------------------------------------------------------------------------------------

    @_quiet
    def names(self, typed: str, type_name: str | None, limit: int) -> list[Row]:
        """Return nodes (of a type) whose name or alias starts with the typed text, then nodes that contain it.

        Exact names come first, then nodes with many neighbours.
        """
        nodes, typed = self._kb.stores.nodes, typed[:_LONGEST]
        node_type = None if type_name is None else self._schema.type(type_name).name
        count = self._schema.nodes if node_type is None else self._schema.type(node_type).members
        if not typed:
            found = nodes.members(node_type) if count <= _LISTED else nodes.members(node_type)[:0]
            return self._sorted(self._popular(found, limit), typed, limit)
        starting = nodes.starting(typed, node_type)
        same = nodes.named(typed, node_type)
        ids = list(dict.fromkeys([*self._popular(same, limit), *self._popular(starting, limit)]))
        if len(ids) < limit and len(typed) > 1:
            ids += self._popular(self._inside(typed, node_type, count, starting), limit - len(ids))
        return self._sorted(ids[:limit], typed, limit)

    @_quiet
    def values(self, type_name: str, attribute: str, typed: str, limit: int) -> list[str]:
        """Return distinct values of a text attribute that start with the typed text, the most frequent first."""
        kind = self._schema.type(type_name)
        known = {a.name.casefold(): a for a in kind.attributes}
        found = known.get(attribute.casefold())
        if found is None and attribute.casefold() in ("name", "key") and typed:
            if attribute.casefold() == "key":
                return [key for _, _, key, _ in self.keys(typed, type_name, limit)]
            rows = self.names(typed, type_name, limit)
            return list(dict.fromkeys(name for name, *_ in rows if name.casefold().startswith(typed.casefold())))
        if found is None or kind.members > _SCANNED:
            return []
        item = f"unnest({quote(found.name)})" if found.type.endswith("[]") else quote(found.name)
        sql = (
            f"SELECT value FROM (SELECT {item} AS value FROM {quote(kind.table)})"
            f" WHERE starts_with(lower(value), lower($typed)) GROUP BY value"
            f" ORDER BY count(*) DESC, value LIMIT {limit}"
        )
        return [value for (value,) in self._kb.tables.rows(sql, {"typed": typed[:_LONGEST]})]

    def _inside(self, typed: str, node_type: str | None, count: int, starting: Ids) -> Ids:
        """Return nodes with a word inside their name or alias that starts with the typed text."""
        import numpy as np

        if self._kb.has("text"):
            found = self._kb.text.names_holding(typed, self._within(node_type), _INSIDE).astype(np.int32)
        elif count <= _FEW:
            found = self._kb.stores.nodes.containing(words(typed), node_type)
        else:
            return starting[:0]
        return found[~np.isin(found, starting)]

    def _sorted(self, ids: Sequence[int], typed: str, limit: int) -> list[Row]:
        """Return matching nodes (most likely first), grouped by the quality of the match."""
        start = words(typed)
        if start and ends_word(typed):
            start += " "
        groups: tuple[list[Row], ...] = ([], [], [], [], [])
        for _, key, kind, name, aliases in self._kb.stores.nodes.with_aliases(ids):
            quality, alias = _match(start, name, aliases)
            if quality < len(groups):
                groups[quality].append((name, kind, key, alias))
        return [row for group in groups for row in group][:limit]

    def _within(self, name: str | None) -> Within:
        """Return the nodes of a type; without secondary members if there are very many."""
        import numpy as np

        if name is None:
            return None
        node_type = self._schema.type(name)
        if not node_type.others or node_type.others > _OVERLAPPING:
            return range(node_type.first, node_type.last + 1)
        return self._kb.stores.nodes.members(name).astype(np.int64)

    def _popular(self, ids: Ids, limit: int) -> list[int]:
        """Return up to ``limit`` nodes by decreasing degree, or by id if the KB has no adjacency arrays."""
        import numpy as np

        from kbkit.graph.nodes import degrees_of_all

        if not self._kb.has("adjacency") or not len(ids):
            return [int(node) for node in ids[:limit]]
        degrees = self._kb.stores.shared(degrees_of_all)[ids]
        if len(ids) > 4 * limit:  # sort only those that may be among the best
            least = -np.partition(-degrees, limit)[limit]
            ids, degrees = ids[degrees >= least], degrees[degrees >= least]
        order: list[int] = ids[np.lexsort((ids, -degrees))[:limit]].tolist()
        return order

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
        """Return saved and shipped queries: name, statement or title."""
        saved = [(query.name, " ".join(query.statement.split())) for query in self._kb.workspace.queries.all()]
        return [*saved, *_queries()]

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
    matches = [(_quality(start, words(name)), ""), *((_quality(start, words(alias)) + 1, alias) for alias in aliases)]
    quality, alias = min(matches, key=lambda match: match[0])
    return min(quality, 4 if quality < _NO_MATCH else 5), alias


def _quality(start: str, name: str) -> int:
    if name == start.rstrip():
        return 0
    if name.startswith(start):
        return 2
    return 4 if f" {start}" in f" {name} " else _NO_MATCH
