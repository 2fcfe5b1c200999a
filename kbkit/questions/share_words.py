"""Questions for a share: *what percentage of members are women*, *share of late orders by region*.

Such a question is split into the nodes that the share is of, and those of them that count, each of which is read by
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kbkit.english.words import may_be_verb
from kbkit.questions.link_words import is_participle

_ASKS = r"(?:(?:what|which|how|many|big|large|high|is|s|are|was|were|the|a|an|show|give|me|tell|find|calculate)[\s']+)*"
_OF = r"\s+of\s+(?:(?:all|the|our|its|these|those)\s+)*"
_SHARE = re.compile(
    rf"^\W*{_ASKS}(?:(?P<percent>percentage|percent|per cent|pct|%)|share|proportion|fraction){_OF}"
    r"(?P<rest>.+?)[\s?.!]*$",
    re.I,
)
_GROUP = re.compile(r"^(?P<rest>.+?),?\s+(?P<group>(?:by|per|(?:for|in|of|at|from) (?:each|every))\s+\S.*)$", re.I)
_GROUP_INSIDE = re.compile(
    r"^(?P<before>.+?)\s+(?P<group>(?:by|per|(?:for|in|of|at|from) (?:each|every))\s+\w+)"
    r"\s+(?P<after>(?:that|who|which|with|without|having|is|are|was|were|has|have|had)\s.+)$",
    re.I,
)
_EACH = re.compile(r"\b(?:per|each|every)\b", re.I)
_OTHER_NOUNS = re.compile(r"\b(?:proportion|fraction)\b|%", re.I)
_AMONG = re.compile(r"^(?P<part>.+?)\s+(?:among|amongst|within|out of)\s+(?:(?:all|the|our)\s+)*(?P<whole>.+)$", re.I)
_BE = frozenset("is are was were".split())  # noqa: SIM905
_FINITE = _BE | frozenset("has have had do does did can could will don doesn didn isn aren wasn weren".split())  # noqa: SIM905
_RELATIVE = frozenset("that who which whose with without having".split())  # noqa: SIM905
_PREPOSITIONS = frozenset(
    "in from on at by under over above below before after since between longer shorter more less older not".split()  # noqa: SIM905
)


class AskedShare(NamedTuple):
    """A share in percent or from 0 to 1; ``group`` is empty or what it is asked for each of, with its preposition."""

    in_percent: bool
    rest: str
    group: str


class ShareParts(NamedTuple):
    """The text for all nodes, and ways to say those that count, the best first.

    Without a text for them, they are all nodes of the type of those that count.
    """

    whole: str
    parts: tuple[str, ...]


def asked_shares(text: str) -> Iterator[AskedShare]:
    """Yield the shares that a question may ask for."""
    match = _SHARE.match(text)
    if match is None:
        return
    if (inside := _GROUP_INSIDE.match(match["rest"])) is not None:
        yield AskedShare(bool(match["percent"]), f"{inside['before']} {inside['after']}", inside["group"])
    elif (grouped := _GROUP.match(match["rest"])) is not None:
        yield AskedShare(bool(match["percent"]), grouped["rest"], grouped["group"])
    if not _EACH.search(match["rest"]):
        yield AskedShare(bool(match["percent"]), match["rest"], "")


def as_noun(text: str) -> str:
    """Return a text with a noun for a share that is no verb too, which nothing but a share explains."""
    return _OTHER_NOUNS.sub("percentage", text, count=1)


def share_parts(rest: str) -> Iterator[ShareParts]:
    """Yield the ways to split the text after *percentage of*, the best first."""
    if match := _AMONG.match(rest):
        part, whole = match["part"], match["whole"]
        yield ShareParts(whole, (f"{whole} that are {part}", f"{part} {whole}", part))
    words = rest.split()
    folded = [word.casefold().strip(",'") for word in words]
    for at in range(1, len(words) - 1):
        if folded[at] in _FINITE:
            yield _at_verb(words, folded, at)
    for at in range(1, len(words) - 1):
        if folded[at] in _RELATIVE:
            yield ShareParts(" ".join(words[:at]), (rest,))
    for at in range(1, len(words)):
        if at < len(words) - 1 and folded[at] in _PREPOSITIONS:
            yield ShareParts(" ".join(words[:at]), (rest,))
            break
        if is_participle(folded[at]) or may_be_verb(folded[at]):
            yield ShareParts(" ".join(words[:at]), (rest, f"which {rest}"))
    if len(words) > 1:
        yield ShareParts(words[-1], (rest,))
    yield ShareParts("", (rest,))


def _at_verb(words: list[str], folded: list[str], at: int) -> ShareParts:
    """Split before a verb, which a relative pronoun may precede: *members (who) are women*."""
    before = at - 1 if folded[at - 1] in ("that", "who", "which") and at > 1 else at
    whole, verb, said = " ".join(words[:before]), words[at], " ".join(words[at + 1 :])
    ways = [f"which {whole} {verb} {said}", f"{whole} that {verb} {said}"]
    if folded[at] in _BE:
        ways += [f"{said} {whole}", f"{whole} {said}", said]
    return ShareParts(whole, tuple(ways))
