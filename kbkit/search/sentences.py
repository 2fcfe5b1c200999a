"""The best sentences of long texts, as evidence for the best hits of a fused ranking.

A long text that matches a query in many places may say nothing of what is asked for, one that has all in a sentence
often does. Texts that are hardly longer than a sentence have nothing to add to full text, and are left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kbkit.search.hits import Documents
from kbkit.search.passages import Occurrences, Stemmer
from kbkit.search.ranking import Ranking, scaled
from kbkit.stores import Stores
from kbkit.stores.text_query import TextQuery

DEPTH, WEIGHT = 20, 0.2
"""Number of best hits whose texts are read, and the weight of their best sentences, scaled to 0 to 1."""
LONG = 40
"""Mean number of words from which the texts of a KB are long."""


class StoreStems(Stemmer):
    """The stems of a KB's index."""

    def __init__(self, stores: Stores) -> None:
        super().__init__(lambda word: [token.stem for token in stores.text.tokens(word)])


def word_weights(stores: Stores, stems: Sequence[str]) -> NDArray[np.float64]:
    """Return the inverse document frequency of each stem, as BM25 has it."""
    frequencies = np.array([stores.text.frequency(stem) for stem in stems])
    weights: NDArray[np.float64] = np.log(1 + (stores.text.documents - frequencies + 0.5) / (frequencies + 0.5))
    return weights


def with_sentences(stores: Stores, query: TextQuery, ranking: Ranking) -> Ranking:
    """Return a ranking in whose best hits the best sentence of each text counts too, if the texts of the KB are long.

    Hits keep their scores at least, so that none falls below those that are not read.
    """
    fields = stores.schema.text_fields
    stems = query.words or stores.text.words(query.text)
    if not stems or sum(field.tokens for field in fields) < LONG * max(1, sum(field.texts for field in fields)):
        return ranking
    top = ranking.cut(DEPTH)
    texts = stores.shared(Documents).of(top.ids.astype(np.int32))
    best = Occurrences.of(texts, stems, stores.shared(StoreStems)).best(word_weights(stores, stems))
    if not best.any():
        return ranking
    top = Ranking.of(top.ids, top.scores + WEIGHT * scaled(best))
    return Ranking(np.concatenate([top.ids, ranking.ids[DEPTH:]]), np.concatenate([top.scores, ranking.scores[DEPTH:]]))
