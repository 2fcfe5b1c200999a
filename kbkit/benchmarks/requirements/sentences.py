"""Word queries without a model: the noun phrase of the relations and the requirements, in one of many frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from kbkit import english
from kbkit.benchmarks.requirements.phrases import is_list_field
from kbkit.benchmarks.requirements.textual import TextProperty
from kbkit.english.clauses import Clause
from kbkit.english.frames import frame_file
from kbkit.english.noun_phrases import NounPhrase
from kbkit.english.questions import base_form
from kbkit.english.stems import words_of
from kbkit.english.types import STORIES

_VERBS = (("mentions", "mention"), ("mentions", "mention"), ("refers to", "refer to"))
_OF_WORK = (
    *[Clause("is about {x}", "are about {x}", "about {x}")] * 3,
    Clause("centres on {x}", "centre on {x}", "centring on {x}"),
    Clause("follows {x}", "follow {x}", "following {x}"),
    Clause("tells of {x}", "tell of {x}", "telling of {x}"),
    Clause("tells the story of {x}", "tell the story of {x}", "telling the story of {x}"),
    Clause("has {x} at its centre", "have {x} at their centre", "with {x} at the centre"),
)
"""What works say that are about a person."""
_OF_LISTS = ("the {n1} {x}",)
_OF_TEXTS = ("{t} that {v} {x}", "{t} {doing} {x}")
"""Objects of *have* for nodes whose texts contain the terms ``x``: ``t`` is *a plot*, ``n`` *their plots*."""
_TAGGED = "tagged {x}"
_FIRST = ("from ", "in ", "of ", "founded ")
"""How modifiers begin that stay next to the noun."""
_TAGS = 0.6
"""Probability that keywords are tags."""
_CLAUSE = 0.5
"""Probability that the terms of a text are a clause of the noun (*that have a description with a port in it*)."""
_WITH = "with "
_WHAT = re.compile(r"([Ww])hat( are the \{things\})")
_LISTING = re.compile(r"(?:Find|Give|List|Name|Please|Show) ")
"""Frames that ask for all things of a kind."""
_PARTITIVE = re.compile(r"(?:Of|Among) |Which of ")
_SLOT = re.compile(r"\{\w+\}")
_CLOSE = re.compile(r"\{np\} \{vp\}")
_REDUCED = 0.9
"""Probability that clauses are short: *bordering Chad*, *of Chad*."""
_SYNONYM = 0.4
"""Probability that another noun is used, if there is one: *films* for *movies*."""
_SINGULAR = 0.7
"""Probability that a query with one answer is worded for one thing."""
_ROLE = 0.1
"""Probability that a query uses a frame of its role."""


class Frames(NamedTuple):
    """The sentences: with everything in a noun phrase, or with the requirement as the predicate."""

    choice: tuple[str, ...]
    things: tuple[str, ...]
    predicate: tuple[str, ...]
    relations: tuple[str, ...]
    inverted: tuple[str, ...]
    one: Mapping[str, list[str]]
    roles: dict[str, dict[str, list[str]]]
    chosen: frozenset[str]


@cache
def frames() -> Frames:
    """Return the frames that ship with kbkit."""
    data = frame_file("searches")
    return Frames(
        **{name: tuple(texts) for name, texts in data["frames"].items()},
        one=data["one"],
        roles=data["roles"],
        chosen=words_of(data["choice"]),
    )


@dataclass(frozen=True)
class Requirements:
    """Requirements in words: a predicate for one and for several things, *whose* clauses, and modifiers of a noun."""

    one: str = ""
    several: str = ""
    whose: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    noun: str = ""


def requirements(properties: Iterable[TextProperty], noun: str, rng: np.random.Generator) -> Requirements:
    """Return requirements in words; ``noun`` is the word for the texts, such as *description*."""
    properties = _together(properties)
    single: list[str] = []
    several: list[str] = []
    whose: list[str] = []
    modifiers: list[tuple[str, Clause]] = []
    clauses: list[Clause] = []
    kinds = [p.forms["noun"] for p in properties if p.forms.get("noun")]
    terms = [p.forms.get("said") or english.quoted(p.text) for p in properties if "one" not in p.forms]
    if terms:
        listed = " and ".join(terms)
        is_many = is_list_field(noun)
        singular, plural = _VERBS[int(rng.integers(len(_VERBS)))]
        is_tag = is_many and rng.random() < _TAGS
        if noun in STORIES:
            way = _OF_WORK[int(rng.integers(len(_OF_WORK)))]
            one, more, reduced = (text.format(x=listed) for text in (way.singular, way.plural, way.reduced))
            said = Clause(one, more, reduced)
            clauses.append(said)
        elif is_tag:
            said = Clause(f"is tagged {listed}", f"are tagged {listed}")
        else:
            said = _said(noun, listed, singular, rng)
        single.append(said.singular)
        several.append(said.plural)
        if is_many:
            one_noun = english.singular(noun) if len(terms) == 1 else noun
            modifier = _TAGGED.format(x=listed) if is_tag else f"with the {one_noun} {listed}"
            modifiers.append((modifier, said))
        elif noun not in STORIES and rng.random() < _CLAUSE:
            clauses.append(said)
        elif noun not in STORIES:
            whose.append(f"{english.plural(noun)} {plural} {listed}")
    for p in properties:
        if "one" in p.forms and not p.forms.get("noun"):  # a condition, or a clause that describes the node
            of_several, of_whose, modifier = (p.forms.get(name, "") for name in ("several", "whose", "modifier"))
            single.append(p.forms["one"])
            several.append(of_several or p.text)
            whose += [of_whose] if of_whose else []
            modifiers += [(modifier, Clause(p.forms["one"], several[-1]))] if modifier else []
            if p.forms.get("before"):  # radioactive elements
                clauses.append(Clause("", "", before=p.forms["before"]))
            elif not of_whose and not modifier:
                clauses.append(Clause(p.forms["one"], several[-1], p.forms.get("reduced", "")))
    # One phrase after the noun, the others as clauses: *movies from 1998 that last at least 110 minutes*.
    modifiers.sort(key=lambda one: not one[0].startswith(_FIRST))
    clauses += [said for _, said in modifiers[1:]]
    noun_of_kind = kinds[0] if kinds else ""
    return Requirements(
        _predicate(single),
        _predicate(several),
        tuple(whose),
        tuple(text for text, _ in modifiers[:1]),
        tuple(clauses),
        noun_of_kind,
    )


def _together(properties: Iterable[TextProperty]) -> list[TextProperty]:
    """Return properties with all that things are known for in one, in another order than in the text."""
    known = sorted((p for p in properties if p.forms.get("known")), key=lambda p: (p.field, -p.start))
    others = [p for p in properties if not p.forms.get("known")]
    if not known:
        return others
    words = f"{known[0].forms['known']} for {english.listed([p.forms['said'] for p in known])}"
    return [*others, replace(known[0], forms={"one": f"is {words}", "several": f"are {words}", "reduced": words})]


def _said(noun: str, listed: str, verb: str, rng: np.random.Generator) -> Clause:
    """Return the clause for nodes whose texts contain terms: *have a description that mentions a port*.

    ``noun`` is the word for the texts, such as *description*.
    """
    forms = _OF_LISTS if is_list_field(noun) else _OF_TEXTS
    what = forms[int(rng.integers(len(forms)))]
    first, _, rest = verb.partition(" ")
    doing = f"{english.inflections(english.lemmas_of(first)['VERB'][0], 'VBG')[0]} {rest}".strip()
    a_text, texts = (noun, noun) if english.is_plural(noun) else (english.with_article(noun), english.plural(noun))
    one = english.singular(noun) if english.is_plural(noun) and " and " not in listed else noun
    verb = f"{base_form(first)} {rest}".strip() if english.is_plural(noun) else verb
    values = {"x": listed, "t": a_text, "v": verb, "doing": doing, "n1": one}
    return Clause(f"has {what.format(n=f'its {noun}', **values)}", f"have {what.format(n=f'their {texts}', **values)}")


def _predicate(parts: Sequence[str]) -> str:
    """Return predicates as one, the shortest first: *have an area of 5 km² or less and a description that ...*."""
    ordered = sorted(parts, key=len)
    verbs = {part.partition(" ")[0] for part in ordered}
    if len(ordered) > 1 and len(verbs) == 1 and verbs <= {"has", "have"}:
        ordered = [ordered[0], *(part.partition(" ")[2] for part in ordered[1:])]
    return english.listed(ordered)


def sentences(
    phrase: NounPhrase, required: Requirements, role: str, rng: np.random.Generator, *, is_one: bool = False
) -> tuple[str, str, str]:
    """Return a plain query, a varied one, and the noun phrase for the relations that both contain.

    ``is_one``: it has one answer, so that *find all* and *recommend* would promise too much.
    """
    known = frames()
    if rng.random() < _SYNONYM:
        phrase = _renamed(phrase)
    phrase = phrase.varied(rng, is_short=any(text.startswith(_WITH) for text in required.modifiers))
    if required.noun:
        phrase = replace(phrase, noun=required.noun, is_plural_only=False)
    reduce = bool(rng.random() < _REDUCED)
    is_single = is_one and bool(required.one) and not phrase.is_plural_only and bool(rng.random() < _SINGULAR)
    plural = phrase.text(is_plural=True, reduce=reduce)
    relations = phrase.predicate(is_plural=not is_single)
    # After several clauses a predicate is hard to find; after a nested clause *whose* could refer to the wrong noun.
    is_heavy = phrase.is_nested or len(phrase.clauses) > 1
    is_hard = (
        required.whose
        or any(not one.before for one in required.clauses)
        or any(text.startswith(_WITH) for text in required.modifiers)
    )
    fits = not (is_heavy and is_hard)
    values = {
        "np": phrase.text(is_plural=not is_single, reduce=reduce),
        "vp": required.one if is_single else required.several,
        "noun": phrase.head(is_plural=True),
        "relations": relations,
    }
    if fits:
        added = [replace(one, reduced="") if phrase.clauses else one for one in required.clauses]
        full = replace(phrase, clauses=(*phrase.clauses, *added))
        values["things"] = full.text(
            is_plural=not is_single, reduce=reduce, modifiers=required.modifiers, whose=required.whose
        )
        values["Things"] = values["things"][:1].upper() + values["things"][1:]
    if kind := _kind(phrase, required, is_plural=not is_single) if relations else "":
        values["kind"] = kind
    of_role = known.roles.get(role, {}) if rng.random() < _ROLE else {}
    is_choice = english.singular(phrase.noun).rpartition(" ")[2].casefold() in known.chosen
    has_relations = bool(relations) and sum(map(_follows, phrase.clauses)) < 2  # not: were made in X and star Y
    pool = _pool(
        known, of_role, required,
        fits=fits, is_heavy=is_heavy, is_choice=is_choice, has_relations=has_relations,
        is_long=" that " in plural or " who " in plural, has_kind=bool(kind),
    )  # fmt: skip
    if is_single:
        things = known.one["things"] if fits and not phrase.is_other else ()
        predicate = [one for one in known.one["predicate"] if not is_heavy or not _CLOSE.search(one)]
        pool = [*things, *(predicate or known.one["predicate"]), *(known.one["inverted"] if kind else ())]
    plain = "Which {np} {vp}?" if required.several else "What are the {things}?"
    pool = _suited(pool, known, phrase, is_bare=not (phrase.clauses or required.several), is_one=is_one)
    # Prefer short frames, so that queries have fewer words in common.
    weight = np.array([1 / (1 + len(_SLOT.sub("", frame).split())) for frame in pool])
    frame = pool[int(rng.choice(len(pool), p=weight / weight.sum()))]
    if phrase.is_people:
        frame = _WHAT.sub(lambda match: f"{'W' if match[1] == 'W' else 'w'}ho{match[2]}", frame)
    plain, varied = plain.format(**values), frame.format(**values)
    if varied.endswith(".."):  # Washington, D.C.
        varied = varied.removesuffix(".")
    return plain, varied, plural


def _pool(
    known: Frames,
    of_role: dict[str, list[str]],
    required: Requirements,
    *,
    fits: bool,
    is_heavy: bool,
    is_choice: bool,
    has_relations: bool,
    is_long: bool,
    has_kind: bool,
) -> list[str]:
    """Return the frames that a query may use."""
    things, predicate = list(of_role.get("things", ())), list(of_role.get("predicate", ()))
    chosen = known.choice if is_choice else ()
    if is_heavy or not things + predicate or (not things and not required.several):
        things, predicate = [*known.things, *chosen], [*known.predicate]
        if not required.several and has_relations:
            things += known.relations
    if is_heavy or is_long:  # not: which rivers that flow through Chile are long
        others = [frame for frame in predicate if not _CLOSE.search(frame)]
        predicate = others or [frame for frame in known.predicate if not _CLOSE.search(frame)]
    inverted = known.inverted if has_kind else ()
    return [*(things if fits else ()), *(predicate if required.several else ()), *inverted]


def _suited(pool: Sequence[str], known: Frames, phrase: NounPhrase, *, is_bare: bool, is_one: bool) -> list[str]:
    """Return the frames that suit a phrase without clauses, with one answer, or with *other*; all if none does."""
    frames = [frame for frame in pool if _LISTING.match(frame) or not is_bare] or list(pool)  # not: Of the physicists
    if is_one:
        frames = [frame for frame in frames if frame not in known.choice and " all {" not in frame] or frames
    if phrase.is_other:  # not: of all other movies by X, which are from 1998
        frames = [frame for frame in frames if not _PARTITIVE.match(frame)] or frames
    return frames


def _renamed(phrase: NounPhrase) -> NounPhrase:
    """Return a phrase with another noun for its things; as it is without one, or if a clause has the noun too."""
    other: str = frame_file("searches")["nouns"].get(phrase.noun, "")
    words = " ".join(f"{one.plural} {one.reduced}" for one in phrase.clauses)
    return replace(phrase, noun=other) if other and phrase.noun not in words else phrase


def _follows(clause: Clause) -> bool:
    return not (clause.before or clause.is_after)


def _kind(phrase: NounPhrase, required: Requirements, *, is_plural: bool) -> str:
    """Return the noun with what is required of it: *movies from 1998 or earlier*; "" if that is no short phrase."""
    reduced = [one.reduced for one in required.clauses]
    after = [*required.modifiers, *reduced]
    if len(after) != 1 or not after[0] or required.whose or any(one.is_after for one in phrase.clauses):
        return ""
    return f"{phrase.head(is_plural=is_plural)} {after[0]}"
