"""How well the words of a question express the labels of a KB: its relations, attributes and types.

A similarity is 1 for a word of the label, 0.9 for a derived word (``director``: directed by), and otherwise the cosine
of the embeddings of the word and of the label or its words. The embedder is the one that ships with kbkit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kbkit.english.abbreviations import expanded, shortened
from kbkit.english.agents import meant_verb
from kbkit.english.question_words import CONCEPTS, FUNCTION_WORDS, LIGHT_VERBS
from kbkit.english.words import is_common, lemmas_of
from kbkit.stores import embedders
from kbkit.stores.folding import words
from kbkit.stores.text import analyzer

if TYPE_CHECKING:
    import tantivy

Floats = NDArray[np.float64]

_SUFFIXES = frozenset(
    [
        "or",
        "er",
        "r",
        "ion",
        "ation",
        "ment",
        "al",
        "ity",
        "y",
        "ian",
        "ist",
        "ship",
        "ed",
        "en",
        "n",
        "ten",
        "ress",
        "ing",
        "ur",
        "age",
        "ance",
        "ence",
        "ive",
        "s",
        "es",
    ]
)
_SPELLINGS = (
    (re.compile("(?<=.)[ao]e(?=..)"), "e"),
    (re.compile("our$"), "or"),
    (re.compile("(?<=[iy])s(?=(?:or|er)?$)"), "z"),
    (re.compile("tr$"), "ter"),
    (re.compile("(?<=licen|defen|offen)c$"), "s"),
)
"""What stems of words in British spelling have in American spelling: paediatr, colour, organis, centr, licenc."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])(?!(?<=\b[a-z])[A-Z][a-z]?\b)")
"""Where a capital begins a word, but not in units: kW, kWh, pH."""
_SEGMENT = re.compile(r"[/.:#]")
_CACHE = 50_000
"""Maximum number of words whose similarities are kept."""

_PART = 0.06
"""How much less similar a word of a label is for each other word that it has."""
_MAX_EMBEDDED = 2_000
"""Maximum number of words whose vectors are kept."""

LITERAL = 0.85
"""Least similarity of a word and a label that share a stem."""
_ABBREVIATED = LITERAL
"""Similarity of a word and a label with an abbreviation of it."""
FAINT = 0.6
"""Least similarity of a word that says which of several relations is meant."""
WEAK, STRONG = 0.2, 0.75
"""Cosines that mean nothing, and that mean the same."""


def label_words(label: str) -> list[str]:
    """Return the words of a label: the last segment of a path, split at underscores and capitals; none abbreviated."""
    return list(_words_of_label(label))


@lru_cache(_CACHE)
def _words_of_label(label: str) -> tuple[str, ...]:
    last = next((part for part in reversed(_SEGMENT.split(label)) if part.strip()), label)
    return tuple(expanded(words(_CAMEL.sub(" ", last)).split()))


@lru_cache(_CACHE)
def stem(word: str) -> str:
    """Return the English stem of a word in the singular and in American spelling: the same for *colour* and *color*."""
    found = indexed_stem(_singular(word))
    for pattern, other in _SPELLINGS:
        found = pattern.sub(other, found)
    return found


def _singular(word: str) -> str:
    """Return the singular of a plural that is no verb, *criteria*, or ends like *analyses*; else the word itself."""
    kinds = lemmas_of(word)
    nouns = kinds.get("NOUN", ())
    is_noun = bool(nouns) and word not in nouns and ("VERB" not in kinds or nouns[0].endswith("sis"))
    return nouns[0] if is_noun else word


def indexed_stem(word: str) -> str:
    """Return the stem of a word as the full-text index has it."""
    stems = _analyzer().analyze(word)
    return stems[0] if stems else word


def alternatives(name: str) -> list[str]:
    """Return what else a type may be called whose name has several nouns: *gene* and *protein*, of gene/protein."""
    parts = [part.strip() for part in name.split("/")]
    return parts if len(parts) > 1 and all(parts) else []


def related(word: str, other: str) -> float:
    """Return 1 for equal stems, 0.9 for stems that differ in a derivational suffix, else 0."""
    if word == other:
        return 1.0
    if word[:3] != other[:3]:  # most pairs
        return 0.0
    short, long = sorted((word, other), key=len)
    if len(short) >= 3 and long.startswith(short) and long[len(short) :] in _SUFFIXES:
        return 0.9
    same = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if same >= 4 and short[same:] in _SUFFIXES | {""} and long[same:] in _SUFFIXES:
        return 0.9
    return 0.0


@lru_cache(_CACHE)
def cosine(word: str, other: str) -> float:
    """Return the greatest cosine of the embeddings of two words, in the singular and the plural."""
    return float((_embedded(word) @ _embedded(other).T).max())


def sharp(similarity: Floats) -> Floats:
    """Return similarities rescaled from ``WEAK`` .. ``STRONG`` to 0 .. 1."""
    return np.clip((similarity - WEAK) / (STRONG - WEAK), 0, 1)


