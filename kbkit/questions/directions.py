"""The direction of a relation between nodes of one type: papers that *cite* one, or are *cited by* it.

A verb says who acts, and so does the label of a relation: the head of ``cites`` and ``citations`` acts, as does the
tail of ``cited_by`` and ``supervisor``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kbkit.english.agents import BOSSES, done_to
from kbkit.english.question_words import PARTICIPLES, PASTS
from kbkit.english.words import PREPOSITIONS, inflections, lemmas_of, may_be_person, singular
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import is_participle

ACTIVE, PASSIVE = 1, -1
_ACTIONS = ("tion", "sion", "ment", "ance", "ence", "al", "ship")
"""Endings of nouns for what the head of a relation does to the tail."""
_BEFORE_ACTIVE = frozenset("that which who whom to has have had does do did can could will would also".split())  # noqa: SIM905
_BEFORE_PASSIVE = frozenset("is are was were be been being get gets got".split())  # noqa: SIM905
_DOING = frozenset(("do", "does", "did"))
_OBJECT = ("the", "a", "an", "this", "that", "these", "at", "more", "most", "exactly", "no")
"""Words that begin what a verb is about."""
_LEADING = ("most", "least", "often", "more", "less")
"""Words before a participle that describes what is asked for: *the most cited paper*."""


@lru_cache(10_000)
def agent_of(label: str) -> int:
    """Return 1 if the head of a relation with a label acts, -1 if the tail does, 0 if that is not known."""
    words = label_words(label)
    return _agent(words) if words else 0


def _agent(words: Sequence[str]) -> int:
    if is_participle(words[0]) or words[0] in PASTS:
        return PASSIVE if "by" in words[1:] else ACTIVE if _is_past(words[0]) and len(words) == 1 else 0
    if len(words) == 2 and words[1] == "of":  # teacher_of, child_of: the head is one
        return PASSIVE if done_to(words[0]) else ACTIVE if may_be_person(words[0]) else 0
    if len(words) > 1:
        is_boss = words[-1] in BOSSES or list(words) == ["reports", "to"]
        is_act = "VERB" in lemmas_of(words[0]) and "NOUN" not in lemmas_of(words[0])
        is_act = is_act and words[0].endswith("s") and words[1] in PREPOSITIONS  # depends_on
        return PASSIVE if is_boss else ACTIVE if is_act else 0
    kinds, one = lemmas_of(words[0]), singular(words[0])
    if "NOUN" in kinds or "NOUN" in lemmas_of(one):
        if is_agent_noun(one):
            return 0 if one != words[0] and "VERB" in lemmas_of(one) else PASSIVE  # mentors: a verb, or several nouns
        if one.endswith(_ACTIONS):
            return ACTIVE
    return ACTIVE if words[0].endswith("s") and any(verb != words[0] for verb in kinds.get("VERB", ())) else 0


def is_agent_noun(noun: str) -> bool:
    """Return whether a noun in the singular means who does something: *trainer*, *coach*, *boss*."""
    is_act = may_be_person(noun) and (noun.endswith(("er", "or", "parent")) or "VERB" in lemmas_of(noun))
    return is_act or noun in BOSSES


def _is_past(word: str) -> bool:
    """Return whether a participle or irregular form is a verb in the past: *taught*, but not *written*."""
    return word not in PARTICIPLES or any(word in inflections(v, "VBD") for v in lemmas_of(word).get("VERB", ()))


def voice(words: Sequence[str], at: int) -> int:
    """Return whether the word at a position is a verb in the active (1) or the passive (-1); 0 for any other word."""
    word, before, after = words[at], words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if is_participle(word):
        if after == "by" or before in _LEADING or words[0] == "by":  # by whom was Ann taught
            return PASSIVE
        is_done = bool(after) and after not in PREPOSITIONS and _BEFORE_PASSIVE.isdisjoint(words[:at])
        return ACTIVE if is_done or before in _BEFORE_ACTIVE - {"is", "are"} else 0  # which teachers taught Ann
    kinds, one = lemmas_of(word), singular(word)
    if after == "of" and may_be_person(one) and one.endswith(("er", "or")):
        return ACTIVE  # the mentors of Ann
    if "VERB" not in kinds or after == "of" or before in ("the", "a", "an", "of"):
        return 0
    is_sure = word in kinds["VERB"] and not _DOING.isdisjoint(words[:at])  # did Ann coach Ben
    is_sure |= word.endswith("ing") or "NOUN" not in kinds or before in _BEFORE_ACTIVE or after in _OBJECT
    return ACTIVE if is_sure else 0


def expected_forward(words: Sequence[str], at: int, label: str, after: bool | None) -> bool | None:
    """Return whether a relation is followed from head to tail, given the word that says it; None if nothing tells.

    It is followed from what is named, which stands ``after`` the word or before it, or (None) from what is asked for.
    """
    said, agent = voice(words, at), agent_of(label)
    if words[at + 1 : at + 2] == ["with"]:
        return None  # who interacts with Ann: she with them, too
    if not said and agent == ACTIVE and words[at + 1 : at + 2] == ["of"]:
        verbs = lemmas_of(label_words(label)[0]).get("VERB", ())
        said = ACTIVE if words[at] in verbs else 0  # the coach of Ann, of coaches
    if not said or not agent:
        return None
    from_agent = (said == ACTIVE) if after is None else (said == ACTIVE) != after
    return from_agent == (agent == ACTIVE)


def noun_forward(words: Sequence[str], at: int, label: str) -> bool | None:
    """Return whether what *is a prerequisite of* something is the head of a relation; None if the word is no such noun.

    The head of ``copy_of`` is a copy, the tail of ``prerequisite`` is one.
    """
    said = label_words(label)
    is_noun = words[max(0, at - 1) : at] in (["a"], ["an"], ["the"]) and words[at + 1 : at + 2] in (["of"], ["for"])
    if not is_noun or singular(words[at]) != singular(said[0]) or said[1:] not in ([], ["of"]):
        return None
    return said[1:] == ["of"]
