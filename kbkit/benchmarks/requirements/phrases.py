"""Telling phrases of texts, and which texts mention a phrase.

A telling phrase is a noun phrase of two or more content words, a proper name, or an item of a list. Phrases are the
words between stop words and punctuation, as in RAKE (Rose et al. 2010), ranked by the rarity of their words in the
collection (BM25's weights). A text mentions a phrase if it has the same words in the same order, compared by their
stems; case, punctuation and hyphens do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.documents import Document, Span
from kbkit.benchmarks.evidence import Matcher, contains, leaks
from kbkit.english.words import PREPOSITIONS, is_common, is_nominal, is_verbal
from kbkit.schema import Role
from kbkit.stores.text_query import STOP_WORDS

_MAX_SENTENCES = 80
_MAX_WORDS = 6
_MAX_ITEM = 4
"""Words of an item of a list."""
_TELLING = 0.5
"""Mean rarity (BM25's weight) of a phrase's content words, relative to that of a word of one document."""
_MIN_LETTERS = 4
"""Letters of a phrase of one word."""
_BREAK = re.compile(r"[()\[\]{}<>\"“”«»|`*=]+|[,;:.!?/]+(?:\s|$)|\s[-–—]+\s|\n")
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
_TOKEN = re.compile(r"[^\W_]+")
_ARTICLES = frozenset(("a", "an", "the"))
# Words inside a phrase, as in "delta of the Ganges".
_JOIN = frozenset(("of", "for", "in", "on", "the", "to", "with"))
# The stop words of the index, and further words that phrases rarely contain.
_EMPTY = STOP_WORDS | PREPOSITIONS | frozenset(
    (
        "about", "above", "after", "all", "along", "also", "although", "among", "any", "because", "before", "being",
        "below", "between", "both", "can", "could", "did", "do", "does", "down", "during", "each", "either", "even",
        "ever", "every", "here", "him", "how", "i", "just", "like", "many", "may", "me", "might", "more", "most",
        "much", "must", "my", "near", "only", "other", "out", "over", "own", "per", "same", "should", "since", "so",
        "some", "than", "them", "though", "through", "thus", "too", "under", "until", "up", "upon", "us", "very",
        "via", "what", "when", "where", "while", "who", "whom", "whose", "why", "within", "without", "would", "you",
        "your", "s", "t", "always", "became", "become", "especially", "known", "less", "mainly", "mostly", "never",
        "often", "several", "still", "now", "etc", "usually", "well", "called", "including", "named", "one", "two",
        "three",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Phrase:
    """A phrase with its ``stems``, its ``span`` in a text, the ``sentence`` around it, and a ``score`` (rarity).

    ``repeats``: it contains the name of a neighbour of the node.
    """

    stems: tuple[str, ...]
    span: Span
    sentence: str
    score: float
    repeats: bool = False


class Mentions:
    """Which of some documents mention a phrase, and where."""

    def __init__(self, matcher: Matcher, documents: Iterable[Document]) -> None:
        self._matcher = matcher
        self._documents = {document.id: document for document in documents}
        self._texts: dict[int, str] = {}
        self.stem = lru_cache(200_000)(self._stem)

    def _stem(self, word: str) -> str:
        folded = word.casefold()
        found = () if folded in STOP_WORDS else self._matcher.words(word)
        return found[0] if found else folded

    def stems(self, text: str) -> tuple[str, ...]:
        """Return the stems of all words of a text, in order."""
        return tuple(self.stem(word) for word in _TOKEN.findall(text))

    def _text(self, node: int) -> str:
        """Return the stems of a document, with a space around each and a line for each passage."""
        if node not in self._texts:
            passages = self._documents[node].passages
            self._texts[node] = "\n".join(f" {' '.join(self.stems(passage.text))} " for passage in passages)
        return self._texts[node]

    def mask(self, phrase: Sequence[str], nodes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of some nodes mention a phrase, given by its stems."""
        wanted = f" {' '.join(phrase)} "
        return np.fromiter((wanted in self._text(node) for node in nodes), bool, len(nodes))

    def find(self, phrase: Sequence[str], node: int) -> Span | None:
        """Return the first place where a node's texts mention a phrase."""
        wanted = tuple(phrase)
        for passage in self._documents[node].passages:
            words = [(m.start(), m.end()) for m in _TOKEN.finditer(passage.text)]
            stems = [self.stem(passage.text[start:end]) for start, end in words]
            for first in range(len(stems) - len(wanted) + 1):
                if tuple(stems[first : first + len(wanted)]) == wanted:
                    start, end = words[first][0], words[first + len(wanted) - 1][1]
                    return Span(passage.field, start, end, passage.text[start:end])
        return None


def telling_phrases(
    document: Document,
    role: Role,
    mentions: Mentions,
    matcher: Matcher,
    avoid: frozenset[str],
    hidden: Sequence[str],
    neighbors: frozenset[str],
) -> list[Phrase]:
    """Return the telling phrases of a document, the rarest first.

    No phrase has a stem of ``avoid`` (the node's own name, its type, its relations) or contains a name of ``hidden``.
    Those that contain one of ``neighbors`` (see :func:`kbkit.benchmarks.evidence.folded`) would give the answer away
    (*currency of Pakistan*); they are left out, unless they are items of a list: keywords that are nodes too. Phrases
    of common words are left out if there are others.
    """
    phrases: dict[tuple[str, ...], Phrase] = {}
    for sentence in _sentences(document, role):
        is_list = _is_list(sentence.text)
        for start, end in _phrases(sentence.text):
            text = sentence.text[start:end]
            stems = mentions.stems(text)
            if stems in phrases or not avoid.isdisjoint(stems) or leaks(text, hidden):
                continue
            weights = [matcher.weight(stem) for stem in stems if stem not in _EMPTY]
            is_repeated = contains(text, neighbors)
            if is_repeated and not is_list:
                continue
            is_frequent = not weights or sum(weights) < _TELLING * matcher.weight("") * len(weights)
            span = Span(sentence.field, sentence.start + start, sentence.start + end, text)
            score = 0.0 if is_frequent else sum(weights) / (1 + len(stems))
            phrases[stems] = Phrase(stems, span, sentence.text, score, is_repeated)
    ranked = sorted(phrases.values(), key=lambda phrase: (-phrase.score, phrase.span.field, phrase.span.start))
    return [phrase for phrase in ranked if phrase.score] or ranked


def _sentences(document: Document, role: Role) -> list[Span]:
    """Return the first sentences of the fields that the role reads, or else of all fields."""
    preferred = [s for s in document.sentences if s.field.partition("#")[0] in role.fields]
    return (preferred or document.sentences)[:_MAX_SENTENCES]


def _phrases(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each telling phrase of a sentence."""
    position = 0
    parts = [*(m.start() for m in _BREAK.finditer(sentence)), len(sentence)]
    is_list = _is_list(sentence)
    for stop in parts:
        words = [(m.start(), m.end()) for m in _WORD.finditer(sentence, position, stop)]
        is_item = is_list and len(words) == 1
        for first, last in _runs(sentence, words):
            parts_of_run = [sentence[slice(*word)] for word in words[first : last + 1]]
            if _is_telling(parts_of_run, is_first=position == first == 0, is_item=is_item):
                yield words[first][0], words[last][1]
        position = stop


def _is_list(sentence: str) -> bool:
    """Return whether a sentence is a list of short items: keywords between commas."""
    items = [item for item in _BREAK.split(sentence) if item.strip()]
    return len(items) > 2 and sentence[-1:] != "." and all(len(item.split()) <= _MAX_ITEM for item in items)


def _is_telling(words: Sequence[str], *, is_first: bool, is_item: bool) -> bool:
    """Return whether words are a noun phrase of two content words or more, a name, or an item of a list.

    The first word of a sentence has a capital without being a name.
    """
    if not is_nominal(words[-1]) or not any(any(c.isalpha() for c in word) for word in words):
        return False
    if len(words) > 1 and (words[1] in _ARTICLES or any(map(is_verbal, words))):  # a verb and its object
        return False
    content = [word for word in words if word.casefold() not in _EMPTY]
    if len(content) > 1:
        return sum(len(word) for word in content) >= 2 * _MIN_LETTERS
    is_name = words[0][:1].isupper() and not is_first and not is_common(words[0])
    return len(words) == 1 and len(words[0]) >= _MIN_LETTERS and (is_name or is_item)


def _runs(sentence: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the first and the last word of runs that start and end with a content word."""
    empty = [_is_empty(sentence[s:e]) for s, e in words]
    for first in range(len(words)):
        if empty[first] or (first and not empty[first - 1]):
            continue  # a phrase starts at the first of consecutive content words
        for last in range(first, min(first + _MAX_WORDS, len(words))):
            if empty[last]:
                if sentence[slice(*words[last])].casefold() not in _JOIN:
                    break
            elif last + 1 == len(words) or empty[last + 1]:
                yield first, last


def _is_empty(word: str) -> bool:
    return word.casefold() in _EMPTY


def avoided(mentions: Mentions, texts: Iterable[str]) -> frozenset[str]:
    """Return the stems of the content words of names and labels."""
    return frozenset(stem for text in texts for stem in mentions.stems(text.replace("_", " ")) if stem not in _EMPTY)
