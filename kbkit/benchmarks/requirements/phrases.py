"""Terms of texts that a query can ask for: common nouns, names, and items of lists; and which texts mention a term.

A term is stated in the words of a person who has not seen the text: *a detective*, *bounty hunters*, *the Caucasus*; it
is no quotation. A text mentions a term if it has the same words in the same order, compared by their stems. Other words
for the same thing would make the answer a matter of opinion: a term is *uncertain* for a text that does not mention it
but has, for each of its words, that word or one of nearly the same meaning (by the vectors of the shipped model).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.documents import Document, Span
from kbkit.benchmarks.evidence import Matcher, contains, leaks
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.stems import is_english
from kbkit.english.words import (
    PREPOSITIONS,
    inflections,
    is_common,
    is_nominal,
    is_plural,
    lemmas_of,
    quoted,
    with_article,
)
from kbkit.schema import Role
from kbkit.stores.text_query import STOP_WORDS

_MAX_SENTENCES = 80
_MAX_NAME = 4
_MIN_LETTERS = 4
_TELLING = 0.5
"""Mean rarity (BM25's weight) of a term's words, relative to that of a word of one document."""
_NEAR = 0.6
"""Cosine of the vectors of two words from which they may mean the same."""
_BREAK = re.compile(r"[()\[\]{}<>\"“”«»|`*=]+|[,;:.!?/]+(?:\s|$)|\s[-–—]+\s|\n")
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
_TOKEN = re.compile(r"[^\W_]+")
_TITLES = frozenset(("name", "title"))
"""Fields that are no sentences."""
_LETTERS = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PEOPLES = re.compile(r".+(?:ian|ean|ese|ish|ist)|Arab|Czech|Dutch|French|German|Greek|Mexican|Roman|Swiss|Thai|Turk")
"""Words for what belongs to a people or a country: *French* is no thing to mention."""
_ONE, _THE = frozenset(("a", "an")), "the"
_OWNERS = frozenset(("the", "his", "her", "its", "their", "this", "that", "my", "our", "your", "each", "every"))
_EMPTY = STOP_WORDS | FUNCTION_WORDS | PREPOSITIONS | _ONE | _OWNERS
# Nouns that say too little, or that are measures and parts of texts rather than things.
_VAGUE = frozenset(
    (
        "ability", "amount", "another", "anyone", "aspect", "attempt", "base", "case", "chance", "course", "day",
        "decade", "effort", "everything", "example", "fact", "form", "group", "grouping", "hour", "hundred",
        "instance", "kind", "lack", "life", "manner", "member", "million", "minute", "month", "neighbor", "neighbour",
        "number", "other", "outlook", "part", "people", "person", "piece", "place", "plot", "point", "reason",
        "result", "series", "set", "situation", "someone", "something", "sort", "story", "tale", "thing", "thousand",
        "time", "type", "variety", "verge", "version", "way", "week", "world", "year",
    )
)  # fmt: skip
# Common nouns that are not counted, and endings of such nouns: *the gold* is no *a gold*.
_MASS = frozenset(
    (
        "advice", "agriculture", "air", "beauty", "blood", "bread", "coal", "courage", "culture", "energy", "fire",
        "food", "freedom", "furniture", "gold", "grass", "health", "heat", "help", "history", "ice", "information",
        "knowledge", "labour", "land", "love", "luck", "money", "music", "nature", "news", "peace", "police", "power",
        "rain", "research", "rice", "salt", "sand", "silver", "snow", "soil", "steel", "sugar", "trade", "traffic",
        "truth", "water", "wealth", "weather", "wheat", "wine", "wood", "wool", "work",
    )
)  # fmt: skip
_MASS_ENDING = re.compile(r"(?:ness|ity|ism|[ae]nce|ology|ics|ship|hood|dom|ing)$")


@dataclass(frozen=True)
class Phrase:
    """A term with its ``stems``, its ``span`` in a text, the ``sentence`` around it, and a ``score`` (rarity).

    ``said`` is the term in a query: with its article, or in quotes for an item of a list. ``repeats``: it contains the
    name of a neighbour of the node.
    """

    stems: tuple[str, ...]
    span: Span
    sentence: str
    score: float
    said: str
    repeats: bool = False


class Mentions:
    """Which of some documents mention a term, and where."""

    def __init__(self, matcher: Matcher, documents: Iterable[Document]) -> None:
        self._matcher = matcher
        self._documents = {document.id: document for document in documents}
        self._texts: dict[int, str] = {}
        self.stem = lru_cache(200_000)(self._stem)
        self._near = lru_cache(None)(self._near_nodes)

    def _stem(self, word: str) -> str:
        folded = word.casefold()
        found = () if folded in STOP_WORDS else self._matcher.words(word)
        return found[0] if found else folded

    def stems(self, text: str) -> tuple[str, ...]:
        """Return the stems of all words of a text, in order."""
        return tuple(self.stem(word) for word in _TOKEN.findall(text))

    @cached_property
    def words(self) -> dict[str, set[int]]:
        """The lower-case words of all documents, each with the documents that have it."""
        found: dict[str, set[int]] = {}
        for node, document in self._documents.items():
            for word in set(_TOKEN.findall(document.text.casefold())):
                found.setdefault(word, set()).add(node)
        return found

    @cached_property
    def _vectors(self) -> tuple[list[str], NDArray[np.float32]]:
        words = [word for word in self.words if word.isalpha() and word not in _EMPTY]
        return words, self._matcher.embed(words)

    def _near_nodes(self, word: str) -> frozenset[int]:
        """Return the documents that have a word of the same stem, or one of nearly the same meaning."""
        words, vectors = self._vectors
        stem = self.stem(word)
        found = set(self.words.get(word, ()))
        near = vectors @ self._matcher.embed([word])[0] >= _NEAR if words else np.empty(0, bool)
        for position in np.flatnonzero(near).tolist():
            found |= self.words[words[position]]
        found |= set(self.words.get(stem, ()))
        return frozenset(found)

    def uncertain(self, term: str, nodes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of some nodes have other words for all that a term says."""
        parts = [word for word in _TOKEN.findall(term.casefold()) if word not in _EMPTY]
        found = np.ones(len(nodes), bool)
        for part in parts:
            near = self._near(part)
            found &= np.fromiter((node in near for node in nodes), bool, len(nodes))
        return found

    def _text(self, node: int) -> str:
        """Return the stems of a document, with a space around each and a line for each passage."""
        if node not in self._texts:
            passages = self._documents[node].passages
            self._texts[node] = "\n".join(f" {' '.join(self.stems(passage.text))} " for passage in passages)
        return self._texts[node]

    def mask(self, phrase: Sequence[str], nodes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of some nodes mention a term, given by its stems."""
        wanted = f" {' '.join(phrase)} "
        return np.fromiter((wanted in self._text(node) for node in nodes), bool, len(nodes))

    def find(self, phrase: Sequence[str], node: int) -> Span | None:
        """Return the first place where a node's texts mention a term."""
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
    """Return the terms of a document that a query can ask for, the rarest first.

    No term has a stem of ``avoid`` (the node's own name, its type, its relations) or contains a name of ``hidden``.
    Those that contain one of ``neighbors`` (see :func:`kbkit.benchmarks.evidence.folded`) would give the answer away
    (*currency of Pakistan*); they are left out, unless they are items of a list: keywords that are nodes too. Frequent
    words are left out if there are others.
    """
    phrases: dict[tuple[str, ...], Phrase] = {}
    for sentence in _sentences(document, role):
        field = sentence.field.partition("#")[0]
        is_list = is_plural(field)  # keywords, tags
        if is_list:
            found = _items(sentence.text)
        elif field in _TITLES:
            found = _topics(sentence.text)
        elif is_english(sentence.text, surely=True):
            found = _terms(sentence.text, mentions)
        else:
            continue  # names cannot be told from nouns
        for start, end, said in found:
            text = sentence.text[start:end]
            stems = mentions.stems(text)
            if stems in phrases or not avoid.isdisjoint(stems) or leaks(text, hidden):
                continue
            is_repeated = contains(text, neighbors)
            if is_repeated and not is_list:
                continue
            weights = [matcher.weight(stem) for stem in stems if stem not in _EMPTY]
            is_frequent = not weights or sum(weights) < _TELLING * matcher.weight("") * len(weights)
            span = Span(sentence.field, sentence.start + start, sentence.start + end, text)
            score = 0.0 if is_frequent else sum(weights) / (1 + len(stems))
            phrases[stems] = Phrase(stems, span, sentence.text, score, said, is_repeated)
    ranked = sorted(phrases.values(), key=lambda phrase: (-phrase.score, phrase.span.field, phrase.span.start))
    return [phrase for phrase in ranked if phrase.score] or ranked


def _sentences(document: Document, role: Role) -> list[Span]:
    """Return the first sentences of the fields that the role reads, or else of all fields."""
    preferred = [s for s in document.sentences if s.field.partition("#")[0] in role.fields]
    return (preferred or document.sentences)[:_MAX_SENTENCES]


def _items(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each item of a list, and the item as a query says it."""
    position = 0
    for stop in [*(m.start() for m in _BREAK.finditer(sentence)), len(sentence)]:
        words = [(m.start(), m.end()) for m in _WORD.finditer(sentence, position, stop)]
        position = stop
        if words:
            text = sentence[words[0][0] : words[-1][1]]
            if sum(map(str.isalpha, text)) >= _MIN_LETTERS:
                yield words[0][0], words[-1][1], quoted(text)


def _topics(title: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of the one or two words that end each run of content words in a title."""
    position = 0
    for stop in [*(m.start() for m in _BREAK.finditer(title)), len(title)]:
        run: list[tuple[int, int]] = []
        for start, end in [*((m.start(), m.end()) for m in _WORD.finditer(title, position, stop)), (stop, stop)]:
            if start < end and title[start:end].casefold() not in _EMPTY:
                run.append((start, end))
                continue
            words = [title[slice(*one)] for one in run[-2:]]
            if words and _is_topic(words[-1]) and words[-1].casefold() not in _VAGUE:
                first = 0 if len(words) == 2 and _is_modifier(words[0]) else len(words) - 1
                said = " ".join(word.lower() if is_common(word) else word for word in words[first:])
                yield run[-len(words) + first][0], run[-1][1], said
            run = []
        position = stop


def _is_topic(word: str) -> bool:
    return is_nominal(word) and sum(map(str.isalpha, word)) >= _MIN_LETTERS


def _is_modifier(word: str) -> bool:
    """Return whether a word of a title may modify the noun after it: a noun or an adjective that is not inflected."""
    lemmas = lemmas_of(word.casefold())
    return not lemmas or any(word.casefold() in lemmas.get(kind, ()) for kind in ("NOUN", "ADJ"))


def _terms(sentence: str, mentions: Mentions) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each name and each common noun of a sentence, and how a query says it."""
    position = 0
    for stop in [*(m.start() for m in _BREAK.finditer(sentence)), len(sentence)]:
        spans = [(m.start(), m.end()) for m in _WORD.finditer(sentence, position, stop)]
        words = [sentence[start:end] for start, end in spans]
        at = 0
        while at < len(words):
            last = _name_end(words, at, is_first=position == at == 0)
            if last > at:
                text = sentence[spans[at][0] : spans[last - 1][1]]
                article = f"{_THE} " if at and words[at - 1].casefold() == _THE else ""
                yield spans[at][0], spans[last - 1][1], article + text
                at = last
                continue
            first = _noun_start(words, at)
            said = _said(words, first, at, mentions) if first <= at else ""
            if said:
                yield spans[first][0], spans[at][1], said
            at += 1
        position = stop


def _name_end(words: Sequence[str], at: int, *, is_first: bool) -> int:
    """Return the end of the name that starts at a word, or the word itself if none does.

    The first word of a sentence has a capital without being a name.
    """
    end = at
    while end < len(words) and words[end][:1].isupper() and _LETTERS.fullmatch(words[end]):
        end += 1
    is_name = 0 < end - at <= _MAX_NAME and words[at].casefold() not in _EMPTY
    if not is_name or (is_first and is_common(words[at])):
        return at
    if end - at == 1 and (len(words[at]) < _MIN_LETTERS or is_common(words[at])):
        return at
    if end < len(words) and words[end] not in _EMPTY:  # Andean peaks
        return at
    is_part = (end < len(words) and words[end] in ("of", "de", "von")) or (
        at > 1 and words[at - 1] == "of" and words[at - 2].istitle()
    )
    is_people = end - at == 1 and bool(_PEOPLES.fullmatch(words[at]))
    return at if is_part or is_people else end


def _noun_start(words: Sequence[str], at: int) -> int:
    """Return where the noun that ends at a word starts, with a noun before it; after the word if it is no noun.

    A word that may be something else, such as *plays*, counts as a noun after an article.
    """
    none = at + 1
    if not _is_noun(words[at]) or (at + 1 < len(words) and _may_continue(words[at + 1])):
        return none
    kinds, before = set(lemmas_of(words[at])), words[at - 1] if at else ""
    is_compound = before in lemmas_of(before).get("NOUN", ()) and set(lemmas_of(before)) == {"NOUN"}
    first = at - 1 if is_compound and _is_noun(before) else at
    if kinds == {"NOUN"}:
        return first
    around = [word.casefold() for word in words[max(0, first - 2) : first]]
    is_marked = _has_article(around, _ONE | _OWNERS)
    ends = at + 1 == len(words) or words[at + 1].casefold() in _EMPTY
    return first if is_marked and (kinds == {"NOUN", "VERB"} or ("ADV" not in kinds and ends)) else none


def _has_article(before: Sequence[str], articles: frozenset[str]) -> bool:
    """Return whether one of some articles is the last word, or the last but one with an adjective after it."""
    return before[-1:] != [] and (before[-1] in articles or (before[0] in articles and "ADJ" in lemmas_of(before[-1])))


def _is_noun(word: str) -> bool:
    if len(word) < _MIN_LETTERS or not word.islower() or not word.isalpha() or word in _EMPTY:
        return False
    lemmas = lemmas_of(word).get("NOUN", ())
    return bool(lemmas) and _VAGUE.isdisjoint(lemmas) and word not in _VAGUE


def _may_continue(word: str) -> bool:
    """Return whether a word may belong to the noun before it: a noun or a name; a hyphen joins them too."""
    return not word[:1].islower() or ("NOUN" in lemmas_of(word) and word.casefold() not in _EMPTY)


def _said(words: Sequence[str], first: int, last: int, mentions: Mentions) -> str:
    """Return how a query says a noun: with *a*, in the plural, or bare after a preposition; "" if that is not known."""
    text, noun = " ".join(words[first : last + 1]), words[last]
    if any(lemma != noun for lemma in lemmas_of(noun)["NOUN"]) and not noun.endswith("ss"):
        return text
    many = next((form for form in inflections(noun, "NNS") if form != noun), "")
    before = [word.casefold() for word in words[max(0, first - 2) : first]]
    if _has_article(before, _ONE):
        return with_article(text)
    if many and many in mentions.words:
        return f"{text.removesuffix(noun)}{many}"
    if _has_article(before, _OWNERS):
        return "" if noun in _MASS or _MASS_ENDING.search(noun) else with_article(text)
    return text if before[-1:] and before[-1] in PREPOSITIONS else ""


def avoided(mentions: Mentions, texts: Iterable[str]) -> frozenset[str]:
    """Return the stems of the content words of names and labels."""
    return frozenset(stem for text in texts for stem in mentions.stems(text.replace("_", " ")) if stem not in _EMPTY)
