"""The rules that read numbers that are equal to something: 4 cylinders, in two languages, fifth grade, in 2012."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import COMPARATIVES, FUNCTION_WORDS, ORDINALS, Adjective
from kbkit.english.words import may_be_verb
from kbkit.questions.clauses import BE, AskedTarget, L, N, Restriction, Rewriter, is_type
from kbkit.questions.condition_rules import NO
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.superlative_rules import whole

_OF_YEAR = Adjective(1, ("year", "season", "date", "time"))
"""What has a year that stands beside a noun: *the 2025 subscriptions*."""
_NUMBERS = rf"(?P<value>{N}(?: (?:or|and) {N})*)"


def _alone(at: Rewriter) -> None:
    """``who made only one film``, ``with a negative balance``."""

    def alone(match: re.Match[str]) -> str | None:
        label, kinds = at.link(match["label"]), re.findall(L, match.string[: match.start()])
        if not is_type(label) or not kinds or not is_type(at.link(kinds[-1])) or at.clauses.most is not None:
            return None
        verb = match["verb"]
        if verb is not None and (verb in FUNCTION_WORDS or not may_be_verb(verb)):
            return None
        at.clauses.verbs += [verb] * (verb is not None)
        return at.restrict(Restriction(label, "=", at.linked(match["value"]), operand="number"))

    def signed(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or is_type(label) or not any(option.is_number for option in label.attributes()[:1]):
            return None
        zero = QuestionLink(0, 0, match["sign"], number="0")
        return at.restrict(Restriction(label, "<" if match["sign"] == "negative" else ">", (zero,)))

    at.apply(rf"(?:with|has|have|had|having) (?:an? )?(?P<sign>negative|positive) (?P<label>{L})", signed)
    only = "(?:only|just|exactly)"
    aux = "(?:(?:that|which|who|have|has|had|with|did|do) )*"
    at.apply(rf"{aux}(?:(?P<verb>[a-z]+) )?{only} (?P<value>{N}) (?P<label>{L})", alone)  # who made only one film


def _ranked(at: Rewriter) -> None:
    """``fifth graders``, of a grade."""

    def ranked(match: re.Match[str]) -> str | None:
        label, nth = at.link(match["label"]), match["nth"]
        number = ORDINALS.get(nth) or int(nth[:-2])
        if label is None or is_type(label) or not label.labels or not label.labels[0].is_number:
            return None
        value = QuestionLink(label.first, label.last, nth, number=str(number))
        return at.restrict(Restriction(label, "=", (value,)))

    nth = rf"(?P<nth>{'|'.join(ORDINALS)}|\d+(?:st|nd|rd|th))"
    at.apply(rf"(?:in )?(?:the )?{nth} (?P<label>{L})", ranked)


def equal_numbers(at: Rewriter) -> None:
    """``4 cylinders``, ``born in 1948 or 1949``."""
    _alone(at)
    _ranked(at)

    def restricted(label: QuestionLink | None, match: re.Match[str], adjective: Adjective | None = None) -> str:
        values = at.linked(match["value"])
        op = "in" if len(values) > 1 else "="
        return at.restrict(Restriction(label, op, values, bool(match["not"]), adjective))

    def labelled(match: re.Match[str]) -> str | None:
        label, numbered = at.link(match["label"]), re.search(rf"{N} $", match.string[: match.start()])
        years = all(re.fullmatch(r"1\d{3}|20\d{2}", value.number) for value in at.linked(match["value"]))
        best = label.attributes()[0] if label is not None and label.attributes() else None
        if years and " in " in match[0] and best is not None and not (best.is_date or best.is_year):
            return None  # tickets sold in 2018, kinds of honey in 2018
        is_other = bool(numbered and re.search(" (?:in|on) ", match[0]))  # 8 cylinders in 1974
        return None if is_type(label) or is_other else restricted(label, match)

    def ahead(match: re.Match[str]) -> str | None:
        label, kind = at.link(match["label"]), at.link(match["type"])
        number = label is not None and not is_type(label) and any(one.is_number for one in label.attributes()[:1])
        return f"{match['type']} {restricted(label, match)}" if number and is_type(kind) else None  # zone 1 stations

    at.apply(rf"(?P<not>)(?P<label>{L}) (?P<value>{N}) (?P<type>{L})", ahead)

    def counted(match: re.Match[str]) -> str | None:
        label, before = at.link(match["label"]), re.findall(L, match.string[: match.start()])
        if not is_type(label) or not before or not is_type(at.link(before[-1])) or at.clauses.most is not None:
            return None
        values = at.linked(match["value"])
        if match["not"] or len(values) > 1 or values[0].unit or not values[0].number.isdigit():
            return None
        return at.restrict(Restriction(label, "=", values, operand="number"))  # in two languages

    def dated(match: re.Match[str]) -> str | None:
        values = at.linked(match["value"])
        if not all(re.fullmatch(r"(?:1\d|20)\d\d(?:-\d\d){0,2}", value.number) for value in values):
            return None
        return restricted(None, match, COMPARATIVES["after"])

    def measured(match: re.Match[str]) -> str | None:
        units = {value.unit for value in at.linked(match["value"])}
        if len(units) > 1 or "" in units:
            return None
        return restricted(None, match, Adjective(1, (units.pop(),)))  # streets that are 20 mph

    def of_year(match: re.Match[str]) -> str | None:
        values = at.linked(match["value"])
        is_year = all(re.fullmatch(r"(?:19|20)\d\d", value.number) and not value.unit for value in values)
        kind = at.link(match["type"])
        if not is_year or (kind is not None and not is_type(kind)):
            return None
        return f"{match['type'] or ''} {restricted(None, match, _OF_YEAR)}"

    at.apply(rf"(?P<not>)(?P<value>{N}) (?P<type>{L})(?! <N)", of_year)  # their 2025 subscription
    no = rf"(?P<not>{NO} )?"
    at.apply(rf"(?P<label>{L}) {BE}{no}(?:either |equal to |exactly |in |on )*{_NUMBERS}(?! <L)", labelled)
    at.apply(rf"(?P<not>not )?(?:with |has |have |having |had |exactly )*{_NUMBERS} (?P<label>{L})", labelled)
    at.apply(
        rf"(?P<not>not )?(?:with|has|have|having|had|in) (?:exactly )?{_NUMBERS} (?:different )?(?P<label>{L})", counted
    )
    at.apply(rf"{BE}(?P<not>not )?(?:exactly )?{_NUMBERS}(?! <L)", measured)
    at.apply(
        rf"(?P<not>not )?(?:either )?(?:in|on|during|of|from) (?:the )?(?:year )?(?:of )?(?:either )?{_NUMBERS}", dated
    )
    at.apply(
        rf"(?P<not>)(?P<type>)(?:for (?:the year )?)?(?P<value>{N})(?= (?:$|and|<C|<L|in total|altogether|overall))",
        of_year,
    )


def numbers_left(at: Rewriter) -> None:
    """``the 3 stadiums with the lowest attendance``, ``how many points in total``."""
    clauses = at.clauses

    def few(match: re.Match[str]) -> str | None:
        number = at.link(match["number"])
        if clauses.most is None or clauses.most.count > 1 or number is None or not is_type(at.link(match["type"])):
            return None
        clauses.most = replace(clauses.most, count=whole(number))
        return match["type"]

    at.apply(rf"(?P<number>{N}) (?P<type>{L})", few)
    for number, target in enumerate(clauses.targets):
        if " in total " in at.text and target.total == "count":
            if not is_type(target.label):
                clauses.targets[number] = replace(target, total="sum")
            at.text = at.text.replace(" in total ", " ")
    if re.search(" how many | number of | number <C|^ count ", at.text):
        is_noun = re.search(r"(?: how many| number(?: of)?|^ count) (?:the )?<C\d+> ", at.text)
        values = [value for one in clauses.restrictions for value in one.values]
        named = not all(value.values for value in values)
        if clauses.targets or clauses.context or not values or named or not is_noun:
            clauses.unread.append("what is counted")
        else:  # count the organizers
            clauses.targets.append(AskedTarget(None, "count"))
