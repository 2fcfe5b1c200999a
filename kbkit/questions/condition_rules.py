"""The rules that read conditions: comparisons with numbers, averages and nodes, values and names, and absences."""

from __future__ import annotations

import re

from kbkit.english.question_words import (
    COMPARATIVES,
    Adjective,
)
from kbkit.english.words import may_be_verb
from kbkit.questions.boolean_rules import EXCEPT
from kbkit.questions.clauses import BE, L, N, Restriction, Rewriter, V, is_type
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink

OWNING = 0.8
"""Least score of a label whose attribute has a value beside it: French citizens."""
MORE = "more|greater|larger|bigger|higher"
LESS = "less|fewer|smaller|lower"
_OPERATORS = (
    (rf"(?:no|not) (?:{LESS}) than", ">="),
    (rf"(?:no|not) (?:{MORE}) than", "<="),
    ("at least|minimum of|a minimum of", ">="),
    ("at most|maximum of|up to|a maximum of", "<="),
    (rf"(?:{MORE}) than or equal to", ">="),
    (rf"(?:{LESS}) than or equal to", "<="),
    (rf"(?:{MORE})(?: in number)? than|over|above|exceeding|exceeds?|exceeded|in excess of|beyond", ">"),
    (rf"(?:{LESS}) than|under|below", "<"),
    ("since|from", ">="),
    ("after|later than", ">"),
    ("before|earlier than|prior to", "<"),
    ("until", "<="),
)
OPS = "|".join(f"(?:{words})" for words, _ in _OPERATORS)
ADJECTIVE = "|".join(sorted((word for word, one in COMPARATIVES.items() if one.nouns), key=len, reverse=True))
COMPARED = rf"{BE}(?P<op>{OPS}|(?:{ADJECTIVE})(?: than)?) (?P<number>{N})"
"""A comparison with a number; :func:`comparison` returns its operator."""
NO = rf"(?:not|isn t|aren t|wasn t|weren t|{EXCEPT}|different from|outside(?: of)?)"
_HAVE = "(?:have|use|include|contain|speak|play|own)"
_LACKS = rf"(?:{NO} |(?:do|does|did|don|doesn|didn) (?:not|t) {_HAVE} (?:a |an |any |the )?)"
UP = "more|above|greater|higher|over|older|later|longer"
_VALUES = rf"(?P<value>{V}(?:(?: or| nor| and)+(?: with| in| by| on)?(?: the| an?)? {V})*)"


def operator_of(phrase: str) -> str:
    """Return the comparison operator that a phrase means."""
    phrase = phrase.strip()
    return next((op for words, op in _OPERATORS if re.fullmatch(words, phrase)), "=")


def comparison(phrase: str) -> str:
    """Return the comparison operator that a phrase of :data:`COMPARED` means."""
    adjective = comparative(phrase)
    return operator_of(phrase) if adjective is None else ">" if adjective.sign > 0 else "<"


def comparative(phrase: str) -> Adjective | None:
    """Return the adjective of a comparative that says what it compares: *older than*, but not *more than*."""
    adjective = COMPARATIVES.get(phrase.removesuffix(" than").strip())
    return adjective if adjective is not None and adjective.nouns else None


def is_state(label: QuestionLink) -> bool:
    """Return whether a label is a participle that a column says yes or no to: *elected*."""
    return not is_type(label) and is_participle(label.text) and any(o.is_boolean for o in label.attributes()[:1])


def is_owned(match: re.Match[str]) -> bool:
    """Return whether the words before a match say that it is a condition: ``whose number of seats is over 100``."""
    before = match.string[: match.start()]
    return bool(re.search(r" (?:whose|where|with|having|has|have|if|that|which) (?:the |a |an )?$", before))


def _substrings(at: Rewriter) -> None:
    """``songs that contain the word love``, ``the notes of the events with the substring 'East'``."""

    def contained(match: re.Match[str]) -> str | None:
        label, before = at.link(match["label"]), at.linked(match.string[: match.start()])
        texts = [link for link in before if link.labels and not is_type(link)]
        if is_type(label) and texts:
            return f"{match['label']} {at.restrict(Restriction(texts[-1], 'contains', at.linked(match['value'])))}"
        if is_type(label):
            return None  # beers that contain a German ingredient
        return at.restrict(Restriction(label, "contains", at.linked(match["value"])))

    word = r"(?:contain\w*|includ\w*|substring|(?:the )?(?:word|phrase|string|text)s?)"
    most = r"(?:(?!<)\S+ ){0,4}?"
    at.apply(rf"(?P<label>{L}) {most}{word} (?:the |a |word |substring |phrase )*(?P<value>{V})", contained)


def _meanings(label: QuestionLink) -> set[tuple[int, str]]:
    return {(option.type, option.attribute) for option in label.labels}


