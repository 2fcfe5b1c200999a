"""Conditions on attributes of answers: which fit a node and about as many others as wanted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit import english
from kbkit.benchmarks.fit_nodes import are_codes, are_lists
from kbkit.benchmarks.incomplete import subject_type
from kbkit.benchmarks.predicates import CONSTANT, unfit_attribute
from kbkit.benchmarks.requirements.condition_words import POPULATION, WordedCondition, between, equal, flag
from kbkit.english.attributes import Unit, attribute_words, is_flag, is_popularity
from kbkit.english.readable import attribute_problem, is_placeholder
from kbkit.english.types import type_noun
from kbkit.english.words import YEARS
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, quote

_NOT_COMPARED = re.compile(r"(?i)(?:.* )?(?:number|no|rank)")
"""Numbers that are no amounts."""
_NUMERIC = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|DECIMAL.*)")
RATINGS = frozenset(("score", "rating", "stars"))
"""Attributes that get no upper bound: *with a rating of at most 3* is not a plausible question. Nor do popularity
counts (:func:`kbkit.english.attributes.is_popularity`)."""
_SIZES = frozenset("kilometres metres miles feet hectares".split())  # noqa: SIM905
"""Units of sizes, which get no upper bound unless the KB is about the type: there are always more small lakes than
anyone lists."""
_LEFT_OUT = 0.2
"""Minimum fraction of the rows that a bound leaves out."""
_RANKS = (1.0, 1.5, 2.0, 3.0)
"""Ranks at which a threshold is tried, relative to the wanted number of answers."""
_KNOWN = 3
"""Minimum number of nodes of the type within a bound: one that holds for a single node is that node's name."""
_CLOSE, _NEAR = 0.1, 0.02
"""Distance of numbers of people from a bound, relative to it, below which they may be on either side by now; and that
of sizes, on which sources disagree."""
_FEWEST, _CHOICE, _MANY = 2, 6, 10
"""Candidates that must meet a bound of an amount or have a value; those that a bound chooses from, as of fewer a person
asks for the largest; and those of which one alone may meet it."""
_YEARS, _RANGE = 5, 12
"""Step of years that people say, and maximum number of years of a range."""
_UNUSUAL = 0.1
"""Fraction of the nodes of the type that must be within a bound that a single candidate meets: *countries of at least
8 million km² that border Peru* is a riddle for Brazil."""
_COARSE = 1_000
"""Numbers from which a bound has two digits that are not zero: 4,500, not 4,550."""
BOOLEANS = frozenset(("true", "false", "yes", "no", "y", "n", "t", "f", "0", "1"))
"""Texts that say whether something holds."""
_MAX_VALUES, _MAX_LENGTH = 50, 30
"""Distinct values of a text attribute, and characters of a value."""


