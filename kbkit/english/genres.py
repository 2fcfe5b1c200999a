"""What works of a genre are called: *historical movies*, *comedies*. The words are in ``frames/genres.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from kbkit.english.frames import frame_file
from kbkit.english.words import plural

_NOT_OF = re.compile(r"are not in the ([\w-]+) genre$")


def adjective(genre: str) -> str:
    """Return what a genre says before a noun, *historical* for *History*; an unknown genre as it is."""
    return str(frame_file("genres")["adjectives"].get(genre.casefold(), genre))


def stands_apart(genre: str) -> bool:
    """Return whether the name of a genre says something else before a noun: music movies could be musicals."""
    return genre.casefold() in frame_file("genres")["apart"]


def noun(genre: str) -> str:
    """Return the noun for works of a genre in the singular, *comedy*; "" if there is none."""
    return str(frame_file("genres")["nouns"].get(genre.casefold(), ""))


def works(genre: str, things: str) -> str:
    """Return the works of a genre, given the plural of their noun: *comedies*, *historical movies*."""
    return plural(noun(genre)) if noun(genre) else f"{adjective(genre)} {things}"


def not_of(text: str, things: str) -> str:
    """Return *are not crime movies* for *are not in the Crime genre*; ``things``: the plural of the noun, *movies*."""
    return _NOT_OF.sub(lambda match: f"are not {works(match[1], things)}", text)


@cache
def _genres() -> dict[str, list[str]]:
    """Return the known genres by each adjective and each plural of a noun."""
    named: dict[str, list[str]] = {}
    for genre, word in frame_file("genres")["adjectives"].items():
        named.setdefault(str(word), []).append(genre)
    return named


def genres_of(words: str) -> Iterator[str]:
    """Yield the genres in lower case that an adjective or a plural noun can stand for, itself included."""
    yield words.casefold()
    yield from _genres().get(words, ())
    yield from (genre for genre, one in frame_file("genres")["nouns"].items() if plural(str(one)) == words)
