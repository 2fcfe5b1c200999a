"""Parts of the KB around the nodes that a question names and the best hits of a search, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.questions.mentions import mentions
from kbkit.questions.question import Question
from kbkit.search.hybrid import Search
from kbkit.search.settings import base_mode
from kbkit.stores import Stores, embedders
from kbkit.stores.arrays import Within

LINKED, HIT, OTHER, CONTEXT = range(4)
"""Kinds of nodes: named by the question, hit of the search, neighbour of these, and the question itself (last)."""
FEATURES = ("hybrid", "bm25", "dense", "cosine", "linked", "near", "degree")
"""Numbers of a node: scores of the search from 0 to 1, cosine with the question, whether it is named or next to a named
node, and the logarithm of its degree in the part."""
_SOURCES = 10
"""Best hits whose neighbours are in the part."""
_BATCH = 200

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class QuestionGraph:
    """A part of the KB: n nodes and the context node, which is the last row, without an id.

    * ``ids`` (n), sorted; ``kinds``, ``types`` (n + 1); ``features`` (n + 1, :data:`FEATURES`)
    * ``edges`` (2, m): rows of source and target; ``relations`` (m): numbers, see :class:`GraphNames`
    * ``candidates`` (n): nodes that may be answers; ``query``: the question's vector
    * ``rest``: hits beyond the part, in order
    """

    ids: Ids
    kinds: Ids
    types: Ids
    features: Floats
    edges: Ids
    relations: Ids
    candidates: NDArray[np.bool_]
    query: Floats
    rest: Ids


@dataclass(frozen=True)
class GraphNames:
    """Names of relations and node types by number. Unknown names have the last number.

    Relations are numbered forward, then backward; then come those of the context node: to named nodes, to hits, and
    back.
    """

    relations: Sequence[str]
    types: Sequence[str]

    @property
    def edge_kinds(self) -> int:
        """How many numbers of relations there are."""
        return 2 * (len(self.relations) + 1) + 4

    @cached_property
    def _relation_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.relations)}

    def relation(self, name: str, *, forward: bool) -> int:
        """Return the number of a relation of the KB in a direction."""
        number = self._relation_numbers.get(name, len(self.relations))
        return number if forward else number + len(self.relations) + 1

    def context(self, kind: int, *, forward: bool) -> int:
        """Return the number of the relation from the context node to named nodes or hits, or back."""
        return 2 * (len(self.relations) + 1) + 2 * kind + (not forward)

    def type_number(self, name: str) -> int:
        """Return the number of a node type."""
        return self.types.index(name) if name in self.types else len(self.types)


class GraphMaker:
    """Draws the parts of a KB for questions: ``depth`` hits, and up to ``size`` nodes, the nearest first."""

    def __init__(self, stores: Stores, vocabulary: GraphNames, depth: int, size: int) -> None:
        self._stores, self._vocabulary = stores, vocabulary
        self._depth, self._size = depth, max(size, depth)
        schema = stores.schema
        names = stores.adjacency.pairs()
        self._blocks = [
            (csr, vocabulary.relation(name, forward=forward))
            for name in names
            for forward in (True, False)
            if len((csr := stores.adjacency.forward(name) if forward else stores.adjacency.backward(name)).targets)
        ]
        kinds = [vocabulary.type_number(kind.name) for kind in schema.node_types]
        self._type_of = np.repeat(np.array(kinds, np.int64), [kind.count for kind in schema.node_types])

    def of(self, texts: Sequence[str], k: int, within: Within) -> list[QuestionGraph]:
        """Return the part for each question, with ``k`` hits or more in it and beyond."""
        search = Search.of(
            Session.of(self._stores),
            base_mode(self._stores),
            max(k, self._depth),
            within,
            None,
            None,
            {"quotes": False},
        )
        graphs: list[QuestionGraph] = []
        for first in range(0, len(texts), _BATCH):
            batch = texts[first : first + _BATCH]
            results = search.unnamed([search.parse(text) for text in batch])
            vectors = embedders.queries(self._stores.embedder, batch)
            graphs += [
                self._graph(text, vector, {"hybrid": result.ranking, **result.components}, within)
                for text, vector, result in zip(batch, vectors, results, strict=True)
            ]
        return graphs

    def _graph(self, text: str, query: Floats, rankings: dict[str, object], within: Within) -> QuestionGraph:
        named = sorted({node for mention in mentions(self._stores, Question.of(text)) for node in mention.nodes})
        linked = np.array(named[: self._size // 4], np.int64)
        hits: Ids = rankings["hybrid"].ids.astype(np.int64)  # type: ignore[attr-defined]
        near = self._neighbours(linked)
        others = np.setdiff1d(np.union1d(near, self._neighbours(hits[:_SOURCES])), np.union1d(linked, hits))
        cosines = self._stores.vectors.matrix.take(others) @ query
        room = max(0, self._size - len(linked) - self._depth)
        others = others[np.argsort(-(cosines + np.isin(others, near)), kind="stable")[:room]]
        ids = np.unique(np.concatenate([linked, hits[: self._depth], others]))
        kinds = np.full(len(ids) + 1, OTHER)
        kinds[:-1][np.isin(ids, hits[: self._depth])] = HIT
        kinds[:-1][np.isin(ids, linked)] = LINKED
        kinds[-1] = CONTEXT
        edges, relations = self._edges(ids, kinds)
        features = self._features(ids, query, rankings, linked, near, edges)
        types = np.append(self._type_of[ids], len(self._vocabulary.types))
        allowed = np.ones(len(ids), bool) if within is None else np.isin(ids, np.asarray(within))
        rest = hits[self._depth :]
        return QuestionGraph(ids, kinds, types, features, edges, relations, allowed, query, rest[~np.isin(rest, ids)])

    def _neighbours(self, nodes: Ids) -> Ids:
        """Return the distinct neighbours of nodes, in both directions."""
        parts = [csr.expand(*csr.ranges(nodes.astype(np.int32))) for csr, _ in self._blocks] if len(nodes) else []
        return np.unique(np.concatenate([np.empty(0, np.int64), *(part.astype(np.int64) for part in parts)]))

    def _edges(self, ids: Ids, kinds: Ids) -> tuple[Ids, Ids]:
        """Return the edges between the nodes in both directions, and those of the context node."""
        sources, targets, relations = [], [], []
        for csr, number in self._blocks:
            starts, counts = csr.ranges(ids.astype(np.int32))
            tails = csr.expand(starts, counts).astype(np.int64)
            heads = np.repeat(np.arange(len(ids)), counts)
            rows = np.searchsorted(ids, tails)
            inside = ids[np.minimum(rows, len(ids) - 1)] == tails
            sources.append(heads[inside])
            targets.append(rows[inside])
            relations.append(np.full(int(inside.sum()), number))
        for kind in (LINKED, HIT):
            rows = np.flatnonzero(kinds[:-1] == kind)
            context = np.full(len(rows), len(ids))
            sources += [context, rows]
            targets += [rows, context]
            relations += [
                np.full(len(rows), self._vocabulary.context(kind, forward=forward)) for forward in (True, False)
            ]
        return np.stack([np.concatenate(sources), np.concatenate(targets)]).astype(np.int64), np.concatenate(relations)

    def _features(
        self, ids: Ids, query: Floats, rankings: dict[str, object], linked: Ids, near: Ids, edges: Ids
    ) -> Floats:
        matrix = np.zeros((len(ids) + 1, len(FEATURES)), np.float32)
        for column, name in enumerate(FEATURES[:3]):
            if (ranking := rankings.get(name)) is not None:
                matrix[:-1, column] = _scaled(ids, ranking.ids, ranking.scores)  # type: ignore[attr-defined]
        matrix[:-1, 3] = self._stores.vectors.matrix.take(ids) @ query
        matrix[:-1, 4] = np.isin(ids, linked)
        matrix[:-1, 5] = np.isin(ids, near)
        matrix[:, 6] = np.log1p(np.bincount(edges[1], minlength=len(ids) + 1)) / 5
        return matrix


def _scaled(ids: Ids, ranked: Ids, scores: NDArray[np.float64]) -> Floats:
    """Return the scores of nodes from 0 to 1, 0 for nodes that are not ranked."""
    scaled = np.zeros(len(ids), np.float32)
    if not len(ranked):
        return scaled
    low, high = float(scores.min()), float(scores.max())
    order = np.argsort(ranked)
    rows = np.minimum(np.searchsorted(ranked, ids, sorter=order), len(ranked) - 1)
    at = order[rows]
    is_ranked = ranked[at] == ids
    scaled[is_ranked] = ((scores[at] - low) / (high - low or 1.0))[is_ranked]
    return scaled
