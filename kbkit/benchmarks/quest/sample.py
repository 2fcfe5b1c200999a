"""Draw set expressions over categories: the seven shapes with the constraints of QUEST (section 3.2)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.sample import draw_sets
from kbkit.answers.sample_sets import Constraints, SampleRequest
from kbkit.benchmarks.fit_nodes import MISSING
from kbkit.benchmarks.quest.categories import Categories, KnownValues
from kbkit.benchmarks.quest.grammar import Shape
from kbkit.english import genres
from kbkit.english.modifiers import GENRE, are_people, divided
from kbkit.english.roles import is_untyped
from kbkit.english.stems import shares_stem
from kbkit.english.types import WORKS, type_noun

_CANDIDATES = 5_000
"""Minimum number of expressions of a shape to choose from."""
_UNION_TRIES = 4
_RELATED, _TOGETHER, _COMMON, _OFTEN = 0.15, 0.3, 2, 3
"""Fraction of the members of the smaller of two categories that makes them related if in common, that lets them be the
parts of a union, and the number of members, in a union that names people more."""
_NEARLY = 0.9
"""Fraction of the nodes with a value, relative to the most frequent family, from which nearly all have one."""
_ONE = 1.05
"""Mean number of values below which each thing has one, such as its year."""
_EFFECT = 0.1
"""Fraction of the answers that each category must add or leave out."""
_SLACK = 1.25
"""Number of possible queries required per requested query, because later stages drop some."""
_USES = (3, 6, 12, 1_000_000)
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
    *,
    scale: bool = False,
) -> ShapeSample:
    """Draw up to ``request.count`` queries of a shape: the first ``wanted``, then a reserve.

    Categories are spread over the queries; ``uses`` counts their uses in all shapes. With ``scale``, bounds on sizes
    are halved until there are a few more queries than ``wanted``.
    """
    best: tuple[Candidates, SampleRequest] | None = None
    for scaled in _scaled(request) if scale else [request]:
        drawn = candidates(categories, shape, scaled)
        if best is None or len(drawn.rows) > len(best[0].rows):
            best = drawn, scaled
        if len(drawn.rows) > wanted * _SLACK and _are_varied(drawn.rows):
            break
    assert best is not None
    (rows, answers, more), used = best
    assert used.constraints is not None
    queries = [
        Combination(tuple(rows[i].tolist()), tuple(answers.indices[answers.indptr[i] : answers.indptr[i + 1]].tolist()))
        for i in _varied(rows, wanted, request.count, uses)
    ]
    return ShapeSample(shape, queries, len(rows), more, used.constraints)


def _are_varied(rows: NDArray[np.int32]) -> bool:
    """Return whether no category is in most of the expressions: not films of one director from many years."""
    return bool(2 * np.bincount(rows.ravel()).max() <= len(rows))


class Candidates(NamedTuple):
    """Expressions: numbers of categories (a column per letter), and answers as rows of a matrix.

    ``more``: not all expressions were tried.
    """

    rows: NDArray[np.int32]
    answers: Any
    more: bool


def candidates(categories: Categories, shape: Shape, request: SampleRequest) -> Candidates:
    """Return expressions of a shape that meet the request, in random order, category families equally likely."""
    limited = replace(request, count=_limit(shape, request), weight="popular")
    sets = categories.sets
    if _ops(shape) <= {"|"}:  # a union is no smaller than its parts
        sets = sets.take(np.flatnonzero(sets.answers <= request.max_answers))
    drawn = draw_sets(sets, shape.tree, limited)
    order = [drawn.slots.index(letter) for letter in shape.letters]
    rows = drawn.values[:, order]
    same = np.sort(categories.same[rows], axis=1)
    rows = rows[(same[:, 1:] != same[:, :-1]).all(axis=1)]
    if _ops(shape) <= {"|"}:
        rows = _of_one_family(categories, rows)
    if "-" in _ops(shape):
        rows = _deniable(categories, rows)
    if "&" in _ops(shape):
        rows = _with_common_values(categories, rows)
    if _ops(shape) == {"&"}:
        rows = _with_values(categories, rows)
    sparse = _are_sparse(categories)
    rows = rows[~sparse[rows].any(axis=1)] if is_untyped(categories.domain) else _preferred(rows, sparse)
    rows = _beside_cut(categories, shape, rows)
    rows = _on_topic(categories, shape, rows)
    if len(shape.letters) > 1:
        rows = _preferred(rows, _are_bare(categories))
        rows = _preferred(rows, _stand_apart(categories))
    rows = _without_repeats(categories, rows)
    matrix: Any = categories.sets.matrix
    letters = {letter: matrix[rows[:, i]] for i, letter in enumerate(shape.letters)}
    total = _sets(shape.tree, letters)
    sizes = np.diff(total.indptr)
    keep = (sizes >= request.min_answers) & (sizes <= request.max_answers)
    for rest in _simplified(shape.tree):
        others = np.diff(_sets(rest, letters).indptr)
        keep &= np.abs(others - sizes) >= np.maximum(1, _EFFECT * np.maximum(others, sizes))
    if categories.fragments:
        keep &= total @ np.isin(np.arange(total.shape[1]), list(categories.fragments)).astype(np.int32) == 0
    families = np.array([item.family for item in categories.items], object)[rows]
    for family, nodes in categories.odd.items():
        has_odd = total @ np.isin(np.arange(total.shape[1]), list(nodes)).astype(np.int32) > 0
        keep &= ~(has_odd & (families == family).any(axis=1))
    if len(shape.letters) > 1 and categories.merged and not _ops(shape) <= {"|"}:
        keep &= total @ np.isin(np.arange(total.shape[1]), list(categories.merged)).astype(np.int32) == 0
    if "-" in _ops(shape):
        keep &= _are_known(categories, rows[:, -1], total)
    if len(categories.named):
        keep &= ~_names_answer(categories, rows, total)
    return Candidates(rows[keep], total[np.flatnonzero(keep)], len(drawn.values) >= limited.count)


def _names_answer(categories: Categories, rows: NDArray[np.int32], answers: Any) -> NDArray[np.bool_]:
    """Return which rows name one of their answers, as *neighbours of Chad or Niger* does."""
    import scipy.sparse as sp

    named = categories.named[rows]
    at, letters = np.nonzero(named >= 0)
    marked = sp.csr_array((np.ones(len(at), np.int32), (at, named[at, letters])), shape=answers.shape)
    return np.asarray(answers.multiply(marked).sum(axis=1) > 0).ravel()


def _deniable(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows whose last category a question may deny.

    It may not if it is a label, if the values of its family are incomplete, if it names a person and the others do not,
    or if it has few members in common with them: *made in Peru but not directed by Jane Doe* is not plausible, and
    neither is *with Ann Lee but not with Bo Li* for actors who met once. A job is denied of people with another job
    only: *citizens of Peru who are not film directors* is not plausible.
    """
    known = [categories.known.get(item.family) for item in categories.items]
    people = np.array([one is not None and one.of_people for one in known])
    fit = np.array([one is None or (one.are_whole and not _are_vague(one)) for one in known])
    jobs = np.array([not divided(item.phrase)[1] and are_people(item.phrase) for item in categories.items])
    last, others = rows[:, -1], rows[:, :-1]
    fit_here = fit[last] & (~people[last] | people[others].any(axis=1)) & (~jobs[last] | jobs[others].any(axis=1))
    kept: NDArray[np.int32] = rows[fit_here]
    related = np.ones(len(kept), bool)
    for column in range(kept.shape[1] - 1):
        related &= _are_related(categories, kept[:, column], kept[:, -1])
    return kept[related]


