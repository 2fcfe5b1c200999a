"""The rules that read questions for several things: what is compared, a number beside names, columns at the end."""

from __future__ import annotations

import re

from kbkit.questions.clauses import AskedTarget, L, N, Rewriter, V, is_type
from kbkit.questions.row_rules import names_of

_AGAINST = "(?:(?:as |when )?(?:compared|opposed) (?:to|with)|versus|vs|v)"
_SHARED_VERBS = "(?:has|have|had|is|are|was|were|does|did|do|own|owns|owned)"


def several(at: Rewriter) -> None:
    """Read what asks for several things before the rules of single ones."""
    _compared(at)
    _told(at)
    _of_period(at)
    _columns(at)


def _compared(at: Rewriter) -> None:
    """``electric cars compared to petrol ones``: the same total of each value."""

    def use(match: re.Match[str]) -> str:
        at.clauses.is_compared = True
        return f"{match['first']} and {match['second']} {match['label'] or match['after'] or ''}"

    at.apply(
        rf"(?P<how>how many|number of) (?P<first>{V})(?P<label>)(?P<after>),? and (?:how many|(?:the )?number of) "
        rf"(?P<second>{V})",
        lambda match: f"{match['how']} {use(match).strip()}",
    )
    that = "(?:(?:that|those) )?(?:(?:of|in|for|by) )?(?:the )?"
    at.apply(
        rf"(?P<first>{V})(?: (?P<label>{L}))? {_AGAINST} {that}(?P<second>{V})(?: ones?)?(?: (?P<after>{L}))?(?= $)",
        use,
    )


def _told(at: Rewriter) -> None:
    """``who has most books, and how many``: the number beside the names."""

    def use(_: re.Match[str]) -> str:
        at.clauses.tells_measure = True
        return ""

    of = "(?: of (?:them|those|these|each))?"
    do = f"(?:(?: (?:do|does|did))? (?:they|he|she|it)(?: each)? {_SHARED_VERBS})?"
    do += "(?: (?:was|is|were|are) (?:it|that|there|they))?"
    at.apply(rf"and how (?:many|much){of}{do}(?= $)", use)


def _of_period(at: Rewriter) -> None:
    """``in each month of 2024``: the year is a condition on what is grouped."""

    def use(match: re.Match[str]) -> str | None:
        is_month = _is_month(at, match["period"])
        return f"in {match['year']} {match['each']} {match['period']}" if is_month else None

    at.apply(rf"(?P<each>in (?:each|every)|per|by) (?P<period>month|{L}) (?:of|in) (?P<year>{N})", use)


def _is_month(at: Rewriter, sign: str) -> bool:
    link = at.link(sign) if sign.startswith("<") else None
    return sign == "month" if link is None else link.text.casefold() == "month"


def _columns(at: Rewriter) -> None:
    """``visits with the date, the animal and the vet who saw it``: attributes beside the names of other nodes."""

    def use(match: re.Match[str]) -> str | None:
        links = at.linked(match["labels"])
        if at.clauses.targets or not any(map(is_type, links)) or all(map(is_type, links)):
            return None
        heads = [link for link in map(at.link, re.findall(L, match.string[: match.start()])) if is_type(link)]
        if not heads or heads[0] is None or any(link.labels[:1] == heads[0].labels[:1] for link in links):
            return None
        at.clauses.lists_columns = True
        at.clauses.targets += [AskedTarget(names_of(link) if is_type(link) else link) for link in links]
        return ""

    the = "(?:(?:and|the|its|their|also) )*"
    done = r"(?: (?:who|that|which) (?:(?!<)\w+ ){1,2}(?:it|them))?"
    at.apply(rf"(?:with|including|plus) {the}(?P<labels>{L}(?: {the}{L})+){done}(?= $)", use)
