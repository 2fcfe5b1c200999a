"""Noun phrases with clauses: *movies that were directed by Ang Lee and are rated R*."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from kbkit.english import genres
from kbkit.english.types import WORKS
from kbkit.english.words import PREPOSITIONS, is_participle, is_person, listed, plural, with_article, with_name

if TYPE_CHECKING:
    import numpy as np
from kbkit.english.clauses import JOB, Clause, in_role, of_job, of_role, roles, with_role

_SLOT = re.compile(r"<([^<>]+)>(?: \w+)?")
_VERB = re.compile(r"(?!was |.* (?:or|by|not|that|who)\b)[a-z]+(?: [a-z]+){0,4}")
"""Verb phrases that can be said twice in a sentence."""
_AS_NOUN = re.compile(r"(?:is|are each|are) the (?!basis|home|subject|work)(\w+) (of .+)")
_OF_KIND = re.compile(r"is an? ((?:[\w-]+ )+)([\w-]+) (of .+)")
_DENIED = re.compile(r"(?:do|does|did|is|are|was|were) not ")
_ONE_OF_A_KIND = re.compile(r"of an? ")
_WITH, _BY, _OF = "with ", "by ", "of "
_SIZED = ("larger ", "smaller ", "covering ")
_HAVING = (_WITH, "home to ")
_TAGGED = "tagged "
_QUOTED = re.compile(r"^with the keywords? ")
_WHEN = re.compile(r"\d|before \d|after \d|the \d")
_AMOUNT = re.compile(r"(?:over|under|at least|at most) ")
_PARTICIPLE = 3
"""Place of participles after a noun; see :func:`_place`."""
_OPEN = (_PARTICIPLE + 1, _PARTICIPLE + 2)
"""Places of *with* and of participles such as *starring*, after which a name ends."""
_LINKED = ("from ", "in ", _WITH, _TAGGED)
"""How modifiers begin that may precede others."""


@dataclass(frozen=True)
class NounPhrase:
    """A noun with clauses. ``is_other``: the nodes that the phrase names are not meant.

    ``is_nested``: a clause contains a phrase with clauses of its own. ``is_plural_only``: the noun is a plural already.
    ``is_job``: it says what people do.
    """

    noun: str
    clauses: tuple[Clause, ...] = ()
    is_other: bool = False
    is_nested: bool = False
    is_plural_only: bool = False
    is_job: bool = False

    def text(
        self, *, is_plural: bool, reduce: bool = False, modifiers: Sequence[str] = (), whose: Sequence[str] = ()
    ) -> str:
        """Return the phrase; with ``reduce`` clauses without *that* where they have such a form.

        ``modifiers`` follow the noun (``from 1990 or later``), ``whose`` clauses end the phrase.
        """
        reduce = reduce and not whose  # these would seem to belong to the last name
        amounts = [text for text in modifiers if not text.startswith(_LINKED)]
        if len(amounts) > 1:  # not: lakes up to 200 km² in area up to 20 m deep
            modifiers = [*(text for text in modifiers if text.startswith(_LINKED)), " and ".join(amounts)]
        is_with = any(
            text.startswith(_HAVING) for text in modifiers
        )  # not: 900 votes tagged 'love', or coming from Peru
        nouns = [one.plural if is_plural else one.singular for one in self.clauses if one.is_after]
        after = [_by(one, modifiers) for one in self.clauses if not one.before and not one.is_after]
        if len(after) > 1 and any(one.is_alike for one in after):  # not: countries next to Laos on the Andaman Sea
            after = [one.whole for one in after]
        elif any(one.reduced and not one.is_subject for one in after):  # not: on Lake Chad belonging to BRICS
            after = [one.whole if _place(one.reduced) == _OPEN[-1] else one for one in after]
        if nouns:  # the population is that of the capitals, not of Peru; not: languages of Peru of the Arawak family
            held = [text.removeprefix(_WITH) for text in modifiers if text.startswith(_WITH)]
            groups = [text.removeprefix(_OF) for text in modifiers if text.startswith(_OF)]
            modifiers = [text for text in modifiers if not text.startswith((_WITH, _OF))]
            after += [Clause(f"has {text}", f"have {text}") for text in held]
            after += [Clause(f"belongs to {text}", f"belong to {text}") for text in groups]
        short = [one for one in after if one.reduced and (reduce or not one.is_subject or one.reduced.startswith(_BY))]
        reduced = [one for one in short if _may_follow(one.reduced, modifiers)]
        reduced = [one for one in reduced if not is_with or _place(one.reduced) < _PARTICIPLE]
        texts = [*modifiers, *(one.reduced for one in reduced)]
        if any(text.startswith(_TAGGED) or _QUOTED.match(text) for text in texts):  # not: with Ann Lee tagged 'love'
            reduced = [one for one in reduced if _place(one.reduced) not in _OPEN]
        elif any(one.reduced.startswith(_WITH) for one in reduced):  # not: with Thai as a language bordering Laos
            reduced = [one for one in reduced if _place(one.reduced) != _OPEN[-1]]
        having = [one.reduced.removeprefix(_WITH) for one in reduced if one.reduced.startswith(_WITH)]
        shorts = [one.reduced for one in reduced if not one.reduced.startswith(_WITH)]
        full = [clause for clause in after if clause not in reduced]
        who = "who" if self.is_people else "that"
        texts = [self._said(clause, is_plural=is_plural) for clause in full]
        if all(clause.is_subject for clause in full) and not whose and texts:
            parts = [f"{who} {_joined(texts)}"]
        else:
            pronouns = [who if clause.is_subject else "that" for clause in full]
            parts = [f"{pronoun} {text}" for pronoun, text in zip(pronouns, texts, strict=True)]
        parts += [f"whose {clause}" for clause in whose]
        tags = [text.removeprefix(_TAGGED) for text in (*modifiers, *shorts) if text.startswith(_TAGGED)]
        if len(tags) > 1:  # not: tagged 'fairy tale' tagged 'princess'
            modifiers = [text for text in modifiers if not text.startswith(_TAGGED)]
            shorts = [_TAGGED + " and ".join(tags), *(text for text in shorts if not text.startswith(_TAGGED))]
        shorts = [*([_WITH + " and ".join(having)] if having else []), *shorts]
        noun = [self.head(is_plural=is_plural), *nouns, in_order([*modifiers, *shorts])]
        return " ".join(filter(None, (*noun, listed(parts))))

    @property
    def is_people(self) -> bool:
        """Whether the noun means people."""
        return self.is_job or is_person(self.noun)

    @property
    def definite(self) -> str:
        """The phrase as *the country of birth of X* if its only clause says no more than that, else ""."""
        said = self.clauses[0].singular if len(self.clauses) == 1 and not self.is_other else ""
        return said.removeprefix("is ") if said.startswith(f"is the {self.noun} ") else ""

    def filled(self, names: Mapping[str, str]) -> NounPhrase:
        """Return the phrase with names in place of ``<slot>``."""

        def fill(text: str) -> str:
            return in_role(_SLOT.sub(lambda match: with_name(match[0], f"<{match[1]}>", names.get(match[1], "")), text))

        def filled(clause: Clause) -> Clause:
            others = tuple(way for way in map(filled, clause.others) if not genres.stands_apart(way.genre))
            one, several, reduced = fill(clause.singular), fill(clause.plural), fill(clause.reduced)
            is_genre = bool(_SLOT.fullmatch(clause.before))
            before = genres.adjective(fill(clause.before)) if is_genre else fill(clause.before)
            genre = fill(clause.before) if is_genre else ""
            return replace(
                clause, singular=one, plural=several, reduced=reduced, others=others, before=before, genre=genre
            )

        return replace(self, clauses=tuple(map(filled, self.clauses))).with_jobs()

    def with_genre(self) -> NounPhrase:
        """Return *comedies* for *comedy movies*, *action comedies* for *action comedy movies*."""
        at = next((at for at, one in enumerate(self.clauses) if one.genre and genres.noun(one.genre)), -1)
        if at < 0 or self.is_plural_only:
            return self
        clauses = (*self.clauses[:at], *self.clauses[at + 1 :])
        return replace(self, noun=genres.noun(self.clauses[at].genre), clauses=clauses)

    def with_jobs(self) -> NounPhrase:
        """Return *novelists who are also poets* for *people who worked as a novelist and worked as a poet*."""
        clauses = [of_job(clause, self.is_job) for clause in self.clauses]
        first = next((at for at, clause in enumerate(self.clauses) if JOB.fullmatch(clause.singular)), -1)
        job = JOB.fullmatch(self.clauses[first].singular) if first >= 0 else None
        if job is None or job[0].startswith("did not") or self.is_plural_only or not is_person(self.noun):
            return replace(self, clauses=tuple(clauses))
        others = [of_job(clause, True) for at, clause in enumerate(self.clauses) if at != first]
        return replace(self, noun=job[1], clauses=tuple(others), is_job=True)

    def of_one(self, noun: str, *, is_only: bool = True) -> NounPhrase:
        """Return the phrase with *the country that ...* for *a country that ...*, and not *countries that ...*.

        ``is_only``: a person knows that there is only one; otherwise *a country that ...* stays.
        """
        several, one = plural(noun), with_article(noun)
        found = f"the {noun}" if is_only else one

        def said(clause: Clause) -> Clause:
            texts = (clause.singular, clause.plural, clause.reduced)
            single, many, short = (re.sub(rf"\b{re.escape(one)}\b", found, text) for text in texts)
            others = tuple(said(way) for way in clause.others if f"{several} " not in f"{way.plural} {way.reduced}")
            verb, _, name = single.partition(f" the {noun} of ")
            if is_only and name and roles().get(verb) == noun:  # by the director of X, not: directed by the director
                by = next((way for way in others if way.reduced.startswith(_BY)), None)
                own = Clause(f"is {by.reduced}", f"are {by.reduced}", by.reduced) if by else Clause(single, many, short)
                return replace(
                    own, others=(*(() if by else others), *with_role(own, noun, name, is_maker=by is not None))
                )
            return replace(clause, singular=single, plural=many, reduced=short, others=others)

        return replace(self, clauses=tuple(map(said, self.clauses)))

    def of_several(self, noun: str) -> NounPhrase:
        """Return the phrase with *actors in films by X* for *actors in a film by X*, of which there are several."""
        several = re.compile(rf"\b{re.escape(plural(noun))}\b")

        def said(clause: Clause) -> Clause:
            ways = [way for way in clause.others if several.search(way.plural)] if clause.is_after else []
            return replace(ways[0], others=tuple(ways[1:])) if ways else clause

        return replace(self, clauses=tuple(map(said, self.clauses)))

    def sharing(
        self,
        noun: str,
        name: str,
        roles: Mapping[str, str],
        *,
        are_several: bool = True,
        only: Mapping[str, str] | None = None,
    ) -> NounPhrase:
        """Return the phrase with *a country that X lies in* for *the same country as X*, if ``are_several``.

        ``roles``: what the shared thing is of X by verb; *shares an actor with X* for *stars the same person as X*.
        ``only``: what it is if X has one; *by the director of X* says the same as *by the same person as X*.
        """
        one = f"the same {noun} as {name}"

        def replaced(clause: Clause) -> Clause:
            verb, found, rest = clause.singular.partition(f" {one}")
            is_whole = clause.is_subject and bool(found) and not rest
            if is_whole and verb in roles:
                shared = f"{with_article(roles[verb])} with {name}"
                return Clause(f"shares {shared}", f"share {shared}", f"sharing {shared}" if clause.reduced else "")
            if not are_several:
                role = (only or {}).get(verb) if is_whole else None
                return of_role(clause, one, role, name) if role else clause
            is_negated = "not" in verb.split(" ")
            several = f"{'any' if is_negated else 'one'} of the same {plural(noun)} as {name}"
            if is_whole and _VERB.fullmatch(verb):
                several = f"{with_article(noun)} that {name} {verb}"
            texts = (clause.singular, clause.plural, clause.reduced)
            one_of, many, short = (text.replace(one, several) for text in texts)
            others = tuple(map(replaced, clause.others))
            return replace(clause, singular=one_of, plural=many, reduced=short, others=others)

        return replace(self, clauses=tuple(map(replaced, self.clauses)))

    def varied(self, rng: np.random.Generator, *, is_short: bool = False) -> NounPhrase:
        """Return the phrase with its clauses in a random order, each as it is or in other words.

        Clauses whose object is the noun are short: *countries crossed or bordered by the Drava*; with ``is_short``, as
        a modifier with *with* follows, they begin with a preposition. Of several clauses one is long at most.
        """
        clauses = [self.clauses[at] for at in rng.permutation(len(self.clauses)).tolist()]
        ways = [_ways(clause) for clause in clauses]
        ways = [way if way[0].is_subject else _placed(way, is_short=is_short) for way in ways]
        ways = [way if not at else [one for one in way if not _is_long(one)] or way for at, way in enumerate(ways)]
        chosen = tuple(_drawn(way, rng) for way in ways)
        chosen = tuple(sorted(chosen, key=lambda one: bool(_DENIED.match(one.plural))))
        return replace(self, clauses=chosen).as_noun().with_genre()

    def as_noun(self) -> NounPhrase:
        """Return *capitals of countries that ...* for *cities that are each the capital of countries that ...*."""
        for at, clause in enumerate(self.clauses):
            one, several = (_AS_NOUN.fullmatch(text) for text in (clause.singular, clause.plural))
            if one and several and not _ONE_OF_A_KIND.match(several[2]):
                clauses = [*self.clauses]
                clauses[at] = Clause(one[2], several[2], is_after=True)
                return replace(self, noun=one[1], clauses=tuple(clauses), is_plural_only=False)
            kind = _OF_KIND.fullmatch(clause.singular)
            if kind and kind[2] == self.noun:  # official languages of Chad, not: languages that are official languages
                clauses = [*self.clauses]
                clauses[at] = Clause(kind[3], kind[3], is_after=True)
                return replace(self, noun=f"{kind[1]}{kind[2]}", clauses=tuple(clauses))
        return self

    def head(self, *, is_plural: bool) -> str:
        """Return the noun alone: *other movies*."""
        noun = plural(self.noun) if is_plural and not self.is_plural_only else self.noun
        before = sorted((one for one in self.clauses if one.before), key=lambda one: bool(one.genre))
        return " ".join([*["other"] * self.is_other, *(one.before for one in before), noun])

    def predicate(self, *, is_plural: bool) -> str:
        """Return the clauses as one predicate, *flow into the Black Sea and are long*; "" if the noun is no subject."""
        after = [clause for clause in self.clauses if not clause.before and not clause.is_after]
        if not after or not all(clause.is_subject for clause in after):
            return ""
        return " and ".join(self._said(clause, is_plural=is_plural) for clause in after)

    def _said(self, clause: Clause, *, is_plural: bool) -> str:
        """Return a clause, of several works with the noun of a genre that they are not of."""
        if not is_plural:
            return clause.singular
        is_work = self.noun in WORKS and not self.is_plural_only
        return genres.not_of(clause.plural, plural(self.noun)) if is_work else clause.plural


def in_order(texts: Sequence[str]) -> str:
    """Return what follows a noun in the order in which each belongs to the noun and not to what is before it.

    *Movies from 1998 by Ann Lee tagged 'love'*, not *tagged 'love' by Ann Lee*; *in Thai and rated R* are of two kinds.
    """
    ordered = sorted(texts, key=_place)
    text = ordered[0] if ordered else ""
    for before, one in pairwise(ordered):
        is_pair = _place(before) == _place(one) and _place(one) >= _PARTICIPLE
        text += f" and {one}" if is_pair else f" {one}"
    return text


def _place(text: str) -> int:
    """Return the place of a text after a noun: groups, years and amounts, *by*, *in*, participles, *with*, *starring*,
    tags.
    """
    first, _, rest = text.partition(" ")
    if text.startswith((_OF, *_SIZED)):  # not: countries on the Danube larger than 5,000 km²
        return -1
    if text.startswith(_TAGGED) or _QUOTED.search(text):
        return _PARTICIPLE + 3
    if text.startswith(_BY):
        return 1
    if first.endswith("ing"):
        return _PARTICIPLE + 2
    if text.startswith(_HAVING):
        return _PARTICIPLE + 1
    if first in PREPOSITIONS and not _AMOUNT.match(text) and not (first == "from" and _WHEN.match(rest)):
        return 2
    return _PARTICIPLE if rest and (is_participle(first) or first == "made") else 0


def _may_follow(text: str, modifiers: Sequence[str]) -> bool:
    """Return whether a clause may be short beside some modifiers: not *covering 5 km² bordering Chad*, *from 1998 from
    Chad*.
    """
    is_open = text.partition(" ")[0].endswith("ing")
    firsts = [one.partition(" ")[0] for one in modifiers]
    return not (is_open and any(one.endswith("ing") for one in firsts)) and text.partition(" ")[0] not in firsts


def _by(clause: Clause, modifiers: Sequence[str]) -> Clause:
    """Return *by the director of X* for *from the director of X*, if *from* would be said twice."""
    is_by = clause.plural.startswith(f"are {_BY}") and not _may_follow(clause.reduced, modifiers)
    return replace(clause, reduced=clause.plural.removeprefix("are ")) if is_by else clause


def _joined(texts: Sequence[str]) -> str:
    """Return predicates as one: *star Ann Lee and are in Thai*, *star Ann Lee but are not in Thai*."""
    text = texts[0]
    for before, one in pairwise(texts):
        text += f" {'but' if _DENIED.match(one) and not _DENIED.match(before) else 'and'} {one}"
    return text


def _is_long(clause: Clause) -> bool:
    return not (clause.reduced or clause.before or clause.is_after)


def _placed(ways: list[Clause], *, is_short: bool) -> list[Clause]:
    """Return the short ways, those that begin with a preposition if it must be short, or all."""
    short = [way for way in ways if way.reduced]
    return [way for way in short if not is_short or _place(way.reduced) < _PARTICIPLE] or short or ways


def _drawn(ways: Sequence[Clause], rng: np.random.Generator) -> Clause:
    """Return one of some wordings, mostly a short one: long ones have more words in common."""
    lengths = [1 + len((way.reduced or way.plural or way.before).split()) for way in ways]
    shares = [1 / length for length in lengths]
    at = int(rng.choice(len(ways), p=[share / sum(shares) for share in shares]))
    return ways[at]


def _ways(clause: Clause) -> list[Clause]:
    """Return a clause in all its words.

    Those with a noun of their own in the plural are better than any other, and so is the adjective of a genre.
    """
    ways = [clause, *clause.others]
    if of_genre := [way for way in ways if way.genre]:
        return of_genre
    nouns = [way for way in ways if (found := _AS_NOUN.fullmatch(way.plural)) and not _ONE_OF_A_KIND.match(found[2])]
    return nouns or ways


def given(text: str, *, is_other: bool) -> NounPhrase:
    """Return the phrase that a template gives: a plural noun and its predicate, ``drugs: target <gene>``."""
    noun, _, predicate = text.partition(": ")
    return NounPhrase(noun, (Clause(predicate, predicate),), is_other, is_nested=True, is_plural_only=True)


def either(clauses: Sequence[Clause], *, is_negated: bool = False) -> Clause:
    """Return clauses joined by *or*, or by *and* if they are negated; all have the noun as subject, or none."""
    if len(clauses) == 1:
        return clauses[0]
    word = " and " if is_negated else " or "
    return Clause(
        word.join(clause.singular for clause in clauses),
        word.join(clause.plural for clause in clauses),
        word.join(clause.reduced for clause in clauses) if all(clause.reduced for clause in clauses) else "",
        clauses[0].is_subject,
    )