class KindLabels:
    """Labels of one kind, with the similarity of any word to each of them.

    ``synonyms`` are further words of a label, by its position.
    """

    def __init__(self, labels: Sequence[Sequence[str]], synonyms: Mapping[int, Iterable[str]] | None = None) -> None:
        """Index ``labels``: each is one or more texts, such as the label and the name of a relation."""
        self.count = len(labels)
        self.words: list[set[str]] = []
        texts: dict[str, list[int]] = {}
        self._stems: dict[str, list[tuple[int, float]]] = {}
        for number, variants in enumerate(labels):
            split = [label_words(variant) for variant in dict.fromkeys(variants)]
            self.words.append({word for parts in split for word in parts})
            for parts in split:
                content = [word for word in parts if word not in FUNCTION_WORDS] or parts
                forms = (form for word in content for form in _numbers(word))
                for text in dict.fromkeys((" ".join(parts), " ".join(content), *forms)):
                    texts.setdefault(text, []).append(number)
                weight = 1 - _PART * (len(content) - 1)  # a word of a long label expresses a part of it
                for word in content:
                    for text in (stem(word), *_verbs(word)):
                        self._stems.setdefault(text, []).append((number, weight))
        for number, more in (synonyms or {}).items():
            for word in more:
                self._stems.setdefault(stem(word), []).append((number, 1.0))
        self._all_words = frozenset().union(*self.words)
        self._owners = np.array([number for numbers in texts.values() for number in numbers], np.int64)
        rows = np.repeat(np.arange(len(texts)), [len(numbers) for numbers in texts.values()])
        self._vectors = _embedder().embed(list(texts))[rows] if texts else np.zeros((0, 1), np.float32)
        self._known: dict[str, Floats] = {}
        self._texts = [" | ".join(f" {' '.join(label_words(one))} " for one in variants) for variants in labels]
        self._pairs: dict[tuple[str, str], NDArray[np.bool_]] = {}

    def similarity(self, word: str) -> Floats:
        """Return the similarity of a word to each label, 0 to 1. Words of ``CONCEPTS`` stand for their nouns."""
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= _CACHE:
                self._known.clear()
            found = self._direct(word)
            for place, noun in enumerate(CONCEPTS.get(word, ())):
                found = np.maximum(found, (0.95 - 0.01 * place) * self._direct(noun))
            found.flags.writeable = False
            self._known[word] = found
        return found

    def with_pair(self, word: str, following: str) -> NDArray[np.bool_]:
        """Return which labels have two words one after the other."""
        if (word, following) not in self._pairs:
            if len(self._pairs) >= _CACHE:
                self._pairs.clear()
            self._pairs[word, following] = np.array([f" {word} {following} " in text for text in self._texts], bool)
        return self._pairs[word, following]

    def _direct(self, word: str) -> Floats:
        result = np.zeros(self.count)
        if not self.count:
            return result
        if any(map(str.isalpha, word)):  # the vectors of digits say nothing
            np.maximum.at(result, self._owners, (self._vectors @ _embedded(word).T).max(1))
        self._match(_parts(word), result)
        if result.max() < _ABBREVIATED and (verb := meant_verb(word)):
            self._match([(stem(verb), 1.0)], result)
        if result.max() < _ABBREVIATED and (short := shortened(word, self._all_words)):
            for number, weight in self._stems.get(stem(short), ()):
                result[number] = max(result[number], _ABBREVIATED * weight)
        halves = [(word[:at], word[at:]) for at in range(3, len(word) - 2)]
        halves = [(one, other) for one, other in halves if one in self._all_words and other in self._all_words]
        for number, parts in enumerate(self.words if halves else ()):  # birthplace: place of birth
            if len(parts) > 1 and any(one in parts and other in parts for one, other in halves):
                result[number] = 1.0
        return np.clip(result, 0, 1)

    def _match(self, stems: Iterable[tuple[str, float]], result: Floats) -> None:
        """Raise similarities to those of some stems, each with a factor."""
        for text, factor in stems:
            for known, labels in self._stems.items():
                strength = factor * related(text, known)
                if strength:
                    for number, weight in labels:
                        result[number] = max(result[number], strength * weight)


def _parts(word: str) -> list[tuple[str, float]]:
    """Return the stem of a word, and the stems of endings that are words: ``screenwriter``, but not neigh-``bours``."""
    starts = range(3, len(word) - 4) if len(word) >= 8 else ()
    ends = ((stem(word[at:]), 0.9) for at in starts if is_common(word[at:]))
    return [(stem(word), 1.0), *((verb, 1.0) for verb in _verbs(word)), *ends]


@lru_cache(_CACHE)
def _verbs(word: str) -> tuple[str, ...]:
    """Return the stems of the verbs of which a word is an irregular form: *wrote* and *written*, of *write*."""
    verbs = () if word in LIGHT_VERBS else lemmas_of(word).get("VERB", ())  # made is not said of makers
    return tuple({stem(verb) for verb in verbs} - {stem(word)})


def _numbers(word: str) -> list[str]:
    """Return a word with its likely singular or plural."""
    if word.endswith("ies"):
        return [word, word[:-3] + "y"]
    if word.endswith("ren"):
        return [word, word[:-3]]
    if word.endswith("s") and not word.endswith("ss"):
        return [word, word[:-1]]
    return [word, word + "s"]


@lru_cache(_MAX_EMBEDDED)
def _embedded(word: str) -> embedders.Vectors:
    """Return the vectors of a word in the singular and the plural, which are compared with labels of several kinds."""
    return _embedder().embed(_numbers(word))


@cache
def _analyzer() -> tantivy.TextAnalyzer:
    return analyzer("english")


@cache
def _embedder() -> embedders.Embedder:
    return embedders.load("static")
