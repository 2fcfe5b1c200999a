"""The days between two dates of a node: *average days between lent and returned*, *average time to return a loan*."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from kbkit.answers.syntax import Aggregate, DateFunction, Expression, ValueColumn
from kbkit.english.question_words import EXTREMES, TOTALS
from kbkit.questions.clauses import AskedTarget, Clauses, L, Rewriter, is_type
from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.period_rules import dates_of
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.ways import NotReadError
from kbkit.schema import quote

_OPS = {**EXTREMES, **{word: op for word, op in TOTALS.items() if op == "avg"}}
_TOTAL = rf"(?:the )?(?P<total>{'|'.join(_OPS)})(?: number of| amount of| of)?"
_ASKED = r"(?:(?:what|which|show|list|give) (?:is |are |were |me )?)?(?:how many |(?:the )?number of |the )"
_LIE = r"(?: (?:are|were|is|was|there|lie|lay|pass|passed|elapse|elapsed|it))*"
_ON = "(?: on| at| date| day)?"
_TAKE = r"(?: (?:it|taken|takes|take|took|needed|required))*"


@dataclass(frozen=True)
class DaysLink(QuestionLink):
    """The days from one date of a node to another, which links name; of one link, to it from the only other one.

    Its text is the word for it, days or time.
    """

    dates: tuple[QuestionLink, ...] = ()


def days(at: Rewriter) -> None:
    """``how many days between lent and returned``, ``the average time to deliver an order``."""

    def asked(match: re.Match[str], link: DaysLink) -> str:
        at.clauses.targets.append(AskedTarget(link, _OPS.get(match.groupdict().get("total") or "", "")))
        return f"<T{len(at.clauses.targets) - 1}>"

    def word(match: re.Match[str]) -> str:
        """Return the word days or time, which may be like a label; "" for another one."""
        link = at.link(match["word"]) if match["word"].startswith("<") else None
        found = match["word"] if link is None else link.text.casefold()
        return found if found in ("days", "time") else ""

    def between(match: re.Match[str]) -> str | None:
        dates = tuple(link for side in ("mine", "other") if (link := at.link(match[side])) is not None)
        if at.clauses.targets or not word(match) or not all(link.attributes() for link in dates):
            return None
        return asked(match, DaysLink(dates[0].first, dates[1].last, word(match), dates=dates))

    def until(match: re.Match[str]) -> str | None:
        verb, kind = at.link(match["verb"]), match["kind"]
        is_read = verb is not None and not is_type(verb) and (not kind or is_type(at.link(kind)))
        if at.clauses.targets or not word(match) or verb is None or not is_read:
            return None
        link = DaysLink(verb.first, verb.last, word(match), dates=(verb,))
        return f"{asked(match, link)}{f' of {kind}' if kind else ''}"

    both = rf"between (?:the )?(?P<mine>{L}){_ON} and (?:the )?(?P<other>{L}){_ON}(?! <L)"
    at.apply(rf"{_TOTAL} (?P<word>days|time|{L}){_LIE} {both}", between)
    at.apply(rf"(?<=^ ){_ASKED}(?P<word>days|{L}){_LIE} {both}", between)
    verb = rf"to (?P<verb>{L})(?:(?: (?:a|an|the))? (?P<kind>{L})| (?:it|them))?"
    at.apply(rf"{_TOTAL} (?P<word>days|time|{L}){_TAKE} {verb}", until)


def prepared(elements: Elements, clauses: Clauses) -> DateFunction | None:
    """Set what the days that a question asks for are planned as, their first date, and return them; None if none."""
    for place, target in enumerate(clauses.targets):
        if isinstance(target.label, DaysLink):
            option, function = _resolved(elements, clauses, target.label)
            clauses.targets[place] = replace(target, label=replace(target.label, labels=(option,)))
            return function
    return None


def with_days(tree: Expression, function: DateFunction | None) -> Expression:
    """Return a planned expression with the days in place of their first date."""
    if function is None:
        return tree
    first = ValueColumn(function.dates[0])
    if not isinstance(tree, Aggregate) or tree.columns.count(first) != 1 or tree.order:
        raise NotReadError("the days between dates beside something else")
    columns = [ValueColumn(function) if column == first else column for column in tree.columns]
    is_listed = tree.op == "values" and len(columns) == 1
    return replace(tree, columns=(ValueColumn("name"), *columns) if is_listed else tuple(columns))


def _resolved(elements: Elements, clauses: Clauses, link: DaysLink) -> tuple[LabelOption, DateFunction]:
    """Return the first date, as it is planned, and the function."""
    sides = [_options(elements, date) for date in link.dates]
    kinds = set.intersection(*map(set, sides))
    named = {one.labels[0].type for one in (*clauses.context, *clauses.groups) if is_type(one)}
    kinds = kinds & named or kinds
    if len(kinds) != 1:
        raise NotReadError("the days between which dates")
    [kind] = kinds
    stated = [side[kind].attribute for side in sides]
    others = [date for date in dates_of(elements, kind) if date not in stated]
    if len(stated) == 1 and len(others) == 1 and _is_never_before(elements, kind, stated[0], others[0]):
        stated = [others[0], stated[0]]
    if len({*stated}) < 2:
        raise NotReadError("the days between which dates")
    if link.text == "time" and _has_times(elements, kind, stated):
        raise NotReadError("a time in hours")
    start, end = stated
    if not _is_never_before(elements, kind, end, start) and _is_never_before(elements, kind, start, end):
        start, end = end, start  # between returned and lent
    option = LabelOption(kind, start, min(side[kind].score for side in sides), is_number=True, is_date=True)
    return option, DateFunction("days", (start, end))


def _has_times(elements: Elements, kind: int, dates: list[str]) -> bool:
    """Return whether some of the attributes of a type are times of a day, of which days say too little."""
    return any(one.name in dates and one.type == "TIMESTAMP" for one in elements.types[kind].attributes)


def _is_never_before(elements: Elements, kind: int, date: str, other: str) -> bool:
    """Return whether no node of a type has a date before another one of its dates."""
    table = quote(elements.types[kind].table)
    sql = f"SELECT count(*) AS n FROM {table} WHERE {quote(date)} < {quote(other)}"
    return elements.session.stores.tables.rows(sql) == [(0,)]


def _options(elements: Elements, link: QuestionLink) -> dict[int, LabelOption]:
    """Return the date that a link means in each type, unless it may mean two equally well."""
    found: dict[int, list[LabelOption]] = {}
    for option in link.attributes():
        if option.attribute in dates_of(elements, option.type):
            found.setdefault(option.type, []).append(option)
    best = {kind: sorted(options, key=lambda one: -one.score) for kind, options in found.items()}
    return {kind: one[0] for kind, one in best.items() if len(one) == 1 or one[0].score > one[1].score}