def _are_vague(known: KnownValues) -> bool:
    """Return whether nobody denies values of a family: labels, grades, years."""
    return known.are_labels or known.are_grades or known.are_years


def _are_related(
    categories: Categories,
    some: NDArray[np.int32],
    others: NDArray[np.int32],
    share: float = _RELATED,
    least: NDArray[np.int64] | int = _COMMON,
) -> NDArray[np.bool_]:
    """Return which pairs of categories have many members in common."""
    matrix: Any = categories.sets.matrix
    sizes = np.diff(matrix.indptr)
    common = np.diff(matrix[some].multiply(matrix[others]).tocsr().indptr)
    return np.asarray(common >= np.maximum(least, share * np.minimum(sizes[some], sizes[others])), bool)


def _are_known(categories: Categories, denied: NDArray[np.int32], answers: Any) -> NDArray[np.bool_]:
    """Return the mask of rows whose answers all have a value of the denied family; the KB may lack the denied one."""
    are_known = np.ones(len(denied), bool)
    families = np.array([categories.items[number].family for number in denied.tolist()], object)
    for name in np.unique(families).tolist():
        if known := categories.known.get(name):
            rows = np.flatnonzero(families == name)
            are_known[rows] = answers[rows] @ (~known.nodes).astype(np.int32) == 0
    return are_known


