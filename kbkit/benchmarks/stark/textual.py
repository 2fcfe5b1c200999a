"""Stage 2: textual properties of a gold answer, which is one of the candidates.

Without a model, a property is a key phrase of its document: words between stop words, ranked by their rarity in the
collection (BM25's weights), as in RAKE (Rose et al. 2010).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kbkit.benchmarks.documents import Document, Span
from kbkit.benchmarks.evidence import Matcher, leaks
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.llm.calls import Calls
from kbkit.schema import Role
from kbkit.stores.text_query import STOP_WORDS

READER = Role("reader")
"""The role for types of answers that no role of the KB's recipe asks for."""
_MAX_SENTENCES = 80
_POOL = 4
"""Number of best phrases that each property is drawn from."""
_COMMON = 0.02
"""Maximum fraction of documents that contain a shared word."""
_MAX_WORDS = 6
_MAX_DOCUMENT = 20_000
"""Characters of a document that a model reads."""
_BREAK = re.compile(r"[()\[\]{}<>\"“”«»|`*=]+|[,;:.!?/]+(?:\s|$)|\s[-–—]+\s|\n")
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
# Words inside a phrase, as in "delta of the Ganges".
_JOIN = frozenset(("of", "for", "in", "on", "the", "to", "with"))
# The stop words of the index, and further words that phrases rarely contain.
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


@dataclass(frozen=True)
class Property:
    """A textual property, where the document says it, and the ``evidence``: the whole sentence."""

    text: str
    field: str
    start: int
    end: int
    evidence: str


@dataclass(frozen=True)
class Requirement(Row):
    """The id of the gold answer, the role of the person who asks, and the properties."""

    gold: int
    role: str
    properties: list[Property] = field(default_factory=list)


TEXTUAL = Stage("2_textual", Requirement)


def role_for(roles: Sequence[Role], node_type: str, rng: np.random.Generator) -> Role:
    """Return a random role that asks for nodes of a type: of the roles that name the type, or else of those for any."""
    fitting = [r for r in roles if node_type in r.types] or [r for r in roles if not r.types]
    return fitting[int(rng.integers(len(fitting)))] if fitting else READER


def key_phrases(
    document: Document, matcher: Matcher, role: Role, hidden: Sequence[str], limit: int, rng: np.random.Generator
) -> list[Property]:
    """Return up to ``limit`` properties of a document, from different sentences if possible.

    With equal probability each is one of the highest-scoring phrases, or a single word that other documents have too,
    so that a query can have several answers. No property contains a word of the node's own name, or a whole name of
    ``hidden``.
    """
    own = {word for name in document.names for word in matcher.words(name)}
    found: list[_Phrase] = []
    for number, sentence in enumerate(_sentences(document, role)):
        for start, end in phrases(sentence.text):
            text = sentence.text[start:end]
            words = matcher.words(text)
            if words and own.isdisjoint(words) and not leaks(text, hidden):
                # Long phrases of common words must not outweigh short ones of rare words.
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
    return [Property(p.span.text, p.span.field, p.span.start, p.span.end, p.context) for p in chosen]


def _next(order: Sequence[_Phrase], chosen: Sequence[_Phrase]) -> list[_Phrase]:
    """Return the first phrase that shares no word with the chosen ones, from another sentence if possible."""
    free = [phrase for phrase in order if not any(phrase.words & c.words for c in chosen)]
    elsewhere = [phrase for phrase in free if not any(phrase.sentence == c.sentence for c in chosen)]
    return (elsewhere or free)[:1]


class _Phrase(NamedTuple):
    """A phrase, the number and the text of its sentence, and its distinct words without stop words."""

    score: float
    sentence: int
    span: Span
    context: str
    words: frozenset[str]


def _sentences(document: Document, role: Role) -> list[Span]:
    """Return the first sentences of the fields that the role reads, or else of all fields."""
    preferred = [s for s in document.sentences if s.field.partition("#")[0] in role.fields]
    return (preferred or document.sentences)[:_MAX_SENTENCES]


def _within(sentence: Span, start: int, end: int) -> Span:
    return Span(sentence.field, sentence.start + start, sentence.start + end, sentence.text[start:end])


def phrases(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each phrase of a sentence.

    Phrases are up to six words between stop words and punctuation, two or more of them content words; the last word of
    each such phrase; and single words between punctuation, as in a list.
    """
    position = 0
    for stop in [*(m.start() for m in _BREAK.finditer(sentence)), len(sentence)]:
        words = [(m.start(), m.end()) for m in _WORD.finditer(sentence, position, stop)]
        position = stop
        if len(words) == 1 and not _is_empty(sentence[slice(*words[0])]):
            yield words[0]
        for first, last in _runs(sentence, words):
            yield words[first][0], words[last][1]
            if not any(_is_empty(sentence[slice(*word)]) for word in words[first:last]):
                yield words[last]


def _runs(sentence: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the first and the last word of each phrase of several words."""
    empty = [_is_empty(sentence[s:e]) for s, e in words]
    for first in range(len(words)):
        if empty[first] or (first and not empty[first - 1]):
            continue  # a phrase starts at the first of consecutive content words
        count = 0
        for last in range(first, min(first + _MAX_WORDS, len(words))):
            if empty[last]:
                if sentence[slice(*words[last])].casefold() not in _JOIN:
                    break
                continue
            count += 1
            if count >= 2 and (last + 1 == len(words) or empty[last + 1]):
                yield first, last


def _is_empty(word: str) -> bool:
    return word.casefold() in _EMPTY or not any(c.isalpha() for c in word)


def for_model(document: Document) -> dict[str, Any]:
    """Return a document as a model reads it: name and texts by field, truncated if very long."""
    fields: dict[str, str] = {}
    left = _MAX_DOCUMENT
    for passage in document.passages:
        fields[passage.field] = passage.text[:left]
        left = max(0, left - len(passage.text))
    return {"name": document.name, "texts": {name: text for name, text in fields.items() if text}}


def from_model(
    calls: Calls, matcher: Matcher, documents: Sequence[Document], roles: Sequence[Role], counts: Sequence[int]
) -> list[tuple[list[Property], str]]:
    """Return the properties that a model extracts from each document, or the reason why there are none."""
    inputs = [
        {
            "document": for_model(document),
            "target": document.type,
            "role": role.name,
            "interests": role.interests,
            "count": count,
        }
        for document, role, count in zip(documents, roles, counts, strict=True)
    ]
    result: list[tuple[list[Property], str]] = []
    answers = calls.ask("stark_properties", inputs)
    for document, count, answer in zip(documents, counts, answers, strict=True):
        if answer.problem:
            result.append(([], f"no properties: {answer.problem}"))
            continue
        stated = dict.fromkeys(" ".join(entry["text"].split()) for entry in answer.value["properties"])
        texts = [text for text in stated if text and not leaks(text, document.names)][:count]
        spans = [evidence.span for evidence in matcher.match(texts, [document] * len(texts))]
        properties = [Property(t, s.field, s.start, s.end, s.text) for t, s in zip(texts, spans, strict=True)]
        reason = "no properties without the answer's name" if any(stated) else "no properties: all are empty"
        result.append((properties, "" if properties else reason))
    return result
