"""Draws set expressions over categories: the seven shapes with the constraints of QUEST (section 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.sample import draw_sets
from kbkit.answers.sample_sets import Constraints, Request
from kbkit.benchmarks.quest.categories import Categories
from kbkit.benchmarks.quest.grammar import Shape

_POOL = 5_000
"""Expressions drawn of a shape, to choose from, where no more are asked for."""
_SLACK = 1.25
"""So many times as many as are wanted must be possible: some may fall out later."""
_USES = (3, 6, 12, 1_000_000)
"""In how many queries of a dataset a category may stand: the next only where the one before leaves too few."""
_LOOSE: dict[str, Any] = {
    "intersection_sides_over": 0,
    "difference_sides_over": 0,
    "difference_left_under": 2**62,
    "difference_right_under": 2**62,
    "difference_overlap_at_most": 1.0,
    "union_sides_from": 1,
    "union_overlap_under": 2.0,
}
"""Each constraint as good as taken away."""


@dataclass(frozen=True)
class Drawn:
    """A query's categories by their numbers, and its answers."""

    categories: tuple[int, ...]
    answers: tuple[int, ...]


@dataclass(frozen=True)
class Lot:
    """What was drawn of a shape: ``queries``, best first; ``possible`` counts those that meet the constraints, or with
    ``more`` a part of them; ``constraints`` are those that were used.
    """

    shape: Shape
    queries: list[Drawn]
    possible: int
    more: bool
    constraints: Constraints


def draw(
    categories: Categories, shape: Shape, request: Request, wanted: int, uses: Counter[int], *, scale: bool = False
) -> Lot:
    """Up to ``request.count`` queries of a shape: the first ``wanted`` and a reserve. No category is in many of them;
    ``uses`` counts over all shapes.

    With ``scale``, bounds on the sizes of sides are halved until there are a few more than ``wanted``.
    """
    best: tuple[Pool, Request] | None = None
    for asked in _scaled(request) if scale else [request]:
        found = pool(categories, shape, asked)
        if best is None or len(found.rows) > len(best[0].rows):
            best = found, asked
        if len(found.rows) > wanted * _SLACK:
            break
    assert best is not None
    (rows, answers, more), asked = best
    assert asked.constraints is not None
    queries = [
        Drawn(tuple(rows[i].tolist()), tuple(answers.indices[answers.indptr[i] : answers.indptr[i + 1]].tolist()))
        for i in _varied(rows, wanted, request.count, uses)
    ]
    return Lot(shape, queries, len(rows), more, asked.constraints)


class Pool(NamedTuple):
    """Expressions: numbers of categories (a column per letter), and answers as rows of a matrix; with ``more``, some
    were not looked at.
    """

    rows: NDArray[np.int32]
    answers: Any
    more: bool


def pool(categories: Categories, shape: Shape, request: Request) -> Pool:
    """Expressions of a shape that meet the request, in random order, families of categories equally likely."""
    asked = replace(request, count=_most(request), weight="popular")
    sets = categories.sets
    if _ops(shape) <= {"|"}:  # what is larger alone is in no union of this size
        sets = sets.take(np.flatnonzero(sets.answers <= request.max_answers))
    drawn = draw_sets(sets, shape.tree, asked)
    order = [drawn.slots.index(letter) for letter in shape.letters]
    rows = drawn.values[:, order]
    same = np.sort(categories.same[rows], axis=1)
    rows = rows[(same[:, 1:] != same[:, :-1]).all(axis=1)]
    matrix: Any = categories.sets.matrix
    letters = {letter: matrix[rows[:, i]] for i, letter in enumerate(shape.letters)}
    whole = _sets(shape.tree, letters)
    sizes = np.diff(whole.indptr)
    keep = (sizes >= request.min_answers) & (sizes <= request.max_answers)
    for rest in _without_one(shape.tree):
        keep &= np.diff(_sets(rest, letters).indptr) != sizes
    return Pool(rows[keep], whole[np.flatnonzero(keep)], len(drawn.values) >= asked.count)


