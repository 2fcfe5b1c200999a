"""Relations of a KB as one undirected graph over the adjacency arrays.

Works on sets of nodes, in batches of bounded size: the cost of a hub is proportional to its number of neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.schema import Schema
from kbkit.stores.adjacency import Adjacency, Csr, Ids
from kbkit.stores.arrays import distinct, is_in

if TYPE_CHECKING:
    from kbkit.stores.tables import Tables

Marks = NDArray[np.uint8]
"""State of each node: 0 (not reached), ``1 + steps`` (reached), ``CLOSED`` (excluded)."""

CLOSED = 255
_PIECE = 4_000_000
"""Neighbours processed at once, about 50 MB."""
_LONG_ROW = 10_000
_MANY_MOVES = 64


class RelationMove(NamedTuple):
    """A relation followed forward or backward; ``label`` is readable if the name is a code (``P31``)."""

    relation: str
    forward: bool
    label: str = ""

    @property
    def shown(self) -> str:
        """The name, with its label if the name is a code."""
        return f"{self.relation}: {self.label}" if self.label else self.relation


class Rows(NamedTuple):
    """Nodes with neighbours by one move, and the neighbours' ranges: ``csr.expand(starts, counts)``."""

    move: RelationMove
    csr: Csr
    nodes: Ids
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


class Graph:
    """The given relations (None: all) of a KB, ignoring direction."""

    def __init__(self, schema: Schema, adjacency: Adjacency, relations: Iterable[str] | None = None) -> None:
        self.schema, self._adjacency = schema, adjacency
        wanted = None if relations is None else {schema.relation(name).name for name in relations}
        self._moves: list[RelationMove] = []
        self._known: list[tuple[Ids, list[RelationMove]]] = []
        self._by_type: dict[str, set[int]] = {t.name: set() for t in schema.node_types}
        for relation in schema.relations:
            if wanted is None or relation.name in wanted:
                label = relation.shown_label
                self._add(RelationMove(relation.name, True, label), {s.head for s in relation.signatures})
                if not relation.symmetric:  # A symmetric relation is stored in both directions.
                    self._add(RelationMove(relation.name, False, label), {s.tail for s in relation.signatures})

    def _add(self, move: RelationMove, types: Iterable[str]) -> None:
        for name in types:
            self._by_type[name].add(len(self._moves))
        self._moves.append(move)

    def csr(self, move: RelationMove) -> Csr:
        """Return the adjacency of a move."""
        return self._adjacency.forward(move.relation) if move.forward else self._adjacency.backward(move.relation)

    def moves(self, nodes: Ids) -> list[RelationMove]:
        """Return the moves that start from the primary types of sorted nodes, in schema order."""
        numbers: set[int] = set()
        for name in types_of(self.schema, nodes):
            numbers |= self._by_type[name]
        return [self._moves[number] for number in sorted(numbers)]

    def rows(self, nodes: Ids) -> list[Rows]:
        """Return the rows of sorted distinct nodes for every move by which any has neighbours."""
        moves = self._moves_known(nodes)
        every = (_rows(move, self.csr(move), nodes) for move in moves)
        found = [rows for rows in every if len(rows.nodes)]
        if len(moves) > _MANY_MOVES:
            self._known.append((nodes, [rows.move for rows in found]))
        return found

    def _moves_known(self, nodes: Ids) -> list[RelationMove]:
        """Return the moves to try. For a subset of nodes seen before, only the moves that applied then: thousands of
        relations are checked once per set instead of at each step back.
        """
        for before, moves in self._known:
            if len(nodes) <= len(before) and is_in(nodes, before).all():
                return moves
        return self.moves(nodes)

    def degrees(self, nodes: Ids) -> NDArray[np.int64]:
        """Return the degrees of sorted distinct nodes, one count per move."""
        total = np.zeros(len(nodes), np.int64)
        for rows in self.rows(nodes):
            total[np.searchsorted(nodes, rows.nodes)] += rows.counts
        return total

    def pairs(self, some: Ids, others: Ids) -> tuple[Ids, Ids]:
        """Return the distinct neighbouring pairs (one of ``some``, one of ``others``), sorted; both inputs are sorted.

        Reads from the side with fewer neighbours, so that a hub on one side costs nothing.
        """
        near, far = self.rows(some), self.rows(others)
        turned = work(far) < work(near)
        known = some if turned else others
        packed = [np.empty(0, np.int64)]
        for piece in pieces(far if turned else near):
            targets = piece.csr.expand(piece.starts, piece.counts)
            hit = is_in(targets, known)
            sources = np.repeat(piece.nodes, piece.counts)[hit].astype(np.int64)
            ends = targets[hit].astype(np.int64)
            packed.append(ends << 32 | sources if turned else sources << 32 | ends)
        pairs = distinct(np.concatenate(packed))
        return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)

    def edges(self, nodes: Ids) -> list[tuple[str, Ids, Ids]]:
        """Return (relation, heads, tails) of the distinct edges among sorted nodes, in schema order."""
        result = []
        for rows in self.rows(nodes):
            if rows.move.forward:
                heads, tails = _within(rows, nodes)
                if len(heads):
                    result.append((rows.move.relation, heads, tails))
        return result

    def joining(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], tuple[RelationMove, ...]]:
        """Return the moves from one node to the other, for each of a few pairs."""
        wanted = sorted(set(pairs))
        near: dict[int, list[Rows]] = {node: [] for node, _ in wanted}
        for rows in self.rows(np.array(sorted(near), np.int32)):
            for node in rows.nodes.tolist():
                near[node].append(rows)
        return {
            (node, other): tuple(rows.move for rows in near[node] if _holds(rows.csr.neighbors(node), other))
            for node, other in wanted
        }


