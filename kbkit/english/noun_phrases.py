"""Noun phrases with clauses: *movies that were directed by Ang Lee and are rated R*."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kbkit.english.words import is_person, listed, plural

if TYPE_CHECKING:
    import numpy as np

_SLOT = re.compile("<([^<>]+)>")
_WITH = "with "


@dataclass(frozen=True)
class Clause:
    """What a noun phrase says of its noun, for one thing and for several.

    ``reduced`` is a form without *that* (``directed by Ang Lee``), or "". ``is_subject``: the noun is the subject of
    the clause; otherwise its object (``that Ang Lee acted in``). ``others`` say the same in other words:
    ``that Ang Lee directed`` for ``that was directed by Ang Lee``.
    """

    singular: str
    plural: str
    reduced: str = ""
    is_subject: bool = True
    others: tuple[Clause, ...] = ()


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
        having = [text.removeprefix(_WITH) for text in short if text.startswith(_WITH)]
        short = [text for text in short if not text.startswith(_WITH)]
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
        noun += [_WITH + " and ".join(having)] if having else []
        return " ".join(filter(None, (*noun, listed(parts))))

    @property
    def definite(self) -> str:
        """The phrase as *the country of birth of X* if its only clause says no more than that, else ""."""
        said = self.clauses[0].singular if len(self.clauses) == 1 and not self.is_other else ""
        return said.removeprefix("is ") if said.startswith(f"is the {self.noun} ") else ""

    def filled(self, names: Mapping[str, str]) -> NounPhrase:
        """Return the phrase with names in place of ``<slot>``."""

        def fill(text: str) -> str:
            return _SLOT.sub(lambda match: names.get(match[1], match[0]), text)

        def filled(clause: Clause) -> Clause:
            others = tuple(map(filled, clause.others))
            one, several, reduced = fill(clause.singular), fill(clause.plural), fill(clause.reduced)
            return Clause(one, several, reduced, clause.is_subject, others)

        return replace(self, clauses=tuple(map(filled, self.clauses)))

    def varied(self, rng: np.random.Generator) -> NounPhrase:
        """Return the phrase with its clauses in a random order, each as it is or in other words."""
        clauses = [self.clauses[at] for at in rng.permutation(len(self.clauses)).tolist()]
        ways = [(clause, *clause.others) for clause in clauses]
        return replace(self, clauses=tuple(way[int(rng.integers(len(way)))] for way in ways))

    def head(self, *, is_plural: bool) -> str:
        """Return the noun alone: *other movies*."""
        noun = plural(self.noun) if is_plural and not self.is_plural_only else self.noun
        return f"{'other ' * self.is_other}{noun}"

    def predicate(self, *, is_plural: bool) -> str:
        """Return the clauses as one predicate, *flow into the Black Sea and are long*; "" if the noun is no subject."""
        if not self.clauses or not all(clause.is_subject for clause in self.clauses):
            return ""
        return " and ".join(clause.plural if is_plural else clause.singular for clause in self.clauses)


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
