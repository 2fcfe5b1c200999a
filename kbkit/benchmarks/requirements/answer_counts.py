"""How many answers the queries of a dataset have: the distribution to aim at, and the selection that comes close."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kbkit.benchmarks.report import published
from kbkit.errors import KbError, UnknownNameError

Ints = NDArray[np.int64]
_MANY = 6.0
"""The maximum number of answers, relative to the mean of queries with several, unless the paper's 20 is more."""
_MAX_ANSWERS = 20


@dataclass(frozen=True)
class Target:
    """The fraction of queries with ``several`` answers, and the ``mean`` number of answers of all queries."""

    several: float
    mean: float

    def __post_init__(self) -> None:
        if not 0 <= self.several <= 1:
            raise KbError(f"Invalid fraction of queries with several answers: {self.several:g}", "Use 0 to 1")
        if self.mean < 1 + self.several or (self.several == 0 and self.mean > 1):
            message = f"A mean of {self.mean:g} answers does not fit {self.several:.0%} queries with several"
            raise KbError(message, f"Use a mean of {1 + self.several:g} or more, and 1 without such queries")

    @property
    def is_published(self) -> bool:
        """Whether it is that of one of STaRK's datasets, not numbers that somebody asks for."""
        return self in published_targets().values()

    @property
    def mean_of_several(self) -> float:
        """The mean number of answers of the queries that have several."""
        return (self.mean - (1 - self.several)) / self.several if self.several else 2.0

    @property
    def max_answers(self) -> int:
        """A maximum number of answers that lets the mean be reached: 20 as in the paper, or more."""
        return max(_MAX_ANSWERS, round(_MANY * self.mean_of_several))

    def counts(self, queries: int, max_answers: int) -> Ints:
        """Return a number of answers for each query, sorted: 1, or a truncated geometric distribution from 2 on."""
        several = round(self.several * queries)
        values = np.arange(2, max(3, max_answers + 1))
        low, high = 1e-6, 50.0  # the mean falls with the rate
        for _ in range(60):
            rate = (low + high) / 2
            weights = np.exp(-rate * (values - 2))
            low, high = (rate, high) if values @ weights / weights.sum() > self.mean_of_several else (low, rate)
        reached = np.cumsum(weights) / weights.sum()
        places = np.searchsorted(reached, (np.arange(several) + 0.5) / max(1, several))
        return np.concatenate([np.ones(queries - several, np.int64), values[np.minimum(places, len(values) - 1)]])


@functools.cache
def published_targets() -> dict[str, Target]:
    """Return what STaRK's synthesized datasets have, by their name (Table 3 of the paper)."""
    rows = published("stark").of("3")
    return {
        name: Target(round(row["several_answers"] / row["queries"], 2), row["average_answers"])
        for (name, kind), row in rows.items()
        if kind == "synthesized"
    }


def target_of(like: str) -> Target:
    """Return the target of a published dataset."""
    known = published_targets()
    if like not in known:
        raise UnknownNameError("dataset", like, known)
    return known[like]


@dataclass(frozen=True)
class Share:
    """Queries with something in common, such as a template, of which at most ``most`` are selected if others are left.

    ``cost`` is what one more of them weighs: 1 is a query with one answer more or fewer than wanted; ``inf``: no
    more of them are selected even if no others are left.
    """

    members: NDArray[np.bool_]
    most: int
    cost: float


ONE_OR_SEVERAL = 1_000_000.0
"""What a query with several answers weighs where one is wanted, and the reverse; see :class:`Share`."""


def select(counts: Sequence[int], wanted: Ints, shares: Sequence[Share] = ()) -> list[int]:
    """Return positions in ``counts``, each at most once, whose counts are close to those ``wanted``, in order.

    Wanted counts are matched from the largest down, each with the closest count that is left; a wanted single answer
    gets a query with several only if no other is left, and the reverse. ``shares`` bound what queries have in common.
    """
    left = np.asarray(counts, np.int64)
    free = np.ones(len(left), bool)
    used = [0] * len(shares)
    chosen: list[int] = []
    for want in sorted(wanted.tolist(), reverse=True):
        if not free.any():
            break
        cost = 1.0 * np.abs(left - want) + ONE_OR_SEVERAL * ((left > 1) != (want > 1))
        for share, count in zip(shares, used, strict=True):
            if count >= share.most:
                cost[share.members] += share.cost
        best = int(np.where(free, cost, np.inf).argmin())
        if not free[best] or np.isinf(cost[best]):
            continue
        free[best] = False
        used = [count + bool(share.members[best]) for share, count in zip(shares, used, strict=True)]
        chosen.append(best)
    return sorted(chosen)
