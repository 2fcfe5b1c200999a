"""The rules that read what holds or not by columns: those that say yes or no, and dates of an end."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.words import is_participle as is_past
from kbkit.english.words import is_plural, may_be_verb, singular
from kbkit.questions.clauses import L, Restriction, Rewriter, V, is_type
from kbkit.questions.expressions import is_date
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import denied_root
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.state_links import ENDED, OPEN

_ASSERTING = frozenset("is are was were has have had having with without that who which out".split())  # noqa: SIM905
DENYING = frozenset("out not no never t without non don doesn didn".split())  # noqa: SIM905
"""Words that deny what follows."""
BETWEEN = frozenset(
    """
    a an any both in on for of under be been still yet already now currently longer its their
    do does did isn aren wasn weren hasn haven hadn
    """.split()  # noqa: SIM905
)
"""Words that may stand between what asserts or denies and what holds."""
_SAID = "|".join(sorted(_ASSERTING | DENYING | BETWEEN))
"""The pattern of words before what holds."""
_GETS = ("get", "gets", "got")
_HEAD = 0.7
"""Least score of a label whose last word a word is."""
EXCEPT = (
    "other than|except(?: for)?|excluding|leaving out|apart from|aside from|ignoring|omitting|"
    "not (?:counting|including)"
)
"""The pattern of words before what is left out."""


def is_boolean(label: QuestionLink | None) -> bool:
    """Return whether a label is a column that says yes or no."""
    return label is not None and not is_type(label) and any(option.is_boolean for option in label.attributes()[:1])


def states(at: Rewriter) -> None:
    """``open work orders``, ``staff who are still active``: what has no date of its end yet."""

    def state(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        said = label.text.casefold() if label is not None else ""
        is_state = label is not None and label.labels[0].is_optional and label.labels[0].score == 1
        if label is None or not is_state or not (said in OPEN | ENDED or _is_denied(label)):
            return None
        is_open = (said in OPEN or _is_denied(label)) != bool(match["not"])
        return at.restrict(Restriction(label, "missing", (), negated=not is_open))

    be = "(?:that|which|who|is|are|was|were|still|already|now|be)"
    at.apply(rf"(?:{be} )*(?P<not>(?:not|no longer|n t|t) )?(?P<label>{L})", state)


def _is_denied(label: QuestionLink) -> bool:
    """Return whether a word denies what a column is called by: *unpaid*, of paid_on; *under warranty* does not."""
    said = label.text.casefold()
    is_denial = " " not in said and bool(denied_root(said))
    forms = {said, singular(said)}  # understudies, of is_understudy
    return is_denial and not any(
        one in option.attribute.casefold() for option in label.attributes()[:1] for one in forms
    )


def _held(at: Rewriter, label: QuestionLink, *, negated: bool, operand: str = "") -> str:
    """Add the condition that a column says yes, or no, and return its sign."""
    return at.restrict(Restriction(label, "holds", (), negated != _is_denied(label), None, operand))


def booleans(at: Rewriter) -> None:
    """``discontinued products``, ``branches with a cafe``, ``members who are not students``, ``is it in print``."""
    if " whether " in at.text:
        return
    _merged(at)
    _excepted(at)
    _asserted(at)
    _joined(at)
    _had(at)
    _of_types(at)
    _dated(at)
    _holders(at)
    if at.clauses.is_yes_no:
        _after_values(at)


def _excepted(at: Rewriter) -> None:
    """``leaving out cancelled ones``, ``part time`` where a column is called *full time*."""

    def left_out(match: re.Match[str]) -> str | None:
        label = _boolean(at, match["label"])
        return _held(at, label, negated=True) if label else None

    def half(match: re.Match[str]) -> str | None:
        label = _boolean(at, match["label"])
        is_full = label is not None and label_words(label.attributes()[0].attribute)[-2:-1] == ["full"]
        return _held(at, label, negated=True) if label and is_full else None

    at.apply(rf"(?:(?:and|but) )?(?:{EXCEPT}) (?:(?:the|any|all) )*(?P<label>{L})(?: ones?)?(?! <L)", left_out)
    at.apply(rf"part (?P<label>{L})", half)


def _boolean(at: Rewriter, text: str) -> QuestionLink | None:
    """Return the label of a boolean, None for other labels."""
    label = at.link(text)
    return label if label is not None and is_boolean(label) else None


def _asserted(at: Rewriter) -> None:
    """``who are not students``, ``with a cafe``."""

    def said(match: re.Match[str]) -> str | None:
        label, said = _boolean(at, match["label"]), match["said"].split()
        is_denied = bool(DENYING & {*said}) and bool({"do", "does", "did"} & {*said})  # who does not work remotely
        before = match.string[: match.start()].split()[-1:]
        is_after = bool(before) and (before[0] in ("and", "but") or before[0].startswith("<"))
        is_denied |= is_after and bool({"no", "not"} & {*said})  # and no lift, not under warranty
        is_still = is_after and "still" in said  # the oldest boat still in use
        if label is None or not (is_denied or is_still or _ASSERTING & {*said}):
            return None
        own = {*label_words(label.attributes()[0].attribute)}  # out of production, where a column is called so
        return _held(at, label, negated=bool(DENYING & {*said} - own), operand="never" if "never" in said else "")

    at.apply(rf"(?P<said>(?:(?:{_SAID}) )+)(?P<label>{L})", said)

    def did(match: re.Match[str]) -> str | None:
        label = _boolean(at, match["label"])
        is_ours = label is not None and is_type(at.link(match["type"]))
        return f"{match['type']} {_held(at, label, negated=False)}" if label is not None and is_ours else None

    we = "(?:(?:do|did|have|had) )?(?:we|they|you)(?: (?:have|had|have had|need|needed) to| had| have)?"
    at.apply(rf"(?P<type>{L}) {we} (?P<label>{L})(?= (?:$|<C))", did)  # which shows did we have to cancel


def _joined(at: Rewriter) -> None:
    """``vegan and gluten free``, ``with a lift and no cafe``."""

    def also(match: re.Match[str]) -> str | None:
        label, before = _boolean(at, match["label"]), at.clauses.restrictions[int(match["number"])]
        if label is None or before.op != "holds":
            return None
        return f"<C{match['number']}> {_held(at, label, negated=bool(match['not']))}"

    at.apply(rf"<C(?P<number>\d+)> and (?P<not>not )?(?:(?:a|an) )?(?P<label>{L})(?! <L)", also)

    def beside(match: re.Match[str]) -> str | None:
        label = _boolean(at, match["label"])
        return f"{match['value']} {_held(at, label, negated=bool(match['no']))}" if label else None

    at.apply(rf"(?P<value>with (?:an? )?{V}) and (?P<no>no |not )?(?:an? )?(?P<label>{L})(?! <L)", beside)


def _had(at: Rewriter) -> None:
    """``who own a car``, ``which do not serve breakfast``."""

    def had(match: re.Match[str]) -> str | None:
        label, verb = _boolean(at, match["label"]), match["verb"]
        if label is None or not re.search("<[LC]|who|which", match.string[: match.start()]):
            return None
        if verb in DENYING or (verb not in _GETS and (verb in FUNCTION_WORDS or not may_be_verb(verb))):
            return None
        return _held(at, label, negated=bool(match["not"]))

    denied = "(?P<not>(?:do|does|did|don|doesn|didn) (?:not|t) )?"
    at.apply(rf"{denied}(?P<verb>[a-z]+) (?:(?:a|an|the|our|any|their) )*(?P<label>{L})", had)


def _of_types(at: Rewriter) -> None:
    """``discontinued products``, ``expeditions in winter``."""

    def adjective(match: re.Match[str]) -> str | None:
        label, after = _boolean(at, match["label"]), at.link(match["type"])
        if label is None or not (is_type(after) or (after and not after.labels)):
            return None
        if label.labels[0].score < _HEAD:
            return None  # full professors, of full_time
        return f"{_held(at, label, negated=bool(match['no']))} {match['type']}"

    at.apply(rf"(?P<no>(?:not|non) )?(?P<label>{L}) (?P<type>{L}|{V})", adjective)

    def within(match: re.Match[str]) -> str | None:
        label = _boolean(at, match["label"])
        if label is None or (match["type"].startswith("<") and not is_type(at.link(match["type"]))):
            return None
        return f"{match['type']} {_held(at, label, negated=False)}"

    someone = "anybody|anyone|somebody|someone|everybody|everyone|those"
    after = "(?= (?:$|and|or|but|with|without|who|that|<C))"
    at.apply(rf"(?P<type>{L}|{someone}) (?:in|on|during|under)(?: the| our)? (?P<label>{L}){after}", within)


def _after_values(at: Rewriter) -> None:
    """``is Emma in print``, where a value is asked about."""

    def after(match: re.Match[str]) -> str | None:
        label = _boolean(at, match["label"])
        return f"{match['value']} {_held(at, label, negated='not' in match['said'])}" if label else None

    at.apply(rf"(?P<value>{V}(?: {L})?) (?P<said>(?:(?:{_SAID}) )*)(?P<label>{L})", after)


def _dated(at: Rewriter) -> None:
    """``stations that have closed``, ``and in what year``: those that have the date of a participle."""

    def had_date(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or not label.attributes() or not is_past(label.text.casefold()):
            return None
        option = label.attributes()[0]
        is_dated = option.is_date or (option.is_number and is_date(option.attribute))
        if is_type(label) or not is_dated:
            return None
        time = at.link(match["time"])
        if time is not None and time.text.casefold() not in ("year", "month", "date", "day", "time"):
            return None
        sign = at.restrict(Restriction(label, "missing", (), negated=True))
        if not match["when"]:
            return sign
        at.links.append(replace(label, text="when"))  # of the participle, what it is the date of
        return f"{sign} and their <L{len(at.links) - 1}>"

    be = "(?:have|has|had|are|is|were|was)(?: (?:been|already|since|now|ever))*"
    when = rf"(?P<when> and (?:when|(?:in|on)? ?(?:what|which) (?:(?P<time>{L})|year|month|date|day)))?"
    at.apply(rf"(?:(?:that|which|who) )?{be} (?P<label>{L}){when}(?= (?:$|<C\d+> $))", had_date)


def _merged(at: Rewriter) -> None:
    """``paid their subscription``: two parts of the name of one column."""

    def merged(match: re.Match[str]) -> str | None:
        label, part = at.link(match["label"]), at.link(match["part"])
        is_same = is_boolean(label) and is_boolean(part) and label is not None and part is not None
        same = is_same and label.attributes()[0].attribute == part.attributes()[0].attribute  # type: ignore[union-attr]
        return match["label"] if same else None  # who paid their subscription, of paid_subscription

    at.apply(rf"(?P<label>{L}) (?:(?:the|a|an|any|their|its|his|her) )*(?P<part>{L})", merged)


def _holders(at: Rewriter) -> None:
    """``the licensed pilots with their home town``: those for which the column says yes, if no type is named."""
    if any(is_type(at.link(sign)) for sign in re.findall(L, at.text)):
        return

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if not is_boolean(label) or label is None or not is_plural(label.text) or label.labels[0].score < 1:
            return None
        owner = replace(label, labels=(LabelOption(label.labels[0].type),), values=(), nodes=())
        at.links.append(owner)
        return f"{match['before']}<L{len(at.links) - 1}> {at.restrict(Restriction(label, 'holds'))}"

    at.apply(rf"(?<=^ )(?P<before>(?:(?!<[LC])\S+ )*)(?P<label>{L})", use)
