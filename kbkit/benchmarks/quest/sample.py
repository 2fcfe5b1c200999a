"""Draw set expressions over categories: the seven shapes with the constraints of QUEST (section 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.sample import draw_sets
from kbkit.answers.sample_sets import Constraints, SampleRequest
from kbkit.benchmarks.quest.categories import Categories
from kbkit.benchmarks.quest.combined import (
    acquainted,
    are_bare,
    are_general,
    are_kinds,
    are_known,
    are_sparse,
    by_person_if_tagged,
    deniable,
    excludes_expected,
    of_kindred,
    of_one_family,
    on_topic,
    ops,
    preferred,
    stand_apart,
    with_common_values,
    with_values,
    with_varied_families,
    without_repeats,
)
from kbkit.benchmarks.quest.grammar import Shape
from kbkit.english.roles import is_untyped

_CANDIDATES = 5_000
"""Minimum number of expressions of a shape to choose from."""
_UNION_TRIES = 4
_EFFECT, _NARROWS = 0.1, 0.25
"""Fraction of the answers that each category must add or leave out, and of those that each of three must leave out."""
_LOOKUP = 3
"""Minimum number of answers of one category alone, if there are any: a source often misses one."""
_SLACK = 1.25
"""Number of possible queries required per requested query, because later stages drop some."""
_USES = (2, 6, 12, 1_000_000)
"""Maximum number of queries per category; a larger maximum is used only if the one before leaves too few queries."""
_UNBOUNDED: dict[str, Any] = {
    "intersection_sides_over": 0,
    "difference_sides_over": 0,
    "difference_left_under": 2**62,
    "difference_right_under": 2**62,
    "difference_overlap_at_most": 1.0,
    "union_sides_from": 1,
    "union_overlap_under": 2.0,
}
"""For each constraint, a value that excludes nothing."""


@dataclass(frozen=True)
class Combination:
    """The numbers of a query's categories, and its answers."""

    categories: tuple[int, ...]
    answers: tuple[int, ...]


@dataclass(frozen=True)
class ShapeSample:
    """The ``queries`` drawn of a shape, best first.

    ``possible``: number of candidates that meet the constraints; with ``more``, only some were tried.
    ``constraints``: the constraints used.
    """

    shape: Shape
    queries: list[Combination]
    possible: int
    more: bool
    constraints: Constraints


def draw(
    categories: Categories,
    shape: Shape,
    request: SampleRequest,
    wanted: int,
    uses: Counter[int],
    of_mould: int,
    *,
    scale: bool = False,
) -> ShapeSample:
    """Draw up to ``request.count`` queries of a shape: the first ``wanted``, then a reserve.

    Categories are spread over the queries; ``uses`` counts their uses in all shapes. With ``scale``, bounds on sizes
    are halved until there are a few more queries than ``wanted``, of which ``of_mould`` have the same families.
    """
    best: tuple[Candidates, SampleRequest] | None = None
    for scaled in _scaled(request) if scale else [request]:
        drawn = candidates(categories, shape, scaled)
        if best is None or len(drawn.rows) > len(best[0].rows):
            best = drawn, scaled
        if len(drawn.rows) > wanted * _SLACK and _are_varied(categories, drawn.rows, wanted, of_mould):
            break
    assert best is not None
    (rows, answers, more), used = best
    assert used.constraints is not None
    order = np.argsort(_turns(categories, rows), kind="stable")
    rows, answers = rows[order], answers[order]
    queries = [
        Combination(tuple(rows[i].tolist()), tuple(answers.indices[answers.indptr[i] : answers.indptr[i + 1]].tolist()))
        for i in _varied(rows, wanted, request.count, uses)
    ]
    return ShapeSample(shape, queries, len(rows), more, used.constraints)


