"""The context of answer expressions: the stores of an open KB, and caches shared by all its expressions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers import syntax
from kbkit.answers.algebra import Plan
from kbkit.answers.resolve import resolve
from kbkit.schema import Schema, quote
from kbkit.stores import Stores
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask
from kbkit.stores.node_directory import NodeRow

if TYPE_CHECKING:
    import polars as pl


_MAX_PLANS = 1024


class Session:
    """The context of answer expressions on one open KB, with caches of plans, nodes, filtered nodes and types."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.generation = stores.manifest.generation
        self._plans: dict[str, tuple[syntax.Expression, Plan]] = {}
        self.filtered = lru_cache(64)(self._filtered)
        self.extreme = lru_cache(64)(self._extreme)
        self.lookup = lru_cache(1 << 14)(self._lookup)
        self.session_sets: dict[str, tuple[str | None, Ids]] = {}
        """Sets that exist as long as the session: type and sorted ids, by name."""

    @staticmethod
    def of(stores: Stores) -> Session:
        """Return the session of an open KB, the same one each time."""
        return stores.shared(Session)

    @property
    def schema(self) -> Schema:
        """The KB's schema."""
        return self.stores.schema

    # -- expressions --------------------------------------------------------------------------------------------------

    def resolved(self, tree: syntax.Expression, text: str = "") -> Plan:
        """Return the plan of a tree. Plans with saved sets are not cached, because a set may change."""
        # Cached by text: a tree takes longer to hash, and trees with 1, 1.0 and true are equal in Python.
        text = text or str(tree)
        known = self._plans.get(text)
        if known is not None and (known[0] is tree or known[0] == tree):
            return known[1]
        if "@" in text and any(isinstance(part, syntax.SavedSet) for part in syntax.subtrees(tree)):
            return resolve(tree, self.schema, self.set_types(), text)
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        plan = resolve(tree, self.schema, None, text)
        self._plans[text] = tree, plan
        return plan

    def clear_plans(self) -> None:
        """Empty the cache of plans."""
        self._plans.clear()

    def set_types(self) -> Mapping[str, str | None]:
        """Return the type of each saved set and session set, by name."""
        session_sets = {name: node_type for name, (node_type, _) in self.session_sets.items()}
        return {s.name: s.type for s in self.stores.workspace.sets()} | session_sets

    def _lookup(self, node_type: str | None, selector: syntax.Name | syntax.Key) -> tuple[NodeRow, ...]:
        """Return the nodes of a type with a name or key; cached, because a lookup takes longer than most plans."""
        nodes = self.stores.nodes
        by = nodes.by_key if isinstance(selector, syntax.Key) else nodes.by_name
        [rows] = by(node_type, [selector.text])
        return tuple(rows)

    # -- the graph ----------------------------------------------------------------------------------------------------

    def move(self, relation: str, forward: bool) -> Csr:
        """Return the adjacency arrays of a relation in a direction."""
        adjacency = self.stores.adjacency
        return adjacency.forward(relation) if forward else adjacency.backward(relation)

    # -- types --------------------------------------------------------------------------------------------------------

    def members(self, node_type: str | None) -> Ids:
        """See :meth:`kbkit.stores.nodes.Nodes.members`."""
        return self.stores.nodes.members(node_type)

    def size(self, node_type: str | None) -> int:
        """Return the number of nodes of a type (None: all nodes)."""
        return self.schema.nodes if node_type is None else self.schema.type(node_type).members

    def has_type(self, ids: Ids, node_type: str | None) -> Mask:
        """See :meth:`kbkit.stores.nodes.Nodes.has_type`."""
        return self.stores.nodes.has_type(ids, node_type)

    # -- saved sets ---------------------------------------------------------------------------------------------------

    def saved_ids(self, name: str) -> Ids:
        """Return the sorted ids of a set's members that exist in this generation."""
        if name in self.session_sets:
            return self.session_sets[name][1]
        return self.saved_nodes(name)["id"].to_numpy().astype(np.int32, copy=False)

    def saved_nodes(self, name: str) -> pl.DataFrame:
        """Return id, type, key of a set's members that exist in this generation, sorted by id."""
        nodes = self.stores.nodes
        if name in self.session_sets:
            return nodes.frame(self.session_sets[name][1]).select("id", "type", "key")
        return nodes.by_type_and_key(self.stores.workspace.members(name))

    # -- filters ------------------------------------------------------------------------------------------------------

    def _filtered(self, node_type: str | None, condition: str) -> Ids:
        """Return the sorted ids of the nodes of a type that meet an SQL condition."""
        return self._select(node_type, condition, {})

    def filtered_among(self, node_type: str | None, condition: str, ids: Ids) -> Ids:
        """Return the sorted ids of ``ids`` that meet an SQL condition."""
        import polars as pl

        frames = {"kbkit_batch": pl.DataFrame({"member": ids})}
        return self._select(node_type, f"id IN (SELECT member FROM kbkit_batch) AND {condition}", frames)

    def _select(self, node_type: str | None, condition: str, frames: Mapping[str, pl.DataFrame]) -> Ids:
        return self._ids(f"SELECT id FROM {self.table(node_type)} WHERE {condition} ORDER BY id", frames)

    def _extreme(self, node_type: str | None, value: str, known: str, op: str, number: int | None = None) -> Ids:
        """Return the sorted ids of the nodes of a type with the greatest (``op`` is max) or least (min) value.

        ``value`` is an SQL expression, ``known`` the condition that a node has a value. With ``number`` n: the nodes
        that fewer than n others surpass.
        """
        return self._ids(self._extreme_sql(node_type, value, known, op, number), {})

    def extreme_among(
        self, node_type: str | None, value: str, known: str, op: str, ids: Ids, number: int | None = None
    ) -> Ids:
        """Return the sorted ids of ``ids`` with the greatest or least value among them."""
        import polars as pl

        known = f"id IN (SELECT member FROM kbkit_batch) AND {known}"
        frames = {"kbkit_batch": pl.DataFrame({"member": ids})}
        return self._ids(self._extreme_sql(node_type, value, known, op, number), frames)

    def _extreme_sql(self, node_type: str | None, value: str, known: str, op: str, number: int | None) -> str:
        values = f"SELECT id, {value} AS value FROM {self.table(node_type)} WHERE {known}"
        if number is not None:
            order = "DESC" if op == "max" else "ASC"
            return f"SELECT id FROM ({values}) QUALIFY rank() OVER (ORDER BY value {order}) <= {number} ORDER BY id"
        return f"WITH v AS ({values}) SELECT id FROM v WHERE value = (SELECT {op}(value) FROM v) ORDER BY id"

    def table(self, node_type: str | None) -> str:
        """Return the SQL name of the table with the nodes of a type and their attributes."""
        return "nodes" if node_type is None else quote(self.schema.type(node_type).table)

    def _ids(self, sql: str, frames: Mapping[str, pl.DataFrame]) -> Ids:
        rows = self.stores.tables.lookup(sql, frames=frames)
        return rows["id"].to_numpy().astype(np.int32, copy=False)
