"""Evaluate a plan for a block of bindings: each operator is one array operation over all rows.

A set is an array of packed pairs, ``row << 32 | id``, ordered by row: the rows of a sparse Boolean matrix. An
intersection evaluates, row by row, the part that touches the fewest edges and tests the others against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    AllNodes,
    AttributeFilter,
    AttributeMeasure,
    Difference,
    Extreme,
    Hop,
    Intersection,
    Lookup,
    Move,
    Operator,
    Union,
    ValueOf,
)
from kbkit.answers.batch_filters import RowFilter, extreme_of_rows
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.evaluate import SingleEvaluator
from kbkit.answers.evaluator import Evaluator
from kbkit.answers.operator_tree import parameters, total_inputs
from kbkit.answers.pairs import Pairs, are_in, closure, ids_of, neighbors, pack, rows_only, unique
from kbkit.answers.session import Session
from kbkit.answers.value_rows import Constants
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask

if TYPE_CHECKING:
    import polars as pl

Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = Mapping[str, Ids | list[Constant]]
"""For each parameter filled by a slot, its value in every row: node ids, or constants."""

_BITMAP = 1 << 26
_MANY = 4_000_000
_HEAVY = 500_000
"""Edges to touch from which the nodes of highest degree are handled separately."""


class BatchEvaluator(Evaluator):
    """Evaluates a plan for a block of rows. ``constant`` evaluates the operators that use no slot."""

    def __init__(
        self, session: Session, constant: SingleEvaluator, slots: frozenset[str], columns: Columns, rows: int
    ) -> None:
        super().__init__(session)
        self.constant, self.slots, self.columns, self.rows = constant, slots, columns, rows

    def bindings(self) -> Bindings:
        """Return the parameters that are not slots."""
        return self.constant.bound

    def select(self, rows: NDArray[np.int64]) -> BatchEvaluator:
        """Return an evaluator of some of the rows."""
        columns = {
            name: values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows.tolist()]
            for name, values in self.columns.items()
        }
        return BatchEvaluator(self.session, self.constant, self.slots, columns, len(rows))

    def counts(self, pairs: Pairs) -> Counts:
        """Return the number of pairs of each row."""
        return np.bincount(pairs >> 32, minlength=self.rows)

    # -- operators without slots have one set for all rows ------------------------------------------------------------

    def _is_constant(self, operator: Operator) -> bool:
        return not (parameters(operator) & self.slots)

    def evaluate(self, operator: Operator) -> Pairs:
        """Compute the distinct pairs of an operator, by row."""
        if self._is_constant(operator):
            ids = self.constant.members(operator)
            return pack(np.repeat(np.arange(self.rows), len(ids)), np.tile(ids, self.rows))
        return super().evaluate(operator)

    def contains(self, operator: Operator, members: Pairs) -> Mask:
        """Return a mask of the pairs whose node is in the operator's set of their row."""
        if len(members) and self._is_constant(operator):
            return self._constant_contains(operator, ids_of(members))
        if isinstance(operator, Lookup):
            mask: Mask = ids_of(members) == self._column(operator.parameter)[members >> 32]
            return mask
        return super().contains(operator, members)

    def _constant_contains(self, operator: Operator, ids: Ids) -> Mask:
        if isinstance(operator, AllNodes):
            return self.session.has_type(ids, operator.type)
        distinct, position = np.unique(ids, return_inverse=True)
        mask: Mask = self.constant.contains(operator, distinct)[position]
        return mask

    def cost(self, operator: Operator) -> Floats:
        """Estimate for each row the edges touched to compute the operator's set."""
        if self._is_constant(operator):
            return np.full(self.rows, self.constant.cost(operator))
        cost: Floats = np.ones(self.rows) if isinstance(operator, Lookup) else super().cost(operator)
        return cost

    # -- the operators ------------------------------------------------------------------------------------------------

    def _column(self, parameter: str) -> Ids:
        values = self.columns[parameter]
        assert isinstance(values, np.ndarray)
        return values

    def _lookup(self, operator: Lookup) -> Pairs:
        return pack(np.arange(self.rows), self._column(operator.parameter))

    def _intersect(self, operator: Intersection) -> Pairs:
        costs = np.stack([self.cost(part) for part in operator.parts])
        cheapest = costs.argmin(axis=0)
        if (cheapest == cheapest[0]).all():
            order = np.argsort(costs.sum(axis=1), kind="stable").tolist()
            order.remove(int(cheapest[0]))
            members: Pairs = self.members(operator.parts[int(cheapest[0])])
            for i in order:
                members = members[self.contains(operator.parts[i], members)]
            return members
        groups = []
        for i in np.unique(cheapest):
            rows = np.flatnonzero(cheapest == i)
            pairs = self.select(rows).members(operator)
            groups.append(pack(rows[pairs >> 32], ids_of(pairs)))
        return np.sort(np.concatenate(groups))

    def _hop_cost(self, hop: Hop, source_cost: Floats) -> Floats:
        if source_cost.sum() > _MANY or self._is_constant(hop.source):
            return source_cost * 10
        source = self.members(hop.source)
        counts = sum(self.arrays(move).ranges(ids_of(source))[1] for move in hop.moves)
        return source_cost + np.bincount(source >> 32, weights=counts, minlength=self.rows)

    def _smallest(self, costs: list[Floats]) -> Floats:
        smallest: Floats = np.min(costs, axis=0)
        return smallest

    def _choose_direction(self, hop: Hop, members: Pairs, backward: int) -> Mask | None:
        forward = self.cost(hop).sum()
        is_plain = len(hop.moves) == 1 and not hop.moves[0].conditions
        if min(forward, backward) > _HEAVY and is_plain and not self._is_constant(hop.source):
            return self._reaches_by_degree(hop, members)
        return are_in(members, self.members(hop)) if forward <= backward else None

    def _source_contains(self, source: Operator, members: Pairs, count: Any, candidates: Ids) -> Mask:
        rows = np.repeat(members >> 32, count)
        if self._is_constant(source):
            return self._constant_contains(source, candidates)
        if isinstance(source, Lookup):
            mask: Mask = candidates == self._column(source.parameter)[rows]
            return mask
        if self.cost(source).sum() > max(len(candidates), _MANY):
            distinct, position = np.unique(pack(rows, candidates), return_inverse=True)
            return self.contains(source, distinct)[position]
        return self._marked(self.members(source), rows, candidates)

    def _marked(self, pairs: Pairs, rows: NDArray[np.int64], ids: Ids) -> Mask:
        """Return a mask of the (row, id), in any order, that are in ``pairs``; by a bitmap unless it is too large."""
        if not len(pairs):
            return np.zeros(len(ids), bool)
        members = ids_of(pairs)
        low = int(members.min())
        span = int(members.max()) - low + 1
        if span * self.rows > _BITMAP:
            return are_in(pack(rows, ids), pairs)
        marked = np.zeros(span * self.rows, bool)
        marked[(pairs >> 32) * span + (members - low)] = True
        position = ids - np.int64(low)
        outside = (position < 0) | (position >= span)
        position += rows * span
        position[outside] = 0
        mask: Mask = marked[position] & ~outside
        return mask

    def _reaches_by_degree(self, hop: Hop, members: Pairs) -> Mask:
        """Return a mask of the pairs that a hop reaches if both directions touch many edges.

        Test the few source nodes that have most of the edges as bitmaps, and follow only the others.
        """
        [move] = hop.moves
        mask, light = self._reached_by_heavy(move, self.members(hop.source), members)
        rest = np.flatnonzero(~mask)
        mask[rest] = are_in(members[rest], neighbors(self.arrays(move), light))
        return mask & self.session.has_type(ids_of(members), hop.type) if hop.check else mask

    def _reached_by_heavy(self, move: Move, source: Pairs, pairs: Pairs) -> tuple[Mask, Pairs]:
        """Return a mask of the pairs that a node of high degree in the source reaches, and the rest of the source."""
        heavy = self.session.stores.adjacency.heavy(move.relation, move.forward)
        is_heavy = heavy.number(ids_of(source)) >= 0
        nodes = source[is_heavy]
        mask = heavy.meet(pairs >> 32, ids_of(pairs), nodes >> 32, ids_of(nodes), self.rows)
        return mask, source[~is_heavy]

    def _ids(self, members: Pairs) -> Ids:
        return ids_of(members)

    def _is_in(self, members: Pairs, other: Pairs) -> Mask:
        return are_in(members, other)

    def _unique(self, members: Pairs) -> Pairs:
        return unique(members)

    def _neighbors(self, csr: Csr, members: Pairs) -> Pairs:
        return neighbors(csr, members)

    def _closure(self, csr: Csr, source: Pairs, zero: bool) -> Pairs:
        return closure(csr, source, zero)

    # -- parts of sets ------------------------------------------------------------------------------------------------

    def partial(self, operator: Operator, size: int) -> Pairs:
        """Return some of an operator's pairs: about ``size`` per row where a part is enough and is cheaper."""
        if self._is_constant(operator) or id(operator) in self.evaluated:
            return self.members(operator)
        match operator:
            case Hop() if not any(move.closure for move in operator.moves):
                return self._partial_hop(operator, size)
            case Intersection():
                first, *rest = operator.parts
                members = self.partial(first, size)
                for part in rest:
                    members = members[self._contains_at_least(part, members)]
                return members
            case Difference():
                left = self.partial(operator.left, size)
                return left[~self.contains(operator.right, left)]
            case Union():
                return self.partial(operator.parts[0], size)
            case _:
                return self.members(operator)

    def _contains_at_least(self, operator: Operator, pairs: Pairs) -> Mask:
        """Return a mask of pairs in the operator's set; for a large relation only those reached from heavy nodes."""
        if isinstance(operator, Hop) and len(operator.moves) == 1 and not self._is_constant(operator.source):
            [move] = operator.moves
            large = len(self.arrays(move).targets) > _MANY
            if large and not move.closure and not move.conditions and not operator.check:
                return self._reached_by_heavy(move, self.members(operator.source), pairs)[0]
        return self.contains(operator, pairs)

    def _partial_hop(self, hop: Hop, size: int) -> Pairs:
        source = self.partial(hop.source, size)
        by_move = []
        for move in hop.moves:
            csr = self.arrays(move)
            start, count = csr.ranges(ids_of(source))
            before = np.cumsum(count) - count
            rows = source >> 32
            before -= before[np.searchsorted(rows, rows)]  # pairs that the row already has
            count = np.clip(size - before, 0, count)
            reached = np.repeat(rows_only(source), count)
            reached |= csr.expand(start, count)
            by_move.append(reached)
        reached = unique(by_move[0] if len(by_move) == 1 else np.concatenate(by_move))
        return reached[self.session.has_type(ids_of(reached), hop.type)] if hop.check else reached

    # -- filters ------------------------------------------------------------------------------------------------------

    def _filter(self, operator: AttributeFilter) -> Pairs:
        if self._is_constant(operator.source):
            return self._select(operator, f"{self.session.table(operator.type)} ON")
        pairs: Pairs = self.members(operator.source)
        return pairs[self.passes(operator, pairs)]

    def passes(self, operator: AttributeFilter, members: Pairs) -> Mask:
        """Return a mask of the pairs whose node passes the tests with the values of its row."""
        import polars as pl

        if not any(name in self.slots for test in operator.conditions for name in test.parameters):
            distinct, position = np.unique(ids_of(members), return_inverse=True)
            mask: Mask = self.constant.passes(operator, distinct)[position]
            return mask
        batch = pl.DataFrame({"kb row": (members >> 32).astype(np.int32), "kb id": ids_of(members)})
        table = self.session.table(operator.type)
        source = f'kbkit_pairs p ON p."kb row" = v."kb row" JOIN {table} ON p."kb id" = id WHERE'
        return are_in(members, self._select(operator, source, batch))

    def _select(self, operator: AttributeFilter, source: str, pairs: pl.DataFrame | None = None) -> Pairs:
        table = RowFilter(self.session, self.constant, self.slots, self.columns, self.rows)
        return table.select(operator, source, pairs)

    # -- counts and superlatives --------------------------------------------------------------------------------------

    def _extreme(self, operator: Extreme, attribute: AttributeMeasure, members: Pairs) -> Pairs:
        number = None if operator.number is None else self._number(operator.number, members)
        return members[are_in(members, extreme_of_rows(self.session, operator, attribute, members, number))]

    def _is_within(self, operator: Operator, members: Pairs, pairs: Pairs) -> Mask:
        if self._is_constant(operator):
            return self._constant_contains(operator, ids_of(pairs))
        rows = members[pairs >> 32] >> 32
        distinct, position = np.unique(pack(rows, ids_of(pairs)), return_inverse=True)
        return self.contains(operator, distinct)[position]

    def _constant(self, parameter: str, members: Pairs) -> Constants:
        if parameter not in self.slots:
            value = self.constant.bound[parameter]
            assert isinstance(value, Constant)
            return value.text
        texts = [value.text for value in self.columns[parameter] if isinstance(value, Constant)]
        each: NDArray[np.object_] = np.array(texts, object)[members >> 32]
        return each

    def _evaluator_of(self, value: ValueOf, members: Pairs) -> tuple[Evaluator, NDArray[np.int64]]:
        if parameters(*total_inputs(value)) & self.slots:
            return self, self._rows(members)
        return self.constant, np.zeros(len(members), np.int64)

    def _rows(self, members: Pairs) -> NDArray[np.int64]:
        return members >> 32