def _with_common_values(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows without several values of a family of which nodes mostly have fewer, or all if none is left.

    *Family fantasy adventure films* would miss most of them if a film has one or two genres in the KB.
    """
    names, families = np.unique([item.family for item in categories.items], return_inverse=True)
    known = [categories.known.get(name) for name in names.tolist()]
    mean = np.array([math.inf if one is None else one.mean for one in known])
    of_rows = families[rows]
    same = (of_rows[:, :, None] == of_rows[:, None, :]).sum(axis=2)
    kept: NDArray[np.int32] = rows[((same == 1) | (same <= mean[of_rows])).all(axis=1)]
    return kept if len(kept) else rows


def _with_values(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows without missing values, or all rows if none is left.

    No category has a value of which a node may have more than the KB says, such as the main genre of a film.
    In a pair of categories, nearly all members of the smaller one must have a value of the other's family: *dramas by
    Jane Doe* would miss dramas if the KB has no genre for many of her films.
    """
    matrix: Any = categories.sets.matrix
    sizes = np.diff(matrix.indptr)
    kept = np.ones(len(rows), bool)
    names, families = np.unique([item.family for item in categories.items], return_inverse=True)
    for family, name in enumerate(names.tolist()):
        known = categories.known.get(name)
        if known is not None and not known.are_whole and not known.are_labels and not known.of_people:
            kept &= (families[rows] != family).all(axis=1)  # the source may list the first value only
        if known is None or known.are_optional:
            continue
        lacking = matrix @ (~known.nodes).astype(np.int32) > MISSING * sizes
        for one, other in permutations(range(rows.shape[1]), 2):
            some, others = rows[:, one], rows[:, other]
            kept &= ~((families[others] == family) & (sizes[some] <= sizes[others]) & lacking[some])
    with_values: NDArray[np.int32] = rows[kept]
    return with_values if len(with_values) else rows


def _preferred(rows: NDArray[np.int32], avoided: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the rows without an ``avoided`` category, or all rows if each has one."""
    good: NDArray[np.int32] = rows[~avoided[rows].any(axis=1)]
    return good if len(good) else rows


def _are_sparse(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are of a sparse family: most people, for example, have no value for languages spoken."""
    known = [categories.known.get(item.family) for item in categories.items]
    return np.array([one is not None and one.are_sparse for one in known], bool)


def _beside_cut(categories: Categories, shape: Shape, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows that ask for more than a value of which the source lists only the first few, or all rows.

    *Movies that star Ann Lee* would miss those in which she is the fourth actor, and readers know what she did with
    a director. A union of such actors stays: nobody
    has its whole list in mind.
    """
    known = [categories.known.get(item.family) for item in categories.items]
    cut = np.array([one is not None and one.are_cut for one in known], bool)
    of_people = np.array([one is not None and one.of_people for one in known], bool)
    if len(shape.letters) > 1 and _ops(shape) <= {"|"}:
        return rows
    asked = rows[:, :-1] if "-" in _ops(shape) else rows
    known_nodes = np.array([math.inf if one is None else one.nodes.sum() for one in known])
    gappy = cut & (known_nodes < _NEARLY * known_nodes[np.isfinite(known_nodes)].max(initial=0))
    unfit = (cut[asked].any(axis=1) & (cut | of_people)[asked].all(axis=1)) | gappy[asked].any(axis=1)
    kept: NDArray[np.int32] = rows[~unfit]
    return kept if len(kept) else rows


def _on_topic(categories: Categories, shape: Shape, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows that do not begin with all works of a year, a country or a grade, or all rows.

    *Movies from 1984 that are not in the Horror genre* serves no want, and nobody believes *movies from 1937* whole.
    """
    is_open = len(shape.letters) == 1 or "-" in _ops(shape)
    is_of_works = is_untyped(categories.domain) or type_noun(categories.domain).rpartition(" ")[2] in WORKS
    if not is_open or not is_of_works:
        return rows
    known = [categories.known.get(item.family) for item in categories.items]
    are_general = np.array(
        [one is not None and (one.mean < _ONE or one.are_years) and not one.of_people for one in known], bool
    )
    kept: NDArray[np.int32] = rows[~are_general[rows[:, :-1] if len(shape.letters) > 1 else rows].all(axis=1)]
    return kept if len(kept) else rows


def _are_bare(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are nouns without a clause, such as *bays*, but not *chemists*."""
    return np.array([not divided(item.phrase)[1] and not are_people(item.phrase) for item in categories.items], bool)


def _stand_apart(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are of a genre that cannot precede a noun, so that the other phrases come after it."""
    groups = [GENRE.fullmatch(divided(item.phrase)[1]) for item in categories.items]
    return np.array([group is not None and genres.stands_apart(group[1]) for group in groups], bool)


def _of_one_family(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows whose categories are of one family, if there are any, and have many members in common.

    *With Ann Lee or Bo Li* is plausible for actors who met often, *made in France or in Peru* is not. Labels are
    dropped if there are other families: *tagged christmas or robots* has two unrelated parts.
    """
    families = np.unique([item.family for item in categories.items], return_inverse=True)[1]
    known = [categories.known.get(item.family) for item in categories.items]
    labels = np.array([one is not None and one.are_labels for one in known])
    kept = rows[(families[rows] == families[rows[:, :1]]).all(axis=1)]
    kept = kept[~labels[kept[:, 0]]] if not labels[kept[:, 0]].all() else kept
    kept = kept if len(kept) else rows
    related = np.ones(len(kept), bool)
    least = np.where(np.array([one is not None and one.of_people for one in known])[kept[:, 0]], _OFTEN, _COMMON)
    for one, other in combinations(range(kept.shape[1]), 2):
        related &= _are_related(categories, kept[:, one], kept[:, other], _TOGETHER, least)
    together: NDArray[np.int32] = kept[related]
    return together


def _without_repeats(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows whose categories of several families share no name, as *in the War genre but not tagged war*."""
    items = categories.items

    def repeats(row: Sequence[int]) -> bool:
        pairs = combinations((items[number] for number in row), 2)
        return any(a.family != b.family and shares_stem(a.name, [b.name]) for a, b in pairs)

    kept: NDArray[np.int32] = rows[np.fromiter((not repeats(row) for row in rows.tolist()), bool, len(rows))]
    return kept


def _limit(shape: Shape, request: SampleRequest) -> int:
    """Return the number of expressions to try for a request; more for unions, most of which are not of one kind."""
    return max(_CANDIDATES, request.count) * (_UNION_TRIES if _ops(shape) <= {"|"} else 1)


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


def _varied(rows: NDArray[np.int32], wanted: int, count: int, uses: Counter[int]) -> list[int]:
    """Return the positions of up to ``count`` rows with distinct categories, least used categories first.

    Only the first ``wanted`` count as uses.
    """
    chosen: list[int] = []
    taken: set[frozenset[int]] = set()
    plain = [tuple(row) for row in rows.tolist()]
    for limit in _USES:
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
    return {"i": "&", "d": "-", "u": "|"}[constraint[0]] in _ops(shape)


def _ops(shape: Shape) -> set[str]:
    return {part.op for part in syntax.subtrees(shape.tree) if isinstance(part, syntax.Combine)}


def shares(count: int, parts: int) -> list[int]:
    """Split ``count`` evenly into ``parts``, the remainder over the first."""
    return [count // parts + (part < count % parts) for part in range(parts)]
