"""The numbers that a word means which no label has: what *revenue* adds up, and the pay of the *average* salary."""

from __future__ import annotations

from kbkit.answers.resolve_attributes import is_number
from kbkit.english.question_words import MONEY_WORDS, PRICES_OF_ONE
from kbkit.questions.element_lists import VALUE, numeric
from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.products import takings_of
from kbkit.questions.units import is_other_unit

_SPENT = frozenset("cost costs spend spent budget expense expenses".split())  # noqa: SIM905
"""Words of money that is rather spent than taken."""
_TAKINGS = 0.75
"""Score of the only amount of money of a type for what is taken."""
_MEASURED, _APART = 0.5, 0.1
"""Least similarity of a word and a number that it must mean, and how much less similar the others are."""


def takings(elements: Elements) -> tuple[LabelOption, ...]:
    """Return the amounts of money of types that have one each, which *revenue* and *income* are sums of."""
    amounts: list[LabelOption] = []
    for kind, node_type in enumerate(elements.types):
        own = [one.name for one in node_type.attributes if is_number(one.type) and _is_amount(one.name)]
        product = takings_of(elements, kind)
        own = own if product is None else [product.dates[1]]
        amounts += [LabelOption(kind, name, _TAKINGS, True) for name in own if len(own) == 1]
    taken = tuple(one for one in amounts if _SPENT.isdisjoint(label_words(one.attribute)))
    return taken or tuple(amounts)


def similar_number(elements: Elements, word: str) -> tuple[LabelOption, ...]:
    """Return the number that a word after *average* or *highest* may mean, if only one fits: pay, of salaries."""
    similar = elements.labels.similarity(word)
    known = {(kind, a.name) for kind, one in enumerate(elements.types) for a in one.attributes if numeric(a.type)}
    numbers = [e for e in elements.all if e.kind == VALUE and (e.source, e.name) in known]
    numbers = [e for e in numbers if not is_other_unit(word, label_words(e.name))]
    ranked = sorted(((float(similar[e.label]), e) for e in numbers), key=lambda pair: -pair[0])
    others = [score for score, e in ranked[1:] if e.label != ranked[0][1].label]
    if not ranked or ranked[0][0] < _MEASURED or ranked[0][0] - max(others, default=0.0) < _APART:
        return ()
    return tuple(LabelOption(e.source, e.name, s, True) for s, e in ranked if e.label == ranked[0][1].label)


def _is_amount(name: str) -> bool:
    """Return whether an attribute is called as an amount of money, and as no price of one piece."""
    words = {*label_words(name)}
    return not MONEY_WORDS.isdisjoint(words) and PRICES_OF_ONE.isdisjoint(words)
