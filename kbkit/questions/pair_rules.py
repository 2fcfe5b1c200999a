"""Conditions that compare two attributes of a node: *delivered after the promised date*, *price below the cost*."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product

from kbkit.answers.resolve_attributes import is_comparable
from kbkit.answers.syntax import Aggregate, Comparison, Nodes, OtherAttribute, ValueColumn
from kbkit.english.question_words import FUNCTION_WORDS, PLAIN_WORDS, PRICES
from kbkit.questions.attribute_tests import ConditionPart
from kbkit.questions.clauses import BE, L, Restriction, Rewriter, V, is_type
from kbkit.questions.label_option import LabelOption
from kbkit.questions.late_links import LATENESS
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import is_participle
from kbkit.questions.measure_rules import MeasureTests
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.ways import NotReadError

_MORE = "more|greater|larger|bigger|higher"
_LESS = "less|fewer|smaller|lower|cheaper"
_TIMES = {
    "(?:no|not) later than|not after|on or before": "<=",
    "(?:no|not) (?:earlier|sooner) than|not before|on or after": ">=",
    "after|later than|past": ">",
    "before|earlier than|sooner than|prior to|ahead of": "<",
    "on the same (?:day|date) as": "=",
}
"""Comparisons of dates, in the order in which they are tried."""
_NUMBERS = {
    rf"(?:no|not) (?:{_LESS}) than|at least|not (?:below|under)": ">=",
    rf"(?:no|not) (?:{_MORE}) than|at most|not (?:above|over)|(?:do|does|did|don|doesn|didn) (?:not|t) exceed": "<=",
    rf"(?:{_MORE}) than|over|above|exceed(?:s|ed|ing)?|in excess of|beyond|surpass(?:es|ed|ing)?": ">",
    rf"(?:{_LESS}) than|under|below": "<",
}
_SAME = {
    "not (?:equal|identical) to|not the same as|unequal to|differ(?:s|ed|ing)? from|different (?:from|to|than)": "!=",
    "(?:do|does|did|don|doesn|didn) (?:not|t) (?:equal|match)": "!=",
    "equals?|equal to|(?:exactly )?the same as|same as|identical to|match(?:es|ed|ing)?": "=",
}
_OPERATORS = {
    **{words: (op, "times") for words, op in _TIMES.items()},
    **{words: (op, "numbers") for words, op in _NUMBERS.items()},
    **{words: (op, "values") for words, op in _SAME.items()},
}
_OP = "|".join(f"(?:{words})" for words in _OPERATORS)
_THAN = rf"{_MORE}|{_LESS}|later|earlier"
_ITS = (
    r"(?:(?:the|its|their|his|her|originally|initially|it|they|he|she|was|were|is|are|had|been|for|number of|"
    r"amount of) )*(?P<limit>(?:max|min)(?:imum)? )?"
)
"""Words between a comparison and the second attribute: *after they were due*."""
_OWN = (
    r"(?:(?:whose|where|when|with|having|that|which|who|in|for|at|have|has|had|a|an|the|their|its|is|are|was|were|been|"
    r"being|do|does|did|(?:number|amount) of) )*"
)
"""Words before the first attribute."""
_SOLD = "sell|sells|sold|selling"
_DAY = re.compile(r"\b(?:date|day|due|deadline)\b")
_DONE_AND_DUE = 2
"""Dates of what is late."""
_DENIED = ("not", "never", "t", "no", "without")


@dataclass(frozen=True)
class PairRestriction(Restriction):
    """A comparison of what ``label`` names with what ``other`` names, both of which the same nodes have.

    ``compared`` is the kind of the comparison: times, numbers or any values. With ``counted``, a type whose nodes are
    counted, or with ``is_price``, as the price of the nodes is compared, ``label`` is ``other`` itself.
    """

    other: QuestionLink | None = None
    compared: str = "values"
    counted: QuestionLink | None = None
    is_price: bool = False
    total: str = ""
    """``avg`` if the values of ``label`` compare with the average of ``other``."""


def pairs(at: Rewriter) -> None:
    """``tickets resolved after their due date``, ``a higher weekend price than weekday price``."""
    _late(at)

    def between(match: re.Match[str]) -> str | None:
        return _restricted(at, match, *_operator(match["op"]))

    def than(match: re.Match[str]) -> str | None:
        return _restricted(at, match, *_operator(f"{match['than']} than"))

    def as_many(match: re.Match[str]) -> str | None:
        op = {"at least": ">=", "at most": "<="}.get(match["least"] or "", "=")
        return _restricted(at, match, op, "numbers")

    def average(match: re.Match[str]) -> str | None:
        mine, other = at.link(match["mine"]), at.link(match["other"])
        if mine is None or other is None or not mine.attributes() or not other.attributes():
            return None
        best = mine.attributes()[0], other.attributes()[0]
        if best[0] == best[1] or not (best[0].is_number and best[1].is_number):
            return None  # weight below the average weight
        return _restricted(at, match, *_operator(match["op"]), total="avg")

    def on_day(match: re.Match[str]) -> str | None:
        mine, other = at.link(match["mine"]), at.link(match["other"])
        if mine is None or other is None or not is_participle(mine.text) or not _DAY.search(other.text.casefold()):
            return None
        is_day = _is_date(mine) and _is_date(other)  # not: delivered by the courier
        return _restricted(at, match, "=" if match["op"] == "on" else "<=", "times") if is_day else None

    def sold(match: re.Match[str]) -> str | None:
        other = at.link(match["other"])
        op, compared = _operator(match["op"])
        if other is None or not _is_attribute(other) or compared != "numbers" or _is_of_other(match):
            return None
        return at.restrict(PairRestriction(other, op, operand="pair", other=other, compared=compared, is_price=True))

    def plain(match: re.Match[str]) -> str | None:
        link = at.link(match["word"])
        return link.text.casefold() if link and re.fullmatch(_THAN, link.text.casefold()) else None

    mine, other = rf"{_OWN}(?P<mine>{L})", rf"{_ITS}(?P<other>{L})"
    at.apply(rf"(?P<word>{L})(?= than {other} )", plain)  # higher, where a column is called high
    kind = rf" (?:(?:the|a|an|their|his|her|its|any|some) )?(?P<kind>{L})"
    value = rf" of (?:the )?(?P<value>(?:<L\d+> )?{V})"
    op = rf"(?: for)? {BE}(?P<op>{_OP})"
    at.apply(rf"{_OWN}(?P<than>{_THAN}) (?:(?:number|amount) of )?(?P<mine>{L}) than {other}", than)
    least = "(?P<least>at least|at most|exactly|just)? ?"
    at.apply(rf"{_OWN}{least}as (?:many|much) (?P<mine>{L}) as {other}", as_many)
    at.apply(rf"{_OWN}same (?P<mine>{L}) as {other}", lambda match: _restricted(at, match, "=", "values"))
    at.apply(rf"{mine}{op} {other}", between)
    at.apply(rf"{mine}{op} {_ITS}(?:average|mean) (?P<other>{L})", average)
    at.apply(rf"{mine}(?:{kind}|{value}){op} {other}", between)
    at.apply(rf"{mine}(?: for)? {BE}(?P<op>on|by) {other}", on_day)
    at.apply(rf"{_OWN}(?:{_SOLD}) (?:(?:for|at|a|price) )*(?P<op>{_OP}) {other}", sold)
    _unknown(at, rf"(?P<mine>{L}){op} {_ITS}")


def _late(at: Rewriter) -> None:
    """``rentals returned late``: after they were due."""

    def late(match: re.Match[str]) -> str | None:
        link, before = at.link(match["late"]), at.link(match["before"])
        if link is None or link.text not in LATENESS or len({one.attribute for one in link.labels}) != _DONE_AND_DUE:
            return None
        done, due = (replace(link, labels=(option,)) for option in link.labels)
        op = LATENESS[link.text]
        sign = at.restrict(PairRestriction(done, op, operand="pair", other=due, compared="times"))
        is_said = before is not None and done.labels[0].attribute in {one.attribute for one in before.attributes()}
        is_dated = bool(re.match(r" (?:in|on|during|since|before|after|between) (?!<L)", match.string[match.end() :]))
        return f"{sign} {'' if before is None or (is_said and not is_dated) else match['before']}"

    at.apply(rf"(?:(?P<before>{L}) (?:(?:something|anything|things|it|them) )?)?(?P<late>{L})", late)


def _restricted(at: Rewriter, match: re.Match[str], op: str, compared: str, total: str = "") -> str | None:
    """Add the condition that a match reads; return its sign, or None if it reads none."""
    mine, other, parts = at.link(match["mine"]), at.link(match["other"]), match.groupdict()
    if mine is None or other is None or not _is_attribute(other) or _is_of_other(match):
        return None
    if reason := _unclear(at, match):
        at.clauses.unread.append(reason)
        return None
    found = PairRestriction(mine, op, operand="pair", other=other, compared=compared, total=total)
    limit, kind = (parts["limit"] or "")[:3], at.link(parts.get("kind"))
    is_limit = not limit or all(limit in label_words(option.attribute) for option in other.attributes())
    is_kind = kind is None or (is_type(kind) and is_participle(mine.text))
    if not is_limit or not is_kind or (parts.get("value") and not at.clauses.is_yes_no):
        return None  # below the maximum price of all
    if not _is_attribute(mine):
        is_number = compared == "numbers" and not parts.get("op")  # teams with more players than seats
        return at.restrict(replace(found, label=other, counted=mine)) if is_number else None
    said = parts.get("kind") or parts.get("value") or _type_inside(at, mine)
    return f"{said} {at.restrict(found)}"


_AGGREGATES = "average|mean|median|total|overall|combined"


def _unknown(at: Rewriter, sides: str) -> None:
    """Note a comparison with an attribute of which a word is unknown: *above the wholesale price*."""
    words = rf"(?P<words>(?:(?!(?:{_AGGREGATES}) )(?:[a-z]+|{V}) )+)"
    for match in re.finditer(rf"(?<= ){sides}{words}(?P<other>{L})(?= )", at.text):
        mine, other = at.link(match["mine"]), at.link(match["other"])
        if mine is None or other is None or not (_is_attribute(mine) and _is_attribute(other)) or _is_of_other(match):
            continue
        unknown = [part for part in match["words"].split() if part not in FUNCTION_WORDS]
        texts = [at.links[int(part[2:-1])].text if part[0] == "<" else part for part in unknown]
        at.clauses.unread += [f"'{' '.join([*texts, other.text])}'"] * bool(texts)


def _operator(phrase: str) -> tuple[str, str]:
    """Return the comparison that a phrase means, and what it compares."""
    return next(meant for words, meant in _OPERATORS.items() if re.fullmatch(words, phrase))


def _is_attribute(link: QuestionLink) -> bool:
    """Return whether a link is an attribute, or a participle that may be one: *ordered*, of an order_date."""
    return bool(link.attributes()) and (not is_type(link) or is_participle(link.text))


def _is_date(link: QuestionLink) -> bool:
    return any(option.is_year for option in link.attributes())


def _is_of_other(match: re.Match[str]) -> bool:
    """Return whether the second attribute is one of something that is named: *above the price of the Rug*."""
    after = match.string[match.end() :]
    return bool(
        re.match(r" (?:(?:of|for|in|on) (?:(?:the|a|an|any|all|other) )*(?:<L\d+> )?)?<[VN]\d+>| (?:of|for) ", after)
    )


def _unclear(at: Rewriter, match: re.Match[str]) -> str:
    """Return the word by which more than two attributes may be compared, or which changes the first; "" if none."""
    before, after = match.string[: match.start()].split(), match.string[match.end() :]
    last = before[-1] if before else ""
    if last in _DENIED:
        return f"'{last}'"
    if last in ("and", "or") and len(before) > 1 and before[-2].startswith("<L"):
        is_pair = last == "and" and re.search(rf" (?:{_OP}|than|as) {_ITS}{L} and$", f" {' '.join(before)}")
        link = at.link(before[-2])
        return f"'{last}'" if not is_pair and link is not None and not is_type(link) else ""
    more = re.match(rf" (and|or|nor) {_ITS}(?P<next>{L})(?! {BE}(?:{_OP}))", after)
    if more is not None and (link := at.link(more["next"])) is not None and not is_type(link):
        return f"'{more[1]}'"
    is_plain = last.startswith("<") or last in FUNCTION_WORDS | PLAIN_WORDS
    return "" if is_plain or not last or is_participle(last) else f"'{last}'"


def _type_inside(at: Rewriter, mine: QuestionLink) -> str:
    """Return the sign of a type whose name begins the text of a label: *products cost*."""
    option = mine.attributes()[0]
    words = mine.text.casefold().split()
    if len(words) <= len(label_words(option.attribute)):
        return ""
    at.links.append(QuestionLink(mine.first, mine.first + 1, words[0], (LabelOption(option.type),)))
    return f"<L{len(at.links) - 1}>"


def _are_alike(mine: LabelOption, theirs: LabelOption) -> bool:
    """Return whether the names of two attributes end with the same word."""
    return label_words(mine.attribute)[-1:] == label_words(theirs.attribute)[-1:]


class PairTests(MeasureTests):
    """Writes the conditions that :func:`pairs` reads."""

    def _pair_part(self, restriction: PairRestriction, near: list[int]) -> ConditionPart:
        other, label = restriction.other, restriction.label
        assert other is not None
        assert label is not None
        if restriction.counted is not None:
            theirs = self._attribute(other, near, True)
            self._check_pair(restriction, theirs, theirs)
            measure = self._count(theirs.type, self._types_in([restriction.counted])[0])
            return ConditionPart(theirs.type, (Comparison(measure, restriction.op, OtherAttribute(theirs.attribute)),))
        mine, theirs = self._pair(restriction, label, other, near)
        self._check_pair(restriction, mine, theirs)
        self.doubts.label = min(self.doubts.label, mine.score, theirs.score)
        value: OtherAttribute | Aggregate = OtherAttribute(theirs.attribute)
        if restriction.total:
            known = Nodes(self.elements.types[theirs.type].name)
            value = Aggregate(restriction.total, known, (ValueColumn(theirs.attribute),))
        return ConditionPart(mine.type, (Comparison(mine.attribute, restriction.op, value),))

    def _pair(
        self, restriction: PairRestriction, label: QuestionLink, other: QuestionLink, near: list[int]
    ) -> tuple[LabelOption, LabelOption]:
        """Return two attributes of one type: the nearest one, and of several attributes those that are said best."""
        mine = self._prices(label) if restriction.is_price else label.attributes()
        found = [
            (self._near(one.type, near) - 2 * (one.score + two.score), one, two)
            for one, two in product(mine, other.attributes())
            if one.type == two.type and one.attribute != two.attribute
        ]
        if not found and restriction.is_price:
            raise NotReadError("which price is meant")
        if not found:
            raise NotReadError(f"'{label.text}' compared with '{other.text}'")
        fitting = [one for one in found if self._fits(restriction, *one[1:])]
        least = min(cost for cost, *_ in fitting or found)
        best = [(one, two) for cost, one, two in fitting or found if cost == least]
        if len(best) > 1:  # arrived later than scheduled: the actual and the scheduled arrival
            self.doubts.choices += 1
            best = [pair for pair in best if _are_alike(*pair)]
        if len(best) != 1:
            raise NotReadError(f"which of several attributes is '{label.text}'")
        return best[0]

    def _prices(self, label: QuestionLink) -> list[LabelOption]:
        """Return the prices of the nodes that have an attribute, without that attribute: one for each type, or none."""
        found = []
        for option in label.attributes():
            attributes = self.elements.types[option.type].attributes
            named = [a.name for a in attributes if {*label_words(a.name)} & {*PRICES} and a.name != option.attribute]
            if len(named) == 1:
                found.append(LabelOption(option.type, named[0], 1.0, True))
        return found

    def _fits(self, restriction: PairRestriction, mine: LabelOption, theirs: LabelOption) -> bool:
        """Return whether two attributes have values that a comparison is of."""
        kinds = self._type_of(mine), self._type_of(theirs)
        if not is_comparable(*kinds, by_day=True):
            return False
        times = [
            self._is_date(one) or kind.startswith(("DATE", "TIMESTAMP"))
            for one, kind in zip((mine, theirs), kinds, strict=True)
        ]
        if restriction.compared == "values":
            return kinds[0] != "BOOLEAN" and times[0] == times[1]
        if not (self._is_number(mine) and self._is_number(theirs)):
            return False
        return all(times) if restriction.compared == "times" else not any(times)

    def _check_pair(self, restriction: PairRestriction, mine: LabelOption, theirs: LabelOption) -> None:
        """Raise an error for attributes that are not compared so."""
        if not self._fits(restriction, mine, theirs):
            raise NotReadError(f"a comparison of {mine.attribute} and {theirs.attribute}")
