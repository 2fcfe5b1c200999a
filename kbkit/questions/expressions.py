"""Write a candidate reading as an answer expression."""

from __future__ import annotations

import math
import sys
from decimal import Decimal

from kbkit.answers.resolve_attributes import is_number
from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Condition,
    Edge,
    Expression,
    Filter,
    Key,
    Name,
    Nodes,
    Path,
    PathFunction,
    Step,
    Superlative,
    ValueColumn,
)
from kbkit.english.question_words import ADJECTIVES, goodness
from kbkit.questions.candidates import Topic
from kbkit.questions.element_lists import COMPARED, COMPARED_NEIGHBOURS, HOP, MOST, MOST_NEIGHBOURS, VALUE, Element
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import label_words
from kbkit.questions.question import Question

_MAX_WHOLE = 2**63 - 1
_MAX_DIGITS = 18
"""Digits of whole numbers that BIGINT always holds."""


def expression(
    elements: Elements, question: Question, topics: tuple[Topic, ...], arms: list[list[Element]], combine: str
) -> Expression:
    """Return the expression of a candidate: of its arms from ``topics``, combined as by :class:`Frame`."""
    sets = [_arm(elements, question, topic, arm) for topic, arm in zip(topics, arms, strict=True)]
    if combine == "complement":
        last = arms[0][-1].target if arms[0] else topics[0].type
        tree: Expression = Combine("-", (Nodes(elements.types[last].name), sets[0]))
    elif combine:
        tree = Combine(combine, tuple(sets))
        if combine == "-" and arms[1] and arms[1][-1].target == topics[1].type:  # not Germany, nor its neighbours
            tree = Combine("-", (tree, start(elements, topics[1])))
    else:
        tree = sets[0]
    last_element = arms[0][-1] if arms[0] else None
    if last_element is not None and last_element.kind == VALUE:
        has_total = question.total and is_number(type_of_value(elements, last_element))
        return Aggregate(question.total if has_total else "values", tree, (ValueColumn(last_element.name),))
    return Aggregate("count", tree) if question.is_count else tree


def type_of_value(elements: Elements, value: Element) -> str:
    """Return the DuckDB type of an attribute."""
    attributes = elements.types[value.source].attributes
    return next((attribute.type for attribute in attributes if attribute.name == value.name), "")


def _arm(elements: Elements, question: Question, topic: Topic, arm: list[Element]) -> Expression:
    first = start(elements, topic)
    tree: Expression = first
    hops = 0
    for element in arm:
        if element.kind == HOP:
            hops += 1
            tree = followed(elements, tree, element)
            # From the second hop on, a path may lead back to where it started, which is not what is asked.
            if topic.nodes and hops > 1 and element.target == topic.type:
                tree = Combine("-", (tree, first))
        elif element.kind in (MOST, MOST_NEIGHBOURS):
            assert question.superlative is not None
            sign = question.superlative.adjective.sign * (-1 if _is_reversed(question, element) else 1)
            measure = element.name if element.kind == MOST else _count(elements, element)
            tree = Filter(tree, (Superlative("max" if sign > 0 else "min", measure),))
        elif element.kind in (COMPARED, COMPARED_NEIGHBOURS):
            tree = Filter(tree, (_comparison(elements, question, element),))
    return tree


def start(elements: Elements, topic: Topic) -> Expression:
    """Return the nodes of a topic: by their name if it has no others, else by their keys."""
    known = elements.types[topic.type].name
    if not topic.nodes:
        return Nodes(known)
    nodes = elements.session.stores.nodes
    rows = [nodes.row(node) for node in topic.nodes]
    [same] = nodes.by_name(known, [rows[0].name])
    if {row.id for row in same} == {*topic.nodes} and rows[0].name.strip():
        return Nodes(known, Name(rows[0].name, all=len(same) > 1))
    keys = tuple(Nodes(known, Key(row.key)) for row in rows)
    return keys[0] if len(keys) == 1 else Combine("|", keys)


def followed(elements: Elements, tree: Expression, hop: Element) -> Path:
    """Return the nodes that a hop reaches from a set."""
    added = (step(elements, hop), Nodes(elements.types[hop.target].name))
    if isinstance(tree, Path):
        return Path((*tree.elements, *added), (*tree.arrows, "->", "->"))
    return Path((tree, *added), ("->", "->"))