def types_of(schema: Schema, nodes: Ids) -> dict[str, int]:
    """Return the number of sorted nodes by primary type, in schema order, without zero counts."""
    types = [t for t in schema.node_types if t.count]  # in id order
    counts = np.diff(np.searchsorted(nodes, np.array([t.last for t in types], np.int32), "right"), prepend=0)
    return {t.name: count for t, count in zip(types, counts.tolist(), strict=True) if count}


def work(rows: Sequence[Rows]) -> int:
    """Return the number of neighbours to process."""
    return sum(int(part.counts.sum()) for part in rows)


def pieces(rows: Sequence[Rows]) -> Iterator[Rows]:
    """Split rows into batches of at most ``_PIECE`` neighbours, or one node."""
    for part in rows:
        ends = np.cumsum(part.counts)
        first = 0
        while first < len(ends):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + _PIECE, "right")))
            cut = slice(first, last)
            yield Rows(part.move, part.csr, part.nodes[cut], part.starts[cut], part.counts[cut])
            first = last


def spread(rows: Sequence[Rows], marks: Marks, steps: int) -> Ids:
    """Mark and return, sorted, the neighbours not reached before."""
    for piece in pieces(rows):
        targets = piece.csr.expand(piece.starts, piece.counts)
        marks[targets[marks[targets] == 0]] = 1 + steps
    return np.flatnonzero(marks == 1 + steps).astype(np.int32)


def closed(schema: Schema, tables: Tables, types: Iterable[str] | None) -> Marks:
    """Return new marks in which nodes without any of ``types`` (primary or secondary; None: any) are excluded."""
    marks = np.zeros(schema.nodes, np.uint8)
    if types is None:
        return marks
    known = [schema.type(name) for name in types]
    marks[:] = CLOSED
    for node_type in known:
        marks[node_type.first : node_type.last + 1] = 0
        if node_type.others:
            sql = "SELECT id FROM node_types WHERE type = $type"
            marks[tables.lookup(sql, {"type": node_type.name})["id"].to_numpy()] = 0
    return marks


def _rows(move: RelationMove, csr: Csr, nodes: Ids) -> Rows:
    """Return the rows of sorted nodes, driven by the shorter of the nodes and the heads of a sparse block."""
    if csr.heads is not None and len(csr.heads) < len(nodes):
        place = np.minimum(np.searchsorted(nodes, csr.heads), len(nodes) - 1)
        row = np.flatnonzero(nodes[place] == csr.heads)
        return Rows(move, csr, csr.heads[row], *csr.spans(row))
    if csr.heads is None:
        first, last = np.searchsorted(nodes, (csr.first, csr.first + len(csr.offsets) - 1))
        nodes = nodes[first:last]
    start, count = csr.ranges(nodes)
    held = count > 0
    return Rows(move, csr, nodes[held], start[held], count[held])


def _within(rows: Rows, nodes: Ids) -> tuple[Ids, Ids]:
    """Return (heads, tails) of the neighbours among ``nodes``, sorted; long rows are searched instead of expanded."""
    long = rows.counts > max(_LONG_ROW, len(nodes))
    targets = rows.csr.expand(rows.starts[~long], rows.counts[~long])
    hit = is_in(targets, nodes)
    heads, tails = [np.repeat(rows.nodes[~long], rows.counts[~long])[hit]], [targets[hit]]
    for node in rows.nodes[long].tolist():
        row = rows.csr.neighbors(node)
        found = nodes[is_in(nodes, row)] if len(nodes) > len(row) else nodes[_in_row(nodes, row)]
        heads.append(np.full(len(found), node, np.int32))
        tails.append(found)
    head, tail = np.concatenate(heads), np.concatenate(tails)
    order = np.lexsort((tail, head))
    return head[order], tail[order]


def _in_row(nodes: Ids, row: Ids) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = row[np.minimum(np.searchsorted(row, nodes), len(row) - 1)] == nodes
    return found


def _holds(row: Ids, node: int) -> bool:
    return bool(len(row)) and bool(_in_row(np.array([node], np.int32), row)[0])
