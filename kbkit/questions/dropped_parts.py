"""The parts of a question that a reading of all its words may still drop: a second question, a period, a clause.

A word is explained once a part of the expression is similar to it, so that what it adds to the question may be lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Condition,
    DateFunction,
    Expression,
    Filter,
    Nodes,
    Path,
    PathFunction,
    Step,
    Superlative,
    Test,
    subtrees,
)
from kbkit.english.question_words import PAYING, SUPERLATIVES, is_negation
from kbkit.english.words import is_plural
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import FAINT, label_words, stem
from kbkit.questions.reading_words import answer_type

_PREPOSITION = "for|in|with|from|at|on|to|of|by|as|since|until|during|under"
_SECOND = re.compile(
    rf"(?:(?:\band|\bor|&)(?: also| then)?,? (?:(?:{_PREPOSITION}) )?|, (?:{_PREPOSITION}) |\? *(?!which ones?\b))"
    r"(what|which|who|whom|when|where|why|how many|how much|how)\b"
)
_LAST = re.compile(rf"^(?:which|what|who|how|when|where) .*\w (?:{_PREPOSITION}) (which|what) [^\W\d_]+\W*$")
"""A question word at the end: *which pots are sold in which town*."""
_RELATIVE = re.compile(r"\w,? (?:who|which|where|when|whose) .*\band (?:who|which|where|when)\b")
"""Clauses side by side, of which the second one asks nothing: *towns which ... and which ...*."""
_ADVERBS = {"day": "daily", "week": "weekly", "month": "monthly", "quarter": "quarterly", "year": "yearly annual"}
"""Words of attributes that say a period: *35 per day*, of a daily rate."""
_PERIOD = re.compile(r"\b(?:each|every|per) (?:calendar )?(year|month|week|day|quarter|decade)\b|\bby (year|month)\b")
_CLAUSE = re.compile(r"(?<!what )\b(because|although|though|unless|whereas|if)\b(?! of )")
_WHETHER = re.compile(
    r"\b(?:check|see|know|tell|wonder|wondering|ask|say)(?: me| us)? if\b"
    r"|\bif (?:any|there|possible|known|so|you (?:can|could|know|have))\b"
)
_PRONOUN = re.compile(r"\b(?:and|or) (?:also )?(?:is|are|was|were|be|been) (?:also )?(\w+) \w+ (?:it|him|her|them)\b")
_TOGETHER = re.compile(r"\bor\b|\btogether\b|\bcombined\b|\boverall\b|\bbetween them\b")
_PAYING_MOST = re.compile(rf"\b({'|'.join(sorted(PAYING))}) (?:the )?(?:most|least)(?= ?(?:[?,.]|$|and\b|in\b|on\b))")
_ASKED_KIND = re.compile(r"(?:which|what) ([^\W\d_]+)\b|(?:who|what|which) (?:is|are|was|were) the \w+'s (\w+)\b")
_OF_ONE = ("avg", "min", "max", "sum")
_COPULAS = ("is", "are", "was", "were", "be", "being", "been", "all", "not", "t", "fully", "completely")
"""Words before a property of nodes: *recipes that are vegan*."""
_SIDES = 2
"""Sides of one difference."""
_STEP = 2
"""Arrows of a path of one step."""
_SUPERLATIVE = re.compile(rf"\b({'|'.join(SUPERLATIVES)}) ([a-z]+)\b")
_COLUMNS = 2
"""Number of columns that two questions ask for, at least."""


def dropped_part(elements: Elements, tree: Expression, text: str) -> str:
    """Return what a question (``text``, in lower case) says that an expression has nothing for; "" if there is none."""
    checks: tuple[Callable[[Elements, Expression, str], str], ...] = (
        _second_question,
        _period,
        _clause,
        _of_each_value,
        _second_predicate,
        _what_is_done,
        _other_than_asked,
        _of_neighbours,
        _denied_values,
        _spent,
        _one_of_several,
    )
    return next(filter(None, (check(elements, tree, text) for check in checks)), "")


def second_question(text: str) -> re.Match[str] | None:
    """Return the second question word of a question in lower case, as the first group of a match."""
    found = next((one for one in _SECOND.finditer(text) if one.start() > 0), _LAST.search(text))
    is_clause = found is not None and found[1] in ("who", "which", "where", "when") and _RELATIVE.search(text)
    return None if is_clause else found


def _second_question(_: Elements, tree: Expression, text: str) -> str:
    """Return the second question word, if an expression gives one column."""
    found = second_question(text)
    columns = len(tree.columns) + len(tree.groups) if isinstance(tree, Aggregate) else 1
    columns += isinstance(tree, Aggregate) and tree.op != "values" and bool(tree.groups)
    return f"'{found[1]}'" if found and columns < _COLUMNS else ""


def _period(_: Elements, tree: Expression, text: str) -> str:
    """Return *each month*, if an expression has neither groups by one nor an attribute that is called so."""
    found = _PERIOD.search(text)
    if found is None:
        return ""
    word, parts = found[1] or found[2], list(subtrees(tree))
    if any(isinstance(part, DateFunction) for part in parts):
        return ""
    said = {word, f"{word}s", *_ADVERBS.get(word, "").split()}
    names = {word for name in re.findall(r"\w+", str(tree)) for word in label_words(name)}
    return "" if said & names else f"'{found[0]}'"


def _clause(_: Elements, __: Expression, text: str) -> str:
    """Return the word that joins a subordinate clause."""
    found = _CLAUSE.search(_WHETHER.sub("", text))
    return f"'{found[1]}'" if found else ""


def is_of_each(tree: Aggregate, text: str, *, is_compared: bool = False) -> bool:
    """Return whether a question for a single total may ask for one of each of the things that it names."""
    ops = (*_OF_ONE, "count") if is_compared else _OF_ONE
    return {*tree.ops} <= {*ops} and not tree.groups and not _TOGETHER.search(text)


def of_each_value(tree: Expression, text: str, *, is_compared: bool = False) -> list[tuple[Expression, Condition]]:
    """Return the conditions on several values of which one total is given, with the nodes that meet them.

    *Male and female ... on average* asks for two; *or* and *combined* ask for one, and so does a count of both.
    """
    if not isinstance(tree, Aggregate) or not is_of_each(tree, text, is_compared=is_compared):
        return []
    parts = [part for part in subtrees(tree.source) if isinstance(part, Filter)]
    tests = [(part.source, test) for part in parts for test in part.conditions if isinstance(test, Condition)]
    return [(source, test) for source, test in tests if test.op == "in" and not test.negated]


def _of_each_value(_: Elements, tree: Expression, text: str) -> str:
    """Return what is missing if a single total of several values is given."""
    return "a total of each value" if of_each_value(tree, text) else ""


def _second_predicate(_: Elements, __: Expression, text: str) -> str:
    """Return the second verb whose object is a pronoun: *can replace butter and be replaced by it*."""
    found = _PRONOUN.search(text)
    return f"'{found[1]}'" if found else ""


def _spent(_: Elements, tree: Expression, text: str) -> str:
    """Return a verb of paying, if a superlative counts nodes instead: *who spent the most*, of those with most cars."""
    tests = (part.measure for part in subtrees(tree) if isinstance(part, Superlative))
    is_counted = any(isinstance(one, PathFunction) and one.op == "count" for one in tests)
    found = _PAYING_MOST.search(text) if is_counted else None
    return f"'{found[1]}'" if found else ""


def _one_of_several(elements: Elements, tree: Expression, text: str) -> str:
    """Return a superlative of a relation in the singular, if several nodes have one: *the highest point in the world*,
    where each country has a highest point.
    """
    path = tree.source if isinstance(tree, Aggregate) else tree
    step = path.elements[-2] if isinstance(path, Path) else None
    if not isinstance(path, Path) or not isinstance(step, Step) or "<-" in path.arrows:
        return ""
    start = path.elements[0]
    is_one = isinstance(start, Nodes) and start.selector is not None and len(path.arrows) <= _STEP
    words = {word for edge in step.edges for word in label_words(edge.relation)}
    found = next((one for one in _SUPERLATIVE.finditer(text) if {one[1], one[2]} <= words), None)
    if is_one or found is None or (isinstance(tree, Aggregate) and tree.op == "count"):
        return ""
    return f"which '{found[1]} {found[2]}'" if len(AnswerSet(elements.session, path)) > 1 else ""


def _what_is_done(elements: Elements, tree: Expression, text: str) -> str:
    """Return *what*, if an expression gives the nodes that are said to do something: *what did the parts come to*."""
    found = re.match(r"(?:and |so )?what (?:do|does|did) (?:(?:the|our|all|these) )*([^\W\d_]+)\b.*", text)
    if found is None or isinstance(tree, Aggregate) or not elements.typed:
        return ""
    kind = _number(elements, answer_type(tree))
    return "'what'" if kind in elements.types_called(stem(found[1])) else ""


def _other_than_asked(elements: Elements, tree: Expression, text: str) -> str:
    """Return *which* and the plural after it, if an expression gives nodes of another type: *which mechanics work*."""
    found = _ASKED_KIND.match(text)
    if found is None or isinstance(tree, Aggregate) or not elements.typed:
        return ""
    kinds = elements.types_called(stem(found[1] or found[2])) if found[2] or is_plural(found[1]) else set()
    kind = _number(elements, answer_type(tree))
    is_same = kind in kinds or (kind in elements.people and not kinds.isdisjoint(elements.people))
    return f"'{found[0]}'" if kinds and not is_same else ""  # managers are people


def _of_neighbours(elements: Elements, tree: Expression, text: str) -> str:
    """Return a yes or no that only several neighbours of the nodes have: a recipe is not vegan as an ingredient is."""
    words = re.findall(r"[^\W\d_]+", text)
    for path in (part for part in subtrees(tree) if isinstance(part, Path) and elements.typed):
        first, end = path.elements[0], _number(elements, answer_type(path))
        kind = _number(elements, answer_type(first)) if isinstance(first, Filter) else -1
        if not isinstance(first, Filter) or kind in (-1, end):
            continue
        if any(elements.type_labels.similarity(word)[kind] >= FAINT for word in words):
            continue
        ways = elements.paths(end, kind)
        if ways and all(map(elements.is_single, ways[0])):
            continue
        tests = [test for test in first.conditions if _is_yes_or_no(test)]
        if len(tests) < len(first.conditions):  # late on a delivery, of trips that are deliveries
            continue
        said = {word for test in tests if isinstance(test, Condition) for word in label_words(test.attribute)}
        for before, word, after in zip(["", "", *words], ["", *words, ""], [*words, "", ""], strict=True):
            is_of_end = after != "" and elements.type_labels.similarity(after)[end] >= FAINT
            if word in said and (before in _COPULAS or is_of_end):
                return f"'{word}' of {answer_type(first)}"
    return ""


def _is_yes_or_no(test: Test) -> bool:
    """Return whether a condition is that a column says yes or no."""
    return isinstance(test, Condition) and len(test.values) == 1 and isinstance(test.values[0], bool)


class DeniedPart(NamedTuple):
    """The nodes ``others`` of a set ``everything`` of which a question denies something."""

    everything: Expression
    others: Expression
    is_no: bool
    """Whether a column that says no denies it."""


def denied_part(elements: Elements, tree: Expression, text: str) -> DeniedPart | None:
    """Return what is denied of nodes, if a question asks for values that the others and the answers have.

    The breeds that were never treated are not those of any animals that were not.
    """
    words = re.findall(r"[^\W\d_]+", text.replace("n't", " not"))
    is_denied = any(is_negation(word, after) for word, after in pairwise([*words, ""]))
    is_list = isinstance(tree, Aggregate) and tree.op == "values" and not tree.groups and len(tree.columns) == 1
    if not isinstance(tree, Aggregate) or not is_list or not is_denied or tree.columns[0].measure in ("name", "key"):
        return None
    found = _denied(tree.source)
    trees = () if found is None else (tree, replace(tree, source=found.others))
    values = [{*map(str, AnswerSet(elements.session, one).value or ())} for one in trees]
    return found if values and values[0] & values[1] else None


def _denied_values(elements: Elements, tree: Expression, text: str) -> str:
    """Return what is unclear if values are asked for of nodes of which something is denied."""
    return "whether none or some are meant" if denied_part(elements, tree, text) is not None else ""


def _denied(source: Expression) -> DeniedPart | None:
    """Return the nodes that a difference of two sets or one condition takes away, if there is one."""
    if isinstance(source, Combine) and source.op == "-" and len(source.parts) == _SIDES:
        return DeniedPart(source.parts[0], Combine("&", source.parts), False)
    if not isinstance(source, Filter):
        return None
    denials = [(test, _affirmed(test)) for test in source.conditions if _affirmed(test) != test]
    if len(denials) != 1:
        return None
    [(denial, affirmed)] = denials
    rest = tuple(test for test in source.conditions if test is not denial)
    everything = Filter(source.source, rest) if rest else source.source
    return DeniedPart(everything, Filter(everything, (affirmed,)), _is_yes_or_no(denial))


def _affirmed(test: Test) -> Test:
    """Return the condition that one denies; itself if it denies nothing."""
    if not isinstance(test, Condition):
        return test
    if test.op == "=" and _is_yes_or_no(test) and not test.values[0]:
        return replace(test, values=(True,))
    return replace(test, op="=") if test.op == "!=" else replace(test, negated=False)


def _number(elements: Elements, name: str | None) -> int:
    return next((number for number, one in enumerate(elements.types) if one.name == name), -1)
