"""Synonyms of nouns, more general nouns, and the places that adjectives are derived from, extracted from WordNet 3.0.

For each word, the file has only the frequent senses; for a rare word, only the senses that it shares with common words.
It is read at the first lookup, and its sorted lines are searched by bisection.
"""

from __future__ import annotations

import gzip
from bisect import bisect_left
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from kbkit.english.words import is_person, may_be_person, singular

FILE = Path(__file__).with_name("words.txt.gz")


class RelatedWords(NamedTuple):
    """The words related to a word, in lower case.

    ``synonyms`` and more ``general`` nouns have the rank of the shared sense (0: the most frequent sense of both
    words); ``places`` are the places that an adjective is derived from.
    """

    synonyms: dict[str, int]
    general: dict[str, int]
    places: tuple[str, ...]


@lru_cache(20_000)
def related_words(word: str) -> RelatedWords:
    """Return the related words of a word in lower case."""
    lines = _lines()
    prefix = f"{word}\t".encode()
    at = bisect_left(lines, prefix)
    if at == len(lines) or not lines[at].startswith(prefix):
        return RelatedWords({}, {}, ())
    _, synonyms, general, places = lines[at].decode().split("\t")
    return RelatedWords(_ranked(synonyms), _ranked(general), tuple(places.split(",") if places else ()))


def more_general(noun: str) -> set[str]:
    """Return the nouns that are surely more general than one: *physicist* and *scientist* for *nuclear physicist*."""
    head = noun.rpartition(" ")[2]
    general = {one for one, rank in related_words(head).general.items() if not rank}
    return general | ({head} if head != noun else set())


def are_co_hyponyms(noun: str, other: str) -> bool:
    """Return whether two nouns are different kinds of one thing, as *gulf* and *sea* are of waters."""
    one, two = related_words(noun), related_words(other)
    is_same = noun == other or other in one.synonyms or other in one.general or noun in two.general
    return not is_same and not one.general.keys().isdisjoint(two.general)


def may_be_human(noun: str) -> bool:
    """Return whether a noun, perhaps in the plural, says what a person is or does: *lawyer*, *gamblers*."""
    head = singular(noun.rpartition(" ")[2])
    general = more_general(head)
    return (
        is_person(head)
        or any(map(may_be_person, general))
        or any(is_person(one) for word in general for one in more_general(word))
    )


def _ranked(text: str) -> dict[str, int]:
    pairs = (part.split(":") for part in text.split())
    return {word: int(rank) for word, rank in pairs}


@cache
def _lines() -> list[bytes]:
    return gzip.decompress(FILE.read_bytes()).splitlines()
