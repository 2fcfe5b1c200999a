"""The type of node that a query asks for: by the words of the schema, by examples if there are any, and by the hits.

It is a probability for each type of the hits. It boosts and explains; it never removes a hit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kbkit.search.ranking import Ranking

NAMED = 3.0
"""Log odds of a type that the query names."""
_STRENGTH, _SHARE, _LEAST = 2.0, 0.5, 0.02
"""Imagined examples of each word, the weight of its evidence (words are not independent), and the least probability."""

Floats = NDArray[np.float64]
Counts = Mapping[str, float]


@dataclass(frozen=True)
class TypeExamples:
    """How many queries of the examples ask for each type, and how many of those with a word (a stem) do.

    A query with answers of several types counts for each in part.
    """

    types: Counts = field(default_factory=dict)
    words: Mapping[str, Counts] = field(default_factory=dict)

    @staticmethod
    def of(examples: Sequence[tuple[Collection[str], Counts]]) -> TypeExamples:
        """Count examples: the words of each query, and the share of each type in its answers."""
        types: dict[str, float] = {}
        words: dict[str, dict[str, float]] = {}
        for stems, shares in examples:
            for name, share in shares.items():
                types[name] = types.get(name, 0.0) + share
                for stem in set(stems):
                    mine = words.setdefault(stem, {})
                    mine[name] = mine.get(name, 0.0) + share
        return TypeExamples(types, words)

    def probabilities(
        self, stems: Collection[str], names: Sequence[str], own: Counts | None = None
    ) -> dict[str, float]:
        """Return the probability of each type for a query; ``own`` are the shares of a query to be left out."""
        own = own or {}
        total = max(0.0, sum(self.types.values()) - sum(own.values()))
        prior = np.array([max(0.0, self.types.get(n, 0.0) - own.get(n, 0.0)) + 0.5 for n in names])
        prior /= total + 0.5 * len(names)
        odds = np.log(prior)
        for stem in set(stems):
            known = self.words.get(stem)
            if not known:
                continue
            counts = np.array([max(0.0, known.get(n, 0.0) - own.get(n, 0.0)) for n in names])
            if counts.sum() > 1.5:
                share = (counts + _STRENGTH * prior) / (counts.sum() + _STRENGTH)
                odds += _SHARE * np.log(share / prior)
        return dict(zip(names, _normalized(odds).tolist(), strict=True))


def of_hits(ranking: Ranking, types: Sequence[str]) -> dict[str, float]:
    """Return the share of each type in the squared scores of the hits."""
    squares = np.maximum(ranking.scores - min(0.0, float(ranking.scores.min(initial=0.0))), 0.0) ** 2
    total = float(squares.sum()) or 1.0
    shares: dict[str, float] = {}
    for name, share in zip(types, squares.tolist(), strict=True):
        shares[name] = shares.get(name, 0.0) + share / total
    return shares


def predicted(
    hits: Mapping[str, float], named: Collection[str], examples: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return the probability of each type of the hits, most probable first."""
    names = list(hits)
    odds = np.array(
        [
            math.log(hits[n] + _LEAST)
            + NAMED * (n in named)
            + (math.log(examples.get(n, 0.0) + _LEAST) if examples else 0.0)
            for n in names
        ]
    )
    probabilities = zip(names, _normalized(odds).tolist() if names else [], strict=True)
    return dict(sorted(probabilities, key=lambda pair: (-pair[1], pair[0])))


def _normalized(odds: Floats) -> Floats:
    shares = np.exp(odds - odds.max())
    normalized: Floats = shares / shares.sum()
    return normalized
