"""Count the paths of an expression, without listing them: products of the adjacency arrays with vectors of counts.

A path has a node for each step of the expression; nodes and edges may repeat. Arms that meet give the product of their
counts, ``|`` the sum, and a filter or ``-`` keeps the paths through its nodes. Several relations between two nodes are
several paths, parallel edges of one relation are one. A count of two steps over 2.4 million edges needs no product: it
is the sum, over the nodes in the middle, of incoming times outgoing edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.algebra import (
    AllNodes,
    AttributeFilter,
    Difference,
    Extreme,
    Hop,
    Intersection,
    MeasureFilter,
    Move,
    Operator,
    Plan,
    Union,
)
from kbkit.answers.bind import Bindings
from kbkit.answers.evaluate import SingleEvaluator
from kbkit.answers.session import Session
from kbkit.assets.arguments import check_range
from kbkit.errors import BadInputError, KbError
from kbkit.stores.adjacency import Csr, Ids
from kbkit.stores.arrays import is_in
from kbkit.stores.sums import BlockSums

if TYPE_CHECKING:
    import polars as pl

Counts = NDArray[np.int64]

_MAX = 2.0**63


def count_paths(plan: Plan, session: Session, bound: Bindings) -> int:
    """Return the number of paths, exactly, whatever their number.

    Raises :class:`KbError` for a closure, whose paths may be infinitely many, and if more than 2**63 paths meet at one
    node.
    """
    counter = _PathCounter(plan, session, bound)
    chain = _chain(plan.root)
    counts = counter.through(chain[len(chain) // 2])
    if float(counts.sum(dtype=np.float64)) < _MAX / 2:
        return int(counts.sum())
    return sum(counts.tolist())


def paths_by(
    plan: Plan, session: Session, bound: Bindings, by: str | int = "end", limit: int | None = None
) -> pl.DataFrame:
    """Return the number of paths by their ``start``, ``end``, or node after ``by`` steps: id, key, type, name, paths.

    Sorted by number, then by id, of which the first ``limit`` are returned; nodes without paths are left out. Of arms
    that meet, steps are counted on the first; the nodes of ``A | B`` are a start.
    """
    import polars as pl

    chain = _chain(plan.root)  # from the end to the start
    steps = len(chain) - 1
    places = {"start": 0, "end": steps}
    place = places.get(by, -1) if isinstance(by, str) else by
    if not 0 <= place <= steps:
        raise BadInputError(
            f"Invalid node of a path: {by!r}", f"Use start, end, or a number of steps from 0 to {steps}"
        )
    counts = _PathCounter(plan, session, bound).through(chain[steps - place])
    if limit is not None:
        check_range("limit", limit)
    ids = np.flatnonzero(counts).astype(np.int32)
    if limit is not None and limit < len(ids):
        least = np.partition(counts[ids], len(ids) - limit)[len(ids) - limit]
        ids = ids[counts[ids] >= least]
    ids = ids[np.argsort(-counts[ids], kind="stable")][:limit]
    return session.stores.nodes.rows_of(ids).with_columns(pl.Series("paths", counts[ids], pl.Int64))


def _chain(root: Operator) -> list[Operator]:
    """Return the sets that the nodes of a path are in, from the end to the start of the first arm."""
    chain = [root]
    while (hop := _hop_below(chain[-1])) is not None:
        chain.append(hop.source)
    return chain


def _hop_below(operator: Operator) -> Hop | None:
    """Return the step that leads to the nodes of an operator, of the first arm that has one; None for ``|``."""
    if isinstance(operator, Hop):
        return operator
    if isinstance(operator, Union):
        return None
    return next((hop for part in _inputs(operator) if (hop := _hop_below(part)) is not None), None)


def _has_steps(operator: Operator) -> bool:
    return isinstance(operator, Hop) or any(_has_steps(part) for part in _inputs(operator))


def _inputs(operator: Operator) -> tuple[Operator, ...]:
    """Return the operators whose paths are those of an operator."""
    match operator:
        case Intersection() | Union():
            return operator.parts
        case Difference():
            return (operator.left,)
        case AttributeFilter() | MeasureFilter() | Extreme():
            return (operator.source,)
    return ()


class _PathCounter:
    """Counts the paths from the starts to each node of a set, and from there to the ends."""

    def __init__(self, plan: Plan, session: Session, bound: Bindings) -> None:
        self._root, self._session = plan.root, session
        self._evaluator = SingleEvaluator(session, bound)
        self._known: dict[int, Counts] = {}

    def through(self, operator: Operator) -> Counts:
        """Return for each node the number of whole paths that have it at the place of ``operator``."""
        onward = self._onward(operator)
        if onward is None:
            return self._to(operator)
        return self._product(self._to(operator), onward)

    # -- from the starts ----------------------------------------------------------------------------------------------

    def _to(self, operator: Operator) -> Counts:
        """Return for each node of an operator the number of paths that lead to it from the starts."""
        counts = self._known.get(id(operator))
        if counts is None:
            counts = self._known[id(operator)] = self._compute(operator)
        return counts

    def _compute(self, operator: Operator) -> Counts:
        match operator:
            case Hop():
                return self._step(operator, self._to(operator.source), forward=True)
            case Intersection():
                counts = self._to(operator.parts[0])
                for part in operator.parts[1:]:
                    counts = self._product(counts, self._to(part))
                return counts
            case Union():
                counts = self._to(operator.parts[0]).copy()
                for part in operator.parts[1:]:
                    other = self._to(part)
                    self._check(lambda kind, a=counts, b=other: a.astype(kind) + b)  # type: ignore[misc]
                    counts += other
                return counts
        if not _has_steps(operator):
            return self._ones(self._evaluator.members(operator))
        return self._kept(operator, self._to(_inputs(operator)[0]))

    def _ones(self, members: Ids) -> Counts:
        counts = np.zeros(self._session.schema.nodes, np.int64)
        counts[members] = 1
        return counts

    def _kept(self, operator: Operator, counts: Counts) -> Counts:
        """Return the counts of the nodes of a filter or a difference; the others are 0."""
        ids = np.flatnonzero(counts).astype(np.int32)
        if isinstance(operator, AttributeFilter):
            passing = ids[self._passes(operator, ids)]
        elif isinstance(operator, Difference):
            passing = ids[~self._evaluator.contains(operator.right, ids)] if len(ids) else ids
        else:
            passing = self._evaluator.members(operator)
        kept = np.zeros_like(counts)
        kept[passing] = counts[passing]
        return kept

    def _passes(self, operator: AttributeFilter, ids: Ids) -> NDArray[np.bool_]:
        """Return a mask of the nodes that pass a filter; of many, by the whole type, whose result stays in memory."""
        if 4 * len(ids) < self._session.size(operator.type):
            return self._evaluator.passes(operator, ids)
        whole = AttributeFilter(AllNodes(operator.type), operator.conditions)
        return is_in(ids, self._evaluator.evaluate(whole))

    # -- to the ends --------------------------------------------------------------------------------------------------

    def _onward(self, target: Operator) -> Counts | None:
        """Return for each node at the place of ``target`` the number of paths that lead on from it; None at the end."""
        paths: Counts | None = None
        operator = self._root
        while operator is not target:
            match operator:
                case Hop():
                    onward = self._ones(self._session.members(operator.type)) if paths is None else paths
                    paths = self._step(operator, onward, forward=False)
                    operator = operator.source
                case Intersection():
                    chosen = next(part for part in operator.parts if _hop_below(part) is not None)
                    for part in operator.parts:
                        if part is not chosen:
                            others = self._to(part)
                            paths = others if paths is None else self._product(paths, others)
                    operator = chosen
                case _:
                    counts = self._ones(self._session.members(operator.type)) if paths is None else paths
                    paths = self._kept(operator, counts)
                    [operator] = _inputs(operator)
        return paths

    # -- steps --------------------------------------------------------------------------------------------------------

    def _step(self, hop: Hop, counts: Counts, *, forward: bool) -> Counts:
        """Return for each node the sum of the counts of the nodes that the hop leads from (or to, if not forward)."""
        if hop.check and not forward:
            counts = self._of_type(counts, hop.type)
        sums = np.zeros_like(counts)
        total: NDArray[np.float64] | None = None
        for move in hop.moves:
            pull, push = self._arrays(move, forward)
            if _may_exceed(counts, pull, len(hop.moves)):
                total = np.zeros(len(counts)) if total is None else total
                BlockSums(pull, push).add(counts.astype(np.float64), total)
            _add(counts, pull, push, sums)
        if total is not None and total.max() >= _MAX * (1 - 1e-9):
            raise _too_many(float(total.max()))
        return self._of_type(sums, hop.type) if hop.check and forward else sums

    def _arrays(self, move: Move, forward: bool) -> tuple[Csr, Csr]:
        """Return the arrays whose rows get the sums, and those whose rows have the counts."""
        if move.closure:
            raise KbError(
                f"The paths of [{move.relation}{move.closure}] cannot be counted: there may be infinitely many",
                "Use a fixed number of steps",
            )
        arrays = self._evaluator.arrays
        return arrays(move, back=forward), arrays(move, back=not forward)

    def _of_type(self, counts: Counts, node_type: str | None) -> Counts:
        ids = np.flatnonzero(counts).astype(np.int32)
        others = ids[~self._session.has_type(ids, node_type)]
        if len(others):
            counts = counts.copy()
            counts[others] = 0
        return counts

    def _product(self, a: Counts, b: Counts) -> Counts:
        self._check(lambda kind: a.astype(kind) * b)
        return a * b

    @staticmethod
    def _check(compute: Callable[[type[np.float64]], NDArray[np.float64]]) -> None:
        most = float(compute(np.float64).max(initial=0))
        if most >= _MAX * (1 - 1e-9):
            raise _too_many(most)


def _add(counts: Counts, pull: Csr, push: Csr, into: Counts) -> None:
    """Add the sums of one move: from the nodes that have counts, or by all rows, whichever reads fewer edges."""
    ids = np.flatnonzero(counts).astype(np.int32)
    starts, degrees = push.ranges(ids)
    edges = int(degrees.sum())
    if edges == len(push.targets) and bool((counts[ids[degrees > 0]] == 1).all()):
        sums = BlockSums(pull, push)
        into[sums.rows] += pull.degrees()
    elif 4 * edges < len(push.targets):
        np.add.at(into, push.expand(starts, degrees), np.repeat(counts[ids], degrees))
    else:
        BlockSums(pull, push, np.int64).add(counts, into)


def _may_exceed(counts: Counts, pull: Csr, moves: int) -> bool:
    """Return whether a sum might be 2**63 or more, by the longest row and the largest count."""
    if not len(pull.targets):
        return False
    return float(counts.max(initial=0)) * float(pull.degrees().max()) * moves >= _MAX


def _too_many(count: float) -> KbError:
    return KbError(
        f"About {count:.2g} paths meet at one node: more than 2**63", "Count shorter paths, or fewer of them"
    )
