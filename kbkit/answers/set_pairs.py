"""Sets of answers as rows of sparse Boolean matrices, and random pairs of them that a set operation may join.

The product of two such matrices counts what any two rows have in common; with the rows' sizes that gives the size of
their intersection, union and difference, so that no pair has to be tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.constraints import Request
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import scipy.sparse as sp

POOL = 20_000
"""Groundings drawn of an inner operation, for the outer one to build on."""
_ENOUGH = 200
"""So many times as many pairs are looked at as are wanted, from blocks of rows in random order."""
_WORK = 5_000_000
"""Multiplications in one block of a product."""


@dataclass
class Sampler:
    """One draw: what was asked for, and the random numbers."""

    request: Request
    rng: np.random.Generator

    def in_range(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """A mask of the counts that were asked for."""
        return (counts >= self.request.min_answers) & (counts <= self.request.max_answers)

    def keys(self, popularity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Random keys: the largest are a sample without replacement, uniform or in proportion to ``popularity``
        (Efraimidis and Spirakis 2006, in logarithms).
        """
        uniform = self.rng.random(len(popularity))
        return self.weighted(uniform, popularity)

    def weighted(self, uniform: NDArray[np.float64], popularity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Keys in proportion to ``popularity``, if that is asked for, from uniform ones."""
        if self.request.weight == "uniform":
            return uniform
        return np.log(np.maximum(uniform, 1e-300)) / np.maximum(popularity, 1e-9)

    def settled(self, identity: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Uniform keys that depend on the seed and on what is drawn: the same grounding, found twice, has one key."""
        return splitmix64(identity ^ np.uint64(self.request.seed * 0x9E3779B97F4A7C15 & (1 << 64) - 1)) / 2.0**64


@dataclass
class Sets:
    """Sets as rows of a sparse matrix: ``values[i]`` are the slots' nodes of the i-th, ``kinds[i]`` the numbers of the
    parts they came from, ``weight[i]`` its popularity, ``answers[i]`` its size, ``identity[i]`` tells groundings apart
    that mean the same. ``truncated`` when there are more.
    """

    slots: tuple[str, ...]
    values: NDArray[np.int32]
    kinds: NDArray[np.int32]
    weight: NDArray[np.float64]
    answers: NDArray[np.int64]
    identity: NDArray[np.uint64]
    matrix: sp.csr_array | None
    truncated: bool = False

    def keep(self, rows: NDArray[np.int64], *, truncated: bool = False) -> Sets:
        """Some of the rows."""
        return Sets(
            self.slots,
            self.values[rows],
            self.kinds[rows],
            self.weight[rows],
            self.answers[rows],
            self.identity[rows],
            None if self.matrix is None else self.matrix[rows],
            truncated,
        )


class Source(Protocol):
    """What sets are drawn from."""

    @property
    def slots(self) -> tuple[str, ...]: ...  # noqa: D102

    def draw(self, wanted: int, final: bool) -> Sets:
        """Up to ``wanted`` sets; with ``final`` those that meet the request."""
        ...


@dataclass
class Given:
    """Sets that are there already."""

    chance: Sampler
    sets: Sets

    @property
    def slots(self) -> tuple[str, ...]:
        """What the sets' values stand for."""
        return self.sets.slots

    def draw(self, wanted: int, final: bool) -> Sets:
        """Up to ``wanted`` of the sets with ``final``, else all."""
        if not final:
            return self.sets
        rows = np.flatnonzero(self.chance.in_range(self.sets.answers))
        order = np.argsort(-self.chance.keys(self.sets.weight[rows]), kind="stable")
        return self.sets.keep(rows[order[:wanted]], truncated=self.sets.truncated or len(rows) > wanted)


@dataclass
class Pair:
    """A set operation of two sides; ``exchangeable`` when both draw from the same sets."""

    chance: Sampler
    op: str
    left: Source
    right: Source
    exchangeable: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        """Those of both sides."""
        return (*self.left.slots, *self.right.slots)

    def draw(self, wanted: int, final: bool) -> Sets:
        """Up to ``wanted`` pairs of sets that meet the constraints; with ``final`` also the range of answers."""
        left, right = self.left.draw(POOL, final=False), self.right.draw(POOL, final=False)
        i, j, answers, more = self.choose(left, right, wanted, final)
        return Sets(
            self.slots,
            np.hstack([left.values[i], right.values[j]]),
            np.hstack([left.kinds[i], right.kinds[j]]),
            left.weight[i] * right.weight[j],
            answers,
            self.identity(left, right, i, j),
            None if final else self.combined(left, right, i, j),
            more or left.truncated or right.truncated,
        )

    def identity(self, left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The same for pairs that mean the same: ``&`` and ``|`` do not care for order or parentheses."""
        if self.op == "-":
            return splitmix64(left.identity[i] * np.uint64(3) + right.identity[j])
        sides = []
        for side, sets, rows in ((self.left, left, i), (self.right, right, j)):
            same = isinstance(side, Pair) and side.op == self.op
            sides.append(sets.identity[rows] if same else splitmix64(sets.identity[rows] + np.uint64(ord(self.op))))
        return sides[0] + sides[1]

    def choose(
        self, left: Sets, right: Sets, wanted: int, final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], bool]:
        """Rows of both sides in random order, the sizes of what they make, and whether there are more: every pair gets
        a random key, and the largest keys stay.
        """
        none = np.empty(0, np.int64)
        best: list[Any] = [np.empty(0), none, none, none]
        seen = 0
        for start, common in _products(left.matrix, right.matrix):
            i, j = common.row.astype(np.int64) + start, common.col.astype(np.int64)
            number, mask = self.allowed(left.answers[i], right.answers[j], common.data.astype(np.int64), final)
            if self.exchangeable:
                mask &= ~_repeats(left, right, i, j)
            i, j = i[mask], j[mask]
            keys = self.keys(left, right, i, j)
            best = [np.concatenate(parts) for parts in zip(best, (keys, i, j, number[mask]), strict=True)]
            if self.exchangeable:  # one that was found in several ways has one key
                best = [values[np.unique(best[0], return_index=True)[1]] for values in best]
            seen += len(i)
            if len(best[0]) > wanted:
                top = np.sort(np.argpartition(-best[0], wanted - 1)[:wanted])
                best = [values[top] for values in best]
            if seen > _ENOUGH * wanted:
                break  # rows are in random order: those not looked at are no different
        order = np.argsort(-best[0], kind="stable")
        return best[1][order], best[2][order], best[3][order], seen > len(order)

    def keys(self, left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """The random keys of pairs."""
        weight = left.weight[i] * right.weight[j]
        if not self.exchangeable:
            return self.chance.keys(weight)
        return self.chance.weighted(self.chance.settled(self.identity(left, right, i, j)), weight)

    def allowed(
        self, left: NDArray[np.int64], right: NDArray[np.int64], common: NDArray[np.int64], final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The size of what each pair makes, and a mask of those that may be joined, from the sizes of both sides and
        of what they have in common.
        """
        number = {"&": common, "|": left + right - common, "-": left - common}[self.op]
        mask = self.chance.in_range(number) if final else number > 0
        if self.chance.request.constraints is not None:
            mask &= self.chance.request.constraints.allow(self.op, left, right, common)
        return number, mask

    def combined(self, left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> sp.csr_array:
        """The sets that the operation makes of rows of both sides."""
        import scipy.sparse as sp

        assert left.matrix is not None
        assert right.matrix is not None
        a, b = left.matrix[i], right.matrix[j]
        common = a.multiply(b)
        whole = sp.csr_array({"&": common, "|": a + b, "-": a - common}[self.op])
        whole.eliminate_zeros()
        whole.data[:] = 1
        return whole


def matrix_of(sizes: NDArray[np.int64], nodes: Ids, width: int) -> sp.csr_array:
    """Sets as a sparse matrix: ``sizes`` of its rows, whose nodes stand end to end."""
    import scipy.sparse as sp

    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    return sp.csr_array((np.ones(len(nodes), np.int32), nodes, offsets), shape=(len(sizes), width))


def _repeats(left: Sets, right: Sets, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A mask of the pairs of which both sides have a part in common."""
    mask = np.zeros(len(i), bool)
    for a in range(left.values.shape[1]):
        for b in range(right.values.shape[1]):
            same = left.values[i, a] == right.values[j, b]
            mask |= same & (left.kinds[i, a] == right.kinds[j, b])
    return mask


def splitmix64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Well-mixed bits (the finalizer of SplitMix64, Steele et al. 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _products(left: sp.csr_array | None, right: sp.csr_array | None) -> Iterator[tuple[int, sp.coo_array]]:
    """Blocks of ``left @ right.T``: what each two rows have in common; (first row, block)."""
    assert left is not None
    assert right is not None
    turned = right.T.tocsr()
    work = left.astype(np.int64) @ np.diff(turned.indptr)
    start = 0
    while start < left.shape[0]:
        stop = start + max(1, int(np.searchsorted(np.cumsum(work[start:]), _WORK)))
        yield start, (left[start:stop] @ turned).tocoo()
        start = stop
