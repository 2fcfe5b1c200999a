"""What may be asked of nodes of a type: attributes, groups, and what superlatives and comparatives compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from kbkit.answers.syntax import DateFunction, Group, Measure
from kbkit.english.question_words import PLACES, RANKS, Adjective
from kbkit.english.words import may_be_person, singular
from kbkit.questions.element_lists import numeric
from kbkit.questions.lexicon import label_words
from kbkit.questions.sketches.conditions import Features
from kbkit.questions.sketches.sets import NodeSets
from kbkit.questions.sketches.words import SketchWords

MAX_SHOWN, _MAX_MEASURES, _MAX_GROUPS = 4, 5, 3
"""Limits on the attributes, measures of superlatives, and groups that are tried."""
SAID, CLEARLY, HARDLY = 0.5, 0.4, 0.3
"""How well words must express what is shown beside others, what is shown at all, and what is compared."""
_SHOWN = 0.2
_IS_DATE, _IS_PERSON, _IS_PLACE, IS_NUMBER = 0.5, 0.4, 0.5, 0.3
"""How much likelier attributes are that fit *when*, *who*, *where* and *how*."""
_PERIODS = ("year", "month")
ORDERED = frozenset(["year", "height", "rating"])
"""Nouns of adjectives that order by rank: *first*, *highest*, *best*."""
_RANKED = 0.6
"""How well these express a rank."""


class ShownAttribute(NamedTuple):
    """An attribute that may be asked for: how well words express it, and how well it fits the question word."""

    name: str
    atom: int
    said: float
    fits: float
    is_number: bool

    @property
    def unsaid(self) -> dict[str, float]:
        """The feature of what no word says."""
        return {"shown unsaid": 1 - self.said}


class Measured(NamedTuple):
    """What a superlative may compare, and how well words express it."""

    measure: Measure
    atoms: tuple[int, ...]
    features: Features
    said: float


class Grouped(NamedTuple):
    """What may be grouped by, and how well words express it."""

    group: Group
    atoms: tuple[int, ...]
    said: float


class Askable:
    """What may be asked of nodes of type ``kind``."""

    def __init__(self, words: SketchWords, sets: NodeSets, kind: int) -> None:
        self.words, self.sets, self.elements, self.kind = words, sets, words.elements, kind
        self.question = words.question
        self.types = {one.name: one.type for one in self.elements.types[kind].attributes}

    def is_date(self, name: str) -> bool:
        """Return whether an attribute holds dates or times."""
        return self.types[name].startswith(("DATE", "TIMESTAMP"))

    def is_yearly(self, name: str) -> bool:
        """Return whether an attribute holds dates or years."""
        return self.elements.is_yearly(self.kind, name)

    def is_rank(self, name: str) -> bool:
        """Return whether an attribute is a number of which 1 comes first: *position*."""
        return numeric(self.types[name]) and not RANKS.isdisjoint(label_words(name))

    def adds_up(self, one: ShownAttribute) -> bool:
        """Return whether an attribute is a number that may be added up."""
        return one.is_number and not (self.is_date(one.name) or self.is_yearly(one.name) or self.is_rank(one.name))

    @cached_property
    def shown(self) -> list[ShownAttribute]:
        """The attributes that may be asked for, the likeliest first."""
        asks, found = self.words.asks, []
        for name, kind in self.types.items():
            atom = self.words.attributes.get((self.kind, name))
            if atom is None:
                continue
            said = self.words.said(atom)
            if self.words.asked_fit is not None:
                said = max(said, float(self.words.asked_fit[atom]))
            is_number, is_date = numeric(kind), self.is_date(name) or self.is_yearly(name)
            fits = _IS_DATE * (asks == "when" and is_date)
            fits += _IS_PLACE * (asks == "where" and not {*PLACES}.isdisjoint(label_words(name)))
            fits += IS_NUMBER * (asks == "how" and is_number and not is_date)
            fits += _IS_PERSON * (asks in ("who", "whom") and is_of_people(name))
            found.append(ShownAttribute(name, atom, said, fits, is_number))
        found.sort(key=lambda one: -one.said - one.fits)
        return [one for one in found if one.said + one.fits > _SHOWN][:MAX_SHOWN]

    def compared(self, adjective: Adjective | None) -> Iterator[tuple[str, int, float]]:
        """Yield the attributes that words before *than* may compare, with their atoms and how well they are said."""
        nouns, than = self.words.of_adjective(adjective), self.words.than
        for name, kind in self.types.items():
            atom = self.words.attributes.get((self.kind, name))
            if atom is None or not numeric(kind):
                continue
            said = max(self.words.near(than - 1, than + 1, atom, 5), 0.0 if nouns is None else float(nouns[atom]))
            if said >= HARDLY:
                yield name, atom, said

    def sign(self, adjective: Adjective | None, name: str) -> str:
        """Return the comparison that an adjective means for an attribute: of dates, the oldest are the least."""
        sign = adjective.sign if adjective is not None else 1
        is_reversed = adjective is not None and adjective.dates and (self.is_date(name) or self.is_yearly(name))
        return ">" if sign * (-1 if is_reversed else 1) > 0 else "<"

    @cached_property
    def groups(self) -> list[Grouped]:
        """What may be grouped by: attributes, other types, and their attributes, the likeliest first."""
        each, words = self.words.each, self.words
        if each < 0:
            return []
        following = words.tokens[each + 1] if each + 1 < len(words.tokens) else ""
        found = []
        for name in self.types:
            atom = words.attributes.get((self.kind, name))
            if atom is None:
                continue
            if self.is_date(name):
                if following in _PERIODS:
                    found.append(Grouped(Group(DateFunction(following, (name,))), (atom,), 0.9))
            elif (said := words.near(each, each + 1, atom, 3)) > HARDLY:
                found.append(Grouped(Group(name), (atom,), said))
        for other, node_type in enumerate(self.elements.types):
            paths = self.sets.paths(self.kind, other) if other != self.kind else []
            atom = words.type_atom(other)
            if paths and (said := words.near(each, each + 1, atom, 3)) > HARDLY:
                found += [Grouped(Group(self.sets.measured(path)), (atom,), said) for path in paths[:2]]
            for attribute in node_type.attributes if paths else ():
                own = words.attributes.get((other, attribute.name))
                if own is not None and (said := words.near(each, each + 1, own, 3)) > SAID:
                    group = Group(self.sets.measured(paths[0]), attribute=attribute.name)
                    found.append(Grouped(group, (own,), said))
        return sorted(found, key=lambda one: -one.said)[:_MAX_GROUPS]

    @cached_property
    def measures(self) -> list[Measured]:
        """What a superlative may compare, the likeliest first: attributes, numbers of neighbours, sums of theirs."""
        nouns, said = self.words.superlative_fit, self.words.superlative
        first, last = (said.first, said.last + 1) if said is not None else (0, 1)
        found = []
        for name, kind in self.types.items():
            atom = self.words.attributes.get((self.kind, name))
            if atom is None or not numeric(kind) or self.elements.has_flags(self.kind, name):
                continue
            near = max(self.words.near(first, last, atom), 0.0 if nouns is None else float(nouns[atom]))
            is_rank = self.is_rank(name)
            if is_rank and said is not None and ORDERED & {*said.adjective.nouns}:
                near = max(near, _RANKED)
            features = {"measure": 1.0, "measure unsaid": 1 - near, "measure bare": float(nouns is None)}
            features["measure rank"] = float(is_rank)
            found.append(Measured(name, (atom,), features, near))
        for hop in self.elements.from_type(self.kind).tolist() if nouns is None else ():
            if not self.elements.is_single(hop):
                found += self._of_neighbours(hop, first, last)
        return sorted(found, key=lambda one: -one.said)[:_MAX_MEASURES]

    def _of_neighbours(self, hop: int, first: int, last: int) -> Iterator[Measured]:
        one, words = self.elements.all[hop], self.words
        atoms = (words.type_atom(one.target), one.label)
        near = max(words.near(first, last, atoms[0]), words.near(first, last, atoms[1], 3))
        counted = self.sets.measured((hop,))
        yield Measured(counted, atoms, {"measure counts": 1.0, "measure unsaid": 1 - near}, near)
        for attribute in self.elements.types[one.target].attributes:
            atom = words.attributes.get((one.target, attribute.name))
            is_date = attribute.type.startswith(("DATE", "TIME")) or self.elements.is_yearly(one.target, attribute.name)
            near = words.near(first, last, atom, 5) if atom is not None and numeric(attribute.type) else 0.0
            if atom is not None and not is_date and near > HARDLY:
                total = replace(counted, op="sum", attribute=attribute.name)
                yield Measured(total, (atom, one.label), {"measure sums": 1.0, "measure unsaid": 1 - near}, near)

    def asked_neighbours(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the hops to single neighbours that words express, or that *who* asks for."""
        for hop in self.elements.from_type(self.kind).tolist():
            one = self.elements.all[hop]
            atoms = (self.words.type_atom(one.target), one.label)
            is_who = self.words.asks in ("who", "whom") and one.target in self.elements.people
            if self.elements.is_single(hop) and (is_who or self.words.said(*atoms) > SAID):
                yield hop, atoms


def is_of_people(name: str) -> bool:
    """Return whether an attribute holds names of people: *composer*."""
    return any(may_be_person(singular(word)) for word in label_words(name))
