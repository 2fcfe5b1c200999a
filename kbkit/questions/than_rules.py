"""The rules that compare nodes with a named one: *larger than France*, *more albums than Queen*."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import COMPARATIVES, FUNCTION_WORDS, TENURE, Adjective
from kbkit.english.words import may_be_verb
from kbkit.questions.clauses import BE, L, N, Restriction, Rewriter, V, is_type
from kbkit.questions.condition_rules import ADJECTIVE, OPS, comparison
from kbkit.questions.question_link import QuestionLink

_TIMES = ("since", "from", "after", "later than", "before", "earlier than", "prior to", "until")


def entities(at: Rewriter) -> None:
    """``larger than France``, ``more albums than Queen``."""
    _tenure(at)
    _apart(at)

    def use(match: re.Match[str]) -> str | None:
        value = at.link(match["value"])
        if value is None or not value.nodes:
            return None
        word = match["op"]
        adjective = COMPARATIVES.get(word)
        if adjective is None:
            return None
        label = at.link(match["label"] or match["before"])
        tail = (match["before"] or "") if match["label"] else ""
        if adjective.nouns and is_type(label) and not match["label"]:
            label, tail = None, match["before"] or ""  # countries larger than France
        if label is None and not adjective.nouns:
            return None
        op = ">" if adjective.sign > 0 else "<"
        return f"{tail} {at.restrict(Restriction(label, op, (value,), False, adjective, 'node'))}"

    at.apply(
        rf"(?:(?P<before>{L}) )?{BE}(?P<op>{ADJECTIVE}|more|less|fewer)"
        rf"(?: (?:(?:in|on|from|to) (?:the |their |his |her )?)?(?P<label>{L}))? than (?:(?:the|a|an|in|of|for) )*"
        rf"(?:that of )?(?:<L\d+> )?(?P<value>{V})",
        use,
    )

    def said(match: re.Match[str]) -> str | None:
        value, verb = at.link(match["value"]), match["verb"]
        if value is None or not value.nodes or verb in FUNCTION_WORDS or not may_be_verb(verb):
            return None
        op = ">" if match["op"] == "more" else "<"
        return at.restrict(Restriction(None, op, (value,), False, Adjective(1, (verb,)), "node"))

    at.apply(rf"(?P<verb>[a-z]+) (?P<op>more|less) than (?P<value>{V})", said)  # earns more than Ann
    at.apply(rf"(?:(?P<before>{L}) )?(?P<op>before|after)(?P<label>) (?:the )?(?:<L\d+> )?(?P<value>{V})", use)


def _apart(at: Rewriter) -> None:
    """``the limit for lead is higher than for zinc``, ``the price at Leeds was over 9``: of what stands between."""

    def measure(match: re.Match[str]) -> QuestionLink | None:
        label = at.link(match["label"])
        if label is None or is_type(label):
            return None
        numbers = tuple(option for option in label.attributes() if option.is_number and not option.is_year)
        return replace(label, labels=numbers) if numbers else None

    def than(match: re.Match[str]) -> str | None:
        label, value = measure(match), at.link(match["value"])
        if label is None or value is None or not value.nodes:
            return None
        op = ">" if COMPARATIVES[match["op"]].sign > 0 else "<"
        return f"{match['own']} {at.restrict(Restriction(label, op, (value,), operand='node'))}"

    def number(match: re.Match[str]) -> str | None:
        label, op = measure(match), comparison(match["op"])
        if label is None or op == "=" or match["op"] in _TIMES:
            return None  # tickets sold at Leeds after 2019
        return f"{match['own']} {at.restrict(Restriction(label, op, at.linked(match['number'])))}"

    of = r"(?:of|for|in|at) (?:the )?"
    whose = rf"(?P<label>{L}) {of}(?P<own>{V}) {BE}"
    at.apply(rf"{whose}(?P<op>{ADJECTIVE}|more|less) than (?:(?:that|the one) )?{of}(?P<value>{V})", than)
    at.apply(rf"{whose}(?P<op>{OPS}) (?P<number>{N})(?: percent| %)?(?! <L)", number)


def _tenure(at: Rewriter) -> None:
    """``have been with us longer than Ann``: began before her."""

    def stayed(match: re.Match[str]) -> str | None:
        value = at.link(match["value"])
        if value is None or not value.nodes:
            return None
        op = "<" if match["op"] == "longer" else ">"
        return at.restrict(Restriction(None, op, (value,), False, TENURE, "node"))

    been = r"(?:has|have) been (?:(?!<)\w+ ){0,3}"
    at.apply(rf"{been}(?P<op>longer|shorter) than (?P<value>{V})", stayed)
