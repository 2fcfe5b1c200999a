"""Lists of words by which questions over tables are read, from ``english/frames/table_words.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kbkit.benchmarks.evidence import folded
from kbkit.english.frames import frame_file

Words = frozenset[str]


@dataclass(frozen=True)
class QuestionWords:
    """Words by what they do in a question; ``english/frames/table_words.toml`` describes each list."""

    stop: Words
    general: Words
    outcomes: Words
    counting: Words
    verbs: Words
    arithmetic: Words
    order: Words
    headers: Mapping[str, Words]
    how: Mapping[str, Words]


def _load() -> QuestionWords:
    data = dict(frame_file("table_words"))
    headers, how = (
        {word: frozenset(text.split()) for word, text in data.pop(name).items()} for name in ("headers", "how")
    )
    headers |= dict.fromkeys(("whom", "whose"), headers["who"])
    return QuestionWords(**{name: frozenset(text.split()) for name, text in data.items()}, headers=headers, how=how)


WORDS = _load()


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents, punctuation and thousands separators."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return tuple(" ".join(folded([text])).split())