def _turns(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each row how many rows before it combine the same families."""
    import polars as pl

    families = np.unique([item.family for item in categories.items], return_inverse=True)[1][rows]
    mould = pl.DataFrame(np.sort(families, axis=1))
    return mould.select(turn=pl.int_range(pl.len()).over(mould.columns))["turn"].to_numpy()


def _are_varied(categories: Categories, rows: NDArray[np.int32], wanted: int, of_mould: int) -> bool:
    """Return whether as many queries as are wanted can combine the same families, and name each category, a few times
    only.
    """
    rows = rows[_turns(categories, rows) < of_mould] if rows.shape[1] > 1 else rows
    few = len(_varied(rows, wanted, wanted, Counter(), _USES[:1]))
    return few >= wanted and bool(2 * np.bincount(rows.ravel()).max() <= len(rows))


class Candidates(NamedTuple):
    """Expressions: numbers of categories (a column per letter), and answers as rows of a matrix.

    ``more``: not all expressions were tried.
    """

    rows: NDArray[np.int32]
    answers: Any
    more: bool


def candidates(categories: Categories, shape: Shape, request: SampleRequest) -> Candidates:
    """Return expressions of a shape that meet the request, in random order, category families equally likely."""
    rows, more = _drawn(categories, shape, request)
    rows = _plausible(categories, shape, rows)
    matrix: Any = categories.sets.matrix
    letters = {letter: matrix[rows[:, i]] for i, letter in enumerate(shape.letters)}
    total = _sets(shape.tree, letters)
    sizes = np.diff(total.indptr)
    keep = (sizes >= request.min_answers) & (sizes <= request.max_answers)
    if len(shape.letters) == 1 and (keep & (sizes >= _LOOKUP)).any():
        keep &= sizes >= _LOOKUP
    for rest in _simplified(shape.tree):
        others = np.diff(_sets(rest, letters).indptr)
        least = _NARROWS if "&" in ops(shape) and len(shape.letters) > 2 else _EFFECT
        keep &= np.abs(others - sizes) >= np.maximum(1, least * np.maximum(others, sizes))
    keep &= _are_whole(categories, shape.tree, rows, letters)
    if categories.doubtful:
        keep &= total @ np.isin(np.arange(total.shape[1]), list(categories.doubtful)).astype(np.int32) == 0
    families = np.array([item.family for item in categories.items], object)[rows]
    for family, nodes in categories.odd.items():
        has_odd = total @ np.isin(np.arange(total.shape[1]), list(nodes)).astype(np.int32) > 0
        keep &= ~(has_odd & (families == family).any(axis=1))
    if "-" in ops(shape):
        keep &= are_known(categories, rows[:, -1], total)
        before = _sets(_without_exclusion(shape.tree), letters)
        keep &= excludes_expected(categories, rows, np.diff(before.indptr), sizes)
        keep &= ~_meets(before, categories.doubted, rows[:, -1])
    if len(categories.named):
        keep &= ~_names_answer(categories, rows, total) & ~_are_doubted(categories, rows, total)
    return Candidates(rows[keep], total[np.flatnonzero(keep)], more)


def _drawn(categories: Categories, shape: Shape, request: SampleRequest) -> tuple[NDArray[np.int32], bool]:
    """Return expressions of a shape, and whether there are more."""
    limited = replace(request, count=_limit(shape, request), weight="popular")
    sets, is_union = categories.sets, ops(shape) <= {"|"}
    if is_union:  # no smaller than its parts
        sets = sets.take(np.flatnonzero(sets.answers <= request.max_answers))
    drawn = draw_sets(sets, shape.tree, limited)
    rows = drawn.values[:, [drawn.slots.index(letter) for letter in shape.letters]]
    if is_union and rows.shape[1] == 2:  # few of those drawn at random are of people who have to do with each other
        assert request.constraints is not None
        pairs = acquainted(categories)
        matrix: Any = categories.sets.matrix
        sizes = np.diff(matrix.indptr)
        pairs = pairs[(sizes[pairs] >= request.constraints.union_sides_from).all(axis=1)]
        order = np.random.default_rng(request.seed).permutation(len(pairs))[: request.count]
        rows = np.concatenate([rows, pairs[order]])
    same = np.sort(categories.same[rows], axis=1)
    return rows[(same[:, 1:] != same[:, :-1]).all(axis=1)], len(drawn.values) >= limited.count


def _plausible(categories: Categories, shape: Shape, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the expressions that a reader would ask for, by the rules of :mod:`combined`."""
    if ops(shape) <= {"|"}:
        rows = of_one_family(categories, rows)
    if "-" in ops(shape):
        rows = deniable(categories, rows)
    if "&" in ops(shape):
        rows = with_common_values(categories, rows)
        rows = with_varied_families(categories, shape, rows) if len(shape.letters) > 2 else rows
    rows = of_kindred(categories, shape, rows)
    if ops(shape) == {"&"}:
        rows = with_values(categories, rows)
    sparse = are_sparse(categories)
    rows = rows[~sparse[rows].any(axis=1)] if is_untyped(categories.domain) else preferred(rows, sparse)
    rows = by_person_if_tagged(categories, on_topic(categories, shape, rows))
    if len(shape.letters) == 1:
        rows = rows[~(are_kinds(categories) | are_general(categories))[rows[:, 0]]]
    else:
        rows = preferred(rows, are_bare(categories))
        rows = preferred(rows, stand_apart(categories))
    return without_repeats(categories, rows)


def _meets(answers: Any, doubted: Any, categories: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which rows of answers have a doubtful member of the category of the row."""
    return np.asarray(answers.multiply(doubted[categories]).sum(axis=1) > 0).ravel()


def _are_doubted(categories: Categories, rows: NDArray[np.int32], answers: Any) -> NDArray[np.bool_]:
    """Return which rows have an answer that is a doubtful member of one of their categories."""
    are_doubted = np.zeros(len(rows), bool)
    for column in rows.T:
        are_doubted |= _meets(answers, categories.doubted, column)
    return are_doubted


def _names_answer(categories: Categories, rows: NDArray[np.int32], answers: Any) -> NDArray[np.bool_]:
    """Return which rows name one of their answers, as *neighbours of Chad or Niger* does."""
    import scipy.sparse as sp

    named = categories.named[rows]
    at, letters = np.nonzero(named >= 0)
    marked = sp.csr_array((np.ones(len(at), np.int32), (at, named[at, letters])), shape=answers.shape)
    return np.asarray(answers.multiply(marked).sum(axis=1) > 0).ravel()


def _limit(shape: Shape, request: SampleRequest) -> int:
    """Return the number of expressions to try for a request; more for unions, most of which are not of one kind."""
    return max(_CANDIDATES, request.count) * (_UNION_TRIES if ops(shape) <= {"|"} else 1)


def _sets(tree: syntax.Expression, letters: dict[str, Any]) -> Any:
    """Evaluate a shape on the sets of its letters, row by row."""
    import scipy.sparse as sp

    if isinstance(tree, syntax.SavedSet):
        return letters[tree.name]
    assert isinstance(tree, syntax.Combine)
    total, *rest = (_sets(part, letters) for part in tree.parts)
    for part in rest:
        common = total.multiply(part)
        total = sp.csr_array({"&": common, "|": total + part, "-": total - common}[tree.op])
        total.eliminate_zeros()
        total.data[:] = 1
    total.sort_indices()
    return total


def _without_exclusion(tree: syntax.Expression) -> syntax.Expression:
    """Return the left side of a difference."""
    assert isinstance(tree, syntax.Combine)
    return tree.parts[0]


def _are_whole(
    categories: Categories, tree: syntax.Expression, rows: NDArray[np.int32], letters: dict[str, Any]
) -> NDArray[np.bool_]:
    """Return which rows have all answers that there are: nothing that meets the rest of a query lacks the value of a
    category, and of a category without a rest hardly anything lacks one.
    """
    families = np.array([item.family for item in categories.items], object)[rows]
    denied = tree.parts[1] if isinstance(tree, syntax.Combine) and tree.op == "-" else None
    asked = _without_exclusion(tree) if denied else tree
    joined = asked.parts if isinstance(asked, syntax.Combine) and asked.op == "&" else ()
    whole = np.ones(len(rows), bool)
    for column, letter in enumerate(letters):
        if denied and column == len(letters) - 1:
            continue
        others = tuple(part for part in joined if part != syntax.SavedSet(letter))
        rest: syntax.Expression | None = syntax.Combine("&", others) if others else None
        candidates_left = _sets(syntax.Combine("-", (rest, denied)) if denied else rest, letters) if rest else None
        for family, nodes in categories.lacking.items():
            is_open = families[:, column] == family
            if candidates_left is not None:
                is_open &= candidates_left @ np.isin(np.arange(candidates_left.shape[1]), nodes).astype(np.int32) > 0
            whole &= ~is_open | (candidates_left is None and family not in categories.gapped)
    return whole


def _simplified(tree: syntax.Expression) -> Iterator[syntax.Expression]:
    """Yield the tree without each of its letters: a letter without effect on the answers says nothing."""
    if not isinstance(tree, syntax.Combine):
        return
    for position, part in enumerate(tree.parts):
        if isinstance(part, syntax.Combine):
            for inner in _simplified(part):
                yield syntax.Combine(tree.op, (*tree.parts[:position], inner, *tree.parts[position + 1 :]))
        elif not (tree.op == "-" and position == 0):
            rest = tree.parts[:position] + tree.parts[position + 1 :]
            yield rest[0] if len(rest) == 1 else syntax.Combine(tree.op, rest)


def _varied(
    rows: NDArray[np.int32], wanted: int, count: int, uses: Counter[int], limits: Sequence[int] = _USES
) -> list[int]:
    """Return the positions of up to ``count`` rows with distinct categories, least used categories first.

    Only the first ``wanted`` count as uses.
    """
    chosen: list[int] = []
    taken: set[frozenset[int]] = set()
    plain = [tuple(row) for row in rows.tolist()]
    for limit in limits:
        for position, row in enumerate(plain):
            if len(chosen) == count:
                return chosen
            if frozenset(row) not in taken and all(uses[number] < limit for number in row):
                taken.add(frozenset(row))
                chosen.append(position)
                uses.update(row)
                if len(chosen) == wanted:
                    uses = uses.copy()
    return chosen


def _scaled(request: SampleRequest) -> Iterator[SampleRequest]:
    """Yield the request, then requests with bounds on sizes halved again and again."""
    yield request
    bounds = request.constraints
    assert bounds is not None
    while bounds.intersection_sides_over > 1 or bounds.difference_sides_over > 1:
        bounds = replace(
            bounds,
            intersection_sides_over=max(1, bounds.intersection_sides_over // 2),
            difference_sides_over=max(1, bounds.difference_sides_over // 2),
            union_sides_from=max(2, bounds.union_sides_from - 1),
        )
        yield replace(request, constraints=bounds)


def binding(categories: Categories, shape: Shape, request: SampleRequest) -> str:
    """Return which constraint excludes most expressions of a shape."""
    bounds = request.constraints
    assert bounds is not None
    within = candidates(categories, shape, request)
    if within.more:
        return f"of {_limit(shape, request):,} expressions, the maximum that is tried"
    trials: list[tuple[str, SampleRequest]] = [
        (f"{name}={getattr(bounds, name):.4g}", replace(request, constraints=replace(bounds, **{name: unbounded})))
        for name, unbounded in _UNBOUNDED.items()
        if _concerns(shape, name)
    ]
    answers = f"{request.min_answers} to {request.max_answers} answers"
    trials.append((answers, replace(request, min_answers=1, max_answers=2**40)))
    tried = [candidates(categories, shape, trial) for _, trial in trials]
    counts = [len(each.rows) for each in tried]
    best = int(np.argmax(counts))
    limit = f"{'at least ' * tried[best].more}{counts[best]:,}"
    if counts[best] <= len(within.rows):
        return "several constraints bind together"
    return f"{trials[best][0]} binds (without it {limit})"


def _concerns(shape: Shape, constraint: str) -> bool:
    return {"i": "&", "d": "-", "u": "|"}[constraint[0]] in ops(shape)


def shares(count: int, parts: int) -> list[int]:
    """Split ``count`` evenly into ``parts``, the remainder over the first."""
    return [count // parts + (part < count % parts) for part in range(parts)]
