"""Word queries without a model: the noun phrase of the relations and the requirements, in one of many frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from kbkit import english
from kbkit.benchmarks.requirements.textual import TextProperty
from kbkit.english.frames import frame_file
from kbkit.english.noun_phrases import NounPhrase

_VERBS = (("mentions", "mention"), ("refers to", "refer to"), ("talks about", "talk about"))
_STORY_VERBS = (("involves", "involve"), ("features", "feature"), ("has", "have"))
_STORIES = frozenset(("plot", "story", "storyline", "synopsis"))
_WITH, _OF_NOUN = "with ", ("with a ", "with an ")
_ONE = 0.5
"""Probability that a query with one answer asks in the singular."""
_ROLE = 0.2
"""Probability that a query uses a frame of its role."""


class Frames(NamedTuple):
    """The sentences: with everything in a noun phrase, or with the requirement as the predicate; for several or one."""

    things: tuple[str, ...]
    predicate: tuple[str, ...]
    thing: tuple[str, ...]
    predicate_one: tuple[str, ...]
    relations: tuple[str, ...]
    roles: dict[str, dict[str, list[str]]]


@cache
def frames() -> Frames:
    """Return the frames that ship with kbkit."""
    data = frame_file("searches")
    return Frames(**{name: tuple(texts) for name, texts in data["frames"].items()}, roles=data["roles"])


@dataclass(frozen=True)
class Requirements:
    """Requirements in words: predicates and *whose* clauses for one thing and for several, and modifiers of a noun."""

    one: str = ""
    several: str = ""
    whose_one: tuple[str, ...] = ()
    whose: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()


def requirements(properties: Iterable[TextProperty], noun: str, rng: np.random.Generator) -> Requirements:
    """Return requirements in words; ``noun`` is what the texts are called."""
    one, several, whose_one, whose, modifiers = [], [], [], [], []
    terms = [p.forms.get("said") or english.quoted(p.text) for p in properties if not p.condition]
    if terms:
        listed = " and ".join(terms)
        is_many = english.is_plural(noun)
        verbs = _STORY_VERBS if noun in _STORIES else _VERBS
        singular, plural = ("include", "include") if is_many else verbs[int(rng.integers(len(verbs)))]
        which = f"{noun if is_many else english.with_article(noun)} that {plural if is_many else singular} {listed}"
        one.append(f"has {which}")
        several.append(f"have {which}")
        whose_one.append(f"{noun} {plural if is_many else singular} {listed}")
        whose.append(f"{noun if is_many else english.plural(noun)} {plural} {listed}")
    for p in properties:
        if p.condition:
            one.append(p.forms["one"])
            several.append(p.text)
            whose += [p.forms["whose"]] if p.forms["whose"] else []
            whose_one += [p.forms["whose"]] if p.forms["whose"] else []
            modifiers += [p.forms["modifier"]] if p.forms["modifier"] else []
    # Counts first: *at most 9 votes and a length of 2 m*, not *a length of 2 m and at most 9 votes*.
    amounts = sorted((text for text in modifiers if text.startswith(_WITH)), key=lambda text: text.startswith(_OF_NOUN))
    others = [text for text in modifiers if not text.startswith(_WITH)]
    joined = [_WITH + " and ".join(text.removeprefix(_WITH) for text in amounts)] if amounts else []
    return Requirements(_predicate(one), _predicate(several), tuple(whose_one), tuple(whose), (*others, *joined))


def _predicate(parts: Sequence[str]) -> str:
    """Return predicates as one, the shortest first: *have an area of 5 km² or less and a description that ...*."""
    ordered = sorted(parts, key=len)
    verbs = {part.partition(" ")[0] for part in ordered}
    if len(ordered) > 1 and len(verbs) == 1 and verbs <= {"has", "have"}:
        ordered = [ordered[0], *(part.partition(" ")[2] for part in ordered[1:])]
    return english.listed(ordered)


def sentences(
    phrase: NounPhrase, required: Requirements, role: str, answers: int, rng: np.random.Generator
) -> tuple[str, str]:
    """Return a plain query and a varied one."""
    known = frames()
    phrase = phrase.varied(rng)
    reduce = bool(rng.integers(2))
    singular = phrase.text(is_plural=False, reduce=reduce)
    plural = phrase.text(is_plural=True, reduce=reduce)
    relations = phrase.predicate(is_plural=True)
    # After several clauses a predicate is hard to find; after a nested clause *whose* could refer to the wrong noun.
    is_heavy = phrase.is_nested or len(phrase.clauses) > 1
    fits = not (phrase.is_nested and required.whose)
    values = {
        "np": plural,
        "np1": singular,
        "vp": required.several,
        "vp1": required.one,
        "noun": phrase.head(is_plural=True),
        "relations": relations,
    }
    if fits:
        extra = required.modifiers
        values["things"] = phrase.text(is_plural=True, reduce=reduce, modifiers=extra, whose=required.whose)
        values["thing"] = phrase.text(is_plural=False, reduce=reduce, modifiers=extra, whose=required.whose_one)
        values["Things"] = values["things"][:1].upper() + values["things"][1:]
        values["a_thing"] = english.with_article(values["thing"]).replace("an other ", "another ", 1)
    of_role = known.roles.get(role, {}) if rng.random() < _ROLE else {}
    is_one = answers == 1 and not phrase.is_other and rng.random() < _ONE
    pool = _pool(known, of_role, required, is_one=is_one, fits=fits, is_heavy=is_heavy, has_relations=bool(relations))
    plain = "Which {np} {vp}?" if required.several else "What are the {things}?"
    return plain.format(**values), pool[int(rng.integers(len(pool)))].format(**values)


def _pool(
    known: Frames,
    of_role: dict[str, list[str]],
    required: Requirements,
    *,
    is_one: bool,
    fits: bool,
    is_heavy: bool,
    has_relations: bool,
) -> list[str]:
    """Return the frames that a query may use."""
    things, predicate = list(of_role.get("things", ())), list(of_role.get("predicate", ()))
    if is_heavy or not things + predicate or (not things and not required.several):
        things, predicate = list(known.things), list(known.predicate)
        if is_one and not is_heavy:
            things, predicate = list(known.thing), list(known.predicate_one)
        if not required.several and has_relations:
            things += known.relations
    if is_heavy:
        predicate = [frame for frame in predicate if "{vp}" in frame and "{np} {vp}" not in frame]
    return [*(things if fits else ()), *(predicate if required.several else ())]
