"""Features of the best hits of a query, from which a learned ranking is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.graph.nodes import degrees_of_all
from kbkit.search.answer_types import TypeExamples, of_hits
from kbkit.search.hits import Documents
from kbkit.search.passages import Occurrences, Stemmer, bm25
from kbkit.search.ranking import QueryResult, Ranking, scaled
from kbkit.search.type_words import named_types
from kbkit.stores import Stores
from kbkit.stores.text import NAME
from kbkit.stores.text_query import TextQuery

DEPTH = 50
"""Number of best hits that the learned ranking reorders."""
FEATURES = (
    "fused", "bm25", "dense", "name", "rank", "sentence", "sentence words", "text", "text words", "pairs",
    "name words", "name precision", "named type", "example type", "hit type", "length", "degree", "near names",
    "near linked", "near hits",
)  # fmt: skip
"""Scores of the legs (scaled), of the names and of fusion, and the rank by full text; best sentence and whole text, by
BM25 and by the words that occur; words of the query in the name, and of the name in the query; the type that is asked
for, by the schema, by examples and by the hits; length of the text, number of neighbours; and neighbours whose names
are in the query, entirely or in part, or that are hits themselves.
"""
_EVIDENCE = 100
"""Number of names with words of the query that may be neighbours of hits."""
_MAX_RELATIONS, _MAX_NEIGHBOURS = 50, 2_000
"""The largest relations are followed, and the first neighbours of each hit by each of them."""
_TEXT_LENGTH = 200.0
_LEAST_TYPE = 0.02

Floats = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class ExampleCounts:
    """What the words of example queries tell: in how many of them each stem occurs, and the types of the answers.

    A word that most example queries have, such as *find* or *list*, says little about what is asked for.
    """

    queries: int
    words: Mapping[str, float]
    types: TypeExamples

    def weights(self, stems: Sequence[str], *, is_own: bool = False) -> Floats:
        """Return how telling each stem is, about 1 for one that no example has; ``is_own``: the query is an example."""
        count = self.queries - is_own
        counts = [max(0.0, self.words.get(stem, 0.0) - is_own) for stem in stems]
        odds = np.log((count + 1) / (np.array(counts) + 0.5)) / math.log(count + 2)
        weights: Floats = np.clip(odds, 0.0, None)
        return weights


class RankedCandidates(NamedTuple):
    """The best hits of a query in the order of the search, with a row of features for each."""

    ids: NDArray[np.int64]
    matrix: Matrix


class StoreStems(Stemmer):
    """The stems of a KB's index."""

    def __init__(self, stores: Stores) -> None:
        super().__init__(lambda word: [token.stem for token in stores.text.tokens(word)])


def features(
    session: Session,
    query: TextQuery,
    result: QueryResult,
    examples: ExampleCounts,
    own: Mapping[str, float] | None = None,
) -> RankedCandidates:
    """Return the features of a query's best hits; ``own`` are the types of the answers if it is an example."""
    stores = session.stores
    top = result.ranking.cut(DEPTH)
    ids, count = top.ids, len(top.ids)
    stems = list(query.words or stores.text.words(query.text)) or [""]
    frequencies = np.array([stores.text.frequency(stem) for stem in stems])
    idf = np.log(1 + (stores.text.documents - frequencies + 0.5) / (frequencies + 0.5))
    weights = idf * examples.weights(stems, is_own=own is not None)
    row = stores.nodes.rows_of(ids.astype(np.int32), ("name", "type"))
    names, types = row["name"].to_list(), row["type"].to_list()
    order = np.argsort(ids)
    by_name, scores = stores.text.search(query, count, ids[order], {NAME: 1.0}, superlatives=True)
    legs = {name: _of(ranking, ids) for name, ranking in {**result.components, **result.scored}.items()}
    columns = {
        "fused": top.scores,
        "bm25": _spread(legs.get("bm25", np.zeros(count))),
        "dense": _spread(legs.get("dense", np.zeros(count))),
        "name": _spread(_of(Ranking(by_name, scores), ids)),
        "rank": 1 / (1 + _ranks(legs.get("bm25", np.zeros(count)))),
        **_words(stores, ids, names, stems, weights),
        **_types(session, query, top, types, stems, examples, own),
        **_neighbours(stores, query, top, set(stems)),
    }
    return RankedCandidates(ids, np.stack([columns[name] for name in FEATURES], axis=1))


