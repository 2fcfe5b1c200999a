"""The edges of a relation that meet conditions on their attributes, as adjacency arrays in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property

from kbkit.answers.algebra import Move
from kbkit.answers.bind import Bindings
from kbkit.answers.sql_parts import condition_sql, constant_sql
from kbkit.schema import quote
from kbkit.stores import Stores
from kbkit.stores.adjacency import Csr, Ids, csr_of

_MAX_EDGES = 50_000_000
"""Edges of all filtered relations that stay in memory, beside those of the last one: 12 bytes each and direction."""
_MAX_FILTERS = 1_000
"""Filtered relations that stay in memory, however few edges they have."""


class _FilteredEdges:
    """The heads and tails of the edges that meet a condition."""

    def __init__(self, heads: Ids, tails: Ids, nodes: int) -> None:
        self._ends, self._nodes = (heads, tails), nodes

    def __len__(self) -> int:
        return len(self._ends[0])

    @cached_property
    def forward(self) -> Csr:
        """The tails of each head."""
        return csr_of(*self._ends, self._nodes)

    @cached_property
    def backward(self) -> Csr:
        """The heads of each tail."""
        return csr_of(*self._ends[::-1], self._nodes)


class EdgeFilters:
    """The filtered relations of an open KB, read when they are first followed; the last ones stay in memory."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._known: OrderedDict[tuple[str, str], _FilteredEdges] = OrderedDict()
        self._guard = threading.Lock()  # blocks of a batch ask for the same edges at once

    @staticmethod
    def of(stores: Stores) -> EdgeFilters:
        """Return the filters of an open KB, the same ones each time."""
        return stores.shared(EdgeFilters)

    def arrays(self, move: Move, bound: Bindings, *, back: bool = False) -> Csr:
        """Return the arrays of a move, or with ``back`` of its reverse; ``bound`` has its constants."""
        if not move.conditions:
            adjacency = self._stores.adjacency
            return adjacency.backward(move.relation) if move.forward == back else adjacency.forward(move.relation)
        edges = self._edges(move.relation, edge_condition(move, bound))
        return edges.backward if move.forward == back else edges.forward

    def _edges(self, relation: str, condition: str) -> _FilteredEdges:
        key = (relation, condition)
        with self._guard:
            if key not in self._known:
                schema = self._stores.schema
                table = quote(schema.relation(relation).table)
                found = self._stores.tables.lookup(f"SELECT head, tail FROM {table} WHERE {condition}")
                self._known[key] = _FilteredEdges(found["head"].to_numpy(), found["tail"].to_numpy(), schema.nodes)
                edges = sum(map(len, self._known.values()))
                while len(self._known) > 1 and (edges > _MAX_EDGES or len(self._known) > _MAX_FILTERS):
                    edges -= len(self._known.popitem(last=False)[1])
            self._known.move_to_end(key)
            return self._known[key]


def edge_condition(move: Move, bound: Bindings) -> str:
    """Return the SQL of a move's conditions on the view of its relation."""
    return " AND ".join(
        condition_sql(test, [constant_sql(bound[name], test.sql_type) for name in test.parameters])
        for test in move.conditions
    )
