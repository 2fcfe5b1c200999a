"""Where words of a query occur in texts: by text, by sentence, by word. Used as evidence of the best sentence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kbkit.stores.folding import caseless

K1, B = 1.2, 0.75
SENTENCE_LENGTH = 20.0
"""Length in words to which those of sentences are compared; a text that is much longer counts less."""
MAX_TEXT = 20_000
"""Letters of each text that are read."""
_ACCENTS = re.compile("[\u0300-\u036f]+")
_PREFIX = 3
_SPACE, _END = 32, 0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Occurrences:
    """How often each word of a query occurs in each sentence: ``counts`` (sentences x words).

    ``lengths`` are those of the sentences in words, ``owners`` the number of each one's text, in ascending order.
    """

    counts: Floats
    lengths: Floats
    owners: NDArray[np.int64]
    texts: int

    @staticmethod
    def of(texts: Sequence[str], words: Sequence[str], stem: Callable[[str], str]) -> Occurrences:
        """Find the stems ``words`` in the texts.

        Only words that begin with the same three bytes as one of them are stemmed.
        """
        encoded = "".join(_folded(text[:MAX_TEXT].replace("\0", " ")) + "\0" for text in texts).encode()
        letters = np.frombuffer(encoded, np.uint8)
        is_letter = _LETTERS[letters]
        starts = np.flatnonzero(is_letter & ~np.concatenate([[False], is_letter[:-1]]))
        ends = np.flatnonzero(is_letter & ~np.concatenate([is_letter[1:], [False]])) + 1
        breaks, is_text = _breaks(letters)
        sentence_of = np.searchsorted(breaks, starts, "right")
        owners = np.concatenate([[0], np.cumsum(is_text)])[: len(breaks)]
        lengths = np.bincount(sentence_of, minlength=len(breaks)).astype(np.float64)
        position = {word: n for n, word in enumerate(words)}
        prefixes = _prefixes(
            np.frombuffer(b"".join(word.encode()[:_PREFIX].ljust(_PREFIX, b"\0") for word in words), np.uint8)
        )
        padded = np.concatenate([letters, np.zeros(_PREFIX, np.uint8)])
        codes = np.stack([padded[starts], padded[starts + 1], padded[starts + 2]])
        codes *= np.stack([ends - starts > n for n in range(_PREFIX)])
        near = np.flatnonzero(np.isin(_prefixes(codes.T.reshape(-1)), prefixes))
        spelled = [encoded[a:b] for a, b in zip(starts[near].tolist(), ends[near].tolist(), strict=True)]
        known = {word: position.get(stem(word.decode("utf-8", "ignore")), -1) for word in set(spelled)}
        columns = np.fromiter((known[word] for word in spelled), np.int64, len(near))
        hits = columns >= 0
        cells = sentence_of[near[hits]] * len(words) + columns[hits]
        counts = np.bincount(cells, minlength=len(breaks) * len(words)).astype(np.float64)
        return Occurrences(counts.reshape(len(breaks), len(words)), lengths, owners, len(texts))

    def in_texts(self) -> Floats:
        """Return the counts by text (texts x words)."""
        counts = np.zeros((self.texts, self.counts.shape[1]))
        np.add.at(counts, self.owners, self.counts)
        return counts

    def text_lengths(self) -> Floats:
        """Return the number of words of each text."""
        lengths: Floats = np.bincount(self.owners, self.lengths, self.texts).astype(np.float64)
        return lengths

    def best(self, weights: Floats) -> Floats:
        """Return the BM25 score of each text's best sentence, where a word has one of ``weights``."""
        return self._best(bm25(self.counts, self.lengths, SENTENCE_LENGTH) @ weights)

    def cover(self, weights: Floats) -> Floats:
        """Return the largest sum of ``weights`` of the distinct words of a sentence of each text."""
        return self._best((self.counts > 0) @ weights)

    def pairs(self) -> Floats:
        """Return for each text the number of sentences with two words of the query or more."""
        counts: Floats = np.bincount(self.owners, (self.counts > 0).sum(1) > 1, self.texts).astype(np.float64)
        return counts

    def _best(self, scores: Floats) -> Floats:
        best = np.zeros(self.texts)
        np.maximum.at(best, self.owners, scores)
        return best


def bm25(counts: Floats, lengths: Floats, mean: float) -> Floats:
    """Return the saturated frequencies of BM25 (rows x words), without the weights of words."""
    norms = K1 * (1 - B + B * lengths / max(mean, 1.0))
    saturated: Floats = counts * (K1 + 1) / (counts + norms[:, None])
    return saturated


class Stemmer:
    """The stem of a word by the analyzer of an index, with a cache."""

    _MOST = 200_000

    def __init__(self, analyze: Callable[[str], list[str]]) -> None:
        self._analyze = analyze
        self._known: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        """Return the stem; of what the analyzer takes for no word, or for several, an empty string."""
        stem = self._known.get(word)
        if stem is None:
            stems = self._analyze(word)
            stem = stems[0] if len(stems) == 1 else ""
            if len(self._known) >= self._MOST:
                self._known = {}
            self._known[word] = stem
        return stem


def _folded(text: str) -> str:
    """Return a text in lower case and without accents, as the index has it."""
    lower = caseless(text)
    return lower if lower.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFKD", lower))


def _letters() -> NDArray[np.bool_]:
    """Return which bytes belong to words: letters, digits, and all bytes beyond ASCII."""
    table = np.zeros(256, bool)
    table[[byte for byte in range(128) if re.match("[a-z0-9]", chr(byte))]] = True
    table[128:] = True
    return table


def _ends() -> NDArray[np.bool_]:
    table = np.zeros(256, bool)
    table[list(b".!?;\n")] = True
    return table


_LETTERS, _ENDS = _letters(), _ends()


def _breaks(letters: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where sentences end, and which of these are ends of texts: after a mark and a space, or a line."""
    following = np.concatenate([letters[1:], [np.uint8(_END)]])
    is_end = (_ENDS[letters] & ((following <= _SPACE) | (letters == ord("\n")))) | (letters == _END)
    breaks = np.flatnonzero(is_end)
    return breaks, letters[breaks] == _END


def _prefixes(letters: NDArray[np.uint8]) -> NDArray[np.int64]:
    three = letters.reshape(-1, _PREFIX).astype(np.int64)
    return (three[:, 0] << 16) | (three[:, 1] << 8) | three[:, 2]
