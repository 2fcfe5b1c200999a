"""Draw random pairs of answer sets for a set operation; sets are rows of sparse Boolean matrices.

The product of two matrices counts the common nodes of any two rows. With the sizes of the rows that gives the size of
their intersection, union and difference, so that no pair is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kbkit.assets.arguments import check_range
from kbkit.assets.operations import SAMPLINGS
from kbkit.errors import KbError, UnknownNameError
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import scipy.sparse as sp

POOL = 20_000
"""Groundings drawn for an inner operation, as input of the outer one."""
_OVERSAMPLING = 200
"""Candidate pairs per result, from blocks of rows in random order."""
_BLOCK_SIZE = 5_000_000
"""Multiplications in one block of a product."""


@dataclass(frozen=True)
class Constraints:
    """Constraints on the sides of every set operation of a template (QUEST, section 3.2 and appendix B).

    The paper's bound on the right side of a difference is illegible; 1000 is ours.
    """

    intersection_sides_over: int = 50
    difference_sides_over: int = 50
    difference_left_under: int = 200
    difference_right_under: int = 1000
    difference_overlap_at_most: float = 0.8
    union_sides_from: int = 3
    union_overlap_under: float = 1 / 3

    def allow(self, op: str, left: Any, right: Any, common: Any) -> Any:
        """Return a mask of the pairs that ``op`` may combine, from the sizes of the sides and the intersection."""
        if op == "&":
            return (left > self.intersection_sides_over) & (right > self.intersection_sides_over)
        if op == "|":
            union = left + right - common
            sides = (left >= self.union_sides_from) & (right >= self.union_sides_from)
            return sides & (common < self.union_overlap_under * union)
        sides = (left > self.difference_sides_over) & (right > self.difference_sides_over)
        sides &= (left < self.difference_left_under) & (right < self.difference_right_under)
        return sides & (common <= self.difference_overlap_at_most * left)

    @staticmethod
    def of(options: dict[str, float]) -> Constraints:
        """Return the defaults with changes; raise :class:`UnknownNameError` for unknown names."""
        known = [f.name for f in fields(Constraints)]
        for name in options:
            if name not in known:
                raise UnknownNameError("constraint", name, known)
        return Constraints(**options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SampleRequest:
    """The number and kind of groundings to draw; ``distinct``: different slots name different nodes."""

    count: int
    seed: int = 0
    min_answers: int = 1
    max_answers: int = 20
    weight: str = "uniform"
    constraints: Constraints | None = None
    distinct: bool = True

    def __post_init__(self) -> None:
        if self.weight not in SAMPLINGS:
            raise UnknownNameError("weight", self.weight, SAMPLINGS)
        check_range("number of groundings", self.count)
        check_range("seed", self.seed, 0)
        if not 0 <= self.min_answers <= self.max_answers:
            message = f"Invalid range of answers: {self.min_answers} to {self.max_answers}"
            raise KbError(message, "Use a minimum of 0 or more, and a maximum that is not smaller")


@dataclass
class Sampler:
    """A request and its random numbers."""

    request: SampleRequest
    rng: np.random.Generator

    def in_range(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the counts within the requested range."""
        return (counts >= self.request.min_answers) & (counts <= self.request.max_answers)

    def keys(self, popularity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return random keys, the largest of which are a sample without replacement.

        It is uniform or in proportion to ``popularity`` (Efraimidis and Spirakis 2006, in logarithms).
        """
        uniform = self.rng.random(len(popularity))
        return self.weighted(uniform, popularity)

    def weighted(self, uniform: NDArray[np.float64], popularity: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return keys for a sample in proportion to ``popularity``, if requested, from uniform keys."""
        if self.request.weight == "uniform":
            return uniform
        return np.log(np.maximum(uniform, 1e-300)) / np.maximum(popularity, 1e-9)

    def fixed_keys(self, identity: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return uniform keys that depend on the seed and the grounding, so that a duplicate has the same key."""
        return splitmix64(identity ^ np.uint64(self.request.seed * 0x9E3779B97F4A7C15 & (1 << 64) - 1)) / 2.0**64


@dataclass
class AnswerSets:
    """Groundings with their answer sets, the rows of a sparse ``matrix``.

    For row i, ``values[i]`` are the slots' nodes, ``kinds[i]`` the numbers of their parts, ``weight[i]`` the
    popularity, ``answers[i]`` the size of the set, ``identity[i]`` a hash that is equal for equivalent groundings.
    ``truncated`` if more exist.
    """

    slots: tuple[str, ...]
    values: NDArray[np.int32]
    kinds: NDArray[np.int32]
    weight: NDArray[np.float64]
    answers: NDArray[np.int64]
    identity: NDArray[np.uint64]
    matrix: sp.csr_array | None
    truncated: bool = False

    def take(self, rows: NDArray[np.int64], *, truncated: bool = False) -> AnswerSets:
        """Return some of the rows."""
        return AnswerSets(
            self.slots,
            self.values[rows],
            self.kinds[rows],
            self.weight[rows],
            self.answers[rows],
            self.identity[rows],
            None if self.matrix is None else self.matrix[rows],
            truncated,
        )


class SetSource(Protocol):
    """A source of sets."""

    @property
    def slots(self) -> tuple[str, ...]: ...  # noqa: D102

    def draw(self, count: int, final: bool) -> AnswerSets:
        """Draw up to ``count`` sets; with ``final`` only sets that meet the request."""
        ...


@dataclass
class FixedSets:
    """Existing sets."""

    sampler: Sampler
    sets: AnswerSets

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots."""
        return self.sets.slots

    def draw(self, count: int, final: bool) -> AnswerSets:
        """Draw up to ``count`` sets with ``final``, else return all."""
        if not final:
            return self.sets
        rows = np.flatnonzero(self.sampler.in_range(self.sets.answers))
        order = np.argsort(-self.sampler.keys(self.sets.weight[rows]), kind="stable")
        return self.sets.take(rows[order[:count]], truncated=self.sets.truncated or len(rows) > count)


@dataclass
class SetPairs:
    """Pairs of sets combined by a set operation; ``exchangeable`` if both sides draw from the same sets."""

    sampler: Sampler
    op: str
    left: SetSource
    right: SetSource
    exchangeable: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots of both sides."""
        return (*self.left.slots, *self.right.slots)

    def draw(self, count: int, final: bool) -> AnswerSets:
        """Draw up to ``count`` pairs of sets that meet the constraints; with ``final`` also the range of answers."""
        left, right = self.left.draw(POOL, final=False), self.right.draw(POOL, final=False)
        i, j, answers, more = self.choose(left, right, count, final)
        return AnswerSets(
            self.slots,
            np.hstack([left.values[i], right.values[j]]),
            np.hstack([left.kinds[i], right.kinds[j]]),
            left.weight[i] * right.weight[j],
            answers,
            self.identity(left, right, i, j),
            None if final else self.combined(left, right, i, j),
            more or left.truncated or right.truncated,
        )

    def identity(
        self, left: AnswerSets, right: AnswerSets, i: NDArray[np.int64], j: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return hashes, equal for equivalent pairs: ``&`` and ``|`` are commutative and associative."""
        if self.op == "-":
            return splitmix64(left.identity[i] * np.uint64(3) + right.identity[j])
        sides = []
        for side, sets, rows in ((self.left, left, i), (self.right, right, j)):
            same = isinstance(side, SetPairs) and side.op == self.op
            sides.append(sets.identity[rows] if same else splitmix64(sets.identity[rows] + np.uint64(ord(self.op))))
        return sides[0] + sides[1]

    def choose(
        self, left: AnswerSets, right: AnswerSets, count: int, final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], bool]:
        """Return rows of both sides in random order, the sizes of the results, and whether more exist.

        Every pair gets a random key; the pairs with the largest keys are returned.
        """
        none = np.empty(0, np.int64)
        best: list[Any] = [np.empty(0), none, none, none, np.empty(0, np.uint64)]
        seen = 0
        for start, common in _products(left.matrix, right.matrix):
            i, j = common.row.astype(np.int64) + start, common.col.astype(np.int64)
            number, mask = self.allowed(left.answers[i], right.answers[j], common.data.astype(np.int64), final)
            if self.sampler.request.distinct or self.exchangeable:
                mask &= ~_repeats(left, right, i, j, parts=not self.sampler.request.distinct)
            i, j = i[mask], j[mask]
            identity = self.identity(left, right, i, j)
            keys = self.keys(left.weight[i] * right.weight[j], identity)
            best = [np.concatenate(parts) for parts in zip(best, (keys, i, j, number[mask], identity), strict=True)]
            if self.exchangeable:  # by identity: the keys of duplicates can differ in the last bit
                first = np.unique(best[4], return_index=True)[1]
                best = [values[first] for values in best]
            seen += len(i)
            if len(best[0]) > count:
                top = np.sort(np.argpartition(-best[0], count - 1)[:count])
                best = [values[top] for values in best]
            if seen > _OVERSAMPLING * count:
                break  # rows are in random order, so this is an unbiased sample
        order = np.argsort(-best[0], kind="stable")
        return best[1][order], best[2][order], best[3][order], seen > len(order)

    def keys(self, weight: NDArray[np.float64], identity: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return random keys of pairs."""
        if not self.exchangeable:
            return self.sampler.keys(weight)
        return self.sampler.weighted(self.sampler.fixed_keys(identity), weight)

    def allowed(
        self, left: NDArray[np.int64], right: NDArray[np.int64], common: NDArray[np.int64], final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the size of each result and a mask of the allowed pairs."""
        number = {"&": common, "|": left + right - common, "-": left - common}[self.op]
        mask = self.sampler.in_range(number) if final else number > 0
        if self.sampler.request.constraints is not None:
            mask &= self.sampler.request.constraints.allow(self.op, left, right, common)
        return number, mask

    def combined(self, left: AnswerSets, right: AnswerSets, i: NDArray[np.int64], j: NDArray[np.int64]) -> sp.csr_array:
        """Return the results of the operation for rows of both sides."""
        import scipy.sparse as sp

        assert left.matrix is not None
        assert right.matrix is not None
        a, b = left.matrix[i], right.matrix[j]
        common = a.multiply(b)
        matrix = sp.csr_array({"&": common, "|": a + b, "-": a - common}[self.op])
        matrix.eliminate_zeros()
        matrix.data[:] = 1
        return matrix


def matrix_of(sizes: NDArray[np.int64], nodes: Ids, width: int) -> sp.csr_array:
    """Return a sparse matrix of sets from the sizes of its rows and their concatenated nodes."""
    import scipy.sparse as sp

    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    return sp.csr_array((np.ones(len(nodes), np.int32), nodes, offsets), shape=(len(sizes), width))


def _repeats(
    left: AnswerSets, right: AnswerSets, i: NDArray[np.int64], j: NDArray[np.int64], *, parts: bool
) -> NDArray[np.bool_]:
    """Return a mask of the pairs whose sides share a node, or with ``parts`` a part with its node."""
    mask = np.zeros(len(i), bool)
    for a in range(left.values.shape[1]):
        for b in range(right.values.shape[1]):
            same = left.values[i, a] == right.values[j, b]
            mask |= same & (left.kinds[i, a] == right.kinds[j, b]) if parts else same
    return mask


def splitmix64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash integers (the finalizer of SplitMix64, Steele et al. 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _products(left: sp.csr_array | None, right: sp.csr_array | None) -> Iterator[tuple[int, sp.coo_array]]:
    """Yield blocks of ``left @ right.T``, the sizes of intersections: (first row, block)."""
    assert left is not None
    assert right is not None
    transposed = right.T.tocsr()
    work = left.astype(np.int64) @ np.diff(transposed.indptr)
    start = 0
    while start < left.shape[0]:
        stop = start + max(1, int(np.searchsorted(np.cumsum(work[start:]), _BLOCK_SIZE)))
        yield start, (left[start:stop] @ transposed).tocoo()
        start = stop
