"""The rule for which of several named things has more: ``which has more books, Ada or Ben``."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import ADJECTIVES, COMPARATIVES
from kbkit.english.words import may_be_verb
from kbkit.questions.clauses import L, Most, Restriction, Rewriter, V, is_type
from kbkit.questions.label_option import LabelOption

_COMPARATIVES = {
    **{word: one for word, one in COMPARATIVES.items() if one.nouns or word in ("more", "less", "fewer")},
    **{"better": ADJECTIVES["good"], "worse": ADJECTIVES["bad"], "earlier": ADJECTIVES["early"]},
    "later": ADJECTIVES["late"],
}
_NOT_OF_TWO = ("after", "before", "since", "until", "over", "above", "under", "below")
_WORD = "|".join(sorted({*_COMPARATIVES} - {*_NOT_OF_TWO}, key=len, reverse=True))
_NAMES = rf"(?P<names>(?:the )?{V}(?:(?: or| and)+(?: the)? {V})*(?: or)(?: the)? {V})"
_AMONG = r"(?:(?:out )?of|among|between)"
_ASKED = rf"(?:which|who|what)(?: one)?(?: of (?:them|the two|these|these two|both))?(?: (?P<type>{L}))?"
_MORE = (
    rf"(?P<verbs>(?: (?!<[VNCT]|than )\S+){{0,4}}?)(?: (?:the|a|an))* (?P<word>{_WORD})"
    rf"(?: (?P<inner>{'|'.join(ADJECTIVES)}))?(?: (?P<measure>{L}))?"
)
"""The comparison, after the verbs that lead to it; ``than`` would make it another one."""


def of_two(at: Rewriter) -> None:
    """``which ward has more beds, Lister or Nightingale``: the greatest of what is named."""

    def use(match: re.Match[str]) -> str | None:
        names = at.linked(match["names"])
        if at.clauses.most is not None or not all(name.nodes for name in names):
            return None
        word, inner, measure = match["word"], match["inner"], at.link(match["measure"])
        adjective = _COMPARATIVES[word]
        if inner:
            if adjective.nouns:
                return None
            adjective = ADJECTIVES[inner]._replace(sign=ADJECTIVES[inner].sign * adjective.sign)
        if measure is None and not adjective.nouns:
            return None  # who won more: of what?
        kind = at.link(match["type"])
        if measure is not None and is_type(measure) and adjective.nouns:
            return None
        verb = ""
        if kind is not None and not is_type(kind):
            if kind.labels[0].score == 1 or not may_be_verb(kind.text.casefold()):
                return None
            verb = kind.text.casefold()  # who wrote more books, where a book is published
            kind = None
        at.clauses.most = Most(measure, adjective, is_amount=not adjective.nouns)
        common = frozenset.intersection(*(name.node_types for name in names))
        if kind is None and len(common) == 1:
            kind = replace(names[0], labels=(LabelOption(min(common)),), nodes=(), values=())
        sign = at.restrict(Restriction(kind, "in", names))
        at.clauses.is_who = False  # the names tell who
        verbs = match["verbs"]
        if measure is not None and not is_type(measure):  # who charges more per hour
            verbs = " ".join(word for word in verbs.split() if not may_be_verb(word))
        return f"which {verb or match['type'] or ''} {verbs} <S0> {sign}"

    at.apply(rf"{_ASKED}{_MORE}(?: {_AMONG})? {_NAMES}(?= $)", use)
    at.apply(rf"(?<=^ )(?:{_AMONG} )?{_NAMES} {_ASKED}{_MORE}(?= $)", use)

    def of_verb(match: re.Match[str]) -> str | None:
        found = use(match)
        at.clauses.is_yes_no = at.clauses.is_yes_no and found is None
        return found

    does = "(?:does|do|did|is|are|was|were|has|have)"
    at.apply(rf"(?<=^ ){does} (?P<type>){_NAMES}{_MORE}(?= $)", of_verb)
