"""Words that stand for the one amount of a type: *total donations*, of an amount each, and *30 euros an hour*."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kbkit.answers.resolve_attributes import is_number
from kbkit.english.question_words import MONEY
from kbkit.english.words import singular
from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.units import UNITS, unit_of

_SUMMED = frozenset("total combined overall average mean".split())  # noqa: SIM905
"""Words before a type of amounts."""
_AMOUNTS = frozenset("amount total value sum price cost fee".split())  # noqa: SIM905
"""Words of a number that is what a row is about."""
_OF_MONEY = frozenset(
    """
    payment donation contribution fee fine expense bill invoice refund grant salary wage deposit withdrawal cost sale
    purchase pledge gift tax tip debt loan bid budget charge subsidy bonus
    """.split()  # noqa: SIM905
)
"""Events that are amounts of money, so that *total* adds them up."""
_RATES = {
    "hour": ("hour", "hourly", "hr", "hrs", "ph"),
    "day": ("day", "daily", "pd"),
    "night": ("night", "nightly", "pn"),
    "week": ("week", "weekly", "wk", "pw"),
    "month": ("month", "monthly", "mo", "mth", "pm", "pcm"),
    "year": ("year", "yearly", "annual", "annually", "annum", "yr", "pa"),
    "person": ("person", "pp", "head", "capita"),
    "head": ("person", "pp", "head", "capita"),
    "kilo": ("kilo", "kg"),
    "kg": ("kilo", "kg"),
    "km": ("km", "kilometre", "kilometer"),
    "mile": ("mile", "mi"),
    "word": ("word", "words"),
    "page": ("page", "pages"),
}
"""What rates are for, with the words that names of columns have for it."""
_PER = frozenset(("per", "rate", "price", "cost", "fee", "pay", "wage", "salary", "rent", "charge"))
"""Words of the name of a rate, one of which is there unless it says so itself (``hourly``)."""


def with_amounts(elements: Elements, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
    """Return the links of a question with amounts for the types that are added up, and with rates."""
    found = [_added_up(elements, question, link) for link in links]
    return _with_rates(elements, question, _with_units(elements, question, found))


def _with_units(elements: Elements, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
    """Return the links with one for the unit that is asked for, the numbers in it: *how many kilos*, *total litres*."""
    words = [token.word for token in question.tokens]
    linked = {at for link in links for at in range(link.first, link.last)}
    for at, word in enumerate(words):
        is_asked = words[at - 2 : at] == ["how", "many"] or (at > 0 and words[at - 1] in _SUMMED)
        if at in linked or not is_asked or word not in UNITS:
            continue
        numbers = tuple(
            LabelOption(kind, one.name, 1.0, True)
            for kind, node_type in enumerate(elements.types)
            for one in node_type.attributes
            if is_number(one.type) and _is_in_unit(label_words(one.name), word)
        )
        if numbers:
            token = question.tokens[at]
            unit = QuestionLink(at, at + 1, question.text[token.start : token.end], numbers)
            return sorted([*links, unit], key=lambda link: link.first)
    return list(links)


def _is_in_unit(label: list[str], word: str) -> bool:
    """Return whether a number with the words of a label is in a unit: *volume_l*, in litres."""
    unit = unit_of(label)
    is_short = label[-1:] == ["l"] and len(label) > 1 and UNITS[word] == UNITS["litre"]
    return is_short or (bool(unit) and UNITS[unit] == UNITS[word])


def _added_up(elements: Elements, question: Question, link: QuestionLink) -> QuestionLink:
    """Return the only number of a type, an amount, for the type after *total* or *average*."""
    before = question.tokens[link.first - 1].word if link.first else ""
    if before not in _SUMMED or not link.labels or link.labels[0].attribute or link.labels[0].score < 1:
        return link
    if before not in ("average", "mean") and singular(link.text.casefold().split()[-1]) not in _OF_MONEY:
        return link  # total repairs: their number
    kind = link.labels[0].type
    numbers = [a for a in elements.types[kind].attributes if is_number(a.type) and not elements.is_yearly(kind, a.name)]
    if len(numbers) != 1 or not _AMOUNTS & {*label_words(numbers[0].name)}:
        return link
    return replace(link, labels=(LabelOption(kind, numbers[0].name, 1.0, True),), values=(), nodes=())


def _with_rates(elements: Elements, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
    """Return the links with one for *euros an hour*: the only rate by the hour, as the number before compares it."""
    words = [token.word for token in question.tokens]
    for link in links:
        at = link.last
        end = at + (at < len(words) and words[at] in MONEY)
        if not link.number or words[end : end + 1] not in (["a"], ["an"], ["per"]) or end + 1 >= len(words):
            continue
        rate = _rate(elements, stem(words[end + 1]))
        if rate is not None:
            text = question.text[question.tokens[at].start : question.tokens[end + 1].end]
            others = [one for one in links if one.last <= at or one.first > end + 1]
            return sorted([*others, QuestionLink(at, end + 2, text, (rate,))], key=lambda one: one.first)
    for at in range(len(words) - 2):
        is_compared = words[at] in _COMPARED and words[at + 1] in ("a", "an", "per")
        rate = _rate(elements, stem(words[at + 2])) if is_compared else None
        if rate is not None:  # who charges more per hour
            text = question.text[question.tokens[at + 1].start : question.tokens[at + 2].end]
            others = [one for one in links if one.last <= at + 1 or one.first > at + 2]
            return sorted([*others, QuestionLink(at + 1, at + 3, text, (rate,))], key=lambda one: one.first)
    return list(links)


_COMPARED = ("more", "less", "most", "least")


def _rate(elements: Elements, unit: str) -> LabelOption | None:
    """Return the only number for a unit of time or the like, by its name; None if there are none or several."""
    known = {word for name, words in _RATES.items() if stem(name) == unit for word in words}
    found = [
        LabelOption(number, attribute.name, 1.0, True)
        for number, node_type in enumerate(elements.types)
        for attribute in node_type.attributes
        if known and is_number(attribute.type) and _is_rate(attribute.name, known)
    ]
    return found[0] if len(found) == 1 else None


def _is_rate(name: str, units: set[str]) -> bool:
    """Return whether a name says what it is for: *per_hr*, *hourly rate*, *price_pp*, but not *hrs_per_week*."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", " ", name).casefold()
    parts = [part for part in re.split(r"[^a-z]+", words) if part]
    if "per" in parts[:-1]:
        return parts[parts.index("per") + 1] in units
    return any(part in units and (part.endswith("ly") or bool(_PER & {*parts})) for part in parts)
