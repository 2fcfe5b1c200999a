"""Phrases of relations: the verb phrase of either end, from the recipe or from the label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kbkit.english.noun_phrases import Clause
from kbkit.english.verbs import VerbPhrase, of_noun, verb_phrase
from kbkit.english.words import spoken
from kbkit.schema import Relation


@dataclass(frozen=True)
class Link:
    """A relation of nodes of the type ``subject`` with others of the type ``other`` (None: of any type).

    ``of_head``: the subjects are heads of the relation.
    """

    relation: Relation
    subject: str
    other: str | None
    of_head: bool

    @property
    def label(self) -> str:
        """The label of the relation, or its name."""
        return self.relation.label or self.relation.name

    @cached_property
    def verb(self) -> VerbPhrase | None:
        """The verb phrase with this subject: that of the recipe, or one from the label; None if none reads well."""
        given = dict(self.relation.phrases).get(self.subject)
        if given is not None:
            return VerbPhrase(given)
        pairs = {(signature.head, signature.tail) for signature in self.relation.signatures}
        both = {(self.subject, self.other), (self.other, self.subject)}
        if self.subject != self.other and both <= pairs and of_noun(self.label):
            # Edges run both ways, so that either end may be the one that the noun describes.
            return VerbPhrase(f"is linked as {spoken(self.label)} to")
        active = verb_phrase(self.label)
        if self.of_head or self.relation.symmetric:
            return active
        if self.relation.inverse:
            return VerbPhrase(self.relation.inverse)
        return active and active.inverse()

    def clause(self, thing: str, *, is_named: bool, is_negated: bool = False) -> Clause | None:
        """Return what the relation with ``thing`` says of the subject; None if it would not read well.

        ``is_named``: the thing is a name, so that it may be the subject of the clause (``that Ang Lee acted in``).
        """
        verb = self.verb
        if verb is not None:
            if verb.takes_name and not is_named:
                return None
            return _of_subject(verb, thing, is_named=is_named, is_negated=is_negated)
        active = verb_phrase(self.label)
        if active is None or not is_named or "{}" in active.singular or of_noun(self.label):
            return None
        text = f"{thing} {active.negated(is_plural=False) if is_negated else active.singular}"
        return Clause(text, text, is_subject=False)


def _of_subject(verb: VerbPhrase, thing: str, *, is_named: bool, is_negated: bool) -> Clause:
    if is_negated:
        one, many = (_with(verb.negated(is_plural=several), thing) for several in (False, True))
        return Clause(one, many)
    reduced = _with(verb.reduced, thing) if verb.reduced else ""
    several = verb.plural
    if not is_named and verb.singular.startswith("is the "):  # cities that are each the capital of a country
        several = verb.singular.replace("is the", "are each the", 1)
    return Clause(_with(verb.singular, thing), _with(several, thing), reduced)


def _with(verb: str, thing: str) -> str:
    return verb.replace("{}", thing) if "{}" in verb else f"{verb} {thing}"
