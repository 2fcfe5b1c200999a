"""Stage 2: textual properties. One candidate is the gold answer; its document says what else to ask for.

Without a model a property is a telling phrase of the document: words between stop words, whose rarity in the collection
(BM25's weights) is high for their number, as keyword extractors take them (Rose et al. 2010, RAKE).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kbkit.benchmarks.documents import Document, Span
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.leaks import leaks
from kbkit.benchmarks.stages import Row
from kbkit.llm.calls import Calls
from kbkit.schema import Role
from kbkit.stores.text_query import STOP_WORDS

READER = Role("reader")
"""Who asks where a KB's recipe names nobody for the type of the answers."""

_MOST_SENTENCES = 80
_POOL = 4
"""Telling phrases among which each property is drawn."""
_COMMON = 0.02
"""A word that more of the documents have says too little."""
_MOST_WORDS = 6
_LONGEST_DOCUMENT = 20_000
_BREAK = re.compile(r"[()\[\]{}<>\"“”«»|`*=]+|[,;:.!?/]+(?:\s|$)|\s[-–—]+\s|\n")
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
# Words that join two parts of one phrase, as in "delta of the Ganges".
_JOIN = frozenset(("of", "for", "in", "on", "the", "to", "with"))
# Beside the stop words of the index: what seldom belongs to a phrase.
_EMPTY = STOP_WORDS | frozenset(
    (
        "about", "above", "after", "all", "along", "also", "although", "among", "any", "because", "before", "being",
        "below", "between", "both", "can", "could", "did", "do", "does", "down", "during", "each", "either", "even",
        "ever", "every", "here", "him", "how", "i", "just", "like", "many", "may", "me", "might", "more", "most",
        "much", "must", "my", "near", "only", "other", "out", "over", "own", "per", "same", "should", "since", "so",
        "some", "than", "them", "though", "through", "thus", "too", "under", "until", "up", "upon", "us", "very",
        "via", "what", "when", "where", "while", "who", "whom", "whose", "why", "within", "without", "would", "you",
        "your", "s", "t", "always", "became", "become", "especially", "known", "less", "mainly", "mostly", "never",
        "often", "several", "still", "usually", "well",
    )
)  # fmt: skip


def role_for(roles: Sequence[Role], node_type: str, rng: np.random.Generator) -> Role:
    """One of the roles that ask for nodes of a type, at random; roles that name the type before those for any."""
    fitting = [r for r in roles if node_type in r.types] or [r for r in roles if not r.types]
    return fitting[int(rng.integers(len(fitting)))] if fitting else READER


