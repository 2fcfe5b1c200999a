"""Word conditions on measures along a path: *branches that have loans whose average fine is more than 1*."""

from __future__ import annotations

from kbkit.answers.algebra import (
    AllNodes,
    AttributeCondition,
    DateMeasure,
    Extreme,
    Measure,
    MeasureFilter,
    PathMeasure,
)
from kbkit.answers.resolve_attributes import is_number
from kbkit.english.attributes import words_of_name
from kbkit.english.clauses import Clause
from kbkit.english.types import type_noun, type_plural
from kbkit.english.words import with_article
from kbkit.schema import Schema

_NUMBERS = {
    **{">": "more than", ">=": "at least", "<": "fewer than", "<=": "at most", "=": "exactly"},
    "!=": "a number other than",
}
_VALUES = {**_NUMBERS, "<": "less than", "=": "", "!=": "not"}
_THAN = {
    **{">": "more {} than {}", ">=": "at least as many {} as {}", "<": "fewer {} than {}"},
    **{"<=": "at most as many {} as {}", "=": "as many {} as {}"},
}
_FUNCTIONS = {"sum": "total", "avg": "average", "max": "greatest", "min": "least"}


def measure_clause(operator: MeasureFilter | Extreme, schema: Schema, constant: str) -> Clause | None:
    """Return the clause of a filter or superlative; None if it would not say which nodes are reached.

    ``constant`` is what the measure compares with, in words, unless that is another measure.
    """
    measure = operator.measure
    if isinstance(measure, DateMeasure):
        return _dates_clause(operator, measure, constant)
    nodes = _reached(operator.type, measure, schema)
    if not nodes or not isinstance(measure, PathMeasure):
        return None
    if isinstance(operator, Extreme):
        is_plain = operator.number is None and operator.per is None
        return _superlative(operator, measure, nodes) if is_plain else None
    if isinstance(operator.other, PathMeasure):
        others = _reached(operator.type, operator.other, schema)
        both = measure.is_number_of_nodes and operator.other.is_number_of_nodes
        return _having(_THAN[operator.op].format(nodes, others)) if both and others and operator.op in _THAN else None
    if not constant:
        return None
    if measure.of_edges and measure.op != "count":
        than = f"{_VALUES[operator.op]} ".lstrip()
        return _having(f"{with_article(_named(measure))} of {than}{constant} over all {nodes}")
    if measure.attribute is None:
        noun = type_noun(str(measure.end)) if constant == "1" else nodes
        return _having(f"{_NUMBERS[operator.op]} {constant} {noun}")
    if measure.op == "count":
        return None
    words = words_of_name(measure.attribute.name)
    value = f"{_VALUES[operator.op]} {constant}{f' {words.unit.symbol}' if words.unit else ''}".strip()
    return _having(f"{nodes} whose {_named(measure)} is {value}")


def condition_phrase(test: AttributeCondition, value: str) -> str:
    """Return what a condition on an edge says: *quantity 2*, *a grade of at least 4*; "" if it would not read well.

    ``value`` is its only value in words, or "".
    """
    words = words_of_name(test.attribute)
    if not value or test.negated or test.op not in _VALUES or test.op == "!=":
        return ""
    shown = f"{value}{f' {words.unit.symbol}' if words.unit else ''}"
    if test.op == "=" and (test.sql_type == "VARCHAR" or is_number(test.sql_type)):
        return f"{words.noun} {shown}"
    return f"{with_article(words.noun)} of {_VALUES[test.op]} {shown}" if is_number(test.sql_type) else ""


_DATED = ("date", "day", "time")
"""The last words of nouns of dates."""


def _dates_clause(operator: MeasureFilter | Extreme, measure: DateMeasure, constant: str) -> Clause | None:
    """Return the clause of the days between two dates: *more than 14 days between the order date and the due date*."""
    nouns = [words_of_name(date.name).noun for date in measure.dates]
    if measure.op != "days" or not all(noun.rpartition(" ")[2] in _DATED for noun in nouns):
        return None
    between = f"between the {nouns[0]} and the {nouns[1]}"
    if isinstance(operator, Extreme):
        is_plain = operator.number is None and operator.per is None
        return _having(f"the {'most' if operator.greatest else 'fewest'} days {between}") if is_plain else None
    days = "day" if constant == "1" else "days"
    return _having(f"{_NUMBERS[operator.op]} {constant} {days} {between}") if constant else None


def _superlative(operator: Extreme, measure: PathMeasure, nodes: str) -> Clause | None:
    if measure.attribute is None:
        return _having(f"the {'most' if operator.greatest else 'fewest'} {nodes}")
    best = "highest" if operator.greatest else "lowest"
    if measure.of_edges:
        return None if measure.op == "count" else _having(f"the {best} {_named(measure)} over all {nodes}")
    if measure.op == ("max" if operator.greatest else "min"):
        return _having(f"{nodes} with the {best} {words_of_name(measure.attribute.name).noun}")
    if measure.op not in ("sum", "avg"):
        return None
    return _having(f"{nodes} with the {best} {_named(measure)}")


def _named(measure: PathMeasure) -> str:
    """Return a function of an attribute in words: *average fine*; *total* if that is the attribute's name."""
    assert measure.attribute is not None
    function, noun = _FUNCTIONS[measure.op], words_of_name(measure.attribute.name).noun
    return noun if noun.startswith(function) else f"{function} {noun}"


def _reached(node_type: str | None, measure: Measure, schema: Schema) -> str:
    """Return the plural of what a measure reaches; "" if other paths could be meant by it."""
    if not isinstance(measure, PathMeasure) or len(measure.steps) > 1:
        return ""
    step = measure.steps[0]
    if not isinstance(step.within, (AllNodes, type(None))) or any(move.conditions for move in step.moves):
        return ""
    end = measure.end
    if node_type is None or end is None or end == node_type or len(schema.relations_between(node_type, end)) != 1:
        return ""
    return type_plural(end)


def _having(things: str) -> Clause:
    return Clause(f"has {things}", f"have {things}", f"with {things}")
