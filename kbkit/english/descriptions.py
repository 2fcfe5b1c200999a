"""Find the clauses of a text that describe its subject: *known for its tea*, *the highest point of Malta*.

A question can use such a clause in place of the name: *the town known for its tea*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kbkit.english.question_words import ORDINALS
from kbkit.english.sentences import sentences
from kbkit.english.words import is_person, may_be_verb

_ORDER = "|".join(word for word in ORDINALS if word.isalpha())
_EXTREME = rf"(?:(?:{_ORDER})[- ])?(?:most [a-z]+|(?!for|mid|west|rest|har)[a-z]+est|only)"
_SUPERLATIVE = re.compile(rf"(?:.*? (?:is|was) )?(?P<said>[Tt]he (?:[a-z]+ )?{_EXTREME} [a-z]+ [^,.;:()]+)")
_PARTICIPLES = (
    "based|believed|born|built|carved|covered|created|crossed|dammed|destroyed|discovered|divided|drained|dug|famous|fed"
    "|formed|founded|honou?red|known|linked|made|named|noted|raised|renowned|ruled|sacred|said|settled|shaped|split"
    "|surrounded|thought|visited|worshipped"
)
_PREPOSITIONS = "after|among|around|as|at|between|by|during|for|from|in|into|on|round|to|under|with"
_PARTICIPLE = re.compile(
    rf"(?:^|[\w)],? (?:and )?)(?P<said>(?:(?:best|mainly|partly|still|well|widely) )?(?:{_PARTICIPLES})"
    rf" (?:{_PREPOSITIONS}) [^,.;:()]+)"
)
_RELATIVE = re.compile(
    r"(?:[^,.;:()]*? (?:is|was) )?[AaTt](?:n|he)? [^,.;:()]*? (?:that|which|who) (?P<said>[^,.;:()]+)"
)
_VERB = re.compile(r" (?P<said>[a-z]+ [^,.;:()]+)")
_SUBJECT = re.compile(r"(?:It|He|She|They) (?:is|was|has been|were) ")
_LEAST, _MOST = 3, 11
"""Minimum and maximum number of words of a clause."""
_UNCLEAR = re.compile(
    r"(?i)\b(?:it|its|he|his|she|her|they|their|this|these|here|there|now|also|in the world|on earth"
    r"|by (?:area|depth|height|length|number|population|size|volume))\b"
)
"""Words that refer to something outside the clause, or that name a column to sort by (*by area*)."""


class Description(NamedTuple):
    """A clause that describes the subject of a text, from character ``start`` to ``end``.

    ``said`` is the noun phrase for a question: *the lake fed by the Aldan*. ``is_superlative``: the clause is a
    superlative, which fits one thing only: *the highest point of Malta*.
    """

    start: int
    end: int
    said: str
    is_superlative: bool


def descriptions(text: str, noun: str, name: str = "") -> Iterator[Description]:
    """Yield the clauses that describe the subject of a text.

    Only the first sentence and sentences that begin with a pronoun and *is* or *was* (*It is ...*) are read. ``noun``
    is the type of the subject in words. A sentence may begin with its ``name``: *Ann Lee crossed the Gobi*.
    """
    for number, (start, end) in enumerate(sentences(text)):
        sentence = text[start:end]
        if number == 0 or _SUBJECT.match(sentence):
            yield from _of_sentence(sentence, start, noun)
            yield from _after_name(sentence, start, noun, name)


def _of_sentence(sentence: str, start: int, noun: str) -> Iterator[Description]:
    superlative = _SUPERLATIVE.match(sentence)
    if superlative:
        said = superlative["said"]
        yield from _usable(superlative, start, f"the{said[3:]}", is_superlative=True)
    for match in _PARTICIPLE.finditer(sentence):
        yield from _usable(match, start, f"the {noun} {match['said']}", is_superlative=False)
    relative = _RELATIVE.match(sentence)
    if relative:
        pronoun = "who" if is_person(noun) else "that"
        yield from _usable(relative, start, f"the {noun} {pronoun} {relative['said']}", is_superlative=False)


def _after_name(sentence: str, start: int, noun: str, name: str) -> Iterator[Description]:
    """Yield the predicate of a sentence that begins with the name: *the explorer who crossed the Gobi*."""
    match = _VERB.match(sentence, len(name)) if name and sentence.startswith(name) else None
    verb = match["said"].partition(" ")[0] if match else ""
    if match and may_be_verb(verb) and verb not in ("is", "was"):
        pronoun = "who" if is_person(noun) else "that"
        yield from _usable(match, start, f"the {noun} {pronoun} {match['said']}", is_superlative=False)


def _usable(match: re.Match[str], start: int, said: str, *, is_superlative: bool) -> Iterator[Description]:
    clause = match["said"].rstrip()
    if _LEAST <= len(clause.split()) <= _MOST and not _UNCLEAR.search(clause):
        first = start + match.start("said")
        yield Description(first, first + len(clause), said.rstrip(), is_superlative)