def _words(
    stores: Stores, ids: NDArray[np.int64], names: Sequence[str], stems: Sequence[str], weights: Floats
) -> dict[str, Floats]:
    """Return the evidence of texts and names for the words of a query, each of a weight."""
    texts = stores.shared(Documents).of(ids.astype(np.int32))
    stem = stores.shared(StoreStems)
    occurrences = Occurrences.of(texts, stems, stem)
    named = Occurrences.of([name.replace("\n", " ") for name in names], stems, stem)
    in_names, in_texts = named.in_texts(), occurrences.in_texts()
    both, lengths = in_names + in_texts, occurrences.text_lengths()
    total = float(weights.sum()) or 1.0
    return {
        "sentence": _spread(occurrences.best(weights)),
        "sentence words": occurrences.cover(weights) / total,
        "text": _spread(bm25(both, lengths, _TEXT_LENGTH) @ weights),
        "text words": (both > 0) @ weights / total,
        "pairs": np.log1p(occurrences.pairs()),
        "name words": (in_names > 0) @ weights / total,
        "name precision": np.minimum(1.0, in_names.sum(1) / np.maximum(1.0, named.text_lengths())),
        "length": np.log1p(lengths),
    }


def _types(
    session: Session,
    query: TextQuery,
    top: Ranking,
    types: Sequence[str],
    stems: Sequence[str],
    examples: ExampleCounts,
    own: Mapping[str, float] | None,
) -> dict[str, Floats]:
    named, hits = named_types(session, query), of_hits(top, types)
    known = examples.types.probabilities(stems, [t.name for t in session.schema.primary_types], own)
    by_type = [math.log((known.get(name, 0.0) + _LEAST_TYPE) / _LEAST_TYPE) for name in types]
    return {
        "named type": np.array([float(name in named) for name in types]),
        "example type": np.array(by_type),
        "hit type": np.array([hits[name] for name in types]),
    }


def _neighbours(stores: Stores, query: TextQuery, top: Ranking, stems: set[str]) -> dict[str, Floats]:
    """Return the evidence of the nodes that hits are related to."""
    count = len(top.ids)
    if not stores.has("adjacency"):
        return dict.fromkeys(("degree", "near names", "near linked", "near hits"), np.zeros(count))
    degrees = stores.shared(degrees_of_all)
    names = Ranking(*stores.text.search(TextQuery(query.text, (), query.words), _EVIDENCE, None, {NAME: 1.0}))
    is_whole = [stems.issuperset(stores.text.words(name)) for name in stores.nodes.names.take(names.ids).to_pylist()]
    linked = Ranking(names.ids, np.array(is_whole, np.float64) / np.log2(2 + degrees[names.ids]))
    owners, others = _related(stores, top.ids)
    near, hits = np.zeros(count), np.zeros(count)
    np.maximum.at(hits, owners, _of(top, others))
    np.maximum.at(near, owners, _of(linked, others))
    return {
        "degree": np.log1p(degrees[top.ids]),
        "near names": _spread(np.log1p(np.bincount(owners, _of(names, others), count))),
        "near linked": near,
        "near hits": _spread(hits),
    }


def _related(stores: Stores, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of the position of a node in ``ids`` and a neighbour."""
    nodes, owners, others = ids.astype(np.int32), [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for relation in sorted(stores.schema.relations, key=lambda r: -r.edges)[:_MAX_RELATIONS]:
        sides = (stores.adjacency.forward(relation.name), stores.adjacency.backward(relation.name))
        for csr in sides[:1] if relation.symmetric else sides:
            starts, counts = csr.ranges(nodes)
            counts = np.minimum(counts, _MAX_NEIGHBOURS)
            if counts.any():
                owners.append(np.repeat(np.arange(len(ids)), counts))
                others.append(csr.expand(starts, counts).astype(np.int64))
    return np.concatenate(owners), np.concatenate(others)


def _of(ranking: Ranking, ids: NDArray[np.int64]) -> Floats:
    return np.nan_to_num(ranking.score_of(ids))


def _spread(values: Floats) -> Floats:
    """Scale to 0 to 1; all equal: 0, because they tell nothing."""
    return scaled(values) if len(values) and values.max() > values.min() else np.zeros(len(values))


def _ranks(values: Floats) -> Floats:
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return ranks