class Conditions:
    """The attributes of a node type with their values, and the conditions that nodes of it can meet."""

    def __init__(self, kb: KnowledgeBase, node_type: str) -> None:
        self._table = kb.schema.type(node_type).table
        self._noun = type_noun(node_type).casefold()
        self._is_whole = node_type == subject_type(kb)
        self._tables = kb.tables
        self._numeric: list[Attribute] = []
        self._texts: list[Attribute] = []
        self._flags: list[Attribute] = []
        self._values: dict[str, NDArray[np.float64]] = {}
        for attribute in kb.schema.type(node_type).attributes:
            words = attribute_words(attribute).noun
            if _NOT_COMPARED.fullmatch(words) or attribute_problem(words) or unfit_attribute(attribute):
                continue
            if is_flag(attribute):
                self._flags += [attribute] * self._is_of_two(attribute)
            elif _NUMERIC.fullmatch(attribute.type):
                self._numeric.append(attribute)
            elif attribute.type == "VARCHAR" and self._is_category(attribute):
                self._texts.append(attribute)

    def _is_category(self, attribute: Attribute) -> bool:
        name = quote(attribute.name)
        counts = f"SELECT {name} AS v, count(*) AS n FROM {quote(self._table)} WHERE {name} IS NOT NULL GROUP BY 1"
        values, longest, top = self._tables.rows(f"SELECT count(*), max(length(v)), max(n) / sum(n) FROM ({counts})")[0]
        if not (1 < values <= _MAX_VALUES and longest <= _MAX_LENGTH and top < CONSTANT):
            return False
        known = [value for value, _ in self._tables.rows(counts)]
        are_booleans = BOOLEANS.issuperset(str(value).casefold() for value in known)  # whose toilets is yes
        return not (are_booleans or are_lists(known) or are_codes(known))

    def _is_of_two(self, attribute: Attribute) -> bool:
        """Return whether the values are true and false, or 1 and 0."""
        sql = f"SELECT DISTINCT {quote(attribute.name)} FROM {quote(self._table)} ORDER BY 1"
        return [value for (value,) in self._tables.rows(sql) if value is not None] == [0, 1]

    @property
    def is_empty(self) -> bool:
        """Whether the type has no such attribute."""
        return not (self._numeric or self._texts or self._flags)

    def values(self, nodes: Sequence[int]) -> pl.DataFrame:
        """Return the attributes of nodes, in their order."""
        columns = ", ".join(f"t.{quote(a.name)}" for a in [*self._numeric, *self._texts, *self._flags])
        wanted = pl.DataFrame({"id": pl.Series(list(nodes), dtype=pl.Int32)}).with_row_index("position")
        sql = f"SELECT {columns} FROM kbkit_wanted w LEFT JOIN {quote(self._table)} t USING (id) ORDER BY w.position"
        return self._tables.lookup(sql, frames={"kbkit_wanted": wanted})

    def _all(self, attribute: Attribute) -> NDArray[np.float64]:
        """Return the values of all nodes of the type."""
        if attribute.name not in self._values:
            name = quote(attribute.name)
            frame = self._tables.frame(f"SELECT {name}::DOUBLE FROM {quote(self._table)} WHERE {name} IS NOT NULL")
            self._values[attribute.name] = frame.to_series().to_numpy()
        return self._values[attribute.name]

    def options(self, values: pl.DataFrame, gold: int, wanted: int) -> list[tuple[WordedCondition, NDArray[np.bool_]]]:
        """Return conditions that the node in row ``gold`` meets, each with the rows that meet it.

        Numeric thresholds are such that about ``wanted`` rows meet them, or a few times as many. An attribute
        without a value in some row is skipped, because that row might meet the condition.
        """
        conditions = [option for one in self._numeric for option in self._bounds(one, values, gold, wanted)]
        for attribute in self._texts:
            texts = values[attribute.name]
            value = texts[gold]
            if (
                not texts.null_count()
                and value
                and not is_placeholder(value)
                and not _repeats(attribute, value)
                and value.casefold() != self._noun
            ):
                mask = (texts == value).to_numpy()
                conditions += [(equal(attribute, value), mask)] if mask.sum() >= _FEWEST else []
        for attribute in self._flags:
            flags = values[attribute.name]
            if not flags.null_count():
                conditions.append((flag(attribute, flags[gold]), (flags == flags[gold]).to_numpy()))
        return conditions

    def _bounds(
        self, attribute: Attribute, values: pl.DataFrame, gold: int, wanted: int
    ) -> Iterator[tuple[WordedCondition, NDArray[np.bool_]]]:
        """Yield conditions that an attribute is at least, at most or between round bounds."""
        column = values[attribute.name].cast(pl.Float64).to_numpy()
        if not np.isfinite(column).all():
            return
        words = attribute_words(attribute)
        counts_people = is_popularity(words.counts or words.noun)
        is_size = words.unit is not None and words.unit.words.rpartition(" ")[2] in _SIZES
        is_open = counts_people or (is_size and not self._is_whole) or words.noun.rpartition(" ")[2] in RATINGS
        are_years = _are_years(attribute, column)
        intervals = _intervals(column, gold, wanted, are_years=are_years)
        intervals = _known_years(intervals, self._all(attribute)) if are_years else intervals
        for low, high in [(rounded(low), high) for low, high in intervals] if counts_people else intervals:
            mask = (column >= low) & (column <= high)
            if words.noun == POPULATION and not is_clear(column, low, high):
                continue
            if is_size and not _is_exact(words.unit) and _has_near(column, low, high):
                continue
            least = 1 if len(column) >= _MANY else _FEWEST
            if not are_years and (mask.sum() < least or len(column) < _CHOICE):
                continue
            every = self._all(attribute)
            within = ((every >= low) & (every <= high)).sum()
            is_riddle = mask.sum() == 1 and not are_years and within < _UNUSUAL * len(every)
            if within < _KNOWN or is_riddle or not is_round(low, high, are_years=are_years):
                continue
            if mask[gold] and mask.mean() <= 1 - _LEFT_OUT and not (is_open and math.isinf(low)):
                yield between(attribute, low, high, are_years=are_years, things=self._noun), mask
                is_strict = not (are_years or counts_people or np.isin(column, (low, high)).any())
                if is_strict:  # over 4,000 m high
                    over = between(attribute, low, high, are_years=False, without_bound=True)
                    yield over, mask


