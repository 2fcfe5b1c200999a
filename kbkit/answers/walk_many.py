"""Runs a plan for a table of bindings at once: each operator is one array operation over all rows of a block.

A set per row is kept as distinct int64, ``row << 32 | id``, by row: the rows of a sparse Boolean matrix. A hop is that
matrix times the relation's; an intersection makes, row by row, the part that touches the fewest edges and tests the
others against it. Blocks of rows run on all cores (numpy lets go of the interpreter's lock).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

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
    Union,
    parameters,
)
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.pairs import Pairs, are_in, ids_of, neighbors, pack, rows_only, unique
from kbkit.answers.session import Session
from kbkit.answers.to_sql import constant_sql, identifier, test_sql
from kbkit.answers.walk import Walk, any_of, by_parts
from kbkit.directory import systems
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import Mask

if TYPE_CHECKING:
    import polars as pl

Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = Mapping[str, Ids | list[Constant]]
"""For each parameter that a slot fills, its value in every row: node ids, or constants."""

BLOCK = 256
"""Rows run at once: enough to make calls cheap, few enough for their bitmaps to stay in the processor's cache."""

_BITMAP = 1 << 26
_MANY = 4_000_000
_FEW_ANSWERS = 1000
_HEAVY = 500_000
"""Edges to touch from which the heaviest nodes are worth a look of their own."""


@dataclass(frozen=True)
class Answers:
    """Answers of many bindings: ``nodes[i]`` is an answer of row ``rows[i]``; sorted by row, then node."""

    rows: NDArray[np.int64]
    nodes: Ids


def walk_many(plan: Plan, session: Session, shared: Bindings, columns: Columns, rows: int) -> Answers:
    """The answers of ``rows`` bindings. ``shared`` holds the parameters that are the same in all."""
    found = _blocks(session, shared, columns, rows, lambda block: np.sort(block.pairs(plan.root)))
    parts = [pairs + (np.int64(start) << 32) for start, pairs in found]
    packed = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return Answers(packed >> 32, ids_of(packed))


def count_many(plan: Plan, session: Session, shared: Bindings, columns: Columns, rows: int) -> Counts:
    """How many answers each of ``rows`` bindings has."""
    return _counted(session, shared, columns, rows, lambda block: block.counts(block.pairs(plan.root)))


def count_up_to(plan: Plan, session: Session, shared: Bindings, columns: Columns, rows: int, limit: int) -> Counts:
    """The same, but ``most + 1`` stands for all larger counts: rows that have more among a few of their nodes are not
    counted to the end.
    """
    rounds = (2 * limit + 20, 20 * limit) if limit <= _FEW_ANSWERS else ()

    def count(block: _Block) -> Counts:
        counts = np.full(block.rows, limit + 1)
        open_ = np.arange(block.rows)
        for enough in rounds:
            rest = block.select(open_)
            open_ = open_[rest.counts(rest.some(plan.root, enough)) <= limit]
        if len(open_):
            rest = block.select(open_)
            counts[open_] = np.minimum(rest.counts(rest.pairs(plan.root)), limit + 1)
        return counts

    return _counted(session, shared, columns, rows, count)


