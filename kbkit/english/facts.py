"""Facts of a node in sentences: ``It was directed by {names}``, ``Its duration is 142 minutes``.

Sentences and the phrases of :mod:`kbkit.english.categories` have the same source, so that each category of a node has
its sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kbkit import english
from kbkit.english import categories
from kbkit.english.attributes import attribute_words, located
from kbkit.english.categories import flag_verb
from kbkit.english.types import are_people, type_noun
from kbkit.schema import Attribute

NAMES = "{names}"
"""The place of the names in a fact."""


@dataclass(frozen=True)
class FactFrames:
    """The sentence for one name, and the one for several; ``{names}`` is their place."""

    one: str
    many: str

    @property
    def words(self) -> str:
        """The words without the names."""
        return self.one.replace(NAMES, " ")


def of_head(domain: str, label: str, other: str) -> FactFrames:
    """Return the fact of a head about tails of type ``other``: ``It was made in {names}``."""
    subject, possessive, noun = _subject(domain), _possessive(domain), type_noun(other) if other else ""
    if noun in categories.MARKERS:
        return FactFrames(f"{possessive} {noun} is {NAMES}.", f"{possessive} {english.plural(noun)} are {NAMES}.")
    also, either, has_as = (p.fullmatch(label) for p in (categories.ALSO, categories.EITHER, categories.HAS_AS))
    if also:
        return _same(f"Those who {also[1]} it also {also[2]} {NAMES}.")
    if either:
        return _same(f"{subject} is linked to {NAMES} as {either[1]}.")
    if has_as:
        return _as_noun(subject, has_as[1])
    clause = categories.finite(label)
    if not clause and label.casefold() == noun and noun in categories.GROUPS:
        return FactFrames(
            f"{subject} is in the {NAMES} {noun}.", f"{subject} is in the {english.plural(noun)} {NAMES}."
        )
    if not clause:
        return FactFrames(f"{possessive} {label} is {NAMES}.", f"{possessive} {english.plural(label)} are {NAMES}.")
    sentence = f"{subject} {clause.replace('{}', NAMES)}." if "{}" in clause else f"{subject} {clause} {NAMES}."
    return _of_noun(subject, label, clause, noun) or _same(sentence)


def _as_noun(subject: str, noun: str) -> FactFrames:
    """Return the fact that a node has others in a role: ``It has {names} as members``."""
    one = f"{subject} has {NAMES} as {english.with_article(noun)}."
    return FactFrames(one, f"{subject} has {NAMES} as {english.plural(noun)}.")


def _of_noun(subject: str, label: str, clause: str, noun: str) -> FactFrames | None:
    """Return the fact for a label that has a noun for its object: ``has the genre``, ``is in the language``."""
    has = categories.HAS.fullmatch(label)
    into = re.fullmatch(rf"(is in|comes in|belongs to) the {re.escape(noun)}", clause)
    if into:
        many = f"{subject} {into[1]} the {english.plural(noun)} {NAMES}."
        return FactFrames(f"{subject} {into[1]} the {NAMES} {noun}.", many)
    if not has or categories.ends_with_preposition(label):
        return None
    if has[1] == noun:
        group = noun in categories.GROUPS
        one = f"{subject} is in the {NAMES} {noun}." if group else f"{subject} has the {noun} {NAMES}."
        return FactFrames(one, f"{subject} {'is in' if group else 'has'} the {english.plural(noun)} {NAMES}.")
    return _as_noun(subject, has[1])


def of_tail(domain: str, label: str) -> FactFrames:
    """Return the fact of a tail about heads: ``It was directed by {names}``, ``{names} acted in it``."""
    subject, object_ = _subject(domain), "this person" if are_people(domain) else "it"
    clause, noun, by = categories.finite(label), categories.noun_of(label), categories.passive(label)
    if noun:
        return _same(f"{subject} is {english.with_article(noun)} of {NAMES}.")
    if not clause:
        return _same(f"{subject} is linked to {NAMES}.")
    if by:
        return _same(f"{subject} {by} {NAMES}.")
    if verb := categories.active(label):
        return _same(f"{subject} {verb.singular} {NAMES}.")
    clause = categories.without_place(label, clause)
    return FactFrames(f"{NAMES} {clause} {object_}.", f"{NAMES} {categories.agreeing(clause)} {object_}.")


def of_attribute(domain: str, attribute: Attribute, *, years: bool) -> FactFrames:
    """Return the fact about an attribute, whose values may be ``years``: ``Its duration is 142 minutes``."""
    possessive = _possessive(domain)
    words, unit, _ = attribute_words(attribute)
    after = f" {unit.words}" if unit else ""
    if years and english.is_participle(words):
        return _same(f"{_subject(domain)} was {words} in {NAMES}.")
    if attribute.type.endswith("[]"):
        return FactFrames(f"{possessive} {words} include {NAMES}.", f"{possessive} {words} include {NAMES}.")
    if be := located(words):
        return _same(f"{possessive} {words} {be} in {NAMES}.")
    verb = "are" if english.is_plural(words) else "is"
    return _same(f"{possessive} {words} {verb} {NAMES}{after}.")


def of_flag(domain: str, attribute: Attribute, *, value: bool) -> str:
    """Return the fact about a Boolean attribute: ``It is not active``."""
    words = attribute_words(attribute).noun
    subject, (first, _, rest), no = _subject(domain), words.partition(" "), "" if value else "not "
    if rest and first in ("is", "was"):
        return f"{subject} {first} {no}{rest}."
    if rest and first == "has":
        return f"{subject} {'has' if value else 'does not have'} {rest}."
    return f"{subject} is {no}marked as {words}."


def of_flags(domain: str, attribute: Attribute) -> FactFrames:
    """Return the sentence of :func:`of_flag` with what it says as the name: ``It is {names}``."""
    first = flag_verb(attribute.label or attribute.name).partition(" ")[0]
    verb = f"{first} " if first in ("is", "was", "has") else ""
    return _same(f"{_subject(domain)} {verb}{NAMES}.")


def _same(sentence: str) -> FactFrames:
    return FactFrames(sentence, sentence)


def _subject(domain: str) -> str:
    return "This person" if are_people(domain) else "It"


def _possessive(domain: str) -> str:
    return "This person's" if are_people(domain) else "Its"
