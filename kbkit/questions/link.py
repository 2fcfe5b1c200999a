"""Which nodes a question names: exact, then stemmed, then misspelled; the longest match first. No language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.stores.nodes import NODES_SQL
from kbkit.stores.text import Text, Word
from kbkit.stores.text_query import STOP_WORDS, check

LONGEST = 8
"""Words of the longest name that is looked for."""
MOST_SENSES = 50
"""Nodes of one name; one that more nodes bear says nothing."""
LONGEST_GUESS, MOST_GUESSES = 4, 100
"""Words of the longest misspelled name that is looked for, and how many are; each takes about a millisecond."""
_TRUST = {"exact": 1.0, "stemmed": 0.9, "fuzzy": 0.7}


@dataclass(frozen=True)
class Mention:
    """A part of the question and the nodes of that name.

    ``how`` is exact, stemmed or fuzzy; ``weight``, from 0 to 1, says how much the name tells: rare words tell more.
    """

    text: str
    nodes: tuple[int, ...]
    how: str
    weight: float


@dataclass(frozen=True)
class Linked:
    """What a question names: nodes, and the types of nodes that it asks for.

    ``whole`` is whether there is nothing else to it than one name.
    """

    mentions: tuple[Mention, ...]
    types: tuple[str, ...]
    whole: bool


def link(session: Session, question: str) -> Linked:
    """The nodes and types that a question names; no word counts for two."""
    if question.strip():
        check(question)
    linker = _Linker(session, question)
    linker.names()
    linker.misspelled()
    mentions = tuple(linker.mention(*found) for found in sorted(linker.found))
    types = tuple(dict.fromkeys(name for _, _, name in sorted(linker.types)))
    return Linked(mentions, types, whole=len(mentions) == 1 and linker.settled())


class _Linker:
    """One question: its words, which of them are spoken for, and by what: spans with nodes, and with types."""

    def __init__(self, session: Session, question: str) -> None:
        self.session, self.text, self.question = session, session.stores.text, question
        self.words = self.text.tokens(question)
        self.free = np.ones(len(self.words), bool)
        self.found: list[tuple[int, int, str, tuple[int, ...]]] = []
        self.types: list[tuple[int, int, str]] = []

    def names(self) -> None:
        """Names as they are written, or with other endings, the longest first; and names of types (movies: movie)."""
        names = [t.name for t in self.session.schema.node_types]
        types = {tuple(word.stem for word in self.text.tokens(name)): name for name in names}
        for first, last in self.spans(LONGEST):
            plain, stems = zip(*((word.plain, word.stem) for word in self.words[first:last]), strict=True)
            if stems in types:
                self.types.append((first, last, types[stems]))
                self.free[first:last] = False
                continue
            for how, phrase in (("exact", plain), ("stemmed", stems)):
                if self.take(
                    first, last, how, self.text.named(phrase, stemmed=how == "stemmed", limit=MOST_SENSES + 1)
                ):
                    break

    def misspelled(self) -> None:
        """Names that hold a word which no node has, one or two letters away."""
        unknown = np.array([not self.text.frequency(word.stem) for word in self.words], bool)
        spans = ((first, last) for first, last in self.spans(LONGEST_GUESS) if unknown[first:last].any())
        for first, last in islice(spans, MOST_GUESSES):
            ends = {self.words[first].plain, self.words[last - 1].plain}
            phrase = [word.plain for word in self.words[first:last]]
            letters = sum(map(len, phrase))
            if letters >= 5 and not ends & STOP_WORDS:
                distance = 2 if letters >= 9 else 1
                self.take(first, last, "fuzzy", self.text.named_like(phrase, distance, MOST_SENSES + 1))

    def settled(self) -> bool:
        """Whether all words but stop words are spoken for."""
        return all(self.words[place].plain in STOP_WORDS for place in np.flatnonzero(self.free).tolist())

    def spans(self, longest: int) -> Iterator[tuple[int, int]]:
        """Runs of words that are not spoken for, the longest first, then from the left; not of stop words alone."""
        for size in range(min(longest, len(self.words)), 0, -1):
            for first in range(len(self.words) - size + 1):
                last = first + size
                telling = any(word.plain not in STOP_WORDS for word in self.words[first:last])
                if telling and self.free[first:last].all():
                    yield first, last

    def take(self, first: int, last: int, how: str, nodes: NDArray[np.int64]) -> bool:
        """Give the words to a name, unless nobody or everybody bears it."""
        if not 0 < len(nodes) <= MOST_SENSES:
            return False
        self.free[first:last] = False
        self.found.append((first, last, how, tuple(nodes.tolist())))
        return True

    def mention(self, first: int, last: int, how: str, nodes: tuple[int, ...]) -> Mention:
        """The mention of some nodes; of several those of a type that is named beside (the city of Washington)."""
        words = self.words[first:last]
        for start, end, name in self.types if len(nodes) > 1 else ():
            of = end == first - 1 and self.words[end].plain in STOP_WORDS
            if start == last or end == first or of:
                same = self.session.has_type(np.array(nodes, np.int32), name)
                nodes = tuple(np.array(nodes)[same].tolist()) if same.any() else nodes
        weight = _TRUST[how] * _telling(self.text, words)
        return Mention(self.question[words[0].start : words[-1].end], nodes, how, weight)


def _telling(text: Text, words: Sequence[Word]) -> float:
    """How much the rarest word of a name tells: its inverse document frequency, scaled to 0 to 1."""
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
    nodes = session.stores.tables.lookup(NODES_SQL, {"ids": frame["id"].to_list()})
    return frame.join(nodes, on="id", how="left", maintain_order="left")
