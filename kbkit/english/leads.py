"""Whom a story is about: the person with whom its summary begins, *an opera singer* or *two retired boxers*.

A summary begins with its lead and names others by chance, so that one that lacks a lead is of somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kbkit.english.frames import frame_file
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.stems import words_of
from kbkit.english.thesaurus import may_be_human
from kbkit.english.words import PREPOSITIONS, inflections, is_participle, lemmas_of, singular, with_article

_OPENING = re.compile(
    r"(?i)(?:(?:in [\w ]+?, )?(?:this is )?(?:the|a) (?:true )?(?:story|tale) (?:of|about) |follows |when |after )?"
    r"(?P<article>an?|two|three|four|five) (?P<rest>.+)"
)
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_AFTER = frozenset(("and", "are", "has", "have", "is", "must", "was", "were", "who", "whose"))
_MOST = 5
"""Maximum number of words of a lead."""


class StoryLead(NamedTuple):
    """Whom a story is about, from character ``start`` to ``end``, as a query says it (``said``)."""

    start: int
    end: int
    said: str


def story_lead(text: str) -> StoryLead | None:
    """Return whom a summary is about; None if it does not begin with a person without a name."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    number = opening["article"].lower()
    spans: list[tuple[int, int]] = []
    at = opening.start("rest")
    while len(spans) < _MOST and (found := _WORD.match(text, at)) and (not spans or text[at - 1] == " "):
        spans.append(found.span())
        at = found.end() + 1
    words = [text[slice(*one)] for one in spans]
    end = next((at for at in range(1, len(words)) if _ends(words[:at], words[at], number)), 0)
    told = _told(words[:end], number)
    if not told:
        return None
    said = " ".join(told)
    return StoryLead(
        spans[end - len(told)][0], spans[end - 1][1], f"{number} {said}" if _is_many(number) else with_article(said)
    )


def _is_many(number: str) -> bool:
    return number not in ("a", "an")


def _ends(words: Sequence[str], after: str, number: str) -> bool:
    """Return whether a noun phrase ends before a word: a verb, a preposition or the like."""
    if "NOUN" not in lemmas_of(words[-1]):
        return False
    if after in _AFTER or after in PREPOSITIONS - {"of"}:
        return True
    verbs = lemmas_of(after).get("VERB", ())
    finite = any(after == one if _is_many(number) else after in inflections(one, "VBZ") for one in verbs)
    return (finite or is_participle(after)) and may_be_human(words[-1])


def _told(words: Sequence[str], number: str) -> Sequence[str]:
    """Return the words of a lead that say who it is, without those that say little; none if nothing is left."""
    while words and words[0] in _listed("plain") and (len(words) < 3 or words[1] in _listed("plain")):
        words = words[1:]  # a young writer, not: a school teacher for a high school teacher
    if not words or FUNCTION_WORDS.intersection(words):
        return ()
    head, kinds = words[-1], lemmas_of(words[-1])
    one = singular(head) if _is_many(number) else head
    is_noun = head in kinds.get("NOUN", ()) if not _is_many(number) else one != head
    if not is_noun or "ADJ" in kinds or not may_be_human(one) or one in _listed("vague"):
        return ()
    # Not: a bailiffs assistant, a recently divorced man, a married mans one night stand.
    if any(word.endswith("s") and word not in lemmas_of(word).get("NOUN", (word,)) for word in words[:-1]):
        return ()
    if any("-" not in word and (set(lemmas_of(word)) <= {"ADV"} or _is_finite(word)) for word in words[:-1]):
        return ()
    return words if len(words) > 1 or one not in _listed("alone") else ()


def _is_finite(word: str) -> bool:
    """Return whether a word is only a verb that is no participle: *an unseen enemy threatens mankind*."""
    return set(lemmas_of(word)) == {"VERB"} and not is_participle(word) and not word.endswith("ing")


def _listed(name: str) -> frozenset[str]:
    return words_of(frame_file("topics")[name])
