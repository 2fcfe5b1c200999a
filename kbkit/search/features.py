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
from kbkit.search.graph_hits import NamedNodes, graph_hits, related
from kbkit.search.hits import Documents
from kbkit.search.passages import Occurrences, bm25
from kbkit.search.ranking import EMPTY, QueryResult, Ranking
from kbkit.search.sentences import StoreStems, word_weights
from kbkit.search.type_words import named_types
from kbkit.stores import Stores
from kbkit.stores.arrays import Within
from kbkit.stores.text import NAME
from kbkit.stores.text_query import TextQuery

DEPTH = 50
"""Number of best hits that the learned ranking reorders."""
FEATURES = (
    "fused", "bm25", "dense", "name", "rank", "sentence", "sentence words", "text", "text words", "pairs",
    "name words", "name precision", "named type", "example type", "hit type", "length", "degree", "near names",
    "near linked", "near count", "near words", "near hits", "hit",
)  # fmt: skip
"""Scores of the legs (scaled), of the names and of fusion, and the rank by full text; best sentence and whole text, by
BM25 and by the words that occur; words of the query in the name, and of the name in the query; the type that is asked
for, by the schema, by examples and by the hits; length of the text, number of neighbours; and neighbours whose names
are in the query, entirely or in part, or that are hits themselves.
"""
_SPREAD = ("bm25", "dense", "name", "sentence", "text", "near names", "near hits")
"""Features that are scaled by those of the hits."""
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
    """The best hits of a query in the order of the search, then those ``of_graph``, with a row of features for each."""

    ids: NDArray[np.int64]
    matrix: Matrix
    of_graph: Ranking


def features(
    session: Session,
    query: TextQuery,
    result: QueryResult,
    examples: ExampleCounts,
    own: Mapping[str, float] | None = None,
    within: Within = None,
) -> RankedCandidates:
    """Return the features of a query's best hits; ``own`` are the types of the answers if it is an example.

    Nodes of ``within`` that only the graph suggests follow (:func:`kbkit.search.graph_hits.graph_hits`).
    """
    stores = session.stores
    stems = list(query.words or stores.text.words(query.text)) or [""]
    types = examples.types.probabilities(stems, [t.name for t in session.schema.primary_types], own)
    named = NamedNodes.of(stores, query, stems)
    hits = result.ranking.cut(DEPTH)
    is_known = any(stores.text.frequency(stem) for stem in stems)
    more = graph_hits(stores, named, types, within, hits.ids) if is_known else EMPTY
    top = Ranking(np.concatenate([hits.ids, more.ids]), np.concatenate([hits.scores, np.zeros(len(more.ids))]))
    ids, count = top.ids, len(top.ids)
    weights = word_weights(stores, stems) * examples.weights(stems, is_own=own is not None)
    names, kinds = (column.to_list() for column in stores.nodes.columns_of(ids.astype(np.int32), ("name", "type")))
    legs = {name: ranking.score_of(ids, 0.0) for name, ranking in {**result.components, **result.scored}.items()}
    order = np.argsort(ids)
    by_name = Ranking(*stores.text.search(query, count, ids[order], {NAME: 1.0}, superlatives=True))
    legs["name"] = by_name.score_of(ids, 0.0)
    nothing = np.zeros(count)
    columns: dict[str, Floats] = {
        "fused": top.scores,
        "bm25": legs.get("bm25", nothing),
        "dense": legs.get("dense", nothing),
        "name": legs["name"],
        "rank": 1 / (1 + _ranks(legs.get("bm25", nothing))),
        **_words(stores, ids, names, stems, weights),
        **_types(session, query, hits, kinds, types),
        **_neighbours(stores, top, named, weights),
        "hit": np.repeat((1.0, 0.0), (len(hits.ids), len(more.ids))),
    }
    for name in _SPREAD:
        columns[name] = _spread(columns[name], len(hits.ids))
    return RankedCandidates(ids, np.stack([columns[name] for name in FEATURES], axis=1), more)


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
        "sentence": occurrences.best(weights),
        "sentence words": occurrences.cover(weights) / total,
        "text": bm25(both, lengths, _TEXT_LENGTH) @ weights,
        "text words": (both > 0) @ weights / total,
        "pairs": np.log1p(occurrences.pairs()),
        "name words": (in_names > 0) @ weights / total,
        "name precision": np.minimum(1.0, in_names.sum(1) / np.maximum(1.0, named.text_lengths())),
        "length": np.log1p(lengths),
    }


def _types(
    session: Session, query: TextQuery, hits: Ranking, kinds: Sequence[str], types: Mapping[str, float]
) -> dict[str, Floats]:
    """Return the evidence for the types ``kinds`` of the candidates; ``types``: their probabilities by the examples."""
    named, shares = named_types(session, query), of_hits(hits, kinds[: len(hits.ids)])
    return {
        "named type": np.array([float(name in named) for name in kinds]),
        "example type": np.array([math.log((types.get(name, 0.0) + _LEAST_TYPE) / _LEAST_TYPE) for name in kinds]),
        "hit type": np.array([shares.get(name, 0.0) for name in kinds]),
    }


def _neighbours(stores: Stores, top: Ranking, named: NamedNodes, weights: Floats) -> dict[str, Floats]:
    """Return the evidence of the nodes that candidates are related to; ``weights`` are those of the query's words."""
    count = len(top.ids)
    names = ("near names", "near linked", "near count", "near words", "near hits")
    if not stores.has("adjacency"):
        return dict.fromkeys(("degree", *names), np.zeros(count))
    owners, others = related(stores, top.ids)
    linked, hits, words = np.zeros(count), np.zeros(count), np.zeros((count, len(weights)), bool)
    np.maximum.at(hits, owners, top.score_of(others, 0.0))
    at = named.position(others)
    owners, at = owners[at >= 0], at[at >= 0]
    np.logical_or.at(words, owners, named.words[at])
    np.maximum.at(linked, owners, named.whole[at])
    distinct = np.unique(np.stack([owners, at]), axis=1)
    values = (
        np.log1p(np.bincount(owners, named.names.scores[at], count)),
        linked,
        np.bincount(distinct[0], named.whole[distinct[1]], count),
        words @ weights / (float(weights.sum()) or 1.0),
        hits,
    )
    return {"degree": np.log1p(stores.shared(degrees_of_all)[top.ids]), **dict(zip(names, values, strict=True))}


def _spread(values: Floats, hits: int) -> Floats:
    """Scale so that the first values, those of the ``hits``, are 0 to 1; all equal: 0, because they tell nothing."""
    first = values[:hits]
    if not hits or first.max() <= first.min():
        return np.zeros(len(values))
    scaled: Floats = np.clip((values - first.min()) / (first.max() - first.min()), 0.0, 1.0)
    return scaled


def _ranks(values: Floats) -> Floats:
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return ranks
