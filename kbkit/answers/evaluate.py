"""Evaluate a plan for one binding on the adjacency arrays; see :mod:`kbkit.answers.evaluator`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    AllNodes,
    AttributeFilter,
    AttributeMeasure,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    Operator,
    Plan,
    ValueOf,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.evaluator import Evaluator
from kbkit.answers.pairs import Pairs, ids_of
from kbkit.answers.session import Session
from kbkit.answers.sql_parts import condition_sql, constant_sql, measure_sql
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask, distinct, is_in

SMALL = 20_000
"""Up to this many members, a cost is exact and a filter reads only the members, not the whole type."""

_SMALL_TYPE = 100_000
"""Up to this many nodes, a filter reads the whole type, which takes no longer, and stays in memory."""


def evaluate(plan: Plan, session: Session, bound: Bindings) -> Ids:
    """Return the sorted ids of the answers."""
    return SingleEvaluator(session, bound).members(plan.root)


class SingleEvaluator(Evaluator):
    """Evaluates a plan for one binding; a set is an array of sorted ids."""

    def __init__(self, session: Session, bound: Bindings) -> None:
        super().__init__(session)
        self.bound = bound
        self._followed: dict[int, int] = {}
        """The edges that each hop follows from its source."""

    def bindings(self) -> Bindings:
        """Return the parameters."""
        return self.bound

    def _lookup(self, operator: Lookup) -> Ids:
        nodes = self.bound[operator.parameter]
        assert not isinstance(nodes, Constant)
        return np.array(sorted(node.id for node in nodes), np.int32)

    def _filter(self, operator: AttributeFilter) -> Ids:
        condition = self._condition(operator)
        if isinstance(operator.source, AllNodes):
            return self.session.filtered(operator.type, condition)
        ids = self.members(operator.source)
        return ids[self.passes(operator, ids)]

    def passes(self, operator: AttributeFilter, members: Ids) -> Mask:
        """Return a mask of the ids that pass the tests of a filter."""
        if not len(members):
            return np.zeros(0, bool)
        condition = self._condition(operator)
        if len(members) <= SMALL and self.session.size(operator.type) > _SMALL_TYPE:
            passing = self.session.filtered_among(operator.type, condition, members)
        else:
            passing = self.session.filtered(operator.type, condition)
        return is_in(members, passing)

    def _condition(self, operator: AttributeFilter) -> str:
        return " AND ".join(
            condition_sql(test, [constant_sql(self.bound[name], test.sql_type) for name in test.parameters])
            for test in operator.conditions
        )

    def _extreme(self, operator: Extreme, attribute: AttributeMeasure, members: Ids) -> Ids:
        op = "max" if operator.greatest else "min"
        value, known = measure_sql(attribute, op)
        number = None if operator.number is None else self._number(operator.number, members)
        if isinstance(operator.source, AllNodes):
            return self.session.extreme(operator.type, value, known, op, number)
        return self.session.extreme_among(operator.type, value, known, op, members, number)

    def _is_within(self, operator: Operator, members: Ids, pairs: Pairs) -> Mask:  # noqa: ARG002
        ids = ids_of(pairs)
        if isinstance(operator, AllNodes):
            return self.session.has_type(ids, operator.type)
        if len(ids) > SMALL:
            return is_in(ids, self.members(operator))
        unique_ids, position = np.unique(ids, return_inverse=True)
        mask: Mask = self.contains(operator, unique_ids)[position]
        return mask

    def _constant(self, parameter: str, members: Ids) -> str:  # noqa: ARG002
        value = self.bound[parameter]
        assert isinstance(value, Constant)
        return value.text

    def _evaluator_of(self, value: ValueOf, members: Ids) -> tuple[Evaluator, NDArray[np.int64]]:  # noqa: ARG002
        return self, self._rows(members)

    def _rows(self, members: Ids) -> NDArray[np.int64]:
        return np.zeros(len(members), np.int64)

    def _intersect(self, operator: Intersection) -> Ids:
        first, *rest = sorted(operator.parts, key=self.cost)
        ids = self.members(first)
        for part in rest:
            if not len(ids):
                break
            ids = ids[self.contains(part, ids)]
        return ids

    def _hop_cost(self, hop: Hop, source_cost: float) -> float:
        if source_cost > SMALL:
            return source_cost * 10
        edges = self._followed.get(id(hop))
        if edges is None:
            source = self.members(hop.source)
            csrs = [self.arrays(move) for move in hop.moves]
            if len(source) == 1:
                edges = sum(len(csr.neighbors(int(source[0]))) for csr in csrs)
            else:
                edges = sum(int(csr.ranges(source)[1].sum()) for csr in csrs)
            self._followed[id(hop)] = edges
        return source_cost + edges

    def _choose_direction(self, hop: Hop, members: Ids, backward: int) -> Mask | None:
        return is_in(members, self.members(hop)) if self.cost(hop) <= backward else None

    def _source_contains(self, source: Operator, members: Ids, count: Any, candidates: Ids) -> Mask:  # noqa: ARG002
        if self.cost(source) <= max(len(candidates), SMALL):
            return is_in(candidates, self.members(source))
        unique_ids, position = np.unique(candidates, return_inverse=True)
        mask: Mask = self.contains(source, unique_ids)[position]
        return mask

    def _ids(self, members: Ids) -> Ids:
        return members

    def _is_in(self, members: Ids, other: Ids) -> Mask:
        return is_in(members, other)

    def _unique(self, members: Ids) -> Ids:
        """Return sorted distinct ids: by sorting if few for their range, else by marking."""
        if len(members) < 2:
            return members
        if len(members) > 4096:
            low = int(members.min())
            span = int(members.max()) - low + 1
            if span < 16 * len(members):
                marked = np.zeros(span, bool)
                marked[members - low] = True
                return (np.flatnonzero(marked) + low).astype(np.int32)
        return distinct(members)

    def _neighbors(self, csr: Csr, members: Ids) -> Ids:
        if len(members) == 1:
            return csr.neighbors(int(members[0]))
        return csr.expand(*csr.ranges(members))

    def _closure(self, csr: Csr, source: Ids, zero: bool) -> Ids:
        """Search breadth first."""
        seen = np.zeros(self.session.schema.nodes, bool)
        seen[source] = zero
        frontier = source
        while len(frontier):
            frontier = self._unique(self._neighbors(csr, frontier))
            frontier = frontier[~seen[frontier]]
            seen[frontier] = True
        return np.flatnonzero(seen).astype(np.int32)

    def _smallest(self, costs: list[float]) -> float:
        return min(costs)