def _repeats(attribute: Attribute, value: str) -> bool:
    """Return whether a value says no more than its attribute, such as the color *Color*."""
    words = attribute_words(attribute).noun.casefold().split()
    return value.casefold() in (" ".join(words), words[-1])


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
            ranges.append((_round_between(known[known < low], low, are_years=are_years), math.inf))
        if value <= high:
            # Of years that after the bound is round: before 1990.
            after = int(are_years)
            bound = _round_between(-known[known > high][::-1] - after, -high - after, are_years=are_years)
            ranges.append((-math.inf, -bound - after))
    if are_years and np.isfinite(value):  # from the 1990s
        decade = math.floor(value / 10) * 10.0
        ranges.append((decade, decade + 9))
    return list(dict.fromkeys((low, high) for low, high in ranges if low < high))


def is_clear(column: NDArray[np.float64], low: float, high: float) -> bool:
    """Return whether no number of people is close to a bound, which is as round as people say: numbers change."""
    bound = low if math.isfinite(low) else high
    step = 10.0 ** math.floor(math.log10(abs(bound))) / 2 if bound else 1.0
    is_round = abs(bound / step - round(bound / step)) < _CLOSE
    return is_round and bool((np.abs(column - bound) > _CLOSE * bound).all())


def _is_exact(unit: Unit | None) -> bool:
    """Return whether sources agree on sizes in a unit: on heights in metres, not on areas and the lengths of rivers."""
    return unit is not None and unit.words in ("metres", "feet")


def _has_near(column: NDArray[np.float64], low: float, high: float) -> bool:
    """Return whether a number is close to a bound but not equal to it."""
    bound = low if math.isfinite(low) else high
    distance = np.abs(column - bound)
    return bool(((distance > 0) & (distance < _NEAR * abs(bound))).any())


def is_round(low: float, high: float, *, are_years: bool) -> bool:
    """Return whether a person would say a bound: years by five, numbers with one digit or a half of it.

    The last year may be any: it is that of the KB.
    """
    if are_years:
        return not low % _YEARS if math.isfinite(low) else not (high + 1) % _YEARS
    bound = low if math.isfinite(low) else high
    step = 10.0 ** math.floor(math.log10(abs(bound))) / 2 if bound else 1.0
    return math.isclose(bound / step, round(bound / step))


def _known_years(intervals: Sequence[tuple[float, float]], every: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return intervals of years that end with the last year of the KB at the latest: what came later is not in it.

    A decade that had not ended by then is left out, and so are ranges longer than a decade or so: *from 1985 to 2016*.
    """
    last = float(every.max())
    ended = [(low, last if math.isinf(high) else high) for low, high in intervals]
    return list(dict.fromkeys((a, b) for a, b in ended if a < b <= last and (math.isinf(a) or b - a < _RANGE)))


def rounded(bound: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that is not above a positive bound."""
    if bound <= 0 or not math.isfinite(bound):
        return bound
    power = 10.0 ** math.floor(math.log10(bound))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= bound)


def _round_between(below: NDArray[np.float64], bound: float, *, are_years: bool) -> float:
    """Return the roundest number above all of ``below`` and at most ``bound``; no finer than people say, but of years.

    The steps are 10, 5, 1 and 0.5 for numbers from 10 to 100, and in proportion; below 10 none is finer than 0.1. Years
    are rounded to 10 or 5.
    """
    if not bound:
        return float(bound)
    floor = float(below[-1]) if len(below) else -math.inf
    if are_years:
        years = (math.floor(bound / step) * step for step in (10, 5))
        return float(next((year for year in years if year > floor), bound))
    rounded = bound
    is_fine = 10 <= abs(bound) < _COARSE
    for share in (1.0, 0.5, 0.1, *((0.05,) if is_fine else ())):
        step = 10.0 ** math.floor(math.log10(abs(bound))) * share
        rounded = math.floor(bound / step) * step
        if rounded > floor:
            break
    return float(round(rounded, 10))
