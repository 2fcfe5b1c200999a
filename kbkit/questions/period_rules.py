"""Groups by the year or month of a date: *trips per year*, *total amount of orders by month*, *boats by year built*."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from kbkit.answers.syntax import DateFunction, Group
from kbkit.english.question_words import SUPERLATIVES
from kbkit.questions.clauses import AskedTarget, L, Most, Rewriter, is_type
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.ways import NotReadError

_BY = r"(?<!ed )(?<!en )(?<!made )(?<!built )by"
_EACH = rf"(?:(?:for|in|during) )(?:each|every)|(?<=there )(?:each|every)|(?:for )?per|grouped by|group by|{_BY}"
_PERIODS = ("year", "month")
_PERIOD = rf"(?:calendar )?(?P<period>year|month|{L})"
_ALONE = r"(?! (?:of|from|in|before|after|since|to|until) (?!<N))(?! <[LNV])"


@dataclass(frozen=True)
class PeriodLink(QuestionLink):
    """The word *year* or *month* (``period``), by which is grouped.

    Its labels are those of the date, if the question says which: *by year built*. ``called`` are attributes that are
    called so.
    """

    period: str = ""
    called: QuestionLink | None = None


def period_links(at: Rewriter) -> None:
    """Link the word *year* or *month* to the date that is named beside it: *by year built*, *returned each month*."""

    def named(match: re.Match[str]) -> str | None:
        word, date = _period(at, match["period"]), at.link(match["date"])
        dates = tuple(option for option in date.attributes() if option.is_date) if date is not None else ()
        if not word or date is None or not dates:
            return None
        at.links.append(PeriodLink(date.first, date.last, date.text, dates, period=word))
        return f"{match['before']} <L{len(at.links) - 1}>"

    def done(match: re.Match[str]) -> str | None:
        date = at.link(match["date"])
        return named(match) if date is not None and not is_type(date) and is_participle(date.text) else None

    def busiest(match: re.Match[str]) -> str | None:
        word, counted = _period(at, match["period"]), at.link(match["counted"])
        if not word or counted is None or not is_type(counted):
            return None
        called = None if match["period"] == word else at.link(match["period"])
        link = PeriodLink(0, 0, word, period=word, called=called)
        at.clauses.most = Most(link, SUPERLATIVES[match["word"]], is_common=True)
        at.clauses.context.append(counted)
        return ""

    for number, link in enumerate(at.links):
        words = [word for word in link.text.casefold().split() if word in _PERIODS]
        if words and " " in link.text and link.attributes():
            best = link.attributes()[0]
            if best.is_date and words[0] not in label_words(best.attribute):
                at.links[number] = PeriodLink(link.first, link.last, link.text, link.labels, period=words[0])
    at.apply(rf"(?P<before>{_EACH})(?: the)? {_PERIOD}(?: of)?(?: the)? (?P<date>{L})(?! <[LNV])", named)
    had = "(?:(?:were|was|are|is) there|had|has|have|saw|with)"
    at.apply(
        rf"(?<=^ )(?:(?:in|during) )?(?:(?:what|which) )?(?:the )?{_PERIOD} {had}(?: the)? (?P<word>most|fewest)"
        rf" (?P<counted>{L})(?! <L)",
        busiest,
    )
    be = "(?:(?:that|which|who|were|was|are|have|has|had|been) )*"
    at.apply(rf"{be}(?P<date>{L}) (?P<before>{_EACH}|each|every)(?: the)? {_PERIOD}{_ALONE}", done)


def periods(at: Rewriter, groups: Callable[[Rewriter], None]) -> None:
    """Read the words *year* and *month* as groups, and then all ``groups`` in their order.

    ``number of trips per year``, ``average amount by month``, ``orders per boat and year``, ``trips by year``.
    """
    clauses = at.clauses

    def counted(match: re.Match[str]) -> str | None:
        label = at.link(match["counted"])
        if clauses.targets or not is_type(label) or not _period(at, match["period"]):
            return None
        clauses.targets.append(AskedTarget(label, "count"))
        return f"<T{len(clauses.targets) - 1}> {match['rest']}"

    def signed(match: re.Match[str]) -> str | None:
        word = _period(at, match["period"])
        if not word:
            return None
        called = None if match["period"] == word else at.link(match["period"])
        at.links.append(PeriodLink(0, 0, word, period=word, called=called))
        return f"{match['before']} <L{len(at.links) - 1}>"

    known = len(at.links)
    at.apply(rf"(?<=^ )(?P<counted>{L})(?P<rest> (?:<C\d+> )*(?:{_EACH}) (?:{L} and )?{_PERIOD})(?= $)", counted)
    if clauses.most is None and any(target.total for target in clauses.targets):
        at.apply(rf"(?P<before>(?:{_EACH})(?: the)? {L} and(?: each| the)?) {_PERIOD}{_ALONE}", signed)
        at.apply(rf"(?P<before>{_EACH}|each|every)(?: the)? {_PERIOD}{_ALONE}", signed)
    groups(at)
    grouped = [link.period for link in clauses.groups if isinstance(link, PeriodLink)]
    if grouped and clauses.most is None and not any(target.total for target in clauses.targets):
        clauses.unread.append(f"'{grouped[0]}'")  # which tools were bought each year
    for number, link in enumerate(at.links[known:], known):  # as it was, if it is no group
        called = link.called if isinstance(link, PeriodLink) else None
        at.text = at.text.replace(f"<L{number}>", link.text if called is None else f"<L{at.links.index(called)}>")


def _period(at: Rewriter, sign: str) -> str:
    """Return the word *year* or *month* of a word or a link; "" if it is another one."""
    link = at.link(sign) if sign.startswith("<") else None
    word = sign if link is None else link.text.casefold()
    return word if word in _PERIODS else ""


def own_date(elements: Elements, kind: int) -> str:
    """Return the date of the nodes of a type: the only one, or of several that of the nodes; "" if there is none."""
    dates = dates_of(elements, kind)
    return dates[0] if len(dates) == 1 else elements.own_date(kind)


def dates_of(elements: Elements, kind: int) -> list[str]:
    """Return the attributes of a type that are dates or times."""
    return [one.name for one in elements.types[kind].attributes if one.type in ("DATE", "TIMESTAMP")]


def group_by_own_date(elements: Elements, kind: int, period: str, beside: Iterable[int]) -> Group:
    """Return the groups of the nodes of a type by the year or month of their own date.

    The types ``beside`` are named too: how many customers *ordered* per month, who have joined on one date.
    """
    date = own_date(elements, kind)
    if not date or any(dates_of(elements, other) for other in beside if other != kind):
        raise NotReadError(f"the {period} of which date")
    return Group(DateFunction(period, (date,)))


def dated(group: Group, period: str) -> Group:
    """Return groups by a date as groups by its year or month."""
    if isinstance(group.measure, str):
        return replace(group, measure=DateFunction(period, (group.measure,)))
    assert isinstance(group.attribute, str)
    return replace(group, attribute=DateFunction(period, (group.attribute,)))
