"""Find the clauses of a text that describe its subject: *known for its tea*, *the highest point of Malta*.

A question can use such a clause in place of the name: *the town known for its tea*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kbkit.english.question_words import ORDINALS
from kbkit.english.sentences import sentences
from kbkit.english.words import inflections, is_person, lemmas_of, may_be_verb

_ORDER = "|".join(word for word in ORDINALS if word.isalpha())
_EXTREME = rf"(?:(?:{_ORDER})[- ])?(?:most [a-z]+|(?!for|mid|west|rest|har)[a-z]+est|only)"
_SUPERLATIVE = re.compile(rf"(?:.*? (?:is|was) )?(?P<said>[Tt]he (?:[a-z]+ )?{_EXTREME} [a-z]+ [^,.;:()]+)")
_PARTICIPLES = (
    "based|believed|born|built|carved|covered|created|crossed|dammed|destroyed|discovered|divided|drained|dug|famous|fed"
    "|formed|founded|honou?red|known|linked|made|named|noted|raised|renowned|ruled|sacred|said|settled|shaped|split"
    "|surrounded|thought|visited|worshipped"
)
_ADVERBS = "almost|best|largely|mainly|mostly|nearly|partly|still|well|widely"
_PREPOSITIONS = "after|among|around|as|at|between|by|during|for|from|in|into|on|round|to|under|with"
_PARTICIPLE = re.compile(
    rf"(?:^|[\w)],? (?:and )?)(?P<said>(?:(?:{_ADVERBS}) )?(?:{_PARTICIPLES})"
    rf" (?:{_PREPOSITIONS}) [^,.;:()]+)"
)
_RELATIVE = re.compile(
    r"(?:[^,.;:()]*? (?:is|was) )?[AaTt](?:n|he)? [^,.;:()]*? (?:that|which|who) (?P<said>[^,.;:()]+)"
)
_VERB = re.compile(r" (?P<said>[a-z]+ [^,.;:()]+)")
_SUBJECT = re.compile(r"(?:It|He|She|They) (?:is|was|has been|were) ")
_PAST = frozenset(("born", "built", "carved", "created", "destroyed", "discovered", "dug", "founded", "raised"))
_OF_SEVERAL = {"is": "are", "was": "were", "has": "have", "does": "do"}
_LEAST, _MOST = 3, 11
"""Minimum and maximum number of words of a clause."""
_UNCLEAR = re.compile(
    r"(?i)\b(?:it|its|he|his|she|her|they|their|this|these|here|there|now|also|in the world|on earth"
    r"|by (?:area|depth|height|length|number|population|size|volume))\b"
)
"""Words that refer to something outside the clause, or that name a column to sort by (*by area*)."""


_BEGIN = re.compile(rf"{_ADVERBS}|{_PARTICIPLES}")
_SUPERLATIVES = re.compile(rf"\b{_EXTREME}\b")
_CUT, _LY = re.compile(r",\d"), re.compile(r"\b[a-z]+ly $")
"""What follows and precedes a clause that lacks a part: the rest of a number, an adverb (*largely destroyed by*)."""


class Description(NamedTuple):
    """A clause that describes the subject of a text, from character ``start`` to ``end``.

    ``said`` is the noun phrase for a question: *the lake fed by the Aldan*. ``is_superlative``: the clause is a
    superlative, which fits one thing only: *the highest point of Malta*.
    """

    start: int
    end: int
    said: str
    is_superlative: bool

    @property
    def predicates(self) -> tuple[str, str, str]:
        """The clause as a predicate of one thing and of several, and after a noun ("" with *that*): *is known for
        tea*, *are known for tea*, *known for tea*. Empty texts if the clause is not a predicate of the subject.
        """
        words = self.said.split(" ")
        start = next((at for at, word in enumerate(words) if word in ("that", "who") or _BEGIN.fullmatch(word)), 0)
        verb, rest = words[start], " ".join(words[start + 1 :])
        if self.is_superlative or not start or _SUPERLATIVES.search(self.said):
            return "", "", ""
        if verb not in ("that", "who"):
            clause = " ".join(words[start:])
            is_past = any(word in _PAST for word in words[start : start + 2])
            return (f"was {clause}", f"were {clause}", clause) if is_past else (f"is {clause}", f"are {clause}", clause)
        verb, _, after = rest.partition(" ")
        several = _OF_SEVERAL.get(verb, "")
        for lemma in () if several else lemmas_of(verb).get("VERB", ()):
            several = lemma if verb in inflections(lemma, "VBZ") else verb if verb in inflections(lemma, "VBD") else ""
        return (rest, f"{several} {after}", "") if several else ("", "", "")


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
    is_cut = _CUT.match(match.string, match.end("said")) or _LY.search(match.string, 0, match.start("said"))
    if _LEAST <= len(clause.split()) <= _MOST and not _UNCLEAR.search(clause) and not is_cut:
        first = start + match.start("said")
        yield Description(first, first + len(clause), said.rstrip(), is_superlative)
