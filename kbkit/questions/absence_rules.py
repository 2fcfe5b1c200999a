"""The rules that read that something is not so: nodes that nothing is related to, and what is denied twice."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import FUNCTION_WORDS, Adjective
from kbkit.english.words import PREPOSITIONS, is_nominal, lemmas_of, may_be_verb
from kbkit.questions.boolean_rules import BETWEEN, DENYING, is_boolean
from kbkit.questions.clauses import L, Restriction, Rewriter, V, is_type
from kbkit.questions.expressions import is_date
from kbkit.questions.label_option import LabelOption
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink

_OMITTING = frozenset("missed skipped avoided failed forgotten lacked refused declined lost left cancelled".split())  # noqa: SIM905
"""Verbs of what is not done: who never missed anything has done all."""
_NOBODY = "(?:nobody|noone|no one|none|nothing)"


def _is_said(label: QuestionLink) -> bool:
    """Return whether a label describes nodes: *vaccinated*, or *absent* (of absences)."""
    return is_participle(label.text) or (label.labels[0].score < 1 and "ADJ" in lemmas_of(label.text.casefold()))


def _without(at: Rewriter, label: QuestionLink | None, before: str) -> str | None:
    """Return the sign of the condition that nodes have nothing of what a label says, after some text."""
    if label is None or " " in label.text or is_boolean(label):
        return None
    if is_type(label):  # pets that were never vaccinated, or absent
        return at.restrict(Restriction(label, "none")) if _is_said(label) else None
    owner = replace(label, labels=tuple(LabelOption(option.type) for option in label.labels[:1]))
    named = (link for link in map(at.link, re.findall(L, before)) if is_type(link))
    kinds = {option.type for link in named if link is not None for option in link.types()}
    is_other = bool(kinds) and not kinds & {option.type for option in label.labels}
    if label.labels[0].is_date and is_other and not label.labels[0].is_optional:
        return at.restrict(Restriction(owner, "none"))  # planes never spotted, of sightings that have a date
    if label.labels[0].is_optional or is_date(label.labels[0].attribute):
        return at.restrict(Restriction(label, "missing"))  # not discharged yet, where there is a discharge date
    if label.labels[0].score == 1:
        return None
    return at.restrict(Restriction(owner, "none"))  # counties nobody represents


def neither(at: Rewriter) -> None:
    """``who neither sing nor play a harp``, ``with neither a lift nor a cafe``: each of them is denied."""

    def use(match: re.Match[str]) -> str:
        begins = match["one"].split()[0]
        is_verb = not begins.startswith("<") and begins not in PREPOSITIONS and may_be_verb(begins)
        no = "no" if match["have"] else "do not" if is_verb and match["be"] is None else "not"
        parts = [
            re.sub("^(?:an?|any) ", "", part) if match["have"] else part for part in (match["one"], match["other"])
        ]
        return f"{match['have'] or match['be'] or ''} {no} {parts[0]} and {no} {parts[1]}"

    part = r"(?:(?!nor )\S+ ){0,4}?"
    at.apply(
        rf"(?:(?P<have>have|has|had|with)|(?P<be>is|are|was|were))? ?neither (?P<one>{part}<[LV]\d+>)(?: and| or)? nor "
        rf"(?:have |has |had |with )?(?P<other>{part}<[LV]\d+>)",
        use,
    )


def unrelated(at: Rewriter) -> None:
    """``books nobody borrowed``, ``members who never borrowed anything``: no node of another type is joined."""

    def never(match: re.Match[str]) -> str | None:
        verb = match["verb"]
        if (verb in FUNCTION_WORDS and verb != "done") or verb in _OMITTING or not may_be_verb(verb):
            return None
        at.clauses.verbs.append(verb)
        return at.restrict(Restriction(None, "none"))

    def by_label(match: re.Match[str]) -> str | None:
        return _without(at, at.link(match["label"]), match.string[: match.start()])

    at.apply(rf"(?:that |which |who )?{_NOBODY} (?:has |have |had |ever )*(?P<label>{L})", by_label)

    def by_verb(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_said = label is not None and (is_participle(label.text) or (is_type(label) and _is_said(label)))
        return by_label(match) if is_said else None

    aux = "(?:(?:that|which|who|they|we|has|have|had|is|are|was|were|been|ever|got|get) )*"
    verb = r"(?P<verb>[a-z]+)(?: (?:out|up|off|down|on|in|to|by|with|for))*"
    ever = rf"(?: (?:in|at|on) (?:any|a single|one) (?P<type>{L})(?= $))?"
    at.apply(rf"(?:that |which |who )?{_NOBODY} (?:has |have |had |ever )*{verb}(?: us)?{ever}", never)
    negation = (
        r"(?:(?:has|have|had|was|were|is|are|do|does|did|don|doesn|didn|hasn|haven|hadn|wasn|weren) (?:not |t )|never )"
    )
    at.apply(
        rf"{aux}{negation}(?:been |ever |yet |actually )*{verb} (?:anything|anyone|anybody|any|at all|one|yet)"
        r"(?! <[LV])",
        never,
    )

    def at_all(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or is_type(label) or not is_participle(label.text):
            return None
        at.clauses.verbs.append(label.text.casefold())
        return at.restrict(Restriction(None, "none"))  # who never recorded anything, where others have that column

    at.apply(
        rf"{aux}{negation}(?:been |ever |yet |actually )*(?P<label>{L}) (?:anything|anyone|anybody)(?! <L)", at_all
    )
    some = "(?:(?:in|from|to|for|on|at|with) )?(?:anything|anyone|anybody|any|at all|yet)(?: from us| yet| here)*"
    at.apply(rf"{aux}{negation}(?:been |ever |yet |actually )*(?P<label>{L}) {some}(?! <L)", by_verb)
    at.apply(rf"{aux}never (?:been |actually )?{verb}(?= $)", never)

    def said(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_verb = label is not None and not is_type(label) and " " not in label.text and is_participle(label.text)
        return "never" if is_verb else None  # never seen in a wood: the value says where

    at.apply(
        rf"never (?:been |ever |actually )*(?P<label>{L})(?= (?:by|in|at|on|from|with|to)(?: the| a| an)? {V})", said
    )
    not_yet = r"(?:never|not yet|not|n t|t)(?: been| ever| yet)*"
    at.apply(rf"{aux}{not_yet} (?P<label>{L})(?: yet)?(?= $)", by_verb)


def _verbs_of(text: str) -> list[str]:
    """Return the words of a negation that may be a verb other than *have*."""
    words = (word for word in text.split() if word.isalpha() and word not in DENYING | FUNCTION_WORDS)
    return [word for word in words if may_be_verb(word) and word not in BETWEEN]


def absences(at: Rewriter) -> None:
    """``without albums``, ``that do not have any song``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if is_type(label):
            at.clauses.unexplained += _verbs_of(match[0])  # who never led an expedition: not who took part in none
            return at.restrict(Restriction(label, "none"))
        return None if label is None or label.is_verb else at.restrict(Restriction(label, "lacks"))

    do = "(?:do|does|did|don|doesn|didn|has|have|had|hasn|haven|is|are|was|were|isn|aren|wasn|weren)"
    no = (
        r"with(?: \w+)? no|without(?: ever)?(?: (?!<)\w+ing)?(?: any| an?)?|(?:has|have|having|had) no|no|not a single|"
        r"never (?:(?:\w+|<L\d+>) )?(?:(?:us|me|them) )?(?:any|an|a)|"
        r"never (?:been|gone|come|had)(?: (?:in|out|back|up))?(?: (?:for|on|to|in|at))?(?: an?| any| the)?|"
        r"not in any|(?:not|never)(?: been)? (?:(?!<)\w+|<L\d+>) (?:by|in|on|at|for) (?:any|an?)|"
        rf"(?:(?:that|which|who) )?{do} (?:not|t)(?: (?!<)\w+){{0,3}}(?: any| a| an| in any)?(?: single)?"
    )

    def missing(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        return None if label is None else at.restrict(Restriction(label, "none" if is_type(label) else "missing"))

    def used_up(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_number = label is not None and not is_type(label) and any(o.is_number for o in label.attributes()[:1])
        return at.restrict(Restriction(label, "lacks")) if is_number else None

    at.apply(rf"(?:(?:that|which|are|is|were|was|currently) )*out of (?P<label>{L})", used_up)  # out of stock
    never = "(?:known|recorded|given|available|set|specified|filled in|stated|noted)"
    absent = f"(?:(?:not|n t|t) (?:yet )?{never}|unknown|missing|empty|null|unrecorded|unspecified|blank)"
    be = "(?:is|are|was|were|isn|aren|wasn)"
    at.apply(
        rf"(?:whose|where|with|for which)(?: the)? (?P<label>{L})(?: (?:status|value|field))? (?:{be} )?{absent}",
        missing,
    )
    at.apply(rf"(?:with|of|having)(?: an?)? (?:unknown|missing|empty|blank) (?P<label>{L})", missing)

    def present(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or is_type(label) or is_boolean(label) or not label.attributes()[0].attribute:
            return None
        return at.restrict(Restriction(label, "missing", (), negated=True))  # trees that have a local name

    have = "(?:have|has|had|hold|holds|held|with|having)"
    some = f"(?<! not )(?<! t )(?<! never )(?:(?:that|which|who) )?(?:do |actually )?{have} (?:an?|any|some)"
    at.apply(rf"{some} (?P<label>{L})(?= (?:$|and|or|but|<S\d+>|<C\d+>))", present)

    at.apply(rf"(?:{no}) (?P<label>{L})", use)

    def related(match: re.Match[str]) -> str | None:
        word = match["word"]
        if word in FUNCTION_WORDS or not is_nominal(word):
            return None
        return at.restrict(Restriction(None, "none", adjective=Adjective(1, (word,))))  # stations with no owner

    at.apply(
        r"(?:without(?: any| an?)?|(?:with|has|have|having|had) no) (?P<word>[a-z]+)(?= (?:$|that|which|who|<C))",
        related,
    )
