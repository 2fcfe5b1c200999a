"""Find the clauses of a text that describe its subject: *known for its tea*, *the highest point of Malta*.

A question can use such a clause in place of the name: *the town known for its tea*; or as what it asks for: *cities on
the Danube*. A text *states* such a clause of its subject; it only *mentions* all other names and nouns in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kbkit.english.question_words import ORDINALS
from kbkit.english.sentences import sentences
from kbkit.english.words import (
    inflections,
    is_nominal,
    is_participle,
    is_person,
    lemmas_of,
    may_be_verb,
    plural,
    with_article,
)

_ORDER = "|".join(word for word in ORDINALS if word.isalpha())
_EXTREME = rf"(?:(?:{_ORDER})[- ])?(?:most [a-z]+|(?!for|mid|west|rest|har)[a-z]+est|only)"
_SUPERLATIVE = re.compile(
    rf"(?:.*? (?:is|was) )?(?P<said>[Tt]he (?:[a-z]+ )?{_EXTREME} (?P<kind>[a-z]+) (?:(?! and an? )[^,.;:()])+)"
)
_PARTICIPLES = (
    "based|born|built|carved|covered|created|crossed|dammed|destroyed|discovered|divided|drained|dug|famous|fed"
    "|formed|founded|honou?red|known|linked|made|named|noted|raised|renowned|ruled|sacred|settled|shaped|split"
    "|surrounded|visited|worshipped"
)
_ADVERBS = "almost|best|largely|mainly|mostly|nearly|partly|still|well|widely"
_PREPOSITIONS = "after|among|around|as|at|between|by|during|for|from|in|into|on|round|to|under|with"
_PARTICIPLE = re.compile(
    rf"(?:^|(?<!\bnot)(?<!\bnever)(?<!\bheld)(?<=[\w),]) (?:and )?)(?P<said>(?:(?:{_ADVERBS}) )?(?:{_PARTICIPLES})"
    rf" (?:{_PREPOSITIONS}) [^,.;:()]+)"
)
_RELATIVE = re.compile(
    r"(?:[^,.;:()]*? (?:is|was) )?[AaTt](?:n|he)? [^,.;:()]*?(?P<head>[\w-]+) (?P<pronoun>that|which|who) "
    r"(?P<said>[^,.;:()]+)"
)
_VERB = re.compile(r" (?P<said>[a-z]+ [^,.;:()]+)")
_SUBJECT = re.compile(r"(?:It|He|She|They) (?:is|was|has been|were) ")
_PAST = frozenset(("born", "built", "carved", "created", "destroyed", "discovered", "dug", "founded", "raised"))
_OF_SEVERAL = {"is": "are", "was": "were", "has": "have", "does": "do"}
_LEAST, _MOST = 3, 11
"""Minimum and maximum number of words of a clause."""
_UNCLEAR = re.compile(
    r"(?i)\b(?:any|it|its|he|his|she|her|they|their|this|these|here|there|now|also|in the world|on earth"
    r"|by (?:area|depth|height|length|number|population|size|volume))\b"
)
"""Words that refer to something outside the clause, or that name a column to sort by (*by area*)."""


_OTHER_SUBJECT = re.compile(r"\b(?:whose|where|(?:in|of|on) which)\b")
"""What gives a clause a subject of its own."""
_HALF = re.compile(r"\b(?:extend|rang|reach|run|stretch|vari)\w* from (?!.*\bto\b)")
"""A range without its end: *reaching from savanna in the south*, to the desert."""
_BEGIN = re.compile(rf"{_ADVERBS}|{_PARTICIPLES}")
_SUPERLATIVES = re.compile(rf"\b{_EXTREME}\b")
_CUT, _LY = re.compile(r",\d"), re.compile(r"\b[a-z]+ly $")
"""What follows and precedes a clause that lacks a part: the rest of a number, an adverb (*largely destroyed by*)."""
_INSIDE = re.compile(rf"(?:{_PREPOSITIONS}|near|of) ")
_SEGMENT = re.compile(r"(?:[^,.;:()]|(?<=\d)[,.](?=\d))+")
_BESIDE = "above|along|below|beneath|beside|between|near|off|(?:north|south|east|west)(?:-?(?:east|west))? of"
_NAME_NEXT = r"(?:the |an? )?(?:[a-z]+ )?(?=[A-Z])"
_WHERE = re.compile(rf"(?:at|in|inside|on|{_BESIDE}) (?:the [a-z -]+ (?:of|with|to) )?{_NAME_NEXT}[^'’]+")
_LIES = re.compile(
    r"(?:An?|The) (?:(?!that |which |whose |the |border |boundary )[a-z-]+,? )+"
    rf"(?P<said>(?:{_BESIDE}) {_NAME_NEXT}(?:(?! that | which | whose | with | known )[^,.;:()'’])+)"
)
_KIND = re.compile(
    r"An? (?P<said>(?:(?!that |which |and |or |of )[a-z-]+ ){1,2}(?P<noun>(?!north|south|east|west)[a-z]+))"
    r"(?=,? (?:above|between|from|in|near|of|off|on|that|which|whose|with)\b)"
)
_SIZES = frozenset(
    """
    beautiful big broad busy chief common deep famous fine good great high important large largest little long low main
    major many minor modern narrow new old other popular private public quiet rare second several short single small
    tall third very well wide steep stormy vast thinly tiny huge mostly largely natural winding northern southern
    eastern western central thriving clear shallow windy icy warm cold hot wet dry flat bustling historic small-scale
    """.split()  # noqa: SIM905
)
"""Adjectives that say no kind."""
_LAST = re.compile(r" (?:along|at|for|from|in|of|on|through|to)$")
_HAS = re.compile(r"with (?P<said>(?!an? )[^'’]+|an? [^'’]+)")
_IS_A = re.compile(
    r"(?P<article>an?) (?P<head>(?:[a-z]+[ -])*?(?P<noun>[a-z]+))"
    r"(?P<rest> (?:(?:north|south|east|west)(?:-(?:east|west))? of|at|between|from|in|near|of|off|on|with"
    r"|[a-z]+(?:ed|ing|lt) [a-z]+) .+)"
)
_WHICH = re.compile(r"(?:that|which|who) (?P<said>.+)")
_DATED = re.compile(r"\d")
_THAN = re.compile(r"\b(?:than|most|more|such|same|also|once|then|where|whose|which|who|that|them|itself)\b")
_LISTED = re.compile(r",? (?:and )?[A-Z]|, [^,.;:()]*(?:, [^,.;:()]*)* and |, and ")
"""What follows the first of several things: *known for rice*, coffee and tea."""
_TWO_VERBS = re.compile(r"^[a-z]+s .* and [a-z]+s (?:[A-Z]|an? |the )")
"""A predicate with a second verb, which the form for several things would leave in the singular."""
_VAGUE_PLACE = re.compile(
    r"\bthe (?:area|city|country|island|place|region|river|sea|state|town|village|world|year"
    r"|(?:north|south|east|west)(?:-?(?:east|west))?|desert|coast|ground)\b(?! of)"
)
_CUT_OFF = re.compile(rf"\b(?:{_EXTREME}|largest|main|inland)$")
"""Statements that lack a noun: *with a volcano on the largest*."""
_LONGEST, _SHORTEST = 7, 3
"""Maximum and minimum number of words of a statement: more are a quotation, fewer say little."""


class StatedClause(NamedTuple):
    """What a text states of its subject, from character ``start`` to ``end``.

    ``one`` and ``several`` are the predicate of one thing and of several (*is on the Danube*), ``reduced`` is a form
    after a noun (*on the Danube*), or "".
    """

    start: int
    end: int
    one: str
    several: str
    reduced: str


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
    if superlative and superlative["kind"] == noun.rpartition(" ")[2]:  # not: Cuba is the largest island of Cuba
        said = superlative["said"]
        yield from _usable(superlative, start, f"the{said[3:]}", is_superlative=True)
    for match in _PARTICIPLE.finditer(sentence):
        before = sentence[: match.start("said")].rstrip(", ").rpartition(", ")[2]
        # In a part of Yakutia known for diamonds; the longest river settled by the Dutch; whose valley was settled.
        if _INSIDE.match(before) or _SUPERLATIVES.search(before) or _OTHER_SUBJECT.search(before):
            continue
        yield from _usable(match, start, f"the {noun} {match['said']}", is_superlative=False)
    relative = _RELATIVE.match(sentence)
    pronoun = "who" if is_person(noun) else "that"
    # Not: a forester catches a fox who escapes, nor: a governess believes that it is haunted.
    is_cut = relative and _SUPERLATIVES.search(sentence, 0, relative.start("said"))  # the longest river that drains
    if relative and not is_cut and (pronoun == "who" or relative["pronoun"] != "who") and is_nominal(relative["head"]):
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
    is_cut = (
        _HALF.search(clause)
        or _CUT.match(match.string, match.end("said"))
        or _LY.search(match.string, 0, match.start("said"))
    )
    if _LEAST <= len(clause.split()) <= _MOST and not _UNCLEAR.search(clause) and not is_cut:
        first = start + match.start("said")
        yield Description(first, first + len(clause), said.rstrip(), is_superlative)


def statements(text: str, noun: str, name: str = "") -> Iterator[StatedClause]:
    """Yield what a text states of its subject: the clauses of :func:`descriptions`, and further parts of the first
    sentence: *a port on the Gulf of Finland*, *between Crete and Libya*, *with a lava lake*, *flowing through Prague*.
    """
    known: set[str] = set()
    for one in descriptions(text, noun, name):
        said = text[one.start : one.end]
        is_first = _LISTED.match(text, one.end)
        is_first = is_first or _TWO_VERBS.search(one.predicates[0])
        if one.predicates[0] and len(said.split()) < _LONGEST and not is_first:
            known.add(said)
            yield StatedClause(one.start, one.end, *one.predicates)
    for start, end in sentences(text)[:1]:
        yield from _kind_of(text[start:end], start)
        for found in _stated(text[start:end], is_person(noun)):
            said = text[start + found.start : start + found.end]
            is_short = _SHORTEST <= len(said.split()) <= _LONGEST
            is_unclear = any(pattern.search(said) for pattern in (_UNCLEAR, _VAGUE_PLACE, _THAN, _CUT_OFF))
            if said not in known and is_short and not is_unclear and not _TWO_VERBS.search(found.one):
                yield found._replace(start=start + found.start, end=start + found.end)


def _kind_of(sentence: str, start: int) -> Iterator[StatedClause]:
    """Yield what kind of thing a sentence says its subject is: *a salt lake*, *an active volcano*."""
    kind = _KIND.match(sentence)
    if kind is None:
        return
    said = kind["said"]
    modifiers = set(said.split()[:-1])
    if modifiers.isdisjoint(_SIZES) and "NOUN" in lemmas_of(kind["noun"]) and not is_participle(kind["noun"]):
        at = start + kind.start("said")
        yield StatedClause(at, at + len(said), f"is {with_article(said)}", f"are {plural(said)}", "")


def _stated(sentence: str, is_of_person: bool) -> Iterator[StatedClause]:
    segments = [*_SEGMENT.finditer(sentence)]
    place = _LIES.match(segments[0][0]) if segments and not is_of_person else None
    place = None if place and _SUPERLATIVES.search(place[0], 0, place.start("said")) else place
    if place and (" and " in place["said"] or not place["said"].startswith("between ")):
        said = _LAST.sub("", place["said"].rstrip())
        at = segments[0].start() + place.start("said")
        yield StatedClause(at, at + len(said), f"is {said}", f"are {said}", said)
    for segment in segments[1:]:
        said = segment[0].strip()
        start = segment.start() + len(segment[0]) - len(segment[0].lstrip())
        if sentence[segment.end() : segment.end() + 1] == "," and _LISTED.match(sentence, segment.end()):
            continue
        yield from _of_segment(said, start, is_of_person)


def _of_segment(said: str, start: int, is_of_person: bool) -> Iterator[StatedClause]:
    """Yield what a part of a sentence between commas states of the subject of the sentence."""
    said, start = (said[4:], start + 4) if said.startswith("and ") else (said, start)
    end = start + len(said)
    if has := _HAS.fullmatch(said):
        if not re.search(r"ing\b", has["said"]):
            yield StatedClause(start + 5, end, f"has {has['said']}", f"have {has['said']}", said)
    elif (found := _IS_A.fullmatch(said)) and _SIZES.isdisjoint(found["head"].split()):  # a great massif in Alaska
        several = plural(found["head"]) + found["rest"]
        yield StatedClause(start, end, f"is {said}", f"are {several}", "")
    elif _WHERE.fullmatch(said) and not is_of_person and not _DATED.search(said):
        yield StatedClause(start, end, f"is {said}", f"are {said}", said)
    elif which := _WHICH.fullmatch(said):
        yield from _of_verb(which["said"], end - len(which["said"]), "")
    else:
        yield from _of_participle(said, start)


def _of_participle(said: str, start: int) -> Iterator[StatedClause]:
    first, _, rest = said.partition(" ")
    is_done = (
        is_participle(first)
        and re.match(rf"(?:{_PREPOSITIONS}|off|through) ", rest)
        and first not in ("said", "thought")
    )
    if is_done:
        past = ("was", "were") if first in _PAST else ("is", "are")
        yield StatedClause(start, start + len(said), f"{past[0]} {said}", f"{past[1]} {said}", said)
    elif first.endswith("ing") and first not in ("according", "depending", "including", "regarding"):
        for lemma in lemmas_of(first).get("VERB", ()):
            if first in inflections(lemma, "VBG"):
                one = inflections(lemma, "VBZ")[0]
                yield StatedClause(start, start + len(said), f"{one} {rest}", f"{lemma} {rest}", said)
                return


def _of_verb(said: str, start: int, reduced: str) -> Iterator[StatedClause]:
    """Yield the predicate of a clause after *which*: *flows through Prague*."""
    verb, _, rest = said.partition(" ")
    several = _OF_SEVERAL.get(verb, "")
    for lemma in () if several else lemmas_of(verb).get("VERB", ()):
        several = lemma if verb in inflections(lemma, "VBZ") else verb if verb in inflections(lemma, "VBD") else several
    if several and rest:
        yield StatedClause(start, start + len(said), said, f"{several} {rest}", reduced)
