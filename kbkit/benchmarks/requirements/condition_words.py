"""Conditions on attributes in words: *a height of at least 5,000 m*, *a height of 5,000 m or more*."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kbkit import english
from kbkit.answers import syntax
from kbkit.english.attributes import attribute_words, located
from kbkit.english.categories import KINDS, flag_verb, kind_noun
from kbkit.english.frames import frame_file
from kbkit.english.verbs import GRADES
from kbkit.schema import Attribute

_AMOUNT = {
    True: ("at least {}", "{} or more"),
    False: ("at most {}", "{} or less", "no more than {}"),
}
"""Lower and upper bounds of an amount."""
_COUNT = {
    True: ("at least {}", "{} or more"),
    False: ("at most {}", "{} or fewer", "no more than {}"),
}
"""Lower and upper bounds of a number of things."""
_OVER = {True: ("over {}", "more than {}"), False: ("under {}", "less than {}")}
"""Bounds that an amount does not reach, where none of the candidates equals the bound."""
_MORE = {True: ("more than {}",), False: ("fewer than {}",)}
"""The same for a number of things."""
ADJECTIVES = {
    "height": "high", "elevation": "high", "length": "long", "duration": "long", "maximum depth": "deep",
    "depth": "deep", "width": "wide",
}  # fmt: skip
_VERBS = {"duration": "last", "score": "score", "area": "cover"}
"""Words for a measure: the adjective after an amount (*5,000 m high*), and the verb before it (*lasts 90 minutes*)."""


POPULATION = "population"
_LARGER = {True: "larger than {}", False: "smaller than {}"}
"""Words for an area beyond a bound."""
_ROUND_YEARS = 5
_ISSUED = {
    "released": ("album", "film", "movie", "song"), "published": ("article", "book", "novel", "paper", "publication"),
}  # fmt: skip
"""What happened to works in their year."""
_HOME = "headquarters"
_GROUPS = frozenset(("family", "genre", "series"))
"""Nouns of groups that things belong to."""


class ConditionWords(NamedTuple):
    """A condition in words, as a predicate of one and of several things (``has a height of at least 5,000 m``).

    ``whose`` or ``modifier`` follow a noun (``color is 'red'``; ``with a height of at least 5,000 m``).
    ``noun`` is what things that meet the condition are called: *strait*. ``before`` precedes the noun: *radioactive*.
    """

    one: str
    several: str
    whose: str = ""
    modifier: str = ""
    noun: str = ""
    before: str = ""


@dataclass(frozen=True)
class WordedCondition:
    """A test of an ``attribute``, a condition of the answer algebra (``height_m >= 5000``), in several ``wordings``.

    ``is_bound``: it compares a number; ``is_date``: a year.
    """

    attribute: str
    test: str
    wordings: tuple[ConditionWords, ...]
    is_bound: bool = False
    is_date: bool = False


def between(
    attribute: Attribute, low: float, high: float, *, are_years: bool, without_bound: bool = False, things: str = ""
) -> WordedCondition:
    """Return the condition that an attribute is from ``low`` to ``high``, one of which may be infinite.

    ``things``: the noun of what has it; a movie's year is that in which it was released.

    ``without_bound``: amounts equal to the bound do not meet it.
    """
    name = syntax.identifier(attribute.name)
    bounds = [(">" if without_bound else ">=", low)] if math.isfinite(low) else []
    bounds += [("<" if without_bound else "<=", high)] if math.isfinite(high) else []
    test = ", ".join(f"{name} {op} {_literal(bound)}" for op, bound in bounds)
    if are_years:
        return WordedCondition(attribute.name, test, _years(attribute, low, high, things), is_bound=True, is_date=True)
    noun, unit = _noun_and_unit(attribute)
    if are_people := noun == POPULATION and not unit:
        noun = "inhabitants"
    is_least = math.isfinite(low)
    number = _number(low if is_least else high)
    if english.is_plural(noun) and not unit:  # at least 2,000 votes
        amounts = [f"{bound.format(number)} {noun}" for bound in (_MORE if without_bound else _COUNT)[is_least]]
        wordings = [_having(amount) for amount in amounts]
        if are_people:  # with over 5 million people
            wordings += [_having(amount.replace(noun, "people")) for amount in amounts]
        return WordedCondition(attribute.name, test, tuple(wordings), is_bound=True)
    value = " ".join(filter(None, (number, unit)))
    said = (_OVER if without_bound else _AMOUNT)[is_least]
    amounts = [english.with_article(f"{noun} of {bound.format(value)}") for bound in said]
    measured = _measured(noun, value, said)
    return WordedCondition(attribute.name, test, tuple(measured or map(_having, amounts)), is_bound=True)


def _measured(noun: str, value: str, bounds: Sequence[str]) -> list[ConditionWords]:
    """Return *is at least 5,000 m high* and *lasts up to 90 minutes*; nothing for a noun without such words."""
    words = []
    if adjective := ADJECTIVES.get(noun):
        said = [f"{bound.format(value)} {adjective}" for bound in bounds if bound.endswith("{}")]
        for known, sides in _OVER.items():
            if bounds == sides:  # longer than 90 minutes
                more = frame_file("tables")["adjectives"][noun][1 if known else 2]
                said = [said[0], *[f"{more} than {value}"] * 2]
        words += [ConditionWords(f"is {text}", f"are {text}", modifier=text) for text in said]
    if noun == "area" and bounds in _OVER.values():  # larger than 5,000 km²
        larger = _LARGER[bounds == _OVER[True]].format(value)
        words += [ConditionWords(f"is {larger}", f"are {larger}", modifier=larger)] * 2
    if verb := _VERBS.get(noun):
        for bound in bounds:
            text = bound.format(value)
            during = f"{english.inflections(verb, 'VBG')[0]} {text}"
            words.append(ConditionWords(f"{english.inflections(verb, 'VBZ')[0]} {text}", f"{verb} {text}",
                                        modifier=during))  # fmt: skip
    return words


def _having(amount: str) -> ConditionWords:
    return ConditionWords(f"has {amount}", f"have {amount}", modifier=f"with {amount}")


def _years(attribute: Attribute, low: float, high: float, things: str) -> tuple[ConditionWords, ...]:
    first, last = (f"{bound:.0f}" if math.isfinite(bound) else "" for bound in (low, high))
    noun, _ = _noun_and_unit(attribute)
    is_participle = english.is_participle(noun)
    if not last:
        spans = [f"{first} or later", f"{first} onwards" if not is_participle else f"after {low - 1:.0f}"]
    elif not first:
        is_round = (high + 1) % _ROUND_YEARS == 0
        spans = [f"before {high + 1:.0f}", *([] if is_round else [f"{last} or earlier"])]
    elif high == low + 9 and low % 10 == 0 and low % 100:
        spans = [f"the {first}s"]
    elif high == low + 1:
        spans = [f"{first} or {last}"]
    else:
        spans = [f"between {first} and {last}"] if is_participle else [f"{first}–{last}", f"{first} to {last}"]
    if is_participle:
        during = [f"{noun} {'' if span.startswith(('after', 'before', 'between')) else 'in '}{span}" for span in spans]
        return tuple(ConditionWords(f"was {when}", f"were {when}", modifier=when) for when in during)
    if noun == "year":
        words = [ConditionWords(f"is from {s}", f"are from {s}", modifier=f"from {s}") for s in spans]
        if issued := next((verb for verb, works in _ISSUED.items() if things.rpartition(" ")[2] in works), ""):
            when = [span if span.startswith("before") else f"in {span}" for span in spans]
            is_range = first and last and high > low + 1 and spans[0][:3] != "the"
            when = [f"between {first} and {last}"] if is_range else when
            words += [ConditionWords(f"was {issued} {s}", f"were {issued} {s}", modifier=f"{issued} {s}") for s in when]
        decade = spans[0].removeprefix("the ") if spans[0].startswith("the ") else ""
        decade = decade or (f"pre-{high + 1:.0f}" if not first else "")
        words += [ConditionWords(f"is from {spans[0]}", f"are from {spans[0]}", before=decade)] if decade else []
        return tuple(words)
    if first and last and spans[0][:3] != "the":
        spans = [f"{first} or {last}" if high == low + 1 else f"between {first} and {last}"]
    joints = {"the": "in", "before": "", "after": "", "between": ""}
    said = [f"{joints.get(span.partition(' ')[0], 'of')} {span}".strip() for span in spans]
    return tuple(_having(english.with_article(f"{noun} {when}")) for when in said)


def equal(attribute: Attribute, value: str) -> WordedCondition:
    """Return the condition that a text attribute has a value."""
    noun, _ = _noun_and_unit(attribute)
    test, text = (
        str(syntax.Condition(attribute.name, "=", (value,))),
        value if value[:1].isupper() else english.quoted(value),
    )
    said = value if value.isalpha() else text
    if kind := kind_noun(attribute.label or attribute.name, value):
        words = ConditionWords(f"is {english.with_article(kind)}", f"are {english.plural(kind)}", noun=kind)
        return WordedCondition(attribute.name, test, (words,))
    if noun.casefold() == "location":
        words = ConditionWords(f"is in {text}", f"are in {text}", modifier=f"in {text}")
        return WordedCondition(attribute.name, test, (words,))
    if noun.casefold() in _GROUPS and value[:1].isupper():  # of the Indo-European family
        words = ConditionWords(
            f"belongs to the {value} {noun}", f"belong to the {value} {noun}", modifier=f"of the {value} {noun}"
        )
        return WordedCondition(attribute.name, test, (words,))
    if be := located(noun):
        words = ConditionWords(
            f"has its {noun} in {text}", f"have their {noun} in {text}", whose=f"{noun} {be} in {text}"
        )
        based = ConditionWords(f"is based in {text}", f"are based in {text}", modifier=f"based in {text}")
        return WordedCondition(attribute.name, test, (words, *[based] * (noun.casefold() == _HOME)))
    if noun.rpartition(" ")[2] in GRADES | KINDS:  # the UN status 'observer'
        words = ConditionWords(f"has the {noun} {text}", f"have the {noun} {text}", whose=f"{noun} is {said}")
        return WordedCondition(attribute.name, test, (words,))
    words = ConditionWords(f"has {text} as its {noun}", f"have {text} as their {noun}", whose=f"{noun} is {said}")
    return WordedCondition(attribute.name, test, (words,))


def flag(attribute: Attribute, value: bool | int) -> WordedCondition:  # the value is what it is about
    """Return the condition that an attribute such as *is_radioactive* has a value, in words that follow a noun."""
    words = english.VerbPhrase(flag_verb(attribute.label or attribute.name))
    first, _, rest = words.singular.partition(" ")
    test = str(syntax.Condition(attribute.name, "=", (value,)))
    one, several = words.singular, words.plural
    if not value:
        one, several = words.negated(is_plural=False), words.negated(is_plural=True)
    is_adjective = bool(value) and first == "is" and set(english.lemmas_of(rest)) == {"ADJ"}
    return WordedCondition(attribute.name, test, (ConditionWords(one, several, before=rest if is_adjective else ""),))


def _number(value: float) -> str:
    for word, size in (("billion", 1e9), ("million", 1e6)):
        if abs(value) >= size and round(value / size, 2) == value / size:
            return f"{value / size:.10g} {word}"
    return f"{int(value):,}" if value == int(value) else f"{value:,.10g}"


def _literal(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _noun_and_unit(attribute: Attribute) -> tuple[str, str]:
    """Return an attribute as a noun, and its unit; of an attribute that counts, what it counts."""
    words = attribute_words(attribute)
    return words.counts or words.noun, words.unit.symbol if words.unit else ""
