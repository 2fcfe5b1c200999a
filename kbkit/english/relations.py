"""Phrases of relations: the verb phrase of either end, from the recipe or from the label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from kbkit.english.attributes import words_of_name
from kbkit.english.categories import GROUPS
from kbkit.english.clauses import Clause
from kbkit.english.frames import frame_file
from kbkit.english.readable import relation_problem
from kbkit.english.types import THING, WORKS, are_people, type_noun
from kbkit.english.verbs import GRADES, VerbPhrase, has_bare_object, of_noun, verb_phrase
from kbkit.english.words import PREPOSITIONS, is_person, plural, spoken, with_article
from kbkit.schema import Relation, Schema

_ACTOR = "actor"
REMEDY = 'Give such relations phrases in the recipe, such as phrases = { head = "cites", tail = "is cited by" }'
"""What to do about relations that cannot be worded."""
_LISTED = 5
_SHORT, _WITH, _BY, _NO_ROLE = "~", "with", "by", "-"
"""Marks wordings that follow a noun without a verb: ``~of Chad``."""
_BEFORE = {"genre": "{}", "language": "{}-language"}
"""What names of a type say before the noun that has them."""
RECORDED = {True: "is listed with", False: "is listed for"}
"""Neutral phrases of a head and of a tail; a recipe can give them to a relation whose name says no more."""
NO_VERB = "no verb"
"""Why a relation is not asked about whose label says no more than its types."""
_EITHER_NOUN = re.compile(r"has the (\w+ or \w+ \w+)")
_PASSIVE = re.compile(r"(?:is|was) \w+ by")


@dataclass(frozen=True)
class Link:
    """A relation of nodes of the type ``subject`` with others of the type ``other`` (None: of any type).

    ``of_head``: the subjects are heads of the relation.
    """

    relation: Relation
    subject: str
    other: str | None
    of_head: bool

    @cached_property
    def label(self) -> str:
        """The words of the relation, without the noun of its tail: *directed* for ``directed_movie``, or ``caused by``
        for ``caused_by_ship``.
        """
        tail = self.other if self.of_head else self.subject
        return _without_tail(self.relation.label or self.relation.name, tail or "")

    @property
    def given(self) -> str:
        """The phrase of the recipe, or that of a common label that is a noun, or a neutral one, or ""."""
        return self._known or (self._of_record() if self.is_record else "")

    def _of_record(self) -> str:
        """Return *has the species* for a label that is the noun of the tails, else a neutral phrase."""
        is_own = self.of_head and self.is_noun_of_tails
        return f"has the {type_noun(self.other or '').casefold()}" if is_own else RECORDED[self.of_head]

    @property
    def _known(self) -> str:
        own = self.relation.phrase(self.subject, of_head=self.of_head)
        known = known_phrase(self.relation.label or self.relation.name, of_head=self.of_head)
        return own or known or self._of_group() or self._of_alternatives()

    @property
    def is_record(self) -> bool:
        """Whether the label says no more than the types, as foreign keys and link tables do, so the phrase is neutral.

        *Room* of a reservation: booked, cleaned or left. Nothing says which, so the room is *listed for* it.
        """
        head, tail = (self.subject, self.other) if self.of_head else (self.other, self.subject)
        label = spoken(self.relation.label or self.relation.name).casefold()
        if self._known == RECORDED[self.of_head]:
            return True
        if tail is None or label in GROUPS or not of_noun(label) or self._known:
            return False
        end = type_noun(tail).casefold()
        return label == end or (head is not None and label == f"{type_noun(head).casefold()} {end}")

    @property
    def is_noun_of_tails(self) -> bool:
        """Whether the label is the noun of the tails: *color* of a product."""
        tail = self.other if self.of_head else self.subject
        label = spoken(self.relation.label or self.relation.name).casefold()
        return tail is not None and label == type_noun(tail).casefold()

    def _of_group(self) -> str:
        """Return *is in the {} series* for a label that is the noun of a type of groups, or ""."""
        noun = spoken(self.relation.label or self.relation.name).casefold()
        is_group = noun in GROUPS and self.other is not None and noun == type_noun(self.other).casefold()
        return f"is in the {{}} {noun}" if is_group and self.of_head else ""

    def _of_alternatives(self) -> str:
        """Return *has {} as an official or national language* for *has the official or national language*, or ""."""
        words = _EITHER_NOUN.fullmatch(spoken(self.relation.label or self.relation.name)) if self.of_head else None
        return f"has {{}} as {with_article(words[1])}" if words else ""

    @property
    def problem(self) -> str:
        """Why the label cannot be worded, or ""; a phrase of the recipe needs no label."""
        return "" if self.given else relation_problem(self.label)

    @cached_property
    def verb(self) -> VerbPhrase | None:
        """The verb phrase with this subject: that of the recipe, or one from the label; None if none reads well."""
        if self.given:
            return VerbPhrase(self.given)
        if self.problem:
            return None
        if self.runs_both_ways and of_noun(self.label):
            # Edges run both ways, so that either end may be the one that the noun describes.
            return VerbPhrase(f"is linked as {spoken(self.label)} to")
        active = verb_phrase(self.label)
        if self.of_head or self.relation.symmetric:
            return active
        return active and active.inverse()

    @property
    def runs_both_ways(self) -> bool:
        """Whether edges run from either of two types to the other."""
        pairs = {(signature.head, signature.tail) for signature in self.relation.signatures}
        return self.subject != self.other and {(self.subject, self.other), (self.other, self.subject)} <= pairs

    def clause(self, thing: str, *, is_named: bool, is_negated: bool = False) -> Clause | None:
        """Return what the relation with ``thing`` says of the subject; None if it would not read well.

        ``is_named``: the thing is a name, so that it may be the subject of the clause (``that Ang Lee acted in``).
        """
        clause = self._clause(thing, is_named=is_named, is_negated=is_negated)
        if clause is None or not self.subject or self.subject != self.other or type_noun(self.subject) == THING:
            return clause
        return replace(clause, is_alike=True, others=tuple(replace(way, is_alike=True) for way in clause.others))

    def _clause(self, thing: str, *, is_named: bool, is_negated: bool) -> Clause | None:
        verb = self.verb
        if self.is_record and not is_named:
            return None  # listed with a room that is listed for a guest
        if verb is not None and verb.singular.startswith("{} "):
            own = VerbPhrase(verb.singular.removeprefix("{} "))
            text = f"{thing} {own.negated(is_plural=False) if is_negated else own.singular}"
            return Clause(text, text, is_subject=False)
        if verb is not None:
            repeats = (
                verb.singular == f"is {with_article(type_noun(self.subject))} of"
            )  # a country that is a country of
            if not is_named and (verb.takes_name or repeats):
                return None
            clause = _of_subject(verb, thing, is_named=is_named, is_negated=is_negated)
            if is_negated:
                return clause
            if self.is_record and verb.takes_name:  # with the species X
                clause = replace(clause, reduced=_with(verb.singular.replace("has", "with", 1), thing))
            further = [VerbPhrase(text) for text in self.relation.phrases_of(self.subject, of_head=self.of_head)[1:]]
            further += [VerbPhrase(text) for text in _wordings(verb.singular) if text[:1] != _SHORT]
            others = [
                _of_subject(other, thing, is_named=is_named, is_negated=False)
                for other in further
                if is_named or not (other.takes_name or _wants_name(other))
            ]
            others += [one for other in (verb, *further) for one in _with_participle(other, thing)]
            others += [one for other in (verb, *further) for one in _worded_otherwise(other, thing, is_named=is_named)]
            if is_named:
                others += [*_active(verb, thing), *self._before(thing)]
            return replace(clause, others=tuple(others))
        active = None if self.problem else verb_phrase(self.label)
        if active is None or not is_named or "{}" in active.singular or of_noun(self.label):
            return None
        text = f"{thing} {active.negated(is_plural=False) if is_negated else active.singular}"
        words = [] if is_negated else short_wordings(active.singular, self.other)
        short = (_with(one.removeprefix(_SHORT), thing) for one in words)
        return Clause(
            text, text, is_subject=False, others=tuple(Clause(text, text, one, is_subject=False) for one in short)
        )

    def _before(self, thing: str) -> tuple[Clause, ...]:
        """Return what a name says before the noun: *Comedy movies*, *English-language*; mostly nothing."""
        noun = type_noun(self.other) if self.other else ""
        is_work = type_noun(self.subject).rpartition(" ")[2] in WORKS  # not: Portuguese-language countries
        before = _BEFORE.get(noun, "").format(thing) if is_work else ""
        return (Clause("", "", before=before),) if before and self.of_head else ()


@lru_cache(10_000)
def _without_tail(label: str, tail: str) -> str:
    """Return the words of a label without the noun of the type ``tail`` at their end."""
    words = spoken(label)
    if tail and (has_bare_object(label) or words.split()[1:-1][-1:] in ([word] for word in PREPOSITIONS)):
        noun = type_noun(tail)
        for end in (noun, plural(noun)):
            if words.endswith(f" {end}"):
                return words.removesuffix(f" {end}")
    return label


def _of_subject(verb: VerbPhrase, thing: str, *, is_named: bool, is_negated: bool) -> Clause:
    if is_negated:
        one, many = (_with(verb.negated(is_plural=several), thing) for several in (False, True))
        return Clause(one, many)
    reduced = _with(verb.reduced, thing) if verb.reduced else ""
    several = verb.plural
    if not is_named and verb.singular.startswith("is the "):  # cities that are each the capital of a country
        several = verb.singular.replace("is the", "are each the", 1)
    return Clause(_with(verb.singular, thing), _with(several, thing), reduced)


def _active(verb: VerbPhrase, thing: str) -> tuple[Clause, ...]:
    """Return *that Ang Lee directed* for *was directed by*, if there is such a clause."""
    by = verb.inverse() if _PASSIVE.fullmatch(verb.singular) else None
    return (Clause(f"{thing} {by.singular}", f"{thing} {by.singular}", is_subject=False),) if by else ()


def _wants_name(verb: VerbPhrase) -> bool:
    """Return whether a noun ends a phrase, so that a name must follow: *is a work of the director*."""
    words = verb.singular.split()
    return len(words) > 1 and words[-1] not in PREPOSITIONS


def _with_participle(verb: VerbPhrase, thing: str) -> tuple[Clause, ...]:
    """Return *bordering Chad* for *borders Chad*, if there is such a clause."""
    return (Clause(_with(verb.singular, thing), _with(verb.plural, thing), f"{verb.participle} {thing}"),) * bool(
        verb.participle and not verb.takes_name
    )


def _wordings(phrase: str) -> list[str]:
    """Return the alternative wordings of a verb phrase from ``frames/relations.toml``."""
    known: Mapping[str, list[str]] = frame_file("relations")["wordings"]
    return known.get(phrase, [])


def short_wordings(phrase: str, subject: str | None) -> list[str]:
    """Return the wordings for a noun that is the object of a verb phrase: *on the Caspian Sea*."""
    own = _wordings(f"^{phrase}: {type_noun(subject)}") if subject else []
    return own or _wordings(f"^{phrase}")


def _worded_otherwise(verb: VerbPhrase, thing: str, *, is_named: bool) -> tuple[Clause, ...]:
    """Return the wordings without a verb: *countries next to Chad* for *countries that border Chad*.

    Films are *with Ann Lee*, but not *with a writer of X*, and *by a director of X*, but not *by a writer of X*.
    """
    short = [text.removeprefix(_SHORT) for text in _wordings(verb.singular) if text[:1] == _SHORT]
    own = f"{roles().get(verb.singular) or _NO_ROLE} of "
    short = [text for text in short if is_named or (text != _WITH and (text != _BY or own in thing))]
    return tuple(Clause(_with(verb.singular, thing), _with(verb.plural, thing), _with(text, thing)) for text in short)


def _with(verb: str, thing: str) -> str:
    if thing.startswith("the same continent"):  # in Europe, but on the same continent
        verb = re.sub(r"\bin$", "on", verb)
    return verb.replace("{}", thing) if "{}" in verb else f"{verb} {thing}"


def known_phrase(label: str, *, of_head: bool) -> str:
    """Return the verb phrase of a common label that is a noun, such as *country of citizenship*; "" for others."""
    words = spoken(label)
    given = str(frame_file("relations")["phrases"].get(words, ("", ""))[0 if of_head else 1])
    has, _, noun = words.partition(" ")
    is_grade = of_head and has == "has" and noun.rpartition(" ")[2] in GRADES
    return given or (f"has the {words_of_name(noun).noun}" if is_grade else "")


def is_bare_noun(label: str) -> bool:
    """Return whether a label is a noun that does not say what its tails are: *schedule*, but not *director*."""
    words = spoken(label).casefold()
    return of_noun(words) and words not in GROUPS and not is_person(words) and not known_phrase(words, of_head=True)


def roles() -> Mapping[str, str]:
    """Return what the objects of verb phrases are of their subjects: *director* for *was directed by*."""
    known: Mapping[str, str] = frame_file("relations")["roles"]
    return known


def roles_of(kind: str, *, are_several: bool) -> dict[str, str]:
    """Return what nodes of a type are of the subjects of verb phrases whose objects they are: *actor* for *stars*.

    Only people are actors. If a subject has one object, it is called so only if it is an actor: no film stars the same
    person as another film.
    """
    return {verb: role for verb, role in roles().items() if (are_people(kind) if role == _ACTOR else are_several)}


def unworded(schema: Schema) -> dict[str, str]:
    """Return the relations that cannot be worded, or only as *listed with*, with the reason."""
    reasons: dict[str, str] = {}
    for relation in schema.relations:
        for signature in relation.signatures:
            ends = ((signature.head, signature.tail, True), (signature.tail, signature.head, False))
            problems = [objection(schema, Link(relation, one, other, of_head=head)) for one, other, head in ends]
            if any(problems):
                reasons[relation.name] = next(filter(None, problems))
    return reasons


def objection(schema: Schema, link: Link) -> str:
    """Return why no question uses a relation, or "".

    A foreign key whose label is the name of a type says nothing of how the things are related (*climbers with the
    mountain X*), unless its tails only describe the heads, as colors do.
    """
    is_unnamed = link.is_record and not (link.is_noun_of_tails and _only_describes(schema, link))
    return link.problem or NO_VERB * is_unnamed or mismatch(link)


def mismatch(link: Link) -> str:
    """Return why a label makes no sentence for the types it joins, or "".

    A gene takes part in a process, and does not interact with it. Where edges run both ways between two types, nothing
    says which end is the *target* of the other.
    """
    if link.given:
        return ""
    label = link.relation.label or link.relation.name
    if link.runs_both_ways and of_noun(label):
        return f"no direction: either end may be the {spoken(label)}"
    of_things, abstract = (frame_file("relations")["senses"][name] for name in ("of_things", "abstract"))
    words = spoken(label).casefold().split()
    if not words or words[0] not in of_things:
        return ""
    nouns = [type_noun(one) for one in (link.subject, link.other) if one]
    return next((f"a verb of things, but {with_article(noun)} is none" for noun in nouns
                 if noun.rpartition(" ")[2] in abstract), "")  # fmt: skip


def _only_describes(schema: Schema, link: Link) -> bool:
    """Return whether the tails of a relation have no attributes, and no relations with nodes of a third type."""
    head, tail = (link.subject, link.other) if link.of_head else (link.other, link.subject)
    pairs = [(one.head, one.tail) for relation in schema.relations for one in relation.signatures]
    is_of_head = all({*pair} <= {head, tail} for pair in pairs if tail in pair)
    return head != tail and is_of_head and tail is not None and not schema.type(tail).attributes


def left_out(reasons: Mapping[str, str]) -> list[str]:
    """Return a line for a report, if relations were left out because they cannot be worded, and what to do."""
    if not reasons:
        return []
    listed = ", ".join(f"{name} ({problem})" for name, problem in list(reasons.items())[:_LISTED])
    more = f" and {len(reasons) - _LISTED:,} more" if len(reasons) > _LISTED else ""
    return [f"Left out: relations whose labels cannot be worded: {listed}{more}. {REMEDY}."]
