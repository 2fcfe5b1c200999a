"""Builds the syntax tree of an answer expression from the tokens of ``grammar.lark``.

In a module of its own, so that a process that parses no expression does not load Lark.
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path as File
from typing import Any

import lark

from kbkit.answers.date_functions import DATE_FUNCTIONS, NUMBER_FUNCTIONS, USES
from kbkit.answers.errors import ExpressionError, relation_alone
from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Condition,
    DateFunction,
    Edge,
    Expression,
    Filter,
    Group,
    GroupTest,
    Key,
    Measure,
    Name,
    Nodes,
    Not,
    Order,
    OtherAttribute,
    Path,
    PathFunction,
    SavedSet,
    Slot,
    Step,
    Superlative,
    Test,
    ValueColumn,
)

_MAX_DIGITS = 60
_ARROWS = {"→": "->", "←": "<-"}
_ESCAPE = re.compile(r"\\(.)", re.S)


@cache
def parser() -> lark.Lark:
    """Return the parser of ``grammar.lark``, which returns trees of :mod:`kbkit.answers.syntax`."""
    grammar = File(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", transformer=_Builder(), maybe_placeholders=True)


def _unquote(text: str) -> str:
    return _ESCAPE.sub(lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), text[1:-1])


def _plain(token: lark.Token) -> str:
    text = str(token)
    return text[1:-1].replace("``", "`") if token.type == "QUOTED" else text


class _Builder(lark.Transformer[lark.Token, Any]):
    """Builds the tree during parsing."""

    def union(self, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else Combine("|", tuple(map(_set, parts)))

    def intersection(self, parts: list[Expression]) -> Expression:
        return Combine("&", tuple(map(_set, parts)))

    def difference(self, parts: list[Expression]) -> Expression:
        return Combine("-", tuple(map(_set, parts)))

    def path(self, parts: list[Any]) -> Path:
        return Path(tuple(parts[::2]), _arrows(parts[1::2]))

    def total(self, parts: list[Any]) -> Aggregate:
        op, source, columns, groups, having, order, _, limit = parts
        number = None if limit is None else _positive(limit)
        at = op.start_pos or 0
        name = ", ".join(re.split(r"\s*,\s*", op))
        return Aggregate(name, _set(source), columns or (), groups or (), order or (), number, having or (), at)

    def fraction(self, parts: list[Any]) -> Aggregate:
        op, part, _, source, groups, having, order, _, limit = parts
        number = None if limit is None else _positive(limit)
        rows = groups or (), order or (), number, having or ()
        return Aggregate(str(op), _set(source), (), *rows, op.start_pos or 0, _set(part))

    def columns(self, parts: list[ValueColumn]) -> tuple[ValueColumn, ...]:
        return tuple(parts)

    def column(self, parts: list[Any]) -> ValueColumn:
        return ValueColumn(*_measure(parts[0]))

    def groups(self, parts: list[Any]) -> tuple[Group, ...]:
        return tuple(parts[1:])

    def group_by(self, parts: list[Any]) -> Group:
        measure, *attribute = parts
        end = next((_measure(part)[0] for part in attribute if part is not None), None)
        assert not isinstance(end, PathFunction)
        return Group(*_measure(measure), end)

    def path_of(self, parts: list[Any]) -> PathFunction:
        return PathFunction(tuple(parts[1::2]), _arrows(parts[0::2]), parts[0].start_pos)

    def havings(self, parts: list[Any]) -> tuple[GroupTest, ...]:
        return tuple(parts[1:])

    def having(self, parts: list[Any]) -> GroupTest:
        (column, at), op, value = _measure(parts[0]), *parts[1:]
        number = _constant(value)
        assert isinstance(number, (int, float))
        assert not isinstance(column, PathFunction)
        return GroupTest(column, str(op), number, at)

    def orders(self, parts: list[Any]) -> tuple[Order, ...]:
        return tuple(parts[1:])

    def order(self, parts: list[Any]) -> Order:
        measure, direction = parts
        key, at = _measure(measure)
        return Order(key, direction is not None and direction.type == "DESCENDING", at)

    def group(self, parts: list[Expression]) -> Expression:
        nodes: Expression = _set(parts[0])
        return nodes

    def where(self, parts: list[Any]) -> Filter:
        return Filter(parts[0], tuple(parts[1:]))

    def type(self, parts: list[lark.Token]) -> lark.Token:
        return parts[0]

    def attribute(self, parts: list[lark.Token]) -> lark.Token:
        return parts[0]

    def name(self, parts: list[lark.Token]) -> Name:
        return Name(_unquote(parts[0]))

    def every(self, parts: list[lark.Token]) -> Name:
        return Name(_unquote(parts[0]), all=True)

    def nodes(self, parts: list[Any]) -> Nodes:
        token, *selectors = parts
        selector = next((s for s in selectors if s is not None), None)
        if isinstance(selector, lark.Token):
            text = str(selector)
            key = _unquote(text[1:]) if text[1] == '"' else text[1:]
            selector = _slot(selector) if selector.type == "SLOT" else Key(key)
        return Nodes(None if token.type == "STAR" else _plain(token), selector, token.start_pos or 0)

    def saved(self, parts: list[lark.Token]) -> SavedSet:
        return SavedSet(_plain(parts[1]), parts[0].start_pos or 0)

    def step(self, parts: list[Any]) -> Step:
        return Step(tuple(parts[2:]), parts[1] is not None, parts[0].start_pos)

    def edge(self, parts: list[Any]) -> Edge:
        inverse, name, before, tests, after = parts
        return Edge(_plain(name), inverse is not None, str(before or after or ""), name.start_pos or 0, tests or ())

    def edge_tests(self, parts: list[Test]) -> tuple[Test, ...]:
        return tuple(parts)

    def compare(self, parts: list[Any]) -> Condition:
        attribute, op, *values = parts
        constants = tuple(v if not isinstance(v, lark.Token) else _constant(v) for v in values if v is not None)
        return Condition(_plain(attribute), str(op), constants, at=attribute.start_pos)

    def contains(self, parts: list[Any]) -> Condition:
        attribute, negation, op, *values = parts
        constants = tuple(v if not isinstance(v, lark.Token) else _constant(v) for v in values if v is not None)
        return Condition(_plain(attribute), str(op), constants, negation is not None, attribute.start_pos)

    def compare_measure(self, parts: list[Any]) -> Comparison:
        measure, op, value = parts
        measured, at = _measure(measure)
        return Comparison(measured, str(op), value, at)

    def other(self, parts: list[lark.Token]) -> OtherAttribute:
        return OtherAttribute(_plain(parts[0]), parts[0].start_pos or 0)

    def missing(self, parts: list[Any]) -> Condition:
        negation, _, attribute = parts
        return Condition(_plain(attribute), "missing", (), negation is not None, attribute.start_pos)

    def superlative(self, parts: list[Any]) -> Superlative:
        op, measure, _, per = parts
        return Superlative(str(op), *_measure(measure), per=per)

    def top(self, parts: list[Any]) -> Superlative:
        op, number, measure, _, per = parts
        count = _slot(number) if number.type == "SLOT" else _positive(number)
        return Superlative(str(op), *_measure(measure), number=count, per=per)

    def negated(self, parts: list[Any]) -> Not:
        return Not(tuple(parts[1:]), parts[0].start_pos)

    def path_function(self, parts: list[Any]) -> PathFunction:
        op, *path, attribute = parts
        end = None if attribute is None else _measure(attribute)[0]
        assert not isinstance(end, PathFunction)
        return PathFunction(tuple(path[1::2]), _arrows(path[0::2]), op.start_pos or 0, str(op), end)

    def date_function(self, parts: list[lark.Token]) -> DateFunction:
        op, *dates = parts
        number = DATE_FUNCTIONS[op]
        if len(dates) != number:
            things = "numbers" if op in NUMBER_FUNCTIONS else "dates"
            message = f"{op} takes {'one date' if number == 1 else f'{number} {things}'}"
            at = dates[number].start_pos if len(dates) > number else op.start_pos
            raise ExpressionError(message, f"Write {USES[op]}", at=at or 0)
        return DateFunction(str(op), tuple(map(_plain, dates)), op.start_pos or 0)

    def value(self, parts: list[lark.Token]) -> Any:
        return _constant(parts[0])


def _arrows(tokens: list[lark.Token]) -> tuple[str, ...]:
    return tuple(_ARROWS.get(str(token), str(token)) for token in tokens)


def _set(part: Any) -> Any:
    if isinstance(part, Step):
        raise relation_alone(part.at)
    return part


def _constant(token: lark.Token) -> str | int | float | bool | Slot:
    text = str(token)
    if token.type == "STRING":
        return _unquote(text)
    if token.type == "SLOT":
        return _slot(token)
    if token.type in ("TRUE", "FALSE"):
        return token.type == "TRUE"
    if len(text) > _MAX_DIGITS or not math.isfinite(float(text)):
        raise ExpressionError("Number too large", at=token.start_pos or 0)
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def _positive(token: lark.Token) -> int:
    """Return a number of rows or nodes."""
    number = _constant(token)
    if not isinstance(number, int) or number < 1:
        raise ExpressionError(f"Invalid number {token}", "Use an integer from 1", at=token.start_pos or 0)
    return number


def _measure(part: Any) -> tuple[Measure, int]:
    """Return a measure, an attribute or a function of dates or of a path, and its position."""
    return (_plain(part), part.start_pos or 0) if isinstance(part, lark.Token) else (part, part.at)


def _slot(token: lark.Token) -> Slot:
    return Slot(str(token)[1:-1].strip())