def _most(request: Request) -> int:
    """Expressions that are looked at for a request."""
    return max(_POOL, request.count)


def _sets(tree: syntax.Expression, letters: dict[str, Any]) -> Any:
    """What a shape makes of its letters' sets, row by row."""
    import scipy.sparse as sp

    if isinstance(tree, syntax.SavedSet):
        return letters[tree.name]
    assert isinstance(tree, syntax.Combine)
    whole, *rest = (_sets(part, letters) for part in tree.parts)
    for part in rest:
        common = whole.multiply(part)
        whole = sp.csr_array({"&": common, "|": whole + part, "-": whole - common}[tree.op])
        whole.eliminate_zeros()
        whole.data[:] = 1
    whole.sort_indices()
    return whole


def _without_one(tree: syntax.Expression) -> Iterator[syntax.Expression]:
    """The tree without each of its letters: one that makes no difference there says nothing."""
    if not isinstance(tree, syntax.Combine):
        return
    for place, part in enumerate(tree.parts):
        if isinstance(part, syntax.Combine):
            for inner in _without_one(part):
                yield syntax.Combine(tree.op, (*tree.parts[:place], inner, *tree.parts[place + 1 :]))
        elif not (tree.op == "-" and place == 0):
            rest = tree.parts[:place] + tree.parts[place + 1 :]
            yield rest[0] if len(rest) == 1 else syntax.Combine(tree.op, rest)


def _varied(rows: NDArray[np.int32], wanted: int, count: int, uses: Counter[int]) -> list[int]:
    """Places of up to ``count`` rows, no two of the same categories, those first whose categories are least used. Only
    the first ``wanted`` count as uses.
    """
    chosen: list[int] = []
    taken: set[frozenset[int]] = set()
    plain = [tuple(row) for row in rows.tolist()]
    for limit in _USES:
        for place, row in enumerate(plain):
            if len(chosen) == count:
                return chosen
            if frozenset(row) not in taken and all(uses[number] < limit for number in row):
                taken.add(frozenset(row))
                chosen.append(place)
                uses.update(row)
                if len(chosen) == wanted:
                    uses = uses.copy()
    return chosen


def _scaled(request: Request) -> Iterator[Request]:
    """The request, and with bounds on sizes halved again and again."""
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


def binding(categories: Categories, shape: Shape, request: Request) -> str:
    """Which constraint leaves so few expressions of a shape: the one without which there are most."""
    bounds = request.constraints
    assert bounds is not None
    there = pool(categories, shape, request)
    if there.more:
        return f"of {_most(request):,} expressions, the most that are looked at"
    trials: list[tuple[str, Request]] = [
        (f"{name}={getattr(bounds, name):.4g}", replace(request, constraints=replace(bounds, **{name: loose})))
        for name, loose in _LOOSE.items()
        if _concerns(shape, name)
    ]
    answers = f"{request.min_answers} to {request.max_answers} answers"
    trials.append((answers, replace(request, min_answers=1, max_answers=2**40)))
    found = [pool(categories, shape, trial) for _, trial in trials]
    counts = [len(each.rows) for each in found]
    best = int(np.argmax(counts))
    limit = f"{'at least ' * found[best].more}{counts[best]:,}"
    if counts[best] <= len(there.rows):
        return "several constraints together bind"
    return f"{trials[best][0]} binds (without it {limit})"


def _concerns(shape: Shape, constraint: str) -> bool:
    return {"i": "&", "d": "-", "u": "|"}[constraint[0]] in _ops(shape)


def _ops(shape: Shape) -> set[str]:
    return {part.op for part in syntax.subtrees(shape.tree) if isinstance(part, syntax.Combine)}


def shares(count: int, places: Sequence[object]) -> list[int]:
    """``count`` spread evenly, the remainder over the first."""
    return [count // len(places) + (place < count % len(places)) for place in range(len(places))]
