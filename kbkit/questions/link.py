"""Link a question to the nodes that it names: exact, stemmed, then fuzzy matches, the longest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.stores.text import Text, Word
from kbkit.stores.text_query import STOP_WORDS, check

MAX_WORDS = 8
"""Limit on the words of a name."""
MAX_NODES = 50
"""Limit on the nodes of a name; names of more nodes are ignored."""
MAX_FUZZY_WORDS, MAX_FUZZY_LOOKUPS = 4, 100
"""Limits on the words of a misspelled name, and on fuzzy lookups, which take about a millisecond each."""
_CONFIDENCE = {"exact": 1.0, "stemmed": 0.9, "fuzzy": 0.7}


@dataclass(frozen=True)
class Mention:
    """A span of the question and the nodes of that name.

    ``how`` is exact, stemmed or fuzzy; ``weight``, from 0 to 1, is higher for names of rare words.
    """

    text: str
    nodes: tuple[int, ...]
    how: str
    weight: float


@dataclass(frozen=True)
class Linked:
    """Nodes and types named in a question; ``is_name`` if the question is a single name and nothing else."""

    mentions: tuple[Mention, ...]
    types: tuple[str, ...]
    is_name: bool


def link(session: Session, question: str) -> Linked:
    """Return the nodes and types that a question names; spans do not overlap."""
    if question.strip():
        check(question)
    linker = _Linker(session, question)
    linker.names()
    linker.misspelled()
    mentions = tuple(linker.mention(*found) for found in sorted(linker.found))
    types = tuple(dict.fromkeys(name for _, _, name in sorted(linker.types)))
    return Linked(mentions, types, is_name=len(mentions) == 1 and linker.is_complete())


class _Linker:
    """The words of one question, which of them are unassigned, and the spans found: of nodes and of types."""

    def __init__(self, session: Session, question: str) -> None:
        self.session, self.text, self.question = session, session.stores.text, question
        self.words = self.text.tokens(question)
        self.free = np.ones(len(self.words), bool)
        self.found: list[tuple[int, int, str, tuple[int, ...]]] = []
        self.types: list[tuple[int, int, str]] = []

    def names(self) -> None:
        """Find exact and stemmed names, the longest first, and names of types (``movies``: movie)."""
        names = [t.name for t in self.session.schema.node_types]
        types = {tuple(word.stem for word in self.text.tokens(name)): name for name in names}
        for first, last in self.spans(MAX_WORDS):
            stems = tuple(word.stem for word in self.words[first:last])
            if stems in types:
                self.types.append((first, last, types[stems]))
                self.free[first:last] = False
                continue
            named = self.session.stores.nodes.named(self.question[self.words[first].start : self.words[last - 1].end])
            if not self.take(first, last, "exact", named):
                self.take(first, last, "stemmed", self.text.named(stems, MAX_NODES + 1))

    def misspelled(self) -> None:
        """Find names at edit distance 1 or 2 for spans with a word that no node has."""
        unknown = np.array([not self.text.frequency(word.stem) for word in self.words], bool)
        spans = ((first, last) for first, last in self.spans(MAX_FUZZY_WORDS) if unknown[first:last].any())
        for first, last in islice(spans, MAX_FUZZY_LOOKUPS):
            ends = {self.words[first].plain, self.words[last - 1].plain}
            phrase = [word.plain for word in self.words[first:last]]
            letters = sum(map(len, phrase))
            if letters >= 5 and not ends & STOP_WORDS:
                distance = 2 if letters >= 9 else 1
                self.take(first, last, "fuzzy", self.text.named_like(phrase, distance, MAX_NODES + 1))

    def is_complete(self) -> bool:
        """Return whether all words except stop words are assigned."""
        return all(self.words[position].plain in STOP_WORDS for position in np.flatnonzero(self.free).tolist())

    def spans(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield spans of unassigned words, the longest first, then from the left, except spans of stop words."""
        for size in range(min(limit, len(self.words)), 0, -1):
            for first in range(len(self.words) - size + 1):
                last = first + size
                has_content = any(word.plain not in STOP_WORDS for word in self.words[first:last])
                if has_content and self.free[first:last].all():
                    yield first, last

    def take(self, first: int, last: int, how: str, nodes: NDArray[Any]) -> bool:
        """Assign words to a name, unless it has no node or too many; return whether it was assigned."""
        if not 0 < len(nodes) <= MAX_NODES:
            return False
        self.free[first:last] = False
        self.found.append((first, last, how, tuple(nodes.tolist())))
        return True

    def mention(self, first: int, last: int, how: str, nodes: tuple[int, ...]) -> Mention:
        """Return the mention of a span; a type next to it selects nodes (``the city of Washington``)."""
        words = self.words[first:last]
        for start, end, name in self.types if len(nodes) > 1 else ():
            of = end == first - 1 and self.words[end].plain in STOP_WORDS
            if start == last or end == first or of:
                same = self.session.has_type(np.array(nodes, np.int32), name)
                nodes = tuple(np.array(nodes)[same].tolist()) if same.any() else nodes
        weight = _CONFIDENCE[how] * _rarity(self.text, words)
        return Mention(self.question[words[0].start : words[-1].end], nodes, how, weight)


def _rarity(text: Text, words: Sequence[Word]) -> float:
    """Return the inverse document frequency of the rarest word, scaled to 0 to 1."""
    rarest = min(text.frequency(word.stem) for word in words)
    return float(np.log((text.documents + 1) / (rarest + 1)) / np.log(text.documents + 1))


def linked(session: Session, question: str) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.linked`."""
    found = [(m.text, m.how, m.weight, node) for m in link(session, question).mentions for node in m.nodes]
    frame = pl.DataFrame(
        found,
        schema={"text": pl.String, "how": pl.String, "weight": pl.Float64, "id": pl.Int32},
        orient="row",
    )
    nodes = session.stores.nodes.frame(frame["id"])
    return frame.join(nodes, on="id", how="left", maintain_order="left")
