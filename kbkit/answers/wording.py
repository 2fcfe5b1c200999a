"""Word an answer expression as an English noun phrase: *movies that were directed by Ang Lee and are rated R*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kbkit.answers.algebra import (
    AllNodes,
    AttributeCondition,
    Difference,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    MeasureFilter,
    Move,
    Operator,
    Plan,
    Union,
)
from kbkit.answers.measure_wording import condition_phrase, measure_clause
from kbkit.answers.operator_tree import operators
from kbkit.answers.syntax import Name, Slot
from kbkit.english.clauses import Clause
from kbkit.english.noun_phrases import NounPhrase, either
from kbkit.english.relations import Link, roles
from kbkit.english.roles import is_untyped, role_clause, tail_noun
from kbkit.english.types import THING, are_people, type_noun
from kbkit.english.verbs import GRADES
from kbkit.english.words import lemmas_of, listed, with_article
from kbkit.schema import Schema


def noun_phrase(plan: Plan, schema: Schema, heads: Mapping[str, str] | None = None) -> NounPhrase | None:
    """Return a plan's answers in words, with ``<slot>`` for each slot; None if the phrase would not read well.

    Chains, intersections, differences of one step or of the start itself, and measures of what one step reaches can be
    worded; unions and closures cannot. ``heads``: what the heads of relations are, by relation, if nodes have no types.
    With it, the nouns of such nodes are those of their roles (:mod:`kbkit.english.roles`); None if one has no role.
    """
    phrase = _Words(plan, schema, heads).phrase(plan.root)
    return phrase if phrase is not None and phrase.clauses else None


def noun_of(hop: Operator, schema: Schema, heads: Mapping[str, str]) -> str:
    """Return the noun of what a step leads to: that of its type, or of its role if it has no type; "" if unknown."""
    if not is_untyped(hop.type):
        return type_noun(hop.type or "")
    if not isinstance(hop, Hop):
        return ""
    nouns = {
        tail_noun(schema.relation(move.relation)) if move.forward else heads.get(move.relation, "")
        for move in hop.moves
    }
    return nouns.pop() if len(nouns) == 1 else ""


def role_of(hop: Operator, schema: Schema) -> str:
    """Return what people that a step leads to are of the thing before them: *director* for *was directed by*; or ""."""
    if not isinstance(hop, Hop) or not are_people(hop.type or "") or hop.source.type is None or len(hop.moves) > 1:
        return ""
    move = hop.moves[0]
    if move.closure or move.conditions:
        return ""
    verb = Link(schema.relation(move.relation), hop.source.type, hop.type, of_head=move.forward).verb
    return roles().get(verb.singular, "") if verb else ""


def slot_nouns(plan: Plan, schema: Schema, heads: Mapping[str, str]) -> dict[str, str]:
    """Return what the nodes without a type in the slots of a plan are, by slot, as far as their roles tell."""
    nouns = {}
    for hop in operators(plan.root):
        if isinstance(hop, Hop) and isinstance(hop.source, Lookup) and is_untyped(hop.source.type):
            source = next(p.source for p in plan.parameters if p.name == hop.source.parameter)
            ends = {
                heads.get(m.relation, "") if m.forward else tail_noun(schema.relation(m.relation)) for m in hop.moves
            }
            if isinstance(source, Slot) and len(ends) == 1:
                nouns[source.name] = ends.pop()
    return {slot: noun for slot, noun in nouns.items() if noun}


def shared_middles(plan: Plan) -> dict[str, tuple[str, list[tuple[str, bool]]]]:
    """Return what is shared with a named node where a chain leads back: its type, and the moves from the node to it.

    The keys are slots; *movies directed by the same person as <movie>* gives person, and the moves to directors.
    """
    found = {}
    for hop in (operator for operator in operators(plan.root) if isinstance(operator, Hop)):
        before = hop.source
        if isinstance(before, Hop) and isinstance(before.source, Lookup) and before.type is not None:
            source = next(p.source for p in plan.parameters if p.name == before.source.parameter)
            if isinstance(source, Slot):
                found[source.name] = (before.type, [(move.relation, move.forward) for move in before.moves])
    return found


def _other_texts(inner: NounPhrase, *, is_plural: bool) -> list[str]:
    """Return a phrase with one clause in the other words that it has."""
    others = [one for clause in inner.clauses for one in clause.others if not one.before]
    ways = [one for one in others if one.is_subject or one.reduced]
    texts = [NounPhrase(inner.noun, (way,)).text(is_plural=is_plural, reduce=True) for way in ways]
    return texts if len(inner.clauses) == 1 else []


def _in_other_words(clause: Clause, link: Link, things: Sequence[str], several: Sequence[str]) -> Clause:
    """Return a clause about unnamed things with their other texts, and *countries that* for *a country that*."""
    others = [*clause.others]
    for thing in things:
        other = link.clause(thing, is_named=False)
        others += [replace(other, others=()), *other.others] if other else []
    # Films that star a writer of X, not: films that star writers of X.
    verb = link.verb.plural.rpartition(" ")[2] if link.verb else ""
    for text in () if "NOUN" in lemmas_of(verb) else several:
        of_several = link.clause(text, is_named=False)
        others += [
            replace(one, singular=clause.singular, others=())
            for one in ((of_several, *of_several.others) if of_several else ())
        ]
    return replace(clause, others=tuple(dict.fromkeys(others)))


class _Words:
    def __init__(self, plan: Plan, schema: Schema, heads: Mapping[str, str] | None) -> None:
        self._sources = {parameter.name: parameter.source for parameter in plan.parameters}
        self._schema = schema
        self._heads = heads

    def phrase(self, operator: Operator) -> NounPhrase | None:
        if operator.type is None:
            return None
        noun = type_noun(operator.type)
        if isinstance(operator, AllNodes):
            return NounPhrase(noun)
        if isinstance(operator, Hop):
            by_role = is_untyped(operator.type) and self._heads is not None
            noun = noun_of(operator, self._schema, self._heads or {}) if by_role else noun
            worded = self._clause(operator, is_negated=False) if noun else None
            return worded and NounPhrase(noun, (worded[0],), is_nested=worded[1])
        if isinstance(operator, Intersection):
            parts = [self.phrase(part) for part in operator.parts]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            if is_untyped(operator.type) and self._heads is not None:  # films, if all parts are films
                nouns = {part.noun for part in known}
                if len(nouns) > 1:
                    return None
                noun = nouns.pop()
            clauses = tuple(dict.fromkeys(clause for part in known for clause in part.clauses))
            return NounPhrase(noun, clauses, any(p.is_other for p in known), any(p.is_nested for p in known))
        if isinstance(operator, (MeasureFilter, Extreme)):
            return self._measured(operator)
        return self._difference(operator) if isinstance(operator, Difference) else None

    def _measured(self, operator: MeasureFilter | Extreme) -> NounPhrase | None:
        other = operator.other if isinstance(operator, MeasureFilter) else None
        source = self._sources[other] if isinstance(other, str) else ""
        constant = f"<{source.name}>" if isinstance(source, Slot) else str(source)
        inner, clause = self.phrase(operator.source), measure_clause(operator, self._schema, constant)
        if inner is None or clause is None:
            return None
        is_about_all = not inner.clauses or not isinstance(operator, Extreme)  # else: the most of those that ...
        return replace(inner, clauses=(*inner.clauses, clause)) if is_about_all else None

    def _difference(self, operator: Difference) -> NounPhrase | None:
        left = self.phrase(operator.left)
        if left is None:
            return None
        starts = operator.right.parts if isinstance(operator.right, Union) else (operator.right,)
        if all(isinstance(start, Lookup) for start in starts):
            names = [self._name(start) for start in starts if isinstance(start, Lookup)]
            is_named = all(name and any(name in clause.plural for clause in left.clauses) for name in names)
            return NounPhrase(left.noun, left.clauses, True, left.is_nested) if is_named else None
        worded = self._clause(operator.right, is_negated=True) if isinstance(operator.right, Hop) else None
        if worded is None:
            return None
        return NounPhrase(left.noun, (*left.clauses, worded[0]), left.is_other, left.is_nested or worded[1])

    def _clause(self, hop: Hop, *, is_negated: bool) -> tuple[Clause, bool] | None:
        """Return the clause of a step and whether it contains another noun phrase with clauses."""
        is_named, is_nested = isinstance(hop.source, Lookup), False
        if any(move.conditions for move in hop.moves):
            return self._conditioned(hop, is_negated=is_negated)
        things: list[str] = []
        several: list[str] = []
        if isinstance(hop.source, Lookup):
            thing = self._name(hop.source)
        elif same := self._same(hop):
            if (
                hop.source.type and type_noun(hop.source.type).rpartition(" ")[2] in GRADES
            ):  # not: rated the same rating
                return Clause(f"has {same}", f"have {same}", f"with {same}"), False
            thing = same
        else:
            inner = self._in_role(hop.source) or self.phrase(hop.source)
            if inner is None or inner.is_other or inner.is_nested:
                return None
            is_nested = bool(inner.clauses)
            text = inner.text(is_plural=False, reduce=True)
            thing = inner.definite or (f"any {text}" if is_negated else with_article(text))
            if is_nested and not inner.definite and not is_negated:
                things = [with_article(other) for other in _other_texts(inner, is_plural=False)]
                several = [inner.text(is_plural=True, reduce=True), *_other_texts(inner, is_plural=True)]
        if self._heads is not None and is_untyped(hop.type) and all(move.forward for move in hop.moves):
            noun = noun_of(hop, self._schema, self._heads)
            if not thing or not noun or is_negated:
                return None
            return replace(role_clause(noun, thing), others=tuple(role_clause(noun, one) for one in several)), is_nested
        links = [self._link(move, hop) for move in hop.moves if not move.closure]
        clauses = [link.clause(thing, is_named=is_named, is_negated=is_negated) for link in links if thing]
        known = [clause for clause in clauses if clause is not None]
        if len(known) < len(hop.moves) or len({c.is_subject for c in known}) > 1:
            return None
        clause = either(known, is_negated=is_negated)
        if len(links) == 1 and several:
            clause = _in_other_words(clause, links[0], things, several)
        own, verb = role_of(hop.source, self._schema), links[0].verb if links else None
        if own and (verb is None or roles().get(verb.singular) != own):
            clause = clause.with_verb  # directed by a writer of X: by a writer would say written
        return clause, is_nested

    def _in_role(self, operator: Operator) -> NounPhrase | None:
        """Return *director of <movie>* for a person who directed <movie>, or None."""
        role = role_of(operator, self._schema)
        name = (
            self._name(operator.source)
            if role and isinstance(operator, Hop) and isinstance(operator.source, Lookup)
            else ""
        )
        return NounPhrase(role, (role_clause(role, name),)) if name else None

    def _conditioned(self, hop: Hop, *, is_negated: bool) -> tuple[Clause, bool] | None:
        """Return the clause of a step with conditions on its edges: *that were ordered by Zoe with quantity 2*.

        Only for a named start, because such words would otherwise belong to the last thing before them.
        """
        if len(hop.moves) > 1 or is_negated or not isinstance(hop.source, Lookup):
            return None
        bare = replace(hop.moves[0], conditions=())
        worded = self._clause(replace(hop, moves=(bare,)), is_negated=False)
        held = [condition_phrase(test, self._value(test)) for test in hop.moves[0].conditions]
        if worded is None or worded[0].before or worded[0].is_after or not all(held):
            return None
        clause, end = worded[0], f" with {listed(held)}"
        reduced = f"{clause.reduced}{end}" if clause.reduced else ""
        return replace(
            clause, singular=clause.singular + end, plural=clause.plural + end, reduced=reduced, others=()
        ), False

    def _value(self, test: AttributeCondition) -> str:
        """Return the only value of a condition, or its slot, in words; "" for several or none."""
        sources = [self._sources[name] for name in test.parameters]
        source = sources[0] if len(sources) == 1 else ""
        return f"<{source.name}>" if isinstance(source, Slot) else str(source)

    def _same(self, hop: Hop) -> str:
        """Return *the same country as <mountain>* for a step that leads back along the step before it, else ""."""
        before = hop.source
        if not isinstance(before, Hop) or not isinstance(before.source, Lookup) or before.type is None:
            return ""
        there = [replace(move, forward=not move.forward) for move in before.moves]
        name = self._name(before.source)
        if type_noun(before.type) == THING:
            return ""  # not: the position of the same thing as X
        links = [self._link(move, hop) for move in hop.moves]
        # From a label: hypernyms of the same word as X. Nor do people work as the same profession as X.
        back = [Link(link.relation, link.other or "", link.subject, of_head=not link.of_head) for link in links]
        if any(link.verb is not None and link.verb.singular.endswith(" as") for link in (*links, *back)):
            return ""
        if any(link.verb is None or (link.verb.singular.endswith(" of") and not link.given) for link in links):
            return ""
        return f"the same {type_noun(before.type)} as {name}" if name and list(hop.moves) == there else ""

    def _link(self, move: Move, hop: Hop) -> Link:
        assert hop.type is not None
        return Link(self._schema.relation(move.relation), hop.type, hop.source.type, of_head=not move.forward)

    def _name(self, lookup: Lookup) -> str:
        """Return what a lookup names: ``<slot>`` or a name; "" for a key."""
        source = self._sources[lookup.parameter]
        return f"<{source.name}>" if isinstance(source, Slot) else source.text if isinstance(source, Name) else ""
