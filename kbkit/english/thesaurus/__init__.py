"""Synonyms of nouns, nouns that are more general, and the places that adjectives are derived from: WordNet 3.0.

Of each word only the frequent senses, and of rare words only what they share with common ones. The lines of a
compressed file are searched; it is read when the first word is looked up.
"""

from __future__ import annotations

import gzip
from bisect import bisect_left
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("words.txt.gz")


class RelatedWords(NamedTuple):
    """What a word is related to: ``synonyms`` and more ``general`` nouns, each with the rank of the senses (0 for the
    most frequent of both), and the ``places`` of an adjective, in lower case.
    """

    synonyms: dict[str, int]
    general: dict[str, int]
    places: tuple[str, ...]


@lru_cache(20_000)
def related_words(word: str) -> RelatedWords:
    """Return what a word in lower case is related to."""
    lines = _lines()
    prefix = f"{word}\t".encode()
    at = bisect_left(lines, prefix)
    if at == len(lines) or not lines[at].startswith(prefix):
        return RelatedWords({}, {}, ())
    _, synonyms, general, places = lines[at].decode().split("\t")
    return RelatedWords(_ranked(synonyms), _ranked(general), tuple(places.split(",") if places else ()))


def _ranked(text: str) -> dict[str, int]:
    pairs = (part.split(":") for part in text.split())
    return {word: int(rank) for word, rank in pairs}


@cache
def _lines() -> list[bytes]:
    return gzip.decompress(FILE.read_bytes()).splitlines()
