"""Conditions on attributes of answers (*a height of at least 5,000 m*): which fit a node, and their wording."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit import english
from kbkit.answers import syntax
from kbkit.english.askable import is_technical
from kbkit.english.attributes import attribute_words
from kbkit.english.readable import label_problem
from kbkit.english.words import YEARS
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, quote

_NOT_COMPARED = re.compile(r"(?i)(?:.* )?(?:number|no|rank)")
"""Numbers that are no amounts."""
_NUMERIC = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|DECIMAL.*)")
_RANKS = (1.0, 1.5, 2.0, 3.0)
"""Ranks at which a threshold is tried, relative to the wanted number of answers."""
_MAX_VALUES, _MAX_LENGTH = 50, 30
"""Distinct values of a text attribute, and characters of a value."""


@dataclass(frozen=True)
class WordedCondition:
    """A test of an attribute, worded in three ways.

    ``test`` is a condition of the answer algebra (``height_m >= 5000``). ``predicates`` are for one and for several
    things (``has a height of at least 5,000 m``); ``whose`` or ``modifier`` follow a noun (``kind is 'gulf'``; ``with a
    height of at least 5,000 m``).
    """

    attribute: str
    test: str
    predicates: tuple[str, str]
    whose: str = ""
    modifier: str = ""


class Conditions:
    """The attributes of a node type with their values, and the conditions that nodes of it can meet."""

    def __init__(self, kb: KnowledgeBase, node_type: str) -> None:
        self._table = kb.schema.type(node_type).table
        self._tables = kb.tables
        self._numeric: list[Attribute] = []
        self._texts: list[Attribute] = []
        for attribute in kb.schema.type(node_type).attributes:
            words = attribute_words(attribute).noun
            if _NOT_COMPARED.fullmatch(words) or label_problem(words) or is_technical(words):
                continue
            if _NUMERIC.fullmatch(attribute.type):
                self._numeric.append(attribute)
            elif attribute.type == "VARCHAR" and self._is_category(attribute):
                self._texts.append(attribute)

    def _is_category(self, attribute: Attribute) -> bool:
        name = quote(attribute.name)
        row = self._tables.rows(f"SELECT count(DISTINCT {name}), max(length({name})) FROM {quote(self._table)}")[0]
        return bool(1 < row[0] <= _MAX_VALUES and row[1] <= _MAX_LENGTH)

    @property
    def is_empty(self) -> bool:
        """Whether the type has no such attribute."""
        return not self._numeric and not self._texts

    def values(self, nodes: Sequence[int]) -> pl.DataFrame:
        """Return the attributes of nodes, in their order."""
        columns = ", ".join(f"t.{quote(a.name)}" for a in [*self._numeric, *self._texts])
        wanted = pl.DataFrame({"id": pl.Series(list(nodes), dtype=pl.Int32)}).with_row_index("position")
        sql = f"SELECT {columns} FROM kbkit_wanted w LEFT JOIN {quote(self._table)} t USING (id) ORDER BY w.position"
        return self._tables.lookup(sql, frames={"kbkit_wanted": wanted})

    def options(self, values: pl.DataFrame, gold: int, wanted: int) -> list[tuple[WordedCondition, NDArray[np.bool_]]]:
        """Return conditions that the node in row ``gold`` meets, each with the rows that meet it.

        Numeric thresholds are such that about ``wanted`` rows meet them, or a few times as many.
        """
        conditions: list[tuple[WordedCondition, NDArray[np.bool_]]] = []
        for attribute in self._numeric:
            column = values[attribute.name].cast(pl.Float64).to_numpy()
            if not math.isfinite(column[gold]):
                continue
            for low, high in _intervals(column, gold, wanted, are_years=_are_years(attribute, column)):
                mask = (column >= low) & (column <= high)
                if mask[gold]:
                    conditions.append((_between(attribute, low, high, are_years=_are_years(attribute, column)), mask))
        for attribute in self._texts:
            value = values[attribute.name][gold]
            if value:
                mask = (values[attribute.name] == value).fill_null(value=False).to_numpy()
                conditions.append((_equal(attribute, value), mask))
        return conditions


def _are_years(attribute: Attribute, column: NDArray[np.float64]) -> bool:
    known = column[np.isfinite(column)]
    words = attribute.name.casefold().split("_")
    is_named = "year" in words or english.is_participle(words[-1])
    return is_named and bool(len(known)) and bool(((known >= YEARS[0]) & (known <= YEARS[1])).all())


def _intervals(column: NDArray[np.float64], gold: int, wanted: int, *, are_years: bool) -> list[tuple[float, float]]:
    """Return intervals around a value with round bounds, one of them infinite unless the values are years."""
    known = np.unique(column[np.isfinite(column)])
    value = column[gold]
    ascending = np.sort(column[np.isfinite(column)])
    ranges: list[tuple[float, float]] = []
    for factor in _RANKS:
        rank = max(1, round(factor * wanted))
        if rank >= len(ascending):
            break
        low, high = ascending[-rank], ascending[rank - 1]
        if value >= low:
            ranges.append((_round_between(known[known < low], low), math.inf))
        if value <= high:
            ranges.append((-math.inf, -_round_between(-known[known > high][::-1], -high)))
        if are_years and wanted > 1:
            first = int(np.searchsorted(ascending, value))
            start = max(0, min(first - rank // 2, len(ascending) - rank))
            ranges.append((float(ascending[start]), float(ascending[start + rank - 1])))
    return list(dict.fromkeys((low, high) for low, high in ranges if low < high))


def _round_between(below: NDArray[np.float64], bound: float) -> float:
    """Return the roundest number above all of ``below`` and at most ``bound``."""
    floor = float(below[-1]) if len(below) else -math.inf
    if not bound:
        return 0.0
    for digits in range(1, 8):
        step = 10.0 ** (math.floor(math.log10(abs(bound))) - digits + 1)
        rounded = math.floor(bound / step) * step
        if rounded > floor:
            return float(round(rounded, 10))
    return float(bound)


def _number(value: float, *, is_year: bool = False) -> str:
    if value == int(value):
        return str(int(value)) if is_year else f"{int(value):,}"
    return f"{value:,.10g}"


def _literal(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _between(attribute: Attribute, low: float, high: float, *, are_years: bool) -> WordedCondition:
    name = syntax.identifier(attribute.name)
    bounds = [(">=", low)] if math.isfinite(low) else []
    bounds += [("<=", high)] if math.isfinite(high) else []
    tests = [f"{name} {op} {_literal(bound)}" for op, bound in bounds]
    first, last = (_number(bound, is_year=True) if math.isfinite(bound) else "" for bound in (low, high))
    noun, unit = _noun_and_unit(attribute)
    if are_years:
        either = f"{first} or {last}" if high == low + 1 else ""
        when = either or (
            f"{first} or later" if not last else f"{last} or earlier" if not first else f"the years {first} to {last}"
        )
        if english.is_participle(noun):
            during = f"{noun} between {first} and {last}" if first and last and not either else f"{noun} in {when}"
            return WordedCondition(
                attribute.name, ", ".join(tests), (f"was {during}", f"were {during}"), modifier=during
            )
        if noun == "year":
            return WordedCondition(
                attribute.name, ", ".join(tests), (f"dates from {when}", f"date from {when}"), modifier=f"from {when}"
            )
        bound = f"{first} or later" if not last else f"{last} or earlier" if not first else f"from {first} to {last}"
    else:
        values = [_number(value) for value in (low, high) if math.isfinite(value)]
        bound = f"at {'least' if math.isfinite(low) else 'most'} {' '.join(filter(None, (values[0], unit)))}"
    are_many = english.is_plural(noun) and not unit  # at least 2,000 votes
    amount = f"{bound} {noun}" if are_many else english.with_article(f"{noun} of {bound}")
    return WordedCondition(
        attribute.name,
        ", ".join(tests),
        (f"has {amount}", f"have {amount}"),
        modifier=f"with {amount}",
    )


def _equal(attribute: Attribute, value: str) -> WordedCondition:
    noun, _ = _noun_and_unit(attribute)
    test, text = str(syntax.Condition(attribute.name, "=", (value,))), english.quoted(value)
    return WordedCondition(
        attribute.name,
        test,
        (f"has {text} as its {noun}", f"have {text} as their {noun}"),
        whose=f"{noun} is {text}",
    )


def _noun_and_unit(attribute: Attribute) -> tuple[str, str]:
    """Return an attribute as a noun, and its unit; of an attribute that counts, what it counts."""
    words = attribute_words(attribute)
    return words.counts or words.noun, words.unit.symbol if words.unit else ""
