"""Columns that depend on each other: values that determine others, and numbers that are sums of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.ska.tables.columns import CONSTANT, NUMBER, WebColumn

Floats = NDArray[np.float64]
_MAX_RELATED = 9
"""Columns of numbers among which linear relations are looked for."""
_AGREE = 0.85
"""Fraction of rows in which a total must agree with its parts."""


def determines(left: Sequence[str], right: Sequence[str]) -> bool:
    """Return whether equal values on the left have equal values on the right, where at least two values repeat."""
    seen: dict[str, str] = {}
    repeated: set[str] = set()
    for a, b in zip(left, right, strict=True):
        if not a:
            continue
        if a in seen:
            if seen[a] != b:
                return False
            repeated.add(a)
        seen[a] = b
    return len(repeated) >= 2 and len(set(right)) > 1


def linear_relations(columns: Sequence[WebColumn]) -> list[tuple[int, list[int], list[int], float]]:
    """Return (position, positions, coefficients, constant) of number columns that are a sum of others in all rows.

    There are one to three others. Coefficients are -1, 1, 2 or 3; the constant is 0 or the value of a constant column
    (losses = games - wins - draws). A column is computed at most once, and only from columns that are not computed.
    """
    numbers = [c for c in columns if c.kind == NUMBER and len(c.counts) > 1][-_MAX_RELATED:]
    values = {c.position: np.array([np.nan if v is None else v for v in c.numbers]) for c in numbers}
    constants = {0.0, *(c.numbers[0] for c in columns if c.kind == CONSTANT and c.numbers and c.numbers[0] is not None)}
    relations: list[tuple[int, list[int], list[int], float]] = []
    fixed: set[int] = set()
    for column in reversed(numbers):
        others = [c.position for c in numbers if c is not column and c.position not in {one[0] for one in relations}]
        if column.position in fixed or len(column.counts) < 3:
            continue
        relation = _relation(values[column.position], {p: values[p] for p in others}, constants)
        if relation is not None:
            relations.append((column.position, *relation))
            fixed |= set(relation[0])
    return relations


def _relation(
    target: Floats, others: Mapping[int, Floats], constants: set[float]
) -> tuple[list[int], list[int], float] | None:
    for size in (1, 2, 3):
        for chosen in combinations(others, size):
            matrix = np.stack([others[p] for p in chosen], axis=1)
            known = np.isfinite(target) & np.isfinite(matrix).all(axis=1)
            if known.sum() < 6 or known.sum() < 0.9 * len(target):
                continue
            if size > 1 and np.isclose(matrix[known].sum(axis=1), target[known]).mean() > _AGREE:
                return list(chosen), [1] * size, 0.0
            full = np.column_stack([matrix[known], np.ones(known.sum())])
            whole = np.asarray(np.round(np.linalg.lstsq(full, target[known], rcond=None)[0]), np.float64)
            if not set(whole[:-1].tolist()) <= {-1.0, 1.0, 2.0, 3.0} or float(whole[-1]) not in constants:
                continue
            if np.allclose(full @ whole, target[known], atol=1e-6):
                return list(chosen), [int(value) for value in whole[:-1]], float(whole[-1])
    return None
