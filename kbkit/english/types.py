"""Node types in words: their nouns, pronouns, and what their texts are called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kbkit.english.abbreviations import expanded
from kbkit.english.words import is_person, plural, spoken

THING = "thing"
"""The noun of nodes without a type."""
WORKS = frozenset(
    ("album", "article", "book", "document", "film", "movie", "paper", "publication", "report", "song", "thesis")
)
"""Types whose nodes have titles, which are quoted in writing."""
TITLED_WITH_SENTENCES = WORKS - {"album", "film", "movie", "song"}
"""Works whose titles read like sentences, so that they are quoted in speech too."""
_STORIES = frozenset(("film", "movie", "novel"))
"""Works whose texts are summaries of a story."""
STORIES = frozenset(("plot", "story", "storyline", "synopsis"))
"""What texts that tell stories are called."""
_NOUNS = {
    "node": THING, "entity": THING, "human": "person", "big city": "city", "U S state": "state",
    "sovereign state": "country", "capital city": "city", "natural satellite": "moon",
    "educational institution": "school",
}  # fmt: skip
"""Nouns for types that say little, or are terms of Wikidata."""


@lru_cache(10_000)
def type_noun(node_type: str) -> str:
    """Return the noun of a type: *river*, *gene or protein*, *person* for Wikidata's humans, *thing* for ``entity``."""
    noun = spoken(node_type)
    noun = " ".join(expanded(noun.split(" "))) if noun.islower() else noun
    noun = _NOUNS.get(noun.casefold(), _NOUNS.get(noun, noun))
    return noun[:1].lower() + noun[1:] if not noun.isupper() and not noun[1:2].isupper() else noun


def type_plural(node_type: str) -> str:
    """Return the plural of a type's noun: *fields of study*."""
    return plural(type_noun(node_type))


def are_people(node_type: str) -> bool:
    """Return whether the nodes of a type are people, by its name."""
    return is_person(type_noun(node_type))


def who_or_that(node_type: str) -> str:
    """Return the relative pronoun of a type."""
    return "who" if are_people(node_type) else "that"


def text_noun(node_type: str, fields: Sequence[str]) -> str:
    """Return what to call the texts of a type: the name of its field or of its two fields, or *description*."""
    names = [spoken(field) for field in fields]
    if names == ["name"]:
        return "title" if type_noun(node_type) in WORKS else "name"
    if names in (["text"], ["description"]) and type_noun(node_type).rpartition(" ")[2] in _STORIES:
        return "plot"
    return " or ".join(names) if 1 <= len(names) <= 2 and names != ["text"] else "description"
