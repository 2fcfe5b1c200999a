"""Word queries without a model: the noun phrase of the relations and the requirements, in one of many frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from kbkit import english
from kbkit.benchmarks.requirements.textual import TextProperty
from kbkit.english.frames import frame_file
from kbkit.english.noun_phrases import Clause, NounPhrase
from kbkit.english.stems import words_of

_VERBS = (("mentions", "mention"), ("mentions", "mention"), ("refers to", "refer to"))
_STORY_VERBS = (("involves", "involve"), ("features", "feature"), ("includes", "include"))
_WORK_VERBS = (("involves", "involve"), ("features", "feature"))
"""Verbs of texts that are stories, and of the works that tell them."""
_OF_LISTS = ("{x} among {n}", "the {n1} {x}", "the {n1} {x}")
_OF_TEXTS = ("{t} that {v} {x}", "{t} {doing} {x}")
_OF_STORIES = ("{t} that {v} {x}", "{t} {doing} {x}", "{t} with {x}")
"""Objects of *have* for nodes whose texts contain the terms ``x``: ``t`` is *a plot*, ``n`` *their plots*."""
_TAGGED = "tagged {x}"
_LISTED = ("with the {n1} {x}", _TAGGED, _TAGGED)
"""Phrases after the noun of nodes whose keywords are the terms ``x``. Not of stories: a detective directed by X."""
_MODIFIED = 0.3
"""Probability of such a phrase where a text has one; also that the work itself features a term, not its text."""
_CLAUSE = 0.5
"""Probability that the terms of a text are a clause of the noun (*that have a description with a port in it*)."""
_STORIES = frozenset(("plot", "story", "storyline", "synopsis"))
_WITH, _OF_NOUN = "with ", ("with a ", "with an ")
_WHAT = re.compile(r"([Ww])hat( (?:is|are) the \{things?\})")
_LISTING = re.compile(r"(?:Find|Give|List|Name|Please|Show) ")
"""Frames that ask for all things of a kind."""
_SLOT = re.compile(r"\{\w+\}")
_CLOSE = re.compile(r"\{np\} (?:that )?\{vp\}")
_ONE = 0.5
"""Probability that a query with one answer asks in the singular."""
_REDUCED = 0.7
"""Probability that clauses are short: *bordering Chad*, *of Chad*."""
_ROLE = 0.1
"""Probability that a query uses a frame of its role."""


class Frames(NamedTuple):
    """The sentences: with everything in a noun phrase, or with the requirement as the predicate; for several or one."""

    choice: tuple[str, ...]
    choice_predicate: tuple[str, ...]
    things: tuple[str, ...]
    predicate: tuple[str, ...]
    thing: tuple[str, ...]
    predicate_one: tuple[str, ...]
    relations: tuple[str, ...]
    roles: dict[str, dict[str, list[str]]]
    chosen: frozenset[str]


@cache
def frames() -> Frames:
    """Return the frames that ship with kbkit."""
    data = frame_file("searches")
    return Frames(
        **{name: tuple(texts) for name, texts in data["frames"].items()},
        roles=data["roles"],
        chosen=words_of(data["choice"]),
    )


@dataclass(frozen=True)
class Requirements:
    """Requirements in words: predicates and *whose* clauses for one thing and for several, and modifiers of a noun."""

    one: str = ""
    several: str = ""
    whose_one: tuple[str, ...] = ()
    whose: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    noun: str = ""


def requirements(properties: Iterable[TextProperty], noun: str, rng: np.random.Generator) -> Requirements:
    """Return requirements in words; ``noun`` is the word for the texts, such as *description*."""
    properties = list(properties)
    one, several, whose_one, whose, modifiers = [], [], [], [], []
    clauses: list[Clause] = []
    kinds = [p.forms["noun"] for p in properties if p.condition and p.forms.get("noun")]
    terms = [p.forms.get("said") or english.quoted(p.text) for p in properties if "one" not in p.forms]
    if terms:
        listed = " and ".join(terms)
        is_many = english.is_plural(noun)
        kind = "list" if is_many else "story" if noun in _STORIES else "text"
        verbs = _STORY_VERBS if kind == "story" else _VERBS
        singular, plural = verbs[int(rng.integers(len(verbs)))]
        is_of_work = kind == "story" and rng.random() < _MODIFIED
        is_tag = kind == "list" and rng.random() < _MODIFIED
        tagged = _TAGGED.format(x=listed)
        said = _of_work(listed, rng) if is_of_work else _said(noun, listed, singular, rng)
        said = Clause(f"is {tagged}", f"are {tagged}") if is_tag else said
        one.append(said.singular)
        several.append(said.plural)
        if is_of_work:
            clauses.append(said)
        elif kind == "list":
            form = _LISTED[int(rng.integers(len(_LISTED)))]
            one_noun = english.singular(noun) if is_many and len(terms) == 1 else noun
            modifiers.append(form.format(x=listed, n1=one_noun))
        elif rng.random() < _CLAUSE:
            clauses.append(_said(noun, listed, singular, rng))
        else:
            whose_one.append(f"{noun} {singular} {listed}")
            whose.append(f"{english.plural(noun)} {plural} {listed}")
    for p in properties:
        if "one" in p.forms and not p.forms.get("noun"):  # a condition, or a clause that describes the node
            of_several, of_whose, modifier = (p.forms.get(name, "") for name in ("several", "whose", "modifier"))
            one.append(p.forms["one"])
            several.append(of_several or p.text)
            whose += [of_whose] if of_whose else []
            whose_one += [of_whose] if of_whose else []
            modifiers += [modifier] if modifier else []
            if p.forms.get("before"):  # radioactive elements
                clauses.append(Clause("", "", before=p.forms["before"]))
            elif not of_whose and not modifier:
                clauses.append(Clause(p.forms["one"], several[-1], p.forms.get("reduced", "")))
    # Counts first: *at most 9 votes and a length of 2 m*, not *a length of 2 m and at most 9 votes*.
    amounts = sorted((text for text in modifiers if text.startswith(_WITH)), key=lambda text: text.startswith(_OF_NOUN))
    others = [text for text in modifiers if not text.startswith(_WITH)]
    joined = [_WITH + " and ".join(text.removeprefix(_WITH) for text in amounts)] if amounts else []
    noun_of_kind = kinds[0] if kinds else ""
    return Requirements(
        _predicate(one),
        _predicate(several),
        tuple(whose_one),
        tuple(whose),
        (*others, *joined),
        tuple(clauses),
        noun_of_kind,
    )


def _of_work(listed: str, rng: np.random.Generator) -> Clause:
    """Return the clause for works whose stories contain terms: *feature a detective*."""
    one, several = _WORK_VERBS[int(rng.integers(len(_WORK_VERBS)))]
    return Clause(f"{one} {listed}", f"{several} {listed}")


def _said(noun: str, listed: str, verb: str, rng: np.random.Generator) -> Clause:
    """Return the clause for nodes whose texts contain terms: *have a description that mentions a port*.

    ``noun`` is the word for the texts, such as *description*.
    """
    forms = _OF_LISTS if english.is_plural(noun) else _OF_STORIES if noun in _STORIES else _OF_TEXTS
    what = forms[int(rng.integers(len(forms)))]
    first, _, rest = verb.partition(" ")
    doing = f"{english.inflections(english.lemmas_of(first)['VERB'][0], 'VBG')[0]} {rest}".strip()
    a_text, texts = (noun, noun) if english.is_plural(noun) else (english.with_article(noun), english.plural(noun))
    one = english.singular(noun) if english.is_plural(noun) and " and " not in listed else noun
    values = {"x": listed, "t": a_text, "v": verb, "doing": doing, "n1": one}
    return Clause(f"has {what.format(n=f'its {noun}', **values)}", f"have {what.format(n=f'their {texts}', **values)}")


def _predicate(parts: Sequence[str]) -> str:
    """Return predicates as one, the shortest first: *have an area of 5 km² or less and a description that ...*."""
    ordered = sorted(parts, key=len)
    verbs = {part.partition(" ")[0] for part in ordered}
    if len(ordered) > 1 and len(verbs) == 1 and verbs <= {"has", "have"}:
        ordered = [ordered[0], *(part.partition(" ")[2] for part in ordered[1:])]
    return english.listed(ordered)


def must_be(predicate: str) -> str:
    """Return a predicate of several things after *should*: *be straits*, *have been founded in 1945*."""
    first, space, rest = predicate.partition(" ")
    return {"are": "be", "were": "have been"}.get(first, first) + space + rest


def sentences(
    phrase: NounPhrase, required: Requirements, role: str, answers: int, rng: np.random.Generator
) -> tuple[str, str, str]:
    """Return a plain query, a varied one, and the noun phrase for the relations that both contain."""
    known = frames()
    phrase = phrase.varied(rng)
    if required.noun:
        phrase = replace(phrase, noun=required.noun, is_plural_only=False)
    reduce = bool(rng.random() < _REDUCED)
    singular = phrase.text(is_plural=False, reduce=reduce)
    plural = phrase.text(is_plural=True, reduce=reduce)
    relations = phrase.predicate(is_plural=True)
    must = must_be(required.several)
    # After several clauses a predicate is hard to find; after a nested clause *whose* could refer to the wrong noun.
    is_heavy = phrase.is_nested or len(phrase.clauses) > 1
    is_hard = (
        required.whose
        or any(not one.before for one in required.clauses)
        or any(text.startswith(_WITH) for text in required.modifiers)
    )
    fits = not (is_heavy and is_hard)
    is_alone = phrase.is_nested and not required.several
    values = {
        "np": plural,
        "np1": singular,
        "vp": required.several,
        "vp1": required.one,
        "must": must,
        "Np": plural[:1].upper() + plural[1:],
        "noun": phrase.head(is_plural=True),
        "relations": relations,
    }
    if fits:
        extra = required.modifiers
        full = replace(phrase, clauses=(*phrase.clauses, *required.clauses))
        values["things"] = full.text(is_plural=True, reduce=reduce, modifiers=extra, whose=required.whose)
        values["thing"] = full.text(is_plural=False, reduce=reduce, modifiers=extra, whose=required.whose_one)
        values["Things"] = values["things"][:1].upper() + values["things"][1:]
        values["a_thing"] = english.with_article(values["thing"]).replace("an other ", "another ", 1)
    of_role = known.roles.get(role, {}) if rng.random() < _ROLE else {}
    is_one = answers == 1 and not phrase.is_other and (is_alone or rng.random() < _ONE)
    is_choice = english.singular(phrase.noun).rpartition(" ")[2].casefold() in known.chosen
    pool = _pool(
        known, of_role, required,
        is_one=is_one, fits=fits, is_heavy=is_heavy, is_choice=is_choice, has_relations=bool(relations),
    )  # fmt: skip
    plain = "Which {np} {vp}?" if required.several else "What are the {things}?"
    if not (phrase.clauses or required.several):  # not: Are there any physicists?
        pool = [frame for frame in pool if _LISTING.match(frame)] or pool
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
    is_one: bool,
    fits: bool,
    is_heavy: bool,
    is_choice: bool,
    has_relations: bool,
) -> list[str]:
    """Return the frames that a query may use."""
    things, predicate = list(of_role.get("things", ())), list(of_role.get("predicate", ()))
    chosen, chosen_predicate = (known.choice, known.choice_predicate) if is_choice else ((), ())
    if is_heavy or is_one or not things + predicate or (not things and not required.several):
        things, predicate = [*known.things, *chosen], [*known.predicate, *chosen_predicate]
        if is_one and not (is_heavy and required.several):
            things, predicate = list(known.thing), list(known.predicate_one)
            things = [frame for frame in things if not is_heavy or "{thing}" in frame]
        if not required.several and has_relations:
            things += known.relations
    if is_heavy:
        predicate = [frame for frame in predicate if "{vp}" in frame and not _CLOSE.search(frame)]
    return [*(things if fits else ()), *(predicate if required.several else ())]
