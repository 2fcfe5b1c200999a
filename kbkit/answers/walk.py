"""Runs a plan over the adjacency arrays, for one binding: sorted arrays of ids, expanded from the smaller side.

An intersection computes its cheapest part and tests the others against it, each in the direction that touches fewer
edges, so that the larger set is never made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    All,
    Difference,
    Filter,
    Hop,
    Intersection,
    Lookup,
    Move,
    Operator,
    Plan,
    Stored,
    Union,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.session import Session
from kbkit.answers.to_sql import constant_sql, test_sql
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask, distinct, is_in

_EMPTY: Ids = np.empty(0, np.int32)
_FEW = 20_000
"""Up to so many ids a filter asks the tables for those only; beyond, for the whole type once."""


def walk(plan: Plan, session: Session, bound: Bindings) -> Ids:
    """Sorted ids of the answers."""
    return Walk(session, bound).ids(plan.root)


class Walk:
    """One run: keeps what each operator gave, because plans share parts and costs are taken from real sets."""

    def __init__(self, session: Session, bound: Bindings) -> None:
        self.session, self.bound = session, bound
        self._known: dict[int, Ids] = {}

    def ids(self, operator: Operator) -> Ids:
        """Sorted distinct ids of an operator's nodes."""
        known = self._known.get(id(operator))
        if known is None:
            known = self._known[id(operator)] = self._ids(operator)
        return known

    def _ids(self, operator: Operator) -> Ids:
        match operator:
            case Lookup():
                return self.picked(operator)
            case Hop():
                return self.hop(operator)
            case Intersection():
                return self.intersection(operator.parts)
            case Union():
                return unique(np.concatenate([self.ids(part) for part in operator.parts]))
            case Difference():
                left = self.ids(operator.left)
                return left[~self.contains(operator.right, left)] if len(left) else left
            case Filter():
                return self.where(operator)
            case All():
                return self.session.members(operator.type)
            case Stored():
                return self.session.stored(operator.name)
        raise AssertionError(operator)

    def picked(self, pick: Lookup) -> Ids:
        """The ids that a parameter names."""
        nodes = self.bound[pick.parameter]
        assert not isinstance(nodes, Constant)
        return np.array(sorted(node.id for node in nodes), np.int32)

    def where(self, where: Filter) -> Ids:
        """The nodes of the source that pass."""
        condition = self.condition(where)
        if isinstance(where.source, All):
            return self.session.passing(where.type, condition)
        ids = self.ids(where.source)
        return ids[self.passes(where, ids)]

    def condition(self, where: Filter) -> str:
        """The tests as one SQL condition."""
        tests = (
            test_sql(test, [constant_sql(self.bound[name], test.sql_type) for name in test.parameters])
            for test in where.tests
        )
        return " AND ".join(tests)

    def passes(self, where: Filter, ids: Ids) -> Mask:
        """A mask of the ids that pass the tests of ``where``."""
        if not len(ids):
            return np.zeros(0, bool)
        condition = self.condition(where)
        if len(ids) <= _FEW:
            kept = self.session.passing_among(where.type, condition, ids)
        else:
            kept = self.session.passing(where.type, condition)
        return is_in(ids, kept)

    # -- hops ---------------------------------------------------------------------------------------------------------

    def hop(self, hop: Hop) -> Ids:
        """What the moves reach from the source."""
        source = self.ids(hop.source)
        parts = [self.reach(move, source) for move in hop.moves]
        found = unique(parts[0] if len(parts) == 1 else np.concatenate(parts))
        return found[self.session.has_type(found, hop.type)] if hop.check and len(found) else found

    def reach(self, move: Move, source: Ids) -> Ids:
        """The nodes that a move leads to, with repeats."""
        csr = self.session.move(move.relation, move.forward)
        if move.closure:
            return closure(csr, source, move.closure == "*", self.session.schema.nodes)
        return neighbors(csr, source)

    def cost(self, operator: Operator) -> float:
        """About how many edges it takes to make the operator's set; exact where its source is small."""
        match operator:
            case Lookup():
                return 1
            case Stored():
                return 100
            case Hop():
                if any(move.closure for move in operator.moves):
                    return self.cost(operator.source) + 10_000
                before = self.cost(operator.source)
                if before <= _FEW:
                    source = self.ids(operator.source)
                    return before + sum(self._degree(move, source) for move in operator.moves)
                return before * 10
            case Intersection():
                return min(map(self.cost, operator.parts))
            case Union():
                return sum(map(self.cost, operator.parts))
            case Difference():
                return self.cost(operator.left)
            case Filter():
                return self.cost(operator.source) + 1000
            case All():
                return 1e7 + self.session.schema.nodes
        raise AssertionError(operator)

    def _degree(self, move: Move, ids: Ids) -> int:
        return int(self.session.move(move.relation, move.forward).ranges(ids)[1].sum())

    # -- membership ---------------------------------------------------------------------------------------------------

    def intersection(self, parts: Sequence[Operator]) -> Ids:
        """The cheapest part, and of that what the others hold too."""
        first, *rest = sorted(parts, key=self.cost)
        ids = self.ids(first)
        for part in rest:
            if not len(ids):
                break
            ids = ids[self.contains(part, ids)]
        return ids

    def contains(self, operator: Operator, ids: Ids) -> Mask:
        """A mask of the sorted ``ids`` that are in the operator's set, without making the set where that costs more."""
        if id(operator) in self._known:
            return is_in(ids, self._known[id(operator)])
        match operator:
            case All():
                return self.session.has_type(ids, operator.type)
            case Hop():
                return self._reached(operator, ids)
            case Lookup() | Stored():
                return is_in(ids, self.ids(operator))
        return by_parts(self, operator, ids)

    def _reached(self, hop: Hop, ids: Ids) -> Mask:
        """A mask of the ids that the hop reaches: backwards from the ids where that touches fewer edges."""
        if any(move.closure for move in hop.moves):
            return is_in(ids, self.ids(hop))
        back = [(move, self.session.move(move.relation, not move.forward)) for move in hop.moves]
        ranges = [csr.ranges(ids) for _, csr in back]
        backward = sum(int(count.sum()) for _, count in ranges)
        if self.cost(hop) <= backward:
            return is_in(ids, self.ids(hop))
        mask = np.zeros(len(ids), bool)
        small = self.cost(hop.source) <= max(backward, _FEW)
        for (_, csr), (start, count) in zip(back, ranges, strict=True):
            before = csr.expand(start, count)
            if small:
                hits = is_in(before, self.ids(hop.source))
            else:
                distinct, place = np.unique(before, return_inverse=True)
                hits = self.contains(hop.source, distinct)[place]
            mask |= any_of(hits, count)
        return mask & self.session.has_type(ids, hop.type) if hop.check else mask


