"""Automatic proxies for what people rate: readability, diversity and repetition of questions.

They are computed from the words alone and say little about one conversation. They are not ratings.

* ``reading_ease``: Flesch's reading ease, 206.835 - 1.015 words per sentence - 84.6 syllables per word (Flesch, A New
  Readability Yardstick, 1948); each question is a sentence, syllables are groups of vowels. English only.
* ``distinct_1``, ``distinct_2``: distinct words, and pairs of words, of a conversation's questions as a fraction of
  all (Li et al., A Diversity-Promoting Objective Function, NAACL 2016).
* ``repetition``: the fraction of the three-word sequences of a conversation's questions that an earlier question has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

from kbkit.benchmarks.convkgyarn.conversations import Conversation
from kbkit.benchmarks.convkgyarn.references import ReferenceConversation
from kbkit.stores.folding import words

MEASURES = ("words", "reading_ease", "distinct_1", "distinct_2", "repetition")
_VOWELS = re.compile(r"[aeiouy]+")


def table(parts: Iterable[tuple[str, Sequence[str]]]) -> pl.DataFrame:
    """Return the mean of each proxy over the conversations of each part.

    ``parts`` are (name of the part, questions of a conversation). Columns: part, conversations, words (per question),
    reading_ease, distinct_1, distinct_2, repetition (null where it is not defined).
    """
    rows = [(name, *measure(questions)) for name, questions in parts]
    schema = {"part": pl.String, **dict.fromkeys(MEASURES, pl.Float64)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    means = (pl.col(name).mean() for name in MEASURES)
    return frame.group_by("part", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("conversations"), *means)


def parts_of(conversations: Iterable[Conversation]) -> list[tuple[str, list[str]]]:
    """Return the questions of conversations by configuration, sorted by its name."""
    parts = [
        (conversation.configuration, [turn.question for turn in conversation.turns]) for conversation in conversations
    ]
    return sorted(parts, key=lambda part: part[0])


def parts_of_references(name: str, references: Iterable[ReferenceConversation]) -> list[tuple[str, list[str]]]:
    """Return the questions of references as one part."""
    return [(name, [question for question, _ in reference.turns]) for reference in references]


def measure(questions: Sequence[str]) -> tuple[float | None, ...]:
    """Return ``MEASURES`` of the questions of a conversation."""
    tokens = [[word for word in words(question).split() if word[0].isalnum()] for question in questions]
    tokens = [question_tokens for question_tokens in tokens if question_tokens]
    every = [token for question_tokens in tokens for token in question_tokens]
    if not every:
        return (None,) * len(MEASURES)
    per_sentence = len(every) / len(tokens)
    syllables = sum(map(_syllables, every)) / len(every)
    ease = 206.835 - 1.015 * per_sentence - 84.6 * syllables
    return (per_sentence, ease, _distinct(tokens, 1), _distinct(tokens, 2), _repetition(tokens))


def _syllables(word: str) -> int:
    """Return the number of syllables of an English word: groups of vowels, without a silent final e."""
    silent = word.endswith("e") and not word.endswith("le") and len(_VOWELS.findall(word)) > 1
    return max(1, len(_VOWELS.findall(word)) - silent)


def _grams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[start:] for start in range(n)), strict=False))


def _distinct(tokens: Sequence[Sequence[str]], n: int) -> float | None:
    grams = [gram for question in tokens for gram in _grams(question, n)]
    return len({*grams}) / len(grams) if grams else None


def _repetition(tokens: Sequence[Sequence[str]]) -> float | None:
    seen: set[tuple[str, ...]] = set()
    repeated = total = 0
    for question in tokens:
        grams = _grams(question, 3)
        repeated += sum(gram in seen for gram in grams)
        total += len(grams)
        seen |= {*grams}
    return repeated / total if total else None
