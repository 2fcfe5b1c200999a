"""Where a document shows what a phrase says: the sentence that has most of its words and comes closest in meaning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.documents import Document, Span
from kbkit.kb import KnowledgeBase
from kbkit.stores import embedders as embed

NAME = "name"
"""The field of a span that is the node's name."""

_BATCH = 20_000
"""Sentences whose vectors are held in memory at once, about."""


class Evidence(NamedTuple):
    """The best sentence for a phrase, and how well the document shows it.

    ``lexical`` is the share of the phrase's words, weighted by how rare they are, that stand together in one sentence
    (0 to 1); ``semantic`` the highest cosine of the phrase with a sentence (-1 to 1); ``span`` the sentence that is
    best by both.
    """

    span: Span
    lexical: float
    semantic: float


class Matcher:
    """Compares phrases with documents. Words are those of the KB's full-text index, vectors of the model that ships
    with kbkit, whatever the KB was built with.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._text = kb.text
        self._embedder = embed.load()
        self.weight = lru_cache(None)(self._weight)
        self._words = lru_cache(100_000)(lambda text: tuple(self._text.words(text)))

    def words(self, text: str) -> tuple[str, ...]:
        """The distinct telling words of a text, stemmed."""
        return self._words(text)

    def is_shared(self, words: Iterable[str], limit: float) -> bool:
        """Whether each word occurs in two documents of the KB at least, and in a share of ``limit`` at most."""
        return all(2 <= self._text.frequency(word) <= max(2, limit * self._text.documents) for word in words)

    def _weight(self, word: str) -> float:
        """BM25's inverse document frequency of an index word."""
        found = self._text.frequency(word)
        return math.log(1 + (self._text.documents - found + 0.5) / (found + 0.5))

    def match(self, phrases: Sequence[str], documents: Sequence[Document]) -> list[Evidence]:
        """The evidence for each phrase in the document at its place. A node's name is a sentence of its document."""
        found: list[Evidence] = []
        start = sentences = 0
        for stop, document in enumerate(documents, 1):
            sentences += 1 + document.text.count(".")
            if sentences > _BATCH or stop == len(documents):
                found += self._batch(phrases[start:stop], documents[start:stop])
                start, sentences = stop, 0
        return found

    def _batch(self, phrases: Sequence[str], documents: Sequence[Document]) -> list[Evidence]:
        distinct = {document.id: document for document in documents}
        spans = {node: _spans(document) for node, document in distinct.items()}
        texts = list(dict.fromkeys(span.text for found in spans.values() for span in found))
        place = {text: i for i, text in enumerate(texts)}
        bags = [frozenset(self.words(text)) for text in texts]
        vectors = self._embedder.embed(texts)
        asked = list(dict.fromkeys(phrases))
        of_phrase = dict(zip(asked, self._embedder.embed(asked), strict=True))
        rows = {node: np.array([place[span.text] for span in found]) for node, found in spans.items()}
        result = []
        for phrase, document in zip(phrases, documents, strict=True):
            mine = rows[document.id]
            semantic = vectors[mine] @ of_phrase[phrase]
            lexical = self._coverage(phrase, [bags[i] for i in mine])
            best = int(np.argmax(lexical + np.maximum(semantic, 0)))
            result.append(Evidence(spans[document.id][best], float(lexical.max()), float(semantic.max())))
        return result

    def _coverage(self, phrase: str, bags: Sequence[frozenset[str]]) -> NDArray[np.float64]:
        """The weighted share of the phrase's words in each bag of words."""
        words = self.words(phrase)
        weights = {word: self.weight(word) for word in words}
        whole = sum(weights.values())
        if not whole:
            return np.zeros(len(bags))
        return np.array([sum(weight for word, weight in weights.items() if word in bag) / whole for bag in bags])


def _spans(document: Document) -> list[Span]:
    return [Span(NAME, 0, len(document.name), document.name), *document.sentences]