def step(elements: Elements, hop: Element) -> Step:
    """Return the step of a hop; the direction is written only where the relation could be followed forward.

    A mutual relation is followed in both directions.
    """
    if hop.name in elements.mutual:
        return Step((Edge(hop.name), Edge(hop.name, inverse=True)))
    schema = elements.session.schema
    source, target = elements.types[hop.source].name, elements.types[hop.target].name
    forward = schema.direction(schema.relation(hop.name), source, target)
    return Step((Edge(hop.name, inverse=not hop.forward and forward is True),))


def _count(elements: Elements, element: Element) -> PathFunction:
    hop = elements.all[element.hop]
    return PathFunction((step(elements, hop), Nodes(elements.types[hop.target].name)), ("->", "->"))


def _comparison(elements: Elements, question: Question, element: Element) -> Condition | Comparison:
    found = question.comparison
    assert found is not None
    number = Decimal(found.number)
    if element.kind == COMPARED_NEIGHBOURS:
        return Comparison(_count(elements, element), *whole_number(found.operator, number))
    operator = found.operator
    if found.adjective.dates and is_date(element.name):
        operator = {">": "<", "<": ">", ">=": "<=", "<=": ">="}.get(operator, operator)
    kind = next(a.type for a in elements.types[element.source].attributes if a.name == element.name)
    if kind.startswith(("DATE", "TIMESTAMP")):
        return Condition(element.name, operator, (year(number),))
    operator, constant = compared_number(kind, operator, found.number)
    return Condition(element.name, operator, (constant,))


def compared_number(kind: str, operator: str, number: str) -> tuple[str, int | float]:
    """Return the comparison of numbers of a DuckDB type with a number, which is whole if they are."""
    if kind.endswith("INT") or kind == "INTEGER":
        return whole_number(operator, Decimal(number))
    return operator, number_of(number)


def number_of(text: str) -> int | float:
    """Return a number in digits as SQL compares with it: one of more digits than BIGINT has is rounded."""
    if "." not in text and len(text) <= _MAX_DIGITS:
        return int(text)
    return min(float(text), sys.float_info.max)


def whole_number(operator: str, number: Decimal) -> tuple[str, int]:
    """Return a comparison of whole numbers that means the same as one with any number."""
    whole = math.floor(number)
    if whole == number or whole > _MAX_WHOLE:
        return operator, min(whole, _MAX_WHOLE)
    return ("<", -_MAX_WHOLE) if operator == "=" else (operator[0], whole + 1) if operator[0] == "<" else (">", whole)


def year(number: Decimal) -> int | str:
    """Return a number as a year, which dates compare with as a whole; as its first day if it has no four digits."""
    whole = min(max(1, int(number)), 9999)
    return whole if 1000 <= whole < 9999 else f"{whole:04}-01-01"


def _is_reversed(question: Question, element: Element) -> bool:
    """Return whether a superlative means the least of an attribute though it is the most of others.

    That is so for dates, as the oldest has the earliest, and for what is bad, as the best has the least errors.
    """
    assert question.superlative is not None
    adjective = question.superlative.adjective
    if adjective.nouns == ADJECTIVES["good"].nouns and goodness(label_words(element.name)) < 0:
        return True
    return adjective.dates and is_date(element.name)


def is_date(name: str) -> bool:
    """Return whether an attribute is a date by its name: of dates, the oldest has the least."""
    said = f"{name.lower()} {' '.join(label_words(name))}"
    return any(word in said for word in ("year", "date", "born", "birth", "founded", "time"))


def is_named(tree: Expression) -> bool:
    """Return whether an expression is a named node, or any of several."""
    if isinstance(tree, Combine) and tree.op == "|":
        return all(map(is_named, tree.parts))
    return isinstance(tree, Nodes) and tree.selector is not None


def both(tree: Expression, other: Expression) -> Expression:
    """Return the nodes of both; of ``other`` alone if the first are all nodes of its type."""
    if isinstance(tree, Nodes) and tree.selector is None:
        return other
    if isinstance(tree, Filter) and isinstance(tree.source, Nodes) and tree.source.selector is None:
        return Filter(other, tree.conditions)
    return Combine("&", (tree, other))
