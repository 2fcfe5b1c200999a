"""Phrases in texts: which sentence of a document shows a phrase, and whether a text contains a name."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.benchmarks.documents import Document, Span
from kbkit.benchmarks.fit_nodes import left_out_markers
from kbkit.kb import KnowledgeBase
from kbkit.stores import embedders

NAME = "name"
"""The field of a span that is the name of the node."""
_BATCH = 20_000
"""Approximate number of sentences whose vectors are held in memory at once."""


class EvidenceSentence(NamedTuple):
    """The sentence of a document that matches a phrase best, and how well the document matches.

    ``lexical`` (0 to 1) is the highest fraction of the phrase's words in one sentence, weighted by rarity;
    ``semantic`` (-1 to 1) the highest cosine with a sentence; ``span`` the best sentence by both.
    """

    span: Span
    lexical: float
    semantic: float


class Matcher:
    """Compares phrases with documents, by words of the KB's full-text index and by vectors of the default model."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._text = kb, kb.text
        self._embedder = embedders.load()
        self.weight = lru_cache(None)(self._weight)
        self._words = lru_cache(100_000)(lambda text: tuple(self._text.words(text)))

    @cached_property
    def untold(self) -> frozenset[str]:
        """The names in lower case of the labels that tell nothing (:func:`left_out_markers`)."""
        left_out = sorted(left_out_markers(self._kb))
        return frozenset(
            str(name).casefold() for name in self._kb.stores.nodes.frame(np.array(left_out, np.int32))["name"]
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts by the default model, of length 1."""
        return self._embedder.embed(texts)

    def words(self, text: str) -> tuple[str, ...]:
        """Return the distinct words of a text, stemmed, without stop words."""
        return self._words(text)

    def _weight(self, word: str) -> float:
        """Return BM25's inverse document frequency of a word."""
        frequency = self._text.frequency(word)
        return math.log(1 + (self._text.documents - frequency + 0.5) / (frequency + 0.5))

    def match(self, phrases: Sequence[str], documents: Sequence[Document]) -> list[EvidenceSentence]:
        """Return the evidence for each phrase in the document of the same position; names count as sentences."""
        sentences: list[EvidenceSentence] = []
        start = count = 0
        for stop, document in enumerate(documents, 1):
            count += 1 + document.text.count(".")
            if count > _BATCH or stop == len(documents):
                sentences += self._batch(phrases[start:stop], documents[start:stop])
                start, count = stop, 0
        return sentences

    def _batch(self, phrases: Sequence[str], documents: Sequence[Document]) -> list[EvidenceSentence]:
        spans = {node: _spans(document) for node, document in {d.id: d for d in documents}.items()}
        texts = list(dict.fromkeys(span.text for of_node in spans.values() for span in of_node))
        position = {text: i for i, text in enumerate(texts)}
        bags = [frozenset(self.words(text)) for text in texts]
        vectors = self._embedder.embed(texts)
        distinct = list(dict.fromkeys(phrases))
        vector_of = dict(zip(distinct, self._embedder.embed(distinct), strict=True))
        rows = {node: np.array([position[span.text] for span in of_node]) for node, of_node in spans.items()}
        sentences = []
        for phrase, document in zip(phrases, documents, strict=True):
            sentence_rows = rows[document.id]
            semantic = vectors[sentence_rows] @ vector_of[phrase]
            lexical = self._coverage(phrase, [bags[i] for i in sentence_rows])
            best = int(np.argmax(lexical + np.maximum(semantic, 0)))
            sentences.append(EvidenceSentence(spans[document.id][best], float(lexical.max()), float(semantic.max())))
        return sentences

    def _coverage(self, phrase: str, bags: Sequence[frozenset[str]]) -> NDArray[np.float64]:
        """Return the weighted fraction of the phrase's words in each bag of words."""
        weights = {word: self.weight(word) for word in self.words(phrase)}
        total = sum(weights.values())
        if not total:
            return np.zeros(len(bags))
        return np.array([sum(weight for word, weight in weights.items() if word in bag) / total for bag in bags])


def _spans(document: Document) -> list[Span]:
    return [Span(NAME, 0, len(document.name), document.name), *document.sentences]


# -- words in texts ---------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")
_SEPARATOR = r"[^\pL\pN]+"
"""What is between words, for polars and DuckDB."""


@lru_cache(100_000)
def padded(text: str) -> str:
    """Return the words of a text in lower case, each between single spaces: a phrase in it is then a part of it."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def padded_words(column: str) -> pl.Expr:
    """Return a column of texts as :func:`padded` writes them."""
    words = pl.col(column).str.to_lowercase().str.replace_all(_SEPARATOR, " ").str.strip_chars()
    return pl.concat_str(pl.lit(" "), words, pl.lit(" ")).alias(column)


def padded_sql(text: str) -> str:
    """Return SQL for a text as :func:`padded` writes it."""
    return f"concat(' ', trim(regexp_replace(lower({text}), '{_SEPARATOR}', ' ', 'g')), ' ')"


# -- names in texts ---------------------------------------------------------------------------------------------------

# Letters that Unicode normalization does not decompose.
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ħ": "h"})
# Scripts without spaces between words: Thai, Lao, Khmer, kana, Chinese characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def leaks(text: str, names: Iterable[str]) -> str:
    """Return the first of ``names`` that ``text`` contains as whole words, or "". A query must not name its answer.

    Case, accents and punctuation are ignored. A name of one common word matches too: "It" in "is it about boats".
    Names without letters, and names in scripts without spaces, match as substrings.
    """
    words, plain = _padded(text), text.casefold()
    return next((name for name in names if _contains(words, plain, name)), "")


NAMED_AFTER = "its answers are named after what the query names"


def are_named_after(given: Iterable[str], answers: Sequence[str]) -> bool:
    """Return whether half of the answers or more contain a name that a query gives: *pontiac catalina* and others, by
    the model *pontiac*. A system would need no facts to find them.
    """
    names = folded(given)
    return bool(answers) and 2 * sum(contains(answer, names) for answer in answers) >= len(answers)


def folded(names: Iterable[str]) -> frozenset[str]:
    """Return names as :func:`contains` compares them."""
    return frozenset(_padded(name).strip() for name in names) - {""}


def contains(text: str, names: frozenset[str]) -> bool:
    """Return whether a short text contains one of many :func:`folded` names as whole words."""
    words = _padded(text).split()
    ends = range(1, len(words) + 1)
    return any(" ".join(words[start:end]) in names for end in ends for start in range(end))


def _contains(text: str, plain: str, name: str) -> bool:
    words = _padded(name)
    if not words.strip() or _UNSPACED.search(name):
        return bool(name.strip()) and name.strip().casefold() in plain
    # With periods, U.S.A. is three words; without them one.
    return words in text or ("." in name and _padded(name.replace(".", "")) in text)


@lru_cache(100_000)
def _padded(text: str) -> str:
    """Return the words of a text as :func:`padded` does, without accents."""
    if text.isascii():
        return padded(text)
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN))
    plain = "".join(c for c in folded if not unicodedata.combining(c))
    return padded(plain)