def _owns(at: Rewriter, label: QuestionLink | None, match: re.Match[str]) -> bool:
    """Return whether a label names an attribute that has the value."""
    if label is None or not label.attributes():
        return False
    stems = {stem(word) for word in label.text.casefold().split()}
    values = at.linked(match["value"])[0].values
    meant = {(option.type, option.attribute) for option in label.attributes() if option.score >= OWNING}
    if any((value.type, value.attribute) in meant for value in values):
        return True
    if may_be_verb(label.text.casefold()) and {(v.type, v.attribute) for v in values} == _meanings(label):
        return True  # pay cash, of a payment method
    return any(stems <= {*map(stem, label_words(value.attribute))} for value in values)  # a king bed: bed_type


def _is_apposition(at: Rewriter, label: QuestionLink | None, match: re.Match[str]) -> bool:
    """Return whether a label after a name says what it names: *the Harbour branch*."""
    types = {option.type for option in label.types()} if label is not None and is_type(label) else set()
    values = at.linked(match["value"])
    if label is None or not types or any(value.values or not types & value.node_types for value in values):
        return False
    is_one = len(values) == 1 and not label.text.casefold().endswith("s")
    return is_one or all(value.node_types <= types for value in values)


def values(at: Rewriter) -> None:
    """Values and names: ``whose citizenship is France``, ``French singers``, ``not built by Ford``."""
    _substrings(at)

    def restricted(label: QuestionLink | None, match: re.Match[str], *, negated: bool = False) -> str:
        values = at.linked(match["value"])
        op = "all" if " and " in match["value"] else "in" if len(values) > 1 else "="
        is_both = " both " in f"{match.string[: match.start()][-6:]}{match[0]}"
        return at.restrict(Restriction(label, op, values, negated, is_both=is_both))

    def labelled(match: re.Match[str]) -> str | None:
        before, after, negated = at.link(match["label"]), at.link(match["after"]), bool(match["not"])
        if match["preposition"] and not _owns(at, before, match):  # its headquarters in Paris, but not cities in France
            return None
        is_same = before is not None and after is not None and before.labels[:1] == after.labels[:1]
        if _is_apposition(at, after, match) and not is_same:
            return f"{match['label']} {restricted(after, match, negated=negated)}"
        if _owns(at, after, match):  # rooms with a modern decor
            return f"{match['label']} {restricted(after, match, negated=negated)}"
        value = at.linked(match["value"])[0]
        fits = before is None or is_type(before) or _owns(at, before, match) or not (value.values or value.nodes)
        is_name = before is not None and bool(value.nodes) and any(o.attribute == "name" for o in before.attributes())
        if not fits and not is_name and not match["preposition"]:  # the e-mail of the customer Ann Lee
            return f"{match['label']} {restricted(None, match, negated=negated)} {match['after'] or ''}"
        types = {option.type for option in before.types()} if before is not None and is_type(before) else set()
        if types and value.nodes and not value.values and not types & value.node_types:  # products that are yellow
            return f"{match['label']} {restricted(None, match, negated=negated)} {match['after'] or ''}"
        sign = restricted(before, match, negated=negated)
        is_context = is_type(before) and not value.nodes
        return f"{match['label'] if is_context else ''} {sign} {match['after'] or ''}"

    def named(match: re.Match[str]) -> str:
        label = at.link(match["after"])
        is_own = _owns(at, label, match) or _is_apposition(at, label, match)  # a modern decor, but modern rooms
        sign = restricted(label if is_own else None, match, negated=bool(match["not"]))
        asks = "which " if match.start() == 1 and match[0].startswith("which ") else ""  # which consultant has
        return f"{asks}{sign}" if is_own else f"{asks}{sign} {match['after'] or ''}"

    def lacking(match: re.Match[str]) -> str | None:
        are_names = all(value.nodes for value in at.linked(match["value"]))
        return restricted(None, match, negated=True) if are_names else None

    at.apply(rf"(?:(?:and|but) )?without (?:the )?{_VALUES}(?! <L)", lacking)

    def in_role(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        return restricted(label, match) if not is_type(label) and _owns(at, label, match) else None

    at.apply(rf"(?:is|was|are|were) (?P<value>{V}) (?:an?|the) (?P<label>{L})(?: (?:on|in|of|for|at))?(?= $)", in_role)
    after = rf"(?: (?P<after>{L}))?"
    either = "(?:either |both |the )*"
    at.apply(
        rf"(?P<label>{L}) (?:either )?{BE}(?P<not>{_LACKS})?{BE}"
        r"(?P<preposition>(?:in|at|from|by|on|as|for|about) (?:the )?)?"
        rf"{either}{_VALUES}{after}",
        labelled,
    )
    by = r"(?: (?!<)\w+){0,2} (?:by|in|from|at|on|of|to|for|about)(?: the| an?)?"
    at.apply(
        rf"(?:not|isn t|aren t|wasn t|weren t|never){by} {_VALUES}", lambda match: restricted(None, match, negated=True)
    )
    at.apply(rf"(?P<not>{_LACKS})?{BE}(?:about )?(?:the )?{_VALUES}{after}", named)
