"""Evaluate a plan on the adjacency arrays: the operators, for one binding or for a batch.

A set is an array of distinct members: sorted ids for one binding (:class:`kbkit.answers.evaluate.SingleEvaluator`),
packed pairs of row and id for a batch (:class:`kbkit.answers.batch.BatchEvaluator`). The cases of each operator (its
set, a membership test, its cost) are in :class:`Evaluator`, which leaves operations that depend on the form of a set to
its two subclasses. A single binding is not a batch of one because that takes 1.4 to 3.1 times as long on the templates
of STaRK-MAG.

An intersection evaluates its cheapest part and tests the others against it, each in the direction that touches fewer
edges, so that the larger set is never built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
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
    Measure,
    MeasureFilter,
    Move,
    Operator,
    PathMeasure,
    SavedNodes,
    Union,
    ValueOf,
    path_of,
)
from kbkit.answers.bind import Bindings
from kbkit.answers.counting import COMPARE, Counts, best_of_rows, count_reached, reached_pairs, top_of_rows
from kbkit.answers.edge_filters import EdgeFilters
from kbkit.answers.edge_values import edge_values
from kbkit.answers.pairs import Pairs, pack
from kbkit.answers.session import Session
from kbkit.answers.value_rows import (
    Constants,
    MeasuredNodes,
    as_numbers,
    best_of_groups,
    compares_with_constant,
    compares_with_measure,
    compares_with_value,
)
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import Mask

if TYPE_CHECKING:
    import polars as pl

Members: TypeAlias = NDArray[Any]
"""A set: sorted ids, or pairs of row and id."""

_CLOSURE_COST, _FILTER_COST, _SAVED_SET_COST, _ALL_NODES_COST = 10_000, 1000, 100, 1e7


class Evaluator(ABC):
    """One evaluation. Keeps the set of each operator: plans share parts, and costs are computed from actual sets."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._edges = EdgeFilters.of(session.stores)
        self.evaluated: dict[int, Members] = {}

    # -- the operators ------------------------------------------------------------------------------------------------

    def members(self, operator: Operator) -> Members:
        """Return the set of an operator."""
        members = self.evaluated.get(id(operator))
        if members is None:
            members = self.evaluated[id(operator)] = self.evaluate(operator)
        return members

    def evaluate(self, operator: Operator) -> Members:
        """Compute the set of an operator."""
        match operator:
            case Lookup():
                return self._lookup(operator)
            case Hop():
                return self.follow(operator, self.members(operator.source))
            case Intersection():
                return self._intersect(operator)
            case Union():
                return self._unique(np.concatenate([self.members(part) for part in operator.parts]))
            case Difference():
                left = self.members(operator.left)
                return left[~self.contains(operator.right, left)] if len(left) else left
            case AttributeFilter():
                return self._filter(operator)
            case MeasureFilter():
                members = self.members(operator.source)
                return members[self._passes_measure(operator, members)]
            case Extreme():
                return self._superlative(operator, self.members(operator.source))
            case AllNodes():
                return self.session.members(operator.type)
            case SavedNodes():
                return self.session.saved_ids(operator.name)
        raise AssertionError(operator)

    def contains(self, operator: Operator, members: Members) -> Mask:
        """Return a mask of ``members`` in the operator's set, without building the set if that costs more."""
        if not len(members):
            return np.zeros(0, bool)
        if id(operator) in self.evaluated:
            return self._is_in(members, self.evaluated[id(operator)])
        match operator:
            case Lookup() | SavedNodes() | Extreme():
                return self._is_in(members, self.members(operator))
            case Hop():
                return self.reaches(operator, members)
            case Intersection() | Union():  # test each part only on the undecided members
                is_and = isinstance(operator, Intersection)
                mask = np.full(len(members), is_and)
                for part in operator.parts:
                    undecided = np.flatnonzero(mask) if is_and else np.flatnonzero(~mask)
                    mask[undecided] = self.contains(part, members[undecided])
                return mask
            case Difference():
                mask = self.contains(operator.left, members)
                mask[mask] = ~self.contains(operator.right, members[mask])
                return mask
            case AttributeFilter():
                mask = self.contains(operator.source, members)
                mask[mask] = self.passes(operator, members[mask])
                return mask
            case MeasureFilter():
                mask = self.contains(operator.source, members)
                mask[mask] = self._passes_measure(operator, members[mask])
                return mask
            case AllNodes():
                return self.session.has_type(self._ids(members), operator.type)
        raise AssertionError(operator)

    def cost(self, operator: Operator) -> Any:
        """Estimate the edges touched to compute the operator's set (per row in a batch); exact for small sources."""
        match operator:
            case Lookup():
                return 1
            case Hop():
                source = self.cost(operator.source)
                if any(move.closure for move in operator.moves):
                    return source + _CLOSURE_COST
                return self._hop_cost(operator, source)
            case Intersection():
                return self._smallest([self.cost(part) for part in operator.parts])
            case Union():
                return sum(self.cost(part) for part in operator.parts)
            case Difference():
                return self.cost(operator.left)
            case AttributeFilter() | MeasureFilter() | Extreme():
                return self.cost(operator.source) + _FILTER_COST
            case AllNodes():
                return _ALL_NODES_COST + self.session.schema.nodes
            case SavedNodes():
                return _SAVED_SET_COST
        raise AssertionError(operator)

    def follow(self, hop: Hop, source: Members) -> Members:
        """Return the nodes that the moves of ``hop`` reach from ``source``."""
        parts = [self.follow_move(move, source) for move in hop.moves]
        if len(parts) == 1 and len(source) == 1 and not hop.moves[0].closure:
            reached = parts[0].copy()  # the neighbours of one node are sorted and distinct
        else:
            reached = self._unique(parts[0] if len(parts) == 1 else np.concatenate(parts))
        return reached[self.session.has_type(self._ids(reached), hop.type)] if hop.check and len(reached) else reached

    def follow_move(self, move: Move, source: Members) -> Members:
        """Return the nodes that one move reaches, possibly repeated."""
        csr = self.arrays(move)
        return self._closure(csr, source, move.closure == "*") if move.closure else self._neighbors(csr, source)

    def arrays(self, move: Move, *, back: bool = False) -> Csr:
        """Return the adjacency arrays of a move, or with ``back`` of its reverse."""
        return self._edges.arrays(move, self.bindings(), back=back)

    def reaches(self, hop: Hop, members: Members) -> Mask:
        """Return a mask of the members that the hop reaches: backward from them if that touches fewer edges."""
        if any(move.closure for move in hop.moves):
            return self._is_in(members, self.members(hop))
        ids = self._ids(members)
        back = [self.arrays(move, back=True) for move in hop.moves]
        ranges = [csr.ranges(ids) for csr in back]
        backward = sum(int(count.sum()) for _, count in ranges)
        chosen = self._choose_direction(hop, members, backward)
        if chosen is not None:
            return chosen
        mask = np.zeros(len(ids), bool)
        for csr, (start, count) in zip(back, ranges, strict=True):
            hits = self._source_contains(hop.source, members, count, csr.expand(start, count))
            mask |= any_of(hits, count)
        return mask & self.session.has_type(ids, hop.type) if hop.check else mask

    def count(self, path: PathMeasure, members: Members) -> Counts:
        """Return the number of nodes that a path reaches from each member."""
        return count_reached(
            self.arrays, path, self._ids(members), lambda within, pairs: self._is_within(within, members, pairs)
        )

    def reached(self, path: PathMeasure, members: Members) -> Pairs:
        """Return the pairs (position of a member, id) of the nodes that a path reaches."""
        return reached_pairs(
            self.arrays, path, self._ids(members), lambda within, pairs: self._is_within(within, members, pairs)
        )

    # -- measures -----------------------------------------------------------------------------------------------------

    def measured(self, measure: Measure | None, members: Members) -> MeasuredNodes:
        """Return members with what a measure has for them along its path; the values of attributes are not read."""
        nodes = MeasuredNodes(self._rows(members), self._ids(members))
        if not isinstance(measure, PathMeasure):
            return nodes
        if measure.is_number_of_nodes:
            return nodes._replace(counts=self.count(measure, members))
        if measure.of_edges:
            reached, values = self.edge_values(measure, members)
            return nodes._replace(reached=reached, edge_values=values)
        return nodes._replace(reached=self.reached(measure, members))

    def edge_values(self, measure: PathMeasure, members: Members) -> tuple[Pairs, pl.DataFrame]:
        """Return the pairs (position of a member, number of an edge) of a measure of edges, and the edges' values."""

        def is_within(within: Operator, pairs: Pairs) -> Mask:
            return self._is_within(within, members, pairs)

        ids = self._ids(members)
        before = pack(np.arange(len(ids)), ids)
        if len(measure.steps) > 1:
            before = reached_pairs(self.arrays, replace(measure, steps=measure.steps[:-1]), ids, is_within)
        return edge_values(self.session, self.bindings(), measure, before, is_within)

    def _passes_measure(self, operator: MeasureFilter, members: Members) -> Mask:
        """Return a mask of the members whose measure compares with the other value (of their row)."""
        if not len(members):
            return np.zeros(0, bool)
        other, left = operator.other, self.measured(operator.measure, members)
        if isinstance(other, ValueOf):
            evaluator, rows = self._evaluator_of(other, members)
            nodes = evaluator.members(other.root)
            right = evaluator.measured(next(iter(other.total.measures), None), nodes)
            return compares_with_value(self.session, operator, other, left._replace(rows=rows), right)
        if isinstance(other, str):
            constant = self._constant(other, members)
            if left.counts is None:
                return compares_with_constant(self.session, operator, left, constant)
            numbers: Any = as_numbers(constant)
        else:
            theirs = self.measured(other, members)
            if left.counts is None or theirs.counts is None:
                return compares_with_measure(self.session, operator, other, left, theirs)
            numbers = theirs.counts
        mask: Mask = COMPARE[operator.op](left.counts, numbers)
        return mask

    def _superlative(self, operator: Extreme, members: Members) -> Members:
        """Return the members with the greatest (or least) value."""
        nodes = self.measured(operator.measure, members)
        if operator.per is not None or nodes.reached is not None:
            path = None if operator.per is None else path_of(operator.per)
            groups = None if path is None else self.reached(path, members)
            number = 1 if operator.number is None else self._number(operator.number, members)
            return members[best_of_groups(self.session, operator, nodes, groups, number)]
        if isinstance(operator.measure, AttributeMeasure):
            return self._extreme(operator, operator.measure, members)
        assert nodes.counts is not None
        if operator.number is None:
            return members[best_of_rows(nodes.rows, nodes.counts, operator.greatest)]
        number = self._number(operator.number, members)
        return members[top_of_rows(nodes.rows, nodes.counts, operator.greatest, number)]

    def _number(self, parameter: str, members: Members) -> Any:
        """Return the value of an integer parameter for all members, or for each."""
        return as_numbers(self._constant(parameter, members))

    # -- what depends on the form of a set ----------------------------------------------------------------------------

    @abstractmethod
    def bindings(self) -> Bindings:
        """Return the parameters with one value for all rows."""

    @abstractmethod
    def _lookup(self, operator: Lookup) -> Members:
        """Return the nodes of a parameter."""

    @abstractmethod
    def _filter(self, operator: AttributeFilter) -> Members:
        """Return the nodes of the source that pass the tests."""

    @abstractmethod
    def passes(self, operator: AttributeFilter, members: Members) -> Mask:
        """Return a mask of the members that pass the tests of a filter."""

    @abstractmethod
    def _extreme(self, operator: Extreme, attribute: AttributeMeasure, members: Members) -> Members:
        """Return the members with the greatest (or least) value of an attribute."""

    @abstractmethod
    def _is_within(self, operator: Operator, members: Members, pairs: Pairs) -> Mask:
        """Return a mask of the pairs (position in ``members``, id) whose id is in the operator's set for the member."""

    @abstractmethod
    def _constant(self, parameter: str, members: Members) -> Constants:
        """Return the text of a constant for all members, or for each."""

    @abstractmethod
    def _evaluator_of(self, value: ValueOf, members: Members) -> tuple[Evaluator, NDArray[np.int64]]:
        """Return an evaluator of a value, and the row of it that each member is compared with."""

    @abstractmethod
    def _rows(self, members: Members) -> NDArray[np.int64]:
        """Return the row of each member."""

    @abstractmethod
    def _intersect(self, operator: Intersection) -> Members:
        """Return the members of all parts, starting from the cheapest."""

    @abstractmethod
    def _hop_cost(self, hop: Hop, source_cost: Any) -> Any:
        """Estimate the edges touched by a hop without closures."""

    @abstractmethod
    def _choose_direction(self, hop: Hop, members: Members, backward: int) -> Mask | None:
        """Return the mask of reached members if forward is cheaper than ``backward`` edges, else None."""

    @abstractmethod
    def _source_contains(self, source: Operator, members: Members, count: Any, candidates: Ids) -> Mask:
        """Return a mask of ``candidates`` in the source; each member has ``count`` of them, in a row."""

    @abstractmethod
    def _ids(self, members: Members) -> Ids:
        """Return the ids of members."""

    @abstractmethod
    def _is_in(self, members: Members, other: Members) -> Mask:
        """Return a mask of the members in another set."""

    @abstractmethod
    def _unique(self, members: Members) -> Members:
        """Return the distinct members."""

    @abstractmethod
    def _neighbors(self, csr: Csr, members: Members) -> Members:
        """Return the neighbours of all members, possibly repeated."""

    @abstractmethod
    def _closure(self, csr: Csr, source: Members, zero: bool) -> Members:
        """Return the nodes reached in one or more steps, and the source if ``zero``."""

    @abstractmethod
    def _smallest(self, costs: list[Any]) -> Any:
        """Return the smallest of several costs."""


def any_of(hits: Mask, count: NDArray[np.int64]) -> Mask:
    """Return for each run of ``count`` consecutive hits whether any is true."""
    mask = np.zeros(len(count), bool)
    filled = np.flatnonzero(count)
    if len(filled):
        starts = np.cumsum(count[filled]) - count[filled]
        mask[filled] = np.logical_or.reduceat(hits, starts)
    return mask
