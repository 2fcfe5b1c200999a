"""Word an answer expression as an English noun phrase: *movies that were directed by Ang Lee and are rated R*."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kbkit.answers.algebra import AllNodes, Difference, Hop, Intersection, Lookup, Move, Operator, Plan, Union
from kbkit.answers.english import VerbPhrase, is_person, of_noun, plural, spoken, verb_phrase, with_article
from kbkit.answers.syntax import Name, Slot
from kbkit.schema import Relation, Schema

_SLOT = re.compile("<([^<>]+)>")


@dataclass(frozen=True)
class Clause:
    """What a noun phrase says of its noun, for one thing and for several.

    ``reduced`` is a form without *that* (``directed by Ang Lee``), or "". ``is_subject``: the noun is the subject of
    the clause; otherwise its object (``that Ang Lee acted in``).
    """

    singular: str
    plural: str
    reduced: str = ""
    is_subject: bool = True


@dataclass(frozen=True)
class NounPhrase:
    """A noun with clauses. ``is_other``: the nodes that the phrase names are not meant.

    ``is_nested``: a clause contains a phrase with clauses of its own. ``is_plural_only``: the noun is a plural already.
    """

    noun: str
    clauses: tuple[Clause, ...] = ()
    is_other: bool = False
    is_nested: bool = False
    is_plural_only: bool = False

    def text(
        self, *, is_plural: bool, reduce: bool = False, modifiers: Sequence[str] = (), whose: Sequence[str] = ()
    ) -> str:
        """Return the phrase; with ``reduce`` clauses without *that* where they have such a form.

        ``modifiers`` follow the noun (``from 1990 or later``), ``whose`` clauses end the phrase.
        """
        reduce = reduce and not modifiers and not whose  # these would seem to belong to the last name
        short = [clause.reduced for clause in self.clauses if reduce and clause.reduced]
        full = [clause for clause in self.clauses if not (reduce and clause.reduced)]
        who = "who" if is_person(self.noun) else "that"
        texts = [clause.plural if is_plural else clause.singular for clause in full]
        if all(clause.is_subject for clause in full) and not whose and texts:
            parts = [f"{who} {' and '.join(texts)}"]
        else:
            pronouns = [who if clause.is_subject else "that" for clause in full]
            parts = [f"{pronoun} {text}" for pronoun, text in zip(pronouns, texts, strict=True)]
        parts += [f"whose {clause}" for clause in whose]
        noun = [self.head(is_plural=is_plural), *modifiers, " and ".join(short)]
        return " ".join(filter(None, (*noun, _listed(parts))))

    def filled(self, names: Mapping[str, str]) -> NounPhrase:
        """Return the phrase with names in place of ``<slot>``."""

        def fill(text: str) -> str:
            return _SLOT.sub(lambda found: names.get(found[1], found[0]), text)

        clauses = (Clause(fill(c.singular), fill(c.plural), fill(c.reduced), c.is_subject) for c in self.clauses)
        return replace(self, clauses=tuple(clauses))

    def head(self, *, is_plural: bool) -> str:
        """Return the noun alone: *other movies*."""
        noun = plural(self.noun) if is_plural and not self.is_plural_only else self.noun
        return f"{'other ' * self.is_other}{noun}"

    def predicate(self, *, is_plural: bool) -> str:
        """Return the clauses as one predicate, *flow into the Black Sea and are long*; "" if the noun is no subject."""
        if not self.clauses or not all(clause.is_subject for clause in self.clauses):
            return ""
        return " and ".join(clause.plural if is_plural else clause.singular for clause in self.clauses)


def noun_phrase(plan: Plan, schema: Schema) -> NounPhrase | None:
    """Return a plan's answers in words, with ``<slot>`` for each slot; None if the phrase would not read well.

    Chains, intersections, and differences of one step or of the start itself can be worded; unions and closures cannot.
    """
    found = _Words(plan, schema).phrase(plan.root)
    return found if found is not None and found.clauses else None


def given(text: str, *, is_other: bool) -> NounPhrase:
    """Return the phrase that a template gives: a plural noun and its predicate, ``drugs: target <gene>``."""
    noun, _, predicate = text.partition(": ")
    return NounPhrase(noun, (Clause(predicate, predicate),), is_other, is_nested=True, is_plural_only=True)


class _Words:
    def __init__(self, plan: Plan, schema: Schema) -> None:
        self._sources = {parameter.name: parameter.source for parameter in plan.parameters}
        self._schema = schema

    def phrase(self, operator: Operator) -> NounPhrase | None:
        if operator.type is None:
            return None
        noun = spoken(operator.type)
        if isinstance(operator, AllNodes):
            return NounPhrase(noun)
        if isinstance(operator, Hop):
            found = self._clause(operator, is_negated=False)
            return found and NounPhrase(noun, (found[0],), is_nested=found[1])
        if isinstance(operator, Intersection):
            parts = [self.phrase(part) for part in operator.parts]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            clauses = tuple(dict.fromkeys(clause for part in known for clause in part.clauses))
            return NounPhrase(noun, clauses, any(p.is_other for p in known), any(p.is_nested for p in known))
        return self._difference(operator) if isinstance(operator, Difference) else None

    def _difference(self, operator: Difference) -> NounPhrase | None:
        left = self.phrase(operator.left)
        if left is None:
            return None
        starts = operator.right.parts if isinstance(operator.right, Union) else (operator.right,)
        if all(isinstance(start, Lookup) for start in starts):
            names = [self._name(start) for start in starts if isinstance(start, Lookup)]
            is_named = all(name and any(name in clause.plural for clause in left.clauses) for name in names)
            return NounPhrase(left.noun, left.clauses, True, left.is_nested) if is_named else None
        found = self._clause(operator.right, is_negated=True) if isinstance(operator.right, Hop) else None
        if found is None:
            return None
        return NounPhrase(left.noun, (*left.clauses, found[0]), left.is_other, left.is_nested or found[1])

    def _clause(self, hop: Hop, *, is_negated: bool) -> tuple[Clause, bool] | None:
        """Return the clause of a step and whether it contains another noun phrase with clauses."""
        is_named, is_nested = isinstance(hop.source, Lookup), False
        if isinstance(hop.source, Lookup):
            thing = self._name(hop.source)
        elif same := self._same(hop):
            thing = same
        else:
            inner = self.phrase(hop.source)
            if inner is None or inner.is_other or inner.is_nested:
                return None
            is_nested = bool(inner.clauses)
            text = inner.text(is_plural=False, reduce=True)
            thing = f"any {text}" if is_negated else with_article(text)
        clauses = [self._of_move(move, hop, thing, is_named=is_named, is_negated=is_negated) for move in hop.moves]
        known = [clause for clause in clauses if clause is not None]
        if not thing or not known or len(known) < len(clauses) or len({c.is_subject for c in known}) > 1:
            return None
        joined = known[0]
        if len(known) > 1:
            word = " and " if is_negated else " or "
            joined = Clause(
                word.join(clause.singular for clause in known),
                word.join(clause.plural for clause in known),
                word.join(clause.reduced for clause in known) if all(clause.reduced for clause in known) else "",
                known[0].is_subject,
            )
        return joined, is_nested

    def _same(self, hop: Hop) -> str:
        """Return *the same country as <mountain>* for a step that leads back along the step before it, else ""."""
        before = hop.source
        if not isinstance(before, Hop) or not isinstance(before.source, Lookup) or before.type is None:
            return ""
        back = [Move(move.relation, not move.forward, move.closure) for move in before.moves]
        name = self._name(before.source)
        verbs = [self._verb(move, hop) for move in hop.moves]
        if any(verb is None or verb.singular.endswith(" of") for verb in verbs):  # hypernyms of the same word as X
            return ""
        return f"the same {spoken(before.type)} as {name}" if name and list(hop.moves) == back else ""

    def _verb(self, move: Move, hop: Hop) -> VerbPhrase | None:
        assert hop.type is not None
        relation = self._schema.relation(move.relation)
        return _subject_verb(relation, hop.type, hop.source.type, of_head=not move.forward)

    def _of_move(self, move: Move, hop: Hop, thing: str, *, is_named: bool, is_negated: bool) -> Clause | None:
        if move.closure or hop.type is None:
            return None
        relation = self._schema.relation(move.relation)
        verb = self._verb(move, hop)
        if verb is not None:
            if not is_named and verb.takes_name:
                return None
            if is_negated:
                texts = (verb.negated(is_plural=False), verb.negated(is_plural=True))
                return Clause(_with(texts[0], thing), _with(texts[1], thing))
            reduced = _with(verb.reduced, thing) if verb.reduced else ""
            several = verb.plural
            if not is_named and verb.singular.startswith("is the "):  # cities that are each the capital of a country
                several = verb.singular.replace("is the", "are each the", 1)
            return Clause(_with(verb.singular, thing), _with(several, thing), reduced)
        active = verb_phrase(relation.label or relation.name)
        if active is None or not is_named or "{}" in active.singular or of_noun(relation.label or relation.name):
            return None
        text = f"{thing} {active.negated(is_plural=False) if is_negated else active.singular}"
        return Clause(text, text, is_subject=False)

    def _name(self, lookup: Lookup) -> str:
        """Return what a lookup names: ``<slot>`` or a name; "" for a key."""
        source = self._sources[lookup.parameter]
        return f"<{source.name}>" if isinstance(source, Slot) else source.text if isinstance(source, Name) else ""


def _listed(parts: Sequence[str]) -> str:
    """Return *a*, *a and b*, or *a, b, and c*."""
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _with(verb: str, thing: str) -> str:
    return verb.replace("{}", thing) if "{}" in verb else f"{verb} {thing}"


def _subject_verb(relation: Relation, subject: str, other: str | None, *, of_head: bool) -> VerbPhrase | None:
    """Return the verb phrase of a relation whose subject is its head or its tail, of type ``subject``; None if none."""
    given = dict(relation.phrases).get(subject)
    if given is not None:
        return VerbPhrase(given)
    label = relation.label or relation.name
    pairs = {(signature.head, signature.tail) for signature in relation.signatures}
    if subject != other and {(subject, other), (other, subject)} <= pairs and of_noun(label):
        # Edges run both ways, so that either end may be the one that the noun describes.
        return VerbPhrase(f"is linked as {spoken(label)} to")
    active = verb_phrase(label)
    if of_head or relation.symmetric:
        return active
    if relation.inverse:
        return VerbPhrase(relation.inverse)
    return active and active.inverse()
