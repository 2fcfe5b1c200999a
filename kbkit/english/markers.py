"""Which names of tags, keywords and grades tell a reader what a thing is about."""

from __future__ import annotations

import re
from functools import cache

from kbkit.english.categories import MARKERS
from kbkit.english.countries import is_country
from kbkit.english.frames import frame_file
from kbkit.english.stems import PEOPLES, words_of
from kbkit.english.types import type_noun
from kbkit.english.verbs import GRADES
from kbkit.english.words import is_participle, lemmas_of

_WORD = re.compile(r"[^\W\d_]{3,}")
_OF_WORKS = frozenset(("grade", "rating", "score"))
"""Nouns of grades that somebody gave."""
_OF_THING = re.compile(
    r"(?i).*\b(?:titles?|box office|based on|cast members?|credits|directed by|franchise|prequel|reboot|remake|scenario"
    r"|sequel|spin-?off|trilogy|true story)\b.*"
)
"""Labels about a thing, not about what it tells of: *two word title*, *box office hit*."""
_PEOPLE = re.compile(r"[a-z]{3,}(?:ian|ese)")
STORED = "a label that says how a thing is kept, or a code"
NO_TOPIC = "a label that names no topic"
CRUDE = "a crude word"
GRADE = "a grade in words"


def is_marker(node_type: str) -> bool:
    """Return whether the nodes of a type are labels, such as tags and keywords."""
    return type_noun(node_type).rpartition(" ")[2] in MARKERS


@cache
def _listed(name: str) -> frozenset[str]:
    return words_of(frame_file("topics")[name])


def is_crude(text: str) -> bool:
    """Return whether a text has a word that no question needs."""
    words = (word.casefold() for word in _WORD.findall(text))
    return any(not _listed("crude").isdisjoint((word, *lemmas_of(word).get("NOUN", ()))) for word in words)


def untelling(name: str, node_type: str) -> str:
    """Return why a name of a label or a grade tells nothing of the things that have it, or ""; "" for other types."""
    noun = type_noun(node_type).rpartition(" ")[2]
    if noun in GRADES:
        is_done = noun in _OF_WORKS and is_participle(name.rpartition(" ")[2].casefold())  # Approved, Not Rated
        return GRADE if name.islower() or is_done else ""
    if noun not in MARKERS:
        return ""
    words = set(map(str.casefold, _WORD.findall(name)))
    if name.casefold() in PEOPLES or _PEOPLE.fullmatch(name.casefold()) or is_country(name):
        return NO_TOPIC  # american, england
    if not words or name.casefold() in _listed("kept") or _OF_THING.fullmatch(name):
        return STORED
    kinds = lemmas_of(name.casefold()) if " " not in name else {}
    if kinds and ("NOUN" not in kinds or "ADJ" in kinds or name.casefold() in _listed("vague") | _listed("themes")):
        return NO_TOPIC  # real, own, love
    return CRUDE if is_crude(name) else ""
