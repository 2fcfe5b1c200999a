"""Doubts about rows: whether what repeats counts once, and questions about their order, which a KB does not keep."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import Aggregate, Condition, Expression, Filter, Not
from kbkit.questions.elements import Elements
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink

_DISTINCT = frozenset("different distinct unique various separate".split())  # noqa: SIM905
_LIST = r"(?:list|table|chart)\b"
_ORDER = re.compile(
    r"\b(?:listed|shown) (?:first|last|next|above|below|before|after|at the (?:top|bottom))\b"
    rf"|\b(?:first|last|next|top|bottom)\b(?: [\w'-]+){{0,3}} (?:on|in|of) (?:the|this) {_LIST}"
    rf"|\b(?:above|below|before|after|previous to|prior to|next to)\b.+\b(?:on|in) (?:the|this) {_LIST}"
    r"|\b(?:previous|prior) to\b",
    re.I,
)
_BESIDE = ("above", "below", "beneath", "underneath")


def order_of_rows(question: Question, links: Sequence[QuestionLink]) -> str:
    """Return the words that ask for the order of rows: *listed first*, *below Roy*; empty if none do."""
    if found := _ORDER.search(question.text):
        return found[0].casefold()
    words = [token.word for token in question.tokens]
    named = (link for link in links if link.is_value and not link.number and link.first)
    return next((words[link.first - 1] for link in named if words[link.first - 1] in _BESIDE), "")


def repeats(elements: Elements, tree: Expression, words: Sequence[str]) -> bool:
    """Return whether an expression counts distinct values that repeat, or those of one node, and no word says so.

    *How many players were from Waterford*: the rows with a player, or the players?
    """
    is_count = isinstance(tree, Aggregate) and tree.op == "count" and len(tree.columns) == 1 and not tree.groups
    if not is_count or not _DISTINCT.isdisjoint(words):
        return False
    assert isinstance(tree, Aggregate)
    measure = tree.columns[0].measure
    if not isinstance(measure, str) or tree.source is None:
        return False
    known = len(AnswerSet(elements.session, Filter(tree.source, (Not((Condition(measure, "missing"),)),))))
    return known == 1 or known > AnswerSet(elements.session, tree).value
