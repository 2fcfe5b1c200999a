"""The rules that read rows: attributes and nodes side by side, and values that stand for the nodes that have them."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import FUNCTION_WORDS, GREETINGS, PERSON_WORDS, PLAIN_WORDS
from kbkit.english.words import PREPOSITIONS
from kbkit.questions.clauses import AskedTarget, L, Restriction, Rewriter, is_type
from kbkit.questions.question_link import QuestionLink

PAIR = "a pair of kinds of nodes"
"""Why a question for nodes of two types side by side is not read."""
_RELATIVE = ("that", "which", "who", "with", "whose")
UNSAID = FUNCTION_WORDS | PLAIN_WORDS | PERSON_WORDS | GREETINGS
"""Words that need no explanation."""


def _is_plural_noun(text: str) -> bool:
    """Return whether a value is written as the plural of a noun: *comedies*."""
    return text.endswith("s") and text[1:].islower()


def heads(at: Rewriter, text: str) -> None:
    """``organizations that won a prize``, ``how many herbs``: a value stands for the nodes that have it."""
    clauses = at.clauses
    signs = r"(?P<signs>(?:<C\d+> )+)"
    head = re.match(rf" (?P<lead>(?:(?!<)\S+ )*)(?:<S\d+> )?{signs}(?!<L)(?P<after>\S*)", text)
    if head is None or clauses.targets or clauses.is_yes_no or clauses.groups or clauses.is_where:
        return
    if clauses.is_who and head["after"] != "who":  # technicians who wrote a paper
        return
    side_by_side = [clauses.restrictions[int(number)] for number in re.findall(r"\d+", head["signs"])]
    plurals = [one for one in side_by_side if len(one.values) == 1 and _is_plural_noun(one.values[0].text)]
    lead, found = head["lead"].split(), plurals[-1] if plurals else side_by_side[0]  # animated comedies
    if set(lead) & PREPOSITIONS - {"of"} or not {*lead} <= UNSAID | {"number", "count", "many"}:
        return
    if (
        type(found) is not Restriction
        or found.label is not None
        or found.negated
        or found.operand
        or len(found.values) != 1
        or found.values[0].number
    ):
        return
    is_count = "many" in lead or lead[-2:] == ["number", "of"] or lead[:1] == ["count"]
    is_asked = is_count or lead[-1:] in (["which"], ["what"])
    is_best = clauses.most is not None and not head["after"]  # the shortest comedy
    is_described = bool(found.values[0].values) and head["after"] in _RELATIVE
    if not (is_asked or plurals or is_best or is_described):
        return
    clauses.head, clauses.is_who = found.values[0], False
    if is_count:
        clauses.targets.append(AskedTarget(None, "count"))
        at.text = re.sub(r" how many(?= <)| number of(?= <)|^ count(?= <)", "", at.text, count=1)


def named_rows(at: Rewriter, text: str) -> None:
    """``cities with their populations``, ``which films ..., and from what year``: attributes beside the names."""
    clauses = at.clauses
    head = re.match(rf" (?:(?!<[LVNT])\S+ )*?(?P<type>{L}) ", text)
    link = at.link(head["type"]) if head else None
    if head is None or link is None or link not in clauses.context or any(target.total for target in clauses.targets):
        return
    beside = r"(?:(?:with|and|including|plus|along with|together with) (?:also )?(?:their|its|his|her)|"
    beside += r"(?:with|including|plus|along with|together with) (?:also )?(?:the|each)|"
    beside += r"and(?: (?:in|from|of|at|on|for))? (?:what|which|whose))"
    rest = re.search(rf" {beside} (?:<S\d> )?(?P<first>{L}) ", text[head.end() - 1 :])
    first = clauses.targets[0].label if clauses.targets else None
    if rest is not None and first is not None and first == at.link(rest["first"]):
        clauses.targets.insert(0, AskedTarget(names_of(link)))


def node_pairs(at: Rewriter, text: str) -> None:
    """``the makers and the models``, ``titles of songs and their singers``: the names of the nodes of a type, too."""
    clauses = at.clauses
    joined = re.search(rf"(?P<the>the )?(?P<first>{L}) and (?P<of>(?:(?:the|all|their|its) )*)(?P<second>{L})", text)
    total = re.search(rf"<T\d+> and (?:the |their )?({L}) ", text)
    if total and is_type(at.link(total[1])) and at.link(total[1]) in clauses.context:
        clauses.unread.append("a total beside nodes")  # the maximum power and the make of the cars
    also = re.search(rf" (?:(?:are|is|was|were|been) also|also (?:been|be|a|an))(?: (?:been|a|an))* ({L}) ", text)
    other = at.link(also[1]) if also else None
    named = [link for link in map(at.link, re.findall(L, text)) if link is not None and link is not other]
    if other is not None and is_type(other) and other.labels[:1] not in [link.labels[:1] for link in named]:
        clauses.unread.append("'also'")  # artists who were also presenters, but not countries that are also countries
    beside = re.search(rf" (?:with|and|including|plus) (?:their|its) (?P<second>{L})(?= $)", text)
    second = at.link(beside["second"]) if beside else None
    if second is not None and is_type(second) and second in clauses.context[1:] and not clauses.targets:
        clauses.targets = [AskedTarget(names_of(link)) for link in (clauses.context[0], second)]
        return  # the versions with their project
    if joined is None:
        return
    owned = joined["of"].split()
    is_row = "their" in owned or "its" in owned or ("the" in owned and joined["the"] is not None)
    first, second = at.link(joined["first"]), at.link(joined["second"])
    pair = [link for link in (first, second) if is_type(link) and link in clauses.context]
    is_alone = not clauses.targets and len(clauses.context) == 2 and not clauses.most and not clauses.groups
    if len(pair) == 2 and is_alone and is_row:  # "rivers and lakes" are not rivers beside their lakes
        clauses.targets = [AskedTarget(names_of(link)) for link in clauses.context]
    elif len(pair) == 2 and not clauses.targets and pair[0].role and len(clauses.context) > len(pair):
        clauses.targets = [AskedTarget(names_of(link)) for link in pair]  # the origin and destination of routes
        clauses.context = [link for link in clauses.context if link not in pair]
    elif len(pair) == 2:
        clauses.unread.append(PAIR)
    elif pair and first is pair[0] and second is not None and not {o.type for o in first.types()} & owners_of(second):
        clauses.unread.append(PAIR)  # the savings and checking balances
    elif pair and second is pair[0] and first is not None and not first.is_verb and clauses.targets:
        clauses.targets.append(AskedTarget(names_of(second)))


def owners_of(link: QuestionLink) -> set[int]:
    """Return the types that have an attribute which a link may mean."""
    return {option.type for option in link.attributes()}


def names_of(link: QuestionLink) -> QuestionLink:
    """Return the names of the nodes of a type."""
    return replace(link, labels=tuple(replace(option, attribute="name") for option in link.types()[:1]))
