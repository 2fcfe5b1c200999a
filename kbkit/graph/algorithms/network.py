"""The part of a KB's graph that an algorithm works on: relations, a direction, weights, and some of the nodes.

Two nodes may be joined by several edges. Without weights, each relation between two nodes counts once: ranks and
communities count relations, the other algorithms see one edge. With weights, ranks and communities add the weights of
all edges between two nodes, and paths and trees take the least.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.scope import nodes_within
from kbkit.answers.session import Session
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.graph.algorithms.settings import Subgraph
from kbkit.schema import literal, quote
from kbkit.stores import Stores
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask, distinct, expand_ranges
from kbkit.stores.sums import BlockSums, MatrixSums, Sums, total

Positions = NDArray[np.int32]
"""Positions among the nodes of a network, from 0."""

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")


class Network:
    """The nodes and edges of a subgraph, in its direction; ``nodes`` are the sorted ids."""

    def __init__(self, stores: Stores, view: Subgraph, direction: str = "both") -> None:
        self.stores, self.schema = stores, stores.schema
        self.direction: str = getattr(view, "direction", direction)
        self.weight: str | None = getattr(view, "weight", None)
        names = [view.relations] if isinstance(view.relations, str) else list(view.relations)
        chosen = {self.schema.relation(name).name for name in names}
        self.relations = [r for r in self.schema.relations if not chosen or r.name in chosen]
        if self.weight is not None:
            self._check_weight(self.weight)
        self.nodes: Ids = self._scope(view)

    def _scope(self, view: Subgraph) -> Ids:
        """Return the ids of ``within``, by default of all nodes of the types that the chosen relations join."""
        if view.within is not None:
            return np.asarray(nodes_within(Session.of(self.stores), view.within), np.int32)
        joined = {name for r in self.relations for s in r.signatures for name in (s.head, s.tail)}
        if not view.relations:
            return np.arange(self.schema.nodes, dtype=np.int32)
        ranges = [np.arange(t.first, t.last + 1, dtype=np.int32) for t in self.schema.node_types if t.name in joined]
        return np.concatenate([np.empty(0, np.int32), *ranges])

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def inside(self) -> Mask:
        """For each id of the KB, whether the node belongs to the network."""
        mask = np.zeros(self.schema.nodes, bool)
        mask[self.nodes] = True
        return mask

    @cached_property
    def position(self) -> Positions:
        """For each id of the KB, the position of the node in the network, -1 outside."""
        found = np.full(self.schema.nodes, -1, np.int32)
        found[self.nodes] = np.arange(len(self.nodes), dtype=np.int32)
        return found

    # -- without copies -----------------------------------------------------------------------------------------------

    def blocks(self, *, incoming: bool = False) -> list[Csr]:
        """Return the arrays with the next nodes of each node, or with those before it (``incoming``)."""
        return [there if incoming else back for there, back in self._pairs()]

    def _pairs(self) -> list[tuple[Csr, Csr]]:
        """Return (the nodes before each node, the next nodes of each node) for each relation and direction."""
        adjacency = self.stores.adjacency
        found = []
        for relation in self.relations:
            forward, backward = adjacency.forward(relation.name), adjacency.backward(relation.name)
            if self.direction != "in":
                found.append((backward, forward))
            if self.direction != "out" and not (relation.symmetric and self.direction == "both"):
                found.append((forward, backward))
        return found

    def sums(self, *, incoming: bool = False) -> list[Sums]:
        """Return the sums over the next nodes, or over those before, by id; weighted if the subgraph has a weight.

        Values of nodes outside the network must be 0, and sums at them have no meaning.
        """
        if self.weight is None:
            return [BlockSums(*(pair if incoming else pair[::-1])) for pair in self._pairs()]
        matrix = self._weighted(self.schema.nodes, None, "sum")
        turned = matrix.T.tocsr()
        return [MatrixSums(turned, matrix) if incoming else MatrixSums(matrix, turned)]

    def weights_of(self, parts: Sequence[Sums]) -> NDArray[np.float64]:
        """Return for each id the sum of the weights of the edges to the nodes of the network."""
        if self.weight is None and len(self.nodes) == self.schema.nodes:
            found = np.zeros(self.schema.nodes)
            for part in parts:
                found[part.rows] += part.lengths()
            return found
        return total(parts, self.inside.astype(np.float64))

    # -- a matrix of its own ------------------------------------------------------------------------------------------

    def matrix(self, several: str = "one", *, loops: bool = True) -> Any:
        """Return the edges as a SciPy matrix of float64 by position, rows are where edges start.

        Of ``several`` edges between two nodes, ``sum`` adds the weights, ``least`` and ``greatest`` take one of them,
        and ``one`` gives 1, whatever the weights.
        """
        n = len(self.nodes)
        if self.weight is not None and several != "one":
            matrix = self._weighted(n, self.position, several)
        else:
            matrix = self._unweighted(n)
            matrix.sum_duplicates()
            if several != "sum":
                matrix.data[:] = 1
        if not loops:
            matrix = _without_loops(matrix)
        return matrix

    def _unweighted(self, n: int) -> Any:
        """Merge the blocks into one matrix, row by row."""
        from scipy.sparse import csr_array

        parts = [self._inner(csr) for csr in self.blocks()]
        counts = np.zeros(n, np.int64)
        for rows, row_counts, _ in parts:
            counts[rows] += row_counts
        offsets = np.concatenate(([0], np.cumsum(counts)))
        targets = np.empty(int(offsets[-1]), np.int32)
        start = offsets[:-1].copy()
        for rows, row_counts, columns in parts:
            targets[expand_ranges(start[rows], row_counts)] = columns
            start[rows] += row_counts
        kind = np.int32 if offsets[-1] < 2**31 else np.int64
        return csr_array((np.ones(len(targets)), targets, offsets.astype(kind)), shape=(n, n), copy=False)

    def _inner(self, csr: Csr) -> tuple[Positions, NDArray[np.int64], Positions]:
        """Return rows, their numbers of neighbours and the neighbours of a block inside the network, as positions."""
        starts, counts = csr.ranges(self.nodes)
        rows = np.flatnonzero(counts).astype(np.int32)
        starts, counts = starts[rows], counts[rows]
        columns = self.position[csr.expand(starts, counts)]
        inside = columns >= 0
        if not inside.all():
            of = np.repeat(np.arange(len(rows)), counts)[inside]
            columns, counts = columns[inside], np.bincount(of, minlength=len(rows))
        return rows, counts, columns

    # -- weights ------------------------------------------------------------------------------------------------------

    def _check_weight(self, name: str) -> None:
        """Raise unless each relation has the weight as a number."""
        for relation in self.relations:
            known = {a.name: a.type for a in relation.attributes}
            if name not in known:
                others = {a for r in self.schema.relations for a in (x.name for x in r.attributes)}
                if name not in others:
                    raise UnknownNameError("attribute of edges", name, sorted(others))
                raise KbError(
                    f"Relation {relation.name!r} has no attribute {name!r}", "Name the relations that have it"
                )
            if known[name].partition("(")[0].removeprefix("U") not in _NUMBERS:
                raise BadInputError(f"Attribute {name!r} of {relation.name!r} is not a number: {known[name]}")

    def weighted_edges(self) -> Iterator[tuple[Ids, Ids, NDArray[np.float64]]]:
        """Yield (from, to, weight) of the edges inside the network, by id, in its direction, in batches."""
        assert self.weight is not None
        names = ", ".join(literal(r.name) for r in self.relations) or "NULL"
        symmetric = {r.name for r in self.relations if r.symmetric}
        sql = f"SELECT relation::VARCHAR AS relation, head, tail, {quote(self.weight)}::DOUBLE AS weight FROM edges"
        for batch in self.stores.tables.batches(f"{sql} WHERE relation IN ({names})", 1_000_000):
            head, tail = (batch.column(n).to_numpy().astype(np.int32, copy=False) for n in ("head", "tail"))
            weight = batch.column("weight").to_numpy(zero_copy_only=False).astype(np.float64)
            inside = self.inside[head] & self.inside[tail]
            bad = np.flatnonzero(inside & ~np.isfinite(weight))
            if len(bad):
                raise self._bad_weight(batch.slice(int(bad[0]), 1).to_pylist()[0], "Every edge needs a number")
            if self.direction == "in":
                head, tail = tail, head
            yield head[inside], tail[inside], weight[inside]
            if self.direction == "both":
                other = inside
                if symmetric:
                    other = inside & ~np.isin(batch.column("relation").to_numpy(zero_copy_only=False), [*symmetric])
                yield tail[other], head[other], weight[other]

    def _bad_weight(self, edge: dict[str, Any], hint: str) -> KbError:
        ends = self.stores.nodes.rows([edge["head"], edge["tail"]])
        head, tail = (f"{ends[i].type}#{ends[i].key}" for i in (edge["head"], edge["tail"]))
        value = edge["weight"]
        shown = "missing" if value is None else "NaN" if math.isnan(value) else f"{value:g}"
        return BadInputError(f"Invalid {self.weight} of {head} -> [{edge['relation']}] -> {tail}: {shown}", hint)

    def check_positive(self, what: str) -> None:
        """Raise for the first edge with a negative weight, which ``what`` does not allow."""
        if self.weight is None:
            return
        names = ", ".join(literal(r.name) for r in self.relations) or "NULL"
        column = quote(self.weight)
        for head, relation, tail, value in self.stores.tables.rows(
            f"SELECT head, relation::VARCHAR, tail, {column}::DOUBLE FROM edges"
            f" WHERE relation IN ({names}) AND {column} < 0 ORDER BY 1, 2, 3"
        ):
            if self.inside[head] and self.inside[tail]:
                edge = {"head": head, "relation": relation, "tail": tail, "weight": value}
                raise self._bad_weight(edge, f"{what} needs weights of 0 or more")

    def _weighted(self, n: int, position: Positions | None, several: str) -> Any:
        from scipy.sparse import coo_array

        parts = [*self.weighted_edges()]
        rows, columns = (np.concatenate([np.empty(0, np.int32), *(p[i] for p in parts)]) for i in (0, 1))
        weights = np.concatenate([np.empty(0), *(p[2] for p in parts)])
        if position is not None:
            rows, columns = position[rows], position[columns]
        if several in ("least", "greatest") and len(rows):
            packed = rows.astype(np.int64) << 32 | columns
            order = np.argsort(packed)
            packed = packed[order]
            first = np.flatnonzero(np.diff(packed, prepend=-1))
            weights = (np.minimum if several == "least" else np.maximum).reduceat(weights[order], first)
            rows, columns = (packed[first] >> 32).astype(np.int32), (packed[first] & 0xFFFFFFFF).astype(np.int32)
        return coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()

    # -- names --------------------------------------------------------------------------------------------------------

    def find(self, reference: str | int) -> int:
        """Return the position of a node; raise :class:`KbError` if it is outside the network."""
        node = self.stores.nodes.find(reference)
        place = int(self.position[node])
        if place < 0:
            row = self.stores.nodes.row(node)
            raise KbError(f"{row.name} ({row.type}#{row.key}) is outside the graph", "Use other relations or nodes")
        return place

    def positions_of(self, scope: Any, name: str) -> Positions:
        """Return the positions of the nodes of a scope; raise :class:`KbError` if none is in the network."""
        ids = np.asarray(nodes_within(Session.of(self.stores), scope, name), np.int32)
        found = self.position[ids]
        found = distinct(found[found >= 0])
        if not len(found):
            raise KbError(f"No node of {name} is in the graph", "Use other nodes or relations")
        return found


def _without_loops(matrix: Any) -> Any:
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keep = rows != matrix.indices
    if keep.all():
        return matrix
    counts = np.bincount(rows[keep], minlength=matrix.shape[0])
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(matrix.indptr.dtype)
    return csr_array((matrix.data[keep], matrix.indices[keep], offsets), shape=matrix.shape, copy=False)