class Members(Protocol):
    """Something that knows which members are in the set of an operator: ids, or pairs of row and id."""

    def contains(self, operator: Operator, members: Any, /) -> Mask: ...  # noqa: D102
    def passes(self, where: Filter, members: Any, /) -> Mask: ...  # noqa: D102


def by_parts(run: Members, operator: Operator, members: NDArray[Any]) -> Mask:
    """A mask of the members in the set of an operator that combines or filters others: each part is asked only about
    the members that it decides.
    """
    match operator:
        case Intersection() | Union():
            both = isinstance(operator, Intersection)
            mask = np.full(len(members), both)
            for part in operator.parts:
                open_ = np.flatnonzero(mask) if both else np.flatnonzero(~mask)
                mask[open_] = run.contains(part, members[open_])
        case Difference():
            mask = run.contains(operator.left, members)
            mask[mask] = ~run.contains(operator.right, members[mask])
        case Filter():
            mask = run.contains(operator.source, members)
            mask[mask] = run.passes(operator, members[mask])
        case _:
            raise AssertionError(operator)
    return mask


def neighbors(csr: Csr, ids: Ids) -> Ids:
    """The neighbours of all ``ids``, with repeats."""
    if len(ids) == 1:
        return csr.neighbors(int(ids[0]))
    return csr.expand(*csr.ranges(ids))


def closure(csr: Csr, start: Ids, zero: bool, nodes: int) -> Ids:
    """Everything reached in one or more steps, breadth first; with ``zero`` also the start. Ids are below ``nodes``."""
    seen = np.zeros(nodes, bool)
    seen[start] = zero
    border = start
    while len(border):
        border = unique(neighbors(csr, border))
        border = border[~seen[border]]
        seen[border] = True
    return np.flatnonzero(seen).astype(np.int32)


def unique(ids: Ids) -> Ids:
    """Sorted distinct ids: by sorting when they are few for their range, else by marking."""
    if len(ids) < 2:
        return ids
    if len(ids) > 4096:
        low = int(ids.min())
        span = int(ids.max()) - low + 1
        if span < 16 * len(ids):
            mark = np.zeros(span, bool)
            mark[ids - low] = True
            return (np.flatnonzero(mark) + low).astype(np.int32)
    return distinct(ids)


def any_of(hits: Mask, count: NDArray[np.int64]) -> Mask:
    """For runs of ``count`` hits laid end to end, whether any in a run is true."""
    mask = np.zeros(len(count), bool)
    filled = np.flatnonzero(count)
    if len(filled):
        starts = np.cumsum(count[filled]) - count[filled]
        mask[filled] = np.logical_or.reduceat(hits, starts)
    return mask
