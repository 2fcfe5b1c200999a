"""How much likelier the values of a column are if it refers to the rows of a table than if it does not.

Scores are natural logarithms of ratios of probabilities. Names of columns only add to them; see :mod:`header_prior`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from kbkit.ingestion.inference.looks import ProfiledColumn

NEVER = -math.inf
_ERROR = 0.03
"""Fraction of references to rows that are not there."""
_MOST_MISSING = 0.12
"""The same fraction from which the values are those of something else, for columns that no name links to the table."""
_SCALES = 4
"""About the logarithm of the range of scales that columns of numbers have."""
_COUNTED = 15
"""Values up to which each counts: they are not independent of each other."""
_FEWEST_IN_ORDER = 8
"""Different numbers from which their frequencies show a trend."""
_TREND = 0.45
"""Correlation of the frequencies of neighbouring numbers from which these are amounts, not identifiers."""
_LETTERS = 0.3
"""Weight of a character in texts, of which some are as likely as others."""
_FEWEST_TEXTS = 3


@dataclass(frozen=True)
class NumberSpread:
    """Whole numbers in a column: how many rows have one, how many differ, the lowest and the highest.

    ``frequencies`` are the numbers of rows of each in order; empty if there are too many.
    """

    rows: int
    distinct: int
    low: int
    high: int
    frequencies: Sequence[int] = ()

    @property
    def span(self) -> int:
        """How many numbers there are from the lowest to the highest."""
        return self.high - self.low + 1

    @property
    def is_smooth(self) -> bool:
        """Whether neighbouring numbers are about as frequent as each other, and others are not: those of amounts."""
        some = self.frequencies
        if len(some) < _FEWEST_IN_ORDER:
            return False
        mean = sum(some) / len(some)
        spread = sum((one - mean) ** 2 for one in some)
        # Drawn at random, all are equally frequent but for as much as the mean: the rest is a pattern.
        if spread <= 1.5 * mean * len(some):
            return False
        pairs = itertools.pairwise(some)
        return sum((a - mean) * (b - mean) for a, b in pairs) >= _TREND * spread


def of_numbers(own: NumberSpread, keys: NumberSpread, missing: int) -> float:
    """Return the score of numbers of which ``missing`` different ones are no keys."""
    if not own.distinct or not keys.distinct or missing > max(_MOST_MISSING * own.distinct, own.distinct > _COUNTED):
        return NEVER
    density = min(keys.distinct / keys.span, 1 - _ERROR)
    contained = min(own.distinct - missing, _COUNTED)
    score = contained * math.log((1 - _ERROR) / density) + missing * math.log(_ERROR / (1 - density + _ERROR))
    # Those of rows reach from one end of the keys to the other, whose range other numbers have by chance only.
    reach = min((min(own.high, keys.high) - max(own.low, keys.low) + 1) / keys.span, 1.0)
    if reach <= 0:
        return NEVER
    score += min(own.distinct, _COUNTED) * math.log(reach)
    far = math.log(keys.high / max(keys.low, 1)) / (2 * _SCALES) if keys.low > keys.span else 1.0
    score -= math.log(min(1 - reach + 1 / keys.distinct + 0.02, 1.0) * min(far, 1.0) / _SCALES)
    drawn = keys.distinct * -math.expm1(-own.rows / keys.distinct)
    full = own.distinct / drawn
    return score - (4 if full < 0.35 else 1.5 if full < 0.55 else 0) - 4 * own.is_smooth


def of_texts(own: ProfiledColumn, keys: ProfiledColumn, missing: int, distinct: int, rows: int) -> float:
    """Return the score of texts, or lists of them, of which ``missing`` of ``distinct`` ones are no values of a column
    in ``rows`` rows.
    """
    found = distinct - missing
    if found < _FEWEST_TEXTS or missing > _MOST_MISSING * distinct:
        return NEVER
    length = keys.length or own.length
    chance = math.log(max(36**length / max(rows, 1), 2)) * _LETTERS
    return min(found, _COUNTED) * chance + missing * math.log(_ERROR)