def _counted(
    session: Session, shared: Bindings, columns: Columns, rows: int, count: Callable[[_Block], Counts]
) -> Counts:
    parts = [counts for _, counts in _blocks(session, shared, columns, rows, count)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _blocks(
    session: Session, shared: Bindings, columns: Columns, rows: int, action: Callable[[_Block], NDArray[np.int64]]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """(first row, what ``action`` makes of it) of each block, in order."""
    constant = Walk(session, shared)
    slots = frozenset(columns)

    def run(start: int) -> tuple[int, NDArray[np.int64]]:
        part = {name: values[start : start + BLOCK] for name, values in columns.items()}
        return start, action(_Block(session, constant, slots, part, min(BLOCK, rows - start)))

    with ThreadPoolExecutor(systems.cores()) as pool:
        yield from pool.map(run, range(0, rows, BLOCK))


class _Block:
    """A plan over a few rows. ``constant`` gives the operators that no slot takes part in."""

    def __init__(self, session: Session, constant: Walk, slots: frozenset[str], columns: Columns, rows: int) -> None:
        self.session, self.constant, self.slots, self.columns, self.rows = session, constant, slots, columns, rows
        self._known: dict[int, Pairs] = {}

    def is_constant(self, operator: Operator) -> bool:
        return not (parameters(operator) & self.slots)

    def pairs(self, operator: Operator) -> Pairs:
        """Distinct (row, id) of an operator's nodes, packed, by row."""
        known = self._known.get(id(operator))
        if known is None:
            known = self._known[id(operator)] = self._pairs(operator)
        return known

    def _pairs(self, operator: Operator) -> Pairs:
        if self.is_constant(operator):
            ids = self.constant.ids(operator)
            return pack(np.repeat(np.arange(self.rows), len(ids)), np.tile(ids, self.rows))
        match operator:
            case Lookup():
                return pack(np.arange(self.rows), self.column(operator.parameter))
            case Hop():
                return self.hop(operator)
            case Intersection():
                return self.intersection(operator)
            case Union():
                return unique(np.concatenate([self.pairs(part) for part in operator.parts]))
            case Difference():
                left = self.pairs(operator.left)
                return left[~self.contains(operator.right, left)]
            case Filter():
                return self.where(operator)
        raise AssertionError(operator)

    def counts(self, pairs: Pairs) -> Counts:
        """How many of the pairs each row has."""
        return np.bincount(pairs >> 32, minlength=self.rows)

    def column(self, parameter: str) -> Ids:
        values = self.columns[parameter]
        assert isinstance(values, np.ndarray)
        return values

    # -- hops ---------------------------------------------------------------------------------------------------------

    def hop(self, hop: Hop) -> Pairs:
        return self.follow(hop, self.pairs(hop.source))

    def follow(self, hop: Hop, source: Pairs) -> Pairs:
        """What the moves of ``hop`` reach from ``source``."""
        parts = [self.reach(move, source) for move in hop.moves]
        found = unique(parts[0] if len(parts) == 1 else np.concatenate(parts))
        return found[self.session.has_type(ids_of(found), hop.type)] if hop.check else found

    def reach(self, move: Move, source: Pairs) -> Pairs:
        csr = self.session.move(move.relation, move.forward)
        if not move.closure:
            return neighbors(csr, source)
        reached = source if move.closure == "*" else source[:0]
        border = source
        while len(border):
            border = unique(neighbors(csr, border))
            border = border[~are_in(border, reached)]
            reached = np.sort(np.concatenate((reached, border)))  # by row again
        return reached

    def some(self, operator: Operator, enough: int) -> Pairs:
        """Some of an operator's pairs: about ``enough`` in a row that has so many and where a part will do."""
        if self.is_constant(operator) or id(operator) in self._known:
            return self.pairs(operator)
        match operator:
            case Hop() if not any(move.closure for move in operator.moves):
                return self._some_reached(operator, enough)
            case Intersection():
                first, *rest = operator.parts
                found = self.some(first, enough)
                for part in rest:
                    found = found[self.surely(part, found)]
                return found
            case Difference():
                left = self.some(operator.left, enough)
                return left[~self.contains(operator.right, left)]
            case Union():
                return self.some(operator.parts[0], enough)
            case _:
                return self.pairs(operator)

    def surely(self, operator: Operator, pairs: Pairs) -> Mask:
        """A mask of pairs that are in the operator's set, where not all need be found: from heavy nodes only, if the
        relation is large.
        """
        if isinstance(operator, Hop) and len(operator.moves) == 1 and not self.is_constant(operator.source):
            [move] = operator.moves
            large = len(self.session.move(move.relation, move.forward).targets) > _MANY
            if large and not move.closure and not operator.check:
                return self._heavily_reached(move, self.pairs(operator.source), pairs)[0]
        return self.contains(operator, pairs)

    def _some_reached(self, hop: Hop, enough: int) -> Pairs:
        source = self.some(hop.source, enough)
        parts = []
        for move in hop.moves:
            csr = self.session.move(move.relation, move.forward)
            start, count = csr.ranges(ids_of(source))
            before = np.cumsum(count) - count
            rows = source >> 32
            before -= before[np.searchsorted(rows, rows)]  # what the row has already
            count = np.clip(enough - before, 0, count)
            found = np.repeat(rows_only(source), count)
            found |= csr.expand(start, count)
            parts.append(found)
        found = unique(parts[0] if len(parts) == 1 else np.concatenate(parts))
        return found[self.session.has_type(ids_of(found), hop.type)] if hop.check else found

    def costs(self, operator: Operator) -> Floats:
        """About how many edges each row takes to make the operator's set; exact where its source is small."""
        if self.is_constant(operator):
            return np.full(self.rows, self.constant.cost(operator))
        match operator:
            case Hop():
                if any(move.closure for move in operator.moves):
                    return self.costs(operator.source) + 10_000
                before = self.costs(operator.source)
                if before.sum() > _MANY or self.is_constant(operator.source):
                    return before * 10
                source = self.pairs(operator.source)
                counts = sum(self.session.move(m.relation, m.forward).ranges(ids_of(source))[1] for m in operator.moves)
                return before + np.bincount(source >> 32, weights=counts, minlength=self.rows)
            case Intersection():
                least: Floats = np.min([self.costs(part) for part in operator.parts], axis=0)
                return least
            case Union():
                whole: Floats = np.sum([self.costs(part) for part in operator.parts], axis=0)
                return whole
            case Difference():
                return self.costs(operator.left)
            case Filter():
                return self.costs(operator.source) + 1000
            case _:
                return np.ones(self.rows)

    # -- membership ---------------------------------------------------------------------------------------------------

    def intersection(self, both: Intersection) -> Pairs:
        costs = np.stack([self.costs(part) for part in both.parts])
        best = costs.argmin(axis=0)
        if (best == best[0]).all():
            order = np.argsort(costs.sum(axis=1), kind="stable").tolist()
            order.remove(int(best[0]))
            found = self.pairs(both.parts[int(best[0])])
            for i in order:
                found = found[self.contains(both.parts[i], found)]
            return found
        groups = []
        for i in np.unique(best):
            rows = np.flatnonzero(best == i)
            inner = self.select(rows).pairs(both)
            groups.append(pack(rows[inner >> 32], ids_of(inner)))
        return np.sort(np.concatenate(groups))

    def select(self, rows: NDArray[np.int64]) -> _Block:
        columns = {
            name: values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows.tolist()]
            for name, values in self.columns.items()
        }
        return _Block(self.session, self.constant, self.slots, columns, len(rows))

    def contains(self, operator: Operator, pairs: Pairs) -> Mask:
        """A mask of the ``pairs`` whose node is in the operator's set of their row."""
        if not len(pairs):
            return np.zeros(0, bool)
        if self.is_constant(operator):
            return self._contains_constant(operator, ids_of(pairs))
        if id(operator) in self._known:
            return are_in(pairs, self._known[id(operator)])
        match operator:
            case Lookup():
                picked: Mask = ids_of(pairs) == self.column(operator.parameter)[pairs >> 32]
                return picked
            case Hop():
                return self._reached(operator, pairs)
        return by_parts(self, operator, pairs)

    def _contains_constant(self, operator: Operator, ids: Ids) -> Mask:
        if isinstance(operator, All):
            return self.session.has_type(ids, operator.type)
        distinct, place = np.unique(ids, return_inverse=True)
        return self.constant.contains(operator, distinct)[place]

    def _reached(self, hop: Hop, pairs: Pairs) -> Mask:
        """A mask of the pairs that the hop reaches: backwards from them where that touches fewer edges."""
        if any(move.closure for move in hop.moves):
            return are_in(pairs, self.pairs(hop))
        back = [self.session.move(move.relation, not move.forward) for move in hop.moves]
        forward, backward = self.costs(hop).sum(), sum(len(pairs) * csr.mean_degree for csr in back)
        if min(forward, backward) > _HEAVY and len(hop.moves) == 1 and not self.is_constant(hop.source):
            return self._reached_lightly(hop, pairs)
        if forward <= backward:
            return are_in(pairs, self.pairs(hop))
        ids, rows = ids_of(pairs), pairs >> 32
        mask = np.zeros(len(pairs), bool)
        for csr in back:
            start, count = csr.ranges(ids)
            mask |= any_of(self._among(hop.source, np.repeat(rows, count), csr.expand(start, count)), count)
        return mask & self.session.has_type(ids, hop.type) if hop.check else mask

    def _reached_lightly(self, hop: Hop, pairs: Pairs) -> Mask:
        """The same where both directions touch many edges: the few nodes of the source that hold most of them are
        tested as bits, and only the others are followed.
        """
        [move] = hop.moves
        source = self.pairs(hop.source)
        mask, light = self._heavily_reached(move, source, pairs)
        rest = np.flatnonzero(~mask)
        mask[rest] = are_in(pairs[rest], neighbors(self.session.move(move.relation, move.forward), light))
        return mask & self.session.has_type(ids_of(pairs), hop.type) if hop.check else mask

    def _heavily_reached(self, move: Move, source: Pairs, pairs: Pairs) -> tuple[Mask, Pairs]:
        """A mask of the pairs that a heavy node of the source leads to, and the source without its heavy nodes."""
        heavy = self.session.stores.adjacency.heavy(move.relation, move.forward)
        is_heavy = heavy.number(ids_of(source)) >= 0
        nodes = source[is_heavy]
        mask = heavy.meet(pairs >> 32, ids_of(pairs), nodes >> 32, ids_of(nodes), self.rows)
        return mask, source[~is_heavy]

    def _among(self, operator: Operator, rows: NDArray[np.int64], ids: Ids) -> Mask:
        """A mask of the (row, id), in any order and with repeats, that are in the operator's set."""
        if isinstance(operator, Lookup) and not self.is_constant(operator):
            picked: Mask = ids == self.column(operator.parameter)[rows]
            return picked
        if self.is_constant(operator):
            return self._contains_constant(operator, ids)
        if self.costs(operator).sum() > max(len(ids), _MANY):
            distinct, place = np.unique(pack(rows, ids), return_inverse=True)
            return self.contains(operator, distinct)[place]
        among = self.pairs(operator)
        if not len(among):
            return np.zeros(len(ids), bool)
        members = ids_of(among)
        low = int(members.min())
        span = int(members.max()) - low + 1
        if span * self.rows > _BITMAP:
            return are_in(pack(rows, ids), among)
        mark = np.zeros(span * self.rows, bool)
        mark[(among >> 32) * span + (members - low)] = True
        place = ids - np.int64(low)
        outside = (place < 0) | (place >= span)
        place += rows * span
        place[outside] = 0
        return mark[place] & ~outside

    # -- filters ------------------------------------------------------------------------------------------------------

    def where(self, where: Filter) -> Pairs:
        if self.is_constant(where.source):
            return self._select(where, f"{self._table(where.type)} ON")
        pairs = self.pairs(where.source)
        return pairs[self.passes(where, pairs)]

    def passes(self, where: Filter, pairs: Pairs) -> Mask:
        """A mask of the pairs whose node passes the tests, with the values of its row."""
        import polars as pl

        if not any(name in self.slots for test in where.tests for name in test.parameters):
            distinct, place = np.unique(ids_of(pairs), return_inverse=True)
            return self.constant.passes(where, distinct)[place]
        asked = pl.DataFrame({"kb row": (pairs >> 32).astype(np.int32), "kb id": ids_of(pairs)})
        table = self._table(where.type)
        source = f'kbkit_asked a ON a."kb row" = g."kb row" JOIN {table} ON a."kb id" = id WHERE'
        kept = self._select(where, source, asked)
        return are_in(pairs, kept)

    def _table(self, node_type: str | None) -> str:
        return "nodes" if node_type is None else identifier(self.session.schema.type(node_type).table)

    def _select(self, where: Filter, source: str, asked: pl.DataFrame | None = None) -> Pairs:
        """The pairs that pass; ``source`` is SQL that joins nodes to ``g``, which holds the rows' values."""
        import polars as pl

        given: dict[str, object] = {"kb row": np.arange(self.rows, dtype=np.int32)}
        tests = []
        for test in where.tests:
            values = []
            for name in test.parameters:
                if name in self.slots:
                    given[f"kb {name}"] = [value.text for value in self.columns[name] if isinstance(value, Constant)]
                    values.append(f'g."kb {name}"::{test.sql_type.removesuffix("[]")}')
                else:
                    values.append(constant_sql(self.constant.bound[name], test.sql_type))
            tests.append(test_sql(test, values))
        if asked is None and not isinstance(where.source, All):
            ids = self.constant.ids(where.source)
            tests.append("id IN (SELECT member FROM kbkit_members)")
        else:
            ids = np.empty(0, np.int32)
        frames = {"kbkit_given": pl.DataFrame(given), "kbkit_members": pl.DataFrame({"member": ids})}
        if asked is not None:
            frames["kbkit_asked"] = asked
        condition = " AND ".join(f"({test})" for test in tests)
        sql = f'SELECT g."kb row" AS row, id FROM kbkit_given g JOIN {source} {condition}'
        found = self.session.stores.tables.lookup(sql, frames=frames)
        return unique(pack(found["row"].to_numpy(), found["id"].to_numpy()))
