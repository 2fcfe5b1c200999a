"""Which sentence of a document shows that its node is in a category.

A sentence shows a category if it contains the name as a phrase, and a word that says what the name has to do with the
node: ``War`` in ``It is in the War genre.`` or ``A war movie ...``, but not in ``A ship among war ruins``. It must have
all words of the category but its noun: *a language of South Africa* need not be an official language there. For the
phrase of a category file, which has no such words, the sentence must contain the whole phrase, head noun included.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kbkit.benchmarks import documents
from kbkit.benchmarks.documents import Document, Span
from kbkit.benchmarks.evidence import NAME, leaks
from kbkit.benchmarks.quest import fact_sentences
from kbkit.english.facts import NAMES
from kbkit.english.types import type_noun, type_plural
from kbkit.stores.text import Text

if TYPE_CHECKING:
    from kbkit.benchmarks.quest.categories import Categories
    from kbkit.kb import KnowledgeBase


class CategoryCondition(NamedTuple):
    """A category as a condition on an answer: its phrase, name, and the cues that say what the name means.

    The cues are words, then a tab and the fact that a document states for one name, if any.
    """

    phrase: str
    name: str
    cues: str = ""


class Reader:
    """Reads documents with the stems of a full-text index; texts are read once."""

    def __init__(self, text: Text) -> None:
        self._stems = functools.lru_cache(200_000)(lambda words: tuple(token.stem for token in text.tokens(words)))
        self._spans: dict[int, list[Span]] = {}
        self._content = functools.lru_cache(20_000)(lambda words: frozenset(text.words(words)))

    def shown(self, condition: CategoryCondition, document: Document) -> Span | None:
        """Return the first sentence that shows a condition, texts before facts; None if there is none."""
        if document.id not in self._spans:
            self._spans[document.id] = list(spans(document))
        own = self._spans[document.id]
        return next((span for span in own if self._shows(span, condition, document.type)), None)

    def _shows(self, span: Span, condition: CategoryCondition, node_type: str) -> bool:
        sentence, (cues, _, fact) = span.text, condition.cues.partition("\t")
        if not cues:
            return _within(self._stems(condition.phrase), self._stems(sentence))
        if not leaks(sentence, [condition.name]):
            return False
        if fact and span.field == fact_sentences.FIELD and _is_like(sentence, fact):
            return True
        own = self._content(condition.name)
        heads = (type_noun(node_type), type_plural(node_type))
        wanted = self._content(fact.replace(NAMES, " ") or cues) - own - self._content(" ".join((*heads, _SUBJECT)))
        # The name of a field tells too: keywords.
        if wanted and wanted <= self._content(f"{sentence} {span.field.partition('#')[0]}"):
            return True
        words = self._stems(sentence)
        return any(_within(self._stems(f"{condition.name} {head}"), words) for head in heads)


_SUBJECT = "this person"
"""The subject of facts about people."""
_SAMPLE = 200
"""Number of memberships in a sample."""


def share(reader: Reader, kb: KnowledgeBase, categories: Categories, without: Collection[str]) -> float:
    """Return the fraction of a sample of memberships in categories that the texts of the members show."""
    rng = np.random.default_rng(0)
    matrix: Any = categories.sets.matrix
    chosen = rng.choice(len(categories.items), min(_SAMPLE, len(categories.items)), replace=False).tolist()
    members = [int(rng.choice(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]])) for i in chosen]
    texts = documents.read_documents(kb, members, without)
    items = [categories.items[i] for i in chosen]
    conditions = [CategoryCondition(item.phrase, item.name, item.cues) for item in items]
    hits = [
        reader.shown(condition, texts[member]) is not None
        for condition, member in zip(conditions, members, strict=True)
    ]
    return sum(hits) / len(hits)


def spans(document: Document) -> Iterator[Span]:
    """Yield the name of a document, the sentences of its texts, and its facts."""
    facts = [passage for passage in document.passages if passage.field == fact_sentences.FIELD]
    texts = tuple(passage for passage in document.passages if passage.field != fact_sentences.FIELD)
    yield Span(NAME, 0, len(document.name), document.name)
    yield from replace(document, passages=texts).sentences
    yield from (Span(fact.field, 0, len(fact.text), fact.text) for fact in facts)


def _is_like(sentence: str, fact: str) -> bool:
    """Return whether a sentence is a fact, with any names: ``It is in {names}``."""
    before, _, after = fact.partition(NAMES)
    return sentence[: len(before)].casefold() == before.casefold() and sentence.endswith(after)


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Return whether words follow each other in a text."""
    return bool(part) and any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))
