"""Nodes that the graph makes likely answers of a query, though their texts may have none of its words.

A learned ranking orders them with the hits of the search: neighbours of the nodes that the query names, and nodes with
many neighbours of the type that similar examples ask for (*which cellular structures ...*: nucleus, plasma membrane).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.graph.nodes import degrees_of_all, popular
from kbkit.schema import Schema
from kbkit.search.ranking import EMPTY, Ranking
from kbkit.stores import Stores
from kbkit.stores.arrays import Within, both, is_in, is_within
from kbkit.stores.text import NAME
from kbkit.stores.text_query import TextQuery

GRAPH = "graph"
"""Name of these nodes among the components of a result."""
NEAR, HUBS = 30, 20
"""Number of neighbours of named nodes, and of nodes with many neighbours."""
_NAMES = 100
"""Number of names with words of the query that may be neighbours of hits."""
_TYPES = 5
"""Number of most probable types whose nodes with most neighbours are considered."""
_MAX_RELATIONS, _MAX_NEIGHBOURS = 50, 2_000
"""The largest relations are followed, and the first neighbours of each node by each of them."""

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class NamedNodes:
    """Nodes whose names have words of a query: ``names`` with their BM25, ``words`` (names x words of the query).

    ``whole`` is 0 unless all words of a name are in the query; it is lower the more neighbours the node has, which then
    say less.
    """

    names: Ranking
    words: NDArray[np.bool_]
    whole: Floats

    @staticmethod
    def of(stores: Stores, query: TextQuery, stems: Sequence[str]) -> NamedNodes:
        """Find the nodes; ``stems`` are the words of the query."""
        names = Ranking(*stores.text.search(TextQuery(query.text, (), query.words), _NAMES, None, {NAME: 1.0}))
        own = [set(stores.text.words(name)) for name in stores.nodes.names.take(names.ids).to_pylist()]
        words = np.array([[stem in one for stem in stems] for one in own], bool).reshape(len(own), len(stems))
        is_whole = np.array([one.issubset(stems) for one in own], bool)
        degrees = stores.shared(degrees_of_all)[names.ids] if stores.has("adjacency") else np.zeros(len(own))
        return NamedNodes(names, words, is_whole / np.log2(2.0 + degrees))

    def position(self, ids: Ids) -> Ids:
        """Return the position of each node in ``names`` (-1: not there)."""
        if not len(self.names.ids):
            return np.full(len(ids), -1)
        order = np.argsort(self.names.ids)
        at: Ids = order[np.minimum(np.searchsorted(self.names.ids[order], ids), len(order) - 1)]
        return np.where(self.names.ids[at] == ids, at, -1)


def graph_hits(stores: Stores, named: NamedNodes, types: Mapping[str, float], within: Within, hits: Ids) -> Ranking:
    """Return nodes of ``within`` that are no ``hits``, with scores from 0 to 1; ``types``: probability of each type."""
    if not stores.has("adjacency"):
        return EMPTY
    whole = named.whole > 0
    near = _near(stores, Ranking(named.names.ids[whole], named.whole[whole]), types, within)
    hubs = _hubs(stores, types, within)
    ids = np.concatenate([near.ids, hubs.ids])
    scores = np.concatenate([near.scores, hubs.scores])
    order = np.lexsort((ids, -scores))
    _, first = np.unique(ids[order], return_index=True)
    ids, scores = ids[order][first], scores[order][first]
    is_new = ~is_in(ids, np.sort(hits))
    return Ranking.of(ids[is_new], scores[is_new])


def _near(stores: Stores, named: Ranking, types: Mapping[str, float], within: Within) -> Ranking:
    """Return the neighbours of named nodes, best those of several, and of a probable type."""
    owners, others = related(stores, named.ids)
    keep = is_within(others, within) & ~is_in(others, np.sort(named.ids))
    pairs = np.unique(np.stack([others[keep], owners[keep]]), axis=1)
    ids, inverse = np.unique(pairs[0], return_inverse=True)
    if not len(ids):
        return EMPTY
    scores = np.bincount(inverse, named.scores[pairs[1]], len(ids)) * _of_types(stores.schema, types, ids)
    return Ranking.of(ids, scores / max(float(scores.max()), 1e-9), NEAR)


def _hubs(stores: Stores, types: Mapping[str, float], within: Within) -> Ranking:
    """Return the nodes of the most probable types that have the most neighbours."""
    degrees = stores.shared(degrees_of_all)
    best: list[Ranking] = [EMPTY]
    for name in sorted(types, key=lambda name: -types[name])[:_TYPES]:
        hubs = stores.shared(_Hubs).of(name)
        ids = hubs.ids
        if within is not None:
            ids = np.asarray(both(within, hubs.nodes), np.int64)
            ids = ids[np.lexsort((ids, -degrees[ids]))[:HUBS]]
        scores = types[name] * (1 + degrees[ids].astype(np.float64)) / hubs.total
        best.append(Ranking(ids, scores))
    return Ranking.of(np.concatenate([one.ids for one in best]), np.concatenate([one.scores for one in best]), HUBS)


class _TypeHubs(NamedTuple):
    """The nodes of a type with the most neighbours, the range of all its nodes, and how many neighbours these have."""

    ids: Ids
    nodes: range
    total: float


class _Hubs:
    """The nodes of each type with the most neighbours."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._known: dict[str, _TypeHubs] = {}

    def of(self, name: str) -> _TypeHubs:
        if name not in self._known:
            kind = self._stores.schema.type(name)
            nodes = range(kind.first, kind.last + 1)
            ids = popular(self._stores, name, HUBS)["id"].to_numpy().astype(np.int64)
            degrees = self._stores.shared(degrees_of_all)[kind.first : kind.last + 1]
            self._known[name] = _TypeHubs(ids, nodes, float(degrees.sum()) + len(nodes))
        return self._known[name]


def _of_types(schema: Schema, types: Mapping[str, float], ids: Ids) -> Floats:
    known = schema.primary_types
    shares = np.array([types.get(one.name, 0.0) for one in known])
    of_ids: Floats = shares[np.searchsorted([one.last for one in known], ids)]
    return of_ids


def related(stores: Stores, ids: Ids) -> tuple[Ids, Ids]:
    """Return pairs of the position of a node in ``ids`` and a neighbour."""
    nodes, owners, others = ids.astype(np.int32), [EMPTY.ids], [EMPTY.ids]
    for relation in sorted(stores.schema.relations, key=lambda r: -r.edges)[:_MAX_RELATIONS]:
        sides = (stores.adjacency.forward(relation.name), stores.adjacency.backward(relation.name))
        for csr in sides[:1] if relation.symmetric else sides:
            starts, counts = csr.ranges(nodes)
            counts = np.minimum(counts, _MAX_NEIGHBOURS)
            if counts.any():
                owners.append(np.repeat(np.arange(len(ids)), counts))
                others.append(csr.expand(starts, counts).astype(np.int64))
    return np.concatenate(owners), np.concatenate(others)
