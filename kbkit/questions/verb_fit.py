"""Whether a verb that no label of a reading explains may mean what the reading says.

Some verbs say no more than that things are related: *come from*, *belong to*. Others are similar to a label: *fly*, of
airlines. One that is neither, *who inherited the package* of packages and their maintainers, says something that the
reading lacks.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kbkit.answers.syntax import Expression, Nodes, subtrees
from kbkit.english.question_words import APPEARING, BIRTH, COUNTED, OUTCOMES, PLAIN_VERBS
from kbkit.english.words import lemmas_of
from kbkit.questions.element_lists import HOP
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import FAINT, LITERAL, label_words

_PRIZES = frozenset(("prize", "prizes", "award", "awards", "medal", "medals", "trophy", "trophies"))
_LEAST = 0.28
"""Least similarity of a verb and a label that it may belong to: of right readings 9 in 10 have more, of readings whose
verb was replaced by another 1 in 10.
"""
_ALIKE = 0.5
"""The same for labels with a verb in the past, to which all verbs in the past are similar."""
_EXACT = 0.08
"""How much more than ``LITERAL`` the similarity of a word and a label is that has it, and no word derived from it."""


def is_fitting(elements: Elements, verb: str, labels: Collection[int], types: Collection[int]) -> bool:
    """Return whether a verb may mean what a reading says that has some labels and types.

    It does not if it is a word of a label elsewhere, and of none that the reading or its types have.
    """
    forms = {verb, *lemmas_of(verb).get("VERB", ())}
    is_plain = not forms.isdisjoint(PLAIN_VERBS) or (verb in COUNTED and bool(elements.people & {*types}))
    # Films released in 1999, whose year is that of the films.
    is_plain |= verb in APPEARING and any(one.label in labels and _is_own_year(one.name) for one in elements.all)
    if is_plain:
        return True
    similar = np.max([elements.labels.similarity(form) for form in forms], axis=0)
    best = similar[[*labels]].max(initial=0.0)
    if is_winning(elements, verb, types):
        return True
    if verb in OUTCOMES | BIRTH:  # who won it: not who took part
        return bool(best >= (LITERAL if verb in OUTCOMES else FAINT))
    said = [label for label in labels if not elements.is_verbal[label] or similar[label] >= _ALIKE]
    best = similar[said].max(initial=0.0)
    if elements.typed:
        kinds = np.max([elements.type_labels.similarity(form) for form in forms], axis=0)
        best = max(best, kinds[[*types]].max(initial=0.0))
        ends = (one.label for one in elements.all if one.kind != HOP and one.source in types)
        own = [label for label in ends if elements.is_verbal[label]]  # the date when an order was placed
        if similar[own].max(initial=0.0) >= LITERAL:
            return True
        if best < LITERAL <= similar.max(initial=0.0) - _EXACT:
            return False
    return bool(best >= _LEAST)


def _is_own_year(name: str) -> bool:
    """Return whether an attribute is called no more than *year* or *date*: that of what has it."""
    return label_words(name) in (["year"], ["date"])


def is_winning(elements: Elements, verb: str, types: Collection[int]) -> bool:
    """Return whether a verb says that something is won, and one of the types is of what is only won: prizes."""
    is_prize = any(not _PRIZES.isdisjoint(label_words(elements.types[kind].name)) for kind in types)
    return is_prize and "win" in lemmas_of(verb).get("VERB", ())


def said_by(elements: Elements, tree: Expression) -> tuple[set[int], set[int]]:
    """Return the labels of the relations and attributes of an expression, and its types."""
    parts = list(subtrees(tree))
    names = {part for part in parts if isinstance(part, str)}
    kinds = {part.type for part in parts if isinstance(part, Nodes)}
    labels = {one.label for one in elements.all if one.name in names}
    return labels, {number for number, one in enumerate(elements.types) if one.name in kinds}
