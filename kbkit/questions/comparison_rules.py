"""The rules that read comparisons with numbers, averages and prices: *longer than 300 km*, *between 5 and 6 kg*."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import COMPARATIVES, FUNCTION_WORDS, MONEY, PRICES, Adjective
from kbkit.english.words import is_plural, may_be_verb, singular
from kbkit.questions.clauses import BE, OF, L, N, Restriction, Rewriter, V, is_type
from kbkit.questions.condition_rules import (
    ADJECTIVE,
    LESS,
    MORE,
    OPS,
    OWNING,
    UP,
    comparative,
    is_owned,
    is_state,
    operator_of,
)
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink

_AVERAGE = r"(?:the |an )?(?:overall )?(?:average|mean)"
_CAPACITIES = ("capacity", "seats", "guests")
"""Nouns for how many people there is room for."""
_ORDINAL = ("season", "episode", "round", "grade", "level", "series", "chapter", "year", "week", "version")
"""Columns whose numbers say which one it is, and not how many."""
_OR_MORE = rf"(?:or|and) (?:{UP}|less|fewer|below|lower|under|younger|earlier|shorter)"
_PEOPLE = ("people", "persons", "guests", "visitors", "participants", "attendees")
_TIMES = {"once": "1", "twice": "2"}


def averages(at: Rewriter) -> None:
    """``weight below the average``, ``older than the average age of all``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["after"] or match["before"])
        adjective = comparative(match["op"])
        op = (">" if adjective.sign > 0 else "<") if adjective else operator_of(match["op"])
        tail = ""
        if adjective is not None and is_type(label) and not match["after"]:
            label, tail = None, match["before"] or ""  # lakes deeper than the average
        if match["after"] and is_type(at.link(match["before"])):
            tail = match["before"]  # payments above the average amount
        if label is None and adjective is None:
            return None
        return f"{tail} {at.restrict(Restriction(label, op, (), False, adjective, 'avg'))}"

    def amount(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or is_type(label):
            return None
        op = operator_of(f"{match['op']} than")
        return at.restrict(Restriction(label, op, (), False, None, "avg"))  # that sold more tickets than average

    def again(match: re.Match[str]) -> str | None:
        first, last = at.link(match["type"]), at.link(match["again"])
        is_same = is_type(first) and is_type(last) and first and last and first.labels[:1] == last.labels[:1]
        return match[0].rpartition(" ")[0] if is_same else None  # teachers who earn more than the average teacher

    def among(match: re.Match[str]) -> str | None:
        """``prints worth more than the average print``, of a value: the average of those that have it."""
        first, last, label = at.link(match["value"]), at.link(match["again"]), at.link(match["label"])
        adjective = comparative(match["op"])
        if not first or not last or not first.values or first.values != last.values or is_type(label):
            return None
        op = (">" if adjective.sign > 0 else "<") if adjective else operator_of(match["op"])
        if label is None and adjective is None:
            return None
        return f"{match['value']} {at.restrict(Restriction(label, op, (last,), False, adjective, 'avg'))}"

    at.apply(
        rf"(?P<value>{V}) {BE}(?:(?P<label>{L}) )?{BE}(?P<op>{OPS}|(?:{ADJECTIVE}) than) (?:that of )?{_AVERAGE} "
        rf"(?P<again>{V})(?= $)",
        among,
    )
    at.apply(rf"(?P<type>{L}) (?:(?!<L)\S+ |<L\d+> )*than {_AVERAGE} (?P<again>{L})(?= $)", again)
    at.apply(rf"(?:(?:that|which|who) )?(?:<L\d+> )?(?P<op>{MORE}|{LESS}) (?P<label>{L}) than {_AVERAGE}", amount)
    op = rf"(?:for )?(?P<op>{OPS}|(?:{ADJECTIVE}) than)"
    tail = rf"(?:{OF} <L\d+>)?"
    at.apply(rf"(?:(?P<before>{L}) )?{BE}{op} (?:that of )?{_AVERAGE}(?: (?P<after>{L}){tail})?", use)


def ranges(at: Rewriter) -> None:
    """``between 1990 and 2000``, ``at least 3 and at most 5``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["before"] or match["after"])
        low, high = at.linked(match["low"])[0], at.linked(match["high"])[0]
        pair = (replace(low, unit=low.unit or high.unit), high)  # between 5 and 6 kg
        if is_type(at.link(match["before"])) and all(one.may_be_date for one in pair):
            return f"{match['before']} {at.restrict(Restriction(None, 'between', pair, False, COMPARATIVES['after']))}"
        unit = PRICES if match["money"] else (pair[0].unit,) if pair[0].unit else ()
        if unit and (label is None or is_type(label)):
            sign = at.restrict(Restriction(None, "between", pair, False, Adjective(1, unit)))
            return f"{match['before'] or ''} {sign}"  # boats between 6 and 8 m
        return at.restrict(Restriction(label, "between", pair, False, None if label else COMPARATIVES["after"]))

    money = f"(?: (?:{'|'.join(MONEY)}))?"
    at.apply(
        rf"(?:(?P<before>{L}) )?{BE}(?:in the range )?(?:between|from) (?P<low>{N}){money} (?:and|to) (?P<high>{N})"
        rf"(?P<money>{money})(?: (?P<after>{L}))?",
        use,
    )

    def both(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        first = at.restrict(Restriction(label, operator_of(match["one"]), at.linked(match["low"])))
        return f"{first} {at.restrict(Restriction(label, operator_of(match['two']), at.linked(match['high'])))}"

    range_ = rf"(?P<label>{L}) {BE}(?P<one>{OPS}) (?P<low>{N}) (?:and|but) {BE}(?P<two>{OPS}) (?P<high>{N})"
    at.apply(rf"{range_}(?! {L})", both)  # but: joined before 2021 and have more than 1 pot


def prices(at: Rewriter) -> None:
    """``rooms for under 100``, ``over 200 dollars``: of what something costs."""

    def money(match: re.Match[str]) -> str:
        price = Adjective(1, PRICES)
        return at.restrict(Restriction(None, operator_of(match["op"] or ""), at.linked(match["number"]), False, price))

    def typed(match: re.Match[str]) -> str | None:
        is_named = match["type"][1] != "L" or is_type(at.link(match["type"]))
        return f"{match['type']} {money(match)}" if is_named else None  # not: herbs that sell for over 20

    def holding(match: re.Match[str]) -> str | None:
        kind, noun = at.link(match["type"]), at.link(match["people"])
        if not is_type(kind) or (noun is not None and noun.text.casefold() not in _PEOPLE):
            return None
        seats = Adjective(1, _CAPACITIES)
        sign = Restriction(None, operator_of(match["op"] or "at least"), at.linked(match["number"]), False, seats)
        return f"{match['type']} {at.restrict(sign)}"

    people = rf"(?:{'|'.join(_PEOPLE)}|(?P<people>{L}))"
    at.apply(
        rf"(?P<type>{L}) (?:big enough |suitable |good |large enough )?for (?:(?P<op>{OPS}) )?(?P<number>{N}) {people}",
        holding,
    )
    at.apply(rf"{BE}(?:for |on |cost |costs |costing )?(?:(?P<op>{OPS}) )?(?P<number>{N}) (?:{'|'.join(MONEY)})", money)
    at.apply(rf"(?P<type>{L}|{V}|<C\d+>) (?:for|costing) (?P<op>{OPS}) (?P<number>{N})(?! <L)", typed)


def _is_no_comparison(match: re.Match[str], before: QuestionLink | None, after: QuestionLink | None) -> bool:
    """Return whether the labels around a comparison are of other clauses."""
    if (
        after is not None
        and not is_type(after)
        and (re.search(rf" (?:in|on) (?:\w+ )?{L}$", match[0]) or match["held"])
    ):
        return True
    if after is None and is_type(before) and re.search(" (?:with|have|has|had|having) ", match[0]):
        return True  # drivers with more than 3
    is_time = before is None and match["op"] in ("from", "since", "after", "before", "until")
    if after is not None and is_time and re.match(rf" {BE}(?:{OPS}) {N} ", match.string[match.end() :]):
        return True  # films of 2012 rated above 7
    return match["op"] == "from" and all(link is None or is_type(link) for link in (before, after))  # films from 2015


def _counts_values(after: QuestionLink) -> bool:
    """Return whether a number counts the values of a column that is called by a singular: *more than 3 seasons*."""
    option = after.labels[0]
    last = label_words(option.attribute)[-1:] if option.attribute not in ("", "name", "key") else []
    is_plural_noun = is_plural(after.text.casefold()) and bool(last) and last[0] == singular(after.text.casefold())
    return is_plural_noun and last[0] in _ORDINAL


def _is_rate(before: QuestionLink, after: QuestionLink) -> bool:
    """Return whether the label after a number names the attribute, and the one before it is only akin to another."""
    is_number = not is_type(after) and any(option.is_number for option in after.attributes()[:1])
    return is_number and not is_type(before) and before.labels[0].score < OWNING <= after.labels[0].score


def _expired(at: Rewriter) -> None:
    """``laptops whose warranty ended before 2022``."""

    def expired(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        dates = tuple(o for o in label.attributes() if o.is_year) if label is not None and not is_type(label) else ()
        if label is None or not dates or not may_be_verb(match["verb"]):
            return None
        op = operator_of(match["op"])
        return at.restrict(Restriction(replace(label, labels=dates), op, at.linked(match["number"])))

    dated = "(?P<op>before|after|since|until|in|on)"
    at.apply(rf"whose (?P<label>{L}) (?P<verb>[a-z]+) {dated} (?P<number>{N})", expired)  # whose warranty ended before


def _compared(at: Rewriter, match: re.Match[str]) -> tuple[QuestionLink | None, str]:
    """Return which of the labels around a comparison is compared, and the text that stays of the other."""
    before, after = at.link(match["before"]), at.link(match["after"])
    if before is None:
        return after, ""
    if is_participle(before.text) and not is_type(before) and is_type(after):
        if not before.labels[0].is_year:  # skippered more than 5 outings, of their skipper_no
            at.clauses.unread.append(f"'{before.text}'")
        return after, ""  # collected more than 15 samples
    if after is not None and _is_rate(before, after):
        return after, ""  # cost less than 400 a night, of a hire_per_night
    if after is None or any(option.is_number for option in before.attributes()):
        return before, match["after"] or ""
    return after, match["before"]


def _limit(match: re.Match[str]) -> tuple[str, Adjective | None]:
    """Return the operator of a comparison, and its adjective if it has one."""
    adjective, op = comparative(match["op"]), operator_of(match["op"])
    if match["or"]:
        op = ">=" if re.search(UP, match["or"]) else "<="
    elif adjective and op == "=":
        op = ">" if adjective.sign > 0 else "<"
    return op, adjective


def _whose(at: Rewriter) -> None:
    """``whose licence expires before 2026``: of the column that is named."""

    def use(match: re.Match[str]) -> str | None:
        label, same = at.link(match["label"]), at.link(match["same"])
        is_date = label is not None and not is_type(label) and any(o.is_date for o in label.attributes()[:1])
        is_said = same is None or (label is not None and same.labels[0].attribute == label.labels[0].attribute)
        return f"{match['whose']} {match['label']} {match['rest']}" if is_date and is_said else None

    verb = r"(?:(?:had|has|have|will|would|is|are|was|were|been|due|up|to) )*[a-z]+(?:s|ed|e|t)"
    said = rf"(?:{verb}|(?:(?:had|has|have|will|is|was) )?(?P<same>{L}))"
    rest = rf"(?P<rest>(?:{OPS}) {N})"
    at.apply(rf"(?P<whose>(?:where|whose)(?: the)?) (?P<label>{L}) {said} {rest}", use)


def comparisons(at: Rewriter) -> None:
    """``more than 4 cylinders``, ``longer than 300 km``, ``3 or more``."""
    _whose(at)
    _expired(at)
    _with_number(at)
    _with_more(at)


def _with_number(at: Rewriter) -> None:
    """``more than 4 cylinders``, ``longer than 300 km``."""

    def use(match: re.Match[str]) -> str | None:
        before, after = at.link(match["before"]), at.link(match["after"])
        op, adjective = _limit(match)
        if _is_no_comparison(match, before, after) or match.string[match.end() :].startswith(" times "):
            return None
        if after is not None and _counts_values(after):
            at.clauses.unread.append(f"how many {after.text}")
            return None
        label, tail = _compared(at, match)
        unit = at.linked(match["number"])[0].unit
        if unit and is_type(label) and label is before:
            tail, label, adjective = match["before"], None, Adjective(1, (unit,))  # rides over 50 km
        if label is None and adjective is None and unit:
            adjective = Adjective(1, (unit,))  # volcanoes above 5000 m
        if label is None and adjective is None:
            return None
        if adjective and is_type(label) and match["before"]:
            tail, label = match["before"], None
        if before is not None and label is before and " of " in before.text and not is_owned(match):
            tail = f"{match['before']} {tail}"  # show the amount of the payments over 100
        sign = at.restrict(Restriction(label, op, at.linked(match["number"]), False, adjective))
        is_group = bool(re.search(r" (?:each|every|per|by) $", match.string[: match.start()]))
        if before is not None and label is before and is_group:
            tail = f"{match['before']} {tail}"  # films each year since 2010
        return f"{tail} {match['held'] or ''} {sign}"

    number = rf"(?P<number>{N})(?P<or> {_OR_MORE})?"
    of = r"(?: (?:different |distinct |of the |of |(?:in|on) (?:the |their |his |her |its )?)*(?P<held>(?:<[CV]\d+> )*)"
    of += rf"(?P<after>{L}))?"
    at.apply(
        rf"(?:(?P<before>{L}) )?{BE}(?:for )?(?P<op>{OPS}|(?:{ADJECTIVE})(?: than)?) (?:the )?(?:year )?{number}{of}",
        use,
    )


def _with_more(at: Rewriter) -> None:
    """``3 or more``, ``in 2023 or later``."""

    def plain(match: re.Match[str]) -> str | None:
        op = ">=" if re.search(UP, match["or"]) else "<="
        label, number = at.link(match["after"] or match["before"]), at.linked(match["number"])
        is_year = bool(re.fullmatch(r"1\d{3}|20\d{2}", number[0].number))
        if label is None:
            return at.restrict(Restriction(None, op, number, False, COMPARATIVES["after"])) if is_year else None
        tail = match["before"] if match["after"] and is_type(at.link(match["before"])) else ""
        return f"{tail or ''} {at.restrict(Restriction(label, op, number))}"

    def dated(match: re.Match[str]) -> str | None:
        label = at.link(match["before"])
        is_date = label is not None and not is_type(label) and label.labels[0].is_year
        return plain(match) if is_date else None  # hired in 2020 or later

    at.apply(rf"(?P<before>{L}) (?:in|from) (?P<number>{N}) (?P<or>{_OR_MORE})(?P<after>)", dated)
    at.apply(rf"(?P<before>){BE}(?P<number>{N}) (?P<after>{L}) (?P<or>{_OR_MORE})", plain)
    at.apply(rf"(?:(?P<before>{L}) )?{BE}(?P<number>{N}) (?P<or>{_OR_MORE})(?: (?P<after>{L}))?", plain)


def verbs(at: Rewriter) -> None:
    """``earn more than 30000``, ``weighing over 3500``: of the number that the verb is about."""

    def use(match: re.Match[str]) -> str | None:
        if match["verb"] in FUNCTION_WORDS or not at.linked(match["number"]):
            return None
        op = operator_of(match["op"])
        adjective = Adjective(1, (match["verb"],))
        return None if op == "=" else at.restrict(Restriction(None, op, at.linked(match["number"]), False, adjective))

    def often(match: re.Match[str]) -> str | None:
        verb, written, label = match["verb"], match["number"], at.link(match["label"])
        number = QuestionLink(0, 0, written, number=_TIMES[written]) if written in _TIMES else at.link(written)
        if number is None:
            return None
        if label is not None:  # purchased more than once
            if is_state(label):  # elected more than once, of results that say so
                kind = replace(label, labels=(LabelOption(label.labels[0].type),))
                often = at.restrict(Restriction(kind, operator_of(match["op"] or ""), (number,)))
                return f"{at.restrict(Restriction(label, 'holds'))} {often}"
            is_counted = is_type(label) and is_participle(label.text)
            return at.restrict(Restriction(label, operator_of(match["op"] or ""), (number,))) if is_counted else None
        if verb in FUNCTION_WORDS or not may_be_verb(verb):
            return None
        before = [link for link in map(at.link, re.findall(L, match.string[: match.start()])) if is_type(link)]
        if not before:
            return None
        at.clauses.verbs.append(verb)
        return at.restrict(Restriction(before[-1], operator_of(match["op"] or ""), (number,), operand="times"))

    aux = "(?:(?:that|which|who|has|have|had|is|are|was|were|been|ever|got|get) )*"
    times = rf"(?P<number>{N}(?= times)|once|twice)(?: times)?"
    at.apply(rf"{aux}(?:(?P<label>{L})|(?P<verb>[a-z]+)) (?P<op>{OPS}|exactly)? ?{times}", often)
    at.apply(rf"(?P<verb>[a-z]+) (?P<op>{OPS}) (?P<number>{N})", use)