def telling(
    document: Document, matcher: Matcher, role: Role, hidden: Sequence[str], limit: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Up to ``limit`` properties of a document, from different sentences where there are several.

    Each is, as a coin says, one of its most telling phrases, or the head of a phrase that other documents have too, so
    that a query may have several answers. None holds a word of the node's own name, or a whole name of ``hidden``.
    """
    own = {word for name in document.names for word in matcher.words(name)}
    found: list[_Phrase] = []
    for number, sentence in enumerate(_sentences(document, role)):
        for start, end in phrases(sentence.text):
            text = sentence.text[start:end]
            words = matcher.words(text)
            if words and own.isdisjoint(words) and not leaks(text, hidden):
                # Long phrases of common words do not outweigh short ones of rare words.
                score = sum(map(matcher.weight, words)) / (1 + len(_WORD.findall(text)))
                found.append(_Phrase(score, number, _within(sentence, start, end), sentence.text, frozenset(words)))
    found.sort(key=lambda phrase: (-phrase.score, phrase.sentence, phrase.span.start))
    shared = [phrase for phrase in found if len(phrase.words) == 1 and matcher.is_shared(phrase.words, _COMMON)]
    best = found[: _POOL * limit]
    chosen: list[_Phrase] = []
    for _ in range(limit):
        pool = shared if shared and rng.random() < 0.5 else best
        order = [pool[i] for i in rng.permutation(len(pool)).tolist()]
        chosen += _next(order, chosen) or _next(best, chosen)
    return [_property(phrase) for phrase in chosen]


def _next(order: Sequence[_Phrase], chosen: Sequence[_Phrase]) -> list[_Phrase]:
    """The first phrase that shares no word with those chosen; from another sentence than theirs, if there is one."""
    free = [phrase for phrase in order if not any(phrase.words & c.words for c in chosen)]
    elsewhere = [phrase for phrase in free if not any(phrase.sentence == c.sentence for c in chosen)]
    return (elsewhere or free)[:1]


class _Phrase(NamedTuple):
    """A phrase, the number and text of its sentence, and its telling words."""

    score: float
    sentence: int
    span: Span
    context: str
    words: frozenset[str]


def _property(phrase: _Phrase) -> dict[str, Any]:
    span = phrase.span
    return {
        "text": span.text,
        "field": span.field,
        "start": span.start,
        "end": span.end,
        "evidence": phrase.context,
    }


def _sentences(document: Document, role: Role) -> list[Span]:
    """The sentences to look at: of the fields that the role reads, if the document has any of these."""
    everything = document.sentences
    liked = [s for s in everything if s.field.partition("#")[0] in role.fields]
    return (liked or everything)[:_MOST_SENTENCES]


def _within(sentence: Span, start: int, end: int) -> Span:
    return Span(sentence.field, sentence.start + start, sentence.start + end, sentence.text[start:end])


def phrases(sentence: str) -> Iterator[tuple[int, int]]:
    """Where the phrases of a sentence start and end: up to six words between stop words and signs, of which at least
    two are telling; the last word of each, its head; and a word that stands between signs alone, as in a list.
    """
    place = 0
    for stop in [*(m.start() for m in _BREAK.finditer(sentence)), len(sentence)]:
        words = [(m.start(), m.end()) for m in _WORD.finditer(sentence, place, stop)]
        place = stop
        if len(words) == 1 and not _is_empty(sentence[slice(*words[0])]):
            yield words[0]
        for first, last in _runs(sentence, words):
            yield words[first][0], words[last][1]
            if not any(_is_empty(sentence[slice(*word)]) for word in words[first:last]):
                yield words[last]


def _runs(sentence: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first and the last word of each phrase of several words."""
    empty = [_is_empty(sentence[s:e]) for s, e in words]
    for first in range(len(words)):
        if empty[first] or (first and not empty[first - 1]):
            continue  # a phrase starts where telling words start
        telling = 0
        for last in range(first, min(first + _MOST_WORDS, len(words))):
            if empty[last]:
                if sentence[slice(*words[last])].casefold() not in _JOIN:
                    break
                continue
            telling += 1
            if telling >= 2 and (last + 1 == len(words) or empty[last + 1]):
                yield first, last


def _is_empty(word: str) -> bool:
    return word.casefold() in _EMPTY or not any(c.isalpha() for c in word)


def shown(document: Document) -> dict[str, Any]:
    """A document as a model reads it: its name, and its texts by field, cut where they are very long."""
    fields: dict[str, str] = {}
    left = _LONGEST_DOCUMENT
    for passage in document.passages:
        fields[passage.field] = passage.text[:left]
        left = max(0, left - len(passage.text))
    return {"name": document.name, "texts": {field: text for field, text in fields.items() if text}}


def asked(
    calls: Calls, matcher: Matcher, documents: Sequence[Document], roles: Sequence[Role], counts: Sequence[int]
) -> list[Row]:
    """The properties that a model takes from each document: ``properties``, or ``dropped`` and why."""
    inputs = [
        {
            "document": shown(document),
            "target": document.type,
            "role": role.name,
            "interests": role.interests,
            "count": count,
        }
        for document, role, count in zip(documents, roles, counts, strict=True)
    ]
    rows: list[Row] = []
    answers = calls.ask("stark_properties", inputs)
    for document, count, answer in zip(documents, counts, answers, strict=True):
        if answer.problem:
            rows.append({"dropped": f"no properties: {answer.problem}"})
            continue
        said = dict.fromkeys(" ".join(entry["text"].split()) for entry in answer.value["properties"])
        texts = [text for text in said if text and not leaks(text, document.names)][:count]
        found = matcher.match(texts, [document] * len(texts))
        properties = [
            {"text": text, "field": e.span.field, "start": e.span.start, "end": e.span.end, "evidence": e.span.text}
            for text, e in zip(texts, found, strict=True)
        ]
        reason = "no properties without the answer's name" if any(said) else "no properties: all are empty"
        rows.append({"properties": properties} if properties else {"dropped": reason})
    return rows
