"""What answers run on: the stores of one open KB, and what is kept between expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers import syntax
from kbkit.answers.algebra import Plan
from kbkit.answers.bind import Node, find
from kbkit.answers.resolve import resolve
from kbkit.schema import Schema, literal, quote
from kbkit.stores import Stores
from kbkit.stores.adjacency import Csr, Ids

if TYPE_CHECKING:
    import polars as pl


Move = tuple[str, bool]
"""A relation, and whether it is followed forward."""


class Session:
    """One open KB's answers: caches of plans, nodes by name, filtered nodes and nodes that have a type besides."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.generation = stores.manifest.generation
        self.plan = lru_cache(1024)(self._plan)
        self.others = lru_cache(None)(self._others)
        self.moves = lru_cache(None)(self._moves)
        self.passing = lru_cache(64)(self._passing)
        self.found = lru_cache(1 << 14)(self._found)
        self.held: dict[str, tuple[str | None, Ids]] = {}
        """Sets that live as long as the session: the type of each, and its sorted ids."""

    @staticmethod
    def of(stores: Stores) -> Session:
        """Return the session of an open KB, the same one each time."""
        return stores.shared(Session)

    @property
    def schema(self) -> Schema:
        """The KB's schema."""
        return self.stores.schema

    def _plan(self, tree: syntax.Expression, text: str = "") -> Plan:
        return resolve(tree, self.schema, None, text)

    def resolved(self, tree: syntax.Expression, text: str = "") -> Plan:
        """The plan of a tree; those that name saved sets are made anew, because a set may have changed."""
        if any(isinstance(part, syntax.Saved) for part in syntax.walk(tree)):
            return resolve(tree, self.schema, self.saved_types(), text)
        # With its text, because trees that hold 1, 1.0 and true are equal to Python.
        return self.plan(tree, text or str(tree))

    def saved_types(self) -> Mapping[str, str | None]:
        """The type of each saved set."""
        held = {name: node_type for name, (node_type, _) in self.held.items()}
        return {s.name: s.type for s in self.stores.workspace.sets()} | held

    def _found(self, node_type: str | None, pick: syntax.Name | syntax.Key) -> tuple[Node, ...]:
        """The nodes of a type that a name or key may mean: looking one up takes longer than most walks from it."""
        [nodes] = find(self.stores.tables, self.schema, node_type, [pick])
        return tuple(nodes)

    def move(self, relation: str, forward: bool) -> Csr:
        """The neighbours that a relation leads to."""
        adjacency = self.stores.adjacency
        return adjacency.forward(relation) if forward else adjacency.backward(relation)

    def _moves(self, node_type: str) -> list[Move]:
        """The relations and directions that lead on from nodes of a primary type; symmetric ones forward only."""
        forward = [(r.name, True) for r in self.schema.relations if any(s.head == node_type for s in r.signatures)]
        directed = (r for r in self.schema.relations if not r.symmetric)
        return forward + [(r.name, False) for r in directed if any(s.tail == node_type for s in r.signatures)]

    def _others(self, node_type: str) -> Ids:
        """Sorted ids of the nodes that have a type besides their primary one."""
        if not self.schema.type(node_type).others:
            return np.empty(0, np.int32)
        sql = f"SELECT id FROM node_types WHERE type = {literal(node_type)} ORDER BY id"
        return self.stores.tables.lookup(sql)["id"].to_numpy().astype(np.int32, copy=False)

    def members(self, node_type: str | None) -> Ids:
        """Sorted ids of all nodes of a type."""
        if node_type is None:
            return np.arange(self.schema.nodes, dtype=np.int32)
        known = self.schema.type(node_type)
        own = np.arange(known.first, known.last + 1, dtype=np.int32)
        others = self.others(node_type)
        return np.union1d(own, others) if len(others) else own

    def has_type(self, ids: Ids, node_type: str | None) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """A mask of the ids that have a type."""
        if node_type is None:
            return np.ones(len(ids), bool)
        known = self.schema.type(node_type)
        mask = (ids >= known.first) & (ids <= known.last)
        others = self.others(node_type)
        if len(others):
            mask |= np.isin(ids, others)
        return mask

    def by_iri(self, iris: Sequence[str]) -> tuple[Ids, list[str]]:
        """Sorted ids of the nodes with these distinct IRIs, and the IRIs of none."""
        import polars as pl

        base = self.schema.base
        rest = "url_decode(split_part(substr(a.iri, $start), '/', {}))"
        match = f"starts_with(a.iri, $base) AND n.type = {rest.format(1)} AND n.key = {rest.format(2)}"
        if self.schema.rdf_source:  # there the key ends the IRI
            base, match = self.schema.key_base, "starts_with(a.iri, $base) AND n.key = substr(a.iri, $start)"
        found = self.stores.tables.lookup(
            f"SELECT a.iri, n.id FROM kbkit_found a LEFT JOIN nodes n ON {match}",
            {"start": len(base) + 1, "base": base},
            {"kbkit_found": pl.DataFrame({"iri": pl.Series(list(iris), dtype=pl.String)})},
        )
        known = found.drop_nulls("id")["id"].sort().to_numpy().astype(np.int32)
        return known, sorted(found.filter(pl.col("id").is_null())["iri"].to_list())

    def stored(self, name: str) -> Ids:
        """Sorted ids of the members of a saved or held set that this generation has."""
        if name in self.held:
            return self.held[name][1]
        return self.stored_nodes(name)["id"].to_numpy().astype(np.int32, copy=False)

    def stored_nodes(self, name: str) -> pl.DataFrame:
        """The same as nodes: id, type, key."""
        import polars as pl

        if name in self.held:
            held = pl.DataFrame({"member": self.held[name][1]})
            sql = "SELECT id, type, key FROM nodes WHERE id IN (SELECT member FROM kbkit_members) ORDER BY id"
            return self.stores.tables.lookup(sql, frames={"kbkit_members": held})
        sql = (
            "SELECT n.id, m.type, m.key FROM nodes n JOIN kbkit_members m ON n.type = m.type AND n.key = m.key"
            " ORDER BY n.id"
        )
        return self.stores.tables.lookup(sql, frames={"kbkit_members": self.stores.workspace.members(name)})

    def _passing(self, node_type: str | None, condition: str) -> Ids:
        """Sorted ids of all nodes of a type that pass an SQL condition."""
        return self._select(node_type, condition, {})

    def passing_among(self, node_type: str | None, condition: str, ids: Ids) -> Ids:
        """The ids of ``ids`` that pass an SQL condition."""
        import polars as pl

        frames = {"kbkit_among": pl.DataFrame({"member": ids})}
        return self._select(node_type, f"id IN (SELECT member FROM kbkit_among) AND {condition}", frames)

    def _select(self, node_type: str | None, condition: str, frames: Mapping[str, pl.DataFrame]) -> Ids:
        table = "nodes" if node_type is None else quote(self.schema.type(node_type).table)
        found = self.stores.tables.lookup(f"SELECT id FROM {table} WHERE {condition} ORDER BY id", frames=frames)
        return found["id"].to_numpy().astype(np.int32, copy=False)
